"""One queue, a packet at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fairlane import _core
from fairlane._values import count, instance, text
from fairlane.config import QueueConfig
from fairlane.discipline import Host

if TYPE_CHECKING:
    from collections.abc import Callable

    from fairlane._core import Packet

__all__ = ["Count", "Counters", "Event", "Queue"]


_LARGEST = 2**64 - 1


class Event(NamedTuple):
    """What happened to a packet.

    Attributes:
        what: ``dropped`` or ``marked``.
        packet: The packet.
        reason: Why, such as ``match_victim``: the reasons are those of outcomes.
    """

    what: str
    packet: Packet
    reason: str


class Count(NamedTuple):
    """Packets, and the bytes in them."""

    packets: int
    bytes: int


@dataclass(frozen=True)
class Counters:
    """What has happened at a queue so far.

    Attributes:
        arrived: Offered to the queue.
        departed: Given to the link.
        dropped: Dropped, by reason; reasons that did not occur are left out.
        marked: Marked, by reason.
    """

    arrived: Count
    departed: Count
    dropped: dict[str, Count] = field(default_factory=dict)
    marked: dict[str, Count] = field(default_factory=dict)


class Queue:
    """A discipline to which packets are given by hand, to teach an algorithm or to test one.

    The same seed and the same calls give the same decisions, on every platform.

    Args:
        discipline: One of the library's, such as ``fairlane.Choke(limit=300)``, or a class of your own: see
            :class:`fairlane.Discipline`.
        rate: The rate of the link that it feeds.
        seed: Where its randomness comes from, 0 to 2**64 - 1.

    Raises:
        ScenarioError: The parameters contradict each other, or the rate is none.
    """

    def __init__(
        self, discipline: QueueConfig | Callable[[Host], object], *, rate: str = "10mbit", seed: int = 1
    ) -> None:
        text("rate", rate, "10mbit")
        count("seed", seed, least=0, most=_LARGEST)
        instance(discipline)
        if isinstance(discipline, QueueConfig):
            self._core = _core.Queue.of(discipline._as_given(), rate, seed)  # noqa: SLF001 - it is made for this
            self._name = repr(discipline)
        elif callable(discipline):
            made = discipline(Host("queue", _core.rate(rate), seed))
            self._core = _core.Queue.own(made)
            self._name = type(made).__name__
        else:
            message = f"a queue is of a discipline such as fairlane.Choke(), and not of a {type(discipline).__name__}"
            raise TypeError(message)

    def enqueue(  # noqa: PLR0913 - the properties of a packet
        self,
        now: float,
        *,
        flow: int,
        bytes: int = 1000,  # noqa: A002 - the field's word
        ecn: bool = False,
        traffic_class: int = 0,
        responsive: bool = True,
    ) -> list[Event]:
        """Offers a packet, and tells what happened to it and to others.

        Args:
            now: The time in seconds; it does not run backwards.
            flow: Whose it is: equal numbers, same flow.
            bytes: Its size on the wire.
            ecn: Whether it may be marked instead of dropped.
            traffic_class: Its TOS or traffic class byte, 0 to 255.
            responsive: Whether its transport slows down after a loss.

        Returns:
            The packets that were dropped and marked, in order. When there are none, it was queued.
        """
        try:
            self._core.enqueue(now, flow, bytes, ecn, traffic_class, responsive)
        except OverflowError:
            count("flow", flow, least=0, most=_LARGEST)
            count("bytes", bytes)
            count("traffic_class", traffic_class, least=0, most=255)
            raise
        return self.events

    def dequeue(self, now: float) -> Packet | None:
        """The next packet for the link at ``now``, in seconds; ``None`` when there is none, or all are held back.

        Disciplines that drop or mark when a packet is due to leave say so in :attr:`events`.
        """
        return self._core.dequeue(now)

    @property
    def events(self) -> list[Event]:
        """What happened in the last call."""
        return [Event(*event) for event in self._core.events()]

    @property
    def packets(self) -> int:
        """Packets in the queue."""
        return self._core.packets

    @property
    def bytes(self) -> int:
        """Bytes in the queue."""
        return self._core.bytes

    @property
    def average(self) -> float | None:
        """The average queue that the discipline steers by, in its own unit; ``None`` where it keeps none."""
        return self._core.average

    @property
    def probability(self) -> float | None:
        """The probability with which it signals now, 0 to 1; ``None`` where that is not one number."""
        return self._core.probability

    @property
    def ready_at(self) -> float | None:
        """When to ask again, in seconds, after ``dequeue`` gave nothing although packets wait; mostly ``None``."""
        return self._core.ready_at

    @property
    def counters(self) -> Counters:
        """What has happened so far."""
        counts: dict[str, dict[str, Count]] = {}
        for what, reason, counted in self._core.counters():
            if reason == "" or counted[0] > 0:
                counts.setdefault(what, {})[reason] = Count(*counted)
        arrived, departed = counts["arrived"][""], counts["departed"][""]
        return Counters(arrived, departed, counts.get("dropped", {}), counts.get("marked", {}))

    def __len__(self) -> int:
        return self.packets

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Queue of {self._name}: {self.packets} packets, {self.bytes} bytes>"
