"""Runs, comparisons and sweeps on the cores of this machine, and their outcomes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from fairlane import _core
from fairlane._labels import parameters
from fairlane._progress import shown
from fairlane._values import cores, count, instance
from fairlane.config import QueueConfig
from fairlane.errors import ArgumentError, Interrupted, ScenarioError
from fairlane.outcome import Outcome, Outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from fairlane._points import Plan
    from fairlane._progress import Progress
    from fairlane._sweep import Failure, Point
    from fairlane.application import OwnApplication
    from fairlane.congestion import OwnCongestion
    from fairlane.discipline import OwnDiscipline, SomeDiscipline
    from fairlane.endpoint import OwnEndpoints

__all__ = [
    "Brought",
    "How",
    "Watch",
    "all_of",
    "at_points",
    "compared",
    "factory",
    "labelled",
    "only",
    "run",
    "swept",
    "warn",
    "watched",
    "with_brought",
    "with_queue",
]


class How:
    """Options of a batch."""

    __slots__ = ("jobs", "progress", "runs")

    def __init__(self, runs: int, jobs: int | None, progress: Progress) -> None:
        """Takes the parameters of :meth:`fairlane.Scenario.run`.

        Raises:
            TypeError: A value is not a number.
            ArgumentError: One is out of range.
        """
        self.runs = count("runs", runs)
        self.jobs = cores(jobs)
        self.progress = progress

    def options(self, *, recorded: bool, tell: object) -> dict[str, object]:
        """The options as the compiled part takes them."""
        return {"runs": self.runs, "threads": self.jobs, "recorded": recorded, "progress": tell}


class Brought:
    """The parts of a run for groups of flows that are written in Python; by default none.

    Attributes:
        congestion: The groups of flows with such a congestion control, each with what makes it.
        applications: The groups of flows with such an application, each with what makes it.
        endpoints: The groups of endpoints, each with what makes a flow's two.
    """

    __slots__ = ("applications", "congestion", "endpoints")

    def __init__(
        self,
        cc: Mapping[str, OwnCongestion] | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
    ) -> None:
        """Takes the parameters of :meth:`fairlane.Scenario.run`.

        Raises:
            TypeError: One is of another type.
        """
        self.congestion = _by_group("cc", cc, '{"ftp": Mine}')
        self.applications = _by_group("applications", applications, '{"ftp": Mine}')
        self.endpoints = _by_group("endpoints", endpoints, '{"own": make}')
        expected = {
            "cc": (self.congestion, 'a congestion control is a class, not a {what}; set scenario["flows.{group}.cc"]'),
            "applications": (
                self.applications,
                'an application is a class, not a {what}; set scenario["flows.{group}.source"]',
            ),
            "endpoints": (self.endpoints, "{group!r} needs a function that makes a source and a sink, not a {what}"),
        }
        for name, (makers, message) in expected.items():
            for group, made in makers:
                if not callable(made):
                    raise TypeError(f"{name}: {message.format(group=group, what=type(made).__name__)}")

    def __bool__(self) -> bool:
        return bool(self.congestion or self.applications or self.endpoints)

    def makers(self) -> dict[str, list[tuple[str, Any]]]:
        """Returns the makers of all parts, as the compiled part takes them."""
        return {"congestion": self.congestion, "applications": self.applications, "endpoints": self.endpoints}

    def parts(self) -> list[tuple[str, str, Any]]:
        """Returns the makers of applications and endpoints, each after its parameter's name and its group."""
        makers = {"applications": self.applications, "endpoints": self.endpoints}
        return [(name, group, made) for name, all_ in makers.items() for group, made in all_]

    @staticmethod
    def of(parts: list[tuple[str, str, Any]]) -> Brought:
        """Returns the parts of a run from the makers that :meth:`parts` has returned."""

        def named(name: str) -> dict[str, Any]:
            return {group: made for part, group, made in parts if part == name}

        return Brought(applications=named("applications"), endpoints=named("endpoints"))

    def with_congestion(self, group: str, made: OwnCongestion) -> Brought:
        """Returns the parts with a congestion control for a group of flows in addition."""
        return Brought({**dict(self.congestion), group: made}, dict(self.applications), dict(self.endpoints))


