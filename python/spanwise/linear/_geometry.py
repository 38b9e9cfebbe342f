"""Angles, orthogonality, definiteness; orthonormal bases, rows seen through components, a change of basis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import vector
from .._numbers import whole
from .._tables import features, predicted
from ._decompose import Pca, pca
from ._text import counted, numbers, said

F64 = npt.NDArray[np.float64]


def _f64(operation: str, argument: str, x: Any) -> F64:
    return np.asarray(features(operation, argument, x).values, dtype=np.float64)


def angle(a: Any, b: Any) -> float:
    """The angle between the vectors ``a`` and ``b`` (n,), from 0 to π; NaN where one is zero. Small ones keep their digits.

    Examples
    --------
    >>> import spanwise
    >>> spanwise.linear.angle([1.0, 0.0], [1.0, 1e-9])
    1e-09
    """
    return _spanwise.angle(vector("measure", "a", a), vector("measure", "b", b))


class ColumnAngle(NamedTuple):
    """Two columns and the angle between them, from 0 to π; ``centred`` is the one without their means, whose cosine is their
    correlation (NaN where one is constant)."""

    first: int
    second: int
    angle: float
    centred: float


def column_angles(X: Any, most: int = 100) -> list[ColumnAngle]:
    """The ``most`` pairs of columns of ``X`` (n, p) that lie nearest to one line, at 0 or π to each other; nearest first.

    Examples
    --------
    >>> import spanwise
    >>> nearest = spanwise.linear.column_angles([[1.0, 0.0, 2.0], [1.0, 1.0, 2.1], [0.0, 0.0, 0.0]])[0]
    >>> nearest.first, nearest.second, round(nearest.angle, 6)
    (0, 2, 0.024385)
    """
    count = whole("measure", "most", most)
    return [ColumnAngle(*found) for found in _spanwise.column_angles(features("measure", "X", X).values, count)]


def principal_angles(A: Any, B: Any) -> F64:
    """The principal angles between the spans of the columns of ``A`` (n, p) and ``B`` (n, q), smallest first.

    There are as many as the smaller of the two ranks; one is 0 for each direction that both spans have.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> plane, other = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    >>> np.round(np.degrees(spanwise.linear.principal_angles(plane, other)), 9)
    array([ 0., 45.])
    """
    left, right = features("measure", "A", A), features("measure", "B", B)
    return _spanwise.principal_angles(left.values, right.values)


@dataclass(frozen=True, slots=True, eq=False)
class Orthogonality:
    """How far columns are from orthogonal. ``bool()`` says whether they are.

    Attributes
    ----------
    orthogonal, orthonormal : bool
        Orthogonal to each other, and of length 1 as well, within the tolerance.
    largest_cosine : float
        The largest magnitude of a cosine between two columns.
    worst_pair : (int, int) or None
        The two it belongs to; None of fewer than two columns.
    length_error : float
        The largest distance of a column's length from 1.
    tolerance : float
        Cosines and distances up to this count as 0.
    """

    orthogonal: bool
    orthonormal: bool
    largest_cosine: float
    worst_pair: tuple[int, int] | None
    length_error: float
    tolerance: float

    def __bool__(self) -> bool:
        return self.orthogonal

    def __repr__(self) -> str:
        kind = "orthonormal" if self.orthonormal else "orthogonal" if self.orthogonal else "not orthogonal"
        between = "" if self.worst_pair is None else f" between columns {self.worst_pair[0]} and {self.worst_pair[1]}"
        return said("Orthogonality", [kind, f"largest cosine {self.largest_cosine:.3g}{between}"])


def orthogonality(X: Any) -> Orthogonality:
    """Whether the columns of ``X`` (n, p) are orthogonal to each other, and of length 1.

    Examples
    --------
    >>> import spanwise
    >>> found = spanwise.linear.orthogonality([[1.0, 1.0], [1.0, -1.0]])
    >>> bool(found), found.orthonormal
    (True, False)
    """
    return Orthogonality(**_spanwise.orthogonality(features("measure", "X", X).values))


@dataclass(frozen=True, slots=True, eq=False)
class Definiteness:
    """Which way a symmetric matrix curves, with the direction that proves it. ``bool()`` says whether it is positive definite.

    Attributes
    ----------
    positive_definite, positive_semidefinite : bool
    smallest, largest : float
        Eigenvalues.
    direction : ndarray, (n,)
        Of length 1 and least curvature; of greatest where the matrix is negative definite or semidefinite.
    curvature : float
        ``direction @ A @ direction``, computed anew in twice the precision.
    tolerance : float
        Eigenvalues within this of 0 count as 0.
    """

    positive_definite: bool
    positive_semidefinite: bool
    smallest: float
    largest: float
    direction: F64
    curvature: float
    tolerance: float

    def __bool__(self) -> bool:
        return self.positive_definite

    @property
    def indefinite(self) -> bool:
        """Whether it curves both ways."""
        return self.smallest < -self.tolerance and self.largest > self.tolerance

    def __repr__(self) -> str:
        kind = (
            "positive definite"
            if self.positive_definite
            else "positive semidefinite"
            if self.positive_semidefinite
            else "indefinite"
            if self.indefinite
            else "negative definite"
            if self.largest < -self.tolerance
            else "negative semidefinite"
        )
        return said("Definiteness", [kind, f"eigenvalues from {self.smallest:.6g} to {self.largest:.6g}"])


def definiteness(A: Any) -> Definiteness:
    """Whether the symmetric ``A`` (n, n) is positive definite, semidefinite or indefinite.

    Examples
    --------
    >>> import spanwise
    >>> saddle = spanwise.linear.definiteness([[1.0, 2.0], [2.0, 1.0]])
    >>> bool(saddle), saddle.indefinite, round(saddle.curvature, 12)
    (False, True, -1.0)
    """
    return Definiteness(**_spanwise.definiteness(features("measure", "A", A).values))


def basis(X: Any, *, complement: bool = False) -> F64:
    """Orthonormal directions, one per column: of the span of the columns of ``X`` (n, p), or of all that is orthogonal to it.

    Parameters
    ----------
    X : array or table, (n, p)
    complement : bool
        All that is orthogonal to the span; of at most 16,384 rows, because it has nearly as many directions.

    Returns
    -------
    ndarray, (n, rank) or (n, n - rank)

    Examples
    --------
    >>> import spanwise
    >>> X = [[1.0, 2.0], [0.0, 0.0], [1.0, 2.0]]
    >>> spanwise.linear.basis(X).shape, spanwise.linear.basis(X, complement=True).shape
    ((3, 1), (3, 2))
    """
    return _spanwise.basis(features("project", "X", X).values, bool(complement))


@dataclass(frozen=True, slots=True, eq=False)
class ComponentProjection:
    """Rows seen through principal components.

    Attributes
    ----------
    scores : ndarray, (n, k)
        Coordinates along the components.
    rebuilt : ndarray, (n, p)
        The closest points in the components' plane.
    distances : ndarray, (n,)
        Of each row from where it is rebuilt.
    relative_error : float
        ``‖X - rebuilt‖ / ‖X - mean‖``; 0 where all rows are the mean.
    pca : Pca
    """

    scores: F64
    rebuilt: F64
    distances: F64
    relative_error: float
    pca: Pca

    def __repr__(self) -> str:
        rows, count = self.scores.shape
        facts = [counted(rows, "row"), counted(count, "component"), f"relative error {self.relative_error:.3g}"]
        return said("ComponentProjection", [*facts, *numbers("distance", self.distances)])


def onto_components(X: Any, components: int | Pca) -> ComponentProjection:
    """Projects the rows of ``X`` (n, p) onto principal components, and rebuilds them.

    Parameters
    ----------
    X : array or table, (n, p)
    components : int or Pca
        How many of the components of ``X`` itself; or those of other rows, found before by :func:`pca`.

    Returns
    -------
    ComponentProjection

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> seen = spanwise.linear.onto_components([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]], 1)
    >>> np.round(np.abs(seen.scores[:, 0]), 6), seen.relative_error < 1e-15
    (array([2.236068, 0.      , 2.236068]), True)
    """
    found = components if isinstance(components, Pca) else pca(X, components)
    values = predicted("project", X, found.design, found.names)
    return ComponentProjection(**_spanwise.onto_components(values, found.components, found.mean), pca=found)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeOfBasis:
    """A model written in other columns.

    Attributes
    ----------
    features : ndarray, (n, p)
        The new columns ``X @ B``.
    coefficients : ndarray, (p,)
        Their coefficients.
    prediction : ndarray, (n,)
        The same in both.
    error : float
        By how much the two predictions differ, as a share of their length: rounding.
    condition : float
        About the condition number of ``B``: how much rounding the change may magnify.
    """

    features: F64
    coefficients: F64
    prediction: F64
    error: float
    condition: float

    def __repr__(self) -> str:
        facts = [counted(len(self.coefficients), "column"), f"error {self.error:.3g}", f"condition {self.condition:.3g}"]
        return said("ChangeOfBasis", facts)


def change_of_basis(X: Any, w: Any, B: Any) -> ChangeOfBasis:
    """Writes the model ``X @ w`` in the columns ``X @ B``: other coefficients, the same prediction.

    Parameters
    ----------
    X : array or table, (n, p)
    w : array, (p,)
    B : array, (p, p), invertible

    Returns
    -------
    ChangeOfBasis

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> same = spanwise.linear.change_of_basis([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2.0, -1.0], [[1.0, 1.0], [1.0, -1.0]])
    >>> same.coefficients, same.prediction
    (array([0.5, 1.5]), array([0., 2., 4.]))
    """
    columns, change = _f64("project", "X", X), _f64("project", "B", B)
    return ChangeOfBasis(**_spanwise.change_of_basis(columns, vector("project", "w", w), change))
