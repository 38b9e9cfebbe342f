"""Attention on arrays: values and statistics against plain NumPy, layouts, kinds, errors, and no copies."""

import os
import pickle
import threading
import time

import memory
import ml_dtypes
import numpy as np
import pytest

import spanwise
from spanwise import _spanwise, errors

RNG = np.random.default_rng(7)


def plain(q, k, v, *, scale=None, softcap=None, bias=None, mask=None, sinks=None, kept=1.0):
    """Attention step by step in float64; `mask`, `bias` and the factors `kept` of dropout broadcast to (B, H, N, M)."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    q, k, v = (x.reshape((1,) * (4 - x.ndim) + x.shape) for x in (q, k, v))
    repeat = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeat, axis=1), np.repeat(v, repeat, axis=1)
    s = np.einsum("bhnd,bhmd->bhnm", q, k) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    s = softcap * np.tanh(s / softcap) if softcap else s
    s = s if bias is None else s + bias
    s = s if mask is None else np.where(mask, s, -np.inf)
    top = s.max(axis=-1, keepdims=True, initial=-np.inf)
    if sinks is not None:
        top = np.maximum(top, np.asarray(sinks)[:, None, None])
    top = np.where(np.isfinite(top), top, 0)
    a = np.exp(s - top)
    total = a.sum(axis=-1, keepdims=True)
    if sinks is not None:
        total = total + np.exp(np.asarray(sinks)[:, None, None] - top)
    a = np.divide(a, total, where=total > 0, out=np.zeros_like(a))
    sees = np.isfinite(s).any(axis=-1)
    with np.errstate(divide="ignore"):
        return (a * kept) @ v, a, np.where(sees, (np.log(total) + top)[..., 0], -np.inf)


def problem(b=2, h=4, g=2, n=5, m=7, d=8, e=6, dtype=np.float64):
    shapes = (b, h, n, d), (b, g, m, d), (b, g, m, e)
    return tuple(RNG.standard_normal(shape).astype(dtype) for shape in shapes)


TOLERANCE = {np.float64: 1e-12, np.float32: 2e-6, np.float16: 3e-3, ml_dtypes.bfloat16: 2e-2}


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values_are_the_plain_ones_in_every_storage_type(dtype):
    q, k, v = problem(dtype=dtype)
    values = spanwise.attention(q, k, v)
    assert values.dtype == q.dtype and values.shape == (2, 4, 5, 6)
    np.testing.assert_allclose(values.astype(np.float64), plain(q, k, v)[0], atol=TOLERANCE[dtype])


def test_statistics_are_those_of_the_weights():
    q, k, v = problem()
    mask = RNG.random((2, 4, 5, 7)) > 0.4
    mask[0, 0, 2] = False
    names = ["lse", "entropy", "max", "top_k:3", "received", "row_sum_error", "map:2x3"]
    values, stats = spanwise.attention(q, k, v, mask=mask, stats=names)
    expected, a, lse = plain(q, k, v, mask=mask)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_allclose(stats.lse, lse, atol=1e-12)
    logs = np.log(a, where=a > 0, out=np.zeros_like(a))
    np.testing.assert_allclose(stats.entropy, -(a * logs).sum(axis=-1), atol=1e-12)
    np.testing.assert_allclose(stats.max, a.max(axis=-1), atol=1e-12)
    assert stats.max_key[0, 0, 2] == -1 and stats.empty_rows >= 1
    np.testing.assert_allclose(stats.top_k, -np.sort(-a, axis=-1)[..., :3], atol=1e-12)
    np.testing.assert_allclose(stats.received, a.sum(axis=2), atol=1e-12)
    assert stats.row_sum_error.max() < 1e-12 and stats.map_mean.shape == (2, 4, 2, 3)
    again = pickle.loads(pickle.dumps(stats))
    np.testing.assert_array_equal(again.lse, stats.lse)


@pytest.mark.parametrize(
    ("options", "reference"),
    [
        ({"scale": 0.3, "softcap": 2.0}, {"scale": 0.3, "softcap": 2.0}),
        ({"causal": "top-left"}, {"mask": np.tri(5, 7, dtype=bool)}),
        ({"causal": "bottom-right"}, {"mask": np.tri(5, 7, 2, dtype=bool)}),
        (
            {"causal": "bottom-right", "window": (1, 0)},
            {"mask": np.tri(5, 7, 2, dtype=bool) & ~np.tri(5, 7, 0, dtype=bool)},
        ),
        ({"window": (1, 2, "top-left")}, {"mask": np.tri(5, 7, 2, dtype=bool) & ~np.tri(5, 7, -2, dtype=bool)}),
        ({"lengths": np.array([3, 7])}, {"mask": np.arange(7) < np.array([3, 7]).reshape(2, 1, 1, 1)}),
        ({"sinks": [0.5, -1.0, 2.0, 0.0]}, {"sinks": [0.5, -1.0, 2.0, 0.0]}),
        (
            {"alibi": [1.0, 0.5, 0.25, 0.125]},
            {
                "bias": -np.abs(np.arange(5)[:, None] + 2 - np.arange(7))
                * np.array([1.0, 0.5, 0.25, 0.125])[:, None, None]
            },
        ),
    ],
)
def test_options_mean_what_they_say(options, reference):
    q, k, v = problem()
    np.testing.assert_allclose(spanwise.attention(q, k, v, **options), plain(q, k, v, **reference)[0], atol=1e-12)


def test_dropout_leaves_out_weights_and_scales_the_others():
    q, k, v = problem(n=40, m=50)
    every = np.eye(50)
    plain_weights, before = spanwise.attention(q, k, every, stats="lse")
    kept, stats = spanwise.attention(q, k, every, dropout=0.3, seed=9, stats="lse")
    np.testing.assert_array_equal(stats.lse, before.lse)
    share = float((kept == 0).mean())
    assert abs(share - 0.3) < 0.02
    np.testing.assert_allclose(kept[kept != 0], plain_weights[kept != 0] / 0.7, atol=1e-12)
    np.testing.assert_array_equal(kept, spanwise.attention(q, k, every, dropout=0.3, seed=9))
    assert (kept != spanwise.attention(q, k, every, dropout=0.3, seed=10)).any()
    np.testing.assert_array_equal(spanwise.attention(q, k, v, seed=1), spanwise.attention(q, k, v))
    np.testing.assert_allclose(spanwise.attention(q, k, v, dropout=0.3, seed=9), kept @ np.repeat(v, 2, axis=1), atol=1e-12)


def test_any_strides_are_views():
    q, k, v = problem(dtype=np.float32)
    expected = spanwise.attention(q, k, v)
    by_row = [np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3) for x in (q, k, v)]
    np.testing.assert_array_equal(spanwise.attention(*by_row), expected)
    turned = [x[..., ::-1].copy()[..., ::-1] for x in (q, k, v)]
    np.testing.assert_array_equal(spanwise.attention(*turned), expected)
    spread = []
    for x in (q, k, v):
        wide = np.zeros((*x.shape[:3], 2 * x.shape[3]), x.dtype)
        wide[..., ::2] = x
        spread.append(wide[..., ::2])
    np.testing.assert_array_equal(spanwise.attention(*spread), expected)
    one = np.broadcast_to(k[:1], k.shape)
    np.testing.assert_array_equal(spanwise.attention(q, one, v), spanwise.attention(q, one.copy(), v))


def test_fewer_dimensions_are_leading_ones():
    q, k, v = problem(b=1, h=1, g=1)
    two = spanwise.attention(q[0, 0], k[0, 0], v[0, 0], stats="lse")
    assert two[0].shape == (5, 6) and two[1].lse.shape == (5,)
    np.testing.assert_array_equal(two[0], spanwise.attention(q, k, v)[0, 0])


def test_booleans_of_other_bytes_are_booleans():
    q, k, v = problem()
    odd = np.array([0, 1, 2, 255, 1, 0, 4], np.uint8).view(bool)
    expected = spanwise.attention(q, k, v, mask=np.array([0, 1, 1, 1, 1, 0, 1], bool))
    np.testing.assert_array_equal(spanwise.attention(q, k, v, mask=odd), expected)


def test_gradients_are_the_slopes_of_the_output():
    q, k, v = problem()
    bias, sinks = RNG.standard_normal((4, 1, 7)), RNG.standard_normal(4)
    grad = RNG.standard_normal((2, 4, 5, 6))
    options = {"softcap": 2.0, "causal": "bottom-right", "dropout": (0.3, 5)}

    def loss(q, k, v, bias, sinks):
        out, told = _spanwise.attention(q, k, v, {**options, "bias": bias, "sinks": list(sinks)}, {"lse": True})
        return (out * grad).sum(), out, told["lse"].ravel()

    _, out, lse = loss(q, k, v, bias, sinks)
    given = {**options, "bias": bias, "sinks": list(sinks)}
    (dq, dk, dv), dbias, dsinks = _spanwise.attention_backward(q, k, v, (out, lse, grad), given, True)
    arguments = q, k, v, bias, sinks
    for at, slope in enumerate((dq, dk, dv, dbias, dsinks)):
        assert slope.shape == arguments[at].shape
        step = RNG.standard_normal(slope.shape)
        ends = [loss(*(x + sign * 1e-6 * step if i == at else x for i, x in enumerate(arguments)))[0] for sign in (1, -1)]
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-6, (slope * step).sum(), rtol=1e-6, atol=1e-7)
    with pytest.raises(errors.ShapeError, match="`grad` has shape"):
        _spanwise.attention_backward(q, k, v, (out, lse, grad[:, :1]), given)
    with pytest.raises(errors.ShapeError, match="`lse` has 39 entries"):
        _spanwise.attention_backward(q, k, v, (out, lse[1:], grad), given)


def test_rectangles_of_the_weights_are_exact():
    q, k, v = problem()
    _, stats = spanwise.attention(q, k, v, causal="bottom-right", stats="lse")
    a = plain(q, k, v, mask=np.tri(5, 7, 2, dtype=bool))[1]
    part = spanwise.weights(q, k, stats.lse, slice(1, 4), range(2, 6), batch=1, head=3, causal="bottom-right")
    np.testing.assert_allclose(part, a[1, 3, 1:4, 2:6], atol=1e-12)


def test_rectangles_of_the_scores_are_exact():
    q, k, v = problem()
    bias = RNG.standard_normal((4, 1, 7))
    s = np.einsum("bhnd,bhmd->bhnm", q, np.repeat(k, 2, axis=1)) * 0.3
    found = spanwise.scores(q, k, (1, 4), (2, 6), batch=1, head=3, scale=0.3)
    np.testing.assert_allclose(found, s[1, 3, 1:4, 2:6], atol=1e-12)
    found = spanwise.scores(q, k, batch=1, head=3, scale=0.3, softcap=2.0, bias=bias, causal="bottom-right")
    whole = np.where(np.tri(5, 7, 2, dtype=bool), 2 * np.tanh(s[1, 3] / 2) + bias[3], -np.inf)
    np.testing.assert_allclose(found, whole, atol=1e-12)


def test_other_libraries_get_their_own_kind_back():
    jax = pytest.importorskip("jax")
    q, k, v = (jax.numpy.asarray(x) for x in problem(dtype=np.float32))
    out = spanwise.attention(q, k, v)
    assert isinstance(out, jax.Array)
    np.testing.assert_allclose(np.asarray(out), plain(*map(np.asarray, (q, k, v)))[0], atol=2e-6)


class OnlyDlpack:
    """An array that can do nothing but lend its memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_anything_with_dlpack_is_taken():
    q, k, v = problem(dtype=np.float32)
    out = spanwise.attention(OnlyDlpack(q), OnlyDlpack(k), OnlyDlpack(v))
    np.testing.assert_array_equal(out, spanwise.attention(q, k, v))


