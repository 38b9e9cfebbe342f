"""PyTorch's threads, lent to attention."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from . import _spanwise


@cache
def borrow_threads(torch: Any) -> None:
    """Lets attention that does not last long run on PyTorch's own threads, where they are those of GNU's OpenMP.

    They spin for some milliseconds after each of PyTorch's operations, and other threads would have to share the cores with
    them.
    """
    library = Path(torch.__file__).parent / "lib" / "libgomp.so.1"
    if not library.exists():
        return
    try:
        openmp = ctypes.CDLL(str(library))
        functions = openmp.GOMP_parallel, openmp.omp_get_max_threads
    except (OSError, AttributeError):
        return
    addresses = [ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions]
    _spanwise.use_openmp(*addresses)
