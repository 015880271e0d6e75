"""RedPenaltyBox, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class RedPenaltyBox(QueueConfig):
    """RED; flows whose drops show that they send too much share one small rate.

    Source: Floyd, Fall: Promoting the Use of End-to-End Congestion Control in the Internet, IEEE/ACM ToN 7(4), 1999.
    Scheduler state: The average, a log of ``history`` drops and the flows in the box.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        min: Average below which no packet is signalled and, in the CHOKe family, none compared. Packets or bytes.
            Default: max / 3, as tc(8).
        max: Average from which every packet is signalled. Packets or bytes. Default: limit / 4, as tc(8).
        probability: Base probability of a signal as the average reaches ``max`` (max_p). Number, above 0, at most 1.
            Default: 0.1, as ns-2; 0.02, as tc(8), when neither ``min`` nor ``max`` is given.
        weight: Weight of a sample in the average (w_q). Number, above 0, at most 1. Default: 0.002, as ns-2; from
            ``burst`` when that is given, or when neither ``min`` nor ``max`` is.
        burst: Packets that may come at once before the average reaches ``min``: gives ``weight`` by tc's rule, a power
            of 1/2. Packets. Default: (2 min + max) / 3 packets, as tc(8), when neither ``min`` nor ``max`` nor
            ``weight`` is given; else unused.
        avpkt: Mean packet: the unit of the idle clock, of ``byte_drop`` and of tc's rules. Bytes, from 1b. Default:
            1000b, as tc(8) and the papers.
        bandwidth: Rate at which the average's clock ticks while the link is idle. Rate, above 0. Default: the link's
            rate.
        gentle: From ``max`` to twice ``max`` the probability climbs to 1, instead of at once. ``true`` or ``false``.
            Default: false, as ns-2 before 2001.
        uniformize: Gaps between early signals: geometric, uniform on 1..1/p-1 (the RED paper), or uniform on
            1/p..2/p-1. ``none``, ``count``, ``wait``. Default: wait, as ns-2; count, as tc(8), when neither ``min`` nor
            ``max`` is given.
        spare: RED passes a packet that finds at most one packet queued, and the first one above ``min``. ``true`` or
            ``false``. Default: true, as ns-2; false, as tc(8), when neither ``min`` nor ``max`` is given.
        byte_drop: Early signals are proportional to the packet's size over ``avpkt``. ``true`` or ``false``. Default:
            false, as ns-2 before 2004.
        ecn: Early and forced signals mark packets that can be marked; a match or the limit always drops. ``true`` or
            ``false``. Default: false.
        harddrop: A forced signal drops even what could be marked. ``true`` or ``false``. Default: false.
        history: Drops in the log; a period ends early after as many drops (D). Whole number, 1..65536. Default: 256.
        interval: Longest duration of a period (T). Time, above 0. Default: 5s.
        rtt: Round-trip time of the TCP whose sending rate a flow may not exceed (R). Time, above 0. Default: 40ms, as
            red-pd.
        mtu: Largest packet of that TCP (B). Bytes, from 1b. Default: 1500b, Ethernet's.
        penalty_rate: Rate that the flows in the box get together, by a token bucket. Rate, above 0. Default: 5 % of
            ``bandwidth``.
        penalty_burst: Mean packets that the flows in the box may send at once. Packets. Default: 20p, as tc-sfb(8).
    """

    kind: ClassVar[str] = "red-penalty-box"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "min": "packets",
        "max": "packets",
        "burst": "packets",
        "avpkt": "bytes",
        "bandwidth": "rate",
        "interval": "time",
        "rtt": "time",
        "mtu": "bytes",
        "penalty_rate": "rate",
        "penalty_burst": "packets",
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
        history: int | None = None,
        interval: str | float | None = None,
        rtt: str | float | None = None,
        mtu: str | int | None = None,
        penalty_rate: str | float | None = None,
        penalty_burst: str | int | None = None,
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
                "history": history,
                "interval": interval,
                "rtt": rtt,
                "mtu": mtu,
                "penalty_rate": penalty_rate,
                "penalty_burst": penalty_burst,
            }
        )
