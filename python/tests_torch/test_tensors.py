"""Tensors as `spanwise.attention` takes them: random calls beside the same of arrays, gradients beside torch's, and no copies."""

import math

import memory
import ml_dtypes
import numpy as np
import pytest
import torch
from test_fuzz import meaning, random_call

import spanwise
import spanwise.torch
from spanwise import _spanwise
from spanwise._torch_ops import attention_with_gradients

CASES = 1000


def tensor(x):
    """The same memory, strides and all; steps backwards are what torch has not, so those are turned around."""
    if any(stride < 0 for stride in x.strides):
        x = x.copy()
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def as_tensors(rng, options):
    """Some of the options as tensors."""
    taken = {"bias", "mask", "alibi", "lengths"} & options.keys() if rng.random() < 0.7 else set()
    return {name: tensor(x) if name in taken else x for name, x in options.items()}


def plain(q, k, v, options, sizes):
    """Attention in torch's own operations, in float64."""
    means = meaning(options, sizes)
    shared = sizes[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
    scores = q @ k.transpose(-1, -2) * means.get("scale", q.shape[-1] ** -0.5)
    if "softcap" in means:
        scores = means["softcap"] * torch.tanh(scores / means["softcap"])
    # A row that sees no key has no slopes: its numbers are hidden before they can become NaN.
    keep = torch.from_numpy(means["mask"])
    empty = ~keep.any(-1, keepdim=True)
    scores = (scores + torch.from_numpy(means["bias"])).masked_fill(~keep & ~empty, -math.inf)
    if "sinks" in means:
        sinks = torch.tensor(means["sinks"]).reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat([scores, sinks], -1)
    return (scores.softmax(-1)[..., : k.shape[2]] @ v).masked_fill(empty, 0.0)


@pytest.mark.parametrize("part", range(10))
def test_random_tensors_give_the_bits_that_arrays_give(part):
    rng = np.random.default_rng(1000 + part)
    computed = 0
    for _ in range(CASES // 10):
        arrays, options, _, _ = random_call(rng)
        tensors, given = [tensor(x) for x in arrays], as_tensors(rng, options)
        try:
            expected, told = spanwise.attention(*arrays, **options, stats=["lse", "received"])
        except (ValueError, TypeError) as refused:
            with pytest.raises(type(refused)):
                spanwise.attention(*tensors, **given)
            continue
        values, stats = spanwise.attention(*tensors, **given, stats=["lse", "received"])
        assert isinstance(values, torch.Tensor) and values.dtype == tensors[0].dtype
        assert torch.equal(values, tensor(expected))
        np.testing.assert_array_equal(stats.lse, told.lse)
        np.testing.assert_array_equal(stats.received, told.received)
        computed += 1
    assert computed > CASES // 25


@pytest.mark.parametrize("part", range(4))
def test_random_slopes_are_those_of_torchs_own_operations(part):
    rng = np.random.default_rng(2000 + part)
    computed = 0
    while computed < 25:
        arrays, options, sizes, _ = random_call(rng)
        options.pop("dropout", None)
        options.pop("seed", None)
        if arrays[0].ndim < 4 or 0 in arrays[0].shape + arrays[1].shape or arrays[0].shape[0] != arrays[1].shape[0]:
            continue
        leaves = [tensor(x).double().requires_grad_() for x in arrays]
        options = {name: x.astype(np.float64) if name == "bias" else x for name, x in options.items()}
        given = as_tensors(rng, options)
        sinks = given.pop("sinks", None)
        try:
            out = attention_with_gradients(*leaves, **given, sinks=None if sinks is None else torch.tensor(sinks))
        except (ValueError, TypeError):
            continue
        expected = plain(*leaves, options, sizes)
        torch.testing.assert_close(out, expected, rtol=1e-9, atol=1e-11)
        grad = torch.from_numpy(rng.standard_normal(out.shape))
        mine, theirs = (torch.autograd.grad(x, leaves, grad) for x in (out, expected))
        for found, wanted in zip(mine, theirs, strict=True):
            torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-9)
        computed += 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("layout", memory.LAYOUTS)
def test_large_tensors_are_not_copied(layout, dtype):
    memory.check_no_copy(dtype, layout)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_plain_tensors_give_the_bits_that_the_long_way_gives(dtype):
    """Tensors that ask for nothing go past NumPy; with a scale that is not a Python float they do not."""
    for sizes in [(1, 1, 1, 1, 1), (2, 3, 5, 1, 8), (2, 4, 70, 7, 40), (1, 2, 3, 300, 64), (1, 2, 65, 33, 80)]:
        b, h, n, m, d = sizes
        q, k, v = (torch.randn(b, h, rows, d).to(dtype) for rows in (n, m, m))
        views = [(q, k, v), (q[0], k[0], v[0]), (q[0, 0], k[0, 0], v[0, 0]), (q, k[:, :1], v[:, :1])]
        views.append(tuple(x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)))
        views.append((q, k[:1].expand(b, -1, -1, -1), v))
        for tensors in views:
            for causal in (False, "top-left", "bottom-right"):
                short = spanwise.attention(*tensors, scale=0.25, causal=causal)
                long = spanwise.attention(*tensors, scale=np.float64(0.25), causal=causal)
                assert short.dtype is dtype
                assert torch.equal(short, long), (sizes, causal)
            if hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
                assert _spanwise.tensors_attention(*tensors) is not None


def test_tensors_without_memory_go_the_long_way():
    x = torch.randn(1, 2, 5, 8)
    ours = torch.func.functionalize(lambda x: spanwise.torch.scaled_dot_product_attention(x, x, x))(x)
    torch.testing.assert_close(ours, torch.nn.functional.scaled_dot_product_attention(x, x, x))
    zeros = torch._efficientzerotensor((1, 2, 5, 8))
    assert _spanwise.tensors_attention(zeros, zeros, zeros) is None


@pytest.mark.parametrize("causal", ["", 0, "diagonal"])
def test_a_diagonal_that_is_none_is_refused_as_for_arrays(causal):
    x = torch.randn(1, 2, 5, 8)
    for kind in (x, x.numpy()):
        with pytest.raises((TypeError, spanwise.errors.NumberError)):
            spanwise.attention(kind, kind, kind, causal=causal)


def test_plain_tensors_that_do_not_fit_are_refused_in_the_usual_words():
    x = torch.randn(1, 2, 5, 8)
    with pytest.raises(spanwise.errors.ShapeError, match="`k` has width 4"):
        spanwise.attention(x, x[..., :4], x)
    with pytest.raises(spanwise.errors.DtypeError, match="`k` has dtype float16"):
        spanwise.attention(x, x.half(), x)
    with pytest.raises(spanwise.errors.DeviceError, match="meta"):
        spanwise.attention(x, x.to("meta"), x)
    with pytest.raises(spanwise.errors.NumberError, match="`causal` is"):
        spanwise.attention(x, x, x, causal="sideways")
    assert spanwise.attention(x[:, :, :0], x, x).shape == (1, 2, 0, 8)
