"""What people pass, as NumPy arrays of the storage types that the extension looks at.

Nothing is copied that already is such an array, whatever its strides.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _spanwise
from .errors import DeviceError, DtypeError, ShapeError

Real = npt.NDArray[Any]
Names = tuple[str, ...] | None


class Matrix(NamedTuple):
    """Rows and columns, with the columns' names where the table had some."""

    values: Real
    names: Names


def as_array(operation: str, argument: str, x: Any) -> npt.NDArray[Any]:
    """``x`` as a NumPy array without a copy where that can be: arrays, DLPack, anything NumPy understands."""
    if isinstance(x, np.ndarray):
        return _without_mask(operation, argument, x) if isinstance(x, np.ma.MaskedArray) else x
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        _refuse_devices(operation, argument, x)
        try:
            return np.from_dlpack(x)
        except (BufferError, RuntimeError, TypeError) as error:
            raise DtypeError(f"{operation}: `{argument}` cannot be read through DLPack: {error}") from None
    if is_tensor(x):
        return tensor_as_array(operation, argument, x)
    if type(x).__module__.startswith("scipy.") and hasattr(x, "tocsr"):
        raise DtypeError(
            f"{operation}: `{argument}` is a sparse matrix; expected a dense one\nhint: `{argument}.toarray()` makes it dense"
        )
    if type(x).__module__.startswith("polars.") and hasattr(x, "collect"):
        raise DtypeError(
            f"{operation}: `{argument}` is a query that has not run; expected its table\nhint: `{argument}.collect()` runs it"
        )
    try:
        return np.asarray(x)
    except ValueError:
        if not isinstance(x, (list, tuple)):
            raise
        kind = type(x).__name__
        raise ShapeError(
            f"{operation}: `{argument}` is a {kind} whose parts have different shapes; expected rows of one length"
        ) from None


def _without_mask(operation: str, argument: str, x: np.ma.MaskedArray[Any, Any]) -> npt.NDArray[Any]:
    """The numbers, if all of them count: those under a mask are not to be computed with."""
    masked = int(np.ma.getmaskarray(x).sum())
    if masked > 0:
        entries = "entry is" if masked == 1 else "entries are"
        raise DtypeError(
            f"{operation}: `{argument}` is a masked array of which {masked} {entries} masked; expected none to be\n"
            f"hint: `{argument}.filled(value)` puts a value in their place"
        )
    return np.asarray(x)


def is_tensor(x: Any) -> bool:
    """Whether ``x`` is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def tensor_as_array(operation: str, argument: str, x: Any, bits: bool = False) -> npt.NDArray[Any]:
    """A torch tensor's memory. NumPy has no bfloat16: a copy in float32, or with ``bits`` the int16 of the same bits."""
    torch = sys.modules["torch"]
    if not x.is_cpu:
        raise DeviceError(
            f"{operation}: `{argument}` is on device {x.device}; expected the CPU\nhint: `{argument}.cpu()` moves it"
        )
    if x.requires_grad:
        x = x.detach()
    if x.dtype is torch.bfloat16:
        x = x.view(torch.int16) if bits else x.float()
    array: npt.NDArray[Any] = x.numpy()
    return array


def _refuse_devices(operation: str, argument: str, x: Any) -> None:
    kind = x.__dlpack_device__()[0] if hasattr(x, "__dlpack_device__") else 1
    if kind != 1:
        raise DeviceError(f"{operation}: `{argument}` is on DLPack device type {int(kind)}; expected the CPU (1)")


def real(operation: str, argument: str, x: Any) -> Real:
    """``x`` as float64 or float32; integers and booleans become float64, shorter floats float32."""
    array = as_array(operation, argument, x)
    if array.dtype == np.float64 or array.dtype == np.float32:
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind in "iub":
        return array.astype(np.float64)
    if array.dtype == np.float16 or array.dtype.name == "bfloat16":
        return array.astype(np.float32)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DtypeError(f"{operation}: `{argument}` holds objects that are not numbers: {error}") from None
    raise DtypeError(f"{operation}: `{argument}` has dtype {array.dtype}; expected numbers")


def matrix(operation: str, argument: str, x: Any) -> Matrix:
    """A matrix or a table: anything that is an array, or speaks Arrow's PyCapsule interface."""
    names: Names = None
    if isinstance(x, np.ndarray):
        values = real(operation, argument, x)
    elif hasattr(x, "iloc") and hasattr(x, "to_numpy"):  # pandas: arrays lie under its columns already
        names = tuple(str(name) for name in x.columns) if hasattr(x, "columns") else None
        values = _pandas(operation, argument, x)
    elif hasattr(x, "__arrow_c_stream__"):
        found, values = _spanwise.matrix_of_stream(x.__arrow_c_stream__(), operation, argument)
        names = tuple(found)
    else:
        values = real(operation, argument, x)
    if values.ndim != 2:
        shape = tuple(int(n) for n in values.shape)
        raise ShapeError(f"{operation}: `{argument}` has shape {shape}; expected 2 dimensions")
    return Matrix(values, names)


def _pandas(operation: str, argument: str, x: Any) -> Real:
    if hasattr(x, "dtypes") and hasattr(x, "columns"):
        for name, dtype in x.dtypes.items():
            if getattr(dtype, "kind", "O") not in "iufb":
                raise DtypeError(
                    f"{operation}: `{argument}` has column {str(name)!r} of type {dtype}; expected numbers\n"
                    "hint: leave the column out, or make it numbers first"
                )
    values: npt.NDArray[Any] = x.to_numpy()
    if values.dtype.kind == "O":  # columns of different kinds, or with missing values of their own
        values = x.to_numpy(dtype=np.float64, na_value=np.nan)
    return real(operation, argument, values)


def target(operation: str, argument: str, y: Any) -> Real:
    """One column (n) or several (n × t)."""
    if not isinstance(y, np.ndarray):
        if hasattr(y, "to_numpy"):  # a Series or a frame
            y = y.to_numpy()
        elif hasattr(y, "__arrow_c_stream__") and hasattr(y, "schema"):
            return matrix(operation, argument, y).values
    values = real(operation, argument, y)
    if values.ndim not in (1, 2):
        shape = tuple(int(n) for n in values.shape)
        raise ShapeError(f"{operation}: `{argument}` has shape {shape}; expected 1 or 2 dimensions")
    return values


def vector(operation: str, argument: str, v: Any) -> npt.NDArray[np.float64]:
    """One dimension of float64 without gaps."""
    values = target(operation, argument, v)
    if values.ndim != 1:
        shape = tuple(int(n) for n in values.shape)
        raise ShapeError(f"{operation}: `{argument}` has shape {shape}; expected 1 dimension")
    return np.ascontiguousarray(values, dtype=np.float64)


def is_chunks(x: Any) -> bool:
    """Whether ``x`` is an iterator of chunks and not data itself."""
    return isinstance(x, Iterator)
