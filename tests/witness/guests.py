"""Runs of `fairlane lab` in guests, each made once and kept in a file."""  # noqa: INP001 (next to the scripts)

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
SCENARIO = "tests/witness/traffic.toml"
PROGRAM = str(ROOT / "target/release/fairlane")


def run(program: str, place: Path, settings: dict[str, object], words: list[str]) -> None:
    """Runs the traffic with other settings, and keeps the results in `place` once they are whole."""
    if place.exists():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.write(f"{place.stem}\n")
    changed = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    whole = [program, "lab", SCENARIO, "--in", "guest", *words, *changed, "--json"]
    done = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode != 0:
        sys.exit(f"{place.parent.name}: {place.stem}: {done.stderr.strip()}")
    part = place.with_suffix(".part")
    part.write_text(done.stdout)
    part.rename(place)


def outcomes(place: Path) -> list[dict[str, Any]]:
    """Reads the results in `place`; none if it is not there."""
    return list(json.loads(place.read_text())["outcomes"]) if place.exists() else []


def udp(outcome: dict[str, Any]) -> dict[str, Any]:
    """Returns the group of the UDP flow."""
    return next(group for group in outcome["groups"] if group["name"] == "udp")


def delay(outcome: dict[str, Any]) -> dict[str, Any]:
    """Returns the delay in the queue, in seconds."""
    return dict(outcome["queues"][0]["delay_s"])
