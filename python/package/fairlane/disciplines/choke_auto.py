"""ChokeAuto, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class ChokeAuto(QueueConfig):
    """CHOKe without thresholds: the delay and the rate of matches decide how many pairs of packets are compared.

    Source: Fairlane, from CHOKe, gCHOKe and PI2, 2026.
    Scheduler state: The delay and random looks into the queue.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 10000p, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 15ms, RFC 9332.
        candidates: Pairs, and single packets, that an arrival is compared with at most. Whole number, 1..64. Default:
            64.
    """

    kind: ClassVar[str] = "choke-auto"
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
        candidates: int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "candidates": candidates,
            }
        )
