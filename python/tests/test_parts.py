"""Sweeps in parts, for jobs of an array: they are merged when all are there, and nothing else is."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import fairlane as fl
import pyarrow.parquet as pq
import pytest

if TYPE_CHECKING:
    from pathlib import Path

VARIED = {"bottleneck.queue.limit": ["20p", "40p"], "seed": range(1, 6)}


class Broken(fl.Discipline):
    """One that fails."""

    def enqueue(self, _now: float, _packet: fl.Packet, _sink: fl.DropSink) -> None:
        raise ZeroDivisionError("a bad idea")

    def dequeue(self, _now: float, _sink: fl.DropSink) -> None:
        return None


def scenario(seconds: int = 2) -> fl.Scenario:
    return fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration=seconds, queue=fl.DropTail(limit=20))


def part(out: Path, number: int, of: int) -> fl.SweepFile:
    return scenario().sweep(VARIED, out=out, part=f"{number}/{of}")


def test_parts_are_merged_into_the_whole(tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.parquet", tmp_path / "sweep.parquet"
    scenario().sweep(VARIED, out=whole)
    # In any order, as jobs end.
    made = [part(out, number, 3) for number in (2, 3, 1)]
    assert [file.points for file in made] == [3, 3, 4]
    assert made[0].path == tmp_path / "sweep.parquet.part-2-of-3"
    assert not out.exists()
    merged = scenario().sweep(VARIED, out=out, merge=True)
    assert (merged.points, merged.done, merged.failures) == (10, 10, ())
    assert pq.read_table(out).equals(pq.read_table(whole))
    assert sorted(tmp_path.iterdir()) == [out, whole]


def refused(out: Path, words: str) -> None:
    """The parts cannot be merged, for a reason that has these words."""
    with pytest.raises(fl.ScenarioError, match=words):
        scenario().sweep(VARIED, out=out, merge=True)


def test_parts_that_are_missing_are_named(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    refused(out, "there are no parts of")
    part(out, 2, 4)
    refused(out, r"these parts of .*sweep.parquet are missing: 1/4, 3/4, 4/4; run them")


def test_a_part_that_is_not_finished_is_refused_and_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"

    def interrupt(done: int, _total: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(fl.Interrupted, match=r"points are in .*\.part-1-of-2, and the same call goes on"):
        scenario().sweep(VARIED, out=out, part="1/2", progress=interrupt, jobs=1, chunk=1)
    part(out, 2, 2)
    refused(out, r"part-1-of-2 has \d of its 5 points: .*, with part='1/2'")
    part(out, 1, 2)
    assert scenario().sweep(VARIED, out=out, merge=True).done == 10


def test_double_parts_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    part(out, 1, 2)
    shutil.copy(tmp_path / "sweep.parquet.part-1-of-2", tmp_path / "sweep.parquet.part-2-of-2")
    refused(out, r"part-2-of-2 has point \d, which is none of part 2/2: it is a copy")
    part(out, 1, 3)
    refused(out, r"has parts of 2 and of 3, whose points are double")


def test_parts_of_another_sweep_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    for number in (1, 2):
        part(out, number, 2)
    for seconds, varied, runs, words in (
        (2, VARIED, 2, "it has 1 runs of each point, and not 2"),
        (3, VARIED, 1, "it is of another scenario"),
        (2, {"seed": range(1, 11)}, 1, "it has other points"),
    ):
        with pytest.raises(fl.ScenarioError, match=f"part-1-of-2 is of another sweep: {words}"):
            scenario(seconds).sweep(varied, runs=runs, out=out, merge=True)
    assert scenario().sweep(VARIED, out=out, merge=True).done == 10


def test_failures_of_parts_are_those_of_the_whole(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    varied = {"bottleneck.queue": [fl.DropTail(limit=20), Broken], "seed": [1, 2, 3]}
    for number in (1, 2):
        with pytest.warns(RuntimeWarning, match="of 3 points failed"):
            scenario().sweep(varied, out=out, part=f"{number}/2")
    with pytest.warns(RuntimeWarning, match="3 of 6 points failed"):
        merged = scenario().sweep(varied, out=out, merge=True)
    assert (merged.done, [failure.number for failure in merged.failures]) == (3, [3, 4, 5])


@pytest.mark.parametrize(
    "given",
    [{"part": "0/2"}, {"part": "3/2"}, {"part": "half"}, {"part": "1/2", "merge": True}, {"part": "1/2", "out": None}],
)
def test_what_is_no_part_is_refused(given: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(fl.ArgumentError, match=r"^part: "):
        scenario().sweep(VARIED, **{"out": tmp_path / "x.parquet", **given})  # type: ignore[call-overload]
    assert list(tmp_path.iterdir()) == []
