"""Disciplines written in Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from fairlane._core import DropSink, Packet
    from fairlane.config import QueueConfig

__all__ = ["Discipline", "Host", "OwnDiscipline", "SomeDiscipline"]

OwnDiscipline: TypeAlias = "Callable[[Host], object]"
"""A function that makes a discipline written in Python for a link, usually its class."""

SomeDiscipline: TypeAlias = "str | QueueConfig | OwnDiscipline"
"""A discipline: by its name, by one of the library's classes with its parameters, or one of your own."""


class Host(NamedTuple):
    """The link that a discipline works on.

    Attributes:
        link: The link's name.
        rate_bps: The link's rate in bit/s.
        seed: The seed of its randomness, different for each link and each run.
    """

    link: str
    rate_bps: int
    seed: int


class Discipline:
    """A queue discipline written in Python: slower than those of the library, and otherwise equivalent.

    A subclass implements :meth:`enqueue` and :meth:`dequeue`. It runs in the simulator,
    ``scenario.run(queue=MyQueue)``, and packet by packet, ``fairlane.Queue(MyQueue)``. Every packet that comes in
    either leaves by ``dequeue`` or is reported to ``sink.dropped``, exactly once; a violation raises a
    :class:`fairlane.DisciplineError`. An exception ends the run and is raised from it.

    Two more methods are optional: ``average()`` returns the average queue length that controls the discipline, in
    packets, and ``ready_at()`` returns the time until which packets are held back after ``dequeue`` returned ``None``
    although packets are queued.

    Attributes:
        name: Its name in outcomes; the name of the class by default.
        host: The link that it works on.
        random: Its random numbers: the same for the same scenario, seed and run.
    """

    def __init__(self, host: Host) -> None:
        """Keeps ``host`` and sets up :attr:`random`."""
        self.host = host
        self.random = random.Random(host.seed)  # noqa: S311 - it simulates

    def enqueue(self, now: float, packet: Packet, sink: DropSink) -> None:
        """Queues a packet, or drops it or packets in the queue.

        Args:
            now: The time in seconds; it never runs backwards.
            packet: The packet: its ``flow``, its ``bytes``, whether it is ``ecn_capable``.
            sink: Must be told of every packet that is ``dropped`` or ``marked``, with the reason.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method enqueue of its own")

    def dequeue(self, now: float, sink: DropSink) -> Packet | None:
        """Returns the next packet for the link, or ``None`` if the queue is empty.

        Args:
            now: The time in seconds.
            sink: As in :meth:`enqueue`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method dequeue of its own")
