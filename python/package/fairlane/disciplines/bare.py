"""Bare, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Bare(QueueConfig):
    """Drops with a power of the flow's part of the queue; the exponent follows the flow's rate.

    Source: Cho, Cho: Dynamic Buffer Management Scheme Based on Rate Estimation in Packet-Switched Networks, Computer
    Networks 39, 2002.
    Scheduler state: The average, and a state for each address pair that was admitted lately.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 320kb, the paper.
        target: Average queue to aim at, unless half of what all flows may queue is less. Packets or bytes. Default: 3/8
            of limit, the paper's 120 of 320 kb.
        fair_drop: Queue from which only flows without state are admitted. Packets or bytes. Default: 7/16 of limit, the
            paper's 140 of 320 kb.
        hi: The most that each of at most ``n1`` flows may queue. Bytes, from 1b. Default: 8000b, the paper.
        lo: The most that each of at least ``n2`` flows may queue. Bytes, from 1b. Default: 4000b, the paper.
        n1: Flows up to which each may queue ``hi``; from there to ``n2`` what all may queue changes linearly. Whole
            number, 1..16777216. Default: 4/3 target / hi, 20 at the paper's sizes.
        n2: Flows from which each may queue ``lo``. Whole number, 1..16777216. Default: 2 target / lo, the paper's 60,
            but at least ``n1``.
        flows: The most flows that have a state at once. Whole number, 1..1048576. Default: 320, the paper.
        beta: Exponent of a new flow. Number, 0.01..1000. Default: 7.5, the paper.
        beta_min: The least exponent. Number, 0.01..1000. Default: 0.5, the paper.
        beta_max: The largest exponent. Number, 0.01..1000. Default: 10, the paper.
        increase: Factor by which the exponent of a flow within its rate recovers. Number, 1..1000. Default: 1.2, the
            paper.
        weight: Weight of a sample in the average (w_q). Number, above 0, at most 1. Default: 0.004, the paper.
        k: Time over which a flow's rate is averaged. Time, above 0. Default: 25/8 of the time that ``bandwidth`` takes
            for ``target``, the paper's 150ms.
        queue_weight: Weight of a sample in a flow's average queue, which stands for its rate if this is given (1 - k of
            equation 5). Number, above 0, at most 1. Default: rates over ``k``, the paper's listing.
        timeout: Time after its last admitted packet when a flow with nothing queued loses its state. Time, above 0.
            Default: 3 k, the paper.
        weighted: A flow counts as 1 to 4 flows, by the two highest bits of the traffic class of its first packet.
            ``true`` or ``false``. Default: false.
        avpkt: Mean packet: converts sizes in packets to bytes. Bytes, from 1b. Default: 1000b, as tc(8) and the papers.
        bandwidth: Rate that is divided among the flows. Rate, above 0. Default: the link's rate.
    """

    kind: ClassVar[str] = "bare"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "packets",
        "fair_drop": "packets",
        "hi": "bytes",
        "lo": "bytes",
        "k": "time",
        "timeout": "time",
        "avpkt": "bytes",
        "bandwidth": "rate",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        target: str | int | None = None,
        fair_drop: str | int | None = None,
        hi: str | int | None = None,
        lo: str | int | None = None,
        n1: int | None = None,
        n2: int | None = None,
        flows: int | None = None,
        beta: float | None = None,
        beta_min: float | None = None,
        beta_max: float | None = None,
        increase: float | None = None,
        weight: float | None = None,
        k: str | float | None = None,
        queue_weight: float | None = None,
        timeout: str | float | None = None,
        weighted: bool | None = None,
        avpkt: str | int | None = None,
        bandwidth: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "fair_drop": fair_drop,
                "hi": hi,
                "lo": lo,
                "n1": n1,
                "n2": n2,
                "flows": flows,
                "beta": beta,
                "beta_min": beta_min,
                "beta_max": beta_max,
                "increase": increase,
                "weight": weight,
                "k": k,
                "queue_weight": queue_weight,
                "timeout": timeout,
                "weighted": weighted,
                "avpkt": avpkt,
                "bandwidth": bandwidth,
            }
        )
