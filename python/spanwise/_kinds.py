"""The kinds of arrays that attention takes, and how each is read and given back."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import as_array, is_tensor, tensor_as_array
from ._team import borrow_threads, look_at_tensors
from .errors import DtypeError

Array = npt.NDArray[Any]


class Plain:
    """NumPy arrays, and whatever becomes one; results of the same storage type."""

    bits = False

    def take(self, argument: str, x: Any) -> Array:
        return as_array("attention", argument, x)

    def bias(self, bias: Any, like: Array) -> Array:
        array = self.take("bias", bias)
        return array if array.dtype == like.dtype else array.astype(like.dtype)

    def give(self, values: Array, like: Any) -> Any:
        dtype = as_array("attention", "q", like).dtype
        if values.dtype == dtype:
            return values
        return values.view(dtype)


class Namespace(Plain):
    """Arrays of another library that speaks DLPack: results go back the same way."""

    def give(self, values: Array, like: Any) -> Any:
        space = like.__array_namespace__()
        if values.dtype == np.uint16:  # float16 and bfloat16, which DLPack would take for integers
            return space.asarray(values.view(self.take("q", like).dtype))
        return space.from_dlpack(values)


class Torch:
    """Tensors on the CPU."""

    def __init__(self, bits: bool) -> None:
        self.bits = bits

    def take(self, argument: str, x: Any) -> Array:
        if not is_tensor(x):
            array = as_array("attention", argument, x)
        else:
            torch = sys.modules["torch"]
            if x.requires_grad and torch.is_grad_enabled():
                raise DtypeError(
                    f"attention: `{argument}` requires a gradient; expected one that does not\n"
                    "hint: `spanwise.torch.scaled_dot_product_attention` has gradients; `torch.no_grad()` needs none"
                )
            if x.dtype is torch.bfloat16:
                return tensor_as_array("attention", argument, x, bits=True)
            array = tensor_as_array("attention", argument, x)
        if self.bits and array.dtype == np.int16:  # not to be taken for the bits of a bfloat16
            raise DtypeError(f"attention: `{argument}` has dtype int16; expected bfloat16, as `q` has")
        return array

    def bias(self, bias: Any, like: Array) -> Array:
        if not self.bits:
            array = self.take("bias", bias)
            return array if array.dtype == like.dtype else array.astype(like.dtype)
        torch = sys.modules["torch"]
        if not is_tensor(bias):
            array = as_array("attention", "bias", bias)
            if array.dtype.name == "bfloat16":  # of ml_dtypes: the same bits
                return array.view(np.int16)
            try:
                bias = torch.from_numpy(np.ascontiguousarray(array))
            except TypeError:
                raise DtypeError(f"attention: `bias` has dtype {array.dtype}; expected numbers") from None
        return self.take("bias", bias.to(torch.bfloat16))

    def give(self, values: Array, like: Any) -> Any:
        torch = sys.modules["torch"]
        tensor = torch.from_numpy(values.view(np.int16) if values.dtype == np.uint16 else values)
        return tensor.view(like.dtype) if tensor.dtype != like.dtype else tensor


_PLAIN = Plain()
_NAMESPACE = Namespace()
_TENSORS = (Torch(False), Torch(True))


def kind_of(q: Any) -> Plain | Torch:
    if isinstance(q, np.ndarray):
        return _PLAIN
    if is_tensor(q):
        torch = sys.modules["torch"]
        borrow_threads(torch)
        return _TENSORS[q.dtype is torch.bfloat16]
    if hasattr(q, "__array_namespace__") and hasattr(q, "__dlpack__"):
        return _NAMESPACE
    return _PLAIN


def plain_tensors(q: Any, k: Any, v: Any) -> bool:
    """Whether these are three tensors whose memory says all there is to know."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    tensor = torch.Tensor
    if type(q) is not tensor or type(k) is not tensor or type(v) is not tensor:
        return False
    if q.requires_grad or k.requires_grad or v.requires_grad or q.is_neg() or k.is_neg() or v.is_neg():
        return False
    look_at_tensors(torch)
    return True
