"""Cobalt, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Cobalt(QueueConfig):
    """CoDel whose frequency falls as gradually as it rises, and BLUE for flows that do not react.

    Source: Palmei, Gupta, Imputato, Morton, Tahiliani, Avallone, Täht: Design and Evaluation of COBALT Queue
    Discipline, IEEE LANMAN 2019.
    Scheduler state: Each packet's time of arrival.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 1000p, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 5ms, RFC 8289.
        interval: How long the delay may be above ``target`` before a drop. Time, above 0. Default: 100ms, RFC 8289.
        ecn: A signal marks a packet that can be marked; the limit always drops. ``true`` or ``false``. Default: true,
            as CAKE.
        blue_threshold: Delay from which BLUE's probability grows even though the queue is not full. Time, above 0.
            Default: 400ms, as ns-3.
    """

    kind: ClassVar[str] = "cobalt"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "time",
        "interval": "time",
        "blue_threshold": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        target: str | float | None = None,
        interval: str | float | None = None,
        ecn: bool | None = None,
        blue_threshold: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "interval": interval,
                "ecn": ecn,
                "blue_threshold": blue_threshold,
            }
        )
