"""Sweeps on executors: units of plain data are sent out, come back in any order, and are sent again if lost."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import queue
import threading
import time
from collections import deque
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from fairlane import _core
from fairlane._runs import Brought, How, at_points
from fairlane._sent import loaded
from fairlane.errors import SweepStopped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

__all__ = ["Failure", "Point", "Sink", "SomeExecutor", "Work", "distribute", "here"]

SomeExecutor: TypeAlias = "Executor | Callable[[], Executor]"
"""An executor, or a function that makes one: then a broken one is replaced, and the last is shut down at the end."""

Point: TypeAlias = "list[tuple[str, str]]"

_UNIT_SECONDS = 1.0
"""The intended time of a unit: long compared with the transfer to another machine, short compared with a sweep."""

_TRIES = 3
"""The number of times that a point may be lost with its worker; the last time it runs alone, to rule out others."""

_UNKNOWN_WORKERS = 32
"""The number of workers assumed for the size of units if an executor does not report it."""

_UNKNOWN_WINDOW = 1024
"""The number of units that such an executor gets at a time."""


class Failure(NamedTuple):
    """A point of a sweep that failed.

    Attributes:
        number: Its number in the order of the points, from 0.
        point: The keys that were varied, with their values as in a scenario file.
        kind: The class of the exception, such as ``ScenarioError``.
        error: Its text.
    """

    number: int
    point: dict[str, str]
    kind: str
    error: str


class Work(NamedTuple):
    """The work at every point.

    Attributes:
        name: The scenario's name in errors.
        text: The scenario file.
        runs: Number of runs of each point.
        jobs: Number of threads that a unit may use.
        disciplines: The disciplines that are varied: the key, the text that stands for one, and its table.
        own: Disciplines and congestion controls written in Python that are varied: the key, the text that stands for
            one, and it, or the bytes from which a worker gets it.
        parts: What makes the applications and endpoints of a group of flows, after the name of its parameter and the
            group, or the bytes from which a worker gets it.
        at: The queue that summaries show, if one was asked for.
        rows: True if rows of the table of groups are returned instead of whole outcomes.
        version: The version of this package.
    """

    name: str
    text: str
    runs: int
    jobs: int
    disciplines: list[tuple[str, str, dict[str, Any]]]
    own: list[tuple[str, str, bytes | Callable[..., object]]]
    parts: list[tuple[str, str, bytes | Callable[..., object]]]
    at: str | None
    rows: bool
    version: str


class Sink(Protocol):
    """The receiver of the results."""

    def done(self, number: int, result: Any) -> None:  # noqa: ANN401 - the parts of an outcome, or its rows
        """Records the result of the point with this number."""

    def failed(self, failure: Failure) -> None:
        """Records a point that failed."""


class OtherVersionError(RuntimeError):
    """A worker has another version of the package, which may compute other numbers."""


class _Stopped(BaseException):
    """Ends the units in threads of a sweep that has ended."""


def work(
    work_: Work, points: list[Point], unit: int, stop: threading.Event | None = None
) -> tuple[list[tuple[str, Any]], float]:
    """Runs a unit; workers call it. Each point gives ``("done", result)`` or ``("failed", (kind, text))``.

    The second value is the time that it took, in seconds. The number of the unit makes each call another one: some
    engines, Dask among them, answer equal calls with the same result.
    """
    if work_.version != _core.__version__:
        raise OtherVersionError(
            f"a worker has fairlane {_core.__version__}, and the sweep is of {work_.version}: install the same there"
        )
    began = time.perf_counter()
    document = _core.Document.parse(work_.name, work_.text)
    # One that this worker cannot import ends the sweep, since no point is the cause.
    own = {(key, label): loaded(sent) for key, label, sent in work_.own}
    brought = Brought.of([(name, group, loaded(sent)) for name, group, sent in work_.parts])
    try:
        outcomes: list[tuple[str, Any]] = _outcomes(work_, document, points, own, brought, stop)
    except Exception as error:  # noqa: BLE001 - every exception of a point is reported
        if len(points) > 1:
            outcomes = [result for point in points for result in work(work_, [point], unit, stop)[0]]
        else:
            outcomes = [("failed", (type(error).__name__, str(error)))]
    return outcomes, time.perf_counter() - began


def _outcomes(  # noqa: PLR0913, PLR0917 - they are one thing each
    work_: Work,
    document: _core.Document,
    points: list[Point],
    own: dict[tuple[str, str], Callable[..., Any]],
    brought: Brought,
    stop: threading.Event | None,
) -> list[tuple[str, Any]]:
    def tell(_done: int, _total: int) -> None:
        if stop is not None and stop.is_set():
            raise _Stopped

    how = How(work_.runs, work_.jobs, tell)
    done, interrupted = at_points(document, points, work_.disciplines, own, brought, how)
    if interrupted:
        raise KeyboardInterrupt
    if work_.at is not None:
        done = [outcome.shown_at(work_.at) for outcome in done]
    if work_.rows:
        return [("done", rows_of(outcome)) for outcome in done]
    return [("done", outcome.parts()) for outcome in done]


def rows_of(outcome: _core.Outcome) -> dict[str, list[Any]]:
    """The rows of the table of groups; columns that are empty are left out."""
    table = _core.table("groups", [outcome])
    columns = {name: table.column(name) for name in table.columns}
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


@contextlib.contextmanager
def here(jobs: int | None) -> Iterator[tuple[Executor, threading.Event]]:
    """An executor of threads of this process, and an event that ends its units. The core runs without Python's lock."""
    stop = threading.Event()
    with ThreadPoolExecutor(jobs or _cores()) as executor:
        try:
            yield executor, stop
        finally:
            stop.set()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def distribute(  # noqa: PLR0913, PLR0917 - it has one caller, and they are one thing each
    work_: Work,
    points: Sequence[Point],
    todo: Sequence[int],
    sink: Sink,
    executor: SomeExecutor,
    chunk: int | None,
    tell: Callable[[int], object],
    stop: threading.Event | None = None,
) -> None:
    """Runs the points with the numbers ``todo`` on ``executor``; ``sink`` receives the results as they arrive.

    Raises:
        SweepStopped: The executor takes no more work.
        KeyboardInterrupt: Ctrl-C; what had come back until then is in ``sink``.
    """
    crew = _Crew(executor)
    function = functools.partial(work, work_) if stop is None else functools.partial(work, work_, stop=stop)
    sweep = _Distribution(function, crew, points)
    try:
        sweep.run(deque(todo), sink, chunk, tell)
    finally:
        # Results that have arrived meanwhile count too; other units are not started any more.
        sweep.cancel(sink)
        crew.close(wait=not sweep.pending)


