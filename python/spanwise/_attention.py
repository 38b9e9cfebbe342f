"""Attention on arrays and tensors, and statistics of its weights."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _spanwise
from ._arrays import as_array, is_tensor, tensor_as_array
from .errors import DtypeError, NumberError, ShapeError

Array = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
Diagonal = Literal["top-left", "bottom-right"]
Window = tuple[int | None, int | None] | tuple[int | None, int | None, Diagonal]


@dataclass(frozen=True, slots=True, eq=False)
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
        The largest weights of each row, largest first, and their keys.
    received : ndarray, (…, M)
        What each key receives from all queries.
    row_sum_error : ndarray, (…, N)
        How far each row's weights are from adding up to 1.
    map_mean, map_max : ndarray, (…, rows, cols)
        The weights pooled over cells.
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


class _Plain:
    """NumPy arrays, and whatever becomes one; results of the same storage type."""

    bits = False

    def take(self, argument: str, x: Any) -> Array:
        return as_array("attention", argument, x)

    def bias(self, bias: Any, like: Array) -> Array:
        array = self.take("bias", bias)
        return array if array.dtype == like.dtype else array.astype(like.dtype)

    def give(self, values: Array, like: Any) -> Any:
        dtype = as_array("attention", "q", like).dtype
        if values.dtype == dtype:
            return values
        return values.view(dtype)


class _Namespace(_Plain):
    """Arrays of another library that speaks DLPack: results go back the same way."""

    def give(self, values: Array, like: Any) -> Any:
        space = like.__array_namespace__()
        if values.dtype == np.uint16:  # float16 and bfloat16, which DLPack would take for integers
            return space.asarray(values.view(self.take("q", like).dtype))
        return space.from_dlpack(values)


class _Torch:
    """Tensors on the CPU."""

    def __init__(self, bits: bool) -> None:
        self.bits = bits

    def take(self, argument: str, x: Any) -> Array:
        if not is_tensor(x):
            array = as_array("attention", argument, x)
        else:
            torch = sys.modules["torch"]
            if x.requires_grad and torch.is_grad_enabled():
                raise DtypeError(
                    f"attention: `{argument}` requires a gradient; expected one that does not\n"
                    "hint: `spanwise.torch.scaled_dot_product_attention` has gradients; `torch.no_grad()` needs none"
                )
            if x.dtype is torch.bfloat16:
                return tensor_as_array("attention", argument, x, bits=True)
            array = tensor_as_array("attention", argument, x)
        if self.bits and array.dtype == np.int16:  # not to be taken for the bits of a bfloat16
            raise DtypeError(f"attention: `{argument}` has dtype int16; expected bfloat16, as `q` has")
        return array

    def bias(self, bias: Any, like: Array) -> Array:
        if not self.bits:
            array = self.take("bias", bias)
            return array if array.dtype == like.dtype else array.astype(like.dtype)
        torch = sys.modules["torch"]
        return self.take("bias", torch.as_tensor(bias).to(torch.bfloat16))

    def give(self, values: Array, like: Any) -> Any:
        torch = sys.modules["torch"]
        tensor = torch.from_numpy(values.view(np.int16) if values.dtype == np.uint16 else values)
        return tensor.view(like.dtype) if tensor.dtype != like.dtype else tensor


_PLAIN = _Plain()
_NAMESPACE = _Namespace()
_TENSORS = (_Torch(False), _Torch(True))


def _kind(q: Any) -> _Plain | _Torch:
    if isinstance(q, np.ndarray):
        return _PLAIN
    if is_tensor(q):
        return _TENSORS[q.dtype is sys.modules["torch"].bfloat16]
    if hasattr(q, "__array_namespace__") and hasattr(q, "__dlpack__"):
        return _NAMESPACE
    return _PLAIN


def _numbers(argument: str, x: Any) -> list[float]:
    found = as_array("attention", argument, x)
    if found.ndim != 1:
        raise ShapeError(f"attention: `{argument}` has shape {tuple(found.shape)}; expected 1 dimensions")
    return [float(value) for value in found]


def _asked(
    kind: _Plain | _Torch,
    like: Array,
    scale: float | None,
    softcap: float | None,
    bias: Any,
    mask: Any,
    causal: bool | Diagonal,
    window: Window | None,
    alibi: Any,
    lengths: Any,
    sinks: Any,
) -> dict[str, Any] | None:
    """What was asked beyond q, k and v."""
    asked: dict[str, Any] = {}
    if scale is not None:
        asked["scale"] = float(scale)
    if softcap is not None:
        asked["softcap"] = float(softcap)
    if bias is not None:
        if str(getattr(bias, "dtype", "")).endswith("bool"):
            raise DtypeError("attention: `bias` has dtype bool; expected numbers to add\nhint: `mask` takes booleans")
        asked["bias"] = kind.bias(bias, like)
    if mask is not None:
        array = kind.take("mask", mask)
        if array.dtype != np.bool_:
            raise DtypeError(
                f"attention: `mask` has dtype {array.dtype}; expected bool, where True keeps\n"
                "hint: `bias` takes numbers to add to the scores"
            )
        asked["mask"] = array
    if causal is not False and causal is not None:
        asked["causal"] = "square" if causal is True else causal
    if window is not None:
        asked["window"] = _window(window)
    if alibi is not None:
        asked["alibi"] = _numbers("alibi", alibi)
    if lengths is not None:
        asked["lengths"] = _lengths(lengths)
    if sinks is not None:
        asked["sinks"] = _numbers("sinks", sinks)
    return asked or None


def _window(window: Window) -> tuple[int | None, int | None, str | None]:
    parts = tuple(window)
    if len(parts) not in (2, 3):
        raise ShapeError(f"attention: `window` has {len(parts)} entries; expected (left, right) or (left, right, diagonal)")
    left, right = parts[0], parts[1]
    for reach in (left, right):
        if reach is not None and int(reach) < 0:
            raise NumberError(f"attention: `window` is {reach}; expected numbers ≥ 0, or None for no limit")
    return (
        None if left is None else int(left),
        None if right is None else int(right),
        str(parts[2]) if len(parts) == 3 else None,
    )


def _lengths(lengths: Any) -> list[int]:
    found = as_array("attention", "lengths", lengths)
    if found.ndim != 1:
        raise ShapeError(f"attention: `lengths` has shape {tuple(found.shape)}; expected 1 dimensions")
    if found.dtype.kind not in "iu":
        raise DtypeError(f"attention: `lengths` has dtype {found.dtype}; expected whole numbers")
    if found.size and int(found.min()) < 0:
        raise NumberError(f"attention: `lengths` is {int(found.min())}; expected numbers ≥ 0")
    return [int(value) for value in found]


_SIMPLE = ("lse", "entropy", "max", "received", "row_sum_error")


def _wanted(stats: str | Iterable[str]) -> dict[str, Any]:
    wanted: dict[str, Any] = {}
    for word in (stats,) if isinstance(stats, str) else stats:
        name, colon, size = word.partition(":")
        if name in _SIMPLE and not colon:
            wanted[name] = True
        elif name == "top_k" and size.isdecimal() and int(size) > 0:
            wanted["top_k"] = int(size)
        elif name == "map" and all(part.isdecimal() and int(part) > 0 for part in size.split("x")[:2]):
            parts = [int(part) for part in size.split("x")]
            wanted["map"] = (parts[0], parts[-1])
        else:
            raise NumberError(
                f"attention: `stats` names {word!r}; expected any of "
                '"lse", "entropy", "max", "top_k:8", "received", "row_sum_error", "map:128", "map:64x128"'
            )
    return wanted


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
        ``-slope·|distance|`` is added to the scores.
    lengths : array of int, (B,), optional
        How many keys each batch entry has; the rest is padding.
    sinks : array, (H,), optional
        A logit that takes part in the softmax's denominator and has no value.
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
    kind = _kind(q)
    arrays = kind.take("q", q), kind.take("k", k), kind.take("v", v)
    asked = _asked(
        kind, arrays[0], scale, softcap, bias, mask, causal, window, alibi, lengths, sinks
    )
    wanted = None if stats is None else _wanted(stats)
    values, told = _spanwise.attention(*arrays, asked, wanted, kind.bits)
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
    scale: float | None = None,
    softcap: float | None = None,
    bias: Any = None,
    mask: Any = None,
    causal: bool | Diagonal = False,
    window: Window | None = None,
    alibi: Any = None,
    lengths: Any = None,
    sinks: Any = None,
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
    scale, softcap, bias, mask, causal, window, alibi, lengths, sinks
        As for :func:`attention`.

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
    kind = _kind(q)
    queries, keys = kind.take("q", q), kind.take("k", k)
    if queries.ndim < 2 or keys.ndim < 2:
        raise ShapeError("attention: `q` or `k` has fewer than 2 dimensions; expected (…, rows, width)")
    asked = _asked(kind, queries, scale, softcap, bias, mask, causal, window, alibi, lengths, sinks)
    flat = np.ascontiguousarray(as_array("attention", "lse", lse), dtype=np.float64).ravel()
    if batch < 0 or head < 0:
        raise NumberError("attention: `batch` or `head` is negative; expected numbers ≥ 0")
    place = (
        (int(batch), int(head)),
        _range("rows", rows, queries.shape[-2]),
        _range("cols", cols, keys.shape[-2]),
    )
    return _spanwise.weights(queries, keys, flat, place, asked, kind.bits)
