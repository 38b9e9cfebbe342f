"""Attention on arrays and tensors, and statistics of its weights."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._arrays import as_array
from ._kinds import kind_of, plain_tensors
from ._numbers import whole
from ._options import Diagonal, Scored, Weighed, Window, asked, refuse_others, wanted
from .errors import DtypeError, NumberError, ShapeError

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Place = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AttentionStats:
    """Statistics of attention's weights; ``None`` where they were not asked for.

    ``…`` stands for the leading dimensions of the output: (B, H), (H,) or none.

    Attributes
    ----------
    empty_rows : int
        Rows that saw no key at all.
    lse : ndarray, (…, N)
        The logarithm of each row's denominator; -inf for an empty row.
    entropy : ndarray, (…, N)
    max, max_key : ndarray, (…, N)
        The largest weight of each row and the first key that has it; -1 in a row without keys.
    top_k, top_k_keys : ndarray, (…, N, k)
        The largest weights of each row, largest first, and their keys; all M where there are fewer keys than asked for.
    received : ndarray, (…, M)
        What each key receives from all queries.
    row_sum_error : ndarray, (…, N)
        How far each row's weights are from adding up to 1.
    map_mean, map_max : ndarray, (…, rows, cols)
        The weights pooled over cells; no more cells than queries and keys.
    """

    empty_rows: int
    lse: F64 | None = None
    entropy: F64 | None = None
    max: F64 | None = None
    max_key: I64 | None = None
    top_k: F64 | None = None
    top_k_keys: I64 | None = None
    received: F64 | None = None
    row_sum_error: F64 | None = None
    map_mean: F64 | None = None
    map_max: F64 | None = None

    def __repr__(self) -> str:
        found = {name: getattr(self, name) for name in self.__slots__ if name != "empty_rows"}
        shapes = [f"{name} {array.shape}" for name, array in found.items() if array is not None]
        rows = "row" if self.empty_rows == 1 else "rows"
        return f"AttentionStats({', '.join([f'{self.empty_rows} empty {rows}', *shapes])})"


def attention(
    q: Any,
    k: Any,
    v: Any,
    *,
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    mask: Any = None,
    causal: bool | Diagonal = False,
    window: Window | None = None,
    alibi: Any = None,
    lengths: Any = None,
    sinks: Any = None,
    dropout: float = 0.0,
    seed: int = 0,
    stats: str | Iterable[str] | None = None,
) -> Any:
    """Exact attention, ``softmax(scale·q·k + bias)·v``, a tile of keys at a time.

    Letters: ``B`` batch, ``H`` query heads, ``G`` key/value heads (``H`` is a multiple of ``G``), ``N`` queries, ``M``
    keys, ``D`` key width, ``E`` value width. Missing leading dimensions are 1; batches of 1 broadcast.

    Parameters
    ----------
    q : array or tensor, (B, H, N, D)
        NumPy arrays, torch tensors on the CPU, anything with DLPack; float64, float32, float16 or bfloat16, any strides,
        read where they lie.
    k : array or tensor, (B, G, M, D)
    v : array or tensor, (B, G, M, E)
        Of the same storage type as ``q``.
    scale : float, optional
        The factor on ``q·k``; ``1/√D`` unless given.
    softcap : float, optional
        Scores become ``c·tanh(s/c)``.
    bias : array, broadcast to (B, H, N, M), optional
        Added to the scores; -inf hides a key.
    mask : array of bool, broadcast to (B, H, N, M), optional
        True keeps.
    causal : bool or {"top-left", "bottom-right"}
        No query sees a key beyond its own place. ``True`` needs as many queries as keys; otherwise the diagonal must be
        named.
    window : (left, right) or (left, right, diagonal), optional
        How many keys before and after its place a query sees; None for no limit.
    alibi : array, (H,), optional
        ``-slope·|distance|`` is added to the scores; places are counted along the diagonal that ``causal`` or ``window`` names,
        and from the last key and query where neither does.
    lengths : array of int, (B,), optional
        How many keys each batch entry has; the rest is padding.
    sinks : array, (H,), optional
        A logit that takes part in the softmax's denominator and has no value.
    dropout : float
        How likely a weight is left out of the weighted sum: at least 0, below 1. The others are multiplied by
        ``1/(1 - dropout)``. Statistics describe the weights before dropout.
    seed : int
        Another seed leaves out other weights; the same seed the same ones, whatever the number of threads.
    stats : str or list of str, optional
        Any of ``"lse"``, ``"entropy"``, ``"max"``, ``"top_k:8"``, ``"received"``, ``"row_sum_error"``, ``"map:128"``,
        ``"map:64x128"``.

    Returns
    -------
    values : array or tensor, (B, H, N, E)
        Of the kind and storage type of ``q``. A row that sees no key is zeros.
    stats : AttentionStats
        Only where ``stats`` was given.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> q = np.array([[1.0, 0.0]])
    >>> k = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> v = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    >>> values, stats = spanwise.attention(q, k, v, stats=["entropy", "received"])
    >>> np.round(values, 8)
    array([[0.80222419, 0.79666372]])
    >>> np.round(stats.received, 4)
    array([0.4011, 0.1978, 0.4011])
    """
    if (
        (stats is None and bias is None and mask is None and window is None and lengths is None)
        and (softcap is None and alibi is None and sinks is None and dropout == 0.0)
        and (scale is None or type(scale) is float)
        and plain_tensors(q, k, v)
    ):
        diagonal = "square" if causal is True else None if causal is False else causal
        if diagonal is None or type(diagonal) is str:
            plain = _spanwise.tensors_attention(q, k, v, scale, diagonal)
            if plain is not None:
                return plain
    kind = kind_of(q)
    arrays = kind.take("q", q), kind.take("k", k), kind.take("v", v)
    options = asked(
        kind,
        arrays[0],
        scale=scale,
        softcap=softcap,
        bias=bias,
        mask=mask,
        causal=causal,
        window=window,
        alibi=alibi,
        lengths=lengths,
        sinks=sinks,
        dropout=dropout,
        seed=seed,
    )
    values, told = _spanwise.attention(*arrays, options, None if stats is None else wanted(stats), kind.bits)
    given = kind.give(values, q)
    return given if told is None else (given, AttentionStats(**told))


def _range(argument: str, place: Any, count: int) -> tuple[int, int]:
    if place is None:
        return 0, count
    if isinstance(place, slice):
        start, stop, step = place.indices(count)
        if step != 1:
            raise NumberError(f"attention: `{argument}` has step {step}; expected 1")
        return start, max(start, stop)
    if isinstance(place, range):
        if place.step != 1:
            raise NumberError(f"attention: `{argument}` has step {place.step}; expected 1")
        place = (place.start, place.stop)
    start, stop = (int(end) for end in place)
    if not 0 <= start <= stop:
        raise NumberError(f"attention: `{argument}` is {start}..{stop}; expected a range within 0..{count}")
    return start, stop


def weights(
    q: Any,
    k: Any,
    lse: Any,
    rows: Any = None,
    cols: Any = None,
    *,
    batch: int = 0,
    head: int = 0,
    **options: Unpack[Weighed],
) -> F64:
    """Any rectangle of attention's weights, exactly, without the others.

    Parameters
    ----------
    q : array or tensor, (B, H, N, D)
    k : array or tensor, (B, G, M, D)
    lse : array, (B, H, N)
        The log-sum-exp that :func:`attention` gave with the same options.
    rows, cols : slice, range or (start, stop), optional
        Which queries and which keys; all unless given.
    batch, head : int
        Of which batch entry and query head.
    **options
        ``scale``, ``softcap``, ``bias``, ``mask``, ``causal``, ``window``, ``alibi``, ``lengths`` and ``sinks``, as for
        :func:`attention`.

    Returns
    -------
    ndarray, (rows, cols)

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> x = np.sin(np.arange(40.0)).reshape(10, 4)
    >>> _, stats = spanwise.attention(x, x, x, causal=True, stats="lse")
    >>> corner = spanwise.weights(x, x, stats.lse, rows=(2, 3), cols=(0, 5), causal=True)
    >>> corner.shape, round(float(corner.sum()), 12), float(corner[0, 3])
    ((1, 5), 1.0, 0.0)
    """
    refuse_others("weights", options, Weighed)
    if lse is None:
        raise DtypeError(
            "weights: `lse` is None; expected the log-sum-exp of every query\n"
            'hint: `attention(q, k, v, stats="lse")` gives it, with the same options'
        )
    flat = np.ascontiguousarray(as_array("attention", "lse", lse), dtype=np.float64).ravel()
    queries, keys, place, given, bits = _rectangle(q, k, rows, cols, batch, head, options)
    return _spanwise.weights(queries, keys, flat, place, given, bits)


def scores(
    q: Any,
    k: Any,
    rows: Any = None,
    cols: Any = None,
    *,
    batch: int = 0,
    head: int = 0,
    **options: Unpack[Scored],
) -> F64:
    """Any rectangle of attention's scores, as the softmax sees them, without the others.

    Parameters
    ----------
    q : array or tensor, (B, H, N, D)
    k : array or tensor, (B, G, M, D)
    rows, cols, batch, head
        Which queries and keys, of which batch entry and query head, as for :func:`weights`.
    **options
        Those of :func:`weights` but ``sinks``. What is left out is left out of the scores too: without any, they are ``q·k/√D``.

    Returns
    -------
    ndarray, (rows, cols)
        -inf where a key is hidden.

    Examples
    --------
    >>> import numpy as np, spanwise
    >>> x = np.array([[1.0], [2.0], [3.0]])
    >>> spanwise.scores(x, x, rows=(1, 2))
    array([[2., 4., 6.]])
    >>> spanwise.scores(x, x, rows=(1, 2), causal=True)
    array([[  2.,   4., -inf]])
    """
    refuse_others("scores", options, Scored)
    queries, keys, place, given, bits = _rectangle(q, k, rows, cols, batch, head, options)
    return _spanwise.scores(queries, keys, place, given, bits)


def _rectangle(
    q: Any, k: Any, rows: Any, cols: Any, batch: int, head: int, options: Scored | Weighed
) -> tuple[Array, Array, Place, dict[str, Any] | None, bool]:
    """Queries, keys, where the rectangle lies, and what is asked."""
    kind = kind_of(q)
    queries, keys = kind.take("q", q), kind.take("k", k)
    if queries.ndim < 2 or keys.ndim < 2:
        raise ShapeError("attention: `q` or `k` has fewer than 2 dimensions; expected (…, rows, width)")
    place = (
        (whole("attention", "batch", batch), whole("attention", "head", head)),
        _range("rows", rows, queries.shape[-2]),
        _range("cols", cols, keys.shape[-2]),
    )
    return queries, keys, place, asked(kind, queries, **options), kind.bits
