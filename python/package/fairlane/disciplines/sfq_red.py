"""SfqRed, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class SfqRed(QueueConfig):
    """Serves hashed flows in turn, with RED in each of their small queues.

    Source: Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness,
    INFOCOM 2001.
    Scheduler state: A hash of the flow and ``flows`` queues, each with its average.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 414kb, the paper: 46 queues of 9kb.
        flows: Queues that flows are hashed to. Whole number, 1..65536. Default: 46, the paper.
        queue_limit: Hard limit of each queue (tc's redflowlimit). Packets or bytes. Default: limit / flows, the paper;
            at least a mean packet.
        queue_min: Average of a queue below which none of its packets is signalled. Packets or bytes. Default: 2/9 of
            queue_limit, the paper's 2kb; at least a mean packet.
        queue_max: Average of a queue from which all of its packets are signalled. Packets or bytes. Default: 8/9 of
            queue_limit, the paper's 8kb; at least three mean packets.
        probability: Base probability of a signal as the average reaches ``max`` (max_p). Number, above 0, at most 1.
            Default: 1; the paper says none.
        weight: Weight of a sample in the average (w_q). Number, above 0, at most 1. Default: 0.002, as ns-2; the paper
            says none.
        avpkt: Mean packet: the unit of the idle clock, of ``byte_drop`` and of tc's rules. Bytes, from 1b. Default:
            1000b, as tc(8) and the papers.
        bandwidth: Rate at which the average's clock ticks while the link is idle. Rate, above 0. Default: the link's
            rate.
        gentle: From ``max`` to twice ``max`` the probability climbs to 1, instead of at once. ``true`` or ``false``.
            Default: false, as ns-2 before 2001.
        uniformize: Gaps between early signals: geometric, uniform on 1..1/p-1 (the RED paper), or uniform on
            1/p..2/p-1. ``none``, ``count``, ``wait``. Default: wait, as ns-2.
        spare: RED passes a packet that finds at most one packet queued, and the first one above ``min``. ``true`` or
            ``false``. Default: true, as ns-2.
        byte_drop: Early signals are proportional to the packet's size over ``avpkt``. ``true`` or ``false``. Default:
            false, as ns-2 before 2004.
        ecn: Early and forced signals mark packets that can be marked; a match or the limit always drops. ``true`` or
            ``false``. Default: false.
        harddrop: A forced signal drops even what could be marked. ``true`` or ``false``. Default: false.
    """

    kind: ClassVar[str] = "sfq-red"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "queue_limit": "packets",
        "queue_min": "packets",
        "queue_max": "packets",
        "avpkt": "bytes",
        "bandwidth": "rate",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        flows: int | None = None,
        queue_limit: str | int | None = None,
        queue_min: str | int | None = None,
        queue_max: str | int | None = None,
        probability: float | None = None,
        weight: float | None = None,
        avpkt: str | int | None = None,
        bandwidth: str | float | None = None,
        gentle: bool | None = None,
        uniformize: Literal["none", "count", "wait"] | None = None,
        spare: bool | None = None,
        byte_drop: bool | None = None,
        ecn: bool | None = None,
        harddrop: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "flows": flows,
                "queue_limit": queue_limit,
                "queue_min": queue_min,
                "queue_max": queue_max,
                "probability": probability,
                "weight": weight,
                "avpkt": avpkt,
                "bandwidth": bandwidth,
                "gentle": gentle,
                "uniformize": uniformize,
                "spare": spare,
                "byte_drop": byte_drop,
                "ecn": ecn,
                "harddrop": harddrop,
            }
        )
