"""Tests the promises of docs/report.md about charts in a real browser."""

from __future__ import annotations

import io
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from PIL import Image

from conftest import PAGES, SMALLER, draw_all

if TYPE_CHECKING:
    from conftest import Pages

# Coloured points that a canvas without lines may have.
MOST_ACCIDENTAL = 20

# Windows from this width on have room for two numbers below a bar.
MOST_NARROW = 1280

# Every part that the script draws, with its canvases and the labels of its lines.
FIGURES = """
() => [...document.querySelectorAll("figure[data-figure]")].map((figure) => {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom, text: element.textContent };
  };
  const colours = (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let at = 0; at < data.length; at += 16) {
      const parts = [data[at], data[at + 1], data[at + 2]];
      if (data[at + 3] > 128 && Math.max(...parts) - Math.min(...parts) > 40) coloured += 1;
    }
    return coloured;
  };
  const plots = [...figure.querySelectorAll(".plot")].map((plot) => ({
    ...box(plot),
    coloured: colours(plot.querySelector("canvas")),
    wide: plot.querySelector("canvas").clientWidth,
    labels: [...plot.querySelectorAll(".label")].filter((label) => label.getClientRects().length > 0).map(box),
    role: plot.querySelector(".u-over").getAttribute("role"),
    name: plot.querySelector(".u-over").getAttribute("aria-label"),
    says: plot.querySelector(".u-over").getAttribute("aria-valuetext"),
  }));
  return { title: figure.querySelector("figcaption strong").textContent, plots };
})
"""

# The room between neighbouring numbers of each axis of a table's bars.
RULERS = """
() => [...document.querySelectorAll("svg.ruler")].flatMap((ruler) => {
  const boxes = [...ruler.querySelectorAll("text")].map((text) => text.getBoundingClientRect());
  const seen = boxes.filter((box) => box.width > 0);
  return seen.slice(1).map((box, index) => box.left - seen[index].right);
})
"""

# The numbers that are seen of each axis of a table's bars, of those that are seen themselves. Rows of narrow pages use
# the numbers of the head, which are seen from the width in rem that their class says.
TICKS = """
() => [...document.querySelectorAll("svg.ruler")].flatMap((ruler) => {
  const { width } = ruler.getBoundingClientRect();
  if (width < 2) return [];
  const used = ruler.querySelector("use");
  const texts = (used ? document.querySelector(used.getAttribute("href")) : ruler).querySelectorAll("text");
  const from = (text) => 16 * Number(/from-(\\d+)/.exec(text.getAttribute("class") ?? "")?.[1] ?? 0);
  const seen = [...texts].filter((text) => (used ? from(text) <= width : text.getBoundingClientRect().width > 0));
  return [seen.map((text) => text.textContent)];
})
"""

# The dashes of the names of lines, and how near their colours come to the page's on the canvas: the contrast (WCAG 2)
# of the middle one of all points that have the colour of a line.
CONTRASTS = """
() => {
  const luminance = (rgb) => {
    const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const numbers = (text) => text.match(/[0-9.]+/g).slice(0, 3).map(Number);
  const page = numbers(getComputedStyle(document.body).backgroundColor);
  const plot = [...document.querySelectorAll(".plot")].find((plot) => plot.querySelectorAll(".label").length >= 3);
  const canvas = plot.querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [...plot.querySelectorAll(".label i")].map((swatch) => {
    const own = numbers(getComputedStyle(swatch).color);
    const hue = own.map((part, at) => part - page[at]);
    const size = Math.hypot(...hue);
    const seen = [];
    for (let at = 0; at < data.length; at += 4) {
      const alpha = data[at + 3] / 255;
      if (alpha < 0.2) continue;
      const shown = page.map((part, index) => part + (data[at + index] - part) * alpha);
      const away = shown.map((part, index) => part - page[index]);
      const length = Math.hypot(...away);
      const along = away.reduce((sum, part, index) => sum + part * hue[index], 0) / (length * size);
      // Of the line's own colour, however pale; bands of ranges are paler still.
      if (length > 0.3 * size && along > 0.995) seen.push(contrast(shown, page));
    }
    seen.sort((a, b) => a - b);
    const image = getComputedStyle(swatch).backgroundImage;
    return { name: swatch.parentElement.textContent, points: seen.length, contrast: seen[seen.length >> 1], image };
  });
}
"""


