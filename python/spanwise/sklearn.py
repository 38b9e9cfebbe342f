"""Estimators with scikit-learn's conventions: fit, predict, transform, learned attributes with a trailing underscore.

They go where scikit-learn's own go: pipelines, searches, pickles. What they compute is :mod:`spanwise.linear`.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MultiOutputMixin,
    RegressorMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from . import _spanwise
from .errors import NumberError
from .linear import logistic, lstsq, pca
from .linear._classes import coded, probabilities
from .linear._fit import penalties

__all__ = ["KernelRidge", "LinearRegression", "LogisticRegression", "PCA", "Ridge", "RidgeCV"]

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
_TYPES = [np.float64, np.float32]


def _number(estimator: Any, name: str, holds: Any, expected: str, kind: Any = Real) -> None:
    """A parameter of the right type and in its range."""
    value = getattr(estimator, name)
    number = isinstance(value, kind) and not isinstance(value, bool)
    if not number or not holds(value):
        message = f"{type(estimator).__name__}: `{name}` is {value!r}; expected {expected}"
        raise NumberError(message)


def _regression(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, multi_output: bool = True
) -> tuple[Array, Array, F64 | None]:
    """Checked data. Whether numbers are finite is left to the fit, which says where one is not."""
    X, y = validate_data(
        estimator,
        X,
        y,
        dtype=_TYPES,
        y_numeric=True,
        multi_output=multi_output,
        ensure_all_finite=False,
    )
    weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
    if weights is not None:
        weights = np.ascontiguousarray(weights, dtype=np.float64)
    return X, np.asarray(y, dtype=np.float64), weights


def _rows(estimator: Any, X: Any) -> Array:
    check_is_fitted(estimator)
    values: Array = validate_data(estimator, X, dtype=_TYPES, reset=False, ensure_all_finite=False)
    return values


class _LinearModel(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What linear regressors share: predictions."""

    coef_: F64
    intercept_: Any

    def predict(self, X: Any) -> F64:
        """Predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        X = _rows(self, X)
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
        X, y, weights = _regression(self, X, y, sample_weight)
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
        X, y, weights = _regression(self, X, y, sample_weight)
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
        X, y, weights = _regression(self, X, y, sample_weight)
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
            rows, rest = X[train], np.ascontiguousarray(X[test])
            for column in columns.T:
                target = np.ascontiguousarray(column[train])
                fits = _spanwise.ridge_path(rows, target, alphas, left_in, bool(self.fit_intercept))
                residuals = _spanwise.predict(rest, *fits) - column[test]
                sums += (residuals**2) @ left_out
            count += float(left_out.sum()) * columns.shape[1]
        means: F64 = sums / count
        return means


class LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression for two classes, softmax regression for more, with a penalty on the squared coefficients.

    Parameters
    ----------
    C : float
        The inverse of the penalty; ``np.inf`` for none.
    fit_intercept : bool
    class_weight : dict or "balanced", optional
    tol : float
        Newton's decrement at which to stop.
    max_iter : int

    Attributes
    ----------
    classes_ : ndarray, (K,)
    coef_ : ndarray, (1, d) or (K, d)
    intercept_ : ndarray, (1,) or (K,)
    n_iter_ : ndarray, (1,)
    n_features_in_ : int
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 100,
    ) -> None:
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits ``X`` (n, d) to labels ``y`` (n,), with one weight ≥ 0 per row where given."""
        _number(self, "C", lambda c: c > 0, "a number above 0")
        _number(self, "max_iter", lambda n: n > 0, "a whole number above 0", Integral)
        X, y = validate_data(self, X, y, dtype=_TYPES, ensure_all_finite=False)
        if y.dtype.kind not in "biu":  # whole numbers are labels
            check_classification_targets(y)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        if self.class_weight is not None:
            weights = self._weights_of_classes(y, np.ones(len(y)) if weights is None else weights)
        labels = len(coded(y if weights is None else y[weights > 0])[0])
        if labels < 2:
            raise NumberError(
                f"LogisticRegression: `y` holds {labels} class among the rows of positive weight; expected at least 2"
            )
        found = logistic(
            X,
            y,
            penalty=1.0 / self.C,
            intercept=bool(self.fit_intercept),
            weights=weights,
            tolerance=self.tol,
            iterations=int(self.max_iter),
        )
        if not found.converged and found.separation is None:
            warnings.warn(
                f"logistic regression: no convergence after {found.iterations} iterations; raise `max_iter`",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.classes_ = found.classes
        self.coef_ = found.coefficients
        self.intercept_ = found.intercept
        self.n_iter_ = np.array([found.iterations], dtype=np.int32)
        return self

    def _weights_of_classes(self, y: Array, weights: F64) -> F64:
        classes, codes = np.unique(y, return_inverse=True)
        balanced = {"sample_weight": weights} if self.class_weight == "balanced" else {}
        factors = compute_class_weight(self.class_weight, classes=classes, y=y, **balanced)
        product: F64 = weights * factors[codes]
        return product

    def decision_function(self, X: Any) -> F64:
        """Log-odds of the second class, (n,), or scores of each class, (n, K)."""
        X = _rows(self, X)
        scores = _spanwise.predict(X, self.coef_, self.intercept_)
        return scores[0] if len(self.classes_) == 2 else scores.T

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the classes, (n, K)."""
        return probabilities(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> F64:
        """Logarithms of the probabilities of the classes, (n, K)."""
        logarithms: F64 = np.log(self.predict_proba(X))
        return logarithms

    def predict(self, X: Any) -> Array:
        """The most probable label of each row, (n,)."""
        scores = self.decision_function(X)
        best = (scores > 0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        labels: Array = self.classes_[best]
        return labels


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components.

    Parameters
    ----------
    n_components : int or float, optional
        How many; a number between 0 and 1 takes as many as explain that share of the variance; all unless given.
    whiten : bool
        Whether coordinates are divided by the deviation along their component.
    method : {"auto", "exact", "covariance", "dual", "randomized"}
    random_state : int
        For the randomized method.

    Attributes
    ----------
    components_ : ndarray, (k, p)
    explained_variance_, explained_variance_ratio_, singular_values_ : ndarray, (k,)
    mean_ : ndarray, (p,)
    noise_variance_ : float
    n_components_, n_samples_, n_features_in_ : int
    """

    def __init__(
        self,
        n_components: Any = None,
        *,
        whiten: bool = False,
        method: str = "auto",
        random_state: int = 0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the components of the rows of ``X`` (n, p)."""
        X = validate_data(self, X, dtype=_TYPES, ensure_all_finite=False, ensure_min_samples=2)
        wanted, share = self._wanted(min(X.shape))
        found = pca(X, wanted, method=self.method, seed=int(self.random_state))  # type: ignore[arg-type]
        k = len(found.singular_values)
        if share is not None:
            reached = np.cumsum(found.explained_variance_ratio)
            k = min(int(np.searchsorted(reached, share, side="right")) + 1, k)
        kept = X.dtype
        self.components_ = np.ascontiguousarray(found.components[:k]).astype(kept, copy=False)
        self.explained_variance_ = found.explained_variance[:k].astype(kept, copy=False)
        self.explained_variance_ratio_ = found.explained_variance_ratio[:k].astype(kept, copy=False)
        self.singular_values_ = found.singular_values[:k].astype(kept, copy=False)
        self.mean_ = found.mean.astype(kept, copy=False)
        rest = min(X.shape) - k
        left = found.total_variance - float(found.explained_variance[:k].sum())
        self.noise_variance_ = max(left, 0.0) / rest if rest > 0 else 0.0
        self.n_components_ = k
        self.n_samples_ = X.shape[0]
        return self

    def _wanted(self, most: int) -> tuple[int | None, float | None]:
        """How many components to compute, and the share of the variance they are to explain."""
        if self.n_components is None:
            return None, None
        if isinstance(self.n_components, Integral):
            _number(self, "n_components", lambda k: 1 <= k <= most, f"from 1 to {most}, the smaller side of `X`")
            return int(self.n_components), None
        _number(self, "n_components", lambda share: 0 < share < 1, "a whole number, or a share between 0 and 1")
        return None, float(self.n_components)

    def transform(self, X: Any) -> Array:
        """Coordinates, (n, k), of the rows of ``X`` (n, p)."""
        X = _rows(self, X)
        components = np.ascontiguousarray(self.components_, dtype=np.float64)
        scores = _spanwise.pca_transform(X, components, self.mean_.astype(np.float64, copy=False))
        if self.whiten:
            scores /= self._deviations()
        return scores.astype(X.dtype, copy=False)

    def inverse_transform(self, X: Any) -> Array:
        """Rows, (n, p), of coordinates ``X`` (n, k)."""
        check_is_fitted(self)
        scores = np.asarray(X)
        scores = scores if scores.dtype in (np.float64, np.float32) else scores.astype(np.float64)
        kept = scores.dtype
        if self.whiten:
            scores = scores * self._deviations()
        components = np.ascontiguousarray(self.components_, dtype=np.float64)
        rows = _spanwise.pca_inverse_transform(scores, components, self.mean_.astype(np.float64, copy=False))
        given: Array = rows.astype(kept, copy=False)
        return given

    def _deviations(self) -> Array:
        """Along each component; a component without variance divides nothing."""
        deviations: Array = np.sqrt(self.explained_variance_)
        smallest = np.finfo(deviations.dtype).eps
        deviations[deviations < smallest] = smallest
        return deviations

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Ridge regression in the feature space of a kernel. There is no intercept: centre ``y`` where it matters.

    Parameters
    ----------
    alpha : float or array, (t,)
    kernel : {"linear", "rbf", "poly", "polynomial"}
    gamma : float, optional
        ``1 / d`` unless given.
    degree, coef0 : float
        Of the polynomial kernel ``(gamma·x·z + coef0)^degree``.
    landmarks : int, optional
        Express the model in so many rows, drawn at random; in all of them unless given.
    random_state : int
        For the draw.

    Attributes
    ----------
    dual_coef_ : ndarray, (m,) or (m, t)
    X_fit_ : ndarray, (m, d)
        The rows the model is expressed in.
    n_features_in_ : int
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: str = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1.0,
        landmarks: int | None = None,
        random_state: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fits ``X`` (n, d) to ``y`` (n,) or (n, t)."""
        X, y, _ = _regression(self, X, y, None)
        columns = y[:, None] if y.ndim == 1 else y
        alphas = penalties(self.alpha, columns.shape[1])
        kernel = self._described(X.shape[1])
        count = 0 if self.landmarks is None else int(self.landmarks)
        self.models_ = [
            _spanwise.kernel_ridge(
                X, np.ascontiguousarray(column), kernel, alpha, count, int(self.random_state), False
            )
            for column, alpha in zip(columns.T, alphas, strict=True)
        ]
        coefficients = np.stack([model.coefficients for model in self.models_], axis=1)
        self.dual_coef_ = coefficients[:, 0] if y.ndim == 1 else coefficients
        self.X_fit_ = self.models_[0].landmarks
        return self

    def _described(self, columns: int) -> tuple[str, float | None, int, float]:
        gamma = 1.0 / columns if self.gamma is None else float(self.gamma)
        match self.kernel:
            case "linear":
                return "polynomial", 1.0, 1, 0.0
            case "rbf":
                return "rbf", gamma, 1, 0.0
            case "poly" | "polynomial":
                return "polynomial", gamma, int(self.degree), float(self.coef0)
        raise NumberError(
            f"KernelRidge: `kernel` is {self.kernel!r}; expected \"linear\", \"rbf\", \"poly\" or \"polynomial\""
        )

    def predict(self, X: Any) -> F64:
        """Predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        X = _rows(self, X)
        found = [model.predict(X) for model in self.models_]
        return found[0] if self.dual_coef_.ndim == 1 else np.stack(found, axis=1)
