"""Keys and values that grow while a text is being written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Unpack

import numpy as np

from . import _spanwise
from ._attention import AttentionStats
from ._kinds import kind_of
from ._numbers import whole
from ._options import Options, asked, wanted
from .errors import DtypeError

__all__ = ["KVCache"]


class KVCache:
    """Keys and values to which rows are appended, and attention over all of them.

    Parameters
    ----------
    batch : int
        Batch entries, ``B``.
    heads : int
        Key/value heads, ``G``.
    width : int
        Key width, ``D``.
    value_width : int, optional
        Value width, ``E``; as wide as the keys unless given.
    dtype : dtype or str
        float64, float32, float16 or bfloat16, of NumPy, ml_dtypes or torch.
    capacity : int, optional
        How many rows it may hold; as many as there is memory for unless given.
    page : int, optional
        Rows to a page. With pages nothing moves when the cache grows; multiples of 64 are best. Without, all rows lie in one
        array, which moves now and then. Results are the same.

    Notes
    -----
    Threads may share a cache: appending waits for attention that is under way, and the other way round.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> cache = spanwise.KVCache(batch=1, heads=2, width=4, dtype="float64")
    >>> rows = np.sin(np.arange(48.0)).reshape(1, 2, 6, 4)
    >>> cache.append(rows[:, :, :5], rows[:, :, :5])  # a prompt
    >>> cache.append(rows[:, :, 5:], rows[:, :, 5:])  # one row more
    >>> len(cache)
    6
    >>> query = np.cos(np.arange(16.0)).reshape(1, 4, 1, 4)  # two query heads to each key head
    >>> out = cache.attention(query)
    >>> out.shape, bool((out == spanwise.attention(query, rows, rows)).all())
    ((1, 4, 1, 4), True)
    """

    __slots__ = ("_held", "batch", "capacity", "dtype", "heads", "page", "value_width", "width")

    def __init__(
        self,
        batch: int,
        heads: int,
        width: int,
        value_width: int | None = None,
        *,
        dtype: Any = np.float32,
        capacity: int | None = None,
        page: int | None = None,
    ) -> None:
        self.batch = _count("batch", batch)
        self.heads = _count("heads", heads)
        self.width = _count("width", width)
        self.value_width = self.width if value_width is None else _count("value_width", value_width)
        self.capacity = None if capacity is None else _count("capacity", capacity)
        self.page = None if page is None else _count("page", page)
        self.dtype = _word(dtype)
        sizes = (self.batch, self.heads, self.width, self.value_width)
        self._held = _spanwise.KVCache(self.dtype, sizes, self.capacity, self.page)

    def __len__(self) -> int:
        """Rows held, ``M``."""
        return len(self._held)

    def __repr__(self) -> str:
        sizes = f"batch={self.batch}, heads={self.heads}, width={self.width}, value_width={self.value_width}"
        return f"KVCache({sizes}, dtype={self.dtype!r}): {len(self)} rows"

    def append(self, k: Any, v: Any) -> None:
        """Adds rows; nothing is added where they do not fit.

        Parameters
        ----------
        k : array or tensor, (B, G, rows, D)
        v : array or tensor, (B, G, rows, E)
            Of the cache's storage type; missing leading dimensions are 1.
        """
        kind = kind_of(k)
        self._held.append(kind.take("k", k), kind.take("v", v), kind.bits)

    def truncate(self, rows: int) -> None:
        """Forgets all rows but the first ``rows``, and keeps the memory; where there are fewer, all stay.

        Parameters
        ----------
        rows : int
        """
        self._held.truncate(_count("rows", rows))

    def reset(self) -> None:
        """Forgets all rows, and keeps the memory."""
        self._held.truncate(0)

    def attention(self, q: Any, *, stats: str | Iterable[str] | None = None, **options: Unpack[Options]) -> Any:
        """Attention of ``q`` over all rows held, which are read where they lie.

        Parameters
        ----------
        q : array or tensor, (B, H, N, D)
            Of the cache's storage type; ``H`` is a multiple of the cache's heads.
        stats : str or list of str, optional
            As for :func:`spanwise.attention`.
        **options
            ``scale``, ``softcap``, ``bias``, ``mask``, ``causal``, ``window``, ``alibi``, ``lengths``, ``sinks``, ``dropout``
            and ``seed``, as for :func:`spanwise.attention`. The newest queries belong to the newest keys, so the diagonal to
            name is ``causal="bottom-right"``.

        Returns
        -------
        values : array or tensor, (B, H, N, E)
            Of the kind and storage type of ``q``.
        stats : AttentionStats
            Only where ``stats`` was given.
        """
        kind = kind_of(q)
        array = kind.take("q", q)
        names = None if stats is None else wanted(stats)
        values, told = self._held.attention(array, asked(kind, array, **options), names, kind.bits)
        given = kind.give(values, q)
        return given if told is None else (given, AttentionStats(**told))


def _count(argument: str, found: Any) -> int:
    return whole("attention", argument, found)


def _word(dtype: Any) -> str:
    """The name of a storage type of NumPy, ml_dtypes or torch."""
    if isinstance(dtype, str):
        return dtype
    if type(dtype).__module__ == "torch":
        return str(dtype).removeprefix("torch.")
    try:
        return str(np.dtype(dtype))
    except TypeError:
        raise DtypeError(f"attention: `dtype` is {dtype!r}; expected float64, float32, float16 or bfloat16") from None
