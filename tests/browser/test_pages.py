"""Tests the promises of docs/report.md about pages in a real browser."""

from __future__ import annotations

import base64
import csv
import io
import itertools
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from pypdf import PdfReader

from conftest import PAGES, SMALLER

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from conftest import Pages

# The boxes of the visible shapes of each figure, as clipped by the renderer, and the view box that must contain them.
FIGURES = """
() => [...document.querySelectorAll("figure")].map((figure) => {
  const svg = [...figure.querySelectorAll("svg")].find((svg) => svg.getClientRects().length > 0);
  const view = svg.viewBox.baseVal;
  const limit = (element) => {
    const named = element.closest("[clip-path]");
    const id = named && named.getAttribute("clip-path").match(/#([^)]+)/)[1];
    return id ? document.getElementById(id).querySelector("rect").getBBox() : view;
  };
  const box = (element) => {
    const toView = svg.getScreenCTM().inverse();
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const [a, b] = [[left, top], [right, bottom]].map(([x, y]) => new DOMPoint(x, y).matrixTransform(toView));
    const clip = limit(element);
    return {
      left: Math.max(a.x, clip.x), top: Math.max(a.y, clip.y),
      right: Math.min(b.x, clip.x + clip.width), bottom: Math.min(b.y, clip.y + clip.height),
      text: element.textContent,
    };
  };
  const all = (names) => [...svg.querySelectorAll(names)];
  const series = (element) =>
    ["fill", "stroke"].some((name) => (element.getAttribute(name) || "").startsWith("var(--series"));
  return {
    title: figure.querySelector("figcaption strong").textContent,
    name: document.getElementById(svg.getAttribute("aria-labelledby"))?.textContent,
    role: svg.getAttribute("role"),
    view: { width: view.width, height: view.height },
    shapes: all("path, rect, circle, polygon, polyline, line").filter(series).map(box),
    texts: all("text").map(box),
    rows: figure.querySelectorAll("details.data tbody tr").length,
  };
})
"""

# Every link to a table, with the table beside it, whose numbers have all their digits.
TABLES = """
() => [...document.querySelectorAll('a[download$=".csv"]')].flatMap((link) => {
  const figure = link.closest("figure");
  const beside = figure ? figure.querySelector("details.data") : link.parentElement.previousElementSibling;
  const table = beside && beside.querySelector("table");
  if (!table) return [];
  const text = (cell) => {
    const words = cell.cloneNode(true);
    words.querySelectorAll("[aria-hidden]").forEach((sign) => sign.remove());
    return words.querySelector("data")?.getAttribute("value") ?? words.textContent;
  };
  const rows = [...table.rows].map((row) => [...row.cells].map(text));
  return [{ name: link.download, href: link.href, rows }];
})
"""

# All elements that can be reached by the keyboard, in the order of the document; hidden ones cannot.
REACHABLE = """
() => {
  const all = [...document.querySelectorAll("a[href], summary, [tabindex='0']")];
  const seen = all.filter((element) => element.checkVisibility({ contentVisibilityAuto: true }));
  seen.forEach((element, index) => element.setAttribute("data-place", index));
  return seen.length;
}
"""

# The element with the focus, and whether the focus is visible.
FOCUSED = """
() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return [document.activeElement.getAttribute("data-place"), outlineStyle !== "none" && outlineWidth !== "0px"];
}
"""


def parsed(href: str) -> list[list[str]]:
    """Read the table contained in a link's address."""
    kind, _, data = href.partition(",")
    assert kind == "data:text/csv;charset=utf-8;base64", kind
    text = base64.b64decode(data, validate=True).decode("utf-8")
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def open_all_details(page: Page) -> None:
    """Unfold all folded parts."""
    page.evaluate("() => document.querySelectorAll('details').forEach((details) => { details.open = true; })")


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_for_and_nothing_is_complained_of(pages: Pages, name: str) -> None:
    """The browser reads only the file itself, and the console stays empty."""
    seen = pages.open(name)
    open_all_details(seen.page)
    seen.page.wait_for_load_state("networkidle")
    elsewhere = [url for url in seen.requests if not url.startswith("data:")]
    assert elsewhere == [pages.files[name].as_uri()]
    assert seen.messages == []
    assert seen.page.locator("script, iframe, object, embed").count() == 0


