"""The example with a browser behind a link: an upload delays a page unless queues are fair."""

import runpy
import shutil
import sys
from pathlib import Path

import fairlane as fl
import pytest
import skip

EXAMPLE = Path(__file__).parents[2] / "examples/page_load.py"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

pytestmark = [
    skip.unless(sys.platform == "linux", "userns", "namespaces need Linux"),
    # Other programs may have the processors.
    pytest.mark.filterwarnings("ignore:1 % of the packets were late"),
]


def test_a_page_loads_sooner_where_queues_are_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full queue of 1000 packets at 5 Mbit/s is 2.4 s long, which each request of the page waits for.

    Would catch a browser that does not reach the server, one that goes past the link, and flows that are not started.
    """
    skip.module("playwright")
    found = [path for path in map(shutil.which, BROWSERS) if path]
    if not found:
        skip.because("chromium", "there is no browser")
    monkeypatch.setenv("CHROMIUM", found[0])
    example = runpy.run_path(str(EXAMPLE))
    try:
        seconds = example["main"](["droptail", "fq-codel"])
    except fl.ShellError as error:
        if "this user may not create one" not in str(error):
            raise
        skip.because("userns", str(error))
    # The handshake, the page, and ten rounds of its objects at 1.2 s or more; or some tenths of a second in all.
    assert seconds["droptail"] > 5
    assert seconds["fq-codel"] < seconds["droptail"] / 2
