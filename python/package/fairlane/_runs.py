"""Runs, comparisons and sweeps on the cores of this machine, and their outcomes."""

from __future__ import annotations

from fairlane import _core
from fairlane._progress import shown
from fairlane._values import cores, count, instance
from fairlane.config import QueueConfig
from fairlane.errors import Interrupted
from fairlane.outcome import Outcome, Outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fairlane._progress import Progress
    from fairlane._sweep import Point
    from fairlane.scenario import OwnDiscipline, SomeDiscipline

__all__ = ["How", "all_of", "compared", "factory", "only", "run", "swept", "with_queue"]


class How:
    """Options of a batch."""

    __slots__ = ("jobs", "progress", "runs")

    def __init__(self, runs: int, jobs: int | None, progress: Progress) -> None:
        """Takes the parameters of :meth:`fairlane.Scenario.run`.

        Raises:
            TypeError: A value is not a number.
            ValueError: One is out of range.
        """
        self.runs = count("runs", runs)
        self.jobs = cores(jobs)
        self.progress = progress

    def options(self, *, recorded: bool, tell: object) -> dict[str, object]:
        """The options as the compiled part takes them."""
        return {"runs": self.runs, "threads": self.jobs, "recorded": recorded, "progress": tell}


def run(document: _core.Document, how: How) -> tuple[list[_core.Outcome], bool]:
    """The document's outcome, and whether it was interrupted."""
    with shown(how.progress, how.runs) as tell:
        return _core.run(document, how.options(recorded=True, tell=tell))


def check_at(document: _core.Document, at: str | None) -> None:
    """Checks that outcomes have a queue of this name.

    Raises:
        ValueError: They have not.
    """
    if at is not None and at not in (names := document.reported()):
        raise ValueError(f"at: there is no queue {at!r} that carries data; name one of them: {', '.join(names)}")


def shown_at(done: list[_core.Outcome], at: str | None) -> list[_core.Outcome]:
    """The outcomes with this queue in their summaries."""
    return done if at is None else [outcome.shown_at(at) for outcome in done]


def swept(document: _core.Document, points: list[Point], how: How, at: str | None) -> Outcomes:
    """A sweep, all in memory."""
    with shown(how.progress, how.runs * len(points)) as tell:
        done, interrupted = _core.sweep(document, points, how.options(recorded=False, tell=tell))
    if interrupted:
        # A partial outcome is left out, since it would look like a complete one.
        done = [outcome for outcome in done if not outcome.partial]
    return all_of(document, shown_at(done, at), "sweep", interrupted=interrupted)


def _choice(queue: str | QueueConfig) -> str | tuple[str, dict[str, Any]]:
    return queue._as_given() if isinstance(queue, QueueConfig) else queue  # noqa: SLF001 - it is made for this


def with_queue(document: _core.Document, queue: str | QueueConfig) -> _core.Document:
    """The document with another discipline at the queues that a comparison changes."""
    value = queue.to_dict() if isinstance(queue, QueueConfig) else queue
    key = "" if isinstance(queue, QueueConfig) else ".kind"
    return document.with_values([(place + key, value) for place in document.queues()])


def compared(document: _core.Document, queues: list[SomeDiscipline], how: How) -> tuple[list[_core.Outcome], bool]:
    """The outcomes with each discipline, in order: first the library's together, then those of Python in turn."""
    ours = [queue for queue in queues if isinstance(queue, (str, QueueConfig))]
    own = [queue for queue in queues if not isinstance(queue, (str, QueueConfig))]
    for given in own:
        if not callable(instance(given)):
            what = type(given).__name__
            raise TypeError(f"a discipline is a name, one such as fairlane.Choke(), or a class, not a {what}")
    done: list[_core.Outcome] = []
    interrupted = False
    if ours or not own:
        with shown(how.progress, how.runs * max(len(ours), 1)) as tell:
            choices = [_choice(queue) for queue in ours]
            done, interrupted = _core.compare(document, choices, how.options(recorded=True, tell=tell))
    if interrupted or not own:
        return done, interrupted
    rest = iter(done)
    ordered: list[_core.Outcome] = []
    for queue in queues:
        if isinstance(queue, (str, QueueConfig)):
            ordered += [next(rest)]
        elif not interrupted:
            made, interrupted = _own(document, queue, how)
            ordered += made
    return ordered, interrupted


def _own(document: _core.Document, queue: OwnDiscipline, how: How) -> tuple[list[_core.Outcome], bool]:
    """The outcome with a discipline written in Python."""
    from fairlane._signals import CtrlC

    with shown(how.progress, how.runs) as tell, CtrlC() as heard:
        return _core.run_custom(document, factory(queue), heard, how.runs, recorded=True, progress=tell)


def factory(queue: OwnDiscipline) -> Callable[[str, int, int], object]:
    """The function that makes a discipline written in Python for a link, of its name, its rate and a seed."""
    from fairlane.discipline import Host

    def made(link: str, rate_bps: int, seed: int) -> object:
        return queue(Host(link, rate_bps, seed))

    return made


def only(document: _core.Document, done: tuple[list[_core.Outcome], bool]) -> Outcome:
    """The outcome of a run, which is one.

    Raises:
        Interrupted: It was interrupted.
    """
    outcomes, interrupted = done
    return all_of(document, outcomes, "run", interrupted=interrupted)[0]


def all_of(document: _core.Document, done: list[_core.Outcome], of: str, *, interrupted: bool) -> Outcomes:
    """The outcomes of a run, a comparison or a sweep, as ``of`` says.

    Raises:
        Interrupted: They were interrupted.
    """
    text = document.to_toml()
    outcomes = Outcomes([Outcome(outcome, text) for outcome in done], of=of, scenario=text)
    if interrupted and not outcomes:
        raise Interrupted("interrupted before anything was measured", outcomes)
    if interrupted:
        whole = sum(not outcome.partial for outcome in outcomes)
        parts = len(outcomes) - whole
        there = f"{whole} outcomes are complete" + (f", {parts} in part" if parts else "")
        raise Interrupted(f"interrupted: {there}; they are in the outcomes of this exception", outcomes)
    return outcomes
