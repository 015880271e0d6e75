"""Characterizations of disciplines by the guidelines of RFC 7928."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlane import _core
from fairlane._labels import labelled
from fairlane._progress import Progress, shown
from fairlane._values import cores, count, with_unit
from fairlane.config import QueueConfig
from fairlane.errors import Interrupted
from fairlane.outcome import Outcomes
from fairlane.table import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from typing import overload

__all__ = ["Characterization", "Section", "characterize"]


@dataclass(frozen=True)
class Section:
    """A section of a characterization.

    Attributes:
        id: The name by which it is chosen, such as ``rtt``.
        section: The section of RFC 7928.
        title: A title of a few words.
        weight: Its weight in the RFC, such as ``MUST``.
        asks: The request of the RFC.
        verdict: ``characterised`` if its scenarios were run, ``discussed`` if it is a discussion, or
            ``not-applicable``. The RFC has no pass and no fail.
        scenarios: The scenario file of each of its cases, with DropTail as the queue.
        left_out: For each case the disciplines that refuse its scenario, with the reason.
        discussion: For each discipline the sentences of a discussion.
    """

    id: str
    section: str
    title: str
    weight: str
    asks: str
    verdict: str
    scenarios: dict[str, str]
    left_out: dict[str, dict[str, str]]
    discussion: dict[str, tuple[str, ...]]


class Characterization:
    """The report of one or several disciplines, with DropTail as the reference. Reports can be pickled."""

    __slots__ = ("_core", "_tree")

    def __init__(self, core: _core.Characterization) -> None:
        self._core = core
        self._tree: dict[str, Any] = json.loads(core.json())

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed, (self._core.json(),)

    def __eq__(self, other: object) -> bool:
        return self._tree == other._tree if isinstance(other, Characterization) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # equal reports are not the same object

    @property
    def subjects(self) -> tuple[str, ...]:
        """The labels of the disciplines, DropTail first unless it was given."""
        return tuple(self._tree["subjects"])

    @property
    def setup(self) -> dict[str, str]:
        """The facts about the set-up that RFC 7928 leaves to the tester, in words."""
        return dict(self._tree["setup"])

    @property
    def partial(self) -> bool:
        """True after Ctrl-C: some runs are missing."""
        return self._tree["missing_runs"] is not None

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections, in the order of the RFC."""
        return tuple(_section(tree) for tree in self._tree["sections"])

    @property
    def groups(self) -> Table:
        """A row for each group of flows under each discipline in each case.

        The columns are ``section``, ``case``, ``queue``, ``runs`` and ``group``; ``goodput_bps``; ``queueing_s``, the
        mean delay above that of the empty path; ``delay_p50_s`` and so on, the one-way delay; ``variation_p50_s`` and
        so on, the delay above the least one of the flow (RFC 5481); ``loss``, packets lost over those sent;
        ``gap_s``, the time between losses of a flow; ``completed``, ``startup_s``, ``completion_s`` and
        ``completion_p95_s`` of transfers and pages, where ``startup_s`` is the time until the first data. A mean has
        half of its 95 % interval in a second column with the suffix ``_ci95``, empty for one run.
        """
        return Table(self._core.groups())

    @property
    def queues(self) -> Table:
        """A row for the queue under study of each discipline in each case.

        The columns are ``section``, ``case``, ``queue`` and ``runs``; ``utilisation``, ``delay_s``, ``delay_p95_s``;
        ``loss`` and ``marked``, over the packets that arrived; ``synchronisation``, the share of the active flows that
        lose packets in a loss event, and ``synchronisation_p90``. Means have ``_ci95`` as in :attr:`groups`.
        """
        return Table(self._core.queues())

    def to_dict(self) -> dict[str, Any]:
        """The whole report, the JSON of ``fairlane characterize --json``."""
        return json.loads(self._core.json())  # type: ignore[no-any-return]

    if TYPE_CHECKING:

        @overload
        def html(self, path: None = None) -> str: ...
        @overload
        def html(self, path: str | os.PathLike[str]) -> Path: ...

    def html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Returns a self-contained page of the report as text; with a path, writes it there and returns the path.

        Args:
            path: The file of the page; text is returned when it is not given.

        Raises:
            OSError: It cannot be written.
        """
        from fairlane._files import text_or_file

        text = self._core.html("from Python")
        return text_or_file(text, path)

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        return f"<Characterization of {', '.join(self.subjects)}: {len(self._tree['sections'])} sections{partial}>"

    def _repr_html_(self) -> str:
        from fairlane._html import caption, table

        rows = [(section.id, section.section, section.title, section.verdict) for section in self.sections]
        return caption(repr(self)[1:-1]) + table(["id", "in RFC 7928", "title", "here"], rows)


def characterize(  # noqa: PLR0913 - all have defaults but one
    queues: str | QueueConfig | Mapping[str, str | QueueConfig] | Iterable[str | QueueConfig],
    *,
    rate: str | float = "10mbit",
    rtt: str | float = "100ms",
    buffer: str | int = "bdp",
    only: str | Iterable[str] = (),
    quick: bool = False,
    ecn: bool = False,
    runs: int | None = None,
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress = None,
) -> Characterization:
    """Characterizes disciplines by RFC 7928, and DropTail with them, as ``fairlane characterize`` does.

    It runs the scenarios of each section: TCP-friendly, aggressive, unresponsive and background senders,
    round-trip-time fairness, bursts, levels of congestion, varying capacity, a traffic mix, both directions, AQMs in
    sequence, small packets. In full this takes the better part of an hour for a few disciplines; ``quick`` takes
    minutes.

    Args:
        queues: One discipline, or several, or a mapping of labels to them. A name stands for the kind with its
            defaults. Their limit is the buffer.
        rate: The rate of the bottleneck, such as ``10mbit``, or a number in bit/s.
        rtt: The round trip without queues, such as ``100ms``, or a number in seconds.
        buffer: The buffer of the bottleneck: ``bdp`` for one bandwidth-delay product, ``2bdp`` for two, or packets,
            ``200p`` or a whole number.
        only: The ids of the sections to run, such as ``["rtt", "mild"]``; all if there are none.
        quick: One or few cases of each section, 30 s each and three runs.
        ecn: TCP uses ECN in all sections, not only in the one about it.
        runs: Runs of each case; by default ten, or three if quick.
        seed: The seed of all random numbers, 0 to 2**63 - 1.
        jobs: How many cores to use; all of them when it is not given.
        progress: True to show a bar, or a function that is called with the number of finished runs and of all.

    Raises:
        TypeError: A discipline is neither a name nor one of the library's classes.
        ScenarioError: There is no such section, or a value is not valid.
        Interrupted: Ctrl-C; its ``characterization`` has the runs that were complete.
    """
    given = _given(queues)
    asked = {
        "rate": with_unit("rate", rate, "rate"),
        "rtt": with_unit("rtt", rtt, "time"),
        "buffer": buffer if isinstance(buffer, str) else f"{count('buffer', buffer)}p",
        "only": [only] if isinstance(only, str) else list(only),
        "quick": bool(quick),
        "ecn": bool(ecn),
        "runs": None if runs is None else count("runs", runs),
        "seed": count("seed", seed, least=0, most=2**63 - 1),
        "threads": cores(jobs),
    }
    with shown(progress, 1) as tell:
        report = Characterization(_core.characterize(given, {**asked, "progress": tell}))
    if report.partial:
        missing, every = report.to_dict()["missing_runs"]
        done = f"interrupted: {every - missing} of {every} runs are done"
        raise Interrupted(f"{done}; the report of this exception has them", Outcomes([]), characterization=report)
    return report


def _given(
    queues: str | QueueConfig | Mapping[str, str | QueueConfig] | Iterable[str | QueueConfig],
) -> list[tuple[str, tuple[str, dict[str, Any]]]]:
    """The disciplines as the compiled part takes them: a label, a kind and its parameters."""
    several, labels = labelled([queues] if isinstance(queues, (str, QueueConfig)) else queues)
    made = []
    for number, queue in enumerate(several):
        if not isinstance(queue, (str, QueueConfig)):
            raise TypeError(
                f"queues: a discipline is a name or one such as fairlane.Choke(), not a {type(queue).__name__}"
            )
        kind, parameters = (queue, {}) if isinstance(queue, str) else queue._as_given()  # noqa: SLF001 - made for this
        made.append((labels[number] if labels else kind, (kind, parameters)))
    return made


def _section(tree: dict[str, Any]) -> Section:
    texts = {name: tree[name] for name in ("id", "section", "title", "weight", "asks", "verdict")}
    return Section(
        **texts,
        scenarios={case["name"]: case["scenario"] for case in tree["cases"]},
        left_out={case["name"]: dict(case["left_out"]) for case in tree["cases"]},
        discussion={label: tuple(sentences) for label, sentences in tree["discussion"]},
    )


def _parsed(text: str) -> Characterization:
    return Characterization(_core.Characterization.of(text))
