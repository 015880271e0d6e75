"""Scfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Scfq(QueueConfig):
    """Fair queueing whose virtual time is the finish of the packet in service.

    Source: Golestani: A Self-Clocked Fair Queueing Scheme for Broadband Applications, INFOCOM 1994.
    Scheduler state: A queue for each flow.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        weighted: A flow counts as 1 to 4 flows, by the two highest bits of the traffic class. ``true`` or ``false``.
            Default: false.
    """

    kind: ClassVar[str] = "scfq"
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
