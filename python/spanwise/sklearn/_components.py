"""Principal components."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _spanwise
from ..linear import pca
from ._checks import TYPES, Array, number, rows, seed


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components.

    Parameters
    ----------
    n_components : int or float, optional
        How many; a number between 0 and 1 takes as many as explain that share of the variance; all unless given.
    whiten : bool
        Whether coordinates are divided by the deviation along their component.
    method : {"auto", "exact", "covariance", "dual", "randomized"}
    random_state : int, RandomState or None
        For the randomized method. None draws another seed for each fit.

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
        random_state: Any = 0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.method = method
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Finds the components of the rows of ``X`` (n, p)."""
        X = validate_data(self, X, dtype=TYPES, ensure_all_finite=False, ensure_min_samples=2)
        wanted, share = self._wanted(min(X.shape))
        drawn = seed(self.random_state) if self.method in ("auto", "randomized") else 0
        found = pca(X, wanted, method=self.method, seed=drawn)  # type: ignore[arg-type]
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
            number(self, "n_components", lambda k: 1 <= k <= most, f"from 1 to {most}, the smaller side of `X`")
            return int(self.n_components), None
        number(self, "n_components", lambda share: 0 < share < 1, "a whole number, or a share between 0 and 1")
        return None, float(self.n_components)

    def transform(self, X: Any) -> Array:
        """Coordinates, (n, k), of the rows of ``X`` (n, p)."""
        X = rows(self, X)
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
        found = _spanwise.pca_inverse_transform(scores, components, self.mean_.astype(np.float64, copy=False))
        given: Array = found.astype(kept, copy=False)
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
