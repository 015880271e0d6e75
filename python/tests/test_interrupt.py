"""Ctrl-C stops any work at once, and finished work is kept."""

from __future__ import annotations

import contextlib
import pickle
import signal
import struct
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import fairlane as fl
import pytest
from choke import Choke
from every_name import flood

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# Ctrl-C while Python frees an object is reported as ignored by Python, and heard all the same.
UNRAISABLE = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def scenario(**changes: object) -> fl.Scenario:
    return fl.Scenario.figure_3().with_({"duration": "40s", "warmup": "2s", **changes})


@contextlib.contextmanager
def interrupted(after: float, words: str) -> Iterator[pytest.ExceptionInfo[fl.Interrupted]]:
    """Sends SIGINT after this many seconds; the block must end within three seconds after that."""
    timer = threading.Timer(after, signal.raise_signal, [signal.SIGINT])
    before = time.monotonic()
    timer.start()
    with pytest.raises(fl.Interrupted, match=words) as stopped:
        yield stopped
    assert time.monotonic() - before < after + 3
    timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_sweep_keeps_the_points_that_were_done() -> None:
    def at_first(done: int, _total: int) -> None:
        if 0 < done < 3000:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fl.Interrupted, match="outcomes are complete") as stopped:
        scenario().sweep({"seed": "1..3000/3000"}, progress=at_first)
    outcomes = stopped.value.outcomes
    assert 0 < len(outcomes) < 3000
    assert outcomes[0] == scenario().sweep({"seed": [outcomes[0].point["seed"]]})[0]


def test_a_run_keeps_what_was_measured() -> None:
    with interrupted(1.0, "0 outcomes are complete, 1 in part") as stopped:
        scenario(duration="1000000s").run()
    (outcome,) = stopped.value.outcomes
    assert outcome.partial
    assert 2 < outcome.to_dict()["to_s"] < 1_000_000
    with interrupted(1.0, "0 outcomes are complete, 1 in part") as stopped:
        scenario(duration="1000000s").run(series="100s")
    with interrupted(0.2, "before anything was measured") as stopped:
        scenario(duration="1000000s", warmup="999999s").run()
    assert len(stopped.value.outcomes) == 0


def test_a_run_with_a_transport_in_python_keeps_what_was_measured() -> None:
    """Would catch Ctrl-C that is heard at the end only, or told as a mistake of the endpoint."""
    flows = [{"name": "own", "kind": "endpoint"}]
    long = fl.Scenario.dumbbell(rate="1mbit", duration="1000000s", flows=flows)
    with interrupted(1.0, "0 outcomes are complete, 1 in part") as stopped:
        long.run(endpoints={"own": flood}, runs=2)
    (outcome,) = stopped.value.outcomes
    assert outcome.partial
    assert outcome.flow("own/0")["delivered"] > 0


def test_a_transport_that_only_waits_hears_it() -> None:
    """Would catch a run that looks for Ctrl-C at packets only."""

    class Waits(fl.Endpoint):
        at = 0.0

        def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:
            pass

        def transmit(self, now: float) -> None:
            pass

        def deadline(self) -> float:
            return self.at

        def on_timer(self, now: float) -> None:
            self.at = now + 1e-3

    flows = [{"name": "own", "kind": "endpoint"}]
    long = fl.Scenario.dumbbell(rate="1mbit", duration="1000000s", flows=flows)
    with interrupted(0.5, "0 outcomes are complete, 1 in part"):
        long.run(endpoints={"own": lambda *_: (Waits(), Waits())})


@UNRAISABLE
def test_it_is_heard_while_points_are_checked() -> None:
    """The check of 100,000 points takes seconds."""
    with interrupted(0.3, "while the points were checked: none of them was run") as stopped:
        scenario().sweep({"seed": range(100_000)})
    assert len(stopped.value.outcomes) == 0


@UNRAISABLE
def test_it_is_heard_while_an_object_is_freed() -> None:
    """Would catch Ctrl-C that is lost with what Python ignores: an exception while it frees an object."""

    class Freed:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def seeds() -> Iterator[int]:
        yield 1
        Freed()
        yield 2

    with pytest.raises(fl.Interrupted, match="while the points were checked: none of them was run"):
        scenario().sweep({"seed": seeds()})
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@UNRAISABLE
def test_it_is_heard_while_jobs_are_made(tmp_path: Path) -> None:
    """The simulator's own check of 30,000 points, which comes next, takes seconds too."""
    told: list[int] = []

    def at_once(done: int, _total: int) -> None:
        told.append(done)
        signal.raise_signal(signal.SIGINT)

    began = time.process_time()
    with pytest.raises(fl.Interrupted, match="before anything was measured"):
        scenario().sweep({"seed": range(30_000)}, progress=at_once)
    assert told == [0]
    # The first look is after a tenth of a second; before it, 30,000 points are checked. Processor time does not depend
    # on what else runs.
    assert time.process_time() - began < 3
    out = tmp_path / "sweep.parquet"
    with interrupted(0.3, "while the points were checked"):
        scenario().sweep({"seed": range(100_000)}, out=out)
    assert list(tmp_path.iterdir()) == []


