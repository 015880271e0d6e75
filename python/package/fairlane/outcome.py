"""Outcomes: the results of runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from fairlane import _core
from fairlane.errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path
    from typing import Any, overload

    import xarray as xr

    from fairlane._sweep import Failure
    from fairlane.plot import Plots
    from fairlane.table import Series, Table

__all__ = ["Outcome", "Outcomes"]

_SHOWN = 20
_WIDTH = 100


class Outcome:
    """The results of one scenario, in one or more runs.

    With several runs each number is the mean over them, and ``x_ci95`` next to ``x`` is half the width of its 95 %
    interval.
    Outcomes are compared by value, without their cost.
    """

    __slots__ = ("__dict__", "_core", "_scenario")

    def __init__(self, core: _core.Outcome, scenario: str = "") -> None:
        self._core = core
        self._scenario = scenario

    @functools.cached_property
    def _tree(self) -> dict[str, Any]:
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON form of ``fairlane run --json``, bit by bit; ``docs/outcome.md`` describes every key."""
        import json

        tree: dict[str, Any] = json.loads(self.to_json())
        return tree

    def to_json(self) -> str:
        """The JSON form as text."""
        return self._core.to_json()

    @property
    def scenario(self) -> str:
        """The scenario's name."""
        return str(self._tree["scenario"])

    @property
    def seed(self) -> int:
        """The scenario's seed."""
        return int(self._tree["seed"])

    @property
    def runs(self) -> int:
        """The number of runs that the numbers are averaged over."""
        return int(self._tree["runs"])

    @property
    def partial(self) -> bool:
        """True if runs are missing or too short, because the work was interrupted."""
        return self._core.partial

    @property
    def label(self) -> str:
        """The label that it was given in a comparison, or the disciplines of the queues that are shown."""
        given = self._tree.get("label")
        return str(given) if given is not None else ", ".join(dict.fromkeys(queue["kind"] for queue in self._shown))

    @property
    def _shown(self) -> list[dict[str, Any]]:
        """The queue that was asked for, or the one called ``bottleneck``, or all."""
        queues: list[dict[str, Any]] = self._tree["queues"]
        at = self._tree.get("at")
        named = [queue for queue in queues if queue["name"] == (at or "bottleneck")]
        return named if named or at else queues

    @property
    def point(self) -> dict[str, bool | int | float | str]:
        """The keys that a sweep varied, with the values of this outcome.

        In a comparison with labels, the parameters in which the disciplines differ, such as ``queue.limit``; empty for
        others.
        """
        return dict(self._tree.get("point", {}))

    @property
    def notes(self) -> list[str]:
        """Sentences about groups that something else than the queues limits, such as the links of their hosts."""
        return list(self._tree.get("notes", []))

    def group(self, name: str) -> dict[str, Any]:
        """The numbers of the group of flows ``name``, such as ``ftp``.

        Raises:
            KeyError: There is no such group.
        """
        return self._named("groups", name)

    def queue(self, name: str = "bottleneck") -> dict[str, Any]:
        """The numbers of the queue ``name``.

        Raises:
            KeyError: There is no such queue.
        """
        return self._named("queues", name)

    def flow(self, name: str) -> dict[str, Any]:
        """The numbers of the flow ``name``, such as ``ftp/0``.

        Raises:
            KeyError: There is no such flow.
        """
        return self._named("flows", name)

    def _named(self, of: str, name: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self._tree[of]
        for row in rows:
            if row["name"] == name:
                return dict(row)
        raise KeyError(f"there is no {name!r} among the {of}: {', '.join(str(row['name']) for row in rows[:_SHOWN])}")

    def _table(self, name: str) -> Table:
        return _table(name, [self])

    @property
    def flows(self) -> Table:
        """A row for each flow."""
        return self._table("flows")

    @property
    def queues(self) -> Table:
        """A row for each queue."""
        return self._table("queues")

    @property
    def groups(self) -> Table:
        """A row for each group of flows at each queue that is shown, with columns about the queue."""
        return self._table("groups")

    @property
    def queue_flows(self) -> Table:
        """A row for each flow at each queue."""
        return self._table("queue_flows")

    @property
    def delay_histogram(self) -> Table:
        """A row for each time that packets spent in a queue, over all runs."""
        return self._table("delay_histogram")

    @property
    def each_run(self) -> Table:
        """A row for each group in each run at each queue that is shown: the values that :attr:`groups` averages."""
        return self._table("each_run")

    @property
    def series(self) -> Series:
        """Counts of flows and queues in each interval.

        Raises:
            ArgumentError: It was not recorded: use ``run(series="100ms")``.
        """
        from fairlane.table import Series, Table

        flows, queues = self._core.series(of_queues=False), self._core.series(of_queues=True)
        if flows is None or queues is None:
            raise ArgumentError('no series was asked for: run(series="100ms") keeps one')
        return Series(Table(flows), Table(queues))

    @property
    def trace(self) -> Table:
        """Every event of every packet at every queue.

        Raises:
            ArgumentError: It was not recorded: use ``run(trace=True)``.
        """
        from fairlane.table import Table

        trace = self._core.trace
        if trace is None:
            raise ArgumentError("no trace was asked for: run(trace=True) keeps one")
        return Table(trace)

    @property
    def plot(self) -> Plots:
        """Its figures, by Matplotlib or Altair: ``outcome.plot.shares()``."""
        from fairlane.plot import Plots

        return Plots([self])

    if TYPE_CHECKING:

        @overload
        def html(self, path: None = None) -> str: ...
        @overload
        def html(self, path: str | os.PathLike[str]) -> Path: ...

    def html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Returns a self-contained page of all results as text; with a path, writes it there and returns the path.

        Args:
            path: The file of the page; text is returned when it is not given.

        Raises:
            OSError: It cannot be written.
        """
        return _page("run", [self], self._scenario, path)

    def __str__(self) -> str:
        return self._core.report(_WIDTH)

    def __repr__(self) -> str:
        partial = ", partial" if self.partial else ""
        point = "".join(f", {key}={value!r}" for key, value in self.point.items())
        return f"<Outcome of {self.scenario!r}, seed {self.seed}, {self.runs} runs{point}{partial}>"

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(self.scenario)}</p>{_shares([self])}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._core.parts(), self._scenario)


def _again(parts: Any, scenario: str) -> Outcome:  # noqa: ANN401 - what pickle kept
    return Outcome(_core.Outcome.from_parts(parts), scenario)


class Outcomes(Sequence[Outcome]):
    """Several outcomes in the order asked: of a comparison or of a sweep.

    ``outcomes[0]`` is the first one, ``outcomes["choke"]`` the one with this label. The tables have the rows of all of
    them; the keys that a sweep varied are columns, and labels are the column ``label``. A key whose values have a unit
    has two columns: ``flows.cbr.rate`` as text and ``flows.cbr.rate_bps`` as a number, with the endings ``_bps``
    (bit/s), ``_s`` (seconds), ``_packets`` and ``_bytes``.

    Attributes:
        failures: The points of a sweep on an executor that failed, each a :class:`fairlane.Failure`.
    """

    __slots__ = ("_of", "_outcomes", "_scenario", "failures")

    def __init__(
        self, outcomes: Iterable[Outcome], *, of: str = "compare", scenario: str = "", failures: Iterable[Failure] = ()
    ) -> None:
        self._outcomes = list(outcomes)
        self.failures = tuple(failures)
        self._of = of
        self._scenario = scenario

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int | str) -> Outcome: ...
        @overload
        def __getitem__(self, index: slice) -> Outcomes: ...

    def __getitem__(self, index: int | str | slice) -> Outcome | Outcomes:
        """The outcome with this number or label, or those of a slice.

        Raises:
            IndexError: There are fewer.
            KeyError: No outcome has this label, or several have.
        """
        if isinstance(index, slice):
            return self._part(self._outcomes[index])
        if not isinstance(index, str):
            return self._outcomes[index]
        found = [outcome for outcome in self._outcomes if outcome.label == index]
        if len(found) == 1:
            return found[0]
        if found:
            raise KeyError(f"{len(found)} outcomes are called {index!r}: use filter, or a number")
        labels = dict.fromkeys(outcome.label for outcome in self._outcomes[:_SHOWN])
        raise KeyError(f"there is no outcome {index!r} among {', '.join(labels)}")

    def __len__(self) -> int:
        return len(self._outcomes)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcomes) and self._outcomes == other._outcomes

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, ``{"outcomes": [...]}``."""
        return {"outcomes": [outcome.to_dict() for outcome in self]}

    def to_json(self) -> str:
        """The JSON form as text."""
        import json

        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def _table(self, name: str) -> Table:
        return _table(name, self)

    @property
    def flows(self) -> Table:
        """A row for each flow of each outcome."""
        return self._table("flows")

    @property
    def queues(self) -> Table:
        """A row for each queue of each outcome."""
        return self._table("queues")

    @property
    def groups(self) -> Table:
        """A row for each group of each outcome at each queue that is shown, with columns about the queue."""
        return self._table("groups")

    @property
    def queue_flows(self) -> Table:
        """A row for each flow at each queue of each outcome."""
        return self._table("queue_flows")

    @property
    def delay_histogram(self) -> Table:
        """A row for each time that packets spent in a queue of each outcome."""
        return self._table("delay_histogram")

    @property
    def each_run(self) -> Table:
        """A row for each group of each outcome in each run at each queue shown: what :attr:`groups` averages."""
        return self._table("each_run")

    def filter(self, wanted: Mapping[str, object] | Callable[[Outcome], object]) -> Outcomes:
        """Returns the outcomes that a function accepts, or whose point has these values.

        Args:
            wanted: A function of an outcome, or keys of :attr:`Outcome.point` with a value or a list of values each;
                the key ``label`` stands for :attr:`Outcome.label`. A number is compared in bit/s, s, packets or bytes,
                so that ``1e6`` is ``1mbit``.

        Raises:
            KeyError: No outcome has a key.
        """
        from fairlane._selection import accepts

        test = wanted if callable(wanted) else accepts(wanted, self._outcomes)
        return self._part([outcome for outcome in self._outcomes if test(outcome)])

    def __add__(self, other: Outcomes) -> Outcomes:
        """The outcomes of both, in order, with their failures."""
        if not isinstance(other, Outcomes):
            return NotImplemented
        scenario = self._scenario if self._scenario == other._scenario else ""
        both, failures = self._outcomes + other._outcomes, self.failures + other.failures
        return Outcomes(both, of=self._of, scenario=scenario, failures=failures)

    def _part(self, outcomes: list[Outcome]) -> Outcomes:
        return Outcomes(outcomes, of=self._of, scenario=self._scenario)

    def to_xarray(self) -> xr.Dataset:
        """The numbers of :attr:`groups` for xarray, with a dimension for each key that was varied, and for the groups.

        The coordinates of a key with a unit are in bit/s, s, packets or bytes, as the attribute ``units`` says. Without
        a sweep the dimension ``label`` tells the outcomes apart; with several queues there is a dimension ``queue``.

        Raises:
            ImportError: xarray is not installed.
            ArgumentError: Two outcomes have the same point.
        """
        from fairlane._selection import dataset

        return dataset(self)

    @property
    def plot(self) -> Plots:
        """Their figures, by Matplotlib or Altair: ``outcomes.plot.shares()``, ``outcomes.plot.sweep("share")``."""
        from fairlane.plot import Plots

        return Plots(self._outcomes)

    if TYPE_CHECKING:

        @overload
        def html(self, path: None = None) -> str: ...
        @overload
        def html(self, path: str | os.PathLike[str]) -> Path: ...

    def html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Returns a page of all outcomes side by side, as :meth:`Outcome.html` does.

        Args:
            path: The file of the page; text is returned when it is not given.

        Raises:
            OSError: It cannot be written.
        """
        return _page(self._of, list(self), self._scenario, path)

    def __str__(self) -> str:
        return _core.report(self._of, [outcome._core for outcome in self], _WIDTH)  # noqa: SLF001 - of the same module

    def __repr__(self) -> str:
        return f"<Outcomes of a {self._of}: {len(self)}>"

    def _repr_html_(self) -> str:
        more = f"<p>and {len(self) - _SHOWN} outcomes more</p>" if len(self) > _SHOWN else ""
        return _shares(self._outcomes[:_SHOWN]) + more


def _table(name: str, outcomes: Iterable[Outcome]) -> Table:
    from fairlane.table import Table

    table = _core.table(name, [outcome._core for outcome in outcomes])  # noqa: SLF001 - of the same module
    return Table(table.filled())


def _page(of: str, outcomes: list[Outcome], scenario: str, path: str | os.PathLike[str] | None) -> str | Path:
    from fairlane._files import text_or_file

    text = _core.page(of, [outcome._core for outcome in outcomes], "from Python", scenario, None)  # noqa: SLF001
    return text_or_file(text, path)


def _shares(outcomes: Sequence[Outcome]) -> str:
    """The groups of each outcome, in a small table."""
    from fairlane._html import table

    rows = []
    for outcome in outcomes:
        tree = outcome._tree  # noqa: SLF001 - of the same module
        labelled = tree.get("label") is not None
        point = "" if labelled else ", ".join(f"{key}={value}" for key, value in outcome.point.items())
        for group in tree["groups"]:
            numbers = [f"{group['throughput_bps'] / 1e6:.4g}", f"{100 * group['share']:.3g} %"]
            rows.append((point or outcome.label, group["name"], *numbers, f"{100 * group['drop_ratio']:.3g} %"))
    return table(["queue", "flows", "Mbit/s", "share", "dropped"], rows)
