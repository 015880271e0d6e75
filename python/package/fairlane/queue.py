"""A queue that is operated packet by packet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fairlane import _core
from fairlane._values import count, instance, with_unit
from fairlane.config import QueueConfig, by_name
from fairlane.discipline import Host

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from fairlane._core import Packet

__all__ = ["Count", "Counters", "Event", "Queue"]


_LARGEST = 2**64 - 1


class Event(NamedTuple):
    """A drop or a mark.

    Attributes:
        what: ``dropped`` or ``marked``.
        packet: The packet.
        reason: The reason, such as ``match_victim``; the reasons are those of outcomes.
    """

    what: str
    packet: Packet
    reason: str


class Count(NamedTuple):
    """A number of packets, and their bytes.

    Attributes:
        packets: The packets.
        bytes: The bytes in them.
    """

    packets: int
    bytes: int


@dataclass(frozen=True)
class Counters:
    """Counts of a queue since its creation.

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
    """A discipline that is operated packet by packet, for teaching and testing.

    The same seed and the same calls give the same decisions, on every platform.

    Args:
        discipline: One of the library's, such as ``fairlane.Choke(limit=300)``, its name for its defaults, or a class
            of your own: see :class:`fairlane.Discipline`.
        rate: The rate of the link that it feeds, such as ``10mbit``, or a number in bit/s.
        seed: The seed of its randomness, 0 to 2**64 - 1.

    Raises:
        ScenarioError: The parameters contradict each other, or the rate is not valid.
    """

    def __init__(
        self, discipline: str | QueueConfig | Callable[[Host], object], *, rate: str | float = "10mbit", seed: int = 1
    ) -> None:
        rate = with_unit("rate", rate, "rate")
        count("seed", seed, least=0, most=_LARGEST)
        discipline = by_name(instance(discipline))
        if isinstance(discipline, QueueConfig):
            self._core = _core.Queue.of(discipline._as_given(), rate, seed)  # noqa: SLF001 - it is made for this
            self._name = repr(discipline)
        elif callable(discipline):
            made = discipline(Host("queue", _core.rate(rate), seed))
            self._core = _core.Queue.custom(made)
            self._name = type(made).__name__
        else:
            message = f"a queue needs a discipline such as fairlane.Choke(), not a {type(discipline).__name__}"
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
        """Offers a packet, and returns the drops and marks that follow.

        Args:
            now: The time in seconds; it does not run backwards.
            flow: The number of its flow.
            bytes: Its size on the wire in bytes.
            ecn: True if it may be marked instead of dropped.
            traffic_class: Its TOS or traffic class byte, 0 to 255.
            responsive: True if its transport slows down after a loss.

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
        """Returns the next packet for the link at ``now``, in seconds; ``None`` if there is none, or all are held back.

        Drops and marks at this moment are in :attr:`events`. A link asks whenever it becomes free, also an empty queue:
        RED and others measure idle time from then.
        """
        return self._core.dequeue(now)

    @property
    def events(self) -> list[Event]:
        """The drops and marks of the last call."""
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
        """The average queue length that controls the discipline, in its own unit; ``None`` without one."""
        return self._core.average

    @property
    def probability(self) -> float | None:
        """The current probability of a signal, 0 to 1; ``None`` for disciplines without a single one."""
        return self._core.probability

    @property
    def ready_at(self) -> float | None:
        """The time of the next packet in seconds, if ``dequeue`` held all packets back; else ``None``."""
        return self._core.ready_at

    @property
    def counters(self) -> Counters:
        """The counts so far."""
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

    def __reduce__(self) -> NoReturn:
        raise TypeError("a queue cannot be copied or pickled: make another one with the same seed and calls")

    def __repr__(self) -> str:
        return f"<Queue of {self._name}: {self.packets} packets, {self.bytes} bytes>"
