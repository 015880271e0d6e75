"""Wfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Wfq(QueueConfig):
    """Sends packets in the order in which an ideally fair fluid server would finish them.

    Source: Demers, Keshav, Shenker: Analysis and Simulation of a Fair Queueing Algorithm, SIGCOMM 1989; Parekh,
    Gallager: A Generalized Processor Sharing Approach to Flow Control, IEEE/ACM ToN 1(3).
    Scheduler state: A queue for each flow, and the link's rate.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        weighted: A flow counts as 1 to 4 flows, by the two highest bits of the traffic class. ``true`` or ``false``.
            Default: false.
        bandwidth: Rate of the fluid server. Rate, above 0. Default: the link's rate.
    """

    kind: ClassVar[str] = "wfq"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "bandwidth": "rate",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        weighted: bool | None = None,
        bandwidth: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "weighted": weighted,
                "bandwidth": bandwidth,
            }
        )
