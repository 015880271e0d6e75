"""Congestion control written in Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from fairlane._core import Ack, CongestionEvent, Window

__all__ = ["CongestionControl", "Connection", "OwnCongestion"]

OwnCongestion: TypeAlias = "Callable[[Connection], object]"
"""A function that makes a congestion control written in Python for a connection, usually its class."""


class Connection(NamedTuple):
    """The connection that a congestion control works for.

    Attributes:
        flow: The number of its flow, from 0 in the order of the scenario.
        seed: The seed of its randomness, different for each connection and each run.
        initial_window: The window at the start, in segments.
        receiver_window: The receiver's window, in segments.
    """

    flow: int
    seed: int
    initial_window: float
    receiver_window: int


class CongestionControl:
    """A congestion control written in Python, for groups of TCP flows: ``scenario.run(cc={"ftp": Mine})``.

    A subclass implements :meth:`grow` and :meth:`on_congestion`; windows are in segments and may have fractions. The
    sender does the rest: slow start, loss recovery, ECN, pacing. There is an object for each connection. A window or a
    rate that is not finite and above zero, and an exception, end the run with a :class:`fairlane.CongestionError`.

    More methods are optional. ``on_ack(window, ack, in_flight, recovering)`` is called after each acknowledgement, also
    in loss recovery; ``on_unused(window, ack)`` instead of :meth:`grow` where the window is not used; ``on_undo()``
    where the last congestion was none, after the window has returned; ``on_send(now, seq, idle, in_flight)`` for each
    segment; ``on_lost(now, seq)`` for each lost one, with RACK; ``on_application_limited(in_flight)`` where there is
    nothing to send. ``pacing_rate(window)`` returns the rate in segments per second; ``None`` is that of the window.

    Attributes:
        name: Its name in outcomes; the name of the class by default.
        paces: True for a sender that always paces; by default it does where the scenario asks for it.
        has_model: True if the window follows from a model of the path: ``on_ack`` sets it, and loss recovery does not.
        has_own_slow_start: True if :meth:`grow` is called in slow start, too.
        is_scalable: True for a scalable congestion control (RFC 9331): its data carry ECT(1).
        smallest_window: The smallest window that congestion leaves; ``None`` for two, and one after a mark.
        connection: The connection that it works for.
        random: Its random numbers: the same for the same scenario, seed and run.
    """

    paces: bool = False
    has_model: bool = False
    has_own_slow_start: bool = False
    is_scalable: bool = False
    smallest_window: float | None = None

    def __init__(self, connection: Connection) -> None:
        """Keeps ``connection`` and sets up :attr:`random`."""
        self.connection = connection
        self.random = random.Random(connection.seed)  # noqa: S311 - it simulates

    def grow(self, window: Window, ack: Ack) -> None:
        """Grows the window after an acknowledgement of new segments, from the slow start threshold on.

        Args:
            window: Its ``cwnd`` may be changed.
            ack: The acknowledgement: the segments that let the window grow are ``ack.growth``.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method grow of its own")

    def on_congestion(self, window: Window, event: CongestionEvent) -> float:
        """Returns the threshold after congestion, in segments; the window follows to it.

        Args:
            window: The window before.
            event: The reason, and the ``segments`` that are reduced: the window or, if that is less, the flight.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method on_congestion of its own")
