"""Sweeps on Dask distributed: a scheduler and two workers as processes of their own, on this machine."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import brought
import distributed
import fairlane as fl
import pytest
from sweeping import POINTS, VARIED, Through, die_at, dumbbell

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
DASK = [sys.executable, "-W", "ignore", "-m", "distributed.cli"]


@contextlib.contextmanager
def cluster(
    tmp_path: Path, *of_worker: str, allowed_failures: int = 3
) -> Iterator[tuple[distributed.Client, list[int]]]:
    """A client, and the process ids of two workers; all processes are ended afterwards."""
    contact = tmp_path / "scheduler.json"
    failures = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(allowed_failures)}
    # The functions that the workers run are in a module next to this one.
    path = {"PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))}
    common = ["--scheduler-file", str(contact)]
    scheduler = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", *common]
    worker = ["--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard", "--death-timeout", "30", *common]
    worker += ["--local-directory", str(tmp_path), *of_worker]
    started: list[subprocess.Popen[bytes]] = []

    def start(what: str, arguments: list[str]) -> None:
        module = [*DASK[:-1], f"{DASK[-1]}.dask_{what}", *arguments]
        started.append(
            subprocess.Popen(module, env={**os.environ, **failures, **path}, cwd=tmp_path, stderr=subprocess.DEVNULL)
        )

    try:
        start("scheduler", scheduler)
        start("worker", worker)
        start("worker", worker)
        with distributed.Client(scheduler_file=str(contact), timeout=30) as client:
            client.wait_for_workers(2, timeout=60)
            yield client, [process.pid for process in started[1:]]
    finally:
        for process in started:
            # A nanny ends its worker on request; one that does not respond is killed.
            process.terminate()
        until = time.monotonic() + 10
        while time.monotonic() < until and any(process.poll() is None for process in started):
            time.sleep(0.05)
        for process in started:
            process.kill()
            process.wait(timeout=10)


@pytest.fixture(scope="module")
def undisturbed() -> fl.Outcomes:
    """The sweep on this machine, by the code shared with the command line."""
    return dumbbell().sweep(VARIED, runs=2)


def test_two_workers_give_the_same_also_when_one_is_killed(tmp_path: Path, undisturbed: fl.Outcomes) -> None:
    with cluster(tmp_path, "--no-nanny") as (client, workers):
        with client.get_executor() as executor:
            assert dumbbell().sweep(VARIED, runs=2, executor=executor) == undisturbed
            swept = dumbbell().sweep(VARIED, runs=2, executor=executor, out=tmp_path / "sweep.parquet")
            assert (swept.done, swept.failures) == (POINTS, ())

            class Local(brought.Short):
                """A class that the workers cannot import."""

            own = {"bottleneck.queue": [brought.Short, Local, fl.Codel()]}
            assert dumbbell().sweep(own, executor=executor) == dumbbell().sweep(own)
        assert len(client.nthreads()) == 2

        # Enough units to keep both workers busy when the first results arrive.
        varied = {"seed": list(range(400))}
        expected = dumbbell().sweep(varied, runs=10)
        killed = threading.Event()

        def kill(done: int, total: int) -> None:
            if done > total // 8 and not killed.is_set():
                os.kill(workers[0], signal.SIGKILL)
                killed.set()

        with client.get_executor() as executor:
            outcomes = dumbbell().sweep(varied, runs=10, executor=executor, chunk=4, progress=kill)
        assert killed.is_set()
        assert len(client.nthreads()) == 1, "the worker was not killed"
        assert outcomes == expected
        assert outcomes.failures == ()


def test_a_point_that_kills_dask_workers_is_reported(tmp_path: Path) -> None:
    # Nannies start a new worker for one that has died. Dask returns a unit at its first loss.
    varied: dict[str, Any] = {"seed": list(range(12))}
    undisturbed = dumbbell().sweep(varied)
    with (
        cluster(tmp_path, "--nanny", allowed_failures=0) as (client, _),
        client.get_executor() as dask,
        pytest.warns(RuntimeWarning, match=r"1 of 12 points failed, the first \(seed = 7\) with KilledWorker"),
    ):
        outcomes = dumbbell().sweep(varied, executor=Through(dask, die_at, "7"), chunk=2)
    assert [failure.number for failure in outcomes.failures] == [7]
    assert list(outcomes) == [outcome for outcome in undisturbed if outcome.seed != 7]