@pytest.mark.parametrize("name", PAGES)
def test_every_chart_shows_something_within_its_bounds(pages: Pages, name: str) -> None:
    """A chart has lines in colours, labels that lie within it and apart from each other, and a name."""
    page = pages.open(name).page
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        draw_all(page)
        figures: list[dict[str, Any]] = page.evaluate(FIGURES)
        assert figures, "no charts"
        for figure in figures:
            for plot in figure["plots"]:
                title = f"{figure['title']}, {plot['name']}"
                assert plot["role"] == "slider", title
                assert plot["says"], title
                assert plot["coloured"] > MOST_ACCIDENTAL, f"{title}: nothing is drawn"
                assert plot["wide"] <= plot["right"] - plot["left"] + 1, f"{title}: wider than its place"
                for label in plot["labels"]:
                    assert is_inside(label, plot), f"{title}: {label} lies outside of {plot}"
                for one, other in itertools.combinations(plot["labels"], 2):
                    assert are_apart(one, other), f"{title}: {one['text']} lies upon {other['text']}"


def is_inside(box: dict[str, float], view: dict[str, float]) -> bool:
    """Return true if a box lies within another, with an invisible tolerance."""
    slack = 10.0
    return (
        min(box["left"] - view["left"], box["top"] - view["top"]) >= -slack
        and box["right"] <= view["right"] + slack
        and box["bottom"] <= view["bottom"] + slack
    )


