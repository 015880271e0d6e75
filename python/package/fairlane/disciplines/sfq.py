"""Sfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Sfq(QueueConfig):
    """Serves hashed flows in turn and drops from the longest queue.

    Source: McKenney: Stochastic Fairness Queueing, INFOCOM 1990.
    Scheduler state: A hash of the flow and ``flows`` queues.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        flows: Queues that flows are hashed to. Whole number, 1..65536. Default: 1024, as tc(8)'s divisor; ns-2 has 16.
        quantum: Allotment of a queue for a turn: packets, or bytes, of which an excess is subtracted from the next
            turn. Packets or bytes. Default: 1p, McKenney; tc(8) has the MTU.
        perturb: Time between two changes of the hash function, after which flows share their queues with other flows.
            Time, above 0. Default: never, as tc(8).
        headdrop: The longest queue loses its oldest packet instead of its newest. ``true`` or ``false``. Default:
            false, as McKenney and tc(8).
        admission: A packet without room is queued and the longest queue loses one; or, as in ns-2, it is dropped, and
            so is a packet whose queue holds half of the room left, or more than limit / flows once there is room for
            fewer than ``flows``. ``steal``, ``ns2``. Default: steal, as McKenney.
    """

    kind: ClassVar[str] = "sfq"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "quantum": "packets",
        "perturb": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        flows: int | None = None,
        quantum: str | int | None = None,
        perturb: str | float | None = None,
        headdrop: bool | None = None,
        admission: Literal["steal", "ns2"] | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "flows": flows,
                "quantum": quantum,
                "perturb": perturb,
                "headdrop": headdrop,
                "admission": admission,
            }
        )
