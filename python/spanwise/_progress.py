"""How far long work has come: one line on stderr, on in notebooks and terminals, off in scripts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress", "fitting"]

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
    """A line that says what is being done; ``shown`` None decides by who looks.

    Work that is one call has no steps to tell of: with ``working`` the line says that, and how long it has taken so far.
    """

    def __init__(self, what: str, shown: bool | None, working: str | None = None) -> None:
        self._what = what
        self._shown = _is_watched() if shown is None else shown
        self._patience = _PATIENCE if shown is None else 0.0
        self._start = time.monotonic()
        self._last = 0.0
        self._width = 0
        self._working = working
        self._ended = threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._shown and self._working is not None:
            self._clock = threading.Thread(target=self._tick, args=(self._working,), daemon=True)
            self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._clock is not None:
            self._clock.join()
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

    def _tick(self, text: str) -> None:
        while not self._ended.wait(_EVERY):
            self.say(text)

    def over(self, chunks: Iterable[Any]) -> Iterator[Any]:
        """The same chunks, counted."""
        rows = 0
        for count, chunk in enumerate(chunks, 1):
            yield chunk
            first = chunk[0] if isinstance(chunk, tuple) and chunk else chunk
            rows += len(first) if hasattr(first, "__len__") else 0
            self.say(f"{count} chunk{'s' if count != 1 else ''}, {rows} row{'s' if rows != 1 else ''}", always=False)

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):  # nobody to tell
            self._shown = False


def fitting(operation: str, shown: bool | None, shape: tuple[int, ...]) -> Progress:
    """The line of one call that fits a table of ``shape``."""
    return Progress(operation, shown, " × ".join(f"{size:,}" for size in shape))
