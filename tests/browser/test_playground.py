"""Tests the promises of docs/playground.md about the playground in a real browser."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe

from conftest import PLAYGROUND, PROGRAM, ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from conftest import Playground, Seen

PRESETS = ["figure-3", "figure-5", "bully", "bufferbloat", "bullies", "web", "echo"]
STEPS = 7
# Bytes of all files, each compressed as servers do.
MOST_BYTES = 800_000
MOST_BYTES_OF_A_PICTURE = 1_000_000
# Bytes by which the page may grow while it runs: room for what the browser allocates in blocks.
MOST_GROWTH = 4_000_000
MOST_GROWTH_OF_PROCESS = 40_000_000

WRONG = """duration = "4s"
warmup = "1s"

[bottleneck]
rate = "1mbt"

[[flows]]
name = "ftp"
kind = "tcp"
"""

CROWD = """max_flows = 2000000
duration = "4s"

[bottleneck]
rate = "1gbit"
delay = "1ms"

[[flows]]
name = "crowd"
kind = "tcp"
count = 1000000
"""

# Runs a request in a worker of the page, and returns the outcome as JSON.
OUTCOME = """
([file, kind, runs]) => new Promise((resolve, reject) => {
  const worker = new Worker("batch.js", { type: "module" });
  worker.onmessage = ({ data }) => {
    if (data.type === "outcome") resolve(data.json);
    if (data.type === "refused") reject(data.text);
  };
  worker.postMessage({ request: { file, settings: [], kind }, runs });
})
"""

# The fraction of the first queue's canvas that is not empty.
PAINTED = """
() => {
  const canvas = document.querySelector("canvas.queue");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let painted = 0;
  for (let at = 3; at < data.length; at += 4) painted += data[at] > 0 ? 1 : 0;
  return painted / (data.length / 4);
}
"""

# The page pauses, and nothing that was asked for before is under way.
STILL = "() => window.playground.still()"

# Waits for two frames: what had arrived before the first is painted.
FRAME_LATER = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# What the page knows of its scenarios.
KNOWN = "() => JSON.stringify(window.playground.infos)"

# The part of that canvas which packets cover at least.
LEAST_PAINTED = 0.02

# The text that is selected in the field with the focus.
SELECTED = """
() => {
  const { value, selectionStart, selectionEnd } = document.activeElement;
  return value.slice(selectionStart, selectionEnd);
}
"""

# The states of a picture's animations.
ANIMATIONS = "() => document.getAnimations().map((animation) => animation.playState)"

# The 50th and the 95th percentile of the times between frames in milliseconds.
FRAMES = """
() => {
  const frames = window.playground.frames.slice(20).sort((a, b) => a - b);
  return [0.5, 0.95].map((part) => frames[Math.floor(part * frames.length)] ?? 0);
}
"""


def native(*words: str) -> Any:  # noqa: ANN401 - JSON is of any type
    """Return what the program prints as JSON, without the cost of each outcome."""
    done = subprocess.run([str(PROGRAM), *words, "--json"], check=True, capture_output=True, text=True)  # noqa: S603
    printed = json.loads(done.stdout)
    for outcome in printed.get("outcomes", [printed]):
        outcome.pop("cost")
    return printed


def now(page: Page) -> float:
    """Return the simulated time."""
    return float(page.evaluate("() => window.playground.now"))


def starts(page: Page) -> int:
    """Return how often a scenario has begun."""
    return int(page.evaluate("() => window.playground.starts"))


def infos(page: Page) -> list[dict[str, Any]]:
    """Return what the page knows of its scenarios."""
    return list(page.evaluate("() => window.playground.infos"))


def address(page: Page) -> str:
    """Return the part of the address after `#`, when it has settled."""
    page.wait_for_timeout(250)
    return page.url.partition("#")[2]


def check_quiet(seen: Seen, base: str) -> None:
    """Check that the console is empty and that nothing but the page's own files was asked for."""
    assert not seen.messages
    assert all(request.startswith((base, "data:", "blob:")) for request in seen.requests)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_run_without_a_message(playground: Playground, preset: str) -> None:
    """Each preset runs for ten simulated seconds, at three times real time and then faster; the console is empty."""
    seen = playground.open(f"preset={preset}&speed=3")
    for _ in range(3):
        seen.page.keyboard.press("]")
    seen.page.wait_for_function("() => window.playground.now > 10")
    check_quiet(seen, playground.base)
    # Pages leave the queue empty at times.
    seen.page.wait_for_function(f"() => ({PAINTED})() > {LEAST_PAINTED}", polling=100)
    assert seen.page.locator(".shares .value").first.text_content()


