"""MlocChoke, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class MlocChoke(QueueConfig):
    """Drops arrivals of the flows that were admitted last.

    Source: Pan, Prabhakar, Psounis: CHOKe, a Stateless Active Queue Management Scheme for Approximating Fair Bandwidth
    Allocation, INFOCOM 2000.
    Scheduler state: The last ``memory`` flows.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        memory: Flows remembered: an arrival of one of the last flows admitted is dropped. Whole number, 0..65536.
            Default: 1.
    """

    kind: ClassVar[str] = "mloc-choke"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        memory: int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "memory": memory,
            }
        )
