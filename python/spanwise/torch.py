"""Attention for PyTorch on the CPU, with the signature and the meaning of torch's own.

:func:`scaled_dot_product_attention` stands in for ``torch.nn.functional.scaled_dot_product_attention``;
:func:`replace_sdpa` swaps it in for code that calls torch's. It has gradients, dropout and the mask's gradient, and is an
operator that ``torch.compile`` and ``torch.export`` see through. What Spanwise does not compute goes to torch: other devices,
storage types other than float64, float32, bfloat16 and float16, forward-mode derivatives, and ``torch.func``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad

from . import _spanwise
from ._kinds import plain_tensors
from ._torch_ops import Attention, Call, attention_op, run, torch_sdpa

__all__ = ["replace_sdpa", "scaled_dot_product_attention"]

_TYPES = frozenset({torch.float64, torch.float32, torch.bfloat16, torch.float16})
_KINDS = frozenset({torch.Tensor, torch.nn.Parameter})
# Whether a tensor stands for many, or for a computation, inside `torch.func`.
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
# How many tracers and other modes watch every operator.
_watchers = torch._C._len_torch_dispatch_stack


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``softmax(scale·query·keyᵀ + attn_mask)·value``, as ``torch.nn.functional.scaled_dot_product_attention`` means it.

    Parameters
    ----------
    query : Tensor, (…, Hq, L, E)
    key : Tensor, (…, H, S, E)
    value : Tensor, (…, H, S, Ev)
    attn_mask : Tensor, broadcast to (…, Hq, L, S), optional
        Booleans, True keeps; or numbers that are added to the scores, which may have a gradient.
    dropout_p : float
        How likely a weight is left out. Which ones, ``torch.manual_seed`` decides.
    is_causal : bool
        Query ``i`` sees keys up to ``i``, the diagonal starting at the top left corner.
    scale : float, optional
        ``1/√E`` unless given.
    enable_gqa : bool
        Whether the heads of ``key`` and ``value`` may be fewer than those of ``query``.

    Returns
    -------
    Tensor, (…, Hq, L, Ev)
        A row that sees no key is zeros.

    Examples
    --------
    >>> import torch, spanwise.torch
    >>> x = torch.randn(1, 2, 5, 8, requires_grad=True)
    >>> out = spanwise.torch.scaled_dot_product_attention(x, x, x, is_causal=True)
    >>> out.sum().backward()
    >>> x.grad.shape
    torch.Size([1, 2, 5, 8])
    """
    if not torch.compiler.is_compiling() and attn_mask is None and dropout_p == 0.0:
        plain = _plain(query, key, value, is_causal, scale)
        if plain is not None:
            return plain
    if torch.is_autocast_enabled("cpu"):
        query, key, value, attn_mask = (_autocast(x) for x in (query, key, value, attn_mask))
    return _attended(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _plain(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, is_causal: bool, scale: float | None
) -> torch.Tensor | None:
    """The same of tensors that nobody wants anything else of; None where that is not so."""
    if _watchers() > 0 or torch.is_autocast_enabled("cpu") or torch.jit.is_tracing() or forward_ad._current_level >= 0:
        return None
    if not plain_tensors(query, key, value) or not (scale is None or type(scale) is float):
        return None
    out: torch.Tensor | None = _spanwise.tensors_attention(query, key, value, scale, "top-left" if is_causal else None, True)
    return out


def _attended(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> torch.Tensor:
    """The same outside ``torch.autocast``."""
    tracing = torch.compiler.is_compiling() or _watchers() > 0
    lead = None
    if _fits(query, key, value, attn_mask, dropout_p, is_causal) and (tracing or is_plain(query, key, value, attn_mask)):
        lead = _leading(query, key, value, attn_mask, enable_gqa)
    slopes = torch.is_grad_enabled() and any(
        x is not None and x.requires_grad for x in (query, key, value, attn_mask)
    )
    if lead is not None and slopes and query.dtype.itemsize == 2 and _repeats(query, key, value, attn_mask, lead):
        # The slopes of what is repeated are added up before they are rounded.
        mask = attn_mask.float() if attn_mask is not None and attn_mask.is_floating_point() else attn_mask
        wide = query.float(), key.float(), value.float(), mask
        return _attended(*wide, dropout_p, is_causal, scale, enable_gqa).to(query.dtype)
    if lead is None:
        return torch_sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa)
    shape = (*lead, query.shape[-2], value.shape[-1])
    query, key, value, attn_mask = _aligned(query, key, value, attn_mask, lead)
    if tracing:
        seed = torch.randint(0, 1 << 62, (), device="cpu") if dropout_p else None
        out: torch.Tensor = attention_op(query, key, value, attn_mask, seed, dropout_p, is_causal, scale)[0]
    else:
        call = Call(dropout_p, int(torch.randint(0, 1 << 62, (), device="cpu")) if dropout_p else 0, is_causal, scale)
        if slopes:
            out = Attention.apply(query, key, value, attn_mask, call)
        else:
            out = run(query, key, value, attn_mask, call, False)[0]
    return out if len(lead) <= 2 else out.view(shape)


def _autocast(x: torch.Tensor | None) -> torch.Tensor | None:
    """What torch's own function would be given inside ``torch.autocast``."""
    if x is None or not x.is_cpu or not x.is_floating_point() or x.dtype is torch.float64:
        return x
    return x.to(torch.get_autocast_dtype("cpu"))


def _fits(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
) -> bool:
    """Whether the library computes with such numbers, and means by it what torch does."""
    if not 0.0 <= dropout_p < 1.0 or (attn_mask is not None and is_causal):
        return False
    if query.dtype not in _TYPES or key.dtype != query.dtype or value.dtype != query.dtype:
        return False
    if not (query.is_cpu and key.is_cpu and value.is_cpu):
        return False
    if attn_mask is None:
        return True
    return bool(attn_mask.is_cpu and attn_mask.dtype in (torch.bool, query.dtype))


def is_plain(*tensors: torch.Tensor | None) -> bool:
    """Whether these are tensors whose memory can be looked at, and nobody wants what only torch can give."""
    if torch.jit.is_tracing() or forward_ad._current_level >= 0:
        return False
    for x in tensors:
        if x is not None and (type(x) not in _KINDS or x.layout is not torch.strided or _is_wrapped(x)):
            return False
    return True


def _leading(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    enable_gqa: bool,
) -> tuple[int, ...] | None:
    """The leading dimensions of the output, or None where the shapes do not mean the same to both."""
    ranks = query.dim(), key.dim(), value.dim()
    if min(ranks) < 2 or query.shape[-1] == 0 or key.shape[-2] == 0 or query.numel() == 0 or value.numel() == 0:
        return None
    if query.shape[-1] != key.shape[-1] or key.shape[-2] != value.shape[-2]:
        return None
    if enable_gqa and min(ranks) > 2 and query.shape[-3] != key.shape[-3]:
        heads = query.shape[-3], key.shape[-3]
        if value.shape[-3] != heads[1] or heads[1] == 0 or heads[0] % heads[1] != 0:
            return None
        batch = _common(query.shape[:-3], key.shape[:-3], value.shape[:-3])
        lead = None if batch is None else (*batch, heads[0])
    else:
        lead = _common(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    if lead is None or attn_mask is None:
        return lead
    scores = (*lead, query.shape[-2], key.shape[-2])
    if not 2 <= attn_mask.dim() <= len(scores):
        return None
    trailing = zip(reversed(attn_mask.shape), reversed(scores), strict=False)
    return lead if all(found == 1 or found == wanted for found, wanted in trailing) else None


def _repeats(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    lead: tuple[int, ...],
) -> bool:
    """Whether :func:`_aligned` has to repeat a batch, the heads of queries or of values alone, or a mask."""
    if attn_mask is not None and len(lead) > 2 and attn_mask.dim() > 3 and attn_mask.shape[:-3] != lead[:-1]:
        return True
    batches = {x.shape[:-3] for x in (query, key, value)}
    return len(batches) > 1 or query.shape[:-2] != lead or key.shape[:-2] != value.shape[:-2]


def _common(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The shape that all of them broadcast to."""
    if shapes[0] == shapes[1] == shapes[2]:
        return tuple(shapes[0])
    rank = max(len(shape) for shape in shapes)
    common = []
    for axis in range(-rank, 0):
        sizes = [shape[axis] for shape in shapes if len(shape) >= -axis]
        size = next((size for size in sizes if size != 1), 1)
        if any(found != 1 and found != size for found in sizes):
            return None
        common.append(size)
    return tuple(common)


def _aligned(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    lead: tuple[int, ...],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Views with equal leading dimensions, at most two of them."""
    if len(lead) == 2 and query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:  # by far the most calls
        return query, key, value, attn_mask
    # A key head that serves several query heads is not repeated.
    grouped = min(key.dim(), value.dim()) > 2 and key.shape[-3] == value.shape[-3]
    key_lead = (*lead[:-1], key.shape[-3]) if grouped else lead
    if query.shape[:-2] != lead:
        query = query.expand(*lead, -1, -1)
    if key.shape[:-2] != key_lead:
        key = key.expand(*key_lead, -1, -1)
    if value.shape[:-2] != key_lead:
        value = value.expand(*key_lead, -1, -1)
    if len(lead) > 2:
        scores = (*lead, query.shape[-2], key.shape[-2])
        query, key, value = (x.flatten(0, -4) for x in (query, key, value))
        if attn_mask is not None and attn_mask.dim() > 3:
            attn_mask = attn_mask.expand(scores).flatten(0, -4)
    return query, key, value, attn_mask


@contextmanager
def replace_sdpa() -> Iterator[None]:
    """Inside it, ``torch.nn.functional.scaled_dot_product_attention`` is :func:`scaled_dot_product_attention`.

    Code that took torch's function by name before (``from torch.nn.functional import …``) keeps it.

    Examples
    --------
    >>> import torch, spanwise.torch
    >>> x = torch.randn(1, 2, 5, 8)
    >>> with spanwise.torch.replace_sdpa():
    ...     out = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    >>> out.shape
    torch.Size([1, 2, 5, 8])
    """
    before = F.scaled_dot_product_attention
    F.scaled_dot_product_attention = scaled_dot_product_attention
    try:
        yield
    finally:
        F.scaled_dot_product_attention = before