def _by_group(name: str, given: Mapping[str, Any] | None, example: str) -> list[tuple[str, Any]]:
    if given is None:
        return []
    if not isinstance(given, Mapping):
        raise TypeError(f"{name}: expected a mapping of groups, such as {example}")
    return list(given.items())


class Watch:
    """The records of a single run, in addition to its outcome and its course over time; by default none."""

    __slots__ = ("files", "series", "trace")

    def __init__(
        self,
        series: str | None = None,
        *,
        trace: bool = False,
        pcap: str | os.PathLike[str] | None = None,
        flent: str | os.PathLike[str] | None = None,
        mahimahi: str | os.PathLike[str] | None = None,
    ) -> None:
        """Takes the parameters of :meth:`fairlane.Scenario.run`.

        Raises:
            TypeError: A path is of another type.
        """
        self.series = series
        self.trace = trace
        files = {"pcap": pcap, "flent": flent, "mahimahi": mahimahi}
        self.files = {name: None if path is None else _path(name, path) for name, path in files.items()}

    def __bool__(self) -> bool:
        return self.trace or any(asked is not None for asked in (self.series, *self.files.values()))


def _path(name: str, path: str | os.PathLike[str]) -> str:
    """The path as text.

    Raises:
        TypeError: It is none.
    """
    try:
        return os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{name}: expected the path of a file, not a {type(path).__name__}") from None


def run(document: _core.Document, how: How) -> tuple[list[_core.Outcome], bool]:
    """The document's outcome, and whether it was interrupted."""
    with shown(how.progress, how.runs) as tell:
        return _core.run(document, how.options(recorded=True, tell=tell))


def check_at(document: _core.Document, at: str | None) -> None:
    """Checks that outcomes have a queue of this name.

    Raises:
        ArgumentError: They have not.
    """
    if at is not None and at not in (names := document.reported()):
        raise ArgumentError(f"at: outcomes have no queue {at!r}; name one of them: {', '.join(names)}")


def shown_at(done: list[_core.Outcome], at: str | None) -> list[_core.Outcome]:
    """The outcomes with this queue in their summaries."""
    return done if at is None else [outcome.shown_at(at) for outcome in done]


def swept(document: _core.Document, plan: Plan, how: How, at: str | None, brought: Brought) -> Outcomes:
    """A sweep, all in memory. A point whose part written in Python fails costs this point alone."""
    failures: list[Failure] = []
    ordered, interrupted = at_points(document, plan.points, plan.disciplines, plan.own, brought, how, failures)
    if interrupted:
        # A partial outcome is left out, since it would look like a complete one.
        ordered = [outcome for outcome in ordered if not outcome.partial]
    outcomes = all_of(document, shown_at(ordered, at), "sweep", interrupted=interrupted, failures=failures)
    warn(failures, len(plan.points))
    return outcomes


def warn(failures: Sequence[Failure], points: int) -> None:
    """Warns of the points of a sweep that failed."""
    if failures:
        import warnings

        first = failures[0]
        place = ", ".join(f"{key} = {value}" for key, value in first.point.items())
        text = f"{len(failures)} of {points} points failed, the first ({place}) with {first.kind}: {first.error}"
        warnings.warn(f"{text}; `failures` has them", RuntimeWarning, stacklevel=4)


