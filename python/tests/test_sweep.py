"""Sweeps on executors and into files: the same numbers as on this machine, even after lost workers or interruptions."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairlane as fl
import pyarrow as pa
import pyarrow.parquet
import pytest
import skip
from fairlane import _parquet, _sweep
from sweeping import POINTS, VARIED, Through, die_at, die_once, dumbbell

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


@pytest.fixture(scope="module")
def undisturbed() -> fl.Outcomes:
    """The sweep on this machine, by the code shared with the command line."""
    return dumbbell().sweep(VARIED, runs=2)


def rows(path: str | Path) -> pa.Table:
    return pa.parquet.read_table(path).replace_schema_metadata(None)


@pytest.mark.parametrize("make", [threads, processes])
@pytest.mark.parametrize("chunk", [None, 5, 100])
def test_an_executor_gives_the_same(make: Callable[[], Executor], chunk: int | None, undisturbed: fl.Outcomes) -> None:
    with make() as executor:
        outcomes = dumbbell().sweep(VARIED, runs=2, executor=executor, chunk=chunk)
    assert outcomes == undisturbed
    assert [outcome.point["seed"] for outcome in outcomes] == 3 * list(range(8))
    assert [outcome.seed for outcome in outcomes] == 3 * list(range(8))
    assert outcomes.failures == ()
    assert outcomes.delay_histogram.to_pyarrow() == undisturbed.delay_histogram.to_pyarrow()


def test_units_are_plain_and_as_many_as_asked(undisturbed: fl.Outcomes) -> None:
    through = Through(threads())
    with through:
        assert dumbbell().sweep(VARIED, runs=2, executor=through, chunk=10) == undisturbed
    assert [len(unit) for unit in through.units] == [10, 10, 4]
    assert pickle.loads(pickle.dumps(through.units)) == through.units


def test_progress_counts_runs() -> None:
    told: list[tuple[int, int]] = []
    with threads() as executor:
        dumbbell().sweep(
            VARIED, runs=2, executor=executor, chunk=4, progress=lambda done, total: told.append((done, total))
        )
    assert told == [(8 * unit, 2 * POINTS) for unit in range(7)]


def test_a_lost_worker_is_replaced_and_its_work_done_again(tmp_path: Path, undisturbed: fl.Outcomes) -> None:
    made: list[Executor] = []

    def make() -> Executor:
        made.append(Through(processes(), die_once, str(tmp_path / "died"), "3"))
        return made[-1]

    outcomes = dumbbell().sweep(VARIED, runs=2, executor=make, chunk=4)
    assert len(made) == 2
    assert outcomes == undisturbed
    assert outcomes.failures == ()


def test_a_point_that_kills_its_worker_does_not_sink_the_others(undisturbed: fl.Outcomes) -> None:
    with pytest.warns(
        RuntimeWarning, match=r"3 of 24 points failed, the first \(.*, seed = 7\) with BrokenProcessPool"
    ):
        outcomes = dumbbell().sweep(VARIED, runs=2, executor=lambda: Through(processes(), die_at, "7"), chunk=4)
    assert list(outcomes) == [outcome for outcome in undisturbed if outcome.seed != 7]
    assert [failure.number for failure in outcomes.failures] == [7, 15, 23]
    assert outcomes.failures[1].point == {"bottleneck.queue.min": "8p", "seed": "7"}
    assert "lost 3 times, the last time with no other point at work" in outcomes.failures[0].error


def test_a_point_that_raises_does_not_sink_the_others(
    monkeypatch: pytest.MonkeyPatch, undisturbed: fl.Outcomes
) -> None:
    outcomes_of = _sweep._outcomes

    def poisoned(work: Any, document: Any, points: list[Any], *rest: Any) -> Any:
        if any(("seed", "7") in point for point in points):
            raise MemoryError("no room for 4000000000 flows")
        return outcomes_of(work, document, points, *rest)

    monkeypatch.setattr(_sweep, "_outcomes", poisoned)
    with threads() as executor, pytest.warns(RuntimeWarning, match=r"3 of 24 points failed, .* with MemoryError"):
        outcomes = dumbbell().sweep(VARIED, runs=2, executor=executor, chunk=10)
    assert list(outcomes) == [outcome for outcome in undisturbed if outcome.seed != 7]
    expected = [(7, "MemoryError"), (15, "MemoryError"), (23, "MemoryError")]
    assert [(failure.number, failure.kind) for failure in outcomes.failures] == expected
    assert outcomes.failures[0].error == "no room for 4000000000 flows"


def test_a_point_that_is_not_valid_is_refused_before_anything_runs() -> None:
    through = Through(threads())
    with through, pytest.raises(fl.ScenarioError, match=r"bottleneck\.queue\.min"):
        dumbbell().sweep({"bottleneck.queue.min": ["5p", "5 packets"]}, executor=through)
    assert through.units == []


def test_a_broken_executor_that_cannot_be_replaced_keeps_what_was_done(undisturbed: fl.Outcomes) -> None:
    through = Through(processes(), die_at, "7")
    with through, pytest.raises(fl.SweepStopped, match=r"takes no more work .* with what makes one") as stopped:
        dumbbell().sweep(VARIED, runs=2, executor=through, chunk=1)
    assert stopped.value.outcomes is not None
    assert 0 < len(stopped.value.outcomes) < POINTS
    assert all(outcome in undisturbed for outcome in stopped.value.outcomes)


class Elsewhere(Executor):
    """An executor whose workers cannot run any unit."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.units = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        del fn, args, kwargs
        self.units += 1
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'fairlane'"),
        _sweep.OtherVersionError("a worker has fairlane 0.0.1"),
        RuntimeError("all workers are gone"),
    ],
)
def test_workers_that_can_do_nothing_are_not_asked_for_long(error: Exception) -> None:
    executor = Elsewhere(error)
    with pytest.raises(fl.SweepStopped, match=str(error)) as stopped:
        dumbbell().sweep({"seed": list(range(3000))}, executor=executor)
    assert stopped.value.outcomes == fl.Outcomes([], of="sweep")
    assert executor.units <= 1025


