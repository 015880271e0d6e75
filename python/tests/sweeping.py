"""Helpers of the tests of sweeps. Other processes import this module and run its functions."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairlane as fl

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

VARIED: dict[str, list[object]] = {"bottleneck.queue.min": ["5p", "8p", "12p"], "seed": list(range(8))}
POINTS = 24


def dumbbell() -> fl.Scenario:
    """A scenario that takes a millisecond."""
    return fl.Scenario.dumbbell(
        tcp=4,
        udp="2mbit",
        rate="1mbit",
        duration="6s",
        warmup="2s",
        queue=fl.Choke(limit=60, min=5, max=20),
        name="sweep",
    )


class Through(Executor):
    """Passes units on to another executor, calls a function before each unit, and counts them."""

    def __init__(self, inner: Executor, before: Callable[..., Any] | None = None, *given: object) -> None:
        self.inner = inner
        self.before = before
        self.given = given
        self.units: list[list[list[tuple[str, str]]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.units.append(args[0])
        if self.before is None:
            return self.inner.submit(fn, *args, **kwargs)
        return self.inner.submit(after, self.before, self.given, fn, *args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        # Some executors do not have other parameters.
        self.inner.shutdown(wait=wait, **({"cancel_futures": True} if cancel_futures else {}))


def after(before: Callable[..., Any], given: tuple[Any, ...], fn: Callable[..., Any], *args: Any) -> Any:
    """Runs a unit after another function."""
    before(*given, args[0])
    return fn(*args)


def die_at(seed: str, points: list[list[tuple[str, str]]]) -> None:
    """Ends the worker at the points with this seed, as the system does when there is no more memory."""
    if any(("seed", seed) in point for point in points):
        os.kill(os.getpid(), signal.SIGKILL)


def die_once(marker: str, seed: str, points: list[list[tuple[str, str]]]) -> None:
    """Ends the worker at the points with this seed, the first time."""
    if any(("seed", seed) in point for point in points) and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
