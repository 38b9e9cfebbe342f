"""Tables as the numbers of a model: columns of words become columns of 0 and 1, as the command makes them.

Truth values are the numbers 0 and 1, also where the words True and False say them.

A column of words with levels ``a, b, c`` gives columns ``name=b`` and ``name=c``; the first level is the reference that the
others are compared with, and has none. Levels stand in the order of their first appearance, or in the order that a
categorical column gives them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real as RealNumber
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._arrays import Names, Real, as_array, matrix
from .errors import DtypeError, ShapeError

Missing = Literal["error", "drop", "mean"]
# Name; numbers, or codes and levels of words.
Column = tuple[str, npt.NDArray[np.float64] | None, tuple[npt.NDArray[np.uint32], list[str]] | None]


@dataclass(frozen=True, slots=True)
class Design:
    """How the columns of a table became the columns of a model.

    Attributes
    ----------
    fields : tuple of (str, tuple of str or None)
        The table's columns, and the levels of those that hold words; the first level is the reference.
    names : tuple of str
        The model's columns.
    """

    fields: tuple[tuple[str, tuple[str, ...] | None], ...]
    names: tuple[str, ...]

    @property
    def encodings(self) -> list[tuple[str, list[str]]]:
        """The columns of words, with their levels."""
        return [(name, list(levels)) for name, levels in self.fields if levels is not None]


@dataclass(frozen=True, slots=True)
class Target:
    """What a model is to reach: numbers, NaN where one is missing, or a word per row, None where one is missing.

    True and False are the numbers 1 and 0, marked as ``boolean``.
    """

    numbers: npt.NDArray[np.float64] | None
    words: list[str | None] | None
    boolean: bool = False

    @property
    def rows(self) -> int:
        held = self.words if self.numbers is None else self.numbers
        assert held is not None
        return len(held)


class Features(NamedTuple):
    """A model's columns (n, d), their names where there are some, and how words became numbers where there were any."""

    values: Real
    names: Names
    design: Design | None


class Rows(NamedTuple):
    """The rows of a table that are used, all as numbers, with which they are and how many values took the mean."""

    values: npt.NDArray[np.float64]
    kept: npt.NDArray[np.intp]
    filled: int
    design: Design


def features(operation: str, argument: str, x: Any, design: Design | None = None) -> Features:
    """A matrix or a table as the columns of a model; of the model that has ``design``, where there is one."""
    # A table that lacks a model's column of words may be of numbers alone; the column is missed by its name.
    columns = table_columns(operation, argument, x, words=design is None)
    if columns is None or (design is None and all(words is None for _, _, words in columns)):
        values, names = matrix(operation, argument, x) if columns is None else _stacked(columns)
        return Features(values, names, None)
    found = encode(operation, argument, columns, design=design)
    return Features(found.values, found.design.names, found.design)


def encode(
    operation: str,
    argument: str,
    columns: list[Column],
    *,
    design: Design | None = None,
    missing: str = "error",
    present: npt.NDArray[np.bool_] | None = None,
) -> Rows:
    """Columns as numbers, with a rule for values that are missing."""
    fields = None if design is None else [(name, None if of is None else list(of)) for name, of in design.fields]
    x, kept, filled, names, known = _spanwise.encode(columns, fields, missing, present, operation, argument)
    of = tuple((name, None if levels is None else tuple(levels)) for name, levels in known)
    return Rows(x, np.asarray(kept, dtype=np.intp), filled, Design(of, tuple(names)))


def table_columns(operation: str, argument: str, x: Any, *, words: bool) -> list[Column] | None:
    """The columns of a table; None where ``x`` is not one, or where ``words`` is asked for and numbers are all it has."""
    if isinstance(x, np.ndarray):
        return None
    if hasattr(x, "iloc") and hasattr(x, "columns"):
        if words and all(getattr(dtype, "kind", "O") in "iufb" for dtype in x.dtypes):
            return None
        return [_pandas_column(operation, argument, str(name), x[name]) for name in x.columns]
    if hasattr(x, "__arrow_c_stream__") and not hasattr(x, "to_frame"):
        return _spanwise.columns_of_stream(x.__arrow_c_stream__(), operation, argument)
    return None


def _pandas_column(operation: str, argument: str, name: str, column: Any) -> Column:
    if getattr(column, "ndim", 1) != 1:
        raise ShapeError(f"{operation}: `{argument}` has more than one column {name!r}; expected different names")
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if kind in "iufb":
        return name, column.to_numpy(dtype=np.float64, na_value=np.nan), None
    if hasattr(column, "cat") or kind in "OTU" or str(dtype) in ("str", "string"):
        return name, None, _words(operation, argument, name, column)
    raise DtypeError(
        f"{operation}: `{argument}` has column {name!r} of type {dtype}; expected numbers or words\n"
        "hint: leave the column out, or make it numbers first"
    )


