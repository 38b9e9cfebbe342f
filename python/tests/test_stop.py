"""Ctrl-C ends long work."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, threading, time
import numpy as np, spanwise
from spanwise import _spanwise
x = np.broadcast_to(np.ones((1, 1, 16_384, 64), np.float32), (1, 16, 16_384, 64))
few = x[:, :, :4096]
lse = np.full(16 * 4096, 8.0)
cache = spanwise.KVCache(1, 16, 64, dtype=np.float32)
cache.append(x, x)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
started = time.monotonic()
try:
    while True:  # one call is enough where it lasts; a very fast machine makes several
        CALL
except KeyboardInterrupt:
    print(time.monotonic() - started)
small = np.ones((1, 1, 8, 8))
assert spanwise.attention(small, small, small).shape == (1, 1, 8, 8)
"""
CALLS = {
    "attention": "spanwise.attention(x, x, x)",
    "statistics": "spanwise.attention(x, x, x, stats=['received', 'map:8'])",
    "gradients": "_spanwise.attention_backward(few, few, few, (few, lse, few))",
    "cache": "cache.attention(x)",
}


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system has no such signals")
@pytest.mark.parametrize("name", CALLS)
def test_an_interrupt_ends_long_work(name):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("CALL", CALLS[name])], capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    assert float(found.stdout) < 5
