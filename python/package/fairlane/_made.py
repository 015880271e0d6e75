"""The outcomes that the program ``fairlane`` has made, and the program."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane import _core, _program

if TYPE_CHECKING:
    from typing import Any

    from fairlane.errors import FairlaneError

__all__ = ["INSTALL", "outcomes", "program_of"]

INSTALL = (
    "install a wheel of this package, which has it, or the program from the repository, "
    "cargo install --profile dist --path crates/cli --features full, "
    "or say where it is: program=..., or FAIRLANE in the environment"
)


def program_of(program: str | os.PathLike[str] | None, whose: str, error: type[FairlaneError]) -> str:
    """The program's path: the one named, that of ``FAIRLANE`` in the environment, the wheel's, or that in ``PATH``.

    It is absolute.

    Raises:
        FairlaneError: There is none; it is an ``error``.
    """
    named = program if program is not None else os.environ.get("FAIRLANE")
    name = os.fsdecode(named or _program.own() or "fairlane")
    found = shutil.which(name)
    if found is None:
        raise error(f"{whose} needs the program fairlane, and there is no {name!r}: {INSTALL}")
    return str(Path(found).absolute())


def outcomes(file: Path, tables: Path) -> list[_core.Outcome]:
    """The outcomes in a JSON file of the program, with those values that are in its tables alone."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    trees: list[dict[str, Any]] = json.loads(text)["outcomes"] if text else []
    histograms = _histograms(tables / "delay_histogram.csv")
    made: list[_core.Outcome] = []
    for number, tree in enumerate(trees):
        bins = [histograms.get((number, queue["name"]), []) for queue in tree["queues"]]
        made.append(_core.Outcome.from_parts((json.dumps(tree), bins, None, [None, None, None])))
    return made


def _histograms(file: Path) -> dict[tuple[int, str], list[tuple[int, int, int]]]:
    """The bins of each outcome's queues, by the times that packets spent there, which the JSON form does not have."""
    found: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
    if file.exists():
        with file.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                place = int(row["outcome"]), row["queue"]
                found.setdefault(place, []).append((int(row["from_ns"]), int(row["to_ns"]), int(row["packets"])))
    return found
