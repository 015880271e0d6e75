"""A sweep as a Parquet file, with a journal next to it that survives an interruption."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from fairlane import _core
from fairlane._sweep import Failure
from fairlane.errors import ArgumentError, ScenarioError
from fairlane.units import UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from fairlane._sweep import Point

__all__ = ["Journal", "Part", "SweepFile", "identity", "merge"]

_KEY = b"fairlane.sweep"
_ROW_GROUP = 2048
"""Points of a row group, the part of the rows that is in memory at once."""

_OWN = 5
"""Columns before those of the keys that were varied."""

_SAYS = {
    "version": "was made by fairlane {there}, and this is {here}",
    "scenario": "is of another scenario",
    "seed": "has the seed {there}, and not {here}",
    "runs": "has {there} runs of each point, and not {here}",
    "points": "has other points",
    "own": "has other code written in Python",
    "at": "shows the queue {there}, and not {here}",
}


class SweepFile:
    """A sweep in a Parquet file: a row for each point and group of flows, as the command line writes it.

    Attributes:
        path: The file.
        points: Number of points of the sweep.
        done: Number of points with rows in the file; the others failed.
        failures: The points that failed.
    """

    __slots__ = ("done", "failures", "path", "points")

    def __init__(self, path: Path, points: int, failures: Sequence[Failure]) -> None:
        self.path = path
        self.points = points
        self.failures = tuple(failures)
        self.done = points - len(self.failures)

    def __fspath__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"<SweepFile {str(self.path)!r}: {self.done} of {self.points} points{failed}>"


class Part(NamedTuple):
    """One of several parts of a sweep: every n-th point, so that all parts take about as long.

    Attributes:
        number: Its number, from 1.
        of: The number of parts.
    """

    number: int
    of: int

    @staticmethod
    def read(text: str) -> Part:
        """Reads ``text``, such as ``3/8``.

        Raises:
            ArgumentError: It is no part.
            TypeError: It is no text.
        """
        if not isinstance(text, str):
            raise TypeError(f"part: expected text such as '3/8', not a {type(text).__name__}")
        number, _, of = text.partition("/")
        if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
            return Part(int(number), int(of))
        raise ArgumentError(f"part: {text!r} cannot be: write the part and the number of parts, such as 3/8")

    def has(self, point: int) -> bool:
        """Returns true if the point with the number ``point``, from 0, belongs to it."""
        return point % self.of + 1 == self.number

    def file(self, path: Path) -> Path:
        """Returns the file of its points, for a sweep into the file ``path``."""
        return path.with_name(f"{path.name}.part-{self.number}-of-{self.of}")

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def identity(  # noqa: PLR0913, PLR0917 - they are one thing each
    document: _core.Document,
    points: Sequence[Point],
    disciplines: Sequence[tuple[str, str, dict[str, Any]]],
    own: list[list[str]],
    runs: int,
    at: str | None,
) -> dict[str, Any]:
    """The identity of a sweep: two sweeps with the same identity have the same rows."""
    table = document.to_dict()
    seed = table.pop("seed", None)
    varied = [[list(map(list, point)) for point in points], [list(discipline) for discipline in disciplines]]
    return {
        "own": _digest(own) if own else None,
        "version": _core.__version__,
        "scenario": _digest(table),
        "seed": seed,
        "runs": runs,
        "at": at,
        "points": f"{len(points)} {_digest(varied)}",
    }


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _same(path: Path, there: dict[str, Any], here: dict[str, Any]) -> None:
    """Raises an error for the file of another sweep."""
    says = [
        words.format(there=there.get(key), here=here[key])
        for key, words in _SAYS.items()
        if there.get(key) != here[key]
    ]
    if says:
        raise ScenarioError(f"{path} is of another sweep: it {', it '.join(says)}; choose another file, or remove it")


def _pyarrow() -> Any:  # noqa: ANN401 - a module
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("a sweep into a Parquet file needs pyarrow: pip install 'fairlane[parquet]'") from error
    return pyarrow


class Journal:
    """A journal of a sweep: a line for each finished point, in the order in which they finished.

    The rows are kept in ``FILE.part`` until all points are done, and then written to ``FILE`` in order. An incomplete
    last line is cut off.

    Attributes:
        finished: The whole sweep, if it had been done before.
        at: The offset of each point's line, in bytes from the beginning.
        failures: The points that failed, by number.
    """

    def __init__(
        self, path: Path, identity_: dict[str, Any], points: Sequence[Point], part: Part | None = None
    ) -> None:
        """Continues an existing journal, or that of a ``part``.

        Raises:
            ScenarioError: It belongs to another sweep or part, or another process uses it.
        """
        self._pa = _pyarrow()
        if path.suffix != ".parquet":
            raise ScenarioError(f"out: a Parquet file is written; let the name of {str(path)!r} end in .parquet")
        self.path = path
        self._identity = identity_
        self._points = points
        self._of_part = part
        self.at: dict[int, int] = {}
        self.failures: dict[int, Failure] = {}
        self._texts: set[str] = set()
        self._units: dict[str, set[str | None]] = {}
        self._filled: set[str] = set()
        self.finished = self._written() if part is None else None
        if self.finished is None:
            self._part = path.with_name(path.name + ".part") if part is None else part.file(path)
            self._file = self._part.open("a+b")
            try:
                _lock(self._file, self._part)
                self._read()
            except BaseException:
                self._file.close()
                raise

    def todo(self) -> list[int]:
        """The numbers of the points that remain; points that failed before an interruption are tried again."""
        return [number for number in self.numbers() if number not in self.at]

    def numbers(self) -> list[int]:
        """The numbers of its points."""
        part = self._of_part
        return [number for number in range(len(self._points)) if part is None or part.has(number)]

    @property
    def name(self) -> Path:
        """The file of the points that are done."""
        return self._part

    def done(self, number: int, result: dict[str, list[Any]]) -> None:
        """Records the rows of a point."""
        self._note(number, result)
        place = self._file.tell()
        self._line({"point": number, "rows": result})
        self.at[number] = place

    def failed(self, failure: Failure) -> None:
        """Records a point that failed."""
        self.failures[failure.number] = failure

    def close(self) -> None:
        """Closes the journal, to be continued later."""
        # An error of writing was raised when the row was recorded.
        with contextlib.suppress(OSError):
            self._file.close()

    def finish(self) -> SweepFile:
        """Writes the file, in the order of the points, and removes the journal; that of a part stays."""
        failures = [self.failures[number] for number in sorted(self.failures)]
        if self._of_part is not None:
            self._line({"failures": [list(failure) for failure in failures]})
            self.close()
            return SweepFile(self._part, len(self.numbers()), failures)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
        said = {**self._identity, "of": len(self._points), "failures": [list(failure) for failure in failures]}
        schema = self._schema().with_metadata({_KEY: json.dumps(said)})
        try:
            with self._pa.parquet.ParquetWriter(beside, schema, compression="snappy") as writer:
                for batch in self._batches(schema):
                    writer.write_table(batch, row_group_size=len(batch))
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)
        self.close()
        self._part.unlink()
        return SweepFile(self.path, len(self._points), failures)

    def _written(self) -> SweepFile | None:
        """The finished sweep, if the file exists and belongs to this sweep."""
        if not self.path.exists():
            return None
        try:
            metadata = self._pa.parquet.read_metadata(self.path).metadata or {}
        except (OSError, self._pa.ArrowException) as error:
            raise ScenarioError(f"{self.path} is there and no Parquet file: {error}") from error
        if _KEY not in metadata:
            raise ScenarioError(
                f"{self.path} is there and was not written by a sweep; choose another file, or remove it"
            )
        said = json.loads(metadata[_KEY])
        _same(self.path, said, self._identity)
        failures = [Failure(*failure) for failure in said["failures"]]
        return SweepFile(self.path, said["of"], failures)

    def _line(self, value: dict[str, Any]) -> None:
        self._file.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
        # Of a process that is killed all is kept; of a machine that loses power what the system had written.
        self._file.flush()

    def _read(self) -> None:
        self._file.seek(0)
        end = 0
        for line in self._file:
            value = None
            if line.endswith(b"\n"):
                with contextlib.suppress(ValueError):
                    value = json.loads(line)
            if not isinstance(value, dict) or (end and not {"rows", "failures"} & value.keys()):
                break
            if not end:
                _same(self._part, value, self._identity)
            elif "failures" in value:
                # Of a part that has ended, which a merge needs; the part itself tries them again.
                self.failures = {failure[0]: Failure(*failure) for failure in value["failures"]}
            else:
                self._taken(value["point"], value["rows"], end)
            end += len(line)
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._line(self._identity)

    def _taken(self, number: int, rows: dict[str, list[Any]], place: int) -> None:
        if self._of_part is not None and not self._of_part.has(number):
            raise ScenarioError(
                f"{self._part} has point {number + 1}, which is none of part {self._of_part}: it is a copy of another"
                " part; remove it, and run this part"
            )
        self.at[number] = place
        self.failures.pop(number, None)
        self._note(number, rows)

    def copy(self, part: Journal) -> None:
        """Adds the points of a part."""
        for number, place in part.at.items():
            part._file.seek(place)
            self.done(number, json.loads(part._file.readline())["rows"])
        self.failures.update(part.failures)

    def _note(self, number: int, rows: dict[str, list[Any]]) -> None:
        """Remembers which columns have values, which keys have text, and the units of their numbers."""
        self._filled.update(rows)
        for key, _ in self._points[number]:
            column = self._column(key)
            if isinstance(rows[column][0], str):
                self._texts.add(column)
                numbers = (f"{column}_{unit}" for unit in UNITS if f"{column}_{unit}" in rows)
                self._units.setdefault(column, set()).add(next(numbers, None))
            else:
                self._units.setdefault(column, set()).add(None)

    def _own(self) -> list[pa.Field]:
        """The columns of the table of groups that have a value; all of a file without rows."""
        fields = list(self._pa.schema(_core.table("groups", [])))
        return [field for field in fields if field.name in self._filled or not self._filled]

    def _column(self, key: str) -> str:
        return f"point.{key}" if key in {"outcome", "scenario", "engine", "seed", "runs", "label"} else key

    def _schema(self) -> pa.Schema:
        pa, own = self._pa, self._own()
        keys = dict.fromkeys(self._column(key) for point in self._points for key, _ in point)
        varied = []
        for key in keys:
            varied.append(pa.field(key, pa.string() if key in self._texts else pa.float64()))
            units = self._units.get(key, set())
            # A column of numbers follows where all values have one unit.
            varied += [pa.field(column, pa.float64()) for column in units if column is not None and len(units) == 1]
        return pa.schema([*own[:_OWN], *varied, *own[_OWN:]])

    def _batches(self, schema: pa.Schema) -> Iterator[pa.Table]:
        numbers = sorted(self.at)
        for begin in range(0, len(numbers), _ROW_GROUP):
            columns: dict[str, list[Any]] = {name: [] for name in schema.names}
            for number in numbers[begin : begin + _ROW_GROUP]:
                self._file.seek(self.at[number])
                rows = json.loads(self._file.readline())["rows"]
                length = len(rows["group"])
                for name, column in columns.items():
                    values = [number] * length if name == "outcome" else rows.get(name, [None] * length)
                    column.extend(map(_text, values) if name in self._texts else values)
            yield self._pa.table(columns, schema=schema)


def merge(path: Path, identity_: dict[str, Any], points: Sequence[Point]) -> SweepFile:
    """Joins the parts of a sweep into its file, and removes them.

    Raises:
        ScenarioError: Parts are missing or not finished, are of different numbers of parts, or of another sweep.
    """
    begin = f"{path.name}.part-"
    found = [file.name.removeprefix(begin).split("-of-") for file in path.parent.glob(f"{glob.escape(begin)}*-of-*")]
    of = {int(names[1]) for names in found if len(names) == 2 and all(map(str.isdecimal, names))}  # noqa: PLR2004 - a part, and of how many
    if not of:
        raise ScenarioError(f"there are no parts of {path}: run them first, such as with part='1/8' to part='8/8'")
    if len(of) > 1:
        numbers = " and of ".join(map(str, sorted(of)))
        raise ScenarioError(
            f"{path} has parts of {numbers}, whose points are double: remove all of one number of parts"
        )
    parts = [Part(number, max(of)) for number in range(1, max(of) + 1)]
    missing = [str(part) for part in parts if not part.file(path).exists()]
    if missing:
        raise ScenarioError(f"these parts of {path} are missing: {', '.join(missing)}; run them")
    with contextlib.ExitStack() as stack:
        journals = [stack.enter_context(contextlib.closing(Journal(path, identity_, points, part))) for part in parts]
        for part, journal in zip(parts, journals, strict=True):
            there = len(journal.at) + len(journal.failures)
            if there < len(journal.numbers()):
                of_all = f"{there} of its {len(journal.numbers())} points"
                raise ScenarioError(f"{journal.name} has {of_all}: run the rest of it, with part='{part}'")
        whole = Journal(path, identity_, points)
        if whole.finished is None:
            for journal in journals:
                whole.copy(journal)
            written = whole.finish()
        else:
            written = whole.finished
    for part in parts:
        part.file(path).unlink()
    return written


def _text(value: str | float | None) -> str | None:
    """A value of a key that has text, too: a number as the library prints it, without an exponent."""
    if value is None or isinstance(value, str):
        return value
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def _lock(file: Any, part: Path) -> None:  # noqa: ANN401 - a file that is open
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ScenarioError(f"another process is writing {part}") from error
