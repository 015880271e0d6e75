"""The gallery: its figures are those that its lines draw now, and nothing in them is cut."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairlane as fl
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.figure import Figure
from pypdf import PdfReader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

GALLERY = Path(__file__).parents[1] / "gallery"


@pytest.fixture(scope="module")
def gallery() -> Any:
    loader = importlib.machinery.SourceFileLoader("gallery", str(GALLERY))
    spec = importlib.util.spec_from_loader("gallery", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def drawn(gallery: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Figure]]:
    folder = tmp_path_factory.mktemp("gallery")
    return folder, gallery.draw(folder)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    mpl.use("agg")
    yield
    plt.close("all")


def numbers(svg: str) -> list[float]:
    return [round(float(number), 1) for number in re.findall(r"-?\d+\.?\d*", svg.partition("</metadata>")[2])]


def test_its_figures_are_current(gallery: Any, drawn: tuple[Path, dict[str, Figure]]) -> None:
    """Would catch a figure that is missing, of an older version, or that no line of the page draws."""
    folder, saved = drawn
    page = gallery.PAGE.read_text(encoding="utf-8")
    assert sorted(re.findall(r"\(figures/gallery/(.*?)\)", page)) == sorted(saved)
    assert sorted(file.name for file in gallery.FIGURES.iterdir()) == sorted(saved)
    for name in saved:
        stored = (gallery.FIGURES / name).read_text(encoding="utf-8")
        assert numbers(stored) == numbers((folder / name).read_text(encoding="utf-8")), f"{name}: run python/gallery"


def is_whole(figure: Figure) -> bool:
    """Nothing lies outside of the canvas."""
    figure.draw_without_rendering()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    return bool(min(box.x0, box.y0) >= 0 and box.x1 <= width and box.y1 <= height)


def ends(ax: Axes, axis: int) -> list[float]:
    """The ends of the intervals and the edges of the bands, on the horizontal axis (0) or the vertical one (1)."""
    vertices: list[Any] = [path.vertices for lines in ax.collections for path in lines.get_paths()]
    return [float(point[axis]) for each in vertices for point in each]


def test_its_figures_are_for_a_column(drawn: tuple[Path, dict[str, Figure]]) -> None:
    """3.5 in wide, nothing cut, every letter of 8 pt, and the legend outside of the axes."""
    for name, figure in drawn[1].items():
        assert figure.get_size_inches()[0] == 3.5, name
        assert is_whole(figure), name
        texts = [text for text in figure.findobj(mpl.text.Text) if text.get_text() and text.get_visible()]
        # An exponent of a logarithmic axis is part of its text.
        assert {text.get_fontsize() for text in texts} == {8}, name
        for ax in figure.axes:
            legend = ax.get_legend() or figure.legends[0]
            assert not legend.get_window_extent().overlaps(ax.get_window_extent().shrunk(0.98, 0.98)), name


@pytest.fixture(scope="module")
def flooded() -> fl.Scenario:
    queue = fl.Choke(limit=60, min=10, max=40)
    return fl.Scenario.dumbbell(tcp=6, udp="2mbit", rate="1mbit", duration="6s", warmup="2s", queue=queue)


def test_nothing_is_cut_at_any_width(flooded: fl.Scenario) -> None:
    """Would catch the fastest flow, the last interval and a legend that the canvas or the axes cut."""
    compared = flooded.compare(["droptail", "red", "choke"], runs=3)
    for width in (2.5, 3.5, 7.16):
        with fl.plot.paper(width):
            for figure in (
                compared.plot.shares().figure,
                compared.plot.delays().figure,
                compared[2].plot.flows().figure,
            ):
                assert isinstance(figure, Figure)
                assert is_whole(figure)
                content = io.BytesIO()
                figure.savefig(content, format="pdf")
                sheet = PdfReader(content).pages[0].mediabox
                assert float(sheet.width) == pytest.approx(72 * width)
            ax = compared[2].plot.flows()
            assert max(ends(ax, 1)) < ax.get_ylim()[1]
            assert min(ends(ax, 1)) >= 0
    ax = compared.plot.shares()
    assert 0 <= min(ends(ax, 0)) <= max(ends(ax, 0)) <= 100


def test_two_keys_are_told_apart(flooded: fl.Scenario) -> None:
    """Colours are for the key with more values and styles for the other, without a pair that two lines share."""
    varied = {"flows.cbr.rate": ["500kbit", "2mbit"], "bottleneck.queue.kind": ["droptail", "red", "choke", "pie"]}
    swept = flooded.sweep(varied, runs=3)
    ax = swept.plot.sweep()
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    assert len(lines) == 8
    assert len({(line.get_color(), str(line.get_marker())) for line in lines.values()}) == 8
    for kind in ("droptail", "choke"):
        assert lines[f"ftp, kind={kind}"].get_color() == lines[f"cbr, kind={kind}"].get_color()
    assert {str(line.get_marker()) for name, line in lines.items() if name.startswith("ftp")} == {"o"}
    legend = ax.get_legend()
    assert legend is not None
    said = [text.get_text() for text in legend.get_texts()]
    assert said == ["kind:", "droptail", "red", "choke", "pie", "group:", "ftp", "cbr"]
    assert 0 <= min(ends(ax, 1)) <= max(ends(ax, 1)) <= 100
    figure = ax.get_figure()
    assert isinstance(figure, Figure)
    assert is_whole(figure)
    chart = swept.plot.altair.sweep().to_dict()
    encoding = chart["layer"][-1]["encoding"]
    assert (encoding["color"]["title"], encoding["strokeDash"]["title"]) == ("kind", "group")
    assert encoding["color"]["scale"]["domain"] == ["droptail", "red", "choke", "pie"]


def test_more_values_than_colours_have_a_scale(flooded: fl.Scenario) -> None:
    swept = flooded.sweep({"bottleneck.queue.limit": [50, 60], "seed": range(1, 10)})
    ax = swept.plot.sweep("queue_delay_mean_s", x="bottleneck.queue.limit")
    assert len({line.get_color() for line in ax.get_lines()}) == 9
