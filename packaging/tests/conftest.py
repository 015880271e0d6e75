"""The packages that all tests look at, and a network of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "target/release"

# Tools for administrators may not be in PATH.
os.environ["PATH"] += ":/usr/sbin:/sbin"


def run(*command: str | Path, **settings: str) -> str:
    """Runs a command with more variables in its environment, and returns its output."""
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **settings}
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}{done.stderr}"
    return done.stdout


def need(*programs: str) -> None:
    """Skips the test where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}")


def need_root() -> None:
    """Skips the test for ordinary users."""
    if os.geteuid() != 0:
        pytest.skip("this needs root")


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns the packages of the programs that `make check` has built, by format."""
    need("readelf", "strip")
    for name in ("fairlane", "aqmrun"):
        assert (PROGRAMS / name).is_file(), f"there is no {PROGRAMS / name}: run `make build PROFILE=release`"
    folder = tmp_path_factory.mktemp("packages")
    run(ROOT / "packaging/build", PROGRAMS, "deb", "rpm", OUT=str(folder))
    return {file.suffix[1:]: file for file in folder.iterdir()}


@pytest.fixture(scope="session")
def static_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with two programs without shared libraries, which stand for those of a musl target."""
    need("cc", "readelf", "strip")
    programs = tmp_path_factory.mktemp("static")
    source = programs / "nothing.c"
    source.write_text("void _start(void) { for (;;); }\n")
    for name in ("fairlane", "aqmrun"):
        run("cc", "-static", "-nostdlib", "-o", programs / name, source)
    return programs


@pytest.fixture(scope="session")
def static_packages(tmp_path_factory: pytest.TempPathFactory, static_programs: Path) -> dict[str, Path]:
    """Returns the packages of these programs, by format."""
    folder = tmp_path_factory.mktemp("static-packages")
    run(ROOT / "packaging/build", static_programs, OUT=str(folder), FAIRLANE=str(PROGRAMS / "fairlane"))
    return {file.suffix[1:]: file for file in folder.iterdir()}


@contextmanager
def network() -> Iterator[list[str]]:
    """Yields the beginning of a command that runs in a new network namespace that has only loopback."""
    need("ip", "unshare", "nsenter")
    need_root()
    holder = subprocess.Popen(["unshare", "--net", "sleep", "300"])
    inside = ["nsenter", f"--target={holder.pid}", "--net"]
    own = Path("/proc/self/ns/net").readlink()
    try:
        while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
            if holder.poll() is not None:
                pytest.skip("no network namespace of our own")
        run(*inside, "ip", "link", "set", "lo", "up")
        if not Path(f"/proc/{holder.pid}/net/netfilter/nfnetlink_queue").exists():
            pytest.skip("this kernel has no NFQUEUE")
        yield inside
    finally:
        holder.kill()
        holder.wait()


@pytest.fixture(scope="module")
def namespace() -> Iterator[list[str]]:
    """Returns the beginning of a command that runs in a network namespace of the module."""
    with network() as inside:
        yield inside
