"""Tables reduced to what linear models need of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import _spanwise
from .._arrays import Names, Real, target, vector
from .._numbers import whole
from .._tables import Design, Features, features, in_order
from ..errors import DtypeError, NumberError, ShapeError
from ._models import (
    F64,
    Deficiency,
    LinearFit,
    NonNegativeFit,
    RidgeFit,
    drops,
    linear_fit,
    nonnegative_fit,
    one_constraint,
    penalties,
    ridge_fit,
)


class Summary:
    """Everything least squares, ridge and non-negative weights need of a table: one small triangle, which grows row by row and merges.

    Data larger than memory, files read in parts, and rows spread over machines give the same fit as all rows
    at once, to rounding.

    Parameters
    ----------
    columns : int
        Columns of ``X``.
    targets : int
        Columns of ``y``.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> y = X @ [1.0, -2.0] + 3
    >>> left, right = spanwise.linear.Summary(2), spanwise.linear.Summary(2)
    >>> left.update(X[:4], y[:4])
    >>> right.update(X[4:], y[4:])
    >>> left.merge(right)
    >>> np.round(left.finish().coefficients, 9)
    array([ 1., -2.])
    >>> left.nonnegative(intercept=True).support
    ()
    """

    __slots__ = ("_design", "_inner", "_names", "_one")

    def __init__(self, columns: int, targets: int = 1) -> None:
        for argument, count in (("columns", columns), ("targets", targets)):
            if whole("summary", argument, count, "a whole number, at least 1") < 1:
                raise NumberError(f"summary: `{argument}` is {count}; expected a whole number, at least 1")
        self._inner = _spanwise.Summary(columns, targets)
        self._names: Names = None
        self._design: Design | None = None
        self._one = targets == 1

    def update(self, X: Any, y: Any, weights: Any = None) -> None:
        """Adds the rows of ``X`` (n, d) and ``y`` (n,) or (n, t), each with its weight ≥ 0 where weights are given.

        Words have the levels of the first table that had some; one that was not there then is an error.
        """
        table = features("summary", "X", X, self._design)
        self._add(in_order("summary", table, self._names), y, weights)

    def _add(self, table: Features, y: Any, weights: Any) -> None:
        targets = target("summary", "y", y)
        weights = None if weights is None else vector("summary", "weights", weights)
        self._inner.update(table.values, targets, weights)
        self._names, self._design = self._names or table.names, self._design or table.design

    def merge(self, other: Summary) -> None:
        """Adds the rows that ``other`` has seen."""
        if self._design is not None and other._design is not None and self._design != other._design:
            raise ShapeError("summary: the other has words with other levels; expected the same, in the same order")
        self._inner.merge(other._inner)
        self._names, self._design = self._names or other._names, self._design or other._design

    def finish(
        self,
        *,
        intercept: bool = True,
        deficiency: Deficiency = "minimum-norm",
        tolerance: float | None = None,
    ) -> LinearFit:
        """The least-squares fit of all rows seen; see :func:`lstsq` for the settings."""
        asked = (intercept, drops("fit", deficiency), tolerance, 0, 53)
        parts = self._inner.finish(asked, list(self._names or ()))
        return linear_fit(parts, self._names, self._design, self._one)

    def ridge(self, *, alpha: Any = 1.0, intercept: bool = True) -> RidgeFit:
        """The ridge regression of all rows seen; see :func:`ridge` for the settings."""
        alphas = penalties(alpha, self.targets)
        return ridge_fit(self._inner.ridge(alphas, intercept), alphas, self._names, self._design, self._one)

    def nonnegative(self, *, intercept: bool = False, unit_sum: bool = False) -> NonNegativeFit:
        """The fit of all rows seen with weights that may not be negative; see :func:`nonnegative` for the settings."""
        one_constraint(intercept, unit_sum)
        parts = self._inner.nonnegative(intercept, unit_sum)
        return nonnegative_fit(parts, self._names, self._design, self._one)

    def to_bytes(self) -> bytes:
        """The summary as bytes, which :meth:`from_bytes` reads on any machine."""
        return self._inner.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Summary:
        """The summary that :meth:`to_bytes` wrote."""
        summary = cls.__new__(cls)
        summary._inner = _spanwise.Summary.from_bytes(bytes(data))
        summary._names = summary._design = None
        summary._one = summary.targets == 1
        return summary

    @property
    def rows(self) -> int:
        """Rows seen, with a weight above zero."""
        return self._inner.facts()[0]

    @property
    def columns(self) -> int:
        """Columns of ``X``."""
        return self._inner.facts()[1]

    @property
    def targets(self) -> int:
        """Columns of ``y``."""
        return self._inner.facts()[2]

    @property
    def weight_sum(self) -> float:
        """The sum of the weights: the number of rows where none were given."""
        return self._inner.facts()[3]

    @property
    def means(self) -> F64:
        """The weighted mean of each column, targets after the columns, (d + t,)."""
        return np.array(self._inner.facts()[4])

    def __getstate__(self) -> tuple[bytes, Names, Design | None]:
        return self.to_bytes(), self._names, self._design

    def __setstate__(self, state: tuple[bytes, Names, Design | None]) -> None:
        self._inner = _spanwise.Summary.from_bytes(state[0])
        self._names, self._design = state[1], state[2]
        self._one = self.targets == 1

    def __repr__(self) -> str:
        return f"Summary: {self.rows} rows of {self.columns} columns, {self.targets} target(s)"


def summarised(operation: str, chunks: Iterable[Any], y: Any, weights: Any) -> Summary:
    """Of chunks of ``(X, y)`` or ``(X, y, weights)``, beside which nothing else is given."""
    if y is not None or weights is not None:
        given = "weights" if y is None else "y"
        raise DtypeError(
            f"{operation}: `{given}` was given beside chunks; expected chunks of (X, y) or (X, y, weights)"
        )
    summary: Summary | None = None
    for chunk in chunks:
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise DtypeError(
                f"{operation}: a chunk is a {type(chunk).__name__}; expected a tuple of (X, y) or (X, y, weights)"
            )
        X, own, own_weights = (*chunk, None)[:3]
        values: Real = target(operation, "y", own)
        table = features(operation, "X", X, None if summary is None else summary._design)
        if summary is None:
            summary = Summary(table.values.shape[1], 1 if values.ndim == 1 else values.shape[1])
        summary._add(in_order(operation, table, summary._names), values, own_weights)
    if summary is None:
        raise ShapeError(f"{operation}: there are no chunks; expected at least one")
    return summary
