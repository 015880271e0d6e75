"""Transports written in Python: their datagrams arrive as they should, and errors for faulty ones."""

import math
from typing import Any

import fairlane as fl
import pytest
from test_congestion import Reno
from test_discipline import Fifo
from transport import SIZE, Sink, Source, data_of, make, scenario

RENO = """
    [[flows]]
    name = "ftp"
    kind = "tcp"
    count = 2
    cc = "reno"
    tcp = { preset = "modern" }
"""


def test_everything_arrives_under_loss() -> None:
    """Would catch a payload that is another's, a timer that is missed, and goodput that is not the sink's."""
    pairs: list[tuple[Source, Sink]] = []

    def made(index: int, seed: int) -> tuple[Source, Sink]:
        assert index == len(pairs)
        pairs.append((Source(data_of(seed, 50)), Sink()))
        return pairs[-1]

    outcome = scenario("loss = 0.2", "count = 2").run(endpoints={"own": made})
    for index, (source, sink) in enumerate(pairs):
        assert sink.data == b"".join(source.pieces)
        flow = outcome.flow(f"own/{index}")
        assert flow["goodput_bps"] == 8 * 50 * SIZE / 20
        assert flow["sent"] == flow["delivered"] + flow["lost"] > 50
    assert pairs[0][1].data != pairs[1][1].data


def test_times_are_those_of_the_link() -> None:
    """A datagram of 1000 bytes takes 1 + 1, 8 + 10 and 1 + 1 ms over the three links. Would catch rounded seconds."""
    told: list[float] = []
    at = [0.1, 0.100000001, 1.000000007, 7.123456789, 19.999999999]

    class Ticking(Source):
        def start(self, now: float) -> None:
            assert now == 0

        def deadline(self) -> float | None:
            return at[len(told)] if len(told) < len(at) else None

        def on_timer(self, now: float) -> None:
            told.append(now)
            self.send = now == 1.000000007

    class Told(Sink):
        def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:
            assert (now, len(datagram), ecn) == (1.022000007, 4 + SIZE, fl.Ecn.NOT_ECT)
            self.delivered_bytes = 1

    outcome = scenario().run(endpoints={"own": lambda _, seed: (Ticking(data_of(seed, 1)), Told())})
    assert told == at
    assert outcome.flow("own/0")["goodput_bps"] == 8 / 20


def test_a_deadline_has_come_when_it_is_told() -> None:
    """Would catch a deadline that is rounded down: 0.1 + 0.1 + 0.1 is above 0.3, and no nanosecond is between them."""
    told: list[tuple[float, float]] = []

    class Paced(Source):
        at = 0.1

        def start(self, now: float) -> None:
            pass

        def deadline(self) -> float:
            return self.at

        def on_timer(self, now: float) -> None:
            told.append((self.at, now))
            self.at += 0.1

    scenario().run(endpoints={"own": lambda _, seed: (Paced(data_of(seed, 1)), Sink())})
    assert len(told) == 199
    assert all(at <= now < at + 2e-9 for at, now in told)
    assert any(at > round(now, 1) for at, now in told)


