"""`spanwise.torch` means what torch means, over a grid of types, masks, shapes and heads: values and gradients."""

import itertools

import ml_dtypes
import numpy as np
import pytest
import torch
import torch.nn.functional as F

import spanwise
import spanwise.torch as ours

TYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
# What torch's own tests allow between its kernels.
TOLERANCE = {
    torch.float64: {"rtol": 1e-9, "atol": 1e-11},
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.bfloat16: {"rtol": 2e-2, "atol": 2e-2},
    torch.float16: {"rtol": 5e-3, "atol": 5e-3},
}
SHAPES = {  # (query, key, value)
    "heads": ((2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)),
    "square": ((2, 4, 9, 16), (2, 4, 9, 16), (2, 4, 9, 16)),
    "three": ((3, 5, 8), (3, 7, 8), (3, 7, 8)),
    "two": ((5, 8), (7, 8), (7, 6)),
    "batch of one": ((1, 2, 1, 8), (1, 2, 33, 8), (1, 2, 33, 8)),
    "grouped": ((2, 6, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)),
    "one key head": ((2, 4, 5, 8), (1, 1, 7, 8), (1, 1, 7, 8)),
    "values broadcast": ((1, 4, 5, 8), (3, 4, 7, 8), (3, 1, 7, 8)),
    "five": ((2, 1, 4, 5, 8), (1, 3, 4, 7, 8), (2, 3, 4, 7, 6)),
}
MASKS = ["none", "causal", "bool", "bool row", "bool head", "float", "float row", "float head", "float -inf"]


def mask_of(kind, lead, n, m, dtype):
    keep = torch.rand(n, m) > 0.3
    keep[:, 0] = True
    match kind:
        case "bool":
            return keep
        case "bool row":
            return keep[:1]
        case "bool head":
            return keep.expand(*lead, n, m)
        case "float":
            return torch.randn(n, m).to(dtype)
        case "float row":
            return torch.randn(*([1] * len(lead)), 1, m).to(dtype)
        case "float head":
            return torch.randn(*lead, n, m).to(dtype)
        case "float -inf":
            return torch.zeros(n, m).masked_fill(~keep, float("-inf")).to(dtype)
    return None


def arguments(shape, kind, dtype):
    torch.manual_seed(0)
    tensors = [torch.randn(dims).to(dtype) for dims in SHAPES[shape]]
    lead = torch.broadcast_shapes(*(dims[:-3] for dims in SHAPES[shape])) + SHAPES[shape][0][-3:-2]
    lead = () if shape == "two" else lead
    mask = mask_of(kind, lead, SHAPES[shape][0][-2], SHAPES[shape][1][-2], dtype)
    options = {"attn_mask": mask, "is_causal": kind == "causal"}
    if shape == "grouped":
        options["enable_gqa"] = True
    return tensors, options


def with_gradients(attend, tensors, options, rounded=None):
    """The output, and the gradients of all arguments that have numbers, for a loss that weighs each output differently, by
    numbers that the type ``rounded`` has."""
    leaves = [x.clone().requires_grad_() for x in tensors]
    mask = options["attn_mask"]
    if mask is not None and mask.is_floating_point():
        mask = mask.clone().requires_grad_()
        leaves.append(mask)
    out = attend(*leaves[:3], **{**options, "attn_mask": mask}, scale=0.4)
    weights = torch.linspace(-1, 1, out.numel(), dtype=torch.float64).reshape(out.shape).to(rounded or out.dtype)
    return [out.detach(), *torch.autograd.grad(out, leaves, weights.to(out.dtype))]


def check(mine, theirs, exact):
    """Within torch's default tolerances of torch's own. Where torch's own rounding is larger than that (the shorter types, whose
    sums torch may form in the storage type): no further from float64 than twice what torch is, or one unit in the last place
    of the largest number."""
    assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
    try:
        torch.testing.assert_close(mine, theirs)
    except AssertionError:
        error, own = (float((x.double() - exact).abs().max()) for x in (mine, theirs))
        unit = torch.finfo(mine.dtype).eps * float(exact.abs().max())
        assert error <= max(2 * own, unit), (error, own, unit)


