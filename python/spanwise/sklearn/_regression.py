"""Least squares and ridge regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.model_selection import check_cv

from .. import _spanwise
from ..linear import lstsq
from ..linear._models import penalties
from ._checks import F64, Array, regression, rows


class _LinearModel(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What linear regressors share: predictions."""

    coef_: F64
    intercept_: Any

    def predict(self, X: Any) -> F64:
        """Predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        X = rows(self, X)
        one = self.coef_.ndim == 1
        coefficients = np.ascontiguousarray(np.atleast_2d(self.coef_))
        intercept = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64), len(coefficients))
        found = _spanwise.predict(X, coefficients, np.ascontiguousarray(intercept))
        return found[0] if one else found.T


class LinearRegression(_LinearModel):
    """Ordinary least squares, with what is known about each coefficient.

    Parameters
    ----------
    fit_intercept : bool
    tolerance : float, optional
        The share of a column outside the span of the others at or below which it is dependent.

    Attributes
    ----------
    coef_ : ndarray, (d,) or (t, d)
    intercept_ : float or ndarray, (t,)
    rank_ : int
        Independent columns, the intercept not counted.
    condition_ : float
    standard_errors_, digits_ : ndarray, like ``coef_``
    dependencies_ : tuple of Dependency
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from spanwise.sklearn import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> np.round(model.coef_, 12), round(model.intercept_, 12)
    (array([2.]), 1.0)
    """

    def __init__(self, *, fit_intercept: bool = True, tolerance: float | None = None) -> None:
        self.fit_intercept = fit_intercept
        self.tolerance = tolerance

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits ``X`` (n, d) to ``y`` (n,) or (n, t), with one weight ≥ 0 per row where given."""
        X, y, weights = regression(self, X, y, sample_weight)
        found = lstsq(
            X, y, intercept=bool(self.fit_intercept), weights=weights, tolerance=self.tolerance
        )
        self.coef_ = np.ascontiguousarray(found.coefficients.T)
        self.intercept_ = found.intercept
        self.standard_errors_ = found.standard_errors.T
        self.digits_ = found.digits.T
        self.rank_ = found.rank - int(bool(self.fit_intercept))
        self.condition_ = found.condition
        self.dependencies_ = found.dependencies
        return self


class Ridge(_LinearModel):
    """Least squares with a penalty on the size of the coefficients.

    Parameters
    ----------
    alpha : float or array, (t,)
        The penalty; the intercept is not penalised.
    fit_intercept : bool

    Attributes
    ----------
    coef_ : ndarray, (d,) or (t, d)
    intercept_ : float or ndarray, (t,)
    n_features_in_ : int
    """

    def __init__(self, alpha: Any = 1.0, *, fit_intercept: bool = True) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits ``X`` (n, d) to ``y`` (n,) or (n, t), with one weight ≥ 0 per row where given."""
        X, y, weights = regression(self, X, y, sample_weight)
        self._solve(X, y, weights, self.alpha)
        return self

    def _solve(self, X: Array, y: Array, weights: F64 | None, alpha: Any) -> None:
        alphas = penalties(alpha, 1 if y.ndim == 1 else y.shape[1])
        found = _spanwise.ridge(X, y, alphas, weights, bool(self.fit_intercept))
        one = y.ndim == 1
        self.coef_ = found["coefficients"][0] if one else found["coefficients"]
        self.intercept_ = float(found["intercept"][0]) if one else found["intercept"]


class RidgeCV(Ridge):
    """Ridge regression whose penalty is chosen by the error on rows left out.

    Parameters
    ----------
    alphas : array
        The penalties to choose from.
    fit_intercept : bool
    cv : int, splitter or iterable of (train, test), optional
        Which rows are left out together, as scikit-learn means it; each row by itself (exactly, without refitting)
        unless given.

    Attributes
    ----------
    alpha_ : float
    best_score_ : float
        The negative mean squared error on rows left out, of ``alpha_``.
    errors_ : ndarray, (penalties,)
        Mean squared errors on rows left out, averaged over targets.
    coef_ : ndarray, (d,) or (t, d)
    intercept_ : float or ndarray, (t,)
    n_features_in_ : int
    """

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        fit_intercept: bool = True,
        cv: Any = None,
    ) -> None:
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits ``X`` (n, d) to ``y`` (n,) or (n, t), with one weight ≥ 0 per row where given."""
        X, y, weights = regression(self, X, y, sample_weight, least=2)
        alphas = [float(alpha) for alpha in np.asarray(self.alphas, dtype=np.float64).ravel()]
        if self.cv is None:
            errors = _spanwise.ridge_errors(X, y, alphas, weights, bool(self.fit_intercept))
            self.errors_ = errors.mean(axis=0)
        else:
            self.errors_ = self._left_out_errors(X, y, weights, alphas)
        best = int(np.argmin(self.errors_))
        self.alpha_ = alphas[best]
        self.best_score_ = -float(self.errors_[best])
        self._solve(X, y, weights, self.alpha_)
        return self

    def _left_out_errors(self, X: Array, y: Array, weights: F64 | None, alphas: list[float]) -> F64:
        """Weighted mean squared errors of each penalty, over the splits and the targets."""
        columns = y[:, None] if y.ndim == 1 else y
        sums, count = np.zeros(len(alphas)), 0.0
        for train, test in check_cv(self.cv).split(X, y):
            left_in = None if weights is None else np.ascontiguousarray(weights[train])
            left_out = np.ones(len(X[test])) if weights is None else weights[test]
            kept, rest = X[train], np.ascontiguousarray(X[test])
            for column in columns.T:
                target = np.ascontiguousarray(column[train])
                fits = _spanwise.ridge_path(kept, target, alphas, left_in, bool(self.fit_intercept))
                residuals = _spanwise.predict(rest, *fits) - column[test]
                sums += (residuals**2) @ left_out
            count += float(left_out.sum()) * columns.shape[1]
        means: F64 = sums / count
        return means
