"""Runs calls in turn, ours and theirs, and prints one line for each pair: what the benchmarks of this folder share."""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

Call = Callable[[], Any]


def installed(name: str) -> Any:
    """A library, or None with a line that says it is not there."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name} is not installed: left out", flush=True)
        return None


def in_turn(calls: dict[str, Call], seconds: float, least: int = 5) -> dict[str, list[float]]:
    """Seconds of each call, each round in the same order, after one round that counts for nothing."""
    for call in calls.values():
        call()
    found: dict[str, list[float]] = {name: [] for name in calls}
    start = time.perf_counter()
    rounds = 0
    while time.perf_counter() - start < seconds or rounds < least:
        for name, call in calls.items():
            since = time.perf_counter()
            call()
            found[name].append(time.perf_counter() - since)
        rounds += 1
    return found


def compare(what: str, ours: Call, theirs: dict[str, Call | None], seconds: float) -> None:
    """One line per peer: best and median of both, and the ratio, above 1 where Spanwise is faster."""
    calls: dict[str, Call] = {"spanwise": ours} | {name: call for name, call in theirs.items() if call is not None}
    found = in_turn(calls, seconds)
    mine = found.pop("spanwise")
    for name, times in found.items():
        print(
            f"{what:34} beside {name:14} "
            f"best {min(mine) * 1e3:9.3f} ms ({min(times) * 1e3:9.3f})  "
            f"median {statistics.median(mine) * 1e3:9.3f} ({statistics.median(times) * 1e3:9.3f})  "
            f"ratio {min(times) / min(mine):5.2f} / {statistics.median(times) / statistics.median(mine):5.2f}",
            flush=True,
        )
    if not found:
        print(f"{what:34} best {min(mine) * 1e3:9.3f} ms  median {statistics.median(mine) * 1e3:9.3f}", flush=True)
