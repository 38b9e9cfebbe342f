"""Attention as operators of torch: evaluated at once, with gradients, and visible to tracers.

``run`` and ``slopes`` call the library. :class:`Attention` ties them together for autograd, and :class:`Optioned` does the
same for all options of :func:`spanwise.attention`; ``spanwise::attention`` and
``spanwise::attention_backward`` are the same as custom operators, for ``torch.compile`` and ``torch.export``. Tensors have
three or four dimensions, or two, and leading dimensions that are equal; :mod:`spanwise.torch` sees to that.
"""

from __future__ import annotations

from typing import Any, NamedTuple, get_type_hints

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from . import _spanwise
from ._kinds import kind_of
from ._options import asked
from ._team import borrow_threads

torch_sdpa: Any = F.scaled_dot_product_attention
borrow_threads(torch)


class Call(NamedTuple):
    """What is asked beyond query, key, value and mask."""

    dropout_p: float = 0.0
    seed: int = 0
    is_causal: bool = False
    scale: float | None = None

    def asked(self, attn_mask: Tensor | None) -> dict[str, Any] | None:
        """As the extension takes it."""
        given: dict[str, Any] = {}
        if self.scale is not None:
            given["scale"] = float(self.scale)
        if self.is_causal:
            given["causal"] = "top-left"
        if self.dropout_p:
            given["dropout"] = (float(self.dropout_p), self.seed)
        if attn_mask is not None:
            given["mask" if attn_mask.dtype == torch.bool else "bias"] = _array(attn_mask)
        return given or None


def _array(x: Tensor) -> Any:
    """The memory of a tensor on the CPU; NumPy has no bfloat16, so that is lent as words of 16 bits."""
    if x.requires_grad:
        x = x.detach()
    return (x.view(torch.int16) if x.dtype is torch.bfloat16 else x).numpy()


def _tensor(array: Any, like: Tensor) -> Tensor:
    """The same memory; 16-bit words as the storage type they stand for."""
    tensor = torch.from_numpy(array.view(np.int16) if array.dtype == np.uint16 else array)
    return tensor if tensor.dtype is like.dtype else tensor.view(like.dtype)


def run(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, call: Call, wants_lse: bool
) -> tuple[Tensor, Any]:
    """The output, (…, L, Ev), and where wanted the log-sum-exps, (…, L), as an array."""
    arrays = _array(query), _array(key), _array(value)
    wanted = {"lse": True} if wants_lse else None
    values, told = _spanwise.attention(*arrays, call.asked(attn_mask), wanted, query.dtype is torch.bfloat16)
    return _tensor(values, query), told["lse"] if told else None


def slopes(
    grad: Tensor,
    tensors: tuple[Tensor, Tensor, Tensor, Tensor | None],
    found: tuple[Tensor, Any],
    call: Call,
    wants_mask: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The gradients of query, key, value and where wanted the mask, from what ``run`` found."""
    query, key, value, attn_mask = tensors
    out, lse = found
    upstream = _array(out), lse.reshape(-1), _array(grad)
    arrays = _array(query), _array(key), _array(value)
    bits = query.dtype is torch.bfloat16
    given, bias, _ = _spanwise.attention_backward(*arrays, upstream, call.asked(attn_mask), wants_mask, bits)
    dq, dk, dv = (_tensor(array, query) for array in given)
    return dq, dk, dv, None if bias is None else _tensor(bias, query)


class Attention(torch.autograd.Function):  # type: ignore[misc]
    """``run``, whose gradients are ``slopes``."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, call: Call) -> Tensor:
        out, lse = run(query, key, value, attn_mask, call, True)
        ctx.save_for_backward(query, key, value, attn_mask, out)
        ctx.lse, ctx.call = lse, call
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        query, key, value, attn_mask, out = ctx.saved_tensors
        tensors = query, key, value, attn_mask
        wants = ctx.needs_input_grad
        if torch.is_grad_enabled():  # somebody wants the gradient's gradient
            return *_differentiable(grads[0], tensors, wants, ctx.call), None
        found = slopes(grads[0], tensors, (out, ctx.lse), ctx.call, wants[3])
        return *(slope if wanted else None for slope, wanted in zip(found, wants, strict=False)), None


def _differentiable(grad: Tensor, tensors: tuple[Any, ...], wants: tuple[bool, ...], call: Call) -> list[Tensor | None]:
    """Gradients that have gradients, by torch's own steps."""
    if call.dropout_p:
        raise RuntimeError("attention: with dropout there is no second derivative; expected `dropout_p` 0")
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        # Names of their own, so that one tensor in two places has a gradient for each.
        own: list[Any] = [None if x is None else x.view_as(x) for x in tensors]
        gqa = own[0].dim() > 2 and own[0].shape[-3] != own[1].shape[-3]
        out = torch_sdpa(*own, is_causal=call.is_causal, scale=call.scale, enable_gqa=gqa)
        wanted = [x for x, wants_it in zip(own, wants, strict=False) if wants_it]
        found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True))
    return [next(found) if wants_it else None for wants_it in wants[:4]]


class Forward(NamedTuple):
    """The arguments of ``spanwise::attention``; ``seed`` is a whole number where there is dropout."""

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    seed: Tensor | None
    dropout_p: float
    is_causal: bool
    scale: float | None


class Backward(NamedTuple):
    """The arguments of ``spanwise::attention_backward``."""

    grad: Tensor
    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    seed: Tensor | None
    out: Tensor
    lse: Tensor
    dropout_p: float
    is_causal: bool
    scale: float | None
    wants_mask: bool


