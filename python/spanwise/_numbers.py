"""Whole numbers that people pass, checked before the extension takes them."""

from __future__ import annotations

import operator
from typing import Any

from .errors import DtypeError, NumberError

MOST_COUNT = (1 << 63) - 1
MOST_SEED = (1 << 64) - 1


def whole(operation: str, argument: str, found: Any, expected: str = "a whole number ≥ 0", most: int = MOST_COUNT) -> int:
    """``found`` as a number from 0 to ``most``: beyond that the extension could only say that it overflows."""
    try:
        number = operator.index(found)
    except TypeError:
        raise DtypeError(f"{operation}: `{argument}` is {found!r}; expected {expected}") from None
    if not 0 <= number <= most:
        raise NumberError(f"{operation}: `{argument}` is {number}; expected {expected}")
    return number


def seed(operation: str, found: Any) -> int:
    """Where random numbers start."""
    return whole(operation, "seed", found, "a whole number from 0 to 2**64 - 1", MOST_SEED)
