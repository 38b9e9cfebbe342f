"""How far long work has come: one line on stderr, on in notebooks and terminals, off in scripts."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]

# Nothing is said before this many seconds have passed, and not more often than this.
_PATIENCE = 0.5
_EVERY = 0.1


def _is_watched() -> bool:
    """Whether somebody looks: a notebook, or an interactive session at a terminal."""
    if "ipykernel" in sys.modules:
        return True
    interactive = hasattr(sys, "ps1") or bool(sys.flags.interactive)
    return interactive and bool(getattr(sys.stderr, "isatty", lambda: False)())


class Progress:
    """A line that says what is being done; ``shown`` None decides by who looks."""

    def __init__(self, what: str, shown: bool | None) -> None:
        self._what = what
        self._shown = _is_watched() if shown is None else shown
        self._patience = _PATIENCE if shown is None else 0.0
        self._start = time.monotonic()
        self._last = 0.0
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._write("\r" + " " * self._width + "\r")

    @property
    def callback(self) -> Any:
        """:meth:`say`, or None where nothing is shown."""
        return self.say if self._shown else None

    def say(self, text: str, *, always: bool = True) -> None:
        """Says what is being done now."""
        now = time.monotonic()
        if not self._shown or now - self._start < self._patience or (not always and now - self._last < _EVERY):
            return
        self._last = now
        line = f"{self._what}: {text}, {now - self._start:.1f} s"
        self._write("\r" + line.ljust(self._width))
        self._width = len(line)

    def over(self, chunks: Iterable[Any]) -> Iterator[Any]:
        """The same chunks, counted."""
        rows = 0
        for count, chunk in enumerate(chunks, 1):
            yield chunk
            first = chunk[0] if isinstance(chunk, tuple) and chunk else chunk
            rows += len(first) if hasattr(first, "__len__") else 0
            self.say(f"{count} chunks, {rows} rows", always=False)

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # nobody to tell
            self._shown = False
