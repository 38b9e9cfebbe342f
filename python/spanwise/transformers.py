"""Attention for Hugging Face models on the CPU.

After :func:`register`, ``attn_implementation="spanwise"`` is understood by every model of ``transformers`` that goes through
its attention interface: decoders, encoders, encoder-decoders and vision models. Soft caps, sliding windows, sinks,
position biases and key/value caches have the model's own meaning. Causal masks, windows and padding are passed on as
such; no N × M mask is made for them. Key/value heads that several query heads share are not repeated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import transformers

from ._attention import attention
from ._masks import Facts, Pattern, mask
from ._torch_ops import attention_with_gradients
from .errors import NumberError
from .torch import is_plain

__all__ = ["NAME", "register"]

NAME = "spanwise"
"""What ``attn_implementation`` is called."""

_TYPES = frozenset({torch.float64, torch.float32, torch.bfloat16, torch.float16})

# Each is told of every layer's call, and of its mask where that is a pattern, and gives its values where it computed them: see
# `spanwise.lens`.
Watcher = Callable[[torch.nn.Module, torch.Tensor, torch.Tensor, torch.Tensor, dict[str, Any], Facts | None], Any]
watchers: list[Watcher] = []


def register() -> None:
    """Makes ``attn_implementation="spanwise"`` known to ``transformers``. Calling it again changes nothing.

    Examples
    --------
    >>> import spanwise.transformers, torch
    >>> from transformers import GPT2Config, GPT2LMHeadModel
    >>> spanwise.transformers.register()
    >>> config = GPT2Config(n_embd=32, n_layer=2, n_head=4, vocab_size=50, attn_implementation="spanwise")
    >>> model = GPT2LMHeadModel(config).eval()
    >>> with torch.no_grad():
    ...     logits = model(torch.arange(7)[None]).logits
    >>> logits.shape
    torch.Size([1, 7, 50])
    """
    transformers.AttentionInterface.register(NAME, forward)
    transformers.AttentionMaskInterface.register(NAME, mask)


def forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    position_bias: torch.Tensor | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """The attention of one layer, as ``transformers`` calls it.

    Parameters
    ----------
    module : Module
        The layer.
    query : Tensor, (B, H, N, D)
    key : Tensor, (B, G, M, D)
    value : Tensor, (B, G, M, E)
    attention_mask : Tensor, broadcast to (B, H, N, M), optional
        What the mask function gave; booleans, True keeps; or numbers that are added to the scores.
    dropout : float
        The share of weights that is dropped.
    scaling : float, optional
        ``1/√D`` unless given.
    is_causal : bool, optional
        Without a mask: whether queries see only keys up to their own place; as the layer says unless given.
    position_bias : Tensor, broadcast to (B, H, N, M), optional
        Added to the scores.
    softcap : float, optional
        Scores become ``c·tanh(s/c)``.
    s_aux : Tensor, (H,), optional
        Logits of sinks.
    **others
        What other implementations need: ignored.

    Returns
    -------
    Tensor, (B, N, H, E)
    None
        Weights are not stored; :func:`spanwise.lens` gives their statistics.
    """
    if others.get("cache") is not None:
        raise NumberError(
            "transformers: this is continuous batching, with keys and values on pages; expected a model that is called or "
            "generates\nhint: attn_implementation=\"sdpa\" knows it"
        )
    if attention_mask is None and query.shape[2] > 1:
        causal = is_causal if is_causal is not None else getattr(module, "is_causal", True)
    else:
        causal = False
    key, value, options = _options(query, key, value, attention_mask, bool(causal), position_bias)
    options.update(scale=scaling, softcap=softcap, sinks=s_aux)
    seen = None
    facts = attention_mask.facts if isinstance(attention_mask, Pattern) else None
    for watcher in watchers:
        found = watcher(module, query, key, value, options, facts)
        seen = found if found is not None else seen
    # Those values have no gradient and drop nothing.
    plain = seen is not None and dropout == 0.0 and not _wants_gradient(query, key, value, options)
    values: torch.Tensor = seen if plain else _values(query, key, value, options, float(dropout))
    return values.transpose(1, 2).contiguous(), None


def _options(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    causal: bool,
    position_bias: torch.Tensor | None,
) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
    """Mask and biases as options of :func:`spanwise.attention`, and the keys and values that can be seen."""
    n, keys = query.shape[2], key.shape[2]
    options: dict[str, Any] = {}
    if causal:
        options["causal"] = "top-left"
        keys = min(keys, n)  # what lies beyond in a cache is not filled yet
    elif isinstance(attention_mask, Pattern):
        facts = attention_mask.facts
        found = facts.options() if (facts.queries, facts.keys) == (n, keys) else None
        if found is None:
            options["mask"] = attention_mask.booleans()
        else:
            options, keys = found, facts.reach()
    elif attention_mask is not None:
        options["mask" if attention_mask.dtype == torch.bool else "bias"] = attention_mask
    if position_bias is not None:
        both = options.get("bias")
        options["bias"] = position_bias if both is None else position_bias + both
    if keys < key.shape[2]:
        key, value = key[:, :, :keys], value[:, :, :keys]
        for name in {"bias", "mask"} & options.keys():
            options[name] = options[name][..., :keys]
    return key, value, options


def _values(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: dict[str, Any], dropout: float
) -> torch.Tensor:
    """softmax(…)·value, (B, H, N, E), by whoever can: the library, the library with gradients, or torch."""
    if not served(query, key, value) or dropout >= 1.0:
        return by_torch(query, key, value, options, dropout)
    if dropout > 0.0 or _wants_gradient(query, key, value, options):
        return attention_with_gradients(query, key, value, dropout=dropout, **options)
    values: torch.Tensor = attention(query, key, value, **options)
    return values


def _wants_gradient(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: dict[str, Any]
) -> bool:
    if not torch.is_grad_enabled():
        return False
    tensors = (query, key, value, options.get("bias"), options.get("sinks"))
    return any(tensor is not None and tensor.requires_grad for tensor in tensors)


def models_of(model: torch.nn.Module) -> list[Any]:
    """The models of ``transformers`` in a module, itself among them; none in what is no module."""
    if not isinstance(model, torch.nn.Module):
        return []
    return [module for module in model.modules() if isinstance(module, transformers.PreTrainedModel)]


def crossing_of(model: torch.nn.Module) -> set[int]:
    """The ids of modules whose queries may be other tokens than their keys: those beside the encoder of a model that has one,
    and those of decoders that also look at other states."""
    found: set[int] = set()
    for part in models_of(model):
        if getattr(part.config, "is_encoder_decoder", False):
            inside = {id(module) for module in part.get_encoder().modules()}
            found |= {id(module) for module in part.modules()} - inside
        elif getattr(part.config, "add_cross_attention", False):
            found |= {id(module) for module in part.modules()}
    return found


def configs_of(model: torch.nn.Module) -> list[Any]:
    """Every configuration that a module or a part of it reads, each once."""
    found: dict[int, Any] = {}

    def take(config: Any) -> None:
        if isinstance(config, transformers.PreTrainedConfig) and id(config) not in found:
            found[id(config)] = config
            for name in config.sub_configs:
                take(getattr(config, name, None))

    for module in model.modules():
        take(getattr(module, "config", None))
    return list(found.values())


def served(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether the library computes with such tensors: on the CPU, of one of its types, and not being compiled."""
    if query.dtype not in _TYPES or key.dtype is not query.dtype or value.dtype is not query.dtype:
        return False
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or query.numel() == 0 or key.numel() == 0:
        return False
    return bool(query.is_cpu and key.is_cpu and value.is_cpu) and is_plain(query, key, value)


