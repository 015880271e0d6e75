"""Fred, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Fred(QueueConfig):
    """RED that spares flows with little in the queue and holds those with much to their share.

    Source: Lin, Morris: Dynamics of Random Early Detection, SIGCOMM 1997.
    Scheduler state: The average, and what each flow has in the queue.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        min: Average below which no packet is signalled; the most that a flow may hold below ``max``. Packets or bytes.
            Default: max / 2 when that is given, else limit / 4, the paper.
        max: Average from which every packet is signalled. Packets or bytes. Default: 2 min, the paper.
        probability: Base probability of a signal as the average reaches ``max`` (max_p). Number, above 0, at most 1.
            Default: 0.02, the paper.
        weight: Weight of a sample in the average (w_q). Number, above 0, at most 1. Default: 0.002, the paper.
        minq: The part of the queue that a flow may hold without being tested at random, in the unit of ``min``. Packets
            or bytes. Default: 4 packets, the paper for large buffers; it has 2 for small ones.
        many_flows: At or above ``max`` each flow may still queue two packets, instead of none (the paper's section on
            many flows). ``true`` or ``false``. Default: false.
        avpkt: Mean packet: the unit of the idle clock and of ``byte_drop``. Bytes, from 1b. Default: 1000b, as tc(8)
            and the papers.
        bandwidth: Rate at which the average's clock ticks while the link is idle. Rate, above 0. Default: the link's
            rate.
        byte_drop: Early signals are proportional to the packet's size over ``avpkt``. ``true`` or ``false``. Default:
            false, as ns-2 before 2004.
        ecn: Early and forced signals mark packets that can be marked; strikes and the limit always drop. ``true`` or
            ``false``. Default: false.
    """

    kind: ClassVar[str] = "fred"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "min": "packets",
        "max": "packets",
        "minq": "packets",
        "avpkt": "bytes",
        "bandwidth": "rate",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        min: str | int | None = None,
        max: str | int | None = None,
        probability: float | None = None,
        weight: float | None = None,
        minq: str | int | None = None,
        many_flows: bool | None = None,
        avpkt: str | int | None = None,
        bandwidth: str | float | None = None,
        byte_drop: bool | None = None,
        ecn: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "min": min,
                "max": max,
                "probability": probability,
                "weight": weight,
                "minq": minq,
                "many_flows": many_flows,
                "avpkt": avpkt,
                "bandwidth": bandwidth,
                "byte_drop": byte_drop,
                "ecn": ecn,
            }
        )