def test_frames_are_in_time(playground: Playground) -> None:
    """Prints the time of the first picture, and the times between frames at 10 Mbit/s with 50 flows."""
    seen = playground.open("preset=bully&set=flows.download.count=49&queue=droptail,choke&speed=1")
    seen.page.wait_for_timeout(5_000)
    first = seen.page.evaluate("() => window.playground.first")
    half, most = seen.page.evaluate(FRAMES)
    assert first > 0
    print(  # noqa: T201 - a measurement
        f"\nfirst picture after {first:.0f} ms; time between frames: median {half:.1f} ms, 95 % within {most:.1f} ms"
    )
    check_quiet(seen, playground.base)


@pytest.mark.parametrize("kind", ["choke", "red"])
def test_outcomes_are_those_of_the_native_program(playground: Playground, kind: str) -> None:
    """Figure 3 after 120 simulated seconds: every number of the outcome, digit by digit."""
    page = playground.open().page
    outcome = json.loads(page.evaluate(OUTCOME, ["choke-fig3", kind, 1]))
    printed = native("run", "choke-fig3", "--set", f"bottleneck.queue.kind={kind}")
    assert outcome == printed.get("outcomes", [printed])[0]


def test_runs_with_intervals_are_those_of_the_command_that_is_shown(playground: Playground, tmp_path: Path) -> None:
    """The file of the 30 runs holds the outcomes that the printed command gives."""
    page = playground.open("preset=figure-3&queue=red,choke&set=duration=6s&set=warmup=1s").page
    page.click("#runs-open")
    page.wait_for_selector("#runs-save:enabled", timeout=60_000)
    assert page.locator("#runs-table tbody tr").count() == 4  # noqa: PLR2004 - two groups on two sides
    assert "±" in (page.locator("#runs-table td").nth(1).text_content() or "")
    with page.expect_download() as download:
        page.click("#runs-save")
    file = tmp_path / "outcomes.json"
    download.value.save_as(file)
    words = (page.text_content("#runs-about") or "").partition("fairlane ")[2].split()
    saved = json.loads(file.read_text(encoding="utf-8"))
    for outcome, expected in zip(saved["outcomes"], native(*words)["outcomes"], strict=True):
        assert {key: expected[key] for key in outcome} == outcome


def test_every_slider_acts(playground: Playground) -> None:
    """A slider changes the scenario and the address; those that act at once do not start it again."""
    page = playground.open("preset=figure-3&speed=2").page
    sliders = page.locator("#controls input")
    # Rate, round trip, two numbers of flows, the flood's rate, three thresholds, ECN.
    assert sliders.count() == 9  # noqa: PLR2004
    for number in range(sliders.count()):
        slider = sliders.nth(number)
        name = slider.get_attribute("id") or ""
        before, begun, known = address(page), starts(page), page.evaluate(KNOWN)
        if slider.get_attribute("type") == "checkbox":
            slider.press("Space")
        else:
            slider.press("ArrowLeft" if name == "control-min" else "ArrowRight")
        page.wait_for_function("(before) => location.hash.slice(1) !== before", arg=before)
        page.wait_for_function(f"(known) => ({KNOWN})() !== known", arg=known)
        live = page.locator(f"label[for='{name}'] .again").count() == 0
        assert (starts(page) == begun) == live, name
    assert not page.locator("#message").is_visible()


