"""Systems of equations, rank and conditioning, projections, span and hull."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import target, vector
from .._tables import features
from ..errors import ShapeError
from ._text import SHOWN, counted, numbers, said

F64 = npt.NDArray[np.float64]
SolveMethod = Literal["auto", "lu", "cholesky", "qr", "svd"]


def _f64(operation: str, argument: str, x: Any) -> F64:
    return np.asarray(features(operation, argument, x).values, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The answer of a system of equations, and how good it is.

    Attributes
    ----------
    x : ndarray, (p,) or (p, t)
    residual_norm, relative_residual, backward_error, condition : float or ndarray, (t,)
        A backward error near 1e-16 is as good as it gets; digits lost are about the logarithm of the condition number.
    rank : int
    jitter : float
        What Cholesky added to the diagonal, as a share of it.
    method : str
    """

    x: F64
    residual_norm: Any
    relative_residual: Any
    backward_error: Any
    condition: Any
    rank: int
    jitter: float
    method: str

    def __repr__(self) -> str:
        unknowns = len(self.x)
        facts = [
            f"by {self.method}",
            *([f"rank {self.rank} of {unknowns}: the shortest of many answers"] if self.x.size and self.rank < unknowns else []),
            *numbers("relative residual", self.relative_residual),
            *numbers("backward error", self.backward_error),
            *numbers("condition", self.condition),
        ]
        return said("Solution", facts, [f"x = {self.x}"] if self.x.ndim == 1 and len(self.x) <= SHOWN else [])


def solve(
    A: Any,
    b: Any,
    *,
    method: SolveMethod = "auto",
    jitter: float = 0.0,
    tolerance: float | None = None,
) -> Solution:
    """Solves ``A x = b``, in the sense of least squares where there are more rows than columns.

    Parameters
    ----------
    A : array or table, (n, p)
    b : array, (n,) or (n, t)
    method : {"auto", "lu", "cholesky", "qr", "svd"}
        ``"svd"`` takes anything and gives the answer of the smallest norm; the others refuse dependent columns. Unless named:
        Cholesky where ``A`` is symmetric and positive definite, LU for other square systems, QR for taller ones, SVD for wider ones
        and where columns depend on others. ``rank`` then says so.
    jitter : float
        The largest share of the diagonal that ``"cholesky"`` may add to make its factorisation exist.
    tolerance : float, optional
        Singular values up to this share of the largest count as zero for ``"svd"``.

    Returns
    -------
    Solution

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> spanwise.linear.solve([[4.0, 2.0], [2.0, 3.0]], [8.0, 8.0]).x
    array([1., 2.])
    """
    left = _f64("solve", "A", A)
    right = np.asarray(target("solve", "b", b), dtype=np.float64)
    parts = _spanwise.solve(left, right, method, float(jitter), tolerance)
    parts["x"] = parts["x"].T
    if right.ndim == 1:
        for key, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[key] = value[:, 0] if value.ndim == 2 else float(value[0])
    return Solution(**parts)


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """How many columns are independent, and how sure that is. ``int()`` gives the number.

    Attributes
    ----------
    rank, columns : int
    tolerance : float
        Singular values of the unit-scaled columns at most this share of the largest count as zero.
    singular_values : ndarray
    gap : float
        The last singular value that counts over the first that does not.
    band : (float, float)
        Tolerances around the one used, and in ``rank_in_band`` the rank at its upper and its lower end.
    sure : bool
        Whether the rank is the same everywhere in the band.
    """

    rank: int
    columns: int
    tolerance: float
    singular_values: F64
    gap: float
    band: tuple[float, float]
    rank_in_band: tuple[int, int]
    sure: bool

    def __int__(self) -> int:
        return self.rank

    __index__ = __int__

    def __repr__(self) -> str:
        low, high = self.rank_in_band
        sure = "sure" if self.sure else f"between {low} and {high}"
        return said("Rank", [f"{self.rank} of {counted(self.columns, 'column')}", sure, f"gap {self.gap:.3g}"])


def rank(X: Any) -> Rank:
    """The numerical rank of the columns of ``X`` (n, p), decided on columns scaled to length 1.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> found = spanwise.linear.rank(np.array([[1.0, 0.001], [2.0, 0.002], [3.0, 0.003]]))
    >>> int(found), found.sure
    (1, True)
    """
    return Rank(**_spanwise.rank(features("measure", "X", X).values))


class Condition(NamedTuple):
    """Condition numbers: of the columns as they are, and scaled to length 1 (what limits the digits of a fit)."""

    raw: float
    unit_scaled: float


def cond(X: Any) -> Condition:
    """The condition numbers of the columns of ``X`` (n, p).

    Examples
    --------
    >>> import spanwise
    >>> raw, scaled = spanwise.linear.cond([[1e6, 0.0], [0.0, 1.0]])
    >>> round(raw), round(scaled)
    (1000000, 1)
    """
    return Condition(*_spanwise.condition(features("measure", "X", X).values))


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """A vector split by a column space.

    Attributes
    ----------
    inside, outside : ndarray, (n,) or (n, t)
        The closest vector in the span, and what is left: orthogonal to every column.
    angle : float or ndarray, (t,)
        Between the vector and the span, 0 to π/2; NaN for the zero vector.
    coefficients : ndarray, (p,) or (p, t)
        Of the columns, to give ``inside``; dependent columns get 0.
    rank : int
    """

    inside: F64
    outside: F64
    angle: Any
    coefficients: F64
    rank: int

    def __repr__(self) -> str:
        inside, outside = (np.linalg.norm(part, axis=0) for part in (self.inside, self.outside))
        lengths = [*numbers("length inside", inside), *numbers("length outside", outside)]
        return said("Projection", [f"rank {self.rank}", *numbers("angle", self.angle), *lengths])


