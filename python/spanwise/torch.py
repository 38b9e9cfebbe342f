"""Attention for PyTorch on the CPU, with the signature and the meaning of torch's own.

:func:`scaled_dot_product_attention` stands in for ``torch.nn.functional.scaled_dot_product_attention``;
:func:`replace_sdpa` swaps it in for code that calls torch's. What Spanwise does not compute goes to torch: other
devices, dropout, tensors whose gradient is wanted, storage types other than float64, float32, bfloat16 and float16.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F

from . import _spanwise
from ._arrays import tensor_as_array

__all__ = ["replace_sdpa", "scaled_dot_product_attention"]

_torch_sdpa = F.scaled_dot_product_attention
_TYPES = frozenset({torch.float64, torch.float32, torch.bfloat16, torch.float16})
_KINDS = frozenset({torch.Tensor, torch.nn.Parameter})
# Whether a tensor stands for many, or for a computation, inside `torch.func`.
_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor


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
        Booleans, True keeps; or numbers that are added to the scores.
    dropout_p : float
        Above 0 the call goes to torch.
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
    """
    if not _served(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa):
        return _torch_sdpa(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    asked: dict[str, Any] = {}
    if scale is not None:
        asked["scale"] = float(scale)
    if is_causal:
        asked["causal"] = "top-left"
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            asked["mask"] = tensor_as_array("attention", "attn_mask", attn_mask)
        else:
            asked["bias"] = tensor_as_array("attention", "attn_mask", attn_mask, bits=True)
    arrays = (
        tensor_as_array("attention", "query", query, bits=True),
        tensor_as_array("attention", "key", key, bits=True),
        tensor_as_array("attention", "value", value, bits=True),
    )
    values, _ = _spanwise.attention(*arrays, asked or None, None, query.dtype == torch.bfloat16)
    out = torch.from_numpy(values.view("int16") if values.dtype == "uint16" else values)
    return out if out.dtype is query.dtype else out.view(query.dtype)


def _served(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    dropout_p: float,
    is_causal: bool,
    enable_gqa: bool,
) -> bool:
    """Whether the library computes this call, and means by it what torch does."""
    if dropout_p != 0.0 or (attn_mask is not None and is_causal):
        return False
    if query.dtype not in _TYPES or key.dtype is not query.dtype or value.dtype is not query.dtype:
        return False
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return False
    gradients = torch.is_grad_enabled()
    for tensor in (query, key, value) if attn_mask is None else (query, key, value, attn_mask):
        if type(tensor) not in _KINDS or not tensor.is_cpu or tensor.layout is not torch.strided:
            return False
        if (gradients and tensor.requires_grad) or _is_wrapped(tensor):
            return False
    if attn_mask is not None and attn_mask.dtype not in (torch.bool, query.dtype):
        return False
    return _shapes(query, key, value, attn_mask, enable_gqa)


def _shapes(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None,
    enable_gqa: bool,
) -> bool:
    """Shapes that mean the same to both: equal leading dimensions, or fewer key heads where they may be."""
    rank = query.dim()
    if rank not in (3, 4) or key.dim() != rank or value.dim() != rank or query.shape[-1] == 0:
        return False
    if query.shape[-1] != key.shape[-1] or key.shape[:-1] != value.shape[:-1]:
        return False
    if key.shape[-2] == 0 or query.numel() == 0:
        return False
    heads = query.shape[-3], key.shape[-3]
    if rank == 4 and query.shape[0] != key.shape[0]:
        return False
    if heads[0] != heads[1] and not (enable_gqa and rank == 4 and heads[1] > 0 and heads[0] % heads[1] == 0):
        return False
    if attn_mask is None:
        return True
    scores = (*query.shape[:-1], key.shape[-2])
    if attn_mask.dim() > rank:
        return False
    trailing = zip(reversed(attn_mask.shape), reversed(scores), strict=False)
    return all(found in (1, wanted) for found, wanted in trailing)


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