def test_the_address_restores_the_state(playground: Playground) -> None:
    """A link shows what its sender saw: scenario, values, disciplines, speed; also of a scenario of one's own."""
    page = playground.open("preset=bully&speed=0.5&queue=codel,echo&set=bottleneck.rate=7mbit").page
    page.locator("#control-download-count").press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('download.count=21')")
    again = playground.open(address(page)).page
    assert address(again) == address(page)
    assert infos(again) == infos(page)
    assert [info["kind"] for info in infos(again)] == ["codel", "echo"]
    page.click("#toml-open")
    page.wait_for_selector("#toml[open]")
    text = page.input_value("#toml-text")
    page.fill("#toml-text", text.replace('"7mbit"', '"6mbit"').replace("One bully", "Żółw & <b>"))
    page.click("#toml-run")
    page.wait_for_selector("#toml", state="hidden")
    other = playground.open(address(page)).page
    assert infos(other) == infos(page)
    assert (infos(other)[0]["name"], infos(other)[0]["rate_bps"]) == ("Żółw & <b>", 6_000_000)


def test_damaged_addresses_leave_a_page_that_works(playground: Playground) -> None:
    """With any text after `#`, packets move; mistakes are reported."""
    for damage in [
        "toml=%25",
        "toml=AAAA",
        "queue=,,",
        "scenario=no-such",
        "queue=no-such",
        "set=x=1",
        "tour=99&speed=-1",
    ]:
        seen = playground.open(damage)
        check_quiet(seen, playground.base)
        silent = damage in ("queue=,,", "tour=99&speed=-1")
        assert seen.page.locator("#message").is_visible() != silent, damage
        playground.close()


