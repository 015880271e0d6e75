"""DropTail, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class DropTail(QueueConfig):
    """Drops arriving packets while the queue is full.

    Source: Braden et al.: Recommendations on Queue Management and Congestion Avoidance in the Internet, RFC 2309,
    section 2.
    Scheduler state: Nothing.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        drop: What goes when the queue is full: the arriving packet, the oldest, or a queued one at random. ``tail``,
            ``front``, ``random``. Default: tail.
    """

    kind: ClassVar[str] = "droptail"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        drop: Literal["tail", "front", "random"] | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "drop": drop,
            }
        )
