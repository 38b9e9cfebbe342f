"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], text: str) -> None:
    """Writes ``text`` beside its place and moves it there; what was there before stays until then."""
    place = Path(path)
    if not place.parent.is_dir():
        # The temporary file's name would say nothing to whoever asked for this one.
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place.parent))
    handle, beside = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, 0o666 & ~mask)  # as `open` would have made it
        os.replace(beside, place)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