def test_papers_keep_what_was_measured() -> None:
    """Would catch an interruption that loses or changes a finished claim, or judges an unfinished one."""
    # One thread works in the order of the claims: the eight rows of Table III take no time, Figure 8 of BARE does.
    rows, names = 8, ["choke-table3", "bare-fig8"]
    began: list[int] = []

    def told(done: int, total: int) -> None:
        assert total > done
        if done >= rows and not began:
            began.append(done)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fl.Interrupted, match=r"interrupted: \d+ of \d+ runs are done; the claims") as stopped:
        fl.papers.run(names, jobs=1, progress=told)
    claims = stopped.value.claims
    assert [claim.id for claim in claims] == names
    finished, unfinished = claims
    assert [finished] == fl.papers.run("choke-table3")
    assert all(check.met for check in finished.checks)
    assert None in [check.met for check in unfinished.checks]
    again = pickle.loads(pickle.dumps(stopped.value))
    assert (again.claims, len(again.outcomes)) == (claims, 0)


def capture(path: Path, packets: int) -> Path:
    """A pcap file of UDP packets over raw IPv4, one each millisecond."""
    address = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28, 0, 0, 64, 17, 0, *address) + struct.pack(">HHHH", 1, 2, 8, 0)
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    records = (struct.pack("<IIII", n // 1000, n % 1000 * 1000, len(ip), 1000) + ip for n in range(packets))
    path.write_bytes(header + b"".join(records))
    return path


def test_a_replay_ends(tmp_path: Path) -> None:
    path = capture(tmp_path / "long.pcap", 300_000)
    with interrupted(1.0, "queues were begun") as stopped:
        fl.replay(path, [fl.Choke() for _ in range(200)], rate="1mbit")
    assert 0 < len(stopped.value.outcomes) < 200
    assert all(outcome.queue()["arrived"] > 0 for outcome in stopped.value.outcomes)


def test_a_run_in_python_ends_between_two_packets() -> None:
    """Would catch an interruption within a call of a discipline, after which the run has no valid results."""
    with interrupted(1.0, "0 outcomes are complete, 1 in part") as stopped:
        scenario(duration="100000s").run(queue=Choke)
    (outcome,) = stopped.value.outcomes
    queue = outcome.queue()
    assert outcome.partial
    assert queue["kind"] == "choke-reference"
    assert 0 < queue["departed"] < queue["arrived"]
    with interrupted(1.0, "0 outcomes are complete, 1 in part") as stopped:
        scenario().run(queue=Choke, runs=10_000)
    assert stopped.value.outcomes[0].runs < 10_000


def test_a_discipline_that_hangs_is_ended_by_the_second_ctrl_c() -> None:
    class Hangs(Choke):
        def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
            del now, packet, sink
            while True:
                time.sleep(0.01)

    threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()
    with interrupted(0.6, "before anything was measured"):
        scenario().run(queue=Hangs)


def test_a_run_in_python_listens_while_none_of_its_packets_come() -> None:
    """All traffic passes another link, so no code in Python runs."""
    elsewhere = fl.Scenario.from_dict(
        {
            "name": "Elsewhere",
            "duration": "100000s",
            "links": [
                {"name": "busy", "from": "a", "to": "b", "rate": "10mbit", "delay": "1ms"},
                {"name": "idle", "from": "b", "to": "c", "rate": "10mbit", "delay": "1ms", "queue": fl.Choke()},
            ],
            "flows": [{"name": "cbr", "kind": "udp", "rate": "20mbit", "packet": "1000b", "from": "a", "to": "b"}],
        }
    )
    ticks: list[float] = []
    over = threading.Event()

    def tick() -> None:
        while not over.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    with interrupted(1.0, "0 outcomes are complete, 1 in part"):
        elsewhere.run(queue=Choke)
    over.set()
    thread.join()
    assert len(ticks) > 5, "other threads of Python were held up"


def test_a_script_ends_with_a_traceback(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import fairlane as fl\n"
        "print('begun', flush=True)\n"
        "fl.Scenario.figure_3().with_({'duration': '1000000s'}).run()\n"
    )
    child = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=120)
    assert "Interrupted: interrupted: 0 outcomes are complete, 1 in part" in said


def test_an_interruption_survives_a_pickle() -> None:
    """Would catch an exception that a process of a pool cannot pass on."""
    outcomes = scenario(duration="4s").compare(["red"])
    again = pickle.loads(pickle.dumps(fl.Interrupted("stopped", outcomes)))
    assert str(again) == "stopped"
    assert again.outcomes == outcomes
