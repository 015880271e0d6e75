"""Xchoke, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Xchoke(QueueConfig):
    """CHOKe that punishes flows harder the more often they matched.

    Source: Chhabra, Chuig, Goel, John, Kumar, Saran, Shorey: xCHOKe, ICNP 2002.
    Scheduler state: The average, a random look into the queue and a table of ``table_size`` flows.

    Experimental: its publication leaves much open, and this is one reading of it.

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
        compare_above_max: Arrivals are compared while the average is at or above ``max`` too. ``true`` or ``false``.
            Default: true, the paper and Linux; false is the technical report.
        sampling: Draw distinct packets uniformly; or each anew, so that several candidates can be one packet; or as
            Linux: three throws over the ring with its holes, then the head. ``exact``, ``replacement``, ``linux``.
            Default: exact.
        table_size: Flows in the table of hits; the longest unused makes room. Whole number, 1..1048576. Default: 64;
            the paper has no bound.
        hit_cap: Hits that count: a flow with n hits is dropped with probability p_b 2^n. Whole number, 1..63. Default:
            30.
        age: Hits of a flow are halved this often. Time, above 0. Default: the time of 1250 mean packets at the link's
            rate, 10s at 1mbit; the paper forgets nothing.
    """

    kind: ClassVar[str] = "xchoke"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "min": "packets",
        "max": "packets",
        "burst": "packets",
        "avpkt": "bytes",
        "bandwidth": "rate",
        "age": "time",
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
        compare_above_max: bool | None = None,
        sampling: Literal["exact", "replacement", "linux"] | None = None,
        table_size: int | None = None,
        hit_cap: int | None = None,
        age: str | float | None = None,
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
                "compare_above_max": compare_above_max,
                "sampling": sampling,
                "table_size": table_size,
                "hit_cap": hit_cap,
                "age": age,
            }
        )
