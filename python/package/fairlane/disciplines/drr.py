"""Drr, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Drr(QueueConfig):
    """Serves flows in turns of equal bytes and drops from the longest queue.

    Source: Shreedhar, Varghese: Efficient Fair Queueing using Deficit Round Robin, SIGCOMM 1995.
    Scheduler state: A queue for each flow.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 160kb, as in the BARE paper's comparison.
        quantum: Bytes that a turn gives to a flow of weight 1; a turn takes O(1) if no packet is larger. Bytes, from
            1b. Default: 1000b, the packets of the papers.
        drop: Packet that the longest queue loses when the limit is exceeded: its oldest or its newest. ``front``,
            ``tail``. Default: front, as ns-2.
        weighted: A flow counts as 1 to 4 flows, by the two highest bits of the traffic class. ``true`` or ``false``.
            Default: false.
    """

    kind: ClassVar[str] = "drr"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "quantum": "bytes",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        quantum: str | int | None = None,
        drop: Literal["front", "tail"] | None = None,
        weighted: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "quantum": quantum,
                "drop": drop,
                "weighted": weighted,
            }
        )