def at_points(  # noqa: PLR0913, PLR0917 - they are one thing each
    document: _core.Document,
    points: list[Point],
    disciplines: list[tuple[str, str, dict[str, Any]]],
    own: Mapping[tuple[str, str], Callable[..., Any]],
    brought: Brought,
    how: How,
    failures: list[Failure] | None = None,
) -> tuple[list[_core.Outcome], bool]:
    """The outcomes at points: first of those without anything written in Python together, then of the others in turn.

    ``own`` has disciplines and congestion controls written in Python by the key and the text that stands for one;
    ``brought`` has the parts that all points share. A point that fails is added to ``failures``, if that is given.
    """
    ours = [point for point in points if not brought and all(pair not in own for pair in point)]
    done: list[_core.Outcome] = []
    interrupted = False
    if ours or not points:
        with shown(how.progress, how.runs * len(ours)) as tell:
            options = how.options(recorded=False, tell=tell)
            done, interrupted = _core.sweep(document, ours, disciplines, options)
    rest = iter(done)
    ordered: list[_core.Outcome] = []
    for number, point in enumerate(points):
        key, made = next(((pair[0], own[pair]) for pair in point if pair in own), ("", None))
        if made is None and not brought:
            ordered += [outcome for outcome in [next(rest, None)] if outcome is not None]
        elif not interrupted:
            here = document.at([pair for pair in point if pair not in own], disciplines)
            group = key.removeprefix("flows.").removesuffix(".cc")
            try:
                if made is not None and key == f"flows.{group}.cc":
                    outcomes, interrupted = _own(here, None, how, None, brought.with_congestion(group, made))
                else:
                    outcomes, interrupted = _own(here, made, how, None, brought, key or None)
            except Exception as error:
                # A point that is not valid is a mistake of the sweep.
                if failures is None or isinstance(error, ScenarioError):
                    raise
                failures.append(_failure(number, point, error))
                continue
            ordered += [outcome.named(None, point) for outcome in outcomes]
    return ordered, interrupted


def _failure(number: int, point: Point, error: Exception) -> Failure:
    from fairlane._sweep import Failure

    return Failure(number, dict(point), type(error).__name__, str(error))


def _choice(queue: str | QueueConfig) -> str | tuple[str, dict[str, Any]]:
    return queue._as_given() if isinstance(queue, QueueConfig) else queue  # noqa: SLF001 - it is made for this


def with_queue(document: _core.Document, queue: str | QueueConfig) -> _core.Document:
    """The document with another discipline at the queues that a comparison changes."""
    value = queue.to_dict() if isinstance(queue, QueueConfig) else queue
    key = "" if isinstance(queue, QueueConfig) else ".kind"
    return document.with_values([(place + key, value) for place in document.queues()])


def labelled(
    done: tuple[list[_core.Outcome], bool], queues: list[SomeDiscipline], labels: list[str] | None
) -> tuple[list[_core.Outcome], bool]:
    """The outcomes of a comparison under their labels, with the parameters in which the disciplines differ."""
    if not labels:
        return done
    outcomes, interrupted = done
    named = zip(outcomes, labels, parameters(queues), strict=False)
    return [outcome.named(label, point) for outcome, label, point in named], interrupted


def compared(
    document: _core.Document, queues: list[SomeDiscipline], how: How, brought: Brought
) -> tuple[list[_core.Outcome], bool]:
    """The outcomes with each discipline, in order: first the library's together, then those of Python in turn.

    With parts of flows written in Python all take turns.
    """
    if brought:
        return _in_turn(document, queues, how, brought)
    ours = [queue for queue in queues if isinstance(queue, (str, QueueConfig))]
    own = [queue for queue in queues if not isinstance(queue, (str, QueueConfig))]
    for given in own:
        _callable(instance(given))
    done: list[_core.Outcome] = []
    interrupted = False
    if ours:
        with shown(how.progress, how.runs * len(ours)) as tell:
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
            made, interrupted = _own(document, _callable(queue), how, Watch(), Brought())
            ordered += made
    return ordered, interrupted


def _in_turn(
    document: _core.Document, queues: list[SomeDiscipline], how: How, brought: Brought
) -> tuple[list[_core.Outcome], bool]:
    done: list[_core.Outcome] = []
    for queue in queues:
        made, interrupted = with_brought(document, queue, brought, how, Watch())
        done += made
        if interrupted:
            return done, True
    return done, False