Q, K, V = problem()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: spanwise.attention(Q, K[..., :5], V), errors.ShapeError, ["`k`", "width 5", "width 8"]),
        (lambda: spanwise.attention(Q, K, V[:, :, :3]), errors.ShapeError, ["`v`", "3 rows", "7"]),
        (lambda: spanwise.attention(Q[:, :3], K, V), errors.ShapeError, ["`q`", "3 heads"]),
        (lambda: spanwise.attention(Q[0, 0, 0], K, V), errors.ShapeError, ["`q`", "2 to 4 dimensions", "hint:"]),
        (lambda: spanwise.attention(Q[None], K, V), errors.ShapeError, ["`q`", "5 dimensions"]),
        (lambda: spanwise.attention(Q, K.astype(np.float32), V), errors.DtypeError, ["`k`", "float32", "expected float64"]),
        (lambda: spanwise.attention(Q, K, V, scale="a"), errors.DtypeError, ["`scale`", "'a'", "a number"]),
        (lambda: spanwise.attention(Q, K, V, softcap=[1, 2]), errors.DtypeError, ["`softcap`", "[1, 2]"]),
        (lambda: spanwise.attention(Q.astype(int), K, V), errors.DtypeError, ["`q`", "int64", "or bfloat16"]),
        (lambda: spanwise.attention(Q, K, np.ma.masked_less(V, 0)), errors.DtypeError, ["`v`", "masked", "hint:"]),
        (lambda: spanwise.attention(Q, K, V, mask=np.ones((5, 7))), errors.DtypeError, ["`mask`", "float64", "hint:"]),
        (lambda: spanwise.attention(Q, K, V, mask=np.ones((7, 5), bool)), errors.ShapeError, ["`mask`", "(7, 5)", "hint:"]),
        (lambda: spanwise.attention(Q, K, V, bias=np.ones((5, 7), bool)), errors.DtypeError, ["`bias`", "hint:"]),
        (lambda: spanwise.attention(Q, K, V, causal=True), errors.ShapeError, ["`causal`", "top-left", "bottom-right"]),
        (lambda: spanwise.attention(Q, K, V, causal="left"), errors.NumberError, ["`causal`", '"left"']),
        (lambda: spanwise.attention(Q, K, V, causal=1), errors.DtypeError, ["`causal` is 1", '"top-left"']),
        (lambda: spanwise.attention(Q, K, V, stats=3), errors.DtypeError, ["`stats` is 3"]),
        (lambda: spanwise.attention(Q, K, V, stats=("max", 3)), errors.NumberError, ["`stats` names 3", '"lse"']),
        (lambda: spanwise.attention(Q, K, V, window=(1, 1)), errors.ShapeError, ["`window`", "top-left"]),
        (lambda: spanwise.attention(Q, K, V, window=(-1, 0)), errors.NumberError, ["`window`", "-1"]),
        (lambda: spanwise.attention(Q, K, V, window=(1 << 70, 0)), errors.NumberError, ["`window`", str(1 << 70)]),
        (lambda: spanwise.attention(Q, K, V, softcap=-1), errors.NumberError, ["`softcap`", "-1"]),
        (lambda: spanwise.attention(Q, K, V, scale=np.nan), errors.NumberError, ["`scale`", "NaN"]),
        (lambda: spanwise.attention(Q, K, V, sinks=[1.0]), errors.ShapeError, ["`sinks`", "1 entry", "4"]),
        (lambda: spanwise.attention(Q, K, V, lengths=[1, 9]), errors.NumberError, ["`lengths`", "9", "7 keys"]),
        (lambda: spanwise.attention(Q, K, V, lengths=[1.5, 2]), errors.DtypeError, ["`lengths`"]),
        (lambda: spanwise.attention(Q, K, V, stats="sum"), errors.NumberError, ["`stats`", "'sum'"]),
        (lambda: spanwise.attention(Q, K, V, stats="top_k:0"), errors.NumberError, ["`stats`", "'top_k:0'"]),
        (lambda: spanwise.attention(Q, K, V, stats="map:1x2x3"), errors.NumberError, ["`stats`", "'map:1x2x3'"]),
        (lambda: spanwise.attention(Q, K, V, dropout=1.0), errors.NumberError, ["`dropout`", "1", "0 to below 1"]),
        (lambda: spanwise.attention(Q, K, V, dropout=-0.1), errors.NumberError, ["`dropout`", "-0.1"]),
        (lambda: spanwise.attention(Q, K, V, dropout=np.nan), errors.NumberError, ["`dropout`", "NaN"]),
        (lambda: spanwise.attention(Q, K, V, dropout=0.5, seed=-1), errors.NumberError, ["`seed`", "-1"]),
        (lambda: spanwise.scores(Q, K, batch=-1), errors.NumberError, ["`batch` is -1", "a whole number ≥ 0"]),
        (lambda: spanwise.scores(Q, K, head=1 << 70), errors.NumberError, [f"`head` is {1 << 70}", "a whole number ≥ 0"]),
        (lambda: spanwise.scores(Q, K, rows=(0, 9)), errors.ShapeError, ["`rows`", "0..9", "0..5"]),
        (lambda: spanwise.weights(Q, K, np.zeros(3)), errors.ShapeError, ["`lse`", "3 entries"]),
        (lambda: spanwise.weights(Q, K, None), errors.DtypeError, ["weights: `lse` is None", "hint: `attention("]),
        (lambda: spanwise.weights(Q, K, np.zeros(40), rows=(0, 9)), errors.ShapeError, ["`rows`", "0..9", "0..5"]),
    ],
)
def test_what_does_not_fit_is_named(call, error, words):
    with pytest.raises(error) as raised:
        call()
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("layout", memory.LAYOUTS)
def test_large_inputs_are_not_copied(layout):
    memory.check_no_copy("numpy", layout)