def test_another_version_on_the_workers_is_said() -> None:
    work = _sweep.Work("x", dumbbell().to_toml(), 1, 1, [], [], [], at=None, rows=False, version="0.0.1")
    with pytest.raises(_sweep.OtherVersionError, match=r"and the sweep is of 0\.0\.1: install the same there"):
        _sweep.work(work, [], 1)


def test_ctrl_c_keeps_what_was_done(undisturbed: fl.Outcomes) -> None:
    def interrupt(done: int, _total: int) -> None:
        if done >= 12:
            raise KeyboardInterrupt

    with threads() as executor, pytest.raises(fl.Interrupted, match="of 24 points are done") as interrupted:
        dumbbell().sweep(VARIED, runs=2, executor=executor, chunk=1, progress=interrupt)
    assert 6 <= len(interrupted.value.outcomes) < POINTS
    assert all(outcome in undisturbed for outcome in interrupted.value.outcomes)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"chunk": 4}, ValueError, "for an executor"),
        ({"chunk": 0, "out": "x.parquet"}, ValueError, "chunk: 0 is out of range"),
        ({"runs": 0, "out": "x.parquet"}, ValueError, "runs: 0 is out of range"),
        ({"jobs": 0, "out": "x.parquet"}, ValueError, "jobs: 0 is out of range"),
        ({"executor": object}, TypeError, "not object"),
        ({"executor": 4}, TypeError, "not int"),
        ({"out": "x.csv"}, fl.ScenarioError, "end in .parquet"),
    ],
)
def test_what_is_wrong_is_said(
    given: dict[str, Any], error: type[Exception], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=words):
        dumbbell().sweep(VARIED, **given)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("make", [None, threads, processes])
def test_a_file_has_the_rows_of_the_table(
    make: Callable[[], Executor] | None, tmp_path: Path, undisturbed: fl.Outcomes
) -> None:
    out = tmp_path / "sweep.parquet"
    swept = dumbbell().sweep(VARIED, runs=2, executor=make, out=out)
    assert (swept.points, swept.done, swept.failures) == (POINTS, POINTS, ())
    assert rows(out) == undisturbed.groups.to_pyarrow()
    assert rows(out).schema == undisturbed.groups.to_pyarrow().schema
    assert list(tmp_path.iterdir()) == [out]


