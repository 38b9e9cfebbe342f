"""QR, singular values, principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import _spanwise
from .._arrays import Names, matrix
from .._numbers import seed as random_seed
from .._numbers import whole
from .._progress import fitting
from .._tables import Design, features, predicted
from ..errors import NumberError
from ._text import counted, said

F64 = npt.NDArray[np.float64]
PcaMethod = Literal["auto", "exact", "covariance", "dual", "randomized"]


class Qr(NamedTuple):
    """``X = q @ r``: orthonormal columns (n, k), and a triangle (k, p) whose diagonal is not negative."""

    q: F64
    r: F64


class Svd(NamedTuple):
    """``X = u @ diag(s) @ vh``: (n, k), (k,) from the largest down, (k, p)."""

    u: F64
    s: F64
    vh: F64


def qr(X: Any, *, full: bool = False) -> Qr:
    """The QR factorisation of ``X``.

    Parameters
    ----------
    X : array or table, (n, p)
    full : bool
        ``q`` is (n, n) and ``r`` (n, p) instead of (n, k) and (k, p), k = min(n, p).

    Returns
    -------
    Qr
        A named tuple of ``q`` and ``r``.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> q, r = spanwise.linear.qr(np.array([[3.0, 1.0], [4.0, 2.0]]))
    >>> round(float(r[0, 0]), 12), round(float(q[0, 0]), 12)
    (5.0, 0.6)
    """
    return Qr(*_spanwise.qr(features("decompose", "X", X).values, full))


def svd(X: Any, k: int | None = None, *, full: bool = False, randomized: bool = False, seed: int = 0) -> Svd:
    """The singular value decomposition of ``X``.

    Parameters
    ----------
    X : array or table, (n, p)
    k : int, optional
        Only the ``k`` largest singular values and their vectors.
    full : bool
        Complete bases: ``u`` is (n, n) and ``vh`` (p, p). Not with ``k``.
    randomized : bool
        With ``k``: by random projection, which is much faster for few of many, and exact to rounding only where the
        singular values fall fast.
    seed : int
        The same seed gives the same random projection.

    Returns
    -------
    Svd
        A named tuple of ``u``, ``s`` and ``vh``.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> np.round(spanwise.linear.svd(np.array([[0.0, 2.0], [3.0, 0.0], [0.0, 0.0]])).s, 12)
    array([3., 2.])
    """
    if k is not None and full:
        raise NumberError("decompose: `full` was asked for beside `k`; expected one of them")
    if randomized and k is None:
        raise NumberError("decompose: `randomized` was asked for without `k`; expected both")
    count = None if k is None else whole("decompose", "k", k)
    start = random_seed("decompose", seed) if randomized else None
    return Svd(*_spanwise.svd(features("decompose", "X", X).values, count, full, start))


@dataclass(frozen=True, slots=True, eq=False)
class Pca:
    """Principal components.

    Attributes
    ----------
    components : ndarray, (k, p)
        Orthonormal directions of largest variance, one per row.
    mean : ndarray, (p,)
    explained_variance, explained_variance_ratio, singular_values : ndarray, (k,)
    total_variance : float
    rows : int
    method : str
        How they were found.
    """

    components: F64
    mean: F64
    explained_variance: F64
    explained_variance_ratio: F64
    singular_values: F64
    total_variance: float
    rows: int
    method: str
    names: Names
    design: Design | None = None

    def transform(self, X: Any) -> F64:
        """The coordinates, (n, k), of the rows of ``X`` (n, p) along the components."""
        return _spanwise.pca_transform(predicted("decompose", X, self.design, self.names), self.components, self.mean)

    def inverse_transform(self, scores: Any) -> F64:
        """The rows, (n, p), that have these coordinates (n, k)."""
        values = matrix("decompose", "scores", scores).values
        return _spanwise.pca_inverse_transform(values, self.components, self.mean)

    def __repr__(self) -> str:
        k, columns = self.components.shape
        facts = [counted(self.rows, "row"), f"{counted(k, 'component')} of {counted(columns, 'column')}"]
        if self.total_variance > 0:
            facts.append(f"{100 * float(self.explained_variance_ratio.sum()):.4g} % of the variance")
        lines = [
            f"variance {variance:>12.6g}  {100 * share:6.2f} %"
            for variance, share in zip(self.explained_variance, self.explained_variance_ratio, strict=True)
        ]
        return said("Pca", facts, lines)


def pca(
    X: Any,
    components: int | None = None,
    *,
    method: PcaMethod = "auto",
    seed: int = 0,
    progress: bool | None = None,
) -> Pca:
    """The principal components of the rows of ``X``.

    Parameters
    ----------
    X : array or table, (n, p)
        At least two rows.
    components : int, optional
        How many; all min(n, p) of them unless given.
    method : {"auto", "exact", "covariance", "dual", "randomized"}
        Chosen by shape unless named.
    seed : int
        For the randomized method.
    progress : bool, optional
        As for :func:`lstsq`.

    Returns
    -------
    Pca

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> found = spanwise.linear.pca(np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]), 1)
    >>> found.mean, np.round(found.explained_variance_ratio, 12)
    (array([1., 2.]), array([1.]))
    """
    start = random_seed("pca", seed)
    table = features("decompose", "X", X)
    most = min(table.values.shape)
    components = None if components is None else whole("pca", "components", components)
    if components is not None and most > 0 and not 1 <= components <= most:
        raise NumberError(f"pca: `components` is {components}; expected between 1 and {most}, the smaller side of `X`")
    with fitting("pca", progress, table.values.shape):
        parts = _spanwise.pca(table.values, components, method, start)
    return Pca(names=table.names, design=table.design, **parts)
