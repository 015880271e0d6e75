"""Content of figures as plain data, which Matplotlib and Altair draw alike."""

from __future__ import annotations

import math
import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlane.outcome import Outcome

__all__ = ["COLOURS", "Bars", "Lines", "Trace", "delays", "flows", "series", "shares", "swept"]

COLOURS = ("#0072b2", "#c27c00", "#008060", "#c44601", "#a8548c", "#2d8bc4")
"""The colours of the pages; neighbours differ in lightness too."""

_UNITS = {
    unit: (factor, base)
    for base, units in {
        "s": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0},
        "bit/s": {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "tbit": 1e12},
        "bytes": {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30},
        "packets": {"p": 1.0},
        "": {"": 1.0, "%": 0.01},
    }.items()
    for unit, factor in units.items()
}
"""The units of scenario files, each with its factor to the one that the axis has."""

_LOGARITHMIC = 10.0
"""From this ratio of largest to smallest on, steps at equal factors are drawn on a logarithmic axis."""


class Trace(NamedTuple):
    """A line: its name, its points, and half the width of their intervals where there are any."""

    name: str
    x: list[float]
    y: list[float]
    ci95: list[float] | None


class Lines(NamedTuple):
    """Lines over a common axis. With ``steps`` a value holds until the next; ``ticks`` names places of the axis."""

    x: str
    y: str
    lines: list[Trace]
    steps: bool = False
    logarithmic: bool = False
    ticks: list[str] | None = None


class Bars(NamedTuple):
    """Bars made of parts: for each bar its label, and of each part the name, the value and half of its interval."""

    x: str
    bars: list[tuple[str, list[tuple[str, float, float | None]]]]


def labels(outcomes: Sequence[Outcome]) -> list[str]:
    """Labels of the outcomes: the values that a sweep varied, or the discipline."""
    points = [
        ", ".join(f"{key.split('.')[-1]}={value}" for key, value in outcome.point.items()) for outcome in outcomes
    ]
    kinds = [", ".join(dict.fromkeys(str(queue["kind"]) for queue in _shown(outcome))) for outcome in outcomes]
    made = [point or kind for point, kind in zip(points, kinds, strict=True)]
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
    return Bars("share of the throughput, %", bars)


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
    return Lines("flow, the slowest first", "throughput, Mbit/s", lines)


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
    return Lines("time in the queue, ms", "packets that waited no longer, %", lines, steps=True)


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
    return Lines("time, s", "throughput, Mbit/s", throughput), Lines("time, s", "queue, packets", queues)


def swept(outcomes: Sequence[Outcome], y: str, x: str | None) -> Lines:
    """A column of the table of groups against a key, with a line for each group and combination of the other keys."""
    keys = list(outcomes[0].point) if len(outcomes) else []
    if not keys:
        raise ValueError("only outcomes of a sweep stand against a key")
    if x is None:
        x = next((key for key in keys if _scale([outcome.point[key] for outcome in outcomes])[0]), keys[0])
    if x not in keys:
        raise ValueError(f"{x} was not varied: there are {', '.join(keys)}")
    names = list(dict.fromkeys(str(outcome.point[x]) for outcome in outcomes))
    numbers, unit = _scale([outcome.point[x] for outcome in outcomes])
    if numbers is None:
        numbers = [float(names.index(str(outcome.point[x]))) for outcome in outcomes]
    made: dict[str, list[tuple[float, float, float | None]]] = {}
    of_queue = y.startswith("queue_") and y != "queue_share"
    for outcome, number in zip(outcomes, numbers, strict=True):
        others = [f"{key.split('.')[-1]}={value}" for key, value in outcome.point.items() if key != x]
        table = outcome.groups
        if y not in table.columns:
            raise ValueError(f"there is no column {y!r} in the table of groups: it has {', '.join(table.columns)}")
        intervals = table[f"{y}_ci95"] if f"{y}_ci95" in table.columns else [None] * len(table)
        rows = list(zip(table["group"], table[y], intervals, strict=True))
        for group, value, interval in rows[:1] if of_queue else rows:
            if not isinstance(value, (int, float)):
                raise ValueError(f"{y} is no number in the row of {group}: {value!r}")  # noqa: TRY004 - it is a value
            name = ", ".join([*([] if of_queue else [group]), *others]) or "queue"
            made.setdefault(name, []).append((number, float(value), interval))
    lines = []
    for name, points in made.items():
        points.sort(key=lambda point: point[0])
        whole = [interval for _, _, interval in points if interval is not None]
        ci95 = whole if len(whole) == len(points) else None
        lines.append(Trace(name, [point[0] for point in points], [point[1] for point in points], ci95))
    ticks = names if _scale(names)[0] is None else None
    return Lines(f"{x}, {unit}" if unit else x, _named(y), lines, logarithmic=_equal_factors(numbers), ticks=ticks)


def _named(column: str) -> str:
    """A column's name with its unit."""
    for ending, unit in (("_bps", "bit/s"), ("_s", "s"), ("_packets", "packets")):
        if column.endswith(ending):
            return f"{column.removesuffix(ending).replace('_', ' ')}, {unit}"
    return column.replace("_", " ")


def _scale(values: Sequence[object]) -> tuple[list[float] | None, str]:
    """The values as numbers of one unit; ``None`` when they are not."""
    numbers: list[float] = []
    units: set[str] = set()
    for value in values:
        text = re.fullmatch(r"([-+]?[\d.]+(?:e[-+]?\d+)?)\s*([a-z%]*)", str(value).lower())
        if text is None or isinstance(value, bool) or text[2] not in _UNITS:
            return None, ""
        factor, unit = _UNITS[text[2]]
        numbers.append(float(text[1]) * factor)
        units.add(unit)
    return (numbers, units.pop()) if len(units) == 1 else (None, "")


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
    """The queue that was asked for, or the one called ``bottleneck``, or all."""
    queues = _rows(outcome, "queues")
    at = outcome._tree.get("at")  # noqa: SLF001 - it is read once
    named = [queue for queue in queues if queue["name"] == (at or "bottleneck")]
    return named if named or at else queues


def _hundredfold(row: dict[str, Any], key: str) -> float | None:
    interval = row.get(f"{key}_ci95")
    return None if interval is None else 100 * float(interval)


def _intervals(rows: list[dict[str, Any]], key: str, factor: float) -> list[float] | None:
    intervals = [row.get(f"{key}_ci95") for row in rows]
    return None if None in intervals else [factor * float(interval) for interval in intervals if interval is not None]