def test_the_policy_refuses_what_a_page_must_not_do(pages: Pages, tmp_path: Path) -> None:
    """External resources are blocked, and the test above would detect them."""
    page = pages.files["compare"].read_text(encoding="utf-8")
    for smuggled in (
        '<img src="https://fairlane.invalid/pixel.png" alt="">',
        '<link rel="stylesheet" href="https://fairlane.invalid/style.css">',
        "<script>document.title = 'owned'</script>",
    ):
        file = tmp_path / "smuggled.html"
        file.write_text(page.replace("</main>", f"{smuggled}</main>"), encoding="utf-8")
        seen = pages.open_file(file)
        assert any("Content Security Policy" in message for message in seen.messages), smuggled
        assert seen.page.title() != "owned"


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_shows_something_within_its_bounds(pages: Pages, name: str) -> None:
    """A figure has shapes in the colours of its series, text that is not cut, a name and a table."""
    page = pages.open(name).page
    for width in (360, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        figures: list[dict[str, Any]] = page.evaluate(FIGURES)
        assert figures, "no figures"
        for figure in figures:
            title = figure["title"]
            assert (figure["role"], figure["name"]) == ("img", title)
            assert figure["rows"] > 0, f"{title}: no data"
            assert figure["shapes"], f"{title}: nothing is drawn"
            for box in figure["shapes"] + figure["texts"]:
                assert is_inside(box, figure["view"]), f"{title}: {box} lies outside of {figure['view']}"
            for one, other in itertools.combinations(figure["texts"], 2):
                assert are_apart(one, other), f"{title}: {one['text']} lies upon {other['text']}"


def is_inside(box: dict[str, float], view: dict[str, float]) -> bool:
    """Return true if a box lies within the view, with an invisible tolerance."""
    slack = 1.0
    return (
        min(box["left"], box["top"]) >= -slack
        and box["right"] <= view["width"] + slack
        and box["bottom"] <= view["height"] + slack
    )


def are_apart(one: dict[str, float], other: dict[str, float]) -> bool:
    """Return true if two texts do not cover each other; a box is higher than its letters."""
    across = min(one["right"], other["right"]) - max(one["left"], other["left"])
    down = min(one["bottom"], other["bottom"]) - max(one["top"], other["top"])
    return across <= 1.0 or down <= 4.0  # noqa: PLR2004


@pytest.mark.parametrize("name", PAGES)
def test_downloads_hold_what_is_shown(pages: Pages, name: str) -> None:
    """Each CSV can be parsed, and equals the table beside it."""
    tables: list[dict[str, Any]] = pages.open(name).page.evaluate(TABLES)
    assert tables
    for table in tables:
        rows = parsed(table["href"])
        assert len(rows) > 1, table["name"]
        assert rows == table["rows"], table["name"]


def test_a_click_saves_the_file(pages: Pages) -> None:
    """A link to data saves it under its own name, and does not leave the page."""
    page = pages.open("compare").page
    for ending, begin in ((".csv", b"bottleneck,group,"), (".svg", b"<svg ")):
        link = page.locator(f'a[download$="{ending}"]').first
        open_all_details(page)
        with page.expect_download() as saved:
            link.click()
        assert saved.value.suggested_filename.endswith(ending)
        assert saved.value.path().read_bytes().startswith(begin)


@pytest.mark.parametrize("name", SMALLER)
def test_the_page_is_as_wide_as_the_window(pages: Pages, name: str) -> None:
    """Only tables and code scroll sideways, each in its own box."""
    page = pages.open(name).page
    open_all_details(page)
    for width in (320, 360, 768, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", SMALLER)
def test_axe_finds_nothing(pages: Pages, name: str) -> None:
    """No rule of axe-core is violated, contrast included, with everything unfolded, light and dark, narrow and wide."""
    page = pages.open(name).page
    open_all_details(page)
    # The rows of a table are alike.
    page.evaluate("() => document.querySelectorAll('tbody tr:nth-child(n + 4)').forEach((row) => row.remove())")
    for width, dark in itertools.product((360, 1600), (False, True)):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme="dark" if dark else "light")
        results = Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
        colour = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        red = int(colour.removeprefix("rgb(").split(",")[0])
        assert (red < 64) == dark, colour  # noqa: PLR2004


@pytest.mark.parametrize("name", SMALLER)
def test_the_keyboard_reaches_everything(pages: Pages, name: str) -> None:
    """Tab reaches every link, fold and box in the document's order, and the focus is visible."""
    page = pages.open(name).page
    count = page.evaluate(REACHABLE)
    for place in range(count):
        page.keyboard.press("Tab")
        assert page.evaluate(FOCUSED) == [str(place), True]


def test_the_first_link_skips_to_the_content(pages: Pages) -> None:
    """A link skips the table of contents."""
    page = pages.open("compare").page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_to_places_that_are_there(pages: Pages, name: str) -> None:
    """Every link within the page has a target, and no two elements share an id."""
    page = pages.open(name).page
    targets: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('a[href^=\"#\"]')].map((link) => link.getAttribute('href').slice(1))"
    )
    names: list[str] = page.evaluate("() => [...document.querySelectorAll('[id]')].map((element) => element.id)")
    assert len(names) == len(set(names))
    assert set(targets) <= set(names)


@pytest.mark.parametrize("name", SMALLER)
def test_paper_has_all_of_it(pages: Pages, name: str, tmp_path: Path) -> None:
    """A printed page has every heading and every figure, dark on white, and no interactive elements."""
    page = pages.open(name, mode="dark").page
    file = tmp_path / "page.pdf"
    page.pdf(path=file, format="A4")
    # Splits ligatures, such as fl, into their letters.
    printed = unicodedata.normalize("NFKC", "".join(sheet.extract_text() for sheet in PdfReader(file).pages))
    printed = "".join(printed.split())
    for text in page.locator("h1, h2, figcaption strong").all_inner_texts():
        words = "".join(unicodedata.normalize("NFKC", text).removesuffix("#").split())
        assert words in printed, text
    assert "Skiptothecontent" not in printed
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    taller = page.evaluate(
        "() => [...document.querySelectorAll('figure')].filter((figure) => figure.offsetHeight > 950).length"
    )
    assert taller == 0, "a figure that no sheet can hold"