def watched(
    document: _core.Document, queue: SomeDiscipline | None, watch: Watch, progress: Progress
) -> tuple[list[_core.Outcome], bool]:
    """One run with its records."""
    if queue is not None and not isinstance(instance(queue), (str, QueueConfig)):
        return _own(document, _callable(queue), How(1, None, progress), watch, Brought())
    if isinstance(queue, (str, QueueConfig)):
        document = with_queue(document, queue)
    with shown(progress, 1) as tell:
        return _core.watch(document, watch.series, watch.trace, watch.files, tell)


def _callable(queue: object) -> OwnDiscipline:
    """A discipline written in Python.

    Raises:
        TypeError: It is none.
    """
    if not callable(queue):
        what = type(queue).__name__
        raise TypeError(f"a discipline is a name, one such as fairlane.Choke(), or a class, not a {what}")
    return queue


def with_brought(
    document: _core.Document, queue: SomeDiscipline | None, brought: Brought, how: How, watch: Watch
) -> tuple[list[_core.Outcome], bool]:
    """The outcome with congestion controls and endpoints written in Python, and with any discipline."""
    if queue is None or isinstance(instance(queue), (str, QueueConfig)):
        document = document if queue is None else with_queue(document, instance(queue))
        return _own(document, None, how, watch, brought)
    return _own(document, _callable(queue), how, watch, brought)


def _own(  # noqa: PLR0913, PLR0917 - they are one thing each
    document: _core.Document,
    queue: OwnDiscipline | None,
    how: How,
    watch: Watch | None,
    brought: Brought,
    at: str | None = None,
) -> tuple[list[_core.Outcome], bool]:
    """The outcome with parts written in Python: ``queue`` is at the key ``at``, or at all queues that are compared.

    ``watch`` has the records of the first run; without it, its course over time is not recorded either.
    """
    from fairlane._signals import CtrlC

    with shown(how.progress, how.runs) as tell, CtrlC() as heard:
        records: dict[str, object] = {"files": None, "series": None, "trace": False}
        if watch is not None:
            records = {"files": watch.files, "series": watch.series, "trace": watch.trace}
        options = {"runs": how.runs, "queue": at, "makers": brought.makers()}
        maker = None if queue is None else factory(queue)
        return _core.run_custom(document, maker, heard, {**options, **records, "progress": tell})


def factory(queue: OwnDiscipline) -> Callable[[str, int, int], object]:
    """The callback by which the compiled part makes a discipline for a link."""
    from fairlane.discipline import Host

    return lambda link, rate_bps, seed: queue(Host(link, rate_bps, seed))


def only(document: _core.Document, done: tuple[list[_core.Outcome], bool]) -> Outcome:
    """The outcome of a run, which is one.

    Raises:
        Interrupted: It was interrupted.
    """
    outcomes, interrupted = done
    return all_of(document, outcomes, "run", interrupted=interrupted)[0]


def all_of(
    document: _core.Document,
    done: list[_core.Outcome],
    of: str,
    *,
    interrupted: bool,
    failures: Sequence[Failure] = (),
) -> Outcomes:
    """The outcomes of a run, a comparison or a sweep, as ``of`` says.

    Raises:
        Interrupted: They were interrupted.
    """
    text = document.to_toml()
    outcomes = Outcomes([Outcome(outcome, text) for outcome in done], of=of, scenario=text, failures=failures)
    if interrupted and not outcomes:
        raise Interrupted("interrupted before anything was measured", outcomes)
    if interrupted:
        whole = sum(not outcome.partial for outcome in outcomes)
        parts = len(outcomes) - whole
        there = f"{whole} outcomes are complete" + (f", {parts} in part" if parts else "")
        raise Interrupted(f"interrupted: {there}; they are in the outcomes of this exception", outcomes)
    return outcomes
