"""Progress of long work: a bar in a notebook and on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys

from fairlane._values import native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

Progress: TypeAlias = "bool | Callable[[int, int], object] | None"
"""True for a bar, or a function of the finished work and the total; ``None`` for a bar in notebooks and terminals."""

_WIDTH = 40


class shown:  # noqa: N801 - it is used like a function
    """Yields the function to call with the progress of ``total`` units, or ``None``; the bar is removed at the end."""

    __slots__ = ("_bar", "_progress", "_total", "_unit")

    def __init__(self, progress: Progress, total: int, *, unit: str = "run") -> None:
        if not (progress is None or isinstance(native(progress), bool) or callable(progress)):
            what = type(progress).__name__
            raise TypeError(f"progress: expected True, False or a function of the work done and of all, not a {what}")
        self._progress = progress
        self._total = total
        self._unit = unit
        self._bar: Any = None

    def __enter__(self) -> Callable[[int, int], object] | None:
        if callable(self._progress):
            return self._progress
        if (self._progress is not None and not self._progress) or (self._progress is None and not _looked_at()):
            return None
        try:
            self._bar = _tqdm()(total=self._total, unit=self._unit, leave=False)
        except ImportError:
            self._bar = _Plain(self._unit)
        return self._tell

    def _tell(self, done: int, total: int) -> None:
        if total != self._bar.total:
            # The total was not known before.
            self._bar.reset(total)
        self._bar.update(done - self._bar.n)

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class _Plain:
    """A bar of characters with the part of tqdm's interface that is needed here."""

    total = 0
    n = 0

    def __init__(self, unit: str) -> None:
        self._unit = unit

    def reset(self, total: int) -> None:
        self.total = total

    def update(self, more: int) -> None:
        self.n += more
        part = _WIDTH * self.n // max(self.total, 1)
        sys.stderr.write(f"\r[{'#' * part}{'.' * (_WIDTH - part)}] {self.n}/{self.total} {self._unit}s")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r" + " " * (_WIDTH + 30) + "\r")


def _tqdm() -> Any:  # noqa: ANN401 - a class
    """The bar of a notebook, if its widgets are installed; otherwise that of a terminal, without warnings."""
    import importlib.util

    if importlib.util.find_spec("ipywidgets"):
        from tqdm.auto import tqdm as either

        return either
    from tqdm import tqdm

    return tqdm


def _looked_at() -> bool:
    """True on a terminal and in a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    notebook = shell is not None and "IPKernelApp" in shell.config
    return notebook or (sys.stderr is not None and sys.stderr.isatty())
