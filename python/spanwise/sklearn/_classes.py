"""Logistic and softmax regression."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from .. import _spanwise
from ..errors import NumberError
from ..linear import logistic
from ..linear._classes import coded, probabilities
from ._checks import F64, TYPES, Array, number, rows


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
        number(self, "C", lambda c: c > 0, "a number above 0")
        number(self, "max_iter", lambda n: n > 0, "a whole number above 0", Integral)
        X, y = validate_data(self, X, y, dtype=TYPES, ensure_all_finite=False)
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
        X = rows(self, X)
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
