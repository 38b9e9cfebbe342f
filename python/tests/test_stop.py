"""Ctrl-C ends long work."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, threading
import numpy as np, spanwise
from spanwise import _spanwise
# Each call would take many minutes; the arrays repeat one head.
x = np.broadcast_to(np.ones((1, 1, 131_072, 64), np.float32), (1, 32, 131_072, 64))
lse = np.full(32 * 131_072, 8.0)
cache = spanwise.KVCache(1, 1, 64, dtype=np.float32)
cache.append(x[:, :1], x[:, :1])
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    CALL
except KeyboardInterrupt:
    print("stopped")
small = np.ones((1, 1, 8, 8))
assert spanwise.attention(small, small, small).shape == (1, 1, 8, 8)
"""
CALLS = {
    "attention": "spanwise.attention(x, x, x)",
    "statistics": "spanwise.attention(x, x, x, stats=['received', 'map:8'])",
    "gradients": "_spanwise.attention_backward(x, x, x, (x, lse, x))",
    "cache": "cache.attention(x)",
}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_ends_long_work(name):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CALL", CALLS[name])], capture_output=True, text=True, timeout=240
    )
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
