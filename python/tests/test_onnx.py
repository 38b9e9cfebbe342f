"""The `test_attention_*` node cases of the `onnx` package, through `spanwise.attention`, `weights` and `scores`."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

import spanwise

# What the output `qk` is: products, products after the soft cap, what the softmax sees, weights.
LEFT_OUT = {
    0: ("softcap", "bias", "mask", "causal", "window", "lengths"),
    1: ("bias", "mask", "causal", "window", "lengths"),
    2: (),
}


def cases():
    with np.errstate(all="ignore"):
        found = collect_testcases("Attention")
    plain = [case for case in found if case.name.startswith("test_attention_") and not case.name.endswith("_expanded")]
    return {case.name: case for case in plain}


CASES = cases()


class Node:
    """One node with its inputs and expected outputs by name."""

    def __init__(self, case):
        (self.node,) = case.model.graph.node
        inputs, outputs = case.data_sets[0]
        as_array = lambda x: numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else np.asarray(x)
        given = iter([as_array(x) for x in inputs])
        names = ["q", "k", "v", "mask", "past_k", "past_v", "lengths"]
        self.inputs = {name: next(given) for name, used in zip(names, self.node.input) if used}
        wanted = iter([as_array(x) for x in outputs])
        names = ["y", "present_k", "present_v", "qk"]
        self.outputs = {name: next(wanted) for name, used in zip(names, self.node.output) if used}
        self.attributes = {a.name: onnx.helper.get_attribute_value(a) for a in self.node.attribute}

    def heads(self, name, count):
        """(B, N, H·D) as a view (B, H, N, D)."""
        x = self.inputs[name]
        if x.ndim == 3:
            x = x.reshape(*x.shape[:2], count, -1).transpose(0, 2, 1, 3)
        return x

    def call(self):
        attributes = self.attributes
        q = self.heads("q", attributes.get("q_num_heads"))
        k = self.heads("k", attributes.get("kv_num_heads"))
        v = self.heads("v", attributes.get("kv_num_heads"))
        past = "past_k" in self.inputs
        if past:
            k = np.concatenate([self.inputs["past_k"], k], axis=2)
            v = np.concatenate([self.inputs["past_v"], v], axis=2)
        options = {}
        if attributes.get("scale"):
            options["scale"] = attributes["scale"]
        if attributes.get("softcap", 0.0) > 0:
            options["softcap"] = attributes["softcap"]
        n, m = q.shape[2], k.shape[2]
        # A query stands after the past; where more keys are new than queries, that is neither corner's diagonal.
        before = self.inputs["past_k"].shape[2] if past else 0
        diagonal = "top-left" if before == 0 else "bottom-right"
        window = [None if attributes.get(f"{side}_window_size", -1) < 0 else attributes[f"{side}_window_size"] for side in ("left", "right")]
        causal = bool(attributes.get("is_causal"))
        lengths = self.inputs.get("lengths")
        if lengths is not None:
            options["lengths"] = lengths.ravel()
        own = lengths.reshape(-1, 1, 1, 1) - n if lengths is not None and not past else None
        if own is None and before not in (0, m - n):
            own = np.full((1, 1, 1, 1), before)
        if own is not None and (causal or window != [None, None]):
            # A diagonal of its own for each batch entry, or for the node: as a mask.
            place = np.arange(n)[:, None] + own
            key = np.arange(m)
            keep = np.ones((len(own), 1, n, m), bool)
            if causal:
                keep &= key <= place
            if window[0] is not None:
                keep &= key >= place - window[0]
            if window[1] is not None:
                keep &= key <= place + window[1]
            options["mask"] = keep
        else:
            if causal:
                options["causal"] = diagonal
            if window != [None, None]:
                options["window"] = (*window, diagonal)
        mask = self.inputs.get("mask")
        if mask is not None:
            short = m - mask.shape[-1]
            fill = False if mask.dtype == bool else -np.inf
            mask = np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, short)], constant_values=fill)
            if mask.dtype == bool:
                options["mask"] = mask & options["mask"] if "mask" in options else mask
            else:
                options["bias"] = mask.astype(q.dtype)
        values, stats = spanwise.attention(q, k, v, **options, stats="lse")
        return q, k, v, options, values, stats


def tolerance(dtype):
    return {"rtol": 5e-3, "atol": 2e-3} if dtype.itemsize == 2 else {"rtol": 1e-3, "atol": 1e-6}


@pytest.mark.parametrize("name", CASES)
def test_onnx_case(name):
    node = Node(CASES[name])
    q, k, v, options, values, stats = node.call()
    expected = node.outputs["y"]
    if node.inputs["q"].ndim == 3:
        values = values.transpose(0, 2, 1, 3).reshape(expected.shape)
    assert values.dtype == expected.dtype
    np.testing.assert_allclose(values.astype(np.float64), expected.astype(np.float64), **tolerance(expected.dtype))
    for got, wanted in ((k, "present_k"), (v, "present_v")):
        if wanted in node.outputs:
            np.testing.assert_array_equal(got, node.outputs[wanted])
    if "qk" in node.outputs:
        found = whole_qk(node, q, k, options, stats)
        np.testing.assert_allclose(found, node.outputs["qk"].astype(np.float64), **tolerance(expected.dtype))


def whole_qk(node, q, k, options, stats):
    mode = node.attributes.get("qk_matmul_output_mode", 0)
    if mode == 3:
        one = lambda at: spanwise.weights(q, k, stats.lse, **options, **at)
    else:
        given = {name: value for name, value in options.items() if name not in LEFT_OUT[mode]}
        one = lambda at: spanwise.scores(q, k, **given, **at)
    heads = range(q.shape[1])
    return np.stack([np.stack([one({"batch": b, "head": h}) for h in heads]) for b in range(q.shape[0])])


def test_every_case_of_the_package_is_checked_in_all_its_outputs():
    # The cases named `_expanded` are the same ones, written out in other operators, whose inputs and outputs are equal.
    with np.errstate(all="ignore"):
        names = [case.name for case in collect_testcases("Attention") if case.name.startswith("test_attention_")]
    assert {name.removesuffix("_expanded") for name in names} == set(CASES)
    assert all(set(Node(case).outputs) <= {"y", "present_k", "present_v", "qk"} for case in CASES.values())
