"""Ridge regression in the feature space of a kernel."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin

from .. import _spanwise
from .._numbers import whole
from ..errors import NumberError
from ..linear._models import penalties
from ._checks import F64, regression, rows, seed


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
    random_state : int, RandomState or None
        For the draw. None draws another seed for each fit.

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
        random_state: Any = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fits ``X`` (n, d) to ``y`` (n,) or (n, t), with one weight ≥ 0 per row where given."""
        X, y, weights = regression(self, X, y, sample_weight)
        columns = y[:, None] if y.ndim == 1 else y
        alphas = penalties(self.alpha, columns.shape[1])
        kernel = self._described(X.shape[1])
        count = 0 if self.landmarks is None else whole("KernelRidge", "landmarks", self.landmarks)
        draw = (count, seed(self.random_state) if count else 0)
        self.models_ = [
            _spanwise.kernel_ridge(X, np.ascontiguousarray(column), weights, kernel, alpha, draw, False)
            for column, alpha in zip(columns.T, alphas, strict=True)
        ]
        coefficients = np.stack([model.coefficients for model in self.models_], axis=1)
        self.X_fit_ = self.models_[0].landmarks
        if self.landmarks is None and weights is not None:
            # The models leave rows of weight 0 out; here they are rows like the others, with coefficients of 0.
            kept, self.X_fit_ = coefficients, X
            coefficients = np.zeros((len(X), columns.shape[1]))
            coefficients[weights > 0.0] = kept
        self.dual_coef_ = coefficients[:, 0] if y.ndim == 1 else coefficients
        return self

    def _described(self, columns: int) -> tuple[str, float | None, int, float]:
        gamma = 1.0 / columns if self.gamma is None else float(self.gamma)
        match self.kernel:
            case "linear":
                return "polynomial", 1.0, 1, 0.0
            case "rbf":
                return "rbf", gamma, 1, 0.0
            case "poly" | "polynomial":
                return "polynomial", gamma, self._degree(), float(self.coef0)
        raise NumberError(
            f"KernelRidge: `kernel` is {self.kernel!r}; expected \"linear\", \"rbf\", \"poly\" or \"polynomial\""
        )

    def _degree(self) -> int:
        # scikit-learn takes 3.0 for 3.
        degree: Any = self.degree
        if isinstance(degree, float) and degree.is_integer():
            degree = int(degree)
        return whole("KernelRidge", "degree", degree, "a whole number from 0 to 2**32 - 1", (1 << 32) - 1)

    def predict(self, X: Any) -> F64:
        """Predictions for the rows of ``X`` (n, d): (n,) or (n, t)."""
        X = rows(self, X)
        found = [model.predict(X) for model in self.models_]
        return found[0] if self.dual_coef_.ndim == 1 else np.stack(found, axis=1)
