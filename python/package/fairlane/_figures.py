"""Content of figures as plain data, which Matplotlib and Altair draw alike."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from fairlane.errors import ArgumentError
from fairlane.units import quantity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlane.outcome import Outcome

__all__ = ["COLOURS", "Bars", "Lines", "Names", "Trace", "delays", "flows", "series", "shares", "swept"]

COLOURS = ("#0072b2", "#c27c00", "#008060", "#c44601", "#a8548c", "#2d8bc4")
"""The colours of the pages; neighbours differ in lightness too."""

_GROUP = "group"
"""The name of the groups of flows where keys are named."""

_LOGARITHMIC = 10.0
"""From this ratio of largest to smallest on, steps at equal factors are drawn on a logarithmic axis."""


class Trace(NamedTuple):
    """A line: its name, its points, half the width of their intervals if there are any, and its colour and style.

    Without their numbers each line has its own of both.
    """

    name: str
    x: list[float]
    y: list[float]
    ci95: list[float] | None
    colour: int | None = None
    style: int | None = None


class Names(NamedTuple):
    """The names of a key's values in a legend: the number of each is that of a colour, or of a style."""

    title: str
    values: list[str]
    coloured: bool


class Lines(NamedTuple):
    """Lines over a common axis.

    Attributes:
        x: The label of the horizontal axis.
        y: That of the vertical one.
        lines: The lines.
        steps: True if a value holds until the next.
        logarithmic: True for a horizontal axis of equal factors.
        ticks: Names of the places of the horizontal axis, 0 and on.
        title: The figure's title.
        legend: The keys that colours and styles stand for; without them the legend has each line.
        most: The greatest possible value, at which intervals end; the least is 0.
        colours: Number of colours.
    """

    x: str
    y: str
    lines: list[Trace]
    steps: bool = False
    logarithmic: bool = False
    ticks: list[str] | None = None
    title: str = ""
    legend: tuple[Names, ...] = ()
    most: float = math.inf

    @property
    def colours(self) -> int:
        """The number of colours that the lines have."""
        return max((line.colour for line in self.lines if line.colour is not None), default=len(self.lines) - 1) + 1

    def ends(self, line: Trace) -> tuple[list[float], list[float]]:
        """The ends of a line's intervals: within the range of the quantity."""
        pairs = list(zip(line.y, line.ci95 or [0.0] * len(line.y), strict=True))
        low = [max(y - half, min(y, 0.0)) for y, half in pairs]
        return low, [min(y + half, max(y, self.most)) for y, half in pairs]


class Bars(NamedTuple):
    """Bars made of parts: for each bar its label, and of each part the name, the value and half of its interval."""

    x: str
    bars: list[tuple[str, list[tuple[str, float, float | None]]]]


def labels(outcomes: Sequence[Outcome]) -> list[str]:
    """Labels of the outcomes: those that they were given, the values that a sweep varied, or the discipline."""
    points = [
        ", ".join(f"{key.split('.')[-1]}={value}" for key, value in outcome.point.items()) for outcome in outcomes
    ]
    given = [outcome._tree.get("label") is not None for outcome in outcomes]  # noqa: SLF001 - it is read once
    each = zip(outcomes, points, given, strict=True)
    made = [outcome.label if named or not point else point for outcome, point, named in each]
    return [label if made.count(label) == 1 else f"{label} ({at + 1})" for at, label in enumerate(made)]


def shares(outcomes: Sequence[Outcome]) -> Bars:
    """The groups' shares of the throughput, and those of their max-min fair rates if these are known."""
    bars = [
        (
            label,
            [(group["name"], 100 * group["share"], _hundredfold(group, "share")) for group in _rows(outcome, "groups")],
        )
        for label, outcome in zip(labels(outcomes), outcomes, strict=True)
    ]
    groups = _rows(outcomes[0], "groups")
    if groups and all("fair_share" in group for group in groups):
        bars.insert(0, ("max-min fair", [(group["name"], 100 * group["fair_share"], None) for group in groups]))
    return Bars("share of the throughput (%)", bars)