class _Crew:
    """The executor in use; a broken one is replaced if possible."""

    def __init__(self, executor: SomeExecutor) -> None:
        given: Any = executor
        makes = callable(given) and (isinstance(given, type) or not hasattr(given, "submit"))
        self._make = given if makes else None
        self._executor: Any = given() if makes else given
        if not hasattr(self._executor, "submit"):
            name = type(self._executor).__name__
            raise TypeError(
                f"executor: expected a concurrent.futures.Executor or a function that creates one, not {name}"
            )

    @property
    def workers(self) -> int | None:
        """The number of workers, if the executor reports it as the pools of the standard library do."""
        workers = getattr(self._executor, "_max_workers", None)
        return workers if isinstance(workers, int) and workers > 0 else None

    def submit(self, function: Callable[..., Any], points: list[Point], unit: int) -> Future[Any]:
        """Submits a unit; on a new executor, if this one accepts none any more and a new one can be made."""
        try:
            return self._executor.submit(function, points, unit)  # type: ignore[no-any-return]
        except Exception as error:
            if self._make is None:
                raise SweepStopped(
                    f"the executor takes no more work ({_words(error)}); with what makes one, such as"
                    " executor=lambda: ProcessPoolExecutor(8), a broken one is replaced"
                ) from error
        self.close(wait=False)
        self._executor = self._make()
        try:
            return self._executor.submit(function, points, unit)  # type: ignore[no-any-return]
        except Exception as error:
            raise SweepStopped(f"a new executor takes no work either: {_words(error)}") from error

    def close(self, *, wait: bool) -> None:
        """Shuts down an executor that was made here; the caller owns one that was given."""
        if self._make is not None:
            self._executor.shutdown(wait=wait)


