"""Results of a sweep on an executor, in memory or in a file."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlane import _core
from fairlane._parquet import Journal, Part, SweepFile, identity, merge
from fairlane._progress import Progress, shown
from fairlane._runs import warn
from fairlane._sent import identity_of, packed
from fairlane._sweep import Failure, Point, SomeExecutor, Work, distribute, here
from fairlane.errors import Interrupted, SweepStopped
from fairlane.outcome import Outcome, Outcomes

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from fairlane._sweep import Sink

__all__ = ["Sweep", "filed", "gathered"]


class Sweep(NamedTuple):
    """A sweep with its options; the parameters are those of ``Scenario.sweep``."""

    document: _core.Document
    points: list[Point]
    disciplines: list[tuple[str, str, dict[str, Any]]]
    own: dict[tuple[str, str], Callable[..., object]]
    parts: list[tuple[str, str, Callable[..., object]]]
    runs: int
    jobs: int | None
    progress: Progress
    executor: SomeExecutor | None
    chunk: int | None
    at: str | None


class _Memory:
    """Keeps the results."""

    def __init__(self) -> None:
        self.parts: dict[int, Any] = {}
        self.failures: dict[int, Failure] = {}

    def done(self, number: int, result: Any) -> None:  # noqa: ANN401 - the parts of an outcome
        self.parts[number] = result

    def failed(self, failure: Failure) -> None:
        self.failures[failure.number] = failure


def gathered(sweep: Sweep) -> Outcomes:
    """All outcomes in memory, in the order of the points."""
    memory = _Memory()
    text = sweep.document.to_toml()

    def outcomes() -> Outcomes:
        done = [Outcome(_core.Outcome.from_parts(memory.parts[number]), text) for number in sorted(memory.parts)]
        failures = [memory.failures[number] for number in sorted(memory.failures)]
        return Outcomes(done, of="sweep", scenario=text, failures=failures)

    def there() -> str:
        return f"{len(memory.parts)} of {len(sweep.points)} points are done; they are in the outcomes of this exception"

    try:
        _distribute(sweep, list(range(len(sweep.points))), memory, rows=False, of=len(sweep.points))
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: {there()}", outcomes()) from None
    except SweepStopped as error:
        raise SweepStopped(f"{error}; {there()}", outcomes()) from error
    warn(list(memory.failures.values()), len(sweep.points))
    return outcomes()


def filed(sweep: Sweep, out: str | os.PathLike[str], part: Part | None, *, merged: bool) -> SweepFile:
    """All rows in a file, in the order of the points; those of a part in its own file, or of all parts merged."""
    path = Path(out)
    own = [[*pair, identity_of(made)] for pair, made in sweep.own.items()]
    own += [[name, group, identity_of(made)] for name, group, made in sweep.parts]
    asked = identity(sweep.document, sweep.points, sweep.disciplines, own, sweep.runs, sweep.at)
    if merged:
        written = merge(path, asked, sweep.points)
        warn(written.failures, len(sweep.points))
        return written
    journal = Journal(path, asked, sweep.points, part)
    if journal.finished is not None:
        return journal.finished
    journal.failures.clear()
    all_ = len(journal.numbers())

    def there() -> str:
        return f"{len(journal.at)} of {all_} points are in {journal.name}, and the same call goes on from there"

    try:
        _distribute(sweep, journal.todo(), journal, rows=True, of=all_)
        written = journal.finish()
    except KeyboardInterrupt:
        raise Interrupted(f"interrupted: {there()}", Outcomes([], of="sweep")) from None
    except SweepStopped as error:
        raise SweepStopped(f"{error}; {there()}") from error
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror or error}; {there()}", str(journal.name)) from error
    finally:
        journal.close()
    warn(written.failures, all_)
    return written


def _distribute(sweep: Sweep, todo: list[int], sink: Sink, *, rows: bool, of: int) -> None:
    before = of - len(todo)
    with shown(sweep.progress, sweep.runs * of) as tell:

        def told(back: int) -> None:
            if tell is not None:
                tell(sweep.runs * (before + back), sweep.runs * of)

        told(0)
        jobs = 1 if sweep.executor is None else sweep.jobs or 1
        scenario = sweep.document.name, sweep.document.to_toml()
        # Threads of this process take classes as they are.
        pack = packed if sweep.executor is not None else lambda _key, made: made
        own = [(*pair, pack(pair[0], made)) for pair, made in sweep.own.items()]
        parts = [(name, group, pack(name, made)) for name, group, made in sweep.parts]
        work = Work(*scenario, sweep.runs, jobs, sweep.disciplines, own, parts, sweep.at, rows, _core.__version__)
        begin: Callable[..., None] = functools.partial(distribute, work, sweep.points, todo, sink)
        if sweep.executor is None:
            with here(sweep.jobs) as (executor, stop):
                begin(executor, sweep.chunk, told, stop)
        else:
            begin(sweep.executor, sweep.chunk, told)
