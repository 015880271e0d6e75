"""The programs of `make static` need nothing of the system on which they run. `make static` runs these tests."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from conftest import ROOT, need, run
from skip import because

if TYPE_CHECKING:
    from pathlib import Path

STATIC = ROOT / "target/static"
ALONE = ["unshare", "--map-root-user", "--net"]


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A root with the two programs and no other file."""
    need("unshare", "chroot", "readelf")
    for name in ("fairlane", "aqmrun"):
        shutil.copy(STATIC / name, tmp_path)
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        because("netns", "this machine permits no namespaces")
    return tmp_path


def test_they_run_in_an_empty_root(alone: Path) -> None:
    """Would catch a library, a loader or a file that they need."""
    for name in ("fairlane", "aqmrun"):
        assert "(NEEDED)" not in run("readelf", "--dynamic", alone / name)
    inside = [*ALONE, "chroot", str(alone), "/fairlane"]
    assert run(*inside, "--version").startswith("fairlane ")
    short = ["--runs", "1", "--set", "duration=4s", "--set", "warmup=2s"]
    assert "choke" in run(*inside, "compare", *short)
    assert "Usage: aqmrun" in run(*ALONE, "chroot", str(alone), "/aqmrun", "--help")
    assert sorted(path.name for path in alone.iterdir()) == ["aqmrun", "fairlane"]


def test_they_compute_what_others_do(alone: Path) -> None:
    """Would catch a result that depends on the system's mathematics."""
    programs = [
        program for profile in ("release", "dist") if (program := ROOT / "target" / profile / "fairlane").is_file()
    ]
    if not programs:
        because("program", "there is no other program: make build")
    traces = []
    for number, program in enumerate((alone / "fairlane", programs[0])):
        trace = alone / f"{number}.csv"
        run(program, "run", "choke-fig3", "--set", "duration=8s", "--set", "warmup=2s", "--trace", trace)
        traces.append(trace.read_bytes())
    assert traces[0] == traces[1]
