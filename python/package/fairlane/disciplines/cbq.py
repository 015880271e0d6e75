"""Cbq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar


class Cbq(QueueConfig):
    """Gives classes of traffic their shares of the link and lends what they leave to others.

    Source: Floyd, Jacobson: Link-sharing and Resource Management Models for Packet Networks, IEEE/ACM ToN 3(4), 1995.
    Scheduler state: The packets' class, and the link's rate.

    Args:
        limit: Hard limit of each class's queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        shares: Each class's share of the link, at most 1 in all; class k is precedence k (RFC 791), and the last class
            also has all above it. Up to 8 numbers, 0.000001..1, separated by commas. Default: 0.125 each, one class for
            each precedence.
        prio: Each class's priority, or one for all: classes of a lower number go first while they are within their
            shares. Up to 8 numbers, 1..8, separated by commas. Default: 1.
        bounded: The classes that never get more than their share, even if the link is idle otherwise. Up to 8 numbers,
            0..7, separated by commas. Default: none: every class may borrow.
        maxburst: Mean packets that a class may send at once after it was idle: bounds the average; 1p..256p. Packets.
            Default: 20p, as in tc-cbq(8)'s examples.
        extradelay: Time that a class which is held back waits in addition. Time, above 0. Default: none, as ns-2.
        avpkt: Mean packet: the unit of ``maxburst`` and of the turns. Bytes, from 1b. Default: 1000b, as tc(8) and the
            papers.
        bandwidth: Rate that the shares are parts of. Rate, above 0. Default: the link's rate.
    """

    kind: ClassVar[str] = "cbq"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "maxburst": "packets",
        "extradelay": "time",
        "avpkt": "bytes",
        "bandwidth": "rate",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        shares: Sequence[float] | str | None = None,
        prio: Sequence[float] | str | None = None,
        bounded: Sequence[float] | str | None = None,
        maxburst: str | int | None = None,
        extradelay: str | float | None = None,
        avpkt: str | int | None = None,
        bandwidth: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "shares": shares,
                "prio": prio,
                "bounded": bounded,
                "maxburst": maxburst,
                "extradelay": extradelay,
                "avpkt": avpkt,
                "bandwidth": bandwidth,
            }
        )
