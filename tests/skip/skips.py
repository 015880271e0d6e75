#!/usr/bin/env python3
"""Says that a test or a check is skipped, for scripts: `tests/skip/skips.py NAME REQUIREMENT REASON`.

It prints the skip, adds a line to the file `skips` in the folder that FAIRLANE_TESTED names, and fails if
FAIRLANE_REQUIRE lists the requirement. Tests in Python use `skip`, those in Rust crates/skip. The requirements are in
crates/skip/requirements.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "crates/skip/requirements"

# The requirements of continuous integration.
OF_CI = ["chromium", "npm", "python-tools"]


class RequiredError(Exception):
    """What is required is missing."""


def words() -> list[str]:
    """Returns all requirements."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return [line.split()[0] for line in lines if not line.startswith("#")]


def required() -> list[str]:
    """Returns what FAIRLANE_REQUIRE lists; a word that is no requirement is an error."""
    listed = [word.strip() for word in os.environ.get("FAIRLANE_REQUIRE", "").split(",")]
    listed = [word for word in listed if word]
    for word in listed:
        if word not in words():
            message = f"FAIRLANE_REQUIRE lists {word!r}; it may list {', '.join(words())}"
            raise RequiredError(message)
    return listed + (OF_CI if os.environ.get("CI") else [])


def note(name: str, requirement: str, reason: str) -> None:
    """Writes a skip down.

    Raises:
        RequiredError: the requirement may not be missing, or there is none of this name.
    """
    reason = " ".join(reason.split())
    if requirement not in words():
        message = f"{reason}: a skip needs a requirement of crates/skip/requirements, and {requirement!r} is none"
        raise RequiredError(message)
    if requirement in required():
        message = f"{reason}: {requirement} is required, so that this may not be skipped"
        raise RequiredError(message)
    if folder := os.environ.get("FAIRLANE_TESTED"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        # In one piece: tests of several programs run at the same time.
        with (Path(folder) / "skips").open("a", encoding="utf-8") as file:
            file.write(f"{name}\t{requirement}\t{reason}\n")


def main(arguments: list[str]) -> int:
    """Executes the command line, and returns the exit code."""
    try:
        name, requirement, *reason = arguments
        note(name, requirement, " ".join(reason))
    except ValueError:
        sys.stderr.write("usage: tests/skip/skips.py NAME REQUIREMENT REASON\n")
        return 2
    except RequiredError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 1
    sys.stderr.write(f"skipped: {name}: {' '.join(reason)} ({requirement})\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
