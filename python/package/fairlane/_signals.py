"""Ctrl-C while code written in Python runs: a discipline, or the points of a sweep."""

from __future__ import annotations

import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CtrlC"]


class CtrlC:
    """Notes Ctrl-C, so that a run ends between two packets with valid results; a second one interrupts immediately.

    With ``at_once`` the first one interrupts too. It is noted because Python ignores what is raised while it frees an
    object: who looks at the note afterwards does not miss it.

    Signals are left alone outside of the main thread, and in programs with a handler of their own.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._heard = False
        self._waits = False

    def __enter__(self) -> Callable[[], bool]:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._hear)
            self._waits = True
        return self._has_been

    def __exit__(self, *_: object) -> None:
        self._leave()

    def _has_been(self) -> bool:
        return self._heard

    def _hear(self, *_: object) -> None:
        self._heard = True
        self._leave()
        if self._at_once:
            raise KeyboardInterrupt

    def _leave(self) -> None:
        if self._waits:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self._waits = False