def flows(outcome: Outcome) -> Lines:
    """Each flow's throughput, the slowest first, with a line of points for each group."""
    rows = sorted(_rows(outcome, "flows"), key=lambda row: float(row["throughput_bps"]))
    lines = []
    for group in _rows(outcome, "groups"):
        mine = [(rank, row) for rank, row in enumerate(rows, 1) if row["group"] == group["name"]]
        lines.append(
            Trace(
                group["name"],
                [float(rank) for rank, _ in mine],
                [row["throughput_bps"] / 1e6 for _, row in mine],
                _intervals([row for _, row in mine], "throughput_bps", 1e-6),
            )
        )
    return Lines("flow, the slowest first", "throughput (Mb/s)", lines)


def delays(outcomes: Sequence[Outcome]) -> Lines:
    """The cumulative distribution of the time in each queue that is shown, over all runs."""
    lines = []
    for label, outcome in zip(labels(outcomes), outcomes, strict=True):
        table = outcome.delay_histogram
        columns = (table["queue"], table["from_ns"], table["to_ns"], table["packets"])
        names = [str(queue["name"]) for queue in _shown(outcome)]
        for name in names:
            bins = [rest for queue, *rest in zip(*columns, strict=True) if queue == name]
            below = list(accumulate((packets for _, _, packets in bins), initial=0))
            x = [begin / 1e6 for begin, _, _ in bins[:1]] + [upto / 1e6 for _, upto, _ in bins]
            of = label if len(names) == 1 else f"{label}: {name}"
            lines.append(Trace(of, x, [100 * part / below[-1] for part in below] if bins else [], None))
    return Lines("time in the queue (ms)", "packets that waited no longer (%)", lines, steps=True)


def series(outcome: Outcome) -> tuple[Lines, Lines]:
    """Each group's throughput and each queue's length over time, with the discipline's own average."""
    kept = outcome.series
    groups = {row["name"]: row["group"] for row in _rows(outcome, "flows")}
    of_flows = kept.flows.to_dict()
    delivered: dict[str, dict[float, float]] = {row["name"]: {} for row in _rows(outcome, "groups")}
    for moment, flow, rate in zip(of_flows["time_s"], of_flows["flow_name"], of_flows["throughput_bps"], strict=True):
        moments = delivered[groups[flow]]
        moments[moment] = moments.get(moment, 0.0) + rate / 1e6
    throughput = [Trace(group, list(moments), list(moments.values()), None) for group, moments in delivered.items()]
    of_queues = kept.queues.to_dict()
    length: dict[str, list[tuple[float, float]]] = {}
    columns = (of_queues["time_s"], of_queues["queue"], of_queues["backlog_packets"], of_queues["avg"])
    for moment, queue, packets, average in zip(*columns, strict=True):
        length.setdefault(queue, []).append((moment, float(packets)))
        if average is not None:
            length.setdefault(f"{queue}, average", []).append((moment, average))
    queues = [Trace(name, [x for x, _ in points], [y for _, y in points], None) for name, points in length.items()]
    return Lines("time (s)", "throughput (Mb/s)", throughput), Lines("time (s)", "queue (packets)", queues)


