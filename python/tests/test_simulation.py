"""Simulations in steps: any slices give the outcome of a run, and changes have the effect that arithmetic predicts."""

import copy
import pickle
import signal
import threading
from typing import Any

import fairlane as fl
import pytest
from choke import Choke
from hypothesis import given, settings
from hypothesis import strategies as st

loose: Any = fl


def scenario(**changes: object) -> fl.Scenario:
    return fl.Scenario.dumbbell(
        tcp=4, udp="2mbit", rate="1mbit", duration="3s", warmup="1s", queue=fl.Choke(limit=60, min=5, max=20)
    ).with_(changes)


def flood(rate: str = "1mbit", source: str = "8mbit", limit: int = 50) -> fl.Scenario:
    return fl.Scenario.dumbbell(
        udp=source, rate=rate, duration="10s", queue=fl.DropTail(limit=limit), access_rate="100mbit"
    )


def in_slices(simulation: fl.Simulation, slices: list[float]) -> fl.Outcome:
    """The outcome after steps of these lengths, over and over."""
    number = 0
    while simulation.now < simulation.end:
        simulation.step(min(simulation.now + slices[number % len(slices)], simulation.end))
        assert simulation.queues
        assert simulation.flows
        number += 1
    return simulation.outcome()


@settings(max_examples=25, deadline=None)
@given(
    slices=st.lists(st.floats(0.001, 1.5), min_size=1, max_size=5),
    seed=st.integers(0, 2**63 - 1),
    queue=st.sampled_from(["choke", "red", "fq-codel", "pie", "cake", Choke]),
)
def test_any_slices_give_the_outcome_of_a_run(slices: list[float], seed: int, queue: Any) -> None:
    """Would catch an event at the end of a slice that is handled twice or in another order; reading that disturbs."""
    whole = scenario().run(seed=seed, queue=queue)
    stepped = in_slices(scenario().start(seed=seed, queue=queue), slices)
    assert stepped == whole
    events = stepped.to_dict()["cost"]["events"]
    assert events == whole.to_dict()["cost"]["events"] > 1000


@pytest.mark.parametrize("until", ["1s", 1, 1.0])
def test_the_time_is_text_or_seconds(until: Any) -> None:
    simulation = scenario().start()
    assert (simulation.now, simulation.end) == (0.0, 3.0)
    simulation.step(until)
    assert simulation.now == 1.0
    assert repr(simulation) == "<Simulation of 'dumbbell': 1 of 3 s>"


def test_state_is_that_of_the_last_step() -> None:
    """At 1 Mbit/s a packet of 1000 bytes takes 8 ms: 125 leave in a second, and of 1000 offered the others are dropped.

    Would catch counts since the start in place of those of the last step, and a rate that is not the link's.
    """
    simulation = flood().start()
    simulation.step("5s")
    simulation.step("6s")
    queue = simulation.queue()
    assert queue.departed == fl.Count(125, 125_000)
    assert queue.arrived.packets == pytest.approx(1000, abs=1)
    assert queue.dropped.packets == queue.arrived.packets - 125
    assert (queue.packets, queue.bytes, queue.marked) == (50, 50_000, fl.Count(0, 0))
    assert (queue.rate_bps, queue.delay_s) == (1e6, 0.4)
    assert (queue.average, queue.probability) == (None, None)
    flow = simulation.flow("cbr/0")
    assert flow.sent == pytest.approx(1000, abs=1)
    assert (flow.cwnd, flow.srtt_s) == (None, None)
    assert flow.delivered == 125
    assert flow.delivered_bytes == 125_000
    assert flow.dropped == queue.dropped.packets
    assert simulation.queues == {"bottleneck": queue}
    assert simulation.flows == {"cbr/0": flow}


def test_tcp_shows_its_window_and_round_trip_time() -> None:
    """A window of packets is in flight for one round-trip time: Little's law, within what a step changes."""
    simulation = fl.Scenario.dumbbell(
        tcp=1, rate="1mbit", duration="20s", window=10, queue=fl.DropTail(limit=100)
    ).start()
    simulation.step("10s")
    simulation.step("11s")
    flow = simulation.flow("ftp/0")
    assert flow.cwnd is not None
    assert flow.cwnd >= 10
    # Ten packets of 8 ms each are on their way; clocks of old TCPs have coarse ticks.
    assert flow.srtt_s is not None
    assert flow.srtt_s == pytest.approx(0.08, rel=0.6)
    assert flow.delivered == pytest.approx(125, abs=1)


def test_rates_and_queues_change_while_it_runs() -> None:
    """5 s at 1 Mbit/s and 5 s at 4 Mbit/s carry 2.5 Mbit/s in the mean. Would catch a change without an effect."""
    simulation = flood().start()
    simulation.step("5s")
    simulation["bottleneck.rate"] = "4mbit"
    assert simulation["bottleneck.rate"] == simulation.scenario["bottleneck.rate"] == "4mbit"
    assert simulation.queue().rate_bps == 4e6
    simulation.step("6s")
    # The packet that was being sent keeps its rate, so up to 8 ms pass before the first of 2 ms.
    assert simulation.queue().departed.packets == pytest.approx(500, abs=4)
    simulation.update({"bottleneck.queue.limit": "20p", "flows.cbr.rate": "2mbit"})
    simulation.step("7s")
    assert simulation.queue().packets == 0
    assert simulation.flow("cbr/0").sent == pytest.approx(250, abs=2)
    simulation["flows.cbr.rate"] = "8mbit"
    simulation.step("8s")
    assert simulation.queue().packets == 20
    queue = simulation.outcome().queue()
    # The link could carry 5 s of 1 Mbit/s and 5 s of 4 Mbit/s, in packets of 8000 bits.
    assert queue["utilisation"] == pytest.approx(queue["departed"] * 8000 / 25e6, abs=0.001)
    assert flood()["bottleneck.rate"] == "1mbit"


