"""Figures of outcomes with Matplotlib or Altair: those of the pages of :meth:`fairlane.Outcome.html`.

``outcome.plot.shares()`` draws with Matplotlib and gives its axes; ``outcome.plot.altair.shares()`` gives a chart of
Altair. Neither is needed for anything else: ``pip install 'fairlane[plot]'`` or ``'fairlane[altair]'``.

Within ``with fairlane.plot.paper():`` figures have the size and the font of a column of a paper.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from fairlane import _figures
from fairlane.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import overload

    import altair as alt
    from matplotlib.axes import Axes

    from fairlane._figures import Bars, Lines, Trace
    from fairlane.outcome import Outcome

__all__ = ["AltairPlots", "Plots", "paper"]

_MARKERS = "os^Dvp"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (8, 3)))
_HATCHES = ("", "//", "..", "xx", "--", "||", "++", "oo", "**", "OO")
_FLAT = 10
"""Lines of more points than this have no markers."""

_NAMED = 8
"""Places of a logarithmic axis up to which each has its number."""

_WIDTH = 7.0
"""The width of a figure in inches."""

_COLUMN = 3.5
"""The width of a column of a paper in inches, of IEEE's and ACM's two-column formats."""

_NARROW = 5.0
"""Figures below this width have their legend above, and others at the right."""

_PAPER: dict[str, Any] = {
    "figure.figsize": (_COLUMN, 2.3),
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "legend.fontsize": 8,
    "legend.handlelength": 2.4,
    "legend.columnspacing": 1.0,
    "axes.linewidth": 0.6,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    # Letters that a publisher can search for and print: Type 3 fonts, the default, are often refused.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "savefig.dpi": 300,
}


def paper(width: float = _COLUMN) -> AbstractContextManager[None]:
    """Draws figures for a paper while it lasts: ``with fairlane.plot.paper(): outcomes.plot.shares()``.

    Everything is written in 8 pt, so that a figure is included without scaling, and letters are TrueType.

    Args:
        width: The width in inches: that of a column by default, 7.16 for both columns of IEEE's format.

    Raises:
        ImportError: Matplotlib is not installed.
    """
    _pyplot()
    import matplotlib as mpl

    style: Any = {**_PAPER, "figure.figsize": (width, _PAPER["figure.figsize"][1])}
    return mpl.rc_context(style)


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
            ArgumentError: There is no outcome.
        """
        return _bars(_figures.shares(_some(self._outcomes)), ax)

    def flows(self, *, ax: Axes | None = None) -> Axes:
        """Each flow's throughput in Mbit/s, the slowest first, of one outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ArgumentError: There are several outcomes, or none.
        """
        return _lines(_figures.flows(_one(self._outcomes)), ax, points=True)

    def delays(self, *, ax: Axes | None = None) -> Axes:
        """The cumulative distribution of the time in each queue that is shown, a line for each outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ArgumentError: There is no outcome.
        """
        return _lines(_figures.delays(_some(self._outcomes)), ax)

    def series(self) -> tuple[Axes, Axes]:
        """Each group's throughput over time and, below, each queue's length, of one outcome.

        Raises:
            ImportError: Matplotlib is not installed.
            ArgumentError: There is no series: use ``run(series="100ms")``. Or there are several outcomes.
        """
        throughput, length = _figures.series(_one(self._outcomes))
        _, (above, below) = _pyplot().subplots(2, 1, sharex=True, figsize=_size(5.0), layout="constrained")
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
            ArgumentError: Nothing was varied, there is no such column or key, or both ``facet`` and ``ax`` are given.
        """
        figures = _figures.swept(_some(self._outcomes), y, x, hue, facet)
        if facet is None:
            return _lines(figures[0], ax)
        if ax is not None:
            raise ArgumentError("ax: facets have axes of their own")
        width, height = _size(3.6)
        # A column of a paper is as wide as it is.
        size = (width if width < _NARROW else (1 + 3.5 * len(figures)) * width / _WIDTH, height)
        options: dict[str, Any] = {"sharex": True, "sharey": True, "layout": "constrained", "squeeze": False}
        _, each = _pyplot().subplots(1, len(figures), figsize=size, **options)
        axes = [_lines(figure, one) for figure, one in zip(figures, each[0], strict=True)]
        for one in axes[1:]:
            one.set_ylabel("")
        # Under narrow axes two labels would run into each other.
        whole: Any = axes[0].get_figure()
        whole.supxlabel(axes[0].get_xlabel(), fontsize=axes[0].xaxis.label.get_fontsize())
        for one in axes:
            one.set_xlabel("")
        # The same keys have the same names in all of them, and the scale is that of the highest.
        for one in axes:
            of: Any = one.get_legend()
            of.remove()
        axes[0].set_ylim(0, max(1.05 * one.dataLim.y1 for one in axes) or 1.0)
        _legend(figures[-1], axes[-1], whole=True)
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
        raise ArgumentError("there is no outcome to draw")
    return outcomes


def _one(outcomes: Sequence[Outcome]) -> Outcome:
    if len(outcomes) != 1:
        raise ArgumentError(
            f"this figure is of one outcome, and there are {len(outcomes)}: outcomes[0].plot has the first"
        )
    return outcomes[0]


def _pyplot() -> Any:  # noqa: ANN401 - a module
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("figures need Matplotlib: pip install 'fairlane[plot]'") from error
    return plt


def _size(height: float) -> tuple[float, float]:
    """The size of a figure in inches: as wide as the user's style says, as high as its letters need."""
    import matplotlib as mpl

    wanted, usual = mpl.rcParams["figure.figsize"], mpl.rcParamsDefault["figure.figsize"]
    width = _WIDTH if tuple(wanted) == tuple(usual) else float(wanted[0])
    letters = mpl.rcParams["font.size"] / mpl.rcParamsDefault["font.size"]
    return width, height * letters * (0.8 if width < _NARROW else 1.0)