def project(X: Any, v: Any) -> Projection:
    """Projects ``v`` (n,) or (n, t) onto the span of the columns of ``X`` (n, p).

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> split = spanwise.linear.project([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]], [3.0, 2.0, 5.0])
    >>> np.round(split.inside, 12), np.round(split.outside, 12)
    (array([3., 2., 0.]), array([0., 0., 5.]))
    """
    columns = np.asarray(target("project", "v", v), dtype=np.float64)
    one = columns.ndim == 1
    parts = _spanwise.project(_f64("project", "X", X), columns[:, None] if one else columns)
    if one:
        for key, value in parts.items():
            if isinstance(value, np.ndarray):
                parts[key] = value[:, 0] if value.ndim == 2 else float(value[0])
    return Projection(**parts)


@dataclass(frozen=True, slots=True, eq=False)
class SpanMembership:
    """Whether a vector lies in the span of columns, with what proves it. ``bool()`` gives the answer.

    Attributes
    ----------
    inside : bool
    coefficients : ndarray, (p,)
        Of the columns: ``X @ coefficients`` is the part inside.
    outside : ndarray, (n,)
        The part outside, orthogonal to every column.
    residual : float
        ``‖outside‖ / ‖v‖``; up to ``tolerance`` it counts as none.
    orthogonality : float
        The largest cosine between ``outside`` and a column.
    rank : int
    unique : bool
        Whether no other coefficients give the part inside.
    tolerance : float
    """

    inside: bool
    coefficients: F64
    outside: F64
    residual: float
    orthogonality: float
    rank: int
    unique: bool
    tolerance: float

    def __bool__(self) -> bool:
        return self.inside

    def __repr__(self) -> str:
        where = "inside" if self.inside else "outside"
        only = "the only coefficients" if self.unique else "coefficients of many"
        return said("SpanMembership", [where, f"residual {self.residual:.3g}", f"rank {self.rank}", only])


def in_span(X: Any, v: Any) -> SpanMembership:
    """Whether ``v`` (n,) is a combination of the columns of ``X`` (n, p).

    Examples
    --------
    >>> import spanwise
    >>> bool(spanwise.linear.in_span([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [3.0, 0.0, 4.0]))
    False
    """
    return SpanMembership(**_spanwise.in_span(_f64("measure", "X", X), vector("measure", "v", v)))


class Hyperplane(NamedTuple):
    """``normal @ p <= offset`` for every given point, and ``margin`` above it for the query."""

    normal: F64
    offset: float
    margin: float


@dataclass(frozen=True, slots=True, eq=False)
class HullMembership:
    """Whether a point is a weighted mean of given points, with what proves it. ``bool()`` gives the answer.

    Attributes
    ----------
    inside : bool
    weights : ndarray, (m,)
        None negative, adding up to 1: they rebuild the query, or the nearest point of the hull.
    nearest : ndarray, (d,)
    distance : float
    separating : Hyperplane or None
        The proof of being outside.
    in_affine_hull : bool
        Whether it lies in the flat through all points.
    affine_distance : float
    support : ndarray of int
        The points with a positive weight.
    unique : bool
        Whether no other weights give the same point.
    tolerance : float
        Distances up to this count as 0.
    """

    inside: bool
    weights: F64
    nearest: F64
    distance: float
    separating: Hyperplane | None
    in_affine_hull: bool
    affine_distance: float
    support: npt.NDArray[np.int64]
    unique: bool
    tolerance: float

    def __bool__(self) -> bool:
        return self.inside

    def __repr__(self) -> str:
        where = "inside" if self.inside else "outside"
        of = f"{counted(len(self.support), 'point')} of {len(self.weights)} with weight"
        return said("HullMembership", [where, f"distance {self.distance:.6g}", of])


def in_hull(points: Any, query: Any) -> Any:
    """Whether ``query`` is a weighted mean of ``points``.

    Parameters
    ----------
    points : array or table, (m, d)
    query : array, (d,) or (t, d)

    Returns
    -------
    HullMembership, or a list of them for several queries

    Examples
    --------
    >>> import spanwise
    >>> triangle = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    >>> found = spanwise.linear.in_hull(triangle, [1.0, 1.0])
    >>> bool(found), [round(float(w), 12) for w in found.weights]
    (True, [0.5, 0.25, 0.25])
    """
    corners = _f64("measure", "points", points)
    queries = np.asarray(target("measure", "query", query), dtype=np.float64)
    rows = queries[None, :] if queries.ndim == 1 else queries
    if rows.shape[1] != corners.shape[1]:
        raise ShapeError(
            f"measure: `query` has length {rows.shape[1]}, `points` has {corners.shape[1]} columns; they must be equal"
        )
    found = []
    for parts in _spanwise.in_hull(corners, rows):
        if parts["separating"] is not None:
            parts["separating"] = Hyperplane(*parts["separating"])
        found.append(HullMembership(**parts))
    return found[0] if queries.ndim == 1 else found
