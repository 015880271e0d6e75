"""Disciplines written in Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fairlane._core import Fate, Packet

__all__ = ["Discipline", "Host"]


class Host(NamedTuple):
    """What a discipline is told of the place where it works.

    Attributes:
        link: The link's name.
        rate_bps: The link's rate in bit/s.
        seed: Where its randomness comes from: another one for each link and each run.
    """

    link: str
    rate_bps: int
    seed: int


class Discipline:
    """A queue discipline written in Python: slow, and as good as any other.

    A class of its own has :meth:`enqueue` and :meth:`dequeue`. It runs in the simulator,
    ``scenario.run(queue=MyQueue)``, and packet by packet, ``fairlane.Queue(MyQueue)``. Every packet that comes in
    either leaves by ``dequeue`` or is told to ``fate.dropped``, once; whoever breaks that is told with a
    :class:`fairlane.DisciplineError`. An exception ends the run and is raised from it.

    Two more methods are called where a class has them: ``average()`` gives the average queue that it steers by, in
    packets, and ``ready_at()`` the time until when it holds packets back after ``dequeue`` gave ``None`` with packets
    in the queue.

    Attributes:
        name: What outcomes call it; the class's name unless it says another.
        host: The place where it works.
        random: Its randomness: the same for the same scenario, seed and run.
    """

    def __init__(self, host: Host) -> None:
        """Keeps ``host`` and sets up :attr:`random`."""
        self.host = host
        self.random = random.Random(host.seed)  # noqa: S311 - it simulates

    def enqueue(self, now: float, packet: Packet, fate: Fate) -> None:
        """Takes a packet in, or drops it: it, or others that are queued.

        Args:
            now: The time in seconds; it never runs backwards.
            packet: The packet: its ``flow``, its ``bytes``, whether it is ``ecn_capable``.
            fate: Is to be told of every packet that is ``dropped`` or ``marked``, with the reason.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method enqueue of its own")

    def dequeue(self, now: float, fate: Fate) -> Packet | None:
        """The next packet for the link, or ``None`` when the queue is empty.

        Args:
            now: The time in seconds.
            fate: As in :meth:`enqueue`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method dequeue of its own")
