"""Codel, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Codel(QueueConfig):
    """Drops packets at the head, more and more often, while every packet waits longer than a target.

    Source: Nichols, Jacobson, McGregor, Iyengar: Controlled Delay Active Queue Management, RFC 8289, 2018.
    Scheduler state: Each packet's time of arrival.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 1000p, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 5ms, RFC 8289.
        interval: How long the delay may be above ``target`` before a drop. Time, above 0. Default: 100ms, RFC 8289.
        mtu: No packet is signalled while no more than this stays queued behind it. Bytes, from 1b. Default: 1514b, an
            Ethernet frame, as tc(8).
        ecn: A signal marks a packet that can be marked; the limit always drops. ``true`` or ``false``. Default: false,
            as tc(8).
        ce_threshold: ECN-capable packets that waited longer are marked, in addition to other decisions. Time, above 0.
            Default: never.
    """

    kind: ClassVar[str] = "codel"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "time",
        "interval": "time",
        "mtu": "bytes",
        "ce_threshold": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        target: str | float | None = None,
        interval: str | float | None = None,
        mtu: str | int | None = None,
        ecn: bool | None = None,
        ce_threshold: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "interval": interval,
                "mtu": mtu,
                "ecn": ecn,
                "ce_threshold": ce_threshold,
            }
        )