def test_the_same_seed_gives_the_same_outcome_and_another_does_not() -> None:
    lossy = scenario("loss = 0.1", "count = 2")
    runs = [lossy.run(endpoints={"own": make}, seed=seed, runs=2) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_each_flow_and_each_run_has_its_own_seed() -> None:
    seeds: list[int] = []

    def made(index: int, seed: int) -> tuple[Source, Sink]:
        seeds.append(seed)
        return make(index, seed)

    for _ in range(2):
        scenario("", "count = 2").run(endpoints={"own": made}, runs=2)
    assert seeds[:4] == seeds[4:]
    assert len(set(seeds)) == 4


class Alternate(Fifo):
    """Marks every second packet."""

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        if packet.ecn_capable and packet.id % 2:
            sink.marked(packet)
        assert packet.traffic_class == (0xB8 if packet.bytes == 500 else 0)
        super().enqueue(now, packet, sink)


@pytest.mark.parametrize("field", fl.Ecn)
def test_marks_reach_the_sink(field: fl.Ecn) -> None:
    """Would catch a field that is another at the sink, such as ECT(0) and ECT(1) exchanged (RFC 3168, section 5)."""
    seen: list[fl.Ecn] = []

    class Sends(Source):
        def transmit(self, now: float) -> fl.Outgoing | None:
            del now
            self.number += 1
            return fl.Outgoing(bytearray(b"x"), 500, field, 0xBB) if self.number <= 20 else None

    class Sees(Sink):
        def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:
            del now
            assert (type(datagram), datagram, type(ecn)) == (bytes, b"x", fl.Ecn)
            seen.append(ecn)

    queued = scenario('queue = { kind = "droptail" }')
    queued.run(queue=Alternate, endpoints={"own": lambda _, seed: (Sends(data_of(seed, 1)), Sees())})
    assert seen == 10 * ([field, fl.Ecn.CE] if field in (fl.Ecn.ECT_0, fl.Ecn.ECT_1) else [field, field])


def test_own_parts_of_all_kinds_run_together() -> None:
    """Reno and droptail in Python are the library's. Would catch a part that is ignored next to another."""
    mixed = scenario('queue = { kind = "droptail", limit = "300p" }', RENO)
    own = {"own": make}
    ours = mixed.run(endpoints=own, runs=2)
    theirs = mixed.run(endpoints=own, cc={"ftp": Reno}, queue=Fifo, runs=2)
    assert [group["transport"].split(",")[0] for group in theirs.to_dict()["groups"]] == ["endpoint", "tcp Reno"]
    assert theirs.queue()["kind"] == "Fifo"
    assert ours.flows == theirs.flows
    assert ours.flow("own/0")["goodput_bps"] > 0


def test_steps_give_the_same() -> None:
    """Would catch a step that loses a datagram, a window or a packet of any of the parts."""
    mixed = scenario('queue = { kind = "droptail" }', RENO)
    parts: dict[str, Any] = {"endpoints": {"own": make}, "cc": {"ftp": Reno}, "queue": Fifo}
    simulation = mixed.start(seed=3, **parts)
    for tenth in range(1, 150):
        simulation.step(tenth / 10)
    assert simulation.flow("own/0").delivered > 0
    assert simulation.outcome().flows == mixed.run(seed=3, **parts).flows


def test_an_endpoint_wakes_another() -> None:
    """A server passes on what arrives from flow 0 to the client of flow 1, at the same time.

    Would catch a wake that comes late or at the wrong end: 40 bytes take 0.04 + 1, 0.32 + 10 and 0.04 + 1 ms each way.
    """
    told: list[tuple[int, float]] = []
    waiting: list[bytes] = []

    class Server(fl.Endpoint):
        def __init__(self, index: int) -> None:
            self.index = index
            self.woken = False

        def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:  # noqa: ARG002
            waiting.append(datagram)
            self.woken = True

        def transmit(self, now: float) -> tuple[bytes, int] | None:  # noqa: ARG002
            return (waiting.pop(), 40) if self.index == 1 and waiting else None

        def wake(self) -> int | None:
            woken, self.woken = self.woken, False
            return 1 if woken else None

    class Client(fl.Endpoint):
        def __init__(self, index: int) -> None:
            self.index = index
            self.begun = index == 1

        def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:  # noqa: ARG002
            told.append((self.index, now))

        def transmit(self, now: float) -> tuple[bytes, int] | None:  # noqa: ARG002
            begun, self.begun = self.begun, True
            return None if begun else (b"hello", 40)

    scenario("", "count = 2").run(endpoints={"own": lambda index, _: (Server(index), Client(index))})
    [(index, at)] = told
    assert index == 1
    assert at == pytest.approx(2 * 0.0124, abs=1e-9)


def faulty(**methods: Any) -> Any:
    sink = type("Faulty", (Sink,), methods)
    return lambda index, seed: (make(index, seed)[0], sink())


def raises(_self: Sink, _now: float, datagram: bytes, _ecn: fl.Ecn) -> None:
    raise KeyError(len(datagram))


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ({"receive": raises}, f"it raised KeyError: {4 + SIZE}"),
        ({"transmit": lambda *_: b"x"}, "raised TypeError: transmit returned <class 'bytes'>, which is neither None"),
        ({"transmit": lambda *_: (b"x",)}, "raised TypeError: transmit returned <class 'tuple'>, which is neither"),
        ({"transmit": lambda *_: ("x", 40)}, "raised TypeError: transmit returned <class 'tuple'>, which is neither"),
        ({"transmit": lambda *_: (b"x", 0)}, "raised ArgumentError: transmit: 0 is no size on the wire: expected 1 to"),
        ({"transmit": lambda *_: (b"x", 70_000)}, "raised ArgumentError: transmit: 70000 is no size on the wire"),
        ({"transmit": lambda *_: (b"x", 40, 4)}, "raised ArgumentError: transmit: 4 is no ECN field: expected 0 to 3"),
        (
            {"transmit": lambda *_: (b"x", 40, 0, -1)},
            "raised ArgumentError: transmit: -1 is no traffic class: expected 0",
        ),
        ({"transmit": lambda *_: (bytes(41), 40)}, "a datagram of 41 bytes cannot have 40 bytes on the wire"),
        ({"transmit": lambda *_: (b"x", 40)}, "`transmit` gives results without end"),
        ({"deadline": lambda _: "soon"}, "raised TypeError: deadline returned <class 'str'>, which is no time"),
        ({"deadline": lambda _: math.inf}, "raised ArgumentError: deadline: inf is not a time"),
        ({"deadline": lambda _: 0.0}, "its deadline stays at 0 s"),
        ({"wake": lambda _: "0"}, "raised TypeError: wake returned <class 'str'>, which is no number of a flow"),
        ({"wake": lambda _: 3}, "`wake` gave flow 3, which the group does not have"),
        ({"delivered_bytes": -1}, "raised TypeError: delivered_bytes is <class 'int'>, which is no number of bytes"),
    ],
)
def test_mistakes_are_errors(methods: dict[str, Any], words: str) -> None:
    """Would catch a mistake that goes on into the simulation, or an error without the end, the flow or the time."""
    at = "0.022" if "receive" in methods else "0"
    with pytest.raises(fl.EndpointError) as raised:
        scenario().run(endpoints={"own": faulty(**methods)}, runs=2)
    said = str(raised.value)
    assert said.startswith(f'the sink of flow "own/0" at {at} s: ')
    assert words in said
    assert (raised.value.__cause__ is not None) == ("raised" in said)
    if "receive" in methods:
        assert isinstance(raised.value.__cause__, KeyError)


