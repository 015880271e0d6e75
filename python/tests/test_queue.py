"""A queue that is operated packet by packet."""

import fairlane as fl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_full_queue_drops_and_counts() -> None:
    queue = fl.Queue(fl.DropTail(limit=2))
    assert queue.enqueue(0.0, flow=1, bytes=100) == []
    assert queue.enqueue(0.1, flow=2, bytes=200) == []
    (event,) = queue.enqueue(0.2, flow=3, bytes=400)
    assert (event.what, event.packet.flow, event.packet.bytes, event.reason) == ("dropped", 3, 400, "limit")
    assert (queue.packets, queue.bytes, len(queue)) == (2, 300, 2)
    first = queue.dequeue(0.3)
    assert first is not None
    assert (first.id, first.flow, first.marked) == (0, 1, False)
    assert queue.counters == fl.Counters(
        arrived=fl.Count(3, 700), departed=fl.Count(1, 100), dropped={"limit": fl.Count(1, 400)}, marked={}
    )
    assert queue.average is None
    assert queue.events == []


def test_red_marks_what_may_be_marked() -> None:
    """With max_p 1 and an average at max every packet is signalled (Floyd, Jacobson 1993)."""
    queue = fl.Queue(fl.Red(limit=50, min=1, max=2, weight=1.0, probability=1.0, ecn=True))
    events = [event for _ in range(10) for event in queue.enqueue(0, flow=1, ecn=True)]
    assert {event.what for event in events} == {"marked"}
    assert all(event.packet.marked for event in events)
    (event,) = queue.enqueue(0, flow=2)
    assert (event.what, event.packet.flow) == ("dropped", 2)
    assert queue.average == 10.0


def test_a_bucket_of_tokens_is_asked_again() -> None:
    queue = fl.Queue(fl.Codel(), rate="1mbit")
    assert queue.ready_at is None
    assert queue.dequeue(0) is None
    assert queue.probability is None


calls = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(1, 1500)), max_size=200)


@settings(deadline=None, database=None)
@given(st.sampled_from(fl.disciplines.ALL), st.integers(0, 2**64 - 1), calls)
def test_the_same_calls_give_the_same_decisions_and_nothing_is_lost(
    kind: type[fl.QueueConfig], seed: int, script: list[tuple[int, bool, int]]
) -> None:
    """Would catch a packet that is neither sent, dropped nor queued, under every discipline."""

    def play() -> tuple[list[fl.Event], fl.Counters, int, int]:
        queue = fl.Queue(kind(), rate="10mbit", seed=seed)  # type: ignore[call-arg]
        events = []
        for step, (flow, arrives, size) in enumerate(script):
            if arrives:
                events += queue.enqueue(step / 1000, flow=flow, bytes=size, ecn=flow == 0)
            else:
                queue.dequeue(step / 1000)
                events += queue.events
        return events, queue.counters, queue.packets, queue.bytes

    events, counters, packets, size = play()
    assert (events, counters, packets, size) == play()
    dropped = [event.packet for event in events if event.what == "dropped"]
    gone = counters.departed.packets + len(dropped)
    assert counters.arrived == fl.Count(gone + packets, counters.departed.bytes + sum(p.bytes for p in dropped) + size)


@pytest.mark.parametrize("now", [-1.0, float("nan"), float("inf"), 1e9])
def test_times_are_times(now: float) -> None:
    with pytest.raises(ValueError, match="is not a time: expected seconds"):
        fl.Queue(fl.Red()).enqueue(now, flow=1)


def test_time_does_not_run_backwards() -> None:
    queue = fl.Queue(fl.Red())
    queue.enqueue(2, flow=1)
    with pytest.raises(ValueError, match=r"now: 1 s is before 2 s"):
        queue.dequeue(1)
    assert queue.packets == 1


def test_what_makes_no_queue_is_refused() -> None:
    with pytest.raises(fl.ScenarioError, match="choke min"):
        fl.Queue(fl.Choke(min=200, max=100))
    with pytest.raises(fl.ScenarioError, match="rate: "):
        fl.Queue(fl.Choke(), rate="fast")
    with pytest.raises(TypeError, match="not a int"):
        fl.Queue(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="flow: -1 is out of range"):
        fl.Queue(fl.Choke()).enqueue(0, flow=-1)
    with pytest.raises(ValueError, match="must be at least 1"):
        fl.Queue(fl.Choke()).enqueue(0, flow=1, bytes=0)
    with pytest.raises(ValueError, match="seed: -1 is out of range"):
        fl.Queue(fl.Choke(), seed=-1)
