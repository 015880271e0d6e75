"""Stfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Stfq(QueueConfig):
    """Fair queueing in the order of starts, whose virtual time is the start of the packet in service.

    Source: Goyal, Vin, Cheng: Start-Time Fair Queuing, SIGCOMM 1996.
    Scheduler state: A queue for each flow.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        weighted: A flow counts as 1 to 4 flows, by the two highest bits of the traffic class. ``true`` or ``false``.
            Default: false.
    """

    kind: ClassVar[str] = "stfq"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "weighted": weighted,
            }
        )
