"""Sfb, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Sfb(QueueConfig):
    """BLUE in bins: limits the rate of flows that do not respond to signals.

    Source: Feng, Kandlur, Saha, Shin: Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness,
    INFOCOM 2001.
    Scheduler state: ``levels`` hashes of the flow and two sets of ``levels`` times ``bins`` bins.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        levels: Levels of bins: a flow has a bin on each. Whole number, 1..16. Default: 8, as Linux; the paper has 2.
        bins: Bins on each level. Whole number, 1..4096. Default: 16, as Linux; the paper has 23.
        bin_size: Packets in a bin above which it is full (tc's target). Packets. Default: 20p, as tc(8); the paper has
            1.5 limit / bins.
        drop_on_over: An arrival is dropped when all of its bins hold ``bin_max``, or when any of them is full. ``all``,
            ``any``. Default: all, as Linux; any is the paper.
        bin_max: Packets in each bin of a flow at which its arrivals are dropped (tc's max). Packets. Default: 1.25
            bin_size, as tc(8); unused with ``drop_on_over = any``.
        increment: Step by which an arrival at a full bin raises the bin's probability. Number, above 0, at most 1.
            Default: 0.0005, as tc(8); the paper gives none.
        decrement: Step by which an empty bin lowers its probability. Number, above 0, at most 1. Default: 0.00005, as
            tc(8); the paper gives none.
        decrement_at: ``decrement`` is applied at each arrival that finds the bin empty, or at the departure that
            empties it (the paper's text). ``arrival``, ``departure``. Default: arrival, as the paper's figure 14 and
            Linux.
        freeze: Least time between two changes of a bin's probability, as in BLUE. Time, above 0. Default: none, as the
            paper and Linux.
        rehash: Time after which the hash moves, so that no flow shares its bins with the same flows for ever. Time,
            above 0. Default: 600s, as tc(8); the paper has 2s.
        jitter: Each time between two moves of the hash is drawn from half to one and a half of ``rehash``. ``true`` or
            ``false``. Default: false.
        warmup: Time before the hash moves in which the next bins are warmed up with the identified flows (double
            buffering). Time, above 0. Default: 60s, as tc(8)'s db.
        penalty_rate: Rate that all identified flows share. Rate, above 0. Default: 80kbit, tc(8)'s 10 packets a second
            of 1000 bytes; the paper has 160kbit.
        penalty_burst: Burst that all identified flows together may send. Bytes, from 1b. Default: 20kb, tc(8)'s 20
            packets of 1000 bytes.
        ecn: Signals mark packets that can be marked; full bins, the rate limit and the limit always drop. ``true`` or
            ``false``. Default: false.
        harddrop: From a probability p of 1/2 on, a share 2p - 1 of all arrivals is dropped even if it could be marked.
            ``true`` or ``false``. Default: true, as Linux.
    """

    kind: ClassVar[str] = "sfb"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "bin_size": "packets",
        "bin_max": "packets",
        "freeze": "time",
        "rehash": "time",
        "warmup": "time",
        "penalty_rate": "rate",
        "penalty_burst": "bytes",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        levels: int | None = None,
        bins: int | None = None,
        bin_size: str | int | None = None,
        drop_on_over: Literal["all", "any"] | None = None,
        bin_max: str | int | None = None,
        increment: float | None = None,
        decrement: float | None = None,
        decrement_at: Literal["arrival", "departure"] | None = None,
        freeze: str | float | None = None,
        rehash: str | float | None = None,
        jitter: bool | None = None,
        warmup: str | float | None = None,
        penalty_rate: str | float | None = None,
        penalty_burst: str | int | None = None,
        ecn: bool | None = None,
        harddrop: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "levels": levels,
                "bins": bins,
                "bin_size": bin_size,
                "drop_on_over": drop_on_over,
                "bin_max": bin_max,
                "increment": increment,
                "decrement": decrement,
                "decrement_at": decrement_at,
                "freeze": freeze,
                "rehash": rehash,
                "jitter": jitter,
                "warmup": warmup,
                "penalty_rate": penalty_rate,
                "penalty_burst": penalty_burst,
                "ecn": ecn,
                "harddrop": harddrop,
            }
        )
