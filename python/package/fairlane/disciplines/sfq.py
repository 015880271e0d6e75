"""Sfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Sfq(QueueConfig):
    """Serves hashed flows in turn and drops from the longest queue.

    Source: McKenney: Stochastic Fairness Queueing, INFOCOM 1990.
    Keeps: A hash of the flow and ``flows`` queues.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        flows: Queues that flows are hashed to. Whole number, 1..65536. Default: 1024, as tc(8)'s divisor; ns-2 has 16.
        quantum: What a queue may send in a turn: packets, or bytes, which it may exceed and then makes up for. Packets
            or bytes. Default: 1p, McKenney; tc(8) has the MTU.
        perturb: How often the hash moves, so that nobody shares a queue with the same flows for ever. Time, above 0.
            Default: never, as tc(8).
        headdrop: The longest queue loses its oldest packet rather than its newest. ``true`` or ``false``. Default:
            false, as McKenney and tc(8).
        admission: A packet without room takes that of the longest queue; or, as in ns-2, a queue may fill half of what
            is left, and its share when less than a packet a queue is left, and nothing is taken. ``steal``, ``ns2``.
            Default: steal, as McKenney.
    """

    kind: ClassVar[str] = "sfq"
    _units: ClassVar[dict[str, str]] = {
        "limit": "p",
        "quantum": "p",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        flows: int | None = None,
        quantum: str | int | None = None,
        perturb: str | None = None,
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
