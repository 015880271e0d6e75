"""flent itself reads and plots what ``fairlane run --flent`` writes."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import pytest

ROOT = Path(__file__).resolve().parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))

SCENARIO = """
duration = "10s"
[bottleneck]
rate = "10mbit"
delay = "5ms"
queue = { kind = "fq-codel" }
[[flows]]
name = "tcp"
kind = "tcp"
count = 2
[[flows]]
name = "ping"
kind = "udp"
rate = "4kbit"
packet = "100b"
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, float]]:
    """A file of flent, and each TCP flow's goodput in Mbit/s under flent's name for it."""
    folder = tmp_path_factory.mktemp("flent")
    scenario, data = folder / "two.toml", folder / "two.flent.gz"
    scenario.write_text(SCENARIO)
    run = subprocess.run([CLI, "run", scenario, "--json", "--flent", data], capture_output=True, check=True, timeout=60)
    flows = json.loads(run.stdout)["flows"]
    return data, {f"TCP upload::{at}": flow["goodput_bps"] / 1e6 for at, flow in enumerate(flows[:2], 1)}


def flent(*arguments: str | Path) -> None:
    """Runs flent, which gives exit code 0 for most of its errors."""
    done = subprocess.run(
        [sys.executable, "-m", "flent", *arguments], capture_output=True, text=True, check=True, timeout=60
    )
    assert "ERROR" not in done.stderr, done.stderr


def test_flent_reads_the_goodput_of_each_flow(recorded: tuple[Path, dict[str, float]], tmp_path: Path) -> None:
    data, goodput = recorded
    table = tmp_path / "two.csv"
    flent("-i", data, "-f", "csv", "-o", table)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50, "ten seconds of 200 ms"
    for name, expected in goodput.items():
        assert sum(float(row[name]) for row in rows) / len(rows) == pytest.approx(expected)
    # The way there and back takes 10 ms, and FQ-CoDel holds a sparse flow for less than a few packets of 1.2 ms.
    pings = [float(row["Ping (ms) ICMP"]) for row in rows if row["Ping (ms) ICMP"]]
    assert len(pings) > 30
    assert all(10 <= ping < 20 for ping in pings)


def test_flent_plots_it(recorded: tuple[Path, dict[str, float]], tmp_path: Path) -> None:
    data, _ = recorded
    picture = tmp_path / "totals.png"
    flent("-i", data, "-p", "totals", "-o", picture)
    red, _, blue = (matplotlib.image.imread(picture)[..., colour] for colour in range(3))
    # The line of the uploads is green, that of the pings orange; axes and text are grey.
    assert min((blue - red > 0.3).sum(), (red - blue > 0.3).sum()) > 300
