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


def random_options(rng, sizes, dtype):
    """Options for (B, H, N, M), of which few do not fit."""
    b, h, n, m = sizes
    options = {}

    def sometimes(share, name, make):
        if rng.random() < share:
            options[name] = make()

    shapes = [(n, m), (b, 1, n, m), (1, h, 1, m), (m,), (n, 1), (m + 1,)]
    sometimes(0.3, "mask", lambda: rng.random(shapes[rng.integers(6)]) > 0.3)
    sometimes(0.25, "bias", lambda: strided(rng, rng.standard_normal((h, n, m)).astype(dtype)))
    sometimes(0.25, "softcap", lambda: float(rng.choice([0.5, 3.0, -1.0], p=[0.45, 0.45, 0.1])))
    sometimes(0.25, "scale", lambda: float(rng.standard_normal()))
    sometimes(0.25, "sinks", lambda: list(rng.standard_normal(h if rng.random() < 0.9 else h + 1)))
    sometimes(0.25, "alibi", lambda: rng.random(h if rng.random() < 0.9 else h + 1))
    sometimes(0.25, "lengths", lambda: rng.integers(0, m + 1 if rng.random() < 0.9 else m + 3, b))
    sometimes(0.25, "causal", lambda: ["top-left", "bottom-right", True][rng.integers(3)])
    diagonal = [(), ("top-left",), ("bottom-right",)]
    reach = lambda: None if rng.random() < 0.3 else int(rng.integers(0, m + 2))
    sometimes(0.25, "window", lambda: (reach(), reach(), *diagonal[rng.integers(3)]))
    if rng.random() < 0.2:
        options["dropout"] = float(rng.choice([0.1, 0.5, 1.5], p=[0.45, 0.45, 0.1]))
        options["seed"] = int(rng.integers(1 << 62))
    return options


def random_call(rng):
    """q, k and v of two to four dimensions, whose batch may broadcast, and options; of which few do not fit."""
    g = int(rng.integers(1, 3))
    b, h, n, m, d, e = (int(x) for x in (rng.integers(0, 3), g * rng.integers(1, 3), *rng.integers(0, 40, 2), *rng.integers(1, 20, 2)))
    rank = int(rng.choice([4, 3, 2], p=[0.7, 0.2, 0.1]))
    b, h, g = (1 if rank < 4 else b), (1 if rank < 3 else h), (1 if rank < 3 else g)
    if rng.random() < 0.2:
        n = m
    if rng.random() < 0.1:  # something that does not fit
        d = int(rng.integers(0, 3))
    dtype = list(TOLERANCE)[rng.integers(4)]
    batch = 1 if rng.random() < 0.1 else b

    def make(*shape):
        return strided(rng, rng.standard_normal(shape).astype(dtype).reshape(shape[4 - rank :]))

    q, k, v = make(b, h, n, d), make(batch, g, m, d if rng.random() < 0.95 else d + 1), make(batch, g, m, e)
    return (q, k, v), random_options(rng, (b, h, n, m), dtype), (b, h, n, m), TOLERANCE[dtype]


def meaning(options, sizes):
    """The same as arguments of the plain reference: everything that hides is a mask, everything that is added a bias."""
    b, h, n, m = sizes
    causal, window = options.get("causal"), options.get("window")
    named = [word for word in (causal, *(window or ())) if isinstance(word, str)]
    shift = m - n if "bottom-right" in named else 0
    places, keys = np.arange(n)[:, None] + shift, np.arange(m)
    keep, bias = np.ones((b, h, n, m), bool), np.zeros((1, h, n, m))
    if "mask" in options:
        keep = keep & options["mask"]
    if causal:
        keep = keep & (keys <= places)
    if window and window[0] is not None:
        keep = keep & (keys >= places - window[0])
    if window and window[1] is not None:
        keep = keep & (keys <= places + window[1])
    if "lengths" in options:
        keep = keep & (keys < np.reshape(options["lengths"], (b, 1, 1, 1)))
    if "bias" in options:
        bias = bias + options["bias"].astype(np.float64)
    if "alibi" in options:
        # Without a diagonal, the last query stands beside the last key.
        own = places if causal or window else np.arange(n)[:, None] + m - n
        bias = bias - np.reshape(options["alibi"], (h, 1, 1)) * np.abs(own - keys)
    same = {name: options[name] for name in ("scale", "softcap", "sinks") if name in options}
    return {"mask": keep, "bias": bias, **same}


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
    assert dq.shape == q.shape and dk.shape[-3:] == k.shape[-3:] and dv.shape[-3:] == v.shape[-3:]
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
        arrays, options, sizes, tolerance = random_call(rng)
        try:
            values, stats = spanwise.attention(*arrays, **options, stats=STATS)
        except (ValueError, TypeError) as error:
            assert type(error).__module__ == "spanwise.errors", error
            continue
        kept = kept_by_dropout(*arrays[:2], options.get("dropout", 0.0), options.get("seed", 0))
        expected, weights, lse = plain(*arrays, **meaning(options, sizes), kept=kept)
        logs = np.log(weights, where=weights > 0, out=np.zeros_like(weights))
        assert values.ndim == arrays[0].ndim and values.dtype == arrays[0].dtype
        for found, wanted in (
            (values.astype(np.float64), expected),
            (stats.lse, lse),
            (stats.entropy, -(weights * logs).sum(axis=-1)),
            (stats.received, weights.sum(axis=2)),
            (stats.top_k, -np.sort(-weights, axis=-1)[..., :2]),
        ):
            np.testing.assert_allclose(found.reshape(wanted.shape), wanted, atol=5 * tolerance, rtol=5 * tolerance)
        if rng.random() < 0.3 and arrays[0].ndim == 4 and len(arrays[1]) == len(arrays[0]):
            check_cache(rng, arrays, options, values)
        if rng.random() < 0.3:
            check_gradients(rng, arrays, options, values, stats.lse, tolerance)
        computed += 1
    assert computed > CASES // 25


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
