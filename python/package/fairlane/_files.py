"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["text_or_file", "write"]


def write(path: str | os.PathLike[str], text: str) -> Path:
    """Writes ``text`` to a file next to ``path``, puts it into its place, and returns the path.

    Raises:
        OSError: It cannot be written; what was at ``path`` is unchanged.
    """
    place = Path(path)
    beside = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)
    return place


def text_or_file(text: str, path: str | os.PathLike[str] | None) -> str | Path:
    """Returns ``text``; with a path, writes it there and returns the path.

    Raises:
        OSError: It cannot be written.
    """
    return text if path is None else write(path, text)
