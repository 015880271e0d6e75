"""Tests the promises of docs/report.md about pages in a real browser."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import unicodedata
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from pypdf import PdfReader

from conftest import PAGES, PROGRAM, SMALLER, draw_all, open_all_details

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Pages


# The tables that have no title above them.
UNTITLED = """
() => [...document.querySelectorAll("div.scroll")].filter((box) => {
  const above = box.previousElementSibling;
  const title = above && (above.matches("h2, h3, h4, figcaption, summary, .tools") || above.querySelector("strong"));
  return !title && !box.closest("figure");
}).map((box) => box.getAttribute("aria-label"))
"""


# All elements that can be reached by the keyboard, in the order of the document; hidden ones cannot.
REACHABLE = """
() => {
  const all = [...document.querySelectorAll("a[href], summary, button:enabled, [tabindex='0']")];
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


def parsed(file: Path) -> list[list[str]]:
    """Read a saved table."""
    return list(csv.reader(io.StringIO(file.read_text(encoding="utf-8"), newline=""), strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_asked_for_and_nothing_is_complained_of(pages: Pages, name: str) -> None:
    """The browser reads only the file itself, and the console stays empty."""
    seen = pages.open(name)
    draw_all(seen.page)
    open_all_details(seen.page)
    seen.page.wait_for_load_state("networkidle")
    elsewhere = [url for url in seen.requests if not url.startswith("data:")]
    assert elsewhere == [pages.files[name].as_uri()]
    assert seen.messages == []
    assert seen.page.locator("iframe, object, embed, script[src]").count() == 0


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


def test_the_script_is_the_one_that_the_policy_names(pages: Pages) -> None:
    """The hash in the policy is that of the page's script, and of no other."""
    page = pages.open("run").page
    script = page.locator("script:not([type])")
    assert script.count() == 1
    digest = base64.b64encode(hashlib.sha256(script.inner_html().encode()).digest()).decode()
    policy = page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute("content") or ""
    assert f"script-src 'sha256-{digest}'" in policy


def test_without_its_script_a_page_has_the_answer_and_the_numbers(pages: Pages) -> None:
    """The picture of the answer and the tables need no script."""
    for name in ("compare", "run", "sweep"):
        page = pages.open(name, script=False).page
        bars = page.locator("table.bars").first
        assert bars.locator("tbody tr").count() >= 1
        assert bars.locator("svg.bar rect").count() >= 1
        assert page.locator("div.scroll table").count() >= 1
        assert page.get_by_text("needs the page's script").count() >= 1
        seen = pages.open(name).page
        assert seen.get_by_text("needs the page's script").count() == 0


def test_downloads_hold_what_is_shown(pages: Pages) -> None:
    """A table that is saved is the one that is shown, with all digits."""
    page = pages.open("compare").page
    open_all_details(page)
    for part in page.locator(".records").all():
        part.get_by_role("button", name="Table").click()
        with page.expect_download() as saved:
            part.get_by_role("button", name="CSV").click()
        rows = parsed(saved.value.path())
        cells = "[...row.cells].map((cell) => cell.querySelector('data')?.value ?? cell.innerText)"
        shown = part.locator("table tr").evaluate_all(f"(rows) => rows.map((row) => {cells})")
        assert len(rows) > 1
        assert rows == shown


def test_saved_series_are_those_that_were_recorded(pages: Pages, files: dict[str, Path]) -> None:
    """The data of a chart has the run's packets, whole, and its times: `--series` of the same run has the same."""
    page = pages.open("run").page
    draw_all(page)
    with page.expect_download() as saved:
        page.locator("figure.part").first.get_by_role("button", name="CSV").click()
    ours = parsed(saved.value.path())
    with (files["run"].parent / "run.queues.csv").open(encoding="utf-8", newline="") as file:
        theirs = [row for row in csv.DictReader(file) if row["queue"] == "bottleneck"]
    assert len(ours) == len(theirs) + 1
    for (time, packets, *_), expected in zip(ours[1:], theirs, strict=True):
        assert float(time) == pytest.approx(float(expected["time_s"]), abs=1e-3)
        assert packets == expected["backlog_packets"]


def test_the_theme_can_be_changed(pages: Pages) -> None:
    """A button changes between light and dark, of the page and of its charts."""
    page = pages.open("run").page
    draw_all(page)
    colour = "() => getComputedStyle(document.body).backgroundColor"
    canvas = page.locator("canvas").first
    before = (page.evaluate(colour), canvas.evaluate("(canvas) => canvas.toDataURL()"))
    page.get_by_role("button", name="Dark").click()
    page.wait_for_function(f"(before) => ({colour})() !== before", arg=before[0])
    page.wait_for_function("(before) => document.querySelector('canvas').toDataURL() !== before", arg=before[1])


def test_pages_are_small(files: dict[str, Path]) -> None:
    """A page has at most 300 kB beyond its data, and a comparison of three disciplines is below half a megabyte."""
    for name, file in files.items():
        page = file.read_text(encoding="utf-8")
        _, _, rest = page.partition('<script type="application/json" id="data">')
        data, _, _ = rest.partition("</script>")
        assert len(page.encode()) - len(data.encode()) < 300_000, name  # noqa: PLR2004
    assert files["compare"].stat().st_size < 500_000  # noqa: PLR2004


@pytest.mark.parametrize("name", SMALLER)
def test_the_page_is_as_wide_as_the_window(pages: Pages, name: str) -> None:
    """Only tables and code scroll sideways, each in its own box."""
    page = pages.open(name).page
    draw_all(page)
    open_all_details(page)
    for width in (320, 360, 768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("name", SMALLER)
def test_axe_finds_nothing(pages: Pages, name: str) -> None:
    """No rule of axe-core is violated, contrast included, with all unfolded, narrow and dark, and wide and light."""
    page = pages.open(name).page
    draw_all(page)
    open_all_details(page)
    # The rows of a table are alike.
    page.evaluate("() => document.querySelectorAll('tbody tr:nth-child(n + 4)').forEach((row) => row.remove())")
    for width, dark in ((360, True), (1280, False)):
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
    draw_all(page)
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
    """A printed page has every heading and every chart, dark on white, and no interactive elements."""
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
    heights = "(figures) => figures.map((figure) => figure.offsetHeight)"
    taller = sum(height > 950 for height in page.locator("figure:not(:has(figure))").evaluate_all(heights))  # noqa: PLR2004
    assert taller == 0, "a figure that no sheet can hold"


@pytest.mark.parametrize("name", PAGES)
def test_every_table_has_a_title(pages: Pages, name: str) -> None:
    """Would catch "Differences from the first, run by run", which only screen readers were told."""
    page = pages.open(name).page
    open_all_details(page)
    assert page.evaluate(UNTITLED) == []


def test_a_table_shows_that_it_goes_on(pages: Pages) -> None:
    """A table that a phone cuts has a shadow at its end, which is gone when the end is seen."""
    page = pages.open("compare", 360).page
    box = page.locator("div.scroll").first
    box.scroll_into_view_if_needed()
    assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") > 100  # noqa: PLR2004

    def edge() -> int:
        place = box.bounding_box()
        assert place
        shot = page.screenshot(
            clip={"x": place["x"] + place["width"] - 3, "y": place["y"] + 2, "width": 2, "height": 6}
        )
        return min(Image.open(io.BytesIO(shot)).convert("L").tobytes())

    hidden = edge()
    box.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    assert (hidden < 230, edge() > 250) == (True, True)  # noqa: PLR2004


def test_a_long_report_is_folded(pages: Pages, tmp_path: Path) -> None:
    """The sections of a characterization are a list of titles, which links and a button unfold, and paper has all."""
    file = tmp_path / "report.html"
    command = [
        "characterize",
        "choke",
        "--quick",
        "--only",
        "friendly,mild,unresponsive",
        "--runs",
        "1",
        "--html",
        str(file),
    ]
    subprocess.run([PROGRAM, *command], check=True, capture_output=True)  # noqa: S603
    seen = pages.open_file(file)
    page = seen.page
    folds = page.locator("details.fold")
    is_open = "(folds) => folds.map((fold) => fold.open)"
    assert folds.evaluate_all(is_open) == [False, False, False]
    assert page.evaluate("() => document.documentElement.scrollHeight") < 5000  # noqa: PLR2004
    page.locator("main table a", has_text="mild").click()
    page.wait_for_function("() => document.querySelector('#mild .fold').open")
    assert folds.evaluate_all(is_open).count(True) == 1
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    assert folds.evaluate_all(is_open) == [True, True, True]
    page.evaluate("() => dispatchEvent(new Event('afterprint'))")
    assert folds.evaluate_all(is_open).count(True) == 1
    page.get_by_role("button", name="Unfold all").click()
    assert folds.evaluate_all(is_open) == [True, True, True]
    assert page.evaluate(UNTITLED) == []
    names = page.locator("#mild .legend").first.locator("svg.dash line")
    assert names.count() == 2  # noqa: PLR2004
    assert names.last.evaluate("(line) => getComputedStyle(line).stroke") != "none"
    # An address leads into a section.
    page.goto(f"{file.as_uri()}#unresponsive")
    page.reload()
    assert page.locator("#unresponsive .fold").evaluate("(fold) => fold.open")
    assert seen.messages == []