def test_a_key_with_numbers_and_text_is_text_in_the_file(tmp_path: Path) -> None:
    scenario = dumbbell().with_({"bottleneck.queue": fl.Gchoke(limit=60, min=5, max=20)})
    varied: dict[str, list[object]] = {"bottleneck.queue.maxcomp": [2, "infinite"], "seed": [1, 2]}
    swept = scenario.sweep(varied, out=tmp_path / "x.parquet")
    expected = scenario.sweep(varied).groups.to_pyarrow()
    assert expected.column("bottleneck.queue.maxcomp").to_pylist() == 4 * ["2"] + 4 * ["infinite"]
    assert rows(swept.path) == expected


@pytest.mark.parametrize(
    ("number", "text"),
    [(2.0, "2"), (0.1, "0.1"), (1e-7, "0.0000001"), (1e22, "10000000000000000000000"), (-2.5, "-2.5")],
)
def test_a_number_among_text_is_printed_as_rust_prints_it(number: float, text: str) -> None:
    assert _parquet._text(number) == text


def test_a_complete_file_is_not_made_again(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    dumbbell().sweep(VARIED, out=out)
    before = out.stat().st_mtime_ns
    nobody = Elsewhere(RuntimeError("nothing is to be done"))
    assert dumbbell().sweep(VARIED, executor=nobody, out=out).done == POINTS
    assert (nobody.units, out.stat().st_mtime_ns) == (0, before)


def test_a_file_of_another_sweep_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"
    dumbbell().sweep({"bottleneck.queue.min": ["5p", "8p"]}, runs=2, out=out)
    same = {"bottleneck.queue.min": ["5p", "8p"]}
    with pytest.raises(fl.ScenarioError, match="it has 2 runs of each point, and not 3; choose another file"):
        dumbbell().sweep(same, runs=3, out=out)
    with pytest.raises(fl.ScenarioError, match="it has the seed 1, and not 2"):
        dumbbell().sweep(same, runs=2, seed=2, out=out)
    with pytest.raises(fl.ScenarioError, match="it has other points"):
        dumbbell().sweep({"bottleneck.queue.min": ["5p", "9p"]}, runs=2, out=out)
    with pytest.raises(fl.ScenarioError, match="it is of another scenario"):
        dumbbell().with_({"duration": "7s"}).sweep(same, runs=2, out=out)
    dumbbell().sweep(same, runs=2, out=out)


def test_a_file_that_is_no_sweep_is_not_touched(tmp_path: Path) -> None:
    out = tmp_path / "mine.parquet"
    pa.parquet.write_table(pa.table({"mine": [1]}), out)
    with pytest.raises(fl.ScenarioError, match="was not written by a sweep; choose another file"):
        dumbbell().sweep(VARIED, out=out)
    out.write_text("not even Parquet")
    with pytest.raises(fl.ScenarioError, match="is there and no Parquet file"):
        dumbbell().sweep(VARIED, out=out)
    assert out.read_text() == "not even Parquet"


def test_failures_stand_in_the_file(tmp_path: Path, undisturbed: fl.Outcomes) -> None:
    out = tmp_path / "sweep.parquet"
    with pytest.warns(RuntimeWarning, match="3 of 24 points failed"):
        swept = dumbbell().sweep(VARIED, runs=2, executor=lambda: Through(processes(), die_at, "7"), out=out)
    again = dumbbell().sweep(VARIED, runs=2, out=out)
    assert again.failures == swept.failures
    assert [failure.number for failure in again.failures] == [7, 15, 23]
    expected = undisturbed.groups.to_pyarrow().to_pylist()
    assert rows(out).to_pylist() == [row for row in expected if row["point.seed"] != 7]


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path: Path, undisturbed: fl.Outcomes) -> None:
    out = tmp_path / "sweep.parquet"

    def interrupt(done: int, _total: int) -> None:
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(fl.Interrupted, match=r"points are in .*sweep\.parquet\.part, and the same call goes on"):
        dumbbell().sweep(VARIED, runs=2, executor=threads, chunk=2, out=out, progress=interrupt)
    part = tmp_path / "sweep.parquet.part"
    lines = part.read_bytes().splitlines(keepends=True)
    assert 10 <= len(lines) - 1 < POINTS
    # The last line is truncated, as after a power failure: only its point is run again.
    part.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    with pytest.raises(fl.ScenarioError, match="it has 2 runs of each point, and not 1"):
        dumbbell().sweep(VARIED, out=out)
    through = Through(threads())
    with through:
        dumbbell().sweep(VARIED, runs=2, executor=through, chunk=1, out=out)
    assert len(through.units) == POINTS - (len(lines) - 2)
    assert rows(out) == undisturbed.groups.to_pyarrow()
    assert list(tmp_path.iterdir()) == [out]


