"""The program that the wheel brings: as the command ``fairlane``, and as ``python -m fairlane``."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path
from typing import TYPE_CHECKING

import fairlane as fl
import pytest
from fairlane import _program

if TYPE_CHECKING:
    from collections.abc import Sequence

MODULE = (sys.executable, "-m", "fairlane")
ENDLESS = ("run", "choke-fig3", "--set", "duration=1000000s", "--json")


@pytest.fixture
def command() -> tuple[str, ...]:
    """The command that the wheel installs, in the folder of this environment's programs."""
    path = Path(sysconfig.get_path("scripts"), _program.NAME)
    assert path.is_file(), "the wheel has no program: make wheel puts it in"
    return (str(path),)


def said(command: Sequence[str], *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


def test_it_is_the_program_of_this_package(command: tuple[str, ...]) -> None:
    """Would catch a program of another version, and one that is looked for elsewhere."""
    assert _program.own() == Path(command[0])
    assert said(command, "--version") == (0, f"fairlane {fl.__version__}\n", "")


def test_the_module_is_the_program(command: tuple[str, ...]) -> None:
    """Would catch an exit code, an argument or a line that is lost on the way."""
    for arguments, code in [
        (("--version",), 0),
        (("explain", "choke", "limit=1000p"), 0),
        (("run", "choke-fig3", "--set", "duration=4s", "--set", "warmup=2s", "--json"), 0),
        (("run", "a file that is missing"), 2),
        (("no-such-command",), 2),
    ]:
        ours, theirs = said(MODULE, *arguments), said(command, *arguments)
        # The cost of a run is at its end, and differs each time.
        printed = [text.partition('"cost"')[0] for text in (ours[1], theirs[1])]
        assert printed[0] == printed[1]
        assert (ours[0], ours[2]) == (theirs[0], theirs[2])
        assert ours[0] == code


def test_the_package_and_its_program_agree(command: tuple[str, ...]) -> None:
    """Would catch a program that was built from other sources."""
    _, text, _ = said(command, *ENDLESS, "--set", "duration=4s", "--set", "warmup=2s")
    theirs = json.loads(text)
    outcome = fl.Scenario.figure_3().with_({"duration": "4s", "warmup": "2s"}).run().to_dict()
    assert theirs["flows"] == outcome["flows"]


def test_it_has_everything_but_bpf(command: tuple[str, ...]) -> None:
    """The remedy names the features of the build. Would catch a wheel whose program refuses a command."""
    code, _, complaint = said(command, "bpf", "status")
    assert code == 2
    if sys.platform == "linux":
        everything = [
            "bpf",
            "html",
            "lab",
            "manual",
            "papers",
            "parquet",
            "pdf",
            "playground",
            "router",
            "shell",
            "top",
        ]
        found = re.search(r"--features ([\w,]+\w)", complaint)
        assert found, complaint
        assert sorted(found[1].split(",")) == everything


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_gives_what_was_measured(command: tuple[str, ...]) -> None:
    """Would catch a signal that ends Python, or that the program does not hear: both are the same process."""
    for program in (MODULE, command):
        child = subprocess.Popen(
            [*program, *ENDLESS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        time.sleep(2)
        os.kill(child.pid, signal.SIGINT)
        text, complaint = child.communicate(timeout=60)
        assert child.returncode == 2, complaint
        outcome = json.loads(text)
        assert outcome["partial"] is True
        assert 0 < outcome["to_s"] < 1_000_000
        assert "stopping: finished work is kept" in complaint


def test_a_package_without_its_program_says_so() -> None:
    """Such as one of `maturin develop`. Would catch a traceback."""
    without = (
        "import runpy, fairlane._program as it; it.own = lambda: None; runpy.run_module('fairlane', {}, '__main__')"
    )
    code, text, complaint = said((sys.executable, "-c", without))
    assert (code, text) == (2, "")
    assert "built without its program; install a wheel, or build one: make wheel" in complaint
