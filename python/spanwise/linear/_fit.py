"""Least squares and ridge regression."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import Names, Real, is_chunks, target, vector
from .._numbers import whole
from .._progress import Progress, fitting
from .._tables import Design, Features, features, in_order, predicted
from ..errors import DtypeError, NumberError, ShapeError
from ._text import coefficients, counted, numbers, said

F64 = npt.NDArray[np.float64]
Deficiency = Literal["minimum-norm", "drop"]


@dataclass(frozen=True, slots=True)
class Dependency:
    """One column as a combination of others.

    Attributes
    ----------
    column : int
        The dependent column.
    terms : tuple of (int, float)
        The columns it is made of, each with its coefficient.
    constant : float
        The constant, which the intercept carries.
    relative_residual : float
        What the formula leaves unexplained, as a share of the column's norm.
    formula : str
        The same in the columns' names.
    """

    column: int
    terms: tuple[tuple[int, float], ...]
    constant: float
    relative_residual: float
    formula: str

    def __str__(self) -> str:
        return self.formula


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """A fitted linear model: what was found, and how far it can be trusted.

    Shapes: ``d`` columns, ``t`` targets. Where ``y`` was one column, ``(d, t)`` is ``(d,)`` and ``(t,)`` a number.

    Attributes
    ----------
    coefficients : ndarray, (d, t)
        The weights of the columns: predictions are ``X @ coefficients + intercept``.
    intercept : float or ndarray, (t,)
        The constant; 0 where none was asked for.
    standard_errors : ndarray, (d, t)
        NaN without degrees of freedom, and for a coefficient that the data do not determine.
    digits : ndarray, (d, t)
        How many decimal digits of each coefficient can be trusted: no more than the computation has, and no more than
        the rounding of the data leaves.
    p_values : ndarray, (d, t)
        P of a value at least as far from 0, if the coefficient were 0.
    rank, terms : int
        How many terms (columns, and the intercept) are independent, of how many.
    condition : float
        The condition number of the independent terms, each shifted near its mean and scaled: what the computation meets. ``cond``
        gives those of the columns as they are.
    dependencies : tuple of Dependency
        Each dependent column as a formula.
    out_of_range : tuple of int
        Columns with a coefficient, of any target, that is too near to 0 for float64: rounded to 0 or nearly so, and predictions
        with it. One that is too large is an error.
    residual_norm : float or ndarray, (t,)
        The root of the weighted sum of squared residuals.
    residual_deviation, r_squared, adjusted_r_squared, f, f_p_value, log_likelihood, aic, bic : float or ndarray, (t,)
        Statistics of the fit as a whole.
    """

    coefficients: F64
    intercept: Any
    standard_errors: F64
    intercept_standard_error: Any
    digits: F64
    intercept_digits: Any
    p_values: F64
    residual_norm: Any
    residual_deviation: Any
    r_squared: Any
    adjusted_r_squared: Any
    f: Any
    f_p_value: Any
    log_likelihood: Any
    aic: Any
    bic: Any
    rank: int
    terms: int
    rank_sure: bool
    rank_gap: float
    tolerance: float
    condition: float
    condition_bound: float
    dependencies: tuple[Dependency, ...]
    out_of_range: tuple[int, ...]
    rows: int
    degrees_of_freedom: int
    method: str
    refinement_steps: int
    names: Names
    design: Design | None = None

    def predict(self, X: Any) -> F64:
        """The model's predictions for the rows of ``X``.

        Parameters
        ----------
        X : array or table, (n, d)

        Returns
        -------
        ndarray, (n,) or (n, t)

        Examples
        --------
        >>> import numpy as np, spanwise
        >>> fit = spanwise.linear.lstsq(np.array([[0.0], [1.0], [2.0]]), [1.0, 3.0, 5.0])
        >>> fit.predict(np.array([[10.0]]))
        array([21.])
        """
        return _predict(X, self.coefficients, self.intercept, self.design, self.names)

    def confidence_intervals(self, confidence: float = 0.95) -> tuple[F64, F64]:
        """Lower and upper ends of the intervals that hold each coefficient with this probability.

        Parameters
        ----------
        confidence : float
            Between 0 and 1.

        Returns
        -------
        lower, upper : ndarray, (d,) or (d, t)
        """
        reach = _spanwise.t_quantile(float(self.degrees_of_freedom), confidence) * self.standard_errors
        return self.coefficients - reach, self.coefficients + reach

    def __repr__(self) -> str:
        facts = [counted(self.rows, "row"), f"rank {self.rank} of {self.terms}", f"condition {self.condition:.3g}"]
        lines = coefficients(self.names, self.coefficients, self.intercept)
        if self.coefficients.ndim == 1:
            errors = (self.intercept_standard_error, *self.standard_errors)
            digits = (self.intercept_digits, *self.digits)
            lines = [
                f"{line}  ± {error:<10.3g} {trusted:4.1f} digits"
                for line, error, trusted in zip(lines, errors, digits, strict=True)
            ]
        fit = said("LinearFit", [*facts, *numbers("R²", self.r_squared)], lines)
        if self.out_of_range:
            names = self.names or tuple(f"x[{j}]" for j in range(len(self.coefficients)))
            lost = ", ".join(names[j] for j in self.out_of_range[:5]) + ("" if len(self.out_of_range) <= 5 else ", …")
            fit += f"\n  nearer to 0 than float64 holds: {lost}"
        return fit + "".join(f"\n  dependent: {found}" for found in self.dependencies[:5])


def _predict(X: Any, coefficients: F64, intercept: Any, design: Design | None, names: Names) -> F64:
    values = predicted("predict", X, design, names)
    one = coefficients.ndim == 1
    rows = np.ascontiguousarray(coefficients[None, :] if one else coefficients.T)
    found = _spanwise.predict(values, rows, np.atleast_1d(np.asarray(intercept, dtype=np.float64)))
    return found[0] if one else found.T


def _linear_fit(parts: dict[str, Any], names: Names, design: Design | None, one: bool) -> LinearFit:
    squares = parts.pop("residual_squares")
    parts.pop("total_squares")
    parts["residual_norm"] = np.sqrt(squares)
    if one:
        for key, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[key] = value[:, 0] if value.ndim == 2 else float(value[0])
    parts["dependencies"] = tuple(
        Dependency(column, tuple(terms), constant, residual, formula)
        for column, terms, constant, residual, formula in parts["dependencies"]
    )
    parts["out_of_range"] = tuple(sorted({column for columns in parts["out_of_range"] for column in columns}))
    return LinearFit(names=names, design=design, **parts)


def _bits(x: Any) -> int:
    """Binary digits of the numbers of an array that was given; they reach the extension as float32 at least."""
    name = str(getattr(x, "dtype", ""))
    return 8 if name.endswith("bfloat16") else 11 if name.endswith("float16") else 53


def _drop(operation: str, deficiency: str) -> bool:
    if deficiency not in ("minimum-norm", "drop"):
        raise NumberError(f'{operation}: `deficiency` is {deficiency!r}; expected "minimum-norm" or "drop"')
    return deficiency == "drop"


def lstsq(
    X: Any,
    y: Any = None,
    *,
    intercept: bool = True,
    weights: Any = None,
    deficiency: Deficiency = "minimum-norm",
    tolerance: float | None = None,
    refinement: int = 5,
    progress: bool | None = None,
) -> LinearFit:
    """Least squares: the ``w`` and ``b`` that make ``‖y - Xw - b‖`` smallest, with what is known about them.

    Parameters
    ----------
    X : array or table, (n, d), or iterator of chunks
        float64 and float32 are read where they lie, with any strides. A table's columns of words become columns of 0 and 1
        for each level but the first, the reference. An iterator yields ``(X, y)`` or ``(X, y, weights)``, one chunk at a
        time, for data larger than memory; each chunk is reduced and forgotten.
    y : array, (n,) or (n, t)
        One target or several. Not given with an iterator.
    intercept : bool
        Whether the model has a constant.
    weights : array, (n,), optional
        One weight ≥ 0 per row; a weight of 0 is the same as leaving the row out.
    deficiency : {"minimum-norm", "drop"}
        Where columns depend on others: the solution of the smallest norm, or dependent columns left out.
    tolerance : float, optional
        The share of a column outside the span of the others at or below which it is dependent.
    refinement : int
        At most this many passes that improve the solution; they end when they stop helping.
    progress : bool, optional
        Whether to say on stderr how far the work is: the chunks that were read, or the time that has passed. Where it is not
        given, it is said in notebooks and interactive terminals once the work has taken half a second.

    Returns
    -------
    LinearFit

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> X = np.array([[1.0, 3.0], [2.0, 4.0], [3.0, 5.0], [4.0, 6.0]])  # x[1] = x[0] + 2
    >>> fit = spanwise.linear.lstsq(X, [2.0, 4.0, 6.0, 8.0])
    >>> fit.rank, fit.terms
    (2, 3)
    >>> [(found.column, len(found.terms)) for found in fit.dependencies]
    [(1, 1)]
    >>> np.round(fit.predict([[5.0, 7.0]]), 12)
    array([10.])
    """
    drop = _drop("fit", deficiency)
    refinement = whole("fit", "refinement", refinement)
    if is_chunks(X):
        if y is not None or weights is not None:
            raise DtypeError("fit: `y` was given beside chunks; expected chunks of (X, y) or (X, y, weights)")
        with Progress("fit", progress) as line:
            summary = _summarised(line.over(X))
        return summary.finish(intercept=intercept, deficiency=deficiency, tolerance=tolerance)
    table = features("fit", "X", X)
    if y is None:
        raise DtypeError("fit: `y` was not given; expected one target per row of `X`")
    targets = target("fit", "y", y)
    weights = None if weights is None else vector("fit", "weights", weights)
    asked = (intercept, drop, tolerance, refinement, min(_bits(X), _bits(y)))
    with fitting("fit", progress, table.values.shape):
        parts = _spanwise.lstsq(table.values, targets, weights, asked, list(table.names or ()))
    return _linear_fit(parts, table.names, table.design, targets.ndim == 1)


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFit:
    """A fitted ridge regression.

    Attributes
    ----------
    coefficients : ndarray, (d,) or (d, t)
    intercept : float or ndarray, (t,)
        0 where none was asked for.
    alpha : float or ndarray, (t,)
        The penalty.
    residual_norm, r_squared : float or ndarray, (t,)
    degrees_of_freedom : float or ndarray, (t,)
        The trace of the matrix that turns ``y`` into predictions; NaN where it would have cost more than the fit.
    method : str
    """

    coefficients: F64
    intercept: Any
    alpha: Any
    residual_norm: Any
    r_squared: Any
    degrees_of_freedom: Any
    method: str
    names: Names
    design: Design | None = None

    def predict(self, X: Any) -> F64:
        """The model's predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        return _predict(X, self.coefficients, self.intercept, self.design, self.names)

    def __repr__(self) -> str:
        facts = [
            *numbers("alpha", self.alpha),
            *numbers("R²", self.r_squared),
            *numbers("degrees of freedom", self.degrees_of_freedom),
        ]
        return said("RidgeFit", facts, coefficients(self.names, self.coefficients, self.intercept))