def _axes(ax: Axes | None, *, height: float) -> Axes:
    if ax is not None:
        return ax
    made: Axes = _pyplot().subplots(figsize=_size(height), layout="constrained")[1]
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
            # The last part ends where the bar does, and its interval is that of the others. Shares end at 0 and at 1.
            end = None
            if part < len(parts) and ci95 is not None:
                end = [[min(ci95, left + value)], [max(0.0, min(ci95, 100 - left - value))]]
            drawn: dict[str, Any] = {"ecolor": "black", "capsize": 3, "error_kw": {"clip_on": False, "zorder": 3}}
            ax.barh(place, value, left=left, height=0.7, xerr=end, label=label, **drawn, **style)
            left += value
    ax.set_yticks(range(len(figure.bars)), [label for label, _ in figure.bars])
    ax.invert_yaxis()
    ax.set_xlim(0, 100)
    ax.set_xlabel(figure.x)
    columns = _abreast(names, ax.get_figure().get_figwidth())  # type: ignore[union-attr] # axes have a figure
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, frameon=False)
    return ax


def _lines(figure: Lines, ax: Axes | None, *, points: bool = False) -> Axes:
    ax = _axes(ax, height=3.6)
    marked = points or _marked(figure)
    for at, line in enumerate(figure.lines):
        style = _style(figure, at if line.colour is None else line.colour, at if line.style is None else line.style)
        style["marker"] = style["marker"] if marked else ""
        low, high = figure.ends(line)
        if points:
            style["linestyle"] = "none"
            arms = [
                [y - end for y, end in zip(line.y, low, strict=True)],
                [end - y for y, end in zip(line.y, high, strict=True)],
            ]
            ax.errorbar(line.x, line.y, yerr=None if line.ci95 is None else arms, capsize=2, label=line.name, **style)
            continue
        ax.plot(line.x, line.y, drawstyle="steps-post" if figure.steps else "default", label=line.name, **style)
        if line.ci95 is not None:
            ax.fill_between(line.x, low, high, color=style["color"], alpha=0.2, linewidth=0)
    if figure.logarithmic:
        ax.set_xscale("log")
        places = sorted({x for line in figure.lines for x in line.x})
        ax.minorticks_off()
        if len(places) <= _NAMED:
            ax.set_xticks(places, [f"{place:.3g}" for place in places])
    if figure.ticks is not None:
        ax.set_xticks(range(len(figure.ticks)), figure.ticks)
    if figure.title:
        ax.set_title(figure.title)
    ax.set_xlabel(figure.x)
    ax.set_ylabel(figure.y)
    # From 0 to what is drawn, with room for the arms at the top, also of axes that others have drawn on.
    ax.autoscale_view()
    ax.set_ylim(0, max(ax.get_ylim()[1], ax.dataLim.y1 * 1.05 or 1.0))
    ax.grid(alpha=0.3)
    _legend(figure, ax, points=points)
    return ax


def _legend(figure: Lines, ax: Axes, *, points: bool = False, whole: bool = False) -> None:
    """The names of lines, or of the keys that colours and styles stand for, beside or above the axes.

    With ``whole`` it is that of all axes of the figure.
    """
    from matplotlib.lines import Line2D

    handles, names = ax.get_legend_handles_labels()
    of: Any = ax.get_figure()
    narrow = of.get_figwidth() < _NARROW
    if len(figure.legend) > 1 and not points:
        handles, names = [], []
        for part in figure.legend:
            if not narrow:
                handles.append(Line2D([], [], linestyle="none"))
                names.append(f"{part.title}:")
            for at, value in enumerate(part.values):
                style = _style(figure, at if part.coloured else None, None if part.coloured else at)
                style["marker"] = style["marker"] if _marked(figure) and not part.coloured else ""
                handles.append(Line2D([], [], **style))
                names.append(value)
    options: dict[str, Any] = {"frameon": False, "borderaxespad": 0.2}
    if narrow:
        options["ncols"] = _abreast(names, of.get_figwidth())
    if whole:
        of.legend(handles, names, loc="outside upper center" if narrow else "outside right upper", **options)
    elif narrow:
        ax.legend(handles, names, loc="lower center", bbox_to_anchor=(0.5, 1.0), **options)
    else:
        ax.legend(handles, names, loc="upper left", bbox_to_anchor=(1.01, 1.0), **options)