def are_apart(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return true if two texts do not cover each other; a box is higher than its letters."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across <= 1.0 or down <= 4.0  # noqa: PLR2004


def test_a_picture_is_saved(pages: Pages) -> None:
    """A chart is saved as PNG, as large as it is shown or larger."""
    page = pages.open("compare").page
    draw_all(page)
    part = page.locator("figure.part").filter(has=page.get_by_role("button", name="PNG")).first
    with page.expect_download() as saved:
        part.get_by_role("button", name="PNG").click()
    content = saved.value.path().read_bytes()
    assert content.startswith(b"\x89PNG")
    width = int.from_bytes(content[16:20], "big")
    assert width >= 2 * part.locator("canvas").first.evaluate("(canvas) => canvas.clientWidth")


def test_cursor_and_zoom_are_linked(pages: Pages) -> None:
    """The cursor of one panel moves those of the others; a drag zooms all of them, and Escape shows all again."""
    page = pages.open("compare").page
    draw_all(page)
    stack = page.locator("figure:has(> .controls)").first
    overs = stack.locator(".u-over")
    overs.first.scroll_into_view_if_needed()
    box = overs.first.bounding_box()
    assert box
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    places = stack.locator(".place")
    assert set(places.all_inner_texts()) == {"10 s"}
    values = stack.locator(".plot").nth(1).locator("output").all_inner_texts()
    assert all(values), values
    page.mouse.down()
    page.mouse.move(middle[0] + box["width"] / 4, middle[1], steps=4)
    page.mouse.up()
    page.mouse.move(box["x"] + 2, middle[1])
    assert all(text.startswith(("9.", "10")) for text in places.all_inner_texts()), places.all_inner_texts()
    assert stack.get_by_role("button", name="Show all").is_enabled()
    overs.nth(1).focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    assert all(float(text.removesuffix(" s")) < 1 for text in places.all_inner_texts())
    before = overs.nth(1).get_attribute("aria-valuetext")
    page.keyboard.press("ArrowRight")
    assert overs.nth(1).get_attribute("aria-valuetext") != before


def test_lines_are_chosen(pages: Pages) -> None:
    """With more disciplines than colours a choice of them is drawn, in every panel."""
    page = pages.open("compare-all").page
    draw_all(page)
    stack = page.locator("figure:has(> .controls)").first
    chips = stack.locator(".chip")
    drawn = stack.locator(".plot").first.locator(".label b")
    assert chips.count() > len(drawn.all_inner_texts()) == 6  # noqa: PLR2004
    chips.last.click()
    assert chips.last.get_attribute("aria-pressed") == "true"
    assert chips.last.inner_text() in drawn.all_inner_texts()
    assert len(drawn.all_inner_texts()) == 6  # noqa: PLR2004


@pytest.mark.parametrize("width", [320, 480, 700, 900, 1280])
def test_the_numbers_of_bars_do_not_overlap(pages: Pages, width: int) -> None:
    """Would catch "75" and "100 %" on each other in a narrow column, and a wide one without its numbers."""
    for name in ("compare", "run", "sweep", "replay"):
        gaps = pages.open(name, width).page.evaluate(RULERS)
        assert all(gap > 0 for gap in gaps), (name, gaps)
        assert gaps or width < MOST_NARROW, name


@pytest.mark.parametrize("width", [320, 360, 700, 929, 1280, 1920])
def test_every_axis_of_bars_has_numbers(pages: Pages, width: int) -> None:
    """Would catch a strip of delays with one number, and phones, where the axes were in a head that is not shown."""
    for name in ("compare", "run", "sweep", "replay"):
        page = pages.open(name, width).page
        ticks = page.evaluate(TICKS)
        assert ticks, name
        assert all(len(texts) > 1 for texts in ticks), (name, ticks)
        pages.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_lines_can_be_told_apart(pages: Pages, mode: str) -> None:
    """Each line has its own dashes, those of its name, and three to one against the page (WCAG 2.2, 1.4.11)."""
    page = pages.open("compare", mode=mode).page
    draw_all(page)
    lines = page.evaluate(CONTRASTS)
    assert len({line["image"] for line in lines}) == len(lines) == 3  # noqa: PLR2004
    for line in lines:
        assert line["points"] > 100, line  # noqa: PLR2004
        assert line["contrast"] >= 3, line  # noqa: PLR2004


def test_siblings_have_the_same_scale(pages: Pages) -> None:
    """Charts of one quantity in one row or stack end at the same value: would catch a flood like a trickle."""
    for name in ("compare", "sweep", "replay", "run"):
        page = pages.open(name).page
        draw_all(page)
        for row in page.locator(".figures, figure:has(> .controls)").all():
            tops: dict[str, set[str | None]] = {}
            for plot in row.locator(".plot").all():
                tops.setdefault(plot.get_attribute("data-unit") or "", set()).add(plot.get_attribute("data-top"))
            assert all(len(ends) == 1 for unit, ends in tops.items() if unit), (name, tops)


def test_names_are_shown_in_full(pages: Pages) -> None:
    """Would catch a long name that ends in dots."""
    for width in (360, 1280):
        page = pages.open("run-names", width).page
        draw_all(page)
        cut = (
            "(names) => names.filter((name) => name.scrollWidth > name.clientWidth + 1).map((name) => name.textContent)"
        )
        assert page.locator(".labels b:visible, .legend span:visible").evaluate_all(cut) == []


@pytest.mark.parametrize("name", SMALLER)
def test_charts_are_drawn_for_paper(pages: Pages, name: str) -> None:
    """Before it is printed no chart is wider than a sheet of A4 within its margins: would catch the screen's width."""
    page = pages.open(name, 1920).page
    draw_all(page)
    sheet = (210 - 2 * 12) / 25.4 * 96
    widths: list[float] = page.evaluate(
        """async () => {
          dispatchEvent(new Event("beforeprint"));
          // What handlers have promised is done before a browser prints; no frame is drawn meanwhile.
          for (let turn = 0; turn < 9; turn += 1) await null;
          const left = document.body.getBoundingClientRect().left;
          return [...document.querySelectorAll("canvas")].map((canvas) => canvas.getBoundingClientRect().right - left);
        }"""
    )
    assert widths, "no chart"
    assert max(widths) <= sheet
    # The names of lines, too.
    ends = """(names) => names.map((name) =>
        name.getBoundingClientRect().right - document.body.getBoundingClientRect().left)"""
    page.wait_for_timeout(100)
    assert max(page.locator(".labels b:visible").evaluate_all(ends), default=0) <= sheet


def test_bars_have_the_lines_of_their_axis(pages: Pages) -> None:
    """The line of the second number is seen above the bar: would catch lines that rows borrow and do not get."""
    page = pages.open("compare").page
    bar = page.locator("svg.bar").first.bounding_box()
    assert bar
    left = bar["x"] + bar["width"] / 4 - 3
    shot = page.screenshot(clip={"x": left, "y": bar["y"] + 1, "width": 6, "height": 2})
    shades = set(Image.open(io.BytesIO(shot)).convert("L").tobytes())
    assert min(shades) < max(shades) == 255  # noqa: PLR2004
