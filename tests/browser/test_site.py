"""Tests the site of the documentation in a real browser. `make docs` builds it, and runs these tests."""

from __future__ import annotations

import functools
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest
from axe_playwright_python.sync_playwright import Axe
from skip import because

from conftest import ROOT, Pages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

SITE = ROOT / "target/docs"
# A page of prose, one with wide tables, one with figures.
KINDS = ["index.html", "disciplines.html", "papers/choke.html"]


class Site(Pages):
    """Opens pages of the site."""

    def __init__(self, browser: Browser, base: str) -> None:
        """Remember the browser and the address of the site."""
        super().__init__(browser, {})
        self.base = base


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, *_arguments: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Serve the folder of `make docs`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def site(browser: Browser, address: str) -> Iterator[Site]:
    """Open pages, and close them when the test has ended."""
    site = Site(browser, address)
    yield site
    site.close()


@pytest.mark.parametrize(("width", "mode"), [(360, "dark"), (1280, "light")])
@pytest.mark.parametrize("kind", KINDS)
def test_pages_can_be_read(site: Site, kind: str, width: int, mode: str) -> None:
    """A page fits the screen, says nothing in the console, asks no other host, and axe finds nothing in it."""
    seen = site.open_address(site.base + kind, width, mode)
    seen.page.wait_for_load_state("networkidle")
    assert seen.page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    # The frame around the page is mdBook's. Tables in Markdown have a heading of columns even where it is empty.
    found = Axe().run(seen.page, "main", {"rules": {"empty-table-header": {"enabled": False}}})
    assert not found.response["violations"], found.generate_report()
    assert not seen.messages
    assert all(request.startswith((site.base, "data:")) for request in seen.requests)


def test_search_finds_what_a_page_says(site: Site) -> None:
    """Words of a page lead to it."""
    page = site.open_address(site.base).page
    page.keyboard.press("s")
    page.keyboard.type("drop bit")
    result = page.locator("#mdbook-searchresults a", has_text="choke-drop-bit").first
    result.wait_for()
    result.click()
    page.wait_for_url("**/papers/choke.html*")


def test_the_playground_is_beside_the_pages(site: Site) -> None:
    """The first page leads to a playground that runs."""
    if not (SITE / "playground").is_dir():
        because("playground", "the site was built without a playground")
    seen = site.open_address(site.base)
    seen.page.click("text=Open the playground")
    seen.page.wait_for_function("() => window.playground !== undefined && window.playground.now > 0")
    assert not seen.messages
