"""How far long work is: a bar in a notebook and on a terminal, nothing elsewhere."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Progress: TypeAlias = "bool | Callable[[int, int], object] | None"
"""Whether to show a bar; a function is told how many of how many runs have ended. ``None`` is where someone looks."""

_WIDTH = 40


@contextlib.contextmanager
def shown(progress: Progress, total: int) -> Iterator[Callable[[int, int], object] | None]:
    """Gives what is to be told of the progress of ``total`` runs, if anything is."""
    if callable(progress):
        yield progress
    elif progress is False or (progress is None and not _looked_at()):
        yield None
    else:
        try:
            tqdm = _tqdm()
        except ImportError:
            yield _bar
            sys.stderr.write("\r" + " " * (_WIDTH + 30) + "\r")
            return
        with tqdm(total=total, unit="run", leave=False) as bar:

            def tell(done: int, _total: int) -> None:
                bar.update(done - bar.n)

            yield tell


def _tqdm() -> Any:  # noqa: ANN401 - a class
    """The bar of a notebook, where there are the widgets for it; else that of a terminal, which warns of nothing."""
    if importlib.util.find_spec("ipywidgets"):
        from tqdm.auto import tqdm as either  # noqa: PLC0415 - it need not be installed

        return either
    from tqdm import tqdm  # noqa: PLC0415 - it need not be installed

    return tqdm


def _bar(done: int, total: int) -> None:
    part = _WIDTH * done // max(total, 1)
    sys.stderr.write(f"\r[{'#' * part}{'.' * (_WIDTH - part)}] {done}/{total} runs")
    sys.stderr.flush()


def _looked_at() -> bool:
    """Whether there is a terminal or a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    notebook = shell is not None and "IPKernelApp" in shell.config
    return notebook or (sys.stderr is not None and sys.stderr.isatty())
