"""Counts instructions with callgrind, for bench/costs and bench/budgets.

A count is exact and does not depend on what else the machine does. It depends on the compiler, on the instructions that the
processor offers, and on the C library's variants of memcpy. The program is compiled for the oldest processor of its
architecture, as is everything that is shipped; valgrind offers no instructions newer than AVX2; and GLIBC_TUNABLES hides those
from the C library.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ["cargo", "build", "--profile", "dist", "--locked", "-p", "fairlane-bench", "--message-format=json"]
WITHOUT_SCENARIOS = ["--no-default-features", "--target-dir", "target/budgets"]
TUNABLES = "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-ERMS,-FSRM,-AVX512F,-AVX512VL"


def program(*, scenarios: bool) -> str:
    """Compiles the program that callgrind runs, as what is shipped, and returns its path.

    The counts of kinds are those of the program without scenarios, whether scenarios are counted too or not: another program, with
    other code next to it, has slightly other counts.
    """
    environment = {name: value for name, value in os.environ.items() if name not in {"RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"}}
    build = BUILD if scenarios else [*BUILD, *WITHOUT_SCENARIOS]
    built = subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    return next(message["executable"] for message in reversed(messages) if message.get("executable"))


def kinds(path: str) -> list[str]:
    """The names of all kinds."""
    return subprocess.run([path, "list"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()


def counts(path: str, arguments: list[str]) -> tuple[list[int], str]:
    """The instructions of each section that the program marks, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "count")
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--dump-before=*begin_count*", path, *arguments]
        environment = {**os.environ, "GLIBC_TUNABLES": TUNABLES}
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT, env=environment)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}: {done.stderr}")
        # A file for what comes before each mark: before, in, between, in … the sections.
        files = sorted(Path(folder).glob("count.*"), key=lambda file: int(file.suffix[1:]))
        totals = [re.search(r"^(?:totals|summary): (\d+)", file.read_text(), re.MULTILINE) for file in files]
    if None in totals or not totals:
        sys.exit(f"{' '.join(arguments)}: callgrind wrote no counts: {done.stderr}")
    return [int(total.group(1)) for total in totals if total][1::2], done.stdout
