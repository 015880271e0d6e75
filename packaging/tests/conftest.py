"""The packages that all tests look at, and a network of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from skip import because, pytest_configure, pytest_runtest_makereport

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pytest_configure", "pytest_runtest_makereport"]

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


# Requirements that are named otherwise than their programs.
REQUIREMENTS = {
    "apt": "dpkg",
    "dpkg-deb": "dpkg",
    "dpkg-shlibdeps": "dpkg",
    "iptables-save": "iptables",
    "nsenter": "netns",
    "readelf": "binutils",
    "strip": "binutils",
    "unshare": "netns",
}


def need(*programs: str) -> None:
    """Skips the test where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            because(REQUIREMENTS.get(program, program), f"there is no {program}")


def need_root() -> None:
    """Skips the test for ordinary users."""
    if os.geteuid() != 0:
        because("root", "this needs root")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Returns the packages of the programs and of the library that `make check` has built."""
    need("readelf", "strip")
    for name in ("fairlane", "aqmrun", "libfairlane_capi.so"):
        assert (PROGRAMS / name).is_file(), f"there is no {PROGRAMS / name}: run `make build capi PROFILE=release`"
    folder = tmp_path_factory.mktemp("packages")
    run(ROOT / "packaging/build", PROGRAMS, "deb", "rpm", OUT=str(folder))
    return sorted(folder.iterdir())


@pytest.fixture(scope="session")
def packages(built: list[Path]) -> dict[str, Path]:
    """Returns the packages of the programs, by format."""
    return {file.suffix[1:]: file for file in built if file.name.startswith("fairlane")}


@pytest.fixture(scope="session")
def libraries(built: list[Path]) -> dict[str, Path]:
    """Returns the packages of the library, by name and format, such as `libfairlane0.deb`."""
    files = (file for file in built if file.name.startswith("lib"))
    return {re.split(r"[-_][0-9]", file.name)[0] + file.suffix: file for file in files}


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
def network(*setup: str) -> Iterator[list[str]]:
    """Yields the beginning of a command that runs in a new network namespace that has only loopback.

    With `setup`, a command, it also has its own mount namespace, in which that command runs first.
    """
    need("ip", "unshare", "nsenter")
    need_root()
    kinds = ["--net", "--mount"] if setup else ["--net"]
    ready = '"$@" && echo ready && exec sleep 300'
    command = ["unshare", *kinds, "sh", "-c", ready, "sh", *(setup or ["true"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            if not holder.stdout or holder.stdout.readline() != "ready\n":
                because("overlay" if setup else "netns", "this machine permits no such namespaces of our own")
            inside = ["nsenter", f"--target={holder.pid}", *kinds]
            run(*inside, "ip", "link", "set", "lo", "up")
            if not Path(f"/proc/{holder.pid}/net/netfilter/nfnetlink_queue").exists():
                because("nfqueue", "this kernel has no NFQUEUE")
            yield inside
        finally:
            holder.kill()


@pytest.fixture(scope="module")
def namespace() -> Iterator[list[str]]:
    """Returns the beginning of a command that runs in a network namespace of the module."""
    with network() as inside:
        yield inside


@contextmanager
def machine(root: Path) -> Iterator[list[str]]:
    """Yields the beginning of a command that runs in a copy of this machine, whose changes end with it.

    The copy's files are an overlay of this machine's at `root`, and its network is a namespace with eth0.
    """
    script = f"""
        set -e
        mount -t tmpfs tmpfs {root}
        mkdir {root}/upper {root}/work {root}/all
        mount -t overlay overlay -o lowerdir=/,upperdir={root}/upper,workdir={root}/work {root}/all
        for folder in proc dev sys; do mount --rbind /$folder {root}/all/$folder; done
        mount -t tmpfs tmpfs {root}/all/run
        # Else an index of all manual pages is written after each package, for seconds.
        rm -f {root}/all/var/lib/man-db/auto-update
    """
    with network("sh", "-c", script) as inside:
        run(*inside, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", "modem")
        run(*inside, "ip", "link", "set", "eth0", "up")
        yield [*inside, "chroot", f"{root}/all"]
