"""Ared, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Ared(QueueConfig):
    """RED that adapts its probability to the traffic.

    Source: Feng, Kandlur, Saha, Shin: A Self-Configuring RED Gateway, INFOCOM 1999; Floyd, Gummadi, Shenker: Adaptive
    RED, 2001.
    Scheduler state: The average.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        min: Average below which no packet is signalled and, in the CHOKe family, none compared. Packets or bytes.
            Default: max / 3; the larger of 5 packets and half of ``target`` at ``bandwidth`` when ``max`` is not given
            either.
        max: Average from which every packet is signalled. Packets or bytes. Default: 3 min, as ns-2.
        probability: Base probability of a signal as the average reaches ``max`` (max_p). Number, above 0, at most 1.
            Default: 0.1, as ns-2: where adaptation starts.
        weight: Weight of a sample in the average (w_q). Number, above 0, at most 1. Default: 1 - exp(-1/C) for a link
            of C mean packets a second, as ns-2.
        burst: Packets that may come at once before the average reaches ``min``: gives ``weight`` by tc's rule, a power
            of 1/2. Packets. Default: unused.
        avpkt: Mean packet: the unit of the idle clock, of ``byte_drop`` and of tc's rules. Bytes, from 1b. Default:
            1000b, as tc(8) and the papers.
        bandwidth: Rate at which the average's clock ticks while the link is idle. Rate, above 0. Default: the link's
            rate.
        gentle: From ``max`` to twice ``max`` the probability climbs to 1, instead of at once. ``true`` or ``false``.
            Default: true with ``law = floyd``, false with feng.
        uniformize: Gaps between early signals: geometric, uniform on 1..1/p-1 (the RED paper), or uniform on
            1/p..2/p-1. ``none``, ``count``, ``wait``. Default: wait, as ns-2.
        spare: RED passes a packet that finds at most one packet queued, and the first one above ``min``. ``true`` or
            ``false``. Default: true, as ns-2.
        byte_drop: Early signals are proportional to the packet's size over ``avpkt``. ``true`` or ``false``. Default:
            false, as ns-2 before 2004.
        ecn: Early and forced signals mark packets that can be marked; a match or the limit always drops. ``true`` or
            ``false``. Default: false.
        harddrop: A forced signal drops even what could be marked. ``true`` or ``false``. Default: false.
        law: How the probability follows the average. ``floyd``, ``feng``. Default: floyd.
        target: Mean delay that the thresholds aim at when neither ``min`` nor ``max`` is given. Time, above 0. Default:
            5ms, as ns-2.
        interval: Time between adaptations with ``law = floyd``. Time, above 0. Default: 500ms, Floyd.
    """

    kind: ClassVar[str] = "ared"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "min": "packets",
        "max": "packets",
        "burst": "packets",
        "avpkt": "bytes",
        "bandwidth": "rate",
        "target": "time",
        "interval": "time",
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
        burst: str | int | None = None,
        avpkt: str | int | None = None,
        bandwidth: str | float | None = None,
        gentle: bool | None = None,
        uniformize: Literal["none", "count", "wait"] | None = None,
        spare: bool | None = None,
        byte_drop: bool | None = None,
        ecn: bool | None = None,
        harddrop: bool | None = None,
        law: Literal["floyd", "feng"] | None = None,
        target: str | float | None = None,
        interval: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "min": min,
                "max": max,
                "probability": probability,
                "weight": weight,
                "burst": burst,
                "avpkt": avpkt,
                "bandwidth": bandwidth,
                "gentle": gentle,
                "uniformize": uniformize,
                "spare": spare,
                "byte_drop": byte_drop,
                "ecn": ecn,
                "harddrop": harddrop,
                "law": law,
                "target": target,
                "interval": interval,
            }
        )