def test_errors_are_those_of_the_command_line(playground: Playground, tmp_path: Path) -> None:
    """A wrong text gets the command line's message, at its line, and the simulation goes on."""
    page = playground.open().page
    page.click("#toml-open")
    page.wait_for_selector("#toml[open]")
    page.fill("#toml-text", WRONG)
    page.click("#toml-run")
    page.wait_for_selector("#toml-error:not([hidden])")
    (tmp_path / "mine.toml").write_text(WRONG, encoding="utf-8")
    done = subprocess.run(  # noqa: S603
        [str(PROGRAM), "check", "mine.toml"], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    message = " ".join(done.stderr.split()).removeprefix("error: ")
    assert page.text_content("#toml-error") == message
    assert message.startswith("mine.toml:5:")
    assert page.locator("#toml-lines .wrong").text_content() == "5\n"
    assert page.evaluate(SELECTED) == 'rate = "1mbt"'
    page.fill("#toml-text", CROWD)
    page.click("#toml-run")
    page.wait_for_function("() => document.getElementById('toml-error').textContent.includes('2000 flows at most')")
    page.keyboard.press("Escape")
    at = now(page)
    page.wait_for_function("(at) => window.playground.now > at", arg=at)


def test_the_command_line_gives_the_scenario(playground: Playground, tmp_path: Path) -> None:
    """The printed command runs, with the values of the sliders."""
    page = playground.open("preset=figure-5&queue=red,choke&set=flows.cbr.rate=3mbit").page
    page.click("#command-open")
    words = (page.text_content("#command-text") or "").split()[1:]
    outcomes = native(*words, "--set", "duration=3s", "--set", "warmup=1s", "--runs", "1")["outcomes"]
    assert [outcome["queues"][0]["kind"] for outcome in outcomes] == ["red", "choke"]
    page.keyboard.press("Escape")
    page.click("#toml-open")
    page.wait_for_selector("#toml[open]")
    file = tmp_path / "mine.toml"
    file.write_text(page.input_value("#toml-text"), encoding="utf-8")
    printed = native("run", str(file), "--set", "duration=3s", "--set", "warmup=1s")
    assert printed.get("outcomes", [printed])[0]["groups"][1]["fair_bps"] > 0


def test_the_tour_has_seven_steps(playground: Playground) -> None:
    """Each step shows its text in a separate state, and leaves no message."""
    seen = playground.open()
    page = seen.page
    page.keyboard.press("t")
    titles = set()
    for step in range(1, STEPS + 1):
        page.wait_for_function("(step) => location.hash.includes(`tour=${step}`)", arg=step)
        titles.add(page.text_content("#tour-title"))
        page.wait_for_timeout(300)
        page.click("#tour-next")
    page.wait_for_selector("#tour", state="hidden")
    assert len(titles) == STEPS
    check_quiet(seen, playground.base)


def test_keys_do_what_the_page_says(playground: Playground) -> None:
    """Space pauses, an arrow goes on by a packet, brackets change the speed, R starts again."""
    page = playground.open("speed=1").page
    page.keyboard.press(" ")
    page.wait_for_function(STILL)
    at = now(page)
    page.wait_for_timeout(300)
    assert now(page) == at
    page.keyboard.press("ArrowRight")
    page.wait_for_function("(at) => window.playground.now > at", arg=at)
    # 1000 bytes at 1 Mbit/s.
    assert now(page) - at == pytest.approx(0.008)
    page.keyboard.press("]")
    assert "speed=2" in address(page)
    page.keyboard.press("[")
    assert "speed=1" in address(page)
    page.keyboard.press("r")
    page.wait_for_function("() => window.playground.now === 0")
    page.keyboard.press(" ")
    page.wait_for_function("() => window.playground.now > 0")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_screen_is_accessible(playground: Playground, mode: str) -> None:
    """The page, a step of the tour and each dialog have no finding of axe."""
    width = 1280 if mode == "light" else 360
    page = playground.open("tour=3&preset=figure-3&queue=choke&speed=0.02", width, mode).page
    for opener in ["#toml-open", "#command-open", "#runs-open", None]:
        if opener:
            page.click(opener)
        found = Axe().run(page)
        assert not found.response["violations"], found.generate_report()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        if opener:
            page.keyboard.press("Escape")


def test_reduced_motion_still_shows_the_queue(playground: Playground) -> None:
    """Packets are where they belong at once; nothing falls or slides."""
    page = playground.open("preset=figure-3&queue=choke&speed=1").page
    page.emulate_media(reduced_motion="reduce")
    page.wait_for_function(f"() => window.playground.now > 1 && ({PAINTED})() > {LEAST_PAINTED}", polling=100)
    page.keyboard.press(" ")
    page.wait_for_function(STILL)
    # The last packets are painted in the next frame.
    page.evaluate(FRAME_LATER)
    first = page.evaluate("() => document.querySelector('canvas.queue').toDataURL()")
    page.wait_for_timeout(300)
    assert page.evaluate("() => document.querySelector('canvas.queue').toDataURL()") == first
    assert page.evaluate(PAINTED) > LEAST_PAINTED


def test_memory_is_steady(playground: Playground) -> None:
    """After the first seconds neither the page's objects nor its process, which has the simulator, grow with time."""
    seconds = int(os.environ.get("MEMORY_SECONDS", "15"))
    page = playground.open("preset=bully&speed=20").page
    session = page.context.new_cdp_session(page)
    processes = playground.browser.new_browser_cdp_session()

    def used() -> tuple[int, int]:
        session.send("HeapProfiler.collectGarbage")
        heap = int(session.send("Runtime.getHeapUsage")["usedSize"])
        found = processes.send("SystemInfo.getProcessInfo")["processInfo"]
        renderers = [Path(f"/proc/{process['id']}/statm") for process in found if process["type"] == "renderer"]
        # The second number has the pages in memory. Elsewhere than on Linux there is no such file.
        pages = sum(int(file.read_text(encoding="ascii").split()[1]) for file in renderers if file.exists())
        return heap, pages * os.sysconf("SC_PAGESIZE")

    page.wait_for_function("() => window.playground.now > 60")
    before = used()
    begin = now(page)
    page.wait_for_timeout(1_000 * seconds)
    after = used()
    heap, process = ([memory[index] / 1e6 for memory in (before, after)] for index in (0, 1))
    print(  # noqa: T201 - a measurement
        f"\nmemory over {seconds} s, {now(page) - begin:.0f} s simulated: heap {heap[0]:.1f} to {heap[1]:.1f} MB, "
        f"processes {process[0]:.0f} to {process[1]:.0f} MB"
    )
    assert after[0] - before[0] < MOST_GROWTH
    assert after[1] - before[1] < MOST_GROWTH_OF_PROCESS


def test_the_picture_of_the_readme_is_what_its_code_draws(playground: Playground, tmp_path: Path) -> None:
    """Would catch an animation that is not the simulator's any more or does not move; `make figures` draws it."""
    drawn = tmp_path / "choke.svg"
    subprocess.run([str(ROOT / "crates/web/page/picture"), str(drawn)], check=True)  # noqa: S603
    kept = ROOT / "docs/figures/choke.svg"
    assert kept.read_bytes() == drawn.read_bytes(), "the simulator gives another picture: make figures"
    assert kept.stat().st_size <= MOST_BYTES_OF_A_PICTURE
    page = playground.open_file(kept).page
    assert set(page.evaluate(ANIMATIONS)) == {"running"}
    # One picture is enough for who wants no motion.
    page.emulate_media(reduced_motion="reduce")
    assert set(page.evaluate(ANIMATIONS)) == {"paused"}


def test_the_folder_is_small(playground: Playground) -> None:
    """All files together, compressed, and no other ones."""
    assert playground.base
    files = sorted(PLAYGROUND.iterdir())
    names = ["batch.js", "fairlane.wasm", "index.html", "main.css", "main.js", "worker.js"]
    assert [file.name for file in files] == names
    assert sum(len(gzip.compress(file.read_bytes())) for file in files) <= MOST_BYTES


def test_a_preset_that_does_not_exist_is_named(playground: Playground) -> None:
    """Would catch Figure 3 in the place of a preset that was asked for and is not there."""
    message = playground.open("preset=nope").page.locator("#message")
    assert 'There is no preset "nope"; there are figure-3, figure-5, bully' in message.inner_text()


def test_no_flow_is_cut(playground: Playground) -> None:
    """Two TCPs of 5 Mbit/s are not as high as a flood of 100: would catch a ceiling at a few fair shares."""
    page = playground.open("preset=figure-3&queue=droptail&speed=20").page
    page.wait_for_function("() => window.playground.now > 30")
    page.locator("#play").click()
    page.wait_for_function("() => window.playground.still()")
    heights = page.locator("canvas.flows").first.evaluate(
        """(canvas) => {
          const { width, height } = canvas;
          const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
          const count = 33;
          return Array.from({ length: count }, (_, flow) => {
            const x = Math.round(((flow + 0.4) * width) / count);
            let coloured = 0;
            for (let y = 0; y < height; y += 1) {
              const at = 4 * (y * width + x);
              const parts = [data[at], data[at + 1], data[at + 2]];
              if (data[at + 3] > 128 && Math.max(...parts) - Math.min(...parts) > 40) coloured += 1;
            }
            return coloured;
          });
        }"""
    )
    flood = heights[-1]
    # DropTail leaves the 32 TCPs almost nothing of the link.
    assert flood > 10 * max(heights[:-1]), heights


@pytest.mark.parametrize("size", [(360, 640), (390, 844)])
def test_phones_have_the_controls_on_their_first_screen(playground: Playground, size: tuple[int, int]) -> None:
    """The first control and the playback are seen without scrolling, and the page is no wider than the window."""
    page = playground.open("preset=figure-3", size[0]).page
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for control in (page.locator("#controls input").first, page.locator("#play")):
        box = control.bounding_box()
        assert box
        assert 0 <= box["y"] <= size[1] - box["height"], box
        assert 0 <= box["x"] <= size[0] - box["width"], box
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size[0]