def _words(
    operation: str, argument: str, name: str, column: Any
) -> tuple[npt.NDArray[np.uint32], list[str]]:
    """Codes and levels; what is missing has the largest code."""
    if hasattr(column, "cat"):
        codes, found = column.cat.codes.to_numpy(), list(column.cat.categories)
    else:
        codes, uniques = column.factorize()
        found = list(uniques)
        other = next((value for value in found if not isinstance(value, str)), None)
        # Truth values with gaps between them are objects to pandas.
        if other is not None and not all(isinstance(value, bool | np.bool_) for value in found):
            raise DtypeError(
                f"{operation}: `{argument}` has column {name!r} with {other!r} in it; expected numbers alone or words alone"
            )
    codes = np.asarray(codes, dtype=np.int64)
    return np.where(codes < 0, np.iinfo(np.uint32).max, codes).astype(np.uint32), [str(value) for value in found]


def target_of_column(x: Any, columns: list[Column], place: int) -> Target:
    """The target that is the column of the table ``x`` at ``place``."""
    _, numbers, words = columns[place]
    if words is not None:
        codes, levels = words
        return Target(None, [levels[code] if code < len(levels) else None for code in codes.tolist()])
    dtypes = getattr(x, "dtypes", None)  # pandas, polars
    if dtypes is None:
        dtypes = getattr(getattr(x, "schema", None), "types", None)  # pyarrow
    boolean = dtypes is not None and str(list(dtypes)[place]).lower().startswith("bool")
    return Target(numbers, None, boolean)


def target(operation: str, argument: str, y: Any) -> Target:
    """A target that is an array, a series or a list: numbers alone, words alone, or True and False alone."""
    if hasattr(y, "iloc") and hasattr(y, "cat"):
        y = y.to_frame()  # pandas: categories are classes, also where they are numbers
    if hasattr(y, "columns") or (hasattr(y, "__arrow_c_stream__") and not hasattr(y, "to_numpy")):
        columns = table_columns(operation, argument, y, words=False) or []
        if len(columns) != 1:
            raise ShapeError(f"{operation}: `{argument}` has {len(columns)} columns; expected 1")
        return target_of_column(y, columns, 0)
    if hasattr(y, "to_numpy"):  # pyarrow copies only where it is told that it may
        y = y.to_numpy(zero_copy_only=False) if hasattr(y, "to_pylist") else y.to_numpy()
    values = as_array(operation, argument, y)
    if values.dtype.kind == "U" and not isinstance(y, np.ndarray):
        values = np.asarray(y, dtype=object)  # NumPy makes words of the numbers that stand beside words
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ShapeError(f"{operation}: `{argument}` has shape {tuple(values.shape)}; expected 1 dimension")
    if values.dtype.kind in "iufb":
        return Target(values.astype(np.float64), None, values.dtype.kind == "b")
    if values.dtype.kind not in "OUT":
        raise DtypeError(f"{operation}: `{argument}` has dtype {values.dtype}; expected numbers or words")
    return _target_of_objects(operation, argument, values.tolist())


def _target_of_objects(operation: str, argument: str, values: list[Any]) -> Target:
    read = [_plain(operation, argument, value) for value in values]
    kinds: dict[type, Any] = {}  # with the first value of each
    for found, value in zip(read, values, strict=True):
        if found is not None:
            kinds.setdefault(type(found), value)
    if len(kinds) > 1:
        one, other, *_ = kinds.values()
        raise DtypeError(
            f"{operation}: `{argument}` holds {one!r} and {other!r}; expected numbers alone or words alone"
        )
    if str in kinds:
        return Target(None, [None if found is None else str(found) for found in read])
    numbers = [math.nan if found is None else float(found) for found in read]
    return Target(np.array(numbers, dtype=np.float64), None, bool in kinds)


def _plain(operation: str, argument: str, value: Any) -> str | bool | float | None:
    """A word, a truth or a number; None where nothing is there."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    pandas = sys.modules.get("pandas")
    if value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT)):
        return None
    if not isinstance(value, RealNumber | Decimal):
        raise DtypeError(f"{operation}: `{argument}` holds {value!r}; expected numbers alone or words alone")
    try:
        number = float(value)
    except OverflowError:  # an integer or a fraction beyond the range of float64
        number = math.inf if abs(value) == value else -math.inf
    except ValueError:  # a signalling NaN
        number = math.nan
    return None if math.isnan(number) else number


def _stacked(columns: list[Column]) -> tuple[Real, Names]:
    """Columns of numbers side by side."""
    numbers = [values for _, values, _ in columns if values is not None]
    rows = len(numbers[0]) if numbers else 0
    stacked = np.empty((rows, len(numbers)), order="F")
    for j, values in enumerate(numbers):
        stacked[:, j] = values
    return stacked, tuple(name for name, _, _ in columns)


def predicted(operation: str, x: Any, design: Design | None, names: Names) -> Real:
    """Rows to predict, as the columns that the model was fitted with: by their names where both have some."""
    return in_order(operation, features(operation, "X", x, design), names).values


def in_order(operation: str, found: Features, names: Names) -> Features:
    """The columns of a table in the order of ``names``, where it has names too."""
    if names is None or found.names is None or found.names == names:
        return found
    places = {name: place for place, name in enumerate(found.names)}
    for name in names:
        if name not in places:
            raise ShapeError(
                f"{operation}: `X` has no column {name!r}; expected those of the model: {', '.join(names)}"
            )
    return Features(found.values[:, [places[name] for name in names]], names, found.design)