def swept(
    outcomes: Sequence[Outcome], y: str, x: str | None, hue: str | None = None, facet: str | None = None
) -> list[Lines]:
    """A column of the table of groups against a key: a figure for each value of ``facet``, or one.

    Each has a line for each group and combination of the other keys: in the colour of its value of ``hue``, or of the
    key that has the most values, and in the style of the others.
    """
    keys = list(dict.fromkeys(key for outcome in outcomes for key in outcome.point))
    if not keys:
        raise ArgumentError("only outcomes of a sweep stand against a key")
    x = _axis(outcomes, keys, x, {hue, facet})
    of_queue = y.startswith("queue_") and y != "queue_share"
    for name, key in (("hue", hue), ("facet", facet)):
        if key is not None and (key == x or key not in [*keys, *([] if of_queue else [_GROUP])]):
            others = [_GROUP] * (not of_queue) + [other for other in keys if other != x]
            raise ArgumentError(f"{name}: {key} cannot be shown so: there are {', '.join(others) or 'no others'}")
    if hue is not None and hue == facet:
        raise ArgumentError(f"facet: {facet} is already shown by hue")
    places = list(dict.fromkeys(str(outcome.point.get(x)) for outcome in outcomes))
    numbers, unit = _scale([outcome.point.get(x) for outcome in outcomes])
    if numbers is None:
        numbers = [float(places.index(str(outcome.point.get(x)))) for outcome in outcomes]
        ticks: list[str] | None = places
    else:
        ticks = None
    logarithmic, (name, factor, most) = _equal_factors(numbers), _named(y)
    figures: dict[str, dict[Values, list[Cell]]] = {}
    for outcome, number in zip(outcomes, numbers, strict=True):
        for values, value, interval in _cells(outcome, y, of_queue=of_queue):
            title = "" if facet is None else f"{facet.split('.')[-1]}={values.pop(facet, None)}"
            values.pop(x, None)
            point = tuple((key, str(value)) for key, value in values.items())
            cell = number, factor * value, None if interval is None else factor * interval
            figures.setdefault(title, {}).setdefault(point, []).append(cell)
    keyed = _Keyed.of([point for figure in figures.values() for point in figure], hue, y)
    axis = f"{x} ({unit})" if unit else x
    return [
        Lines(
            axis,
            name,
            keyed.traces(figure),
            logarithmic=logarithmic,
            ticks=ticks,
            title=title,
            legend=keyed.legend,
            most=most,
        )
        for title, figure in figures.items()
    ]


Values: TypeAlias = "tuple[tuple[str, str], ...]"
"""The keys of a line with their values."""

Cell: TypeAlias = "tuple[float, float, float | None]"
"""A place, the value there, and half of its interval."""


class _Keyed(NamedTuple):
    """Lines with a colour for each value of one key, and a style for each combination of the others' values."""

    coloured: str | None
    colours: list[str]
    styled: list[str]
    styles: list[str]
    alone: str

    @staticmethod
    def of(points: list[Values], hue: str | None, y: str) -> _Keyed:
        """The keys of lines with these values: a colour for those of ``hue``, or of the key that has the most."""
        values: dict[str, dict[str, None]] = {}
        for point in points:
            for key, value in point:
                values.setdefault(key, {})[value] = None
        several = [key for key in values if len(values[key]) > 1 or key == hue]
        coloured = hue if hue in several else max(several, key=lambda key: len(values[key]), default=None)
        styled = [key for key in several if key != coloured]
        kept = dict.fromkeys(_joined(point, styled) for point in points)
        colours = [] if coloured is None else list(values[coloured])
        alone = "queue" if y.startswith("queue_") else "all"
        return _Keyed(coloured, colours, styled, list(kept), alone)

    @property
    def legend(self) -> tuple[Names, ...]:
        """The legend of colours and styles."""
        made = []
        if self.coloured is not None:
            made.append(Names(_short(self.coloured), self.colours, coloured=True))
        if self.styled:
            made.append(Names(", ".join(map(_short, self.styled)), self.styles, coloured=False))
        return tuple(made)

    def traces(self, lines: dict[Values, list[Cell]]) -> list[Trace]:
        """The lines of a figure."""
        made = []
        for point, cells in lines.items():
            cells.sort(key=lambda cell: cell[0])
            whole = [interval for _, _, interval in cells if interval is not None]
            ci95 = whole if len(whole) == len(cells) else None
            of = dict(point)
            colour = 0 if self.coloured is None else self.colours.index(of[self.coloured])
            # Without other keys the style says what the colour says, for readers who do not see it.
            style = self.styles.index(_joined(point, self.styled)) if self.styled else colour
            named = [of[key] if key == _GROUP else f"{_short(key)}={of[key]}" for key in self._named(of)]
            name = ", ".join(named) or self.alone
            made.append(Trace(name, [x for x, _, _ in cells], [y for _, y, _ in cells], ci95, colour, style))
        return made

    def _named(self, of: dict[str, str]) -> list[str]:
        """The keys that tell a line from others, in their order; of a single line all."""
        told = {self.coloured, *self.styled} - {None}
        return [key for key in of if key in told] if told else list(of)


def _joined(point: Values, keys: list[str]) -> str:
    return ", ".join(value for key, value in point if key in keys)


def _short(key: str) -> str:
    return key.rpartition(".")[2]


