"""Ctrl-C ends long work."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, threading
import numpy as np, spanwise
from spanwise import _spanwise
rng = np.random.default_rng(0)
GIVEN
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    CALL
except KeyboardInterrupt:
    print("stopped", flush=True)
small = np.ones((1, 1, 8, 8))
assert spanwise.attention(small, small, small).shape == (1, 1, 8, 8)
# What was stopped is forgotten: the next fit runs to its end.
X = rng.standard_normal((30_000, 200))
assert spanwise.linear.lstsq(X, X[:, 0]).rank == 201
os._exit(0)  # without waiting for a factorisation that was left behind
"""
# Each call would take long; the arrays repeat one head, or shift one row.
HEADS = """
x = np.broadcast_to(np.ones((1, 1, 131_072, 64), np.float32), (1, 32, 131_072, 64))
lse = np.full(32 * 131_072, 8.0)
"""
CACHE = """
x = np.broadcast_to(np.ones((1, 1, 131_072, 64), np.float32), (1, 32, 131_072, 64))
cache = spanwise.KVCache(1, 1, 64, dtype=np.float32)
cache.append(x[:, :1], x[:, :1])
"""
ROWS = """
X = np.lib.stride_tricks.sliding_window_view(rng.standard_normal(4_000_000), 500)
y = X[:, 0] > 0.0
"""
SQUARE = """
A = rng.standard_normal((6_000, 6_000))
"""
CALLS = {
    "attention": (HEADS, "spanwise.attention(x, x, x)"),
    "statistics": (HEADS, "spanwise.attention(x, x, x, stats=['received', 'map:8'])"),
    "gradients": (HEADS, "_spanwise.attention_backward(x, x, x, (x, lse, x))"),
    "cache": (CACHE, "cache.attention(x)"),
    "least squares": (ROWS, "spanwise.linear.lstsq(X, y * 1.0)"),
    "ridge": (ROWS, "spanwise.linear.ridge(X, y * 1.0)"),
    "logistic regression": (ROWS, "spanwise.linear.logistic(X, y)"),
    "principal components": (ROWS, "spanwise.linear.pca(X)"),
    "a summary": (ROWS, "spanwise.linear.Summary(500).update(X, y * 1.0)"),
    "singular values": (SQUARE, "spanwise.linear.svd(A)"),
    "equations": (SQUARE, "[spanwise.linear.solve(A, A[0]) for _ in range(100)]"),
}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_ends_long_work(name):
    given, call = CALLS[name]
    program = PROGRAM.replace("GIVEN", given).replace("CALL", call)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert found.returncode == 0, found.stderr
    assert found.stdout == "stopped\n"


def test_an_interrupt_is_not_lost_while_progress_is_told():
    program = """
import os, signal
import numpy as np, spanwise
told = []
x = np.random.default_rng(0).standard_normal((400, 3))
from spanwise import _spanwise
before = _spanwise.explain_table
def told_of(*arguments):
    *rest, stage = arguments
    def stop(text):
        if not told:
            os.kill(os.getpid(), signal.SIGINT)
        told.append(text)
    return before(*rest, stop)
_spanwise.explain_table = told_of
try:
    spanwise.explain(x, x @ [1.0, 2.0, 3.0] + 1.0)
except KeyboardInterrupt:
    print("stopped")
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=240)
    assert found.stdout == "stopped\n", found.stderr