@pytest.mark.parametrize(("dtype", "shape", "kind"), list(itertools.product(TYPES, SHAPES, MASKS)), ids=str)
def test_values_and_gradients_are_torchs(dtype, shape, kind):
    tensors, options = arguments(shape, kind, dtype)
    mask = options["attn_mask"]
    assert ours._leading(*tensors, mask, shape == "grouped") is not None
    mine = with_gradients(ours.scaled_dot_product_attention, tensors, options)
    theirs = with_gradients(F.scaled_dot_product_attention, tensors, options)
    wide = {**options, "attn_mask": mask.double() if mask is not None and mask.is_floating_point() else mask}
    exact = with_gradients(F.scaled_dot_product_attention, [x.double() for x in tensors], wide)
    for found in zip(mine, theirs, exact, strict=True):
        check(*found)
    with torch.no_grad():
        out = ours.scaled_dot_product_attention(*tensors, **options, scale=0.4)
    check(out, theirs[0], exact[0])
    if not ours._repeats(*tensors, mask, tuple(out.shape[:-2])):  # those train in float32
        assert torch.equal(out, mine[0])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", ["one key head", "values broadcast", "five", "many"])
@pytest.mark.parametrize("kind", ["none", "causal", "float row", "float -inf", "dropout"])
def test_slopes_of_what_is_repeated_are_added_up_before_they_are_rounded(monkeypatch, dtype, shape, kind):
    """Against float64, to a unit in the last place of the largest number, without torch's own attention."""
    monkeypatch.setitem(SHAPES, "many", ((1, 2, 5, 8), (40, 2, 7, 8), (1, 2, 7, 8)))
    tensors, options = arguments(shape, kind, dtype)
    if kind == "dropout":
        options["dropout_p"] = 0.3
    lead = ours._leading(*tensors, options["attn_mask"], False)
    assert ours._repeats(*tensors, options["attn_mask"], lead)
    wide = {**options, "attn_mask": options["attn_mask"]}
    if wide["attn_mask"] is not None and wide["attn_mask"].is_floating_point():
        wide["attn_mask"] = wide["attn_mask"].double()
    doubles = [x.double() for x in tensors]
    torch.manual_seed(4)
    if kind == "dropout":  # torch drops others; ours in float64 drops the same
        exact = with_gradients(ours.scaled_dot_product_attention, doubles, wide, dtype)
    else:
        exact = with_gradients(F.scaled_dot_product_attention, doubles, wide, dtype)
    monkeypatch.setattr(ours, "torch_sdpa", None)
    torch.manual_seed(4)
    mine = with_gradients(ours.scaled_dot_product_attention, tensors, options)
    for found, expected in zip(mine, exact, strict=True):
        assert found.dtype == dtype and found.shape == expected.shape
        unit = torch.finfo(dtype).eps * float(expected.abs().max())
        assert float((found.double() - expected).abs().max()) <= unit


@pytest.mark.parametrize("dtype", TYPES)
def test_dropout_is_that_of_the_weights_and_repeatable(dtype):
    q, k, v = (torch.randn(2, 4, n, 8, dtype=torch.float64).to(dtype) for n in (9, 33, 33))
    p = 0.4

    def attend(q, k, v, **options):
        torch.manual_seed(5)
        return ours.scaled_dot_product_attention(q, k, v, dropout_p=p, **options)

    # Queries of 0 weigh all keys alike, so with unit vectors as values the output is the pattern of what is kept.
    every = torch.eye(33, dtype=dtype).expand(2, 4, 33, 33)
    kept = (attend(torch.zeros_like(q), k, every) != 0).double() / (1 - p)
    share = float((kept == 0).double().mean())
    assert abs(share - p) < 0.05
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    out = attend(*leaves)
    mine = [out.detach(), *torch.autograd.grad(out.square().sum(), leaves)]
    wide = [x.double().requires_grad_() for x in (q, k, v)]
    weights = (wide[0] @ wide[1].transpose(-1, -2) / 8**0.5).softmax(-1) * kept
    out = weights @ wide[2]
    exact = [out.detach(), *torch.autograd.grad(out.square().sum(), wide)]
    for found, expected in zip(mine, exact, strict=True):
        torch.testing.assert_close(found.double(), expected, **TOLERANCE[dtype])
    assert torch.equal(attend(q, k, v), mine[0])
    with torch.no_grad():
        assert torch.equal(attend(q, k, v), mine[0])
    torch.manual_seed(6)
    assert not torch.equal(ours.scaled_dot_product_attention(q, k, v, dropout_p=p), mine[0])


