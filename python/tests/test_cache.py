"""A cache of keys and values is attention over their concatenation; what does not fit is refused by name."""

import threading

import ml_dtypes
import numpy as np
import pytest

import spanwise
from spanwise import errors

RNG = np.random.default_rng(3)
TYPES = [np.float64, np.float32, np.float16, ml_dtypes.bfloat16]


def rows(n, width, dtype=np.float64, batch=2, heads=2):
    return RNG.standard_normal((batch, heads, n, width)).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("page", [None, 64, 5])
def test_a_cache_is_attention_over_the_concatenation(dtype, page):
    cache = spanwise.KVCache(2, 2, 8, 6, dtype=dtype, page=page)
    k, v = rows(150, 8, dtype), rows(150, 6, dtype)
    q = RNG.standard_normal((2, 4, 3, 8)).astype(dtype)
    held = 0
    for step in (1, 70, 2, 77):
        cache.append(k[:, :, held : held + step], v[:, :, held : held + step])
        held += step
        options = {"causal": "bottom-right", "window": (40, 0, "bottom-right"), "sinks": [0.1, 0.2, 0.3, 0.4]}
        if held < 3:
            options = {}
        values, stats = cache.attention(q, **options, stats=["lse", "received"])
        expected, theirs = spanwise.attention(q, k[:, :, :held], v[:, :, :held], **options, stats=["lse", "received"])
        assert len(cache) == held and values.dtype == q.dtype
        np.testing.assert_array_equal(values, expected)
        np.testing.assert_array_equal(stats.lse, theirs.lse)
        np.testing.assert_array_equal(stats.received, theirs.received)


def test_rows_can_be_forgotten():
    cache = spanwise.KVCache(2, 2, 8, dtype="float32", page=16)
    k = rows(50, 8, np.float32)
    q = rows(1, 8, np.float32)
    cache.append(k, k)
    cache.truncate(60)
    assert len(cache) == 50
    cache.truncate(20)
    cache.append(k[:, :, 40:], k[:, :, 40:])
    both = np.concatenate([k[:, :, :20], k[:, :, 40:]], axis=2)
    np.testing.assert_array_equal(cache.attention(q), spanwise.attention(q, both, both))
    cache.reset()
    assert len(cache) == 0 and repr(cache).endswith("0 rows")
    assert (cache.attention(q) == 0).all()


def test_fewer_dimensions_and_any_strides_are_taken():
    cache = spanwise.KVCache(1, 1, 4, dtype=np.float64)
    k = RNG.standard_normal((4, 9)).T
    cache.append(k, k[::-1])
    q = RNG.standard_normal((2, 4))
    out = cache.attention(q)
    assert out.shape == (1, 1, 2, 4)
    np.testing.assert_array_equal(out[0, 0], spanwise.attention(q, k, k[::-1]))


CACHE = spanwise.KVCache(2, 2, 8, 6, dtype=np.float32, capacity=3)
K, V = rows(2, 8, np.float32), rows(2, 6, np.float32)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: CACHE.append(K[..., :7], V), errors.ShapeError, ["`k`", "(2, 2, 2, 7)", "(2, 2, 2, 8)"]),
        (lambda: CACHE.append(K, V[:, :, :1]), errors.ShapeError, ["`v`", "(2, 2, 1, 6)"]),
        (lambda: CACHE.append(K.astype(np.float64), V), errors.DtypeError, ["`k`", "float64", "float32", "cache"]),
        (lambda: CACHE.append(np.repeat(K, 2, axis=2), np.repeat(V, 2, axis=2)), errors.ShapeError, ["4 more", "limit is 3"]),
        (lambda: CACHE.attention(K[:, :1]), errors.ShapeError, ["`q`", "1 head"]),
        (lambda: CACHE.attention(K.astype(np.float16)), errors.DtypeError, ["`q`", "float16"]),
        (lambda: CACHE.attention(K, dropout=1.0), errors.NumberError, ["`dropout`"]),
        (lambda: CACHE.attention(K, stats="sum"), errors.NumberError, ["`stats`"]),
        (lambda: CACHE.truncate(-1), errors.NumberError, ["`rows`", "-1"]),
        (lambda: spanwise.KVCache(1, 1, 0), errors.ShapeError, ["width 0"]),
        (lambda: spanwise.KVCache(-1, 1, 4), errors.NumberError, ["`batch`", "-1"]),
        (lambda: spanwise.KVCache(1, 1, 4, page=0), errors.ShapeError, ["page", "0 rows"]),
        (lambda: spanwise.KVCache(1, 1, 4, dtype=np.int32), errors.DtypeError, ["`dtype`", "int32"]),
        (lambda: spanwise.KVCache(1, 1, 4, dtype=object()), errors.DtypeError, ["`dtype`"]),
        (lambda: spanwise.KVCache(1 << 40, 1 << 40, 4), errors.NumberError, ["row of the cache"]),
    ],
)
def test_what_does_not_fit_is_named(call, error, words):
    with pytest.raises(error) as raised:
        call()
    for word in words:
        assert word in str(raised.value)
    assert len(CACHE) == 0


def test_a_cache_for_which_there_is_no_memory_is_refused():
    cache = spanwise.KVCache(1, 1, 4, dtype=np.float32, page=1 << 50)
    with pytest.raises(MemoryError):
        cache.append(np.zeros((1, 4), np.float32), np.zeros((1, 4), np.float32))
    assert len(cache) == 0


def test_threads_may_share_a_cache():
    cache = spanwise.KVCache(1, 2, 16, dtype=np.float32, page=64)
    q = RNG.standard_normal((1, 2, 8, 16)).astype(np.float32)
    faults = []

    def write():
        for _ in range(200):
            cache.append(np.ones((1, 2, 3, 16), np.float32), np.ones((1, 2, 3, 16), np.float32))

    def read():
        for _ in range(200):
            out = cache.attention(q)
            # All values are 1, so whatever is held, each output is 1; or 0 while there is none.
            if not (np.allclose(out, 1, atol=1e-5) or (out == 0).all()):
                faults.append(out)

    threads = [threading.Thread(target=work) for work in (write, read, write, read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults and len(cache) == 1200


def test_a_cache_that_is_written_to_never_stops_its_readers():
    # Enough rows that the work is given to the pool, whose threads must not wait for the cache themselves.
    cache = spanwise.KVCache(1, 1, 8, dtype=np.float32)
    rows = np.ones((1, 1, 64, 8), np.float32)
    cache.append(rows, rows)
    q = np.ones((1, 1, 4096, 8), np.float32)
    done = []

    def read():
        for _ in range(20):
            cache.attention(q)
        done.append("read")

    def write():
        for _ in range(200):
            cache.append(rows, rows)
            cache.truncate(64)
        done.append("written")

    threads = [threading.Thread(target=work, daemon=True) for work in (read, read, write)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert sorted(done) == ["read", "read", "written"]
