"""Disciplines written in Python: right decisions, and the errors for faulty ones."""

import math
import statistics
from collections.abc import Callable

import fairlane as fl
import pytest
from choke import AlwaysTheHead, Choke, SparesTheVictim

OURS = fl.Choke(limit=300, min=100, max=200, probability=0.1, weight=0.002, uniformize="count")


class Fifo(fl.Discipline):
    limit = 300

    def __init__(self, host: fl.Host) -> None:
        super().__init__(host)
        self.queue: list[fl.Packet] = []

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:  # noqa: ARG002
        if len(self.queue) < self.limit:
            self.queue.append(packet)
        else:
            sink.dropped(packet, "limit")

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:  # noqa: ARG002
        return self.queue.pop(0) if self.queue else None


def scenario(duration: str = "20s") -> fl.Scenario:
    return fl.Scenario.dumbbell(
        tcp=32, udp="2mbit", rate="1mbit", duration=duration, warmup="1s", start="0s..1s", window=300, queue=OURS
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fifo_in_python_is_droptail(seed: int) -> None:
    """Would catch a packet, a time or a count that is lost between the simulator and Python."""
    ours, theirs = (
        scenario().run(queue=queue, seed=seed, runs=2).to_dict() for queue in (fl.DropTail(limit=300), Fifo)
    )
    for outcome in (ours, theirs):
        del outcome["cost"]
        outcome["queues"][0]["kind"] = ""
    assert ours == theirs


def shares(queue: fl.SomeDiscipline) -> list[float]:
    short = scenario("15s")
    return [share for seed in range(30) for share in [short.run(queue=queue, seed=seed).group("cbr")["share"]]]


def far_apart(a: list[float], b: list[float]) -> float:
    """The number of standard errors between two means."""
    error = math.sqrt(statistics.variance(a) / len(a) + statistics.variance(b) / len(b))
    return abs(statistics.mean(a) - statistics.mean(b)) / error


def test_choke_shares_the_link_as_the_reference_does() -> None:
    """Both have the same distribution of the unresponsive flow's share; a faulty discipline has another."""
    ours = shares(OURS)
    # Two-sided, a chance of 1 in 15,000 to fail if they are the same.
    assert far_apart(ours, shares(Choke)) < 4
    assert far_apart(ours, shares(SparesTheVictim)) > 8


class Instant(Choke):
    weight = 1.0
    low = 20.0
    high = 60.0


class InstantHead(AlwaysTheHead, Instant):
    pass


def victims(queue: fl.QueueConfig | Callable[[fl.Host], object]) -> list[int]:
    """The number of draws of each of 21 places: all packets belong to one flow, so the drawn packet is dropped."""
    counts = [0] * 21
    for seed in range(2100):
        made = fl.Queue(queue, rate="1mbit", seed=seed)
        for _ in range(21):
            assert made.enqueue(0, flow=7) == []
        victim, arrival = made.enqueue(0, flow=7)
        assert (victim.reason, arrival.reason, arrival.packet.id) == ("match_victim", "match_arrival", 21)
        counts[victim.packet.id] += 1
    return counts


def chi_squared(counts: list[int]) -> float:
    expected = sum(counts) / len(counts)
    return sum((count - expected) ** 2 / expected for count in counts)


def test_every_queued_packet_is_as_likely_to_be_drawn() -> None:
    # The 99.9 % quantile of chi-squared with 20 degrees of freedom.
    most = 45.31
    assert chi_squared(victims(fl.Choke(limit=300, min=20, max=60, weight=1.0))) < most
    assert chi_squared(victims(Instant)) < most
    assert chi_squared(victims(InstantHead)) > most


def test_comparisons_mix_both_and_keep_the_order() -> None:
    outcomes = scenario("3s").compare(["droptail", Choke, fl.Red(), Fifo], runs=2)
    assert [outcome.queue()["kind"] for outcome in outcomes] == ["droptail", "choke-reference", "red", "Fifo"]
    assert outcomes[3].group("cbr") == outcomes[0].group("cbr")
    assert outcomes[1].queue()["mean_avg"] > 0


def mistaken(**methods: object) -> type[Fifo]:
    return type("Mistaken", (Fifo,), methods)


def loses(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
    if now < 1:
        self.queue.append(packet)
    del sink


def drops_twice(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
    del self, now
    sink.dropped(packet)
    sink.dropped(packet)


def keeps_what_it_dropped(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
    del now
    self.queue.append(packet)
    sink.dropped(packet)


def sends_twice(self: Fifo, now: float, sink: fl.DropSink) -> fl.Packet | None:
    del now, sink
    return self.queue[0] if self.queue else None


def marks_at_will(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
    del self, now
    sink.marked(packet)


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ({"enqueue": loses}, "neither left nor been dropped, first <Packet "),
        ({"enqueue": drops_twice}, "drops packet 0 of flow .*, that it has dropped before"),
        ({"enqueue": keeps_what_it_dropped}, "gives out packet 0 of flow .*, that it has dropped before"),
        ({"dequeue": sends_twice}, "gives out packet .*, that it has given to the link before"),
        ({"enqueue": marks_at_will}, "which is not ECN-capable"),
    ],
)
def test_packets_are_neither_lost_nor_doubled(methods: dict[str, object], expected: str) -> None:
    with pytest.raises(fl.DisciplineError, match=expected):
        scenario("5s").run(queue=mistaken(**methods))


def test_an_exception_ends_the_run_with_its_traceback() -> None:
    def fails(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        if now > 1:
            raise ZeroDivisionError("of mine")
        Fifo.enqueue(self, now, packet, sink)

    with pytest.raises(ZeroDivisionError, match="of mine") as raised:
        scenario("5s").run(queue=mistaken(enqueue=fails))
    assert raised.traceback[-1].name == "fails"
    with pytest.raises(ZeroDivisionError):
        scenario("5s").run(queue=lambda _host: 1 / 0)


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        (object(), "a discipline is a name"),
        (lambda _host: 3, "int has no method enqueue"),
        (mistaken(dequeue=lambda *_: 3), "dequeue must return a packet or None, not a int"),
        (mistaken(average=lambda _: "long"), "average must return a number or None, not a str"),
    ],
)
def test_other_objects_are_type_errors(queue: fl.SomeDiscipline, expected: str) -> None:
    with pytest.raises(TypeError, match=expected):
        scenario("5s").run(queue=queue)


def test_reasons_are_those_of_the_list() -> None:
    def wonders(self: Fifo, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        del self, now
        sink.dropped(packet, "bad_luck")

    with pytest.raises(ValueError, match='there is no reason "bad_luck"; there are limit, early'):
        scenario("5s").run(queue=mistaken(enqueue=wonders))


class Delayed(Fifo):
    """Holds every packet back for 10 ms."""

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        super().enqueue(now, packet, sink)
        self.times = [*getattr(self, "times", []), now + 0.01]

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:
        if not self.queue or self.times[0] > now:
            return None
        self.times.pop(0)
        return super().dequeue(now, sink)

    def ready_at(self) -> float | None:
        return self.times[0] if self.queue else None


def test_packets_can_be_held_back() -> None:
    slow = fl.Scenario.dumbbell(udp="80kbit", rate="1mbit", duration="5s", queue="droptail")
    # One packet each 100 ms never meets another, so its delay is the holding time, to the 3 digits of the histogram.
    assert slow.run(queue=Delayed).queue()["delay_s"]["mean"] == pytest.approx(0.01, rel=1e-3)


def test_the_same_seed_gives_the_same_outcome_and_another_does_not() -> None:
    runs = [scenario("5s").run(queue=Choke, seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_discipline_in_python_has_series_and_trace() -> None:
    """The tables are those of the library's droptail, row by row."""
    ours, theirs = (
        scenario("4s").run(queue=queue, series="500ms", trace=True) for queue in (Fifo, fl.DropTail(limit=300))
    )
    assert ours.series.flows == theirs.series.flows
    assert ours.series.queues == theirs.series.queues
    assert ours.trace == theirs.trace
    assert len(ours.trace) > 1000
    with pytest.raises(TypeError, match="a discipline is a name, one such as"):
        scenario("4s").run(queue=3, series="1s")  # type: ignore[arg-type]