def test_gradients_have_gradients():
    q, k, v = (torch.randn(1, 2, 2, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    mask = torch.randn(2, 2, dtype=torch.float64, requires_grad=True)
    attend = lambda q, k, v, mask: ours.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert torch.autograd.gradcheck(attend, (q, k, v, mask))
    assert torch.autograd.gradgradcheck(attend, (q, k, v, mask))
    alone = lambda x: ours.scaled_dot_product_attention(x, x, x, is_causal=True)
    assert torch.autograd.gradgradcheck(alone, (q,))
    out = ours.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    with pytest.raises(RuntimeError, match="no second derivative"):
        torch.autograd.grad(out.sum(), q, create_graph=True)


def test_autocast_is_that_of_torch():
    q = torch.randn(2, 3, 4, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = ours.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(4, 4))
        expected = F.scaled_dot_product_attention(q, q, q)
        assert out.dtype == expected.dtype == torch.bfloat16
        torch.testing.assert_close(out, expected, **TOLERANCE[torch.bfloat16])
        assert ours.scaled_dot_product_attention(*[q.double()] * 3).dtype == torch.float64


def test_a_training_step_of_a_layer_is_torchs():
    def step(swap):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True, dropout=0.0)
        if swap:
            with ours.replace_sdpa():
                layer(torch.ones(2, 7, 16).cumsum(1)).square().sum().backward()
        else:
            layer(torch.ones(2, 7, 16).cumsum(1)).square().sum().backward()
        return [p.grad for p in layer.parameters()]

    for mine, theirs in zip(step(True), step(False), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


def test_a_row_that_sees_nothing_is_zeros():
    q = torch.randn(1, 1, 2, 8)
    mask = torch.tensor([[False, False], [True, True]])
    out = ours.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert (out[0, 0, 0] == 0).all() and not out.isnan().any()


def test_what_is_not_served_goes_to_torch():
    q = torch.randn(2, 2, 4, 8)
    with pytest.raises(RuntimeError):
        ours.scaled_dot_product_attention(q, q[:, :, :, :3], q)
    with pytest.raises(RuntimeError, match="is_causal"):
        ours.scaled_dot_product_attention(q, q, q, attn_mask=torch.zeros(4, 4), is_causal=True)
    with pytest.raises(RuntimeError):
        ours.scaled_dot_product_attention(q, q, q, dropout_p=1.5)
    assert ours.scaled_dot_product_attention(*(x.to("meta") for x in (q, q, q))).device.type == "meta"
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, torch.ones_like(q))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            out = ours.scaled_dot_product_attention(dual, q, q)
        assert torch.autograd.forward_ad.unpack_dual(out).tangent is not None


def test_torchs_name_is_replaced_and_given_back():
    before = F.scaled_dot_product_attention
    layer = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True, dropout=0.0)
    x = torch.randn(2, 7, 16)
    expected = layer.train()(x)
    with ours.replace_sdpa():
        assert F.scaled_dot_product_attention is ours.scaled_dot_product_attention
        with torch.no_grad():
            torch.testing.assert_close(layer(x), expected)
    assert F.scaled_dot_product_attention is before