def _call(given: Forward | Backward) -> Call:
    seed = 0 if given.seed is None else int(given.seed)
    return Call(given.dropout_p, seed, given.is_causal, given.scale)


def _attention(*arguments: Any) -> Any:
    """Output and log-sum-exps."""
    given = Forward(*arguments)
    out, lse = run(given.query, given.key, given.value, given.attn_mask, _call(given), True)
    return out, torch.from_numpy(lse)


def _attention_shapes(*arguments: Any) -> Any:
    query, value = Forward(*arguments).query, Forward(*arguments).value
    rows = query.shape[:-1]
    return query.new_empty((*rows, value.shape[-1])), query.new_empty(rows, dtype=torch.float64)


def _backward(*arguments: Any) -> Any:
    """The gradients of query, key, value and mask; the last without numbers where it is not wanted."""
    given = Backward(*arguments)
    tensors = given.query, given.key, given.value, given.attn_mask
    found = slopes(given.grad, tensors, (given.out, given.lse.contiguous().numpy()), _call(given), given.wants_mask)
    return *found[:3], given.query.new_empty(0) if found[3] is None else found[3]


def _backward_shapes(*arguments: Any) -> Any:
    given = Backward(*arguments)
    mask = given.attn_mask.shape if given.wants_mask and given.attn_mask is not None else (0,)
    shapes = given.query.shape, given.key.shape, given.value.shape, mask
    return tuple(given.query.new_empty(shape) for shape in shapes)


def _keep(ctx: Any, inputs: Any, output: Any) -> None:
    given = Forward(*inputs)
    ctx.save_for_backward(given.query, given.key, given.value, given.attn_mask, given.seed, *output)
    ctx.settings = given.dropout_p, given.is_causal, given.scale
    ctx.mark_non_differentiable(output[1])


def _op_slopes(ctx: Any, grad: Any, _: Any) -> Any:
    attn_mask = ctx.saved_tensors[3]
    wants_mask = attn_mask is not None and ctx.needs_input_grad[3]
    dq, dk, dv, dmask = backward_op(grad, *ctx.saved_tensors, *ctx.settings, wants_mask)
    return dq, dk, dv, dmask if wants_mask else None, None, None, None, None


# What torch's schemas call the types of arguments.
_WORDS = {Tensor: "Tensor", Tensor | None: "Tensor?", float: "float", float | None: "float?", bool: "bool"}


def _operator(name: str, arguments: type[Any], outputs: int, compute: Any, shapes: Any) -> Any:
    told = ", ".join(f"{_WORDS[kind]} {argument}" for argument, kind in get_type_hints(arguments).items())
    schema = f"({told}) -> ({', '.join(['Tensor'] * outputs)})"
    made = torch.library.custom_op(f"spanwise::{name}", compute, mutates_args=(), device_types="cpu", schema=schema)
    made.register_fake(shapes)
    return made


class Optioned(torch.autograd.Function):  # type: ignore[misc]
    """Attention with any of the library's options, with gradients of query, key, value, bias and sinks."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        sinks: Tensor | None,
        options: dict[str, Any],
    ) -> Tensor:
        kind = kind_of(query)
        arrays = kind.take("q", query), kind.take("k", key), kind.take("v", value)
        given = asked(kind, arrays[0], bias=bias, sinks=sinks, **options)
        values, told = _spanwise.attention(*arrays, given, {"lse": True}, kind.bits)
        assert told is not None
        out = _tensor(values, query)
        # The bias and the sinks are kept as well, so that changing them in place is noticed.
        ctx.save_for_backward(query, key, value, bias, sinks, out)
        ctx.lse, ctx.options = told["lse"], options
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError("attention: with these options there is no second derivative; expected `create_graph` False")
        query, key, value, bias, sinks, out = ctx.saved_tensors
        wants = ctx.needs_input_grad
        kind = kind_of(query)
        arrays = kind.take("q", query), kind.take("k", key), kind.take("v", value)
        given = asked(kind, arrays[0], bias=bias, sinks=sinks, **ctx.options)
        upstream = kind.take("out", out), ctx.lse.reshape(-1), kind.take("grad", grads[0])
        found, dbias, dsinks = _spanwise.attention_backward(*arrays, upstream, given, wants[3], kind.bits)
        slopes = [_tensor(array, query) if wanted else None for array, wanted in zip(found, wants, strict=False)]
        slopes.append(None if dbias is None else _tensor(dbias, query))
        slopes.append(torch.from_numpy(dsinks).to(sinks.dtype) if wants[4] else None)
        return *slopes, None


def attention_with_gradients(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    bias: Tensor | None = None,
    sinks: Tensor | None = None,
    dropout: float = 0.0,
    **options: Any,
) -> Tensor:
    """:func:`spanwise.attention` for autograd; which weights ``dropout`` takes, ``torch.manual_seed`` decides."""
    if dropout:
        options.update(dropout=dropout, seed=int(torch.randint(0, 1 << 62, (), device="cpu")))
    out: Tensor = Optioned.apply(query, key, value, bias, sinks, options)
    return out


attention_op = _operator("attention", Forward, 2, _attention, _attention_shapes)
backward_op = _operator("attention_backward", Backward, 4, _backward, _backward_shapes)
attention_op.register_autograd(_op_slopes, setup_context=_keep)