def test_a_mistake_ends_a_simulation_in_steps() -> None:
    simulation = scenario().start(endpoints={"own": faulty(receive=raises)})
    simulation.step(0.022)
    with pytest.raises(fl.EndpointError, match=r'the sink of flow "own/0" at 0\.022 s: it raised KeyError') as raised:
        simulation.step(1.0)
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(RuntimeError, match="a part written in Python failed"):
        simulation.step(2.0)

    class Bad(Reno):
        def grow(self, window: fl.Window, ack: fl.Ack) -> None:  # noqa: ARG002
            window.cwnd = math.nan

    short = scenario('queue = { kind = "droptail", limit = "20p" }', RENO)
    simulation = short.start(endpoints={"own": make}, cc={"ftp": Bad})
    with pytest.raises(fl.CongestionError, match=r"flow ftp/\d at [\d.]+ s: .* set the window to NaN segments"):
        simulation.outcome()


def test_what_cannot_be_is_refused() -> None:
    """Would catch a group without endpoints that runs, and a maker that is forgotten."""
    two = scenario("", RENO)
    with pytest.raises(fl.ScenarioError, match='flow "own/0" has no endpoints; give what makes them with `endpoints`'):
        two.run()
    with pytest.raises(fl.ScenarioError, match='flow "own/0" has no endpoints'):
        two.run(cc={"ftp": Reno})
    with pytest.raises(fl.ScenarioError, match='endpoints: there is no group of endpoints "ftp"'):
        two.run(endpoints={"own": make, "ftp": make})
    with pytest.raises(TypeError, match="'own' needs a function that makes a source and a sink, not a tuple"):
        two.run(endpoints={"own": (Source, Sink)})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="endpoints: expected a mapping of groups"):
        two.run(endpoints=make)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r'what makes "own" returned .*Sink.*: return two, the source and the sink'):
        two.run(endpoints={"own": lambda *_: Sink()})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"object has no method receive: see fairlane\.Endpoint"):
        two.run(endpoints={"own": lambda *_: (object(), Sink())})
    with pytest.raises(ZeroDivisionError):
        two.run(endpoints={"own": lambda *_: 1 / 0})  # type: ignore[dict-item]


def test_ctrl_c_in_a_method_is_no_mistake() -> None:
    """Would catch a second Ctrl-C that is told as an error of the endpoint."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(fl.Interrupted):
        scenario().run(endpoints={"own": faulty(receive=interrupted)})