def test_a_copy_would_be_noticed():
    with pytest.raises(AssertionError, match="more memory"):
        memory.check_no_copy("numpy", "contiguous", copies=True)


def test_other_threads_run_meanwhile():
    q = RNG.standard_normal((1, 4, 1024, 64))
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    while not ticks:
        pass
    first = len(ticks)
    for _ in range(5):
        spanwise.attention(q, q, q)
    done.set()
    thread.join()
    assert len(ticks) > first


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_computes_too():
    q = RNG.standard_normal((1, 8, 256, 64))
    expected = spanwise.attention(q, q, q)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        same = np.array_equal(spanwise.attention(q, q, q), expected)
        grandchild = os.fork()  # which inherits the child's threads no more than the child those of its parent
        if grandchild == 0:
            same = np.array_equal(spanwise.attention(q, q, q), expected)
        os.write(writer, b"y" if same else b"n")
        if grandchild:
            os.waitpid(grandchild, 0)
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 2) == b"yy"


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("rows", [(1, 3), (37, 16), (8, 300)])
def test_values_without_columns_give_outputs_without_columns_however_they_lie(dtype, rows):
    n, m = rows
    v = np.ones((m, 5), dtype)
    for empty in (v[:, :0], v[:, 5:], np.ones((m, 0), dtype)):
        assert spanwise.attention(np.ones((n, 4), dtype), np.ones((m, 4), dtype), empty).shape == (n, 0)


def test_the_largest_weight_has_the_same_key_whatever_else_is_asked():
    q = np.ones((1, 1), "f4")
    k = np.array([[1.0], [np.nextafter(np.float32(1), np.float32(2))]], "f4")
    v = np.ones((2, 1), "f4")
    alone = spanwise.attention(q, k, v, scale=0.01, stats=["max"])[1]
    both = spanwise.attention(q, k, v, scale=0.01, stats=["max", "top_k:2"])[1]
    assert alone.max_key.tolist() == both.max_key.tolist()
    assert both.top_k[..., 0] >= both.top_k[..., 1]
