"""Linear models: the weighted sum ``X @ w``, how it is found, and what can be said of it.

Every function takes NumPy arrays with any strides (float64 and float32 are looked at where they lie), tensors, and
tables: pandas, polars, pyarrow and anything else that speaks Arrow's PyCapsule interface. Inside everything is float64.
"""

from __future__ import annotations

from ._classes import LogisticFit, Separation, logistic
from ._decompose import Pca, Qr, Svd, pca, qr, svd
from ._fit import lstsq, nonnegative, ridge
from ._geometry import (
    ChangeOfBasis,
    ColumnAngle,
    ComponentProjection,
    Definiteness,
    Orthogonality,
    angle,
    basis,
    change_of_basis,
    column_angles,
    definiteness,
    onto_components,
    orthogonality,
    principal_angles,
)
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
    "ChangeOfBasis",
    "ColumnAngle",
    "ComponentProjection",
    "Condition",
    "Definiteness",
    "Dependency",
    "HullMembership",
    "Hyperplane",
    "LinearFit",
    "LogisticFit",
    "NonNegativeFit",
    "Orthogonality",
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
    "angle",
    "basis",
    "change_of_basis",
    "column_angles",
    "cond",
    "definiteness",
    "in_hull",
    "in_span",
    "logistic",
    "lstsq",
    "nonnegative",
    "onto_components",
    "orthogonality",
    "pca",
    "principal_angles",
    "project",
    "qr",
    "rank",
    "ridge",
    "solve",
    "svd",
]
