"""Transports written in Python."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Ecn", "Endpoint", "Outgoing", "OwnEndpoints"]

OwnEndpoints: TypeAlias = "Callable[[int, int], tuple[object, object]]"
"""A function that makes the source and the sink of a flow from its number in the group and a seed."""

_Payload: TypeAlias = "bytes | bytearray"

Sent: TypeAlias = "tuple[_Payload, int] | tuple[_Payload, int, int] | tuple[_Payload, int, int, int]"
"""A datagram on its way: an :class:`Outgoing`, or a tuple of its first values."""


class Ecn(enum.IntEnum):
    """The ECN field of an IP header, with its number there (RFC 3168, section 5).

    Attributes:
        NOT_ECT: Not ECN-capable.
        ECT_1: ECN-capable, ECT(1): the L4S service (RFC 9331).
        ECT_0: ECN-capable, ECT(0).
        CE: Congestion experienced.
    """

    NOT_ECT = 0
    ECT_1 = 1
    ECT_0 = 2
    CE = 3


class Outgoing(NamedTuple):
    """A datagram on its way; a plain tuple is as good.

    Attributes:
        payload: The bytes for the other end.
        bytes: The size on the wire in bytes, with all headers: 1 to 65535, and no less than the payload has.
        ecn: The ECN field of the IP header; :attr:`Ecn.NOT_ECT` by default.
        traffic_class: The TOS or traffic class byte of the IP header, 0 to 255; its two ECN bits do not count. 0, the
            default, is best effort.
    """

    payload: _Payload
    bytes: int
    ecn: int = Ecn.NOT_ECT
    traffic_class: int = 0


class Endpoint:
    """One end of a transport written in Python: ``scenario.run(endpoints={"own": make})``.

    ``make(index, seed)`` returns the two endpoints of a flow, its source and its sink, for each flow of the group
    ``own``, which has ``kind = "endpoint"``. Time is virtual: ``now`` is in seconds, never goes back, and is the only
    clock. A run is repeatable if all randomness comes from ``seed``.

    A subclass implements :meth:`receive` and :meth:`transmit`. After each :meth:`start`, :meth:`receive` and
    :meth:`on_timer` the simulator calls :meth:`transmit` until that returns ``None``, and asks for the
    :meth:`deadline`. It may ask at other times as well. An exception, and a result that cannot be, end the run with a
    :class:`fairlane.EndpointError`.

    One more method is optional: ``wake()`` returns the number in the group of another flow whose endpoint at the same
    end wants to send now, such as that of a server with many clients; ``None`` if there is none.

    Attributes:
        delivered_bytes: The bytes that it has delivered to its application since the start, which never become fewer.
            The bytes of the sink are the flow's goodput. A property serves as well as an attribute.
    """

    delivered_bytes: int = 0

    def start(self, now: float) -> None:
        """Begins at ``now``, when the flow starts: first the sink, then the source. By default nothing happens."""

    def receive(self, now: float, datagram: bytes, ecn: Ecn) -> None:
        """Takes a datagram of the other end.

        Args:
            now: The time in seconds.
            datagram: Its payload.
            ecn: Its ECN field after all queues.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method receive of its own")

    def transmit(self, now: float) -> Sent | None:
        """Returns the next datagram, an :class:`Outgoing` or a tuple; ``None`` if there is none to send at ``now``."""
        raise NotImplementedError(f"{type(self).__name__} has no method transmit of its own")

    def deadline(self) -> float | None:
        """Returns the time in seconds at which :meth:`on_timer` is called; ``None``, the default, for no time.

        A time that has passed stands for now. It is rounded up to a nanosecond, so that it has come when the timer is
        called.
        """
        return None

    def on_timer(self, now: float) -> None:
        """Lets the timers expire that are due at ``now``, in seconds. The deadline must be later afterwards."""