def _abreast(names: Sequence[str], width: float) -> int:
    """The number of names next to each other in a figure of this width in inches."""
    import matplotlib as mpl

    letter = float(mpl.rcParams["font.size"]) / 72
    # Letters are about half as wide as high; a line and the room around it take five of them.
    column = (0.5 * max(map(len, names), default=1) + 4.5) * letter
    return max(1, min(len(names), int(0.95 * width / column)))


def _marked(figure: Lines) -> bool:
    return all(len(line.x) <= _FLAT for line in figure.lines)


def _style(figure: Lines, colour: int | None, style: int | None) -> dict[str, Any]:
    """How a line is drawn; what a legend leaves open is black and solid."""
    made: dict[str, Any] = {"color": "black" if colour is None else _colour(colour, figure.colours)}
    if style is None:
        return {**made, "linestyle": "-", "marker": ""}
    # Styles beyond the first six have the same markers with other dashes.
    dashes = _DASHES[(style + style // len(_DASHES)) % len(_DASHES)]
    return {**made, "linestyle": dashes, "marker": _MARKERS[style % len(_MARKERS)]}


def _colour(at: int, of: int = 0) -> str:
    """The colour with this number; more than there are lie on a scale from dark to light."""
    if of <= len(_figures.COLOURS):
        return _figures.COLOURS[at % len(_figures.COLOURS)]
    _pyplot()
    import matplotlib as mpl

    return str(mpl.colors.to_hex(mpl.colormaps["viridis"](0.9 * at / (of - 1))))


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
            low, high = max(y - (half or 0.0), min(y, 0.0)), min(y + (half or 0.0), max(y, figure.most))
            ends = {} if half is None else {"low": low, "high": high}
            rows.append({"line": line.name, **_keys(figure, line), "x": place, "y": y, **ends})
    if figure.ticks is None:
        scale = api.Scale(type="log") if figure.logarithmic else api.Scale(zero=False)
        ticks = api.Axis(format="~s", labelOverlap=True) if figure.logarithmic else api.Axis()
        axis, shown = api.X("x:Q", title=figure.x, scale=scale, axis=ticks), "x:Q"
    else:
        axis, shown = api.X("x:N", title=figure.x, sort=figure.ticks), "x:N"
    base = api.Chart(api.Data(values=rows)).encode(
        x=axis, color=_colours(figure, points=points), detail="line:N", tooltip=["line:N", shown, "y:Q"]
    )
    y, (key, title, names) = api.Y("y:Q", title=figure.y), _styled(figure)
    if points:
        drawn = base.mark_point(filled=True).encode(
            y=y, shape=api.Shape(f"{key}:N", title=title, scale=api.Scale(domain=names))
        )
    else:
        marks = all(len(line.x) <= _FLAT for line in figure.lines)
        interpolate = "step-after" if figure.steps else "linear"
        drawn = base.mark_line(point=marks, interpolate=interpolate).encode(
            y=y, strokeDash=api.StrokeDash(f"{key}:N", title=title, scale=api.Scale(domain=names))
        )
    layers = [drawn]
    if any(line.ci95 is not None for line in figure.lines):
        band = base.mark_rule() if points else base.mark_area(opacity=0.2)
        layers.insert(0, band.encode(y=api.Y("low:Q", title=figure.y), y2="high:Q"))
    chart: alt.LayerChart = api.layer(*layers)
    return chart


def _keys(figure: Lines, line: Trace) -> dict[str, str]:
    """The values of the keys that the line's colour and style stand for."""
    numbers = {True: line.colour, False: line.style}
    pairs = [("colour" if part.coloured else "style", part.values, numbers[part.coloured]) for part in figure.legend]
    return {name: values[at] for name, values, at in pairs if at is not None}


def _styled(figure: Lines) -> tuple[str, str | None, list[str]]:
    """The field of the dashes or the shapes, its title, and its values."""
    if len(figure.legend) > 1:
        return "style", figure.legend[1].title, figure.legend[1].values
    return "line", None, [line.name for line in figure.lines]


def _colours(figure: Lines, *, points: bool) -> Any:  # noqa: ANN401 - a part of a chart
    if len(figure.legend) > 1:
        part = figure.legend[0]
        colours = [_colour(at, figure.colours) for at in range(len(part.values))]
        scale = _scale(part.values, "colour", colours, part.title)
    else:
        numbers = [at if line.colour is None else line.colour for at, line in enumerate(figure.lines)]
        scale = _scale([line.name for line in figure.lines], "line", [_colour(at, figure.colours) for at in numbers])
    # The bands are pale, and the legend is not.
    return scale if points else scale.legend(symbolType="stroke", symbolOpacity=1, symbolStrokeWidth=2)


def _scale(names: list[str], field: str, colours: Sequence[str] | None = None, title: str | None = None) -> Any:  # noqa: ANN401 - a part of a chart
    api = _altair()
    colours = colours or [_colour(at) for at in range(len(names))]
    return api.Color(f"{field}:N", title=title, scale=api.Scale(domain=names, range=list(colours)))
