"""Sred, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Sred(QueueConfig):
    """RED whose probability follows the number of flows, estimated from a list of recent arrivals.

    Source: Ott, Lakshman, Wong: SRED: Stabilized RED, INFOCOM 1999.
    Scheduler state: The flows of ``zombies`` recent arrivals.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        probability: Probability of a signal while the queue is above a third of ``limit``; from a sixth on it is a
            quarter of that (p_max). Number, above 0, at most 1. Default: 0.15, the paper.
        zombies: Recent arrivals whose flows are remembered. Whole number, 1..1048576. Default: 1000, the paper.
        overwrite: Probability with which an arrival of another flow replaces the zombie that it was compared with (p).
            Number, above 0, at most 1. Default: 0.25, the paper.
        weight: Weight of a comparison in the frequency of hits (alpha). Number, above 0, at most 1. Default: 1 /
            zombies, the paper.
        variant: ``full`` signals an arrival that hits more often than the others: by the factor 1 + 1/P. ``simple``,
            ``full``. Default: simple.
        ecn: Signals mark packets that can be marked; the limit always drops. ``true`` or ``false``. Default: false.
    """

    kind: ClassVar[str] = "sred"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        probability: float | None = None,
        zombies: int | None = None,
        overwrite: float | None = None,
        weight: float | None = None,
        variant: Literal["simple", "full"] | None = None,
        ecn: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "probability": probability,
                "zombies": zombies,
                "overwrite": overwrite,
                "weight": weight,
                "variant": variant,
                "ecn": ecn,
            }
        )
