"""Linear models: the weighted sum ``X @ w``, how it is found, and what can be said of it.

Every function takes NumPy arrays with any strides (float64 and float32 are looked at where they lie), tensors, and
tables: pandas, polars, pyarrow and anything else that speaks Arrow's PyCapsule interface. Inside everything is float64.
"""

from __future__ import annotations

from ._classes import LogisticFit, Separation, logistic
from ._decompose import Pca, Qr, Svd, pca, qr, svd
from ._fit import lstsq, nonnegative, ridge
from ._measure import (
    Condition,
    Hyperplane,
    HullMembership,
    Projection,
    Rank,
    Solution,
    SpanMembership,
    cond,
    in_hull,
    in_span,
    project,
    rank,
    solve,
)
from ._models import Dependency, LinearFit, NonNegativeFit, RidgeFit
from ._summary import Summary

__all__ = [
    "Condition",
    "Dependency",
    "HullMembership",
    "Hyperplane",
    "LinearFit",
    "LogisticFit",
    "NonNegativeFit",
    "Pca",
    "Projection",
    "Qr",
    "Rank",
    "RidgeFit",
    "Separation",
    "Solution",
    "SpanMembership",
    "Summary",
    "Svd",
    "cond",
    "in_hull",
    "in_span",
    "logistic",
    "lstsq",
    "nonnegative",
    "pca",
    "project",
    "qr",
    "rank",
    "ridge",
    "solve",
    "svd",
]