def ridge(
    X: Any,
    y: Any,
    *,
    alpha: Any = 1.0,
    intercept: bool = True,
    weights: Any = None,
    progress: bool | None = None,
) -> RidgeFit:
    """Ridge regression: the ``w`` and ``b`` that make ``Σ (y - Xw - b)² + alpha·‖w‖²`` smallest.

    Parameters
    ----------
    X : array or table, (n, d)
    y : array, (n,) or (n, t)
    alpha : float or array, (t,)
        The penalty, as scikit-learn means it; one for all targets or one for each. The intercept is not penalised.
    intercept : bool
    weights : array, (n,), optional
        One weight ≥ 0 per row.
    progress : bool, optional
        As for :func:`lstsq`.

    Returns
    -------
    RidgeFit

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> X = np.arange(5.0)[:, None]
    >>> fit = spanwise.linear.ridge(X, 1 + 2 * X[:, 0], alpha=10.0)
    >>> round(float(fit.coefficients[0]), 12), round(fit.intercept, 12)
    (1.0, 3.0)
    """
    table = features("ridge", "X", X)
    targets = np.asarray(target("ridge", "y", y), dtype=np.float64)
    one = targets.ndim == 1
    alphas = penalties(alpha, 1 if one else targets.shape[1])
    weights = None if weights is None else vector("ridge", "weights", weights)
    with fitting("ridge", progress, table.values.shape):
        parts = _spanwise.ridge(table.values, targets, alphas, weights, intercept)
    parts["coefficients"] = parts["coefficients"].T
    parts["residual_norm"] = np.sqrt(parts.pop("residual_squares"))
    parts["alpha"] = np.array(alphas)
    if one:
        for key, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[key] = value[:, 0] if value.ndim == 2 else float(value[0])
    return RidgeFit(names=table.names, design=table.design, **parts)