class _Distribution:
    """A sweep in progress."""

    def __init__(self, function: Callable[..., Any], crew: _Crew, points: Sequence[Point]) -> None:
        self._function = function
        self._crew = crew
        self._points = points
        self.pending: dict[Future[Any], list[int]] = {}
        self._ended: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._losses: dict[int, int] = {}
        self._again: deque[int] = deque()
        self._alone: deque[int] = deque()
        self._units = 0
        self._back = 0
        self._seconds = 0.0
        self._doubt = False

    def run(self, fresh: deque[int], sink: Sink, chunk: int | None, tell: Callable[[int], object]) -> None:
        """Submits units and processes results until no point is left."""
        while True:
            self._hand_out(fresh, chunk)
            if not self.pending:
                return
            self._take_in(self._next(), sink)
            tell(self._back)

    def cancel(self, sink: Sink) -> None:
        """Processes results that have arrived, and cancels units that were not started."""
        for future in list(self.pending):
            if future.cancel():
                del self.pending[future]
            elif future.done():
                with contextlib.suppress(Exception, KeyboardInterrupt):
                    self._take_in(future, sink)

    def _hand_out(self, fresh: deque[int], chunk: int | None) -> None:
        workers = self._crew.workers
        window = _UNKNOWN_WINDOW if workers is None else 2 * workers + 1
        if self._doubt and not self.pending:
            self._probe()
        while not self._doubt and len(self.pending) < window:
            if fresh:
                size = chunk or self._size(len(fresh), workers or _UNKNOWN_WORKERS)
                self._submit([fresh.popleft() for _ in range(min(size, len(fresh)))])
            elif self._again:
                self._submit([self._again.popleft()])
            elif self._alone and not self.pending:
                self._submit([self._alone.popleft()])
            else:
                return

    def _size(self, left: int, workers: int) -> int:
        """The number of points of a unit: enough to justify the transfer, and so few that all workers end together."""
        if not self._back:
            return 1
        worth = int(_UNIT_SECONDS * self._back / max(self._seconds, 1e-9))
        return max(1, min(worth, left // (4 * workers)))

    def _submit(self, numbers: list[int]) -> None:
        self._units += 1
        future = self._crew.submit(self._function, [self._points[number] for number in numbers], self._units)
        if not hasattr(future, "add_done_callback"):
            name = type(future).__name__
            raise TypeError(f"executor: its submit must return a concurrent.futures.Future, not a {name}")
        self.pending[future] = numbers
        future.add_done_callback(self._ended.put)

    def _probe(self) -> None:
        """Sends a unit without points: if it is lost too, the points are not the cause."""
        self._submit([])
        try:
            next(iter(self.pending)).result()
        except Exception as error:
            raise SweepStopped(f"the workers cannot do this sweep: {_words(error)}") from error
        finally:
            self.pending.clear()
        self._doubt = False

    def _next(self) -> Future[Any]:
        while True:
            # Without a limit some systems would not let Ctrl-C through.
            with contextlib.suppress(queue.Empty):
                future = self._ended.get(timeout=0.5)
                if future in self.pending:
                    return future

    def _take_in(self, future: Future[Any], sink: Sink) -> None:
        numbers = self.pending.pop(future)
        try:
            results, seconds = future.result()
        except (ImportError, pickle.PicklingError, OtherVersionError) as error:
            # Every other unit would fail in the same way.
            raise SweepStopped(f"the workers cannot do this sweep: {_words(error)}") from error
        except KeyboardInterrupt:
            # On a terminal Ctrl-C reaches the workers, too.
            raise
        except BaseException as error:  # noqa: BLE001 - a unit catches what points raise, so its worker is lost
            self._lost(numbers, error, sink)
            return
        self._seconds += seconds
        self._back += len(numbers)
        for number, (state, result) in zip(numbers, results, strict=True):
            if state == "done":
                sink.done(number, result)
            else:
                sink.failed(Failure(number, dict(self._points[number]), *result))

    def _lost(self, numbers: list[int], error: BaseException, sink: Sink) -> None:
        """Sends the points of a lost unit again, each as its own unit, and the last time each alone."""
        self._doubt |= not self._back
        for number in numbers:
            losses = self._losses[number] = self._losses.get(number, 0) + 1
            if losses < _TRIES - 1:
                self._again.append(number)
            elif losses < _TRIES:
                self._alone.append(number)
            else:
                self._back += 1
                self._doubt = True
                text = f"its worker was lost {losses} times, the last time with no other point at work: {_words(error)}"
                sink.failed(Failure(number, dict(self._points[number]), type(error).__name__, text))


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
