"""Pages made by the program, and a browser to look at them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import sync_playwright
from skip import because, pytest_configure, pytest_runtest_makereport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

__all__ = ["pytest_configure", "pytest_runtest_makereport"]

ROOT = Path(__file__).resolve().parents[2]
PLAYGROUND = ROOT / "target/web"
PROGRAM = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# Nothing but the page: no profile, no updates, no search for other hosts.
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# A name that would be markup if it were not escaped, and one as long as a name may be.
SCENARIO = """
name = "<b>A & B</b> \\"quoted\\" <script>alert(1)</script>"
duration = "4s"
warmup = "1s"

[bottleneck]
rate = "1mbit"
delay = "1ms"
queue = { kind = "choke", limit = "100p", min = "20p", max = "40p" }

[[flows]]
name = "ftp"
kind = "tcp"
count = 3

[[flows]]
name = "a-group-whose-name-is-as-long-as-any-name-may-be-and-fits-nowher"
kind = "udp"
rate = "2mbit"
"""

CAPTURE = str(ROOT / "crates/capture/tests/data/linux-tcp.pcap")
FIGURE_3 = str(ROOT / "scenarios/choke-fig3.toml")
SHORT = ["--set", "duration=20s", "--set", "warmup=5s"]
VARY = ["--vary", "flows.cbr.rate=100kbit..10mbit/5log", "--vary", "bottleneck.queue.kind=red,choke"]
KINDS = "bottleneck.queue.kind=droptail,red,choke,gchoke,xchoke,codel,pie,fq-codel"

# The command of each page.
COMMANDS = {
    "compare": ["compare", *SHORT, "--runs", "3"],
    "compare-all": ["compare", *SHORT, "--queue", "all", "--runs", "1"],
    # The series has the interval of the page's charts.
    "run": ["run", FIGURE_3, *SHORT, "--series", "{folder}/run.csv", "--interval", "25ms"],
    "run-names": ["run", "{names}", "--runs", "2"],
    "sweep": ["sweep", FIGURE_3, *SHORT, *VARY, "--runs", "3"],
    "sweep-kinds": ["sweep", FIGURE_3, *SHORT, "--vary", KINDS],
    "papers": ["paper", "run", "choke-fig3", "choke-fig5", "--short"],
    "replay": ["replay", CAPTURE, "--rate", "5mbit", "--queue", "droptail,choke", "limit=100p"],
}
PAGES = list(COMMANDS)
# The pages for slow tests, without those that only have more of the same.
SMALLER = [name for name in PAGES if name not in ("compare-all", "replay")]


# Draws every chart, also those far below the window.
ALL = """
async () => {
  for (let y = 0; y < document.documentElement.scrollHeight; y += 900) {
    scrollTo(0, y);
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
  }
  scrollTo(0, 0);
  await new Promise(requestAnimationFrame);
}
"""


def open_all_details(page: Page) -> None:
    """Unfold all folded parts."""
    page.evaluate("() => document.querySelectorAll('details').forEach((details) => { details.open = true; })")


def draw_all(page: Page) -> None:
    """Draw every chart."""
    page.evaluate(ALL)


@dataclass
class Seen:
    """An open page, and the browser's messages about it."""

    page: Page
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


class Pages:
    """Opens each page in its own context."""

    def __init__(self, browser: Browser, files: dict[str, Path]) -> None:
        """Remember the browser and the pages' files."""
        self.browser = browser
        self.files = files

    def open(self, name: str, width: int = 1280, mode: str = "light", *, script: bool = True) -> Seen:
        """Open the page called `name`, with or without its script, and record all requests and messages."""
        return self.open_file(self.files[name], width, mode, script=script)

    def open_file(self, file: Path, width: int = 1280, mode: str = "light", *, script: bool = True) -> Seen:
        """Open a file."""
        return self.open_address(file.as_uri(), width, mode, script=script)

    def open_address(self, address: str, width: int = 1280, mode: str = "light", *, script: bool = True) -> Seen:
        """Open an address."""
        context = self.browser.new_context(
            java_script_enabled=script,
            viewport={"width": width, "height": 900},
            color_scheme="dark" if mode == "dark" else "light",
        )
        seen = Seen(context.new_page())
        context.on("request", lambda request: seen.requests.append(request.url))
        seen.page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        seen.page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
        seen.page.goto(address)
        return seen

    def close(self) -> None:
        """Close all pages."""
        for context in self.browser.contexts:
            context.close()


def find_browser() -> str | None:
    """Find the browser of $CHROMIUM, or the first of those that systems have."""
    wanted = os.environ.get("CHROMIUM")
    return shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, BROWSERS)), None)


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Make every page."""
    folder = tmp_path_factory.mktemp("pages")
    names = folder / "names.toml"
    names.write_text(SCENARIO, encoding="utf-8")
    made = {}
    for name, command in COMMANDS.items():
        file = folder / f"{name}.html"
        state = ["--state", str(folder / "state")] if command[0] == "paper" else []
        words = [
            str(PROGRAM),
            *(word.format(names=names, folder=folder) for word in command),
            *state,
            "--html",
            str(file),
        ]
        # The page is also written for a claim whose short form falls short (1) or is not decided (3).
        done = subprocess.run(words, check=False, capture_output=True, text=True)  # noqa: S603
        assert done.returncode in ((0, 1, 3) if command[0] == "paper" else (0,)), done.stderr
        made[name] = file
    return made


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the browser; without one the tests are skipped, or fail where they are required."""
    executable = find_browser()
    if executable is None:
        because("chromium", "there is no Chromium: scripts/setup installs one, or set CHROMIUM to yours")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def pages(browser: Browser, files: dict[str, Path]) -> Iterator[Pages]:
    """Open pages, and close them when the test has ended."""
    pages = Pages(browser, files)
    yield pages
    pages.close()


class Playground(Pages):
    """Opens the playground in the state of an address."""

    def __init__(self, browser: Browser, base: str) -> None:
        """Remember the browser and the address of the page."""
        super().__init__(browser, {})
        self.base = base

    def open(self, name: str = "", width: int = 1280, mode: str = "light", *, script: bool = True) -> Seen:
        """Open the page with `name` after its `#`, and wait until packets move."""
        seen = self.open_address(f"{self.base}#{name}" if name else self.base, width, mode, script=script)
        if script:
            seen.page.wait_for_function("() => window.playground !== undefined && window.playground.now > 0")
        return seen


@pytest.fixture(scope="session")
def base() -> Iterator[str]:
    """Serve the playground as `fairlane playground` does; without it the tests are skipped."""
    if not (PLAYGROUND / "fairlane.wasm").is_file():
        because("playground", "there is no playground: make web builds it")
    with subprocess.Popen([PROGRAM, "playground"], stdout=subprocess.PIPE, text=True) as serving:  # noqa: S603
        assert serving.stdout is not None
        said = serving.stdout.readline()
        found = re.fullmatch(r"The playground is at (http://127\.0\.0\.1:\d+/) until Ctrl-C\n", said)
        assert found is not None, f"{said!r}: was the program built before the page?"
        yield found.group(1)
        serving.terminate()


@pytest.fixture
def playground(browser: Browser, base: str) -> Iterator[Playground]:
    """Open the playground, and close it when the test has ended."""
    playground = Playground(browser, base)
    yield playground
    playground.close()