def penalties(alpha: Any, targets: int) -> list[float]:
    """One penalty per target."""
    try:
        found = np.asarray(alpha, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise NumberError(f"ridge: `alpha` is {alpha!r}; expected a number, or one for each target") from None
    if found.size not in (1, targets):
        expected = "1" if targets == 1 else f"1 or {targets}, one per target"
        raise ShapeError(f"ridge: `alpha` has {found.size} entries; expected {expected}")
    return [float(value) for value in np.broadcast_to(found, (targets,))]


class Summary:
    """Everything least squares needs of a table: one small triangle, which grows row by row and merges.

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
        asked = (intercept, _drop("fit", deficiency), tolerance, 0, 53)
        parts = self._inner.finish(asked, list(self._names or ()))
        return _linear_fit(parts, self._names, self._design, self._one)

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


def _summarised(chunks: Iterable[Any]) -> Summary:
    summary: Summary | None = None
    for chunk in chunks:
        if not isinstance(chunk, tuple) or len(chunk) not in (2, 3):
            raise DtypeError(
                f"fit: a chunk is a {type(chunk).__name__}; expected a tuple of (X, y) or (X, y, weights)"
            )
        X, y, weights = (*chunk, None)[:3]
        values: Real = target("fit", "y", y)
        table = features("fit", "X", X, None if summary is None else summary._design)
        if summary is None:
            summary = Summary(table.values.shape[1], 1 if values.ndim == 1 else values.shape[1])
        summary._add(in_order("fit", table, summary._names), values, weights)
    if summary is None:
        raise ShapeError("fit: there are no chunks; expected at least one")
    return summary
