"""Echo, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Echo(QueueConfig):
    """Drops what a flow sends above a fair share, by a small sample that does not depend on the queue.

    Source: Fairlane; after AFD (Pan, Breslau, Prabhakar, Shenker, ACM CCR 33(2), 2003), 2026.
    Scheduler state: ``tags`` tags of two bytes, and a byte of state for each.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 10000p, as dualpi2 in tc(8).
        target: Delay to which the controller steers; where four of the largest packets take longer, their time. Time,
            above 0. Default: 10ms, between CoDel's 5ms and PIE's 15ms.
        tags: Arrivals whose flows are remembered (S), a power of two. Whole number, 64..4096. Default: 256 for each
            Gbit/s of the link, rounded up to a power of two.
        ecn: A flow near its share is marked instead of dropped where it can be; the limit always drops. ``true`` or
            ``false``. Default: true.
        lane: Packets of flows with at most half of the fair share go ahead, in order, up to a quarter of the link.
            ``true`` or ``false``. Default: false.
    """

    kind: ClassVar[str] = "echo"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        target: str | float | None = None,
        tags: int | None = None,
        ecn: bool | None = None,
        lane: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "tags": tags,
                "ecn": ecn,
                "lane": lane,
            }
        )
