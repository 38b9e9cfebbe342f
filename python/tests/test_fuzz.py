"""A thousand random calls: each gives what plain NumPy gives, or an exception of ours; none ends the interpreter."""

import ml_dtypes
import numpy as np
import pytest

import spanwise
from spanwise import _spanwise, linear
from spanwise._kinds import kind_of
from spanwise._options import asked
from test_attention import TOLERANCE, plain

CASES = 1000
STATS = ["lse", "entropy", "received", "top_k:2"]


def strided(rng, x):
    """The same numbers with other strides."""
    match rng.integers(5):
        case 0:
            return x
        case 1:
            return np.asfortranarray(x)
        case 2:
            wide = np.zeros((*x.shape[:-1], 3 * x.shape[-1]), x.dtype)
            wide[..., 1::3] = x
            return wide[..., 1::3]
        case 3:
            axis = rng.integers(x.ndim)
            return np.flip(np.flip(x, axis).copy(), axis)
        case _:
            return np.moveaxis(np.ascontiguousarray(np.moveaxis(x, -2, 0)), 0, -2)


def random_call(rng):
    g = rng.integers(1, 3)
    b, h, n, m, d, e = (int(x) for x in (rng.integers(0, 3), g * rng.integers(1, 3), *rng.integers(0, 40, 2), *rng.integers(1, 20, 2)))
    if rng.random() < 0.15:  # something that does not fit
        d = int(rng.integers(0, 3))
    dtype = list(TOLERANCE)[rng.integers(4)]
    make = lambda *shape: strided(rng, rng.standard_normal(shape).astype(dtype))
    q, k, v = make(b, h, n, d), make(b, g, m, d if rng.random() < 0.95 else d + 1), make(b, g, m, e)
    options, reference = {}, {}
    if rng.random() < 0.4:
        shape = [(n, m), (b, 1, n, m), (1, h, 1, m), (m,), (n, 1), (m + 1,)][rng.integers(6)]
        options["mask"] = reference["mask"] = rng.random(shape) > 0.3
    if rng.random() < 0.3:
        bias = rng.standard_normal((h, n, m)).astype(dtype)
        options["bias"], reference["bias"] = bias, bias.astype(np.float64)
    if rng.random() < 0.3:
        options["softcap"] = reference["softcap"] = float(rng.choice([0.5, 3.0, -1.0], p=[0.45, 0.45, 0.1]))
    if rng.random() < 0.3:
        options["scale"] = reference["scale"] = float(rng.standard_normal())
    if rng.random() < 0.3:
        options["sinks"] = reference["sinks"] = list(rng.standard_normal(h if rng.random() < 0.9 else h + 1))
    if rng.random() < 0.3:
        causal = rng.choice(["top-left", "bottom-right", True])
        causal = True if causal == "True" else str(causal)
        options["causal"] = causal
        keep = np.tri(n, m, m - n if causal == "bottom-right" else 0, dtype=bool)
        reference["mask"] = keep & reference["mask"] if "mask" in reference and reference["mask"].shape[-1] in (1, m) else keep
    if rng.random() < 0.2:
        options["dropout"] = float(rng.choice([0.1, 0.5, 1.5], p=[0.45, 0.45, 0.1]))
        options["seed"] = int(rng.integers(1 << 62))
    return (q, k, v), options, reference, TOLERANCE[dtype]


def kept_by_dropout(q, k, dropout=0.0, seed=0):
    """The factor of each weight: queries of 0 weigh all keys alike, so unit vectors as values show what is left."""
    if dropout == 0.0:
        return 1.0
    every = np.eye(k.shape[-2], dtype=q.dtype)
    return (spanwise.attention(np.zeros_like(q), k, every, dropout=dropout, seed=seed) != 0) / (1 - dropout)


def check_cache(rng, arrays, options, values):
    """The same from a cache that was filled in two steps."""
    q, k, v = arrays
    page = [None, 1, 7, 64][rng.integers(4)]
    cache = spanwise.KVCache(*k.shape[:2], k.shape[3], v.shape[3], dtype=k.dtype, page=page)
    cut = int(rng.integers(k.shape[2] + 1))
    cache.append(k[:, :, :cut], v[:, :, :cut])
    cache.append(k[:, :, cut:], v[:, :, cut:])
    np.testing.assert_array_equal(cache.attention(q, **options, stats=STATS)[0], values)


def check_gradients(rng, arrays, options, values, lse, tolerance):
    """The output is linear in the values, so their gradient times the values is the loss itself."""
    q, k, v = arrays
    kind = kind_of(q)
    grad = rng.standard_normal(values.shape).astype(q.dtype)
    given = asked(kind, q, **options)
    (dq, dk, dv), dbias, dsinks = _spanwise.attention_backward(
        q, k, v, (values, lse.ravel(), grad), given, "bias" in options, kind.bits
    )
    assert dq.shape == q.shape and dk.shape == k.shape and dv.shape == v.shape
    assert (dbias is None) == ("bias" not in options) and (dsinks is None) == ("sinks" not in options)
    loss = (values.astype(np.float64) * grad.astype(np.float64)).sum()
    found = (dv.view(q.dtype).astype(np.float64) * v.astype(np.float64)).sum()
    size = np.abs(values.astype(np.float64)).sum() + 1
    assert abs(found - loss) <= 20 * tolerance * size


@pytest.mark.parametrize("part", range(10))
def test_random_attention(part):
    rng = np.random.default_rng(part)
    computed = 0
    for _ in range(CASES // 10):
        arrays, options, reference, tolerance = random_call(rng)
        try:
            values, stats = spanwise.attention(*arrays, **options, stats=STATS)
        except (ValueError, TypeError) as error:
            assert type(error).__module__ == "spanwise.errors", error
            continue
        kept = kept_by_dropout(*arrays[:2], options.get("dropout", 0.0), options.get("seed", 0))
        expected, _, lse = plain(*arrays, **reference, kept=kept)
        np.testing.assert_allclose(values.astype(np.float64), expected, atol=3 * tolerance, rtol=3 * tolerance)
        np.testing.assert_allclose(stats.lse, lse, atol=3 * tolerance, rtol=3 * tolerance)
        if rng.random() < 0.3:
            check_cache(rng, arrays, options, values)
        if rng.random() < 0.3:
            check_gradients(rng, arrays, options, values, stats.lse, tolerance)
        computed += 1
    assert computed > CASES // 20


def test_random_fits():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n, d = int(rng.integers(0, 30)), int(rng.integers(0, 6))
        dtype = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16, np.int32, bool][rng.integers(6)]
        x = strided(rng, (3 * rng.standard_normal((n, d))).astype(dtype))
        y = rng.standard_normal((n, int(rng.integers(1, 3)))) if rng.random() < 0.5 else rng.standard_normal(n)
        try:
            fit = linear.lstsq(x, y, intercept=bool(rng.integers(2)))
        except ValueError as error:
            assert type(error).__module__ == "spanwise.errors", error
            continue
        design = x.astype(np.float64)
        if np.any(fit.intercept):
            design = np.column_stack([np.ones(n), design])
        best = design @ np.linalg.lstsq(design, y, rcond=None)[0]
        np.testing.assert_allclose(fit.predict(x), best, atol=1e-6)
