"""`spanwise.torch` means what torch means, over a grid of types, masks, shapes and heads."""

import itertools

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
    "batch of one": ((1, 2, 1, 8), (1, 2, 33, 8), (1, 2, 33, 8)),
    "grouped": ((2, 6, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8)),
}
MASKS = ["none", "causal", "bool", "bool row", "bool head", "float", "float row", "float -inf"]


def mask_of(kind, q, k, dtype):
    n, m = q[-2], k[-2]
    keep = torch.rand(n, m) > 0.3
    keep[:, 0] = True
    match kind:
        case "bool":
            return keep
        case "bool row":
            return keep[:1]
        case "bool head":
            return keep.expand(*q[:-2], n, m)
        case "float":
            return torch.randn(n, m).to(dtype)
        case "float row":
            return torch.randn(*([1] * (len(q) - 2)), 1, m).to(dtype)
        case "float -inf":
            return torch.zeros(n, m).masked_fill(~keep, float("-inf")).to(dtype)
    return None


def arguments(shape, kind, dtype):
    torch.manual_seed(0)
    tensors = [torch.randn(dims).to(dtype) for dims in SHAPES[shape]]
    options = {"attn_mask": mask_of(kind, SHAPES[shape][0], SHAPES[shape][1], dtype), "is_causal": kind == "causal"}
    if shape == "grouped":
        options["enable_gqa"] = True
    return tensors, options


@pytest.mark.parametrize(("dtype", "shape", "kind"), itertools.product(TYPES, SHAPES, MASKS), ids=str)
def test_values_are_torchs(dtype, shape, kind):
    tensors, options = arguments(shape, kind, dtype)
    with torch.no_grad():
        assert ours._served(*tensors, options["attn_mask"], 0.0, options["is_causal"], shape == "grouped")
        out = ours.scaled_dot_product_attention(*tensors, **options, scale=0.4)
        expected = F.scaled_dot_product_attention(*tensors, **options, scale=0.4)
    assert out.dtype == dtype and out.shape == expected.shape
    torch.testing.assert_close(out, expected, **TOLERANCE[dtype])


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float"])
def test_gradients_are_torchs(kind):
    tensors, options = arguments("square", kind, torch.float32)
    leaves = [t.clone().requires_grad_() for t in tensors]
    ours.scaled_dot_product_attention(*leaves, **options).square().sum().backward()
    others = [t.clone().requires_grad_() for t in tensors]
    F.scaled_dot_product_attention(*others, **options).square().sum().backward()
    for mine, theirs in zip(leaves, others, strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad)


def test_a_row_that_sees_nothing_is_zeros():
    q = torch.randn(1, 1, 2, 8)
    mask = torch.tensor([[False, False], [True, True]])
    out = ours.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert (out[0, 0, 0] == 0).all() and not out.isnan().any()


def test_what_is_not_served_goes_to_torch():
    q = torch.randn(2, 2, 4, 8)
    torch.manual_seed(1)
    out = ours.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    torch.manual_seed(1)
    torch.testing.assert_close(out, F.scaled_dot_product_attention(q, q, q, dropout_p=0.5))
    with pytest.raises(RuntimeError):
        ours.scaled_dot_product_attention(q, q[:, :, :, :3], q)
    assert ours.scaled_dot_product_attention(*(x.to("meta") for x in (q, q, q))).device.type == "meta"
    five = torch.randn(1, 2, 2, 4, 8)
    torch.testing.assert_close(
        ours.scaled_dot_product_attention(five, five, five), F.scaled_dot_product_attention(five, five, five)
    )


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
