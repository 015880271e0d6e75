"""A failing point leaves the others whole, tables keep their columns, and all errors have one base."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import fairlane as fl
import pytest

PACKAGE = Path(fl.__file__).parent


class Fifo(fl.Discipline):
    """A queue."""

    def __init__(self, host: fl.Host) -> None:
        super().__init__(host)
        self.queue: list[fl.Packet] = []

    def enqueue(self, _now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        if len(self.queue) < 20:
            self.queue.append(packet)
        else:
            sink.dropped(packet, "limit")

    def dequeue(self, _now: float, _sink: fl.DropSink) -> fl.Packet | None:
        return self.queue.pop(0) if self.queue else None


class Broken(Fifo):
    """One that fails after a second."""

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        if now > 1:
            raise ZeroDivisionError("a bad idea")
        super().enqueue(now, packet, sink)


class Gentle(fl.CongestionControl):
    """A congestion control."""

    def grow(self, window: fl.Window, ack: fl.Ack) -> None:
        window.cwnd += ack.growth / window.cwnd

    def on_congestion(self, _window: fl.Window, event: fl.CongestionEvent) -> float:
        return 0.75 * event.segments


def scenario() -> fl.Scenario:
    return fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="3s", queue=fl.DropTail(limit=20))


def test_a_point_that_fails_costs_itself_alone() -> None:
    varied = {"bottleneck.queue": [fl.DropTail(limit=20), Broken, Fifo], "seed": [1, 2]}
    with pytest.warns(
        RuntimeWarning,
        match=r"2 of 6 points failed, the first \(bottleneck.queue = Broken, seed = 1\) with ZeroDivisionError: a bad",
    ):
        swept = scenario().sweep(varied)
    assert [outcome.label for outcome in swept] == ["droptail", "droptail", "Fifo", "Fifo"]
    assert [(failure.number, failure.kind, failure.point["seed"]) for failure in swept.failures] == [
        (2, "ZeroDivisionError", "1"),
        (3, "ZeroDivisionError", "2"),
    ]
    assert swept[0].groups.to_dict()["throughput_bps"] == swept[2].groups.to_dict()["throughput_bps"]


def test_disciplines_are_compared_under_a_congestion_control_written_in_python() -> None:
    queues: list[fl.SomeDiscipline] = ["droptail", "choke", Fifo]
    compared = scenario().compare(queues, cc={"ftp": Gentle})
    assert [outcome.label for outcome in compared] == ["droptail", "choke", "Fifo"]
    for outcome, queue in zip(compared, queues, strict=True):
        assert outcome.groups == scenario().run(queue=queue, cc={"ftp": Gentle}).groups
    assert compared[0] != scenario().compare(["droptail"])[0]


def test_tables_have_the_columns_that_have_something() -> None:
    table = scenario().run().groups
    assert all(any(value is not None for value in table[name]) for name in table.columns)
    assert "transfers_completed" not in table.columns
    assert "share_ci95" not in table.columns
    assert "share_ci95" in scenario().run(runs=3).groups.columns
    nothing = scenario().compare()[:0].groups
    assert len(nothing) == 0
    assert "share_ci95" in nothing.columns


def test_an_array_keeps_the_order_that_was_asked_for() -> None:
    """Would catch the alphabet of xarray: choke before red, and ten before two."""
    pytest.importorskip("xarray")
    kinds, seeds = ["red", "choke", "droptail"], [10, 2, 30]
    data = scenario().sweep({"bottleneck.queue.kind": kinds, "seed": seeds}).to_xarray()
    assert list(data["bottleneck.queue.kind"].values) == kinds
    assert list(data["point.seed"].values) == seeds
    assert list(data["group"].values) == ["ftp", "cbr"]
    one = scenario().with_({"bottleneck.queue": "choke", "seed": 10}).run().group("cbr")["share"]
    assert float(data["share"].sel({"bottleneck.queue.kind": "choke", "point.seed": 10, "group": "cbr"})) == one
    assert list(scenario().compare(kinds).to_xarray()["label"].values) == kinds


def test_no_plain_value_error_is_raised() -> None:
    """Every error of the package is one of its base, as the documents say."""
    plain = re.compile(r"raise (ValueError|RuntimeError|Exception)\(|PyValueError|PyRuntimeError::new_err\(\"")
    sources = [file for file in PACKAGE.glob("*.py") if file.name != "errors.py"]
    found = [f"{file.name}: {match.group()}" for file in sources for match in plain.finditer(file.read_text())]
    assert found == []
    named = [module.name for module in pkgutil.iter_modules([str(PACKAGE)])]
    assert "errors" in named
    errors = [
        error for _, error in inspect.getmembers(fl.errors, inspect.isclass) if error.__module__ == fl.errors.__name__
    ]
    assert {error for error in errors if not issubclass(error, fl.FairlaneError)} == {fl.Interrupted}


def test_what_a_user_can_get_wrong_has_one_base(tmp_path: Path) -> None:
    it = scenario()
    once = it.run()
    queue, simulation = fl.Queue(fl.Choke()), it.start()
    queue.dequeue(2.0)
    simulation.step(1.0)
    ended = it.start()
    ended.outcome()

    def change() -> None:
        ended["bottleneck.rate"] = "2mbit"

    for wrong in (
        lambda: it.run(runs=0),
        lambda: it.run(runs=2, trace=True),
        lambda: it.run(jobs=-1),
        lambda: it.compare(at="nowhere"),
        lambda: it.sweep({"seed": [1]}, chunk=3),
        lambda: it.sweep({"seed": [1]}, at="nowhere"),
        once.plot.sweep,
        lambda: once.series,
        lambda: once.trace,
        lambda: once.groups.head(-1),
        lambda: queue.dequeue(1.0),
        lambda: queue.dequeue(-1.0),
        lambda: queue.enqueue(3.0, flow=1, bytes=0),
        lambda: queue.enqueue(3.0, flow=-1),
        lambda: simulation.step(0.5),
        lambda: simulation.step(99.0),
        lambda: ended.step(1.0),
        change,
        lambda: fl.papers.run("no-such-claim"),
        lambda: fl.papers.show("no-such-claim"),
        lambda: fl.theory.choke(load=-1.0),
        lambda: fl.lab(it, where="moon"),  # type: ignore[arg-type]
        lambda: fl.replay(tmp_path / "none.pcap", "choke", rate="1mbit"),
        lambda: fl.rate("fast"),
    ):
        with pytest.raises(fl.FairlaneError):
            wrong()