def test_a_discipline_of_python_is_changed_itself() -> None:
    """Would catch objects that are copied when the simulation begins."""
    made: list[Any] = []

    class Gate(fl.Discipline):
        """Drops everything while it is closed."""

        def __init__(self, host: fl.Host) -> None:
            super().__init__(host)
            self.closed = False
            self.packets: list[fl.Packet] = []
            made.append(self)

        def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:  # noqa: ARG002
            if self.closed:
                sink.dropped(packet, "early")
            else:
                self.packets.append(packet)

        def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:  # noqa: ARG002
            return self.packets.pop(0) if self.packets else None

    simulation = flood(rate="10mbit", source="1mbit").start(queue=Gate)
    simulation.step(1)
    assert simulation.queue().dropped.packets == 0
    made[0].closed = True
    simulation.step(2)
    assert simulation.queue().dropped == simulation.queue().arrived
    with pytest.raises(fl.ScenarioError, match="has a discipline of the caller; change that object itself"):
        simulation["bottleneck.queue.limit"] = "5p"


def test_what_cannot_be_is_refused() -> None:
    simulation = scenario().start()
    simulation.step("1s")
    whole = scenario().run()
    refused: list[tuple[Any, str]] = [
        (lambda: simulation.step(0.5), "until: 0.5 s is in the past: the simulation is at 1 s"),
        (lambda: simulation.step("4s"), "until: 4 s is after the end of the scenario, which lasts 3 s"),
        (lambda: simulation.step("soon"), "until: "),
        (lambda: simulation.step(float("nan")), "until: NaN is not a time"),
        (lambda: simulation.update({"duration": "9s"}), "the duration cannot change during a run"),
        (lambda: simulation.update({"seed": 2}), "the seed cannot change during a run"),
        (
            lambda: simulation.update({"bottleneck.delay": "9ms"}),
            'more of link "bottleneck" than its rate and its queue',
        ),
        (lambda: simulation.update({"flows.ftp.cc": "cubic"}), 'more of flows "ftp" than a rate'),
        (lambda: simulation.update({"bottleneck.queue.mix": "9p"}), "mix"),
        (lambda: simulation.update({"bottleneck.rate": "0bit"}), "rate"),
    ]
    for wrong, words in refused:
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(TypeError):
        loose.Simulation("x")
    with pytest.raises(TypeError, match=r"fairlane\.Red is a class"):
        scenario().start(queue=loose.Red)
    with pytest.raises(TypeError, match="not a int"):
        scenario().start(queue=loose.__dict__.get("nothing", 3))
    with pytest.raises(KeyError, match="outcomes have no queue 'x'; there are bottleneck"):
        simulation.queue("x")
    with pytest.raises(KeyError, match="there is no flow 'ftp'"):
        simulation.flow("ftp")
    # Nothing of this has changed anything.
    assert simulation.outcome() == whole


def test_after_the_end_there_is_only_the_outcome() -> None:
    simulation = scenario().start()
    outcome = simulation.outcome()
    assert simulation.outcome() == outcome == scenario().run()
    assert simulation.now == simulation.end == 3.0
    assert simulation.queue().arrived.packets > 0
    simulation.step("3s")
    assert simulation.queue().arrived.packets == 0
    with pytest.raises(ValueError, match="the simulation has ended at 3 s and cannot step to 4 s"):
        simulation.step("4s")
    with pytest.raises(ValueError, match="the simulation has ended: nothing can change"):
        simulation["bottleneck.rate"] = "2mbit"


def test_an_exception_of_a_discipline_ends_the_simulation() -> None:
    class Fails(Choke):
        def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
            if now > 0.5:
                raise ZeroDivisionError("its own")
            super().enqueue(now, packet, sink)

    simulation = scenario().start(queue=Fails)
    with pytest.raises(ZeroDivisionError, match="its own"):
        simulation.step("1s")
    for again in (lambda: simulation.step("2s"), lambda: simulation.now, simulation.outcome, simulation.queue):
        with pytest.raises(RuntimeError, match="the simulation ended when a part written in Python failed"):
            again()


def test_ctrl_c_ends_a_step_and_not_the_simulation() -> None:
    """Would catch a step that hears no signal, or one that loses the events after it."""
    long = fl.Scenario.figure_3().with_({"duration": "1000000s", "warmup": "0s"})
    simulation = long.start()
    timer = threading.Timer(0.2, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        simulation.step("1000000s")
    timer.join()
    reached = simulation.now
    assert 0 < reached < 1_000_000
    simulation.step(reached + 1)
    assert simulation.queue().departed.packets == pytest.approx(125, abs=60)


def test_it_is_neither_copied_nor_pickled() -> None:
    """Would catch a copy that shares the state of the original."""
    for thing in (scenario().start(), fl.Queue(fl.Choke())):
        for again in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="cannot be copied or pickled"):
                again(thing)
