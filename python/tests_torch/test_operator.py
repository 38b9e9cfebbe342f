"""The custom operators: torch's own checks of them, and what compilers and exporters make of them."""

import io

import pytest
import torch
import torch.nn.functional as F

import spanwise.torch as ours
from spanwise._torch_ops import attention_op, backward_op


def tensors(*, n=5, m=7, grad=True, dtype=torch.float32):
    torch.manual_seed(0)
    shapes = (2, 4, n, 8), (2, 2, m, 8), (2, 2, m, 6)
    return tuple(torch.randn(shape).to(dtype).requires_grad_(grad) for shape in shapes)


@pytest.mark.parametrize("kind", ["none", "causal", "bool", "float", "dropout"])
def test_the_operators_pass_torchs_own_checks(kind):
    q, k, v = tensors()
    mask = {"bool": torch.rand(5, 7) > 0.3, "float": torch.randn(4, 1, 7, requires_grad=True)}.get(kind)
    seed = torch.tensor(3) if kind == "dropout" else None
    settings = 0.25 if kind == "dropout" else 0.0, kind == "causal", None
    torch.library.opcheck(attention_op, (q, k, v, mask, seed, *settings))
    plain = [None if x is None else x.detach() for x in (q, k, v, mask)]
    out, lse = attention_op(*plain, seed, *settings)
    torch.library.opcheck(backward_op, (torch.randn_like(out), *plain, seed, out, lse, *settings, kind == "float"))


def loss(q, k, v, mask):
    out = ours.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    return out.square().sum()


def theirs(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True).square().sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_code_is_one_graph_and_has_gradients(backend):
    torch._dynamo.reset()
    *inputs, mask = (*tensors(), torch.randn(5, 7, requires_grad=True))
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    mine = torch.autograd.grad(compiled(*inputs, mask), (*inputs, mask))
    expected = torch.autograd.grad(theirs(*inputs, mask), (*inputs, mask))
    for found, wanted in zip(mine, expected, strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def test_compiled_code_draws_its_dropout_from_torchs_generator():
    torch._dynamo.reset()
    q = torch.randn(1, 2, 16, 8, requires_grad=True)
    run = torch.compile(
        lambda x: ours.scaled_dot_product_attention(x, x, x, dropout_p=0.5), fullgraph=True, backend="aot_eager"
    )
    torch.manual_seed(1)
    first = run(q)
    torch.manual_seed(1)
    second = run(q)
    third = run(q)
    assert torch.equal(first, second) and not torch.equal(second, third)
    first.sum().backward()
    assert q.grad.isfinite().all()


def test_shapes_may_change_between_calls_of_compiled_code():
    torch._dynamo.reset()
    run = torch.compile(
        lambda x: ours.scaled_dot_product_attention(x, x, x, is_causal=True), fullgraph=True, backend="aot_eager", dynamic=True
    )
    for n in (3, 8, 21):
        x = torch.randn(2, 3, n, 8)
        torch.testing.assert_close(run(x), F.scaled_dot_product_attention(x, x, x, is_causal=True))


class Layer(torch.nn.Module):
    def forward(self, q, k, v):
        return ours.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def test_an_exported_program_holds_the_operator_and_survives_a_file():
    inputs = tensors(grad=False)
    exported = torch.export.export(Layer(), inputs)
    names = [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]
    assert any("spanwise.attention" in name for name in names), names
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    again = torch.export.load(file).module()
    expected = F.scaled_dot_product_attention(*inputs, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(again(*inputs), expected)


def test_a_tracer_sees_the_operator():
    from torch.fx.experimental.proxy_tensor import make_fx

    q, k, v = tensors(grad=False)
    graph = make_fx(lambda *x: ours.scaled_dot_product_attention(*x, enable_gqa=True))(q, k, v)
    assert "spanwise.attention" in graph.code
    torch.testing.assert_close(graph(q + 1, k, v), F.scaled_dot_product_attention(q + 1, k, v, enable_gqa=True))
