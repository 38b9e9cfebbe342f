"""What fits and answers say of themselves where they are printed: a line of facts, then the numbers, the first of many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._arrays import Names

#: Lines of numbers that are shown.
SHOWN = 12


def said(kind: str, facts: Iterable[str], lines: Iterable[str] = ()) -> str:
    """``kind: fact, fact``, and a line for each of ``lines``, up to :data:`SHOWN` of them."""
    lines = list(lines)
    text = f"{kind}: {', '.join(facts)}" + "".join(f"\n  {line}" for line in lines[:SHOWN])
    return text + (f"\n  … {len(lines) - SHOWN} more" if len(lines) > SHOWN else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """``1 row``, ``2 rows``."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def named(names: Names, count: int) -> tuple[str, ...]:
    """The columns' names, or their places."""
    return tuple(names) if names else tuple(f"x[{j}]" for j in range(count))


def numbers(fact: str, values: Any) -> list[str]:
    """``fact`` and its number, or of several the smallest and the largest; nothing where it is not known."""
    found = np.atleast_1d(np.asarray(values, dtype=np.float64))
    found = found[~np.isnan(found)]
    if found.size == 0:
        return []
    low, high = float(found.min()), float(found.max())
    return [f"{fact} {low:.6g}" if low == high else f"{fact} {low:.6g} to {high:.6g}"]


def coefficients(names: Names, values: Any, intercept: Any) -> list[str]:
    """A line for the intercept and each coefficient of one target; of several, (d, t), their count alone."""
    if values.ndim == 2:
        return [f"{counted(values.shape[0], 'coefficient')} for each of {counted(values.shape[1], 'target')}"]
    lines = [("intercept", intercept), *zip(named(names, len(values)), values, strict=True)]
    return [f"{name:<12} {value:>14.8g}" for name, value in lines]
