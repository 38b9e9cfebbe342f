"""PyTorch's threads and its tensors' places in memory, lent to attention."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from . import _spanwise


@cache
def look_at_tensors(torch: Any) -> None:
    """Lets attention ask PyTorch's own C functions where a tensor lies, where there are some, and borrows its threads."""
    borrow_threads(torch)
    table = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    if type(table).__name__ == "PyCapsule":
        with suppress(ValueError):  # of another name: not what is expected here
            _spanwise.use_tensors(table)


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
