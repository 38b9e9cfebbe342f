"""Attention through the Python package, beside torch (and its compiled FlexAttention), NumPy, JAX and ONNX Runtime, interleaved, two threads.

    RAYON_NUM_THREADS=2 python bench/python/attention.py [--seconds S] [--case N]

Best and median of each, ours first, theirs in brackets, then the ratio: above 1 Spanwise is faster. The last line is what it
costs to cross into the library: attention of 1,1,8,8,8. Build with: maturin build --release
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from typing import Any

os.environ.setdefault("RAYON_NUM_THREADS", "2")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true intra_op_parallelism_threads=2")

import numpy as np
from beside import compare, installed

import spanwise

# (B, H, G, N, D), what is asked
CASES = [
    ((1, 12, 12, 512, 64), ""),
    ((1, 12, 12, 512, 64), "causal"),
    ((1, 8, 8, 2048, 64), ""),
    ((1, 8, 8, 2048, 64), "causal"),
    ((1, 8, 2, 2048, 64), "causal"),
    ((8, 12, 12, 128, 64), "padding"),
    ((1, 8, 8, 2048, 64), "statistics"),
    ((1, 8, 8, 2048, 64), "window"),
]
# A query sees itself and the keys before it, this many in all.
WINDOW = 256


def by_numpy(q: Any, k: Any, v: Any, hidden: Any) -> Any:
    """The formula as NumPy writes it."""
    scores = q @ np.swapaxes(k, -1, -2) * np.float32(q.shape[-1] ** -0.5)
    if hidden is not None:
        scores = np.where(hidden, np.float32(-np.inf), scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def flex_call(torch: Any, tensors: list[Any]) -> Any:
    """FlexAttention, compiled for the window: blocks without a key in it are skipped."""
    from torch.nn.attention import flex_attention as flex

    n = tensors[0].shape[2]
    near = flex.create_block_mask(lambda _b, _h, i, j: (j <= i) & (i - j < WINDOW), None, None, n, n, device="cpu")
    call = torch.compile(flex.flex_attention)
    return lambda: call(*tensors, block_mask=near)


def onnx_call(onnxruntime: Any, onnx: Any, q: Any, k: Any, v: Any, causal: bool, mask: Any) -> Any:
    """ONNX Runtime's own Attention operator."""
    helper, float32 = onnx.helper, onnx.TensorProto.FLOAT
    names = ["q", "k", "v"] + (["mask"] if mask is not None else [])
    kinds = [float32] * 3 + ([onnx.TensorProto.BOOL] if mask is not None else [])
    arrays = dict(zip(names, (q, k, v, mask), strict=False))
    node = helper.make_node("Attention", names, ["out"], is_causal=int(causal))
    inputs = [helper.make_tensor_value_info(n, t, arrays[n].shape) for n, t in zip(names, kinds, strict=True)]
    graph = helper.make_graph([node], "attention", inputs, [helper.make_tensor_value_info("out", float32, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return lambda: session.run(None, arrays)


def peers(shape: tuple[int, ...], asked: str, libraries: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Our call and theirs on the same numbers."""
    b, h, g, n, d = shape
    rng = np.random.default_rng(1)
    q = rng.standard_normal((b, h, n, d), dtype=np.float32)
    k, v = (rng.standard_normal((b, g, n, d), dtype=np.float32) for _ in "kv")
    causal, window = asked == "causal", asked == "window"
    lengths = rng.integers(n // 2, n + 1, b) if asked == "padding" else None
    mask = None if lengths is None else (np.arange(n) < lengths[:, None])[:, None, None, :]
    if window:
        mask = (np.tri(n, dtype=bool) & ~np.tri(n, k=-WINDOW, dtype=bool))[None, None]
    stats = ["entropy", "max", "received"] if asked == "statistics" else None

    def ours() -> Any:
        near = (WINDOW - 1, 0) if window else None
        return spanwise.attention(q, k, v, causal=causal or window, window=near, lengths=lengths, stats=stats)

    theirs: dict[str, Any] = {}
    exact = ours()[0] if stats else ours()
    if torch := libraries["torch"]:
        tensors = [torch.from_numpy(x) for x in (q, k, v)]
        kept = None if mask is None else torch.from_numpy(mask)
        sdpa = torch.nn.functional.scaled_dot_product_attention
        theirs["torch"] = lambda: sdpa(*tensors, attn_mask=kept, is_causal=causal, enable_gqa=g < h)
        np.testing.assert_allclose(theirs["torch"]().numpy(), exact, atol=1e-4)
        if window:
            theirs["FlexAttention"] = flex_call(torch, tensors)
            np.testing.assert_allclose(theirs["FlexAttention"]().numpy(), exact, atol=1e-4)
    if n <= 512 and g == h:
        hidden = np.triu(np.ones((n, n), dtype=bool), 1) if causal else None if mask is None else ~mask
        theirs["NumPy"] = lambda: by_numpy(q, k, v, hidden)
        np.testing.assert_allclose(theirs["NumPy"](), exact, atol=1e-4)
    if jax := libraries["jax"]:
        arrays = [jax.numpy.asarray(np.swapaxes(x, 1, 2).copy()) for x in (q, k, v)]
        kept_by = None if mask is None else jax.numpy.asarray(np.broadcast_to(mask, (b, 1, n, n)))
        call = jax.jit(lambda q, k, v: jax.nn.dot_product_attention(q, k, v, mask=kept_by, is_causal=causal))
        theirs["JAX"] = lambda: call(*arrays).block_until_ready()
        np.testing.assert_allclose(np.swapaxes(theirs["JAX"](), 1, 2), exact, atol=1e-4)
    if (runtime := libraries["onnxruntime"]) and (onnx := libraries["onnx"]) and g == h:
        whole = None if mask is None else np.broadcast_to(mask, (b, 1, n, n)).copy()
        try:
            theirs["ONNX Runtime"] = onnx_call(runtime, onnx, q, k, v, causal, whole)
            np.testing.assert_allclose(theirs["ONNX Runtime"]()[0], exact, atol=1e-4)
        except Exception as error:  # a build without the operator
            print(f"ONNX Runtime does not run this case: {str(error).splitlines()[0][:120]}", flush=True)
            theirs.pop("ONNX Runtime", None)
    return ours, theirs


def crossing(torch: Any) -> None:
    """What one call costs when there is nothing to compute."""
    arrays = [np.random.default_rng(1).standard_normal((1, 1, 8, 8), dtype=np.float32) for _ in "qkv"]

    def cost(call: Any) -> float:
        rounds = []
        for _ in range(200):
            since = time.perf_counter()
            for _ in range(100):
                call()
            rounds.append((time.perf_counter() - since) / 100)
        return statistics.median(rounds) * 1e6

    line = f"1,1,8,8,8 crossing                 spanwise {cost(lambda: spanwise.attention(*arrays)):.1f} µs"
    if torch:
        tensors = [torch.from_numpy(x) for x in arrays]
        sdpa = torch.nn.functional.scaled_dot_product_attention
        line += f", of tensors {cost(lambda: spanwise.attention(*tensors)):.1f} µs, torch {cost(lambda: sdpa(*tensors)):.1f} µs"
    print(line, flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=3.0, help="per case")
    options.add_argument("--case", type=int, help="one line of the table")
    asked_for = options.parse_args()
    libraries = {name: installed(name) for name in ("torch", "jax", "onnxruntime", "onnx")}
    if libraries["torch"]:
        libraries["torch"].set_num_threads(2)
    for shape, asked in CASES if asked_for.case is None else [CASES[asked_for.case]]:
        ours, theirs = peers(shape, asked, libraries)
        compare(f"{','.join(map(str, shape))} {asked}", ours, theirs, asked_for.seconds)
    crossing(libraries["torch"])


if __name__ == "__main__":
    main()
