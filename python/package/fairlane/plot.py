"""Figures of outcomes with Matplotlib or Altair: those of the pages of :meth:`fairlane.Outcome.html`.

``outcome.plot.shares()`` draws with Matplotlib and gives its axes; ``outcome.plot.altair.shares()`` gives a chart of
Altair. Neither is needed for anything else: ``pip install 'fairlane[plot]'`` or ``'fairlane[altair]'``.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from fairlane import _figures

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import overload

    import altair as alt
    from matplotlib.axes import Axes

    from fairlane._figures import Bars, Lines, Trace
    from fairlane.outcome import Outcome

__all__ = ["AltairPlots", "Plots"]

_MARKERS = "os^Dvp"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
_HATCHES = ("", "//", "..", "xx", "--", "||", "++", "oo", "**", "OO")
_FLAT = 10
"""Lines of more points than this have no markers."""


class Plots:
    """The figures of one outcome or of several, by Matplotlib. Each method draws on ``ax``, or on new axes."""

    __slots__ = ("_outcomes",)

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = outcomes

    @property
    def altair(self) -> AltairPlots:
        """The same figures by Altair."""
        return AltairPlots(self._outcomes)

    def shares(self, *, ax: Axes | None = None) -> Axes:
        """Each group's part of the throughput, a bar for each outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ValueError: There is no outcome.
        """
        return _bars(_figures.shares(_some(self._outcomes)), ax)

    def flows(self, *, ax: Axes | None = None) -> Axes:
        """Each flow's throughput in Mbit/s, the slowest first, of one outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ValueError: There are several outcomes, or none.
        """
        return _lines(_figures.flows(_one(self._outcomes)), ax, points=True)

    def delays(self, *, ax: Axes | None = None) -> Axes:
        """The cumulative distribution of the time in each queue that is shown, a line for each outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ValueError: There is no outcome.
        """
        return _lines(_figures.delays(_some(self._outcomes)), ax)

    def series(self) -> tuple[Axes, Axes]:
        """Each group's throughput over time and, below, each queue's length, of one outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ValueError: There is no series: use ``run(series="100ms")``. Or there are several outcomes.
        """
        throughput, length = _figures.series(_one(self._outcomes))
        _, (above, below) = _pyplot().subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
        _lines(throughput, above).set_xlabel("")
        return above, _lines(length, below)

    if TYPE_CHECKING:

        @overload
        def sweep(
            self, y: str = "share", x: str | None = None, *, hue: str | None = None, ax: Axes | None = None
        ) -> Axes: ...
        @overload
        def sweep(
            self, y: str = "share", x: str | None = None, *, hue: str | None = None, facet: str
        ) -> list[Axes]: ...

    def sweep(
        self,
        y: str = "share",
        x: str | None = None,
        *,
        hue: str | None = None,
        facet: str | None = None,
        ax: Axes | None = None,
    ) -> Axes | list[Axes]:
        """A column of :attr:`fairlane.Outcomes.groups` against a key that was varied, with 95 % intervals as bands.

        Args:
            y: The column, such as ``throughput_bps`` or ``queue_delay_mean_s``.
            x: The key; the one with the most numbers when it is not given.
            hue: The key, or ``group``, whose values have a colour each; without it each line has one.
            facet: The key, or ``group``, whose values have axes each, side by side with the same scale. They are
                returned as a list.
            ax: The axes to draw on.

        Raises:
            ImportError: Matplotlib is not installed.
            ValueError: Nothing was varied, there is no such column or key, or both ``facet`` and ``ax`` are given.
        """
        figures = _figures.swept(_some(self._outcomes), y, x, hue, facet)
        if facet is None:
            return _lines(figures[0], ax)
        if ax is not None:
            raise ValueError("ax: facets have axes of their own")
        size = (1 + 3.5 * len(figures), 3.6)
        options: dict[str, Any] = {"sharex": True, "sharey": True, "layout": "constrained", "squeeze": False}
        _, each = _pyplot().subplots(1, len(figures), figsize=size, **options)
        axes = [_lines(figure, one) for figure, one in zip(figures, each[0], strict=True)]
        for one in axes[1:]:
            one.set_ylabel("")
        # They share the scale, and each was drawn for its own lines.
        axes[0].autoscale(axis="y")
        axes[0].set_ylim(bottom=0)
        return axes


class AltairPlots:
    """The figures of one outcome or of several, by Altair; the methods are those of :class:`Plots`."""

    __slots__ = ("_outcomes",)

    def __init__(self, outcomes: Sequence[Outcome]) -> None:
        self._outcomes = outcomes

    def shares(self) -> alt.LayerChart:
        """As :meth:`Plots.shares`."""
        return _bar_chart(_figures.shares(_some(self._outcomes)))

    def flows(self) -> alt.LayerChart:
        """As :meth:`Plots.flows`."""
        return _line_chart(_figures.flows(_one(self._outcomes)), points=True)

    def delays(self) -> alt.LayerChart:
        """As :meth:`Plots.delays`."""
        return _line_chart(_figures.delays(_some(self._outcomes)))

    def series(self) -> alt.VConcatChart:
        """As :meth:`Plots.series`."""
        throughput, length = _figures.series(_one(self._outcomes))
        chart = _altair().vconcat(_line_chart(throughput), _line_chart(length))
        made: alt.VConcatChart = chart.resolve_scale(color="independent", strokeDash="independent")
        return made

    if TYPE_CHECKING:

        @overload
        def sweep(self, y: str = "share", x: str | None = None, *, hue: str | None = None) -> alt.LayerChart: ...
        @overload
        def sweep(
            self, y: str = "share", x: str | None = None, *, hue: str | None = None, facet: str
        ) -> alt.HConcatChart: ...

    def sweep(
        self, y: str = "share", x: str | None = None, *, hue: str | None = None, facet: str | None = None
    ) -> alt.LayerChart | alt.HConcatChart:
        """As :meth:`Plots.sweep`; with ``facet``, charts side by side."""
        figures = _figures.swept(_some(self._outcomes), y, x, hue, facet)
        if facet is None:
            return _line_chart(figures[0])
        charts = [_line_chart(figure).properties(title=figure.title) for figure in figures]
        made: alt.HConcatChart = _altair().hconcat(*charts).resolve_scale(y="shared")
        return made


def _some(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    if not outcomes:
        raise ValueError("there is no outcome to draw")
    return outcomes


def _one(outcomes: Sequence[Outcome]) -> Outcome:
    if len(outcomes) != 1:
        raise ValueError(
            f"this figure is of one outcome, and there are {len(outcomes)}: outcomes[0].plot has the first"
        )
    return outcomes[0]


def _pyplot() -> Any:  # noqa: ANN401 - a module
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("figures need Matplotlib: pip install 'fairlane[plot]'") from error
    return plt


def _axes(ax: Axes | None, *, height: float) -> Axes:
    if ax is not None:
        return ax
    made: Axes = _pyplot().subplots(figsize=(7, height), layout="constrained")[1]
    made.spines[["top", "right"]].set_visible(False)
    return made


def _bars(figure: Bars, ax: Axes | None) -> Axes:
    ax = _axes(ax, height=1.2 + 0.5 * len(figure.bars))
    names = list(dict.fromkeys(name for _, parts in figure.bars for name, _, _ in parts))
    for place, (_, parts) in enumerate(figure.bars):
        left = 0.0
        for part, (name, value, ci95) in enumerate(parts, 1):
            at = names.index(name)
            style: dict[str, Any] = {
                "color": _colour(at),
                "edgecolor": "white",
                "hatch": _HATCHES[at % len(_HATCHES)],
            }
            label = name if name not in (ax.get_legend_handles_labels()[1]) else None
            # The last part ends where the bar does, and its interval is that of the others.
            end = None if part == len(parts) else ci95
            ax.barh(place, value, left=left, height=0.7, xerr=end, label=label, ecolor="black", capsize=3, **style)
            left += value
    ax.set_yticks(range(len(figure.bars)), [label for label, _ in figure.bars])
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel(figure.x)
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(names) + 1, frameon=False)
    return ax


def _lines(figure: Lines, ax: Axes | None, *, points: bool = False) -> Axes:
    ax = _axes(ax, height=3.6)
    for at, line in enumerate(figure.lines):
        colour = _colour(at if line.colour is None else line.colour)
        style: dict[str, Any] = {"color": colour, "label": line.name, "linestyle": _dashes(at)}
        if points or len(line.x) <= _FLAT:
            style.update(marker=_MARKERS[at % len(_MARKERS)], markersize=5)
        if points:
            style["linestyle"] = "none"
            ax.errorbar(line.x, line.y, yerr=line.ci95, capsize=2, **style)
            continue
        ax.plot(line.x, line.y, drawstyle="steps-post" if figure.steps else "default", **style)
        if line.ci95 is not None:
            low = [y - half for y, half in zip(line.y, line.ci95, strict=True)]
            high = [y + half for y, half in zip(line.y, line.ci95, strict=True)]
            ax.fill_between(line.x, low, high, color=colour, alpha=0.2, linewidth=0)
    if figure.logarithmic:
        ax.set_xscale("log")
    if figure.ticks is not None:
        ax.set_xticks(range(len(figure.ticks)), figure.ticks)
    if figure.title:
        ax.set_title(figure.title)
    ax.set_xlabel(figure.x)
    ax.set_ylabel(figure.y)
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    return ax


def _colour(at: int) -> str:
    return _figures.COLOURS[at % len(_figures.COLOURS)]


def _dashes(at: int) -> Any:  # noqa: ANN401 - a name or a pattern
    """The dashes of a line; lines of the same colour, such as the first and the seventh, have different ones."""
    return _DASHES[(at + at // len(_figures.COLOURS)) % len(_DASHES)]


def _altair() -> Any:  # noqa: ANN401 - a module
    try:
        import altair as alt
    except ImportError as error:
        raise ImportError("charts need Altair: pip install 'fairlane[altair]'") from error
    return alt


def _bar_chart(figure: Bars) -> alt.LayerChart:
    api = _altair()
    parts, intervals = [], []
    for label, parts_ in figure.bars:
        ends = list(accumulate(value for _, value, _ in parts_))
        for order, (name, value, _) in enumerate(parts_):
            parts.append({"outcome": label, "group": name, "value": value, "order": order})
        # The last part ends where the bar does, and its interval is that of the others.
        for end, (_, _, half) in zip(ends[:-1], parts_[:-1], strict=True):
            if half is not None:
                intervals.append({"outcome": label, "low": end - half, "high": end + half})
    y = api.Y("outcome:N", title=None, sort=[label for label, _ in figure.bars])
    scale = api.Scale(domain=[0, 100])
    bars = api.Chart(api.Data(values=parts)).mark_bar()
    bars = bars.encode(
        x=api.X("value:Q", title=figure.x, scale=scale),
        y=y,
        color=_scale([name for name, _, _ in figure.bars[0][1]], "group"),
        order="order:O",
        tooltip=["outcome:N", "group:N", "value:Q"],
    )
    layers = [bars]
    if intervals:
        lines = api.Chart(api.Data(values=intervals)).mark_errorbar(ticks=True, color="black", clip=True)
        layers.append(lines.encode(x=api.X("low:Q", title=figure.x, scale=scale), x2="high:Q", y=y))
    made: alt.LayerChart = api.layer(*layers)
    return made


def _line_chart(figure: Lines, *, points: bool = False) -> alt.LayerChart:
    api = _altair()
    rows = []
    for line in figure.lines:
        halves = [None] * len(line.x) if line.ci95 is None else line.ci95
        for x, y, half in zip(line.x, line.y, halves, strict=True):
            place = x if figure.ticks is None else figure.ticks[round(x)]
            ends = {} if half is None else {"low": y - half, "high": y + half}
            rows.append({"line": line.name, "x": place, "y": y, **ends})
    if figure.ticks is None:
        scale = api.Scale(type="log") if figure.logarithmic else api.Scale(zero=False)
        ticks = api.Axis(format="~s", labelOverlap=True) if figure.logarithmic else api.Axis()
        axis, shown = api.X("x:Q", title=figure.x, scale=scale, axis=ticks), "x:Q"
    else:
        axis, shown = api.X("x:N", title=figure.x, sort=figure.ticks), "x:N"
    base = api.Chart(api.Data(values=rows)).encode(
        x=axis, color=_colours(figure.lines, points=points), tooltip=["line:N", shown, "y:Q"]
    )
    y, names = api.Y("y:Q", title=figure.y), [line.name for line in figure.lines]
    if points:
        drawn = base.mark_point(filled=True).encode(
            y=y, shape=api.Shape("line:N", title=None, scale=api.Scale(domain=names))
        )
    else:
        marks = all(len(line.x) <= _FLAT for line in figure.lines)
        interpolate = "step-after" if figure.steps else "linear"
        drawn = base.mark_line(point=marks, interpolate=interpolate).encode(
            y=y, strokeDash=api.StrokeDash("line:N", title=None, scale=api.Scale(domain=names))
        )
    layers = [drawn]
    if any(line.ci95 is not None for line in figure.lines):
        band = base.mark_rule() if points else base.mark_area(opacity=0.2)
        layers.insert(0, band.encode(y=api.Y("low:Q", title=figure.y), y2="high:Q"))
    chart: alt.LayerChart = api.layer(*layers)
    return chart


def _colours(lines: Sequence[Trace], *, points: bool) -> Any:  # noqa: ANN401 - a part of a chart
    numbers = [at if line.colour is None else line.colour for at, line in enumerate(lines)]
    scale = _scale([line.name for line in lines], "line", numbers)
    # The bands are pale, and the legend is not.
    return scale if points else scale.legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2)


def _scale(names: list[str], field: str, numbers: Sequence[int] | None = None) -> Any:  # noqa: ANN401 - a part of a chart
    api = _altair()
    colours = [_colour(at) for at in numbers or range(len(names))]
    return api.Color(f"{field}:N", title=None, scale=api.Scale(domain=names, range=colours))