def _axis(outcomes: Sequence[Outcome], keys: list[str], x: str | None, shown: set[str | None]) -> str:
    """The key of the axis: the one that was asked for, or the one with the most numbers."""
    if x is not None:
        if x not in keys:
            raise ArgumentError(f"{x} was not varied: there are {', '.join(keys)}")
        return x
    free = [key for key in keys if key not in shown] or keys
    values = {key: [outcome.point.get(key) for outcome in outcomes] for key in free}
    numeric = [key for key in free if _scale(values[key])[0]]
    return max(numeric, key=lambda key: len(set(values[key]))) if numeric else free[0]


def _cells(outcome: Outcome, y: str, *, of_queue: bool) -> list[tuple[dict[str, object], float, float | None]]:
    """The values of a column in the outcome's table of groups, each with its point and its interval."""
    table = outcome.groups
    if y not in table.columns:
        raise ArgumentError(f"there is no column {y!r} in the table of groups: it has {', '.join(table.columns)}")
    intervals = table[f"{y}_ci95"] if f"{y}_ci95" in table.columns else [None] * len(table)
    rows = list(zip(table["group"], table[y], intervals, strict=True))
    cells = []
    for group, value, interval in rows[:1] if of_queue else rows:
        if value is None:
            continue
        if not isinstance(value, (int, float)):
            raise ArgumentError(f"{y} is no number in the row of {group}: {value!r}")
        point: dict[str, object] = {**({} if of_queue else {_GROUP: group}), **outcome.point}
        cells.append((point, float(value), interval))
    return cells


_UNITS = {"_bps": ("Mb/s", 1e-6), "_s": ("ms", 1e3), "_packets": ("packets", 1.0), "_bytes": ("bytes", 1.0)}
"""The units of the pages, by the ending of a column, and their factors."""

_PARTS = ("share", "ratio", "utilisation", "jain")
"""Columns of parts of a whole; those of the pages are in percent, but for Jain's index."""


def _named(column: str) -> tuple[str, float, float]:
    """A column's name with the unit of the pages, the factor to it, and the greatest value that there can be."""
    for ending, (unit, factor) in _UNITS.items():
        if column.endswith(ending):
            return f"{column.removesuffix(ending).replace('_', ' ')} ({unit})", factor, math.inf
    name = column.replace("_", " ")
    if column.endswith("jain"):
        return name, 1.0, 1.0
    if column.endswith(_PARTS):
        return f"{name} (%)", 100.0, 100.0
    return name, 1.0, math.inf


_AXIS = {"bit/s": ("Mb/s", 1e6), "s": ("ms", 1e-3)}
"""The units of the pages for keys, with their sizes."""


def _scale(values: Sequence[object]) -> tuple[list[float] | None, str]:
    """The values as numbers of one unit, that of the pages; ``None`` when they are not."""
    read = [quantity(value) for value in values]
    units = {unit for _, unit in filter(None, read)}
    if None in read or len(units) != 1:
        return None, ""
    unit = units.pop()
    shown, size = _AXIS.get(unit, (unit, 1.0))
    return [number / size for number, _ in filter(None, read)], shown


def _equal_factors(numbers: Sequence[float]) -> bool:
    """True if the numbers lie at equal ratios, for a logarithmic axis."""
    each = sorted(set(numbers))
    if len(each) < 3 or each[0] <= 0 or each[-1] / each[0] < _LOGARITHMIC:  # noqa: PLR2004 - two have one step
        return False
    steps = [math.log(b / a) for a, b in pairwise(each)]
    return max(steps) < 3 * min(steps)


def _rows(outcome: Outcome, of: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = outcome._tree[of]  # noqa: SLF001 - it is read once
    return rows


def _shown(outcome: Outcome) -> list[dict[str, Any]]:
    return outcome._shown  # noqa: SLF001 - of this package


def _hundredfold(row: dict[str, Any], key: str) -> float | None:
    interval = row.get(f"{key}_ci95")
    return None if interval is None else 100 * float(interval)


def _intervals(rows: list[dict[str, Any]], key: str, factor: float) -> list[float] | None:
    intervals = [row.get(f"{key}_ci95") for row in rows]
    return None if None in intervals else [factor * float(interval) for interval in intervals if interval is not None]
