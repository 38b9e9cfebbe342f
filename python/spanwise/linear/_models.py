"""Fitted linear models, and how they are made of what the extension gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import Names
from .._tables import Design, predicted
from ..errors import NumberError, ShapeError
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


def linear_fit(parts: dict[str, Any], names: Names, design: Design | None, one: bool) -> LinearFit:
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


@dataclass(frozen=True, slots=True, eq=False)
class NonNegativeFit:
    """Least squares with weights that may not be negative.

    Attributes
    ----------
    coefficients : ndarray, (d,) or (d, t)
        None is negative; with ``unit_sum`` they add up to 1.
    intercept : float or ndarray, (t,)
        Of any sign; 0 where none was asked for.
    support : tuple of int, or tuple of such
        The columns with a weight above 0, of each target.
    residual_norm : float or ndarray, (t,)
    stationarity, improvement, feasibility : float or ndarray, (t,)
        Why it is the best: the largest gradient left on the support, the largest that points inwards off it, both in units of
        the columns and the target, and by how much a constraint is violated.
    """

    coefficients: F64
    intercept: Any
    support: Any
    residual_norm: Any
    stationarity: Any
    improvement: Any
    feasibility: Any
    names: Names
    design: Design | None = None

    def predict(self, X: Any) -> F64:
        """The model's predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        return _predict(X, self.coefficients, self.intercept, self.design, self.names)

    def __repr__(self) -> str:
        facts = numbers("residual norm", self.residual_norm)
        if self.coefficients.ndim == 1:
            facts = [f"weights for {len(self.support)} of {counted(len(self.coefficients), 'column')}", *facts]
        return said("NonNegativeFit", facts, coefficients(self.names, self.coefficients, self.intercept))


def ridge_fit(parts: dict[str, Any], alphas: list[float], names: Names, design: Design | None, one: bool) -> RidgeFit:
    """Of what the extension gives: one row of coefficients per target."""
    parts["alpha"] = np.array(alphas)
    return RidgeFit(names=names, design=design, **_of_targets(parts, one))


def one_constraint(intercept: bool, unit_sum: bool) -> None:
    """Weights that add up to 1 leave no intercept."""
    if intercept and unit_sum:
        raise NumberError(
            "non-negative least squares: `intercept` is True beside `unit_sum`; expected one of them at most"
        )


def nonnegative_fit(parts: dict[str, Any], names: Names, design: Design | None, one: bool) -> NonNegativeFit:
    """The same."""
    support = tuple(tuple(columns) for columns in parts.pop("support"))
    parts["support"] = support[0] if one else support
    return NonNegativeFit(names=names, design=design, **_of_targets(parts, one))


def _of_targets(parts: dict[str, Any], one: bool) -> dict[str, Any]:
    parts["coefficients"] = parts["coefficients"].T
    parts["residual_norm"] = np.sqrt(parts.pop("residual_squares"))
    if one:
        for key, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[key] = value[:, 0] if value.ndim == 2 else float(value[0])
    return parts


def drops(operation: str, deficiency: str) -> bool:
    """Whether dependent columns are left out."""
    if deficiency not in ("minimum-norm", "drop"):
        raise NumberError(f'{operation}: `deficiency` is {deficiency!r}; expected "minimum-norm" or "drop"')
    return deficiency == "drop"


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