SWEEP = """
import sys
import fairlane as fl
from sweeping import dumbbell
try:
    scenario = dumbbell().with_({"duration": sys.argv[3], "warmup": "0s"})
    print(scenario.sweep({"seed": list(range(int(sys.argv[2])))}, jobs=2, out=sys.argv[1], progress=False))
except fl.Interrupted as interrupted:
    print("interrupted", interrupted)
import resource
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def sweeping(out: Path, points: int, duration: str) -> subprocess.Popen[str]:
    """A process with a sweep into a file."""
    arguments = [sys.executable, "-c", SWEEP, str(out), str(points), duration]
    return subprocess.Popen(arguments, cwd=HERE, stdout=subprocess.PIPE, text=True)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_has_lost_nothing(sent: signal.Signals, tmp_path: Path) -> None:
    points, duration = 600, "6s"
    out, part = tmp_path / "sweep.parquet", tmp_path / "sweep.parquet.part"
    with sweeping(out, points, duration) as process:
        until = time.monotonic() + 30
        while not (part.exists() and part.stat().st_size > 60_000):
            assert time.monotonic() < until, "the sweep does not begin"
            assert process.poll() is None, "the sweep ended before its signal"
            time.sleep(0.005)
        process.send_signal(sent)
        said, _ = process.communicate(timeout=120)
    assert ("interrupted" in said) == (sent == signal.SIGINT)
    assert not out.exists()
    done = part.read_bytes().count(b"\n") - 1
    assert 0 < done < points
    through = Through(threads())
    scenario = dumbbell().with_({"duration": duration, "warmup": "0s"})
    with through:
        scenario.sweep({"seed": list(range(points))}, executor=through, out=out)
    assert points - done <= sum(map(len, through.units)) <= points - done + 1
    assert rows(out) == scenario.sweep({"seed": list(range(points))}).groups.to_pyarrow()


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from sweeping import dumbbell
try:
    dumbbell().sweep({"seed": list(range(100))}, out=sys.argv[1])
except OSError as error:
    print(error)
"""


@skip.unless(sys.platform != "win32", "unix", "the limit is Unix's")
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """A limit on the file's size has the effect of a full disk."""
    out = tmp_path / "sweep.parquet"
    command = [sys.executable, "-c", FULL, str(out)]
    said = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=True).stdout
    done = (tmp_path / "sweep.parquet.part").read_bytes().count(b"\n") - 1
    assert 0 < done < 100
    assert f"{done} of 100 points are in {out}.part, and the same call goes on from there" in said
    through = Through(threads())
    with through:
        dumbbell().sweep({"seed": list(range(100))}, executor=through, chunk=1, out=out)
    assert len(through.units) == 100 - done
    assert rows(out) == dumbbell().sweep({"seed": list(range(100))}).groups.to_pyarrow()


def test_two_processes_do_not_write_one_file(tmp_path: Path) -> None:
    out = tmp_path / "sweep.parquet"

    def meanwhile(_done: int, _total: int) -> None:
        with pytest.raises(fl.ScenarioError, match="another process is writing"):
            dumbbell().sweep(VARIED, out=out)

    dumbbell().sweep(VARIED, out=out, progress=meanwhile)


def test_ten_thousand_points_need_no_more_memory_than_a_thousand(tmp_path: Path) -> None:
    # All outcomes of 10,000 points would be more than 50 MB: each is 7 kB as text alone.
    needed = []
    for points in (1000, 10_000):
        with sweeping(tmp_path / f"{points}.parquet", points, "1s") as process:
            said, _ = process.communicate(timeout=120)
        needed.append(int(said.splitlines()[-1]))
        written = pa.parquet.ParquetFile(tmp_path / f"{points}.parquet")
        assert written.metadata.num_rows == 2 * points
    assert written.num_row_groups == 5
    assert written.read(["outcome"]).column(0).to_pylist() == [number // 2 for number in range(20_000)]
    assert needed[1] - needed[0] < 25