def test_transformed_and_traced_functions_work():
    q = torch.randn(3, 2, 4, 8)
    over_batch = torch.vmap(lambda x: ours.scaled_dot_product_attention(x, x, x))(q)
    torch.testing.assert_close(over_batch, F.scaled_dot_product_attention(q, q, q))
    traced = torch.jit.trace(lambda x: ours.scaled_dot_product_attention(x, x, x), q)
    torch.testing.assert_close(traced(q + 1), F.scaled_dot_product_attention(q + 1, q + 1, q + 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_tensors_in_any_layout_are_taken(dtype):
    q = torch.randn(2, 9, 4, 16).to(dtype).transpose(1, 2)
    out, stats = spanwise.attention(q, q, q, causal=True, stats="lse")
    assert isinstance(out, torch.Tensor) and out.dtype == dtype and stats.lse.shape == (2, 4, 9)
    with torch.no_grad():
        torch.testing.assert_close(out, F.scaled_dot_product_attention(q, q, q, is_causal=True), **TOLERANCE[dtype])
    one = q[:, :1].expand(2, 4, 9, 16)
    torch.testing.assert_close(spanwise.attention(one, q, q), spanwise.attention(one.contiguous(), q, q))


def test_a_bias_of_another_type_is_converted_and_words_are_not_taken_for_bfloat16():
    q = torch.randn(1, 2, 3, 8).bfloat16()
    bias = torch.randn(3, 3)
    expected = spanwise.attention(q, q, q, bias=bias.bfloat16())
    torch.testing.assert_close(spanwise.attention(q, q, q, bias=bias), expected)
    torch.testing.assert_close(spanwise.attention(q, q, q, bias=bias.numpy()), expected)
    torch.testing.assert_close(spanwise.attention(q, q, q, bias=bias.numpy()[::-1]).flip(-2), spanwise.attention(q.flip(-2), q, q, bias=bias))
    torch.testing.assert_close(spanwise.attention(q, q, q, bias=bias.numpy().astype(ml_dtypes.bfloat16)), expected)
    with pytest.raises(spanwise.errors.DtypeError, match="`bias` has dtype <U1"):
        spanwise.attention(q, q, q, bias=np.array(["a"]))
    with pytest.raises(spanwise.errors.DtypeError, match="`k` has dtype int16"):
        spanwise.attention(q, q.view(torch.int16), q)
    with pytest.raises(spanwise.errors.DtypeError, match="`k` has dtype float32"):
        spanwise.attention(q, q.float(), q)


def test_a_gradient_is_not_lost_in_silence():
    q = torch.randn(1, 1, 2, 4, requires_grad=True)
    with pytest.raises(spanwise.errors.DtypeError, match="requires a gradient"):
        spanwise.attention(q, q, q)
    with torch.no_grad():
        assert spanwise.attention(q, q, q).shape == (1, 1, 2, 4)


def test_tensors_elsewhere_are_refused_by_name():
    q = torch.randn(1, 1, 2, 4)
    with pytest.raises(spanwise.errors.DeviceError, match="`k` is on device meta"):
        spanwise.attention(q, q.to("meta"), q)


def test_linear_models_take_tensors():
    x = torch.randn(50, 3, dtype=torch.float64)
    y = x @ torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    fit = spanwise.linear.lstsq(x, y)
    assert abs(fit.coefficients - [1, 2, 3]).max() < 1e-12
    half = spanwise.linear.lstsq(x.bfloat16(), y)
    assert abs(half.coefficients - [1, 2, 3]).max() < 0.1


@pytest.mark.parametrize("dtype", TYPES)
def test_a_cache_takes_tensors_and_gives_tensors(dtype):
    cache = spanwise.KVCache(2, 2, 8, dtype=dtype, page=16)
    k, v = (torch.randn(2, 40, 2, 8).to(dtype).transpose(1, 2) for _ in range(2))
    q = torch.randn(2, 4, 3, 8).to(dtype)
    cache.append(k[:, :, :30], v[:, :, :30])
    cache.append(k[:, :, 30:], v[:, :, 30:])
    out, stats = cache.attention(q, causal="bottom-right", stats="lse")
    assert isinstance(out, torch.Tensor) and out.dtype == dtype and stats.lse.shape == (2, 4, 3)
    assert torch.equal(out, spanwise.attention(q, k, v, causal="bottom-right"))
    with pytest.raises(spanwise.errors.DtypeError, match="as the cache has"):
        cache.append(*(x.to(torch.float16 if dtype != torch.float16 else torch.float32) for x in (k, v)))