def by_torch(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, options: dict[str, Any], dropout: float
) -> torch.Tensor:
    """The same in torch's own operations, for other devices and types."""
    shared = query.shape[1] // key.shape[1]
    softcap, sinks, scale = options.get("softcap"), options.get("sinks"), options.get("scale")
    seen, bias = _seen(query, key, options), options.get("bias")
    if softcap is None and sinks is None:
        together = seen if bias is None else bias if seen is None else torch.where(seen, bias, -math.inf)
        if together is not None and together.dtype != torch.bool:
            together = together.to(query.dtype)
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, together, dropout, scale=scale, enable_gqa=shared > 1
        )
    if shared > 1:
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    scores = query @ key.transpose(2, 3) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    if seen is not None:
        scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    if sinks is not None:
        extra = sinks.to(scores.dtype).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, extra], dim=-1)
    weights = torch.softmax(scores, dim=-1, dtype=torch.promote_types(torch.float32, scores.dtype))
    weights = weights[..., : key.shape[2]].to(query.dtype)
    if seen is not None:
        weights = weights.masked_fill(~seen, 0.0)
    return torch.nn.functional.dropout(weights, dropout) @ value


def _seen(query: torch.Tensor, key: torch.Tensor, options: dict[str, Any]) -> torch.Tensor | None:
    """Everything that hides keys as booleans that True keeps, broadcast to (B, H, N, M)."""
    n, m, device = query.shape[2], key.shape[2], query.device
    seen: torch.Tensor | None = options.get("mask")
    keys = torch.arange(m, device=device)

    def both(more: torch.Tensor) -> torch.Tensor:
        return more if seen is None else seen & more

    if options.get("lengths") is not None:
        lengths = torch.tensor(options["lengths"], device=device)
        seen = both((keys < lengths[:, None])[:, None, None, :])
    left, right, window_diagonal = options.get("window") or (None, None, "top-left")
    for reach, diagonal, sign in (
        (0 if options.get("causal") else None, options.get("causal"), 1),
        (right, window_diagonal, 1),
        (left, window_diagonal, -1),
    ):
        if reach is not None:
            places = torch.arange(n, device=device)[:, None] + (m - n if diagonal == "bottom-right" else 0)
            seen = both(sign * (keys - places) <= reach)
    return seen
