"""Least squares, ridge regression and weights that may not be negative."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _spanwise
from .._arrays import Real, is_chunks, target, vector
from .._numbers import whole
from .._progress import Progress, fitting
from .._tables import features
from ..errors import DtypeError
from ._models import (
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
from ._summary import summarised


def _bits(x: Any) -> int:
    """Binary digits of the numbers of an array that was given; they reach the extension as float32 at least."""
    name = str(getattr(x, "dtype", ""))
    return 8 if name.endswith("bfloat16") else 11 if name.endswith("float16") else 53


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
    drop = drops("fit", deficiency)
    refinement = whole("fit", "refinement", refinement)
    if is_chunks(X):
        with Progress("fit", progress) as line:
            summary = summarised("fit", line.over(X), y, weights)
        return summary.finish(intercept=intercept, deficiency=deficiency, tolerance=tolerance)
    table = features("fit", "X", X)
    targets = _target("fit", y)
    weights = None if weights is None else vector("fit", "weights", weights)
    asked = (intercept, drop, tolerance, refinement, min(_bits(X), _bits(y)))
    with fitting("fit", progress, table.values.shape):
        parts = _spanwise.lstsq(table.values, targets, weights, asked, list(table.names or ()))
    return linear_fit(parts, table.names, table.design, targets.ndim == 1)


def ridge(
    X: Any,
    y: Any = None,
    *,
    alpha: Any = 1.0,
    intercept: bool = True,
    weights: Any = None,
    progress: bool | None = None,
) -> RidgeFit:
    """Ridge regression: the ``w`` and ``b`` that make ``Σ (y - Xw - b)² + alpha·‖w‖²`` smallest.

    Parameters
    ----------
    X : array or table, (n, d), or iterator of chunks
        Chunks are ``(X, y)`` or ``(X, y, weights)``, as for :func:`lstsq`.
    y : array, (n,) or (n, t)
        Not given with an iterator.
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
    if is_chunks(X):
        with Progress("ridge", progress) as line:
            summary = summarised("ridge", line.over(X), y, weights)
        return summary.ridge(alpha=alpha, intercept=intercept)
    table = features("ridge", "X", X)
    targets = np.asarray(_target("ridge", y), dtype=np.float64)
    one = targets.ndim == 1
    alphas = penalties(alpha, 1 if one else targets.shape[1])
    weights = None if weights is None else vector("ridge", "weights", weights)
    with fitting("ridge", progress, table.values.shape):
        parts = _spanwise.ridge(table.values, targets, alphas, weights, intercept)
    return ridge_fit(parts, alphas, table.names, table.design, one)


def nonnegative(
    X: Any,
    y: Any = None,
    *,
    intercept: bool = False,
    unit_sum: bool = False,
    weights: Any = None,
    progress: bool | None = None,
) -> NonNegativeFit:
    """Least squares with weights that may not be negative: the ``w ≥ 0`` that make ``‖y - Xw‖`` smallest.

    Parameters
    ----------
    X : array or table, (n, d), or iterator of chunks
        Chunks are ``(X, y)`` or ``(X, y, weights)``, as for :func:`lstsq`.
    y : array, (n,) or (n, t)
        Not given with an iterator.
    intercept : bool
        Whether there is a constant, of any sign.
    unit_sum : bool
        Whether the weights add up to 1, so that predictions are mixtures of the columns; there is no intercept then.
    weights : array, (n,), optional
        One weight ≥ 0 per row.
    progress : bool, optional
        As for :func:`lstsq`.

    Returns
    -------
    NonNegativeFit

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])  # least squares would give (2, -1)
    >>> fit = spanwise.linear.nonnegative(X, [2.0, 1.0])
    >>> np.round(fit.coefficients, 12), fit.support
    (array([1.5, 0. ]), (0,))
    """
    operation = "non-negative least squares"
    one_constraint(intercept, unit_sum)
    if is_chunks(X):
        with Progress(operation, progress) as line:
            summary = summarised(operation, line.over(X), y, weights)
        return summary.nonnegative(intercept=intercept, unit_sum=unit_sum)
    table = features(operation, "X", X)
    targets = np.asarray(_target(operation, y), dtype=np.float64)
    weights = None if weights is None else vector(operation, "weights", weights)
    with fitting(operation, progress, table.values.shape):
        parts = _spanwise.nonnegative(table.values, targets, weights, intercept, unit_sum)
    return nonnegative_fit(parts, table.names, table.design, targets.ndim == 1)


def _target(operation: str, y: Any) -> Real:
    if y is None:
        raise DtypeError(f"{operation}: `y` was not given; expected one target per row of `X`")
    return target(operation, "y", y)
