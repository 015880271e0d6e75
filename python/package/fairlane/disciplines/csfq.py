"""Csfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Csfq(QueueConfig):
    """Drops what a flow sends above a fair rate, by the flow's rate that the edge wrote on its packets.

    Source: Stoica, Shenker, Zhang: Core-Stateless Fair Queueing, SIGCOMM 1998.
    Scheduler state: Labels, or at the edge the rates of ``table_size`` flows.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        bandwidth: Rate that is shared among the flows (C). Rate, above 0. Default: the link's rate.
        edge: A packet without a label gets the rate of its flow, measured here; else it is not dropped for a rate.
            ``true`` or ``false``. Default: true.
        table_size: Flows whose rates the edge knows; the flow unused for longest makes room for a new one. Whole
            number, 1..16777216. Default: 16384.
        k: Time constant of a flow's rate at the edge (K). Time, above 0. Default: 100ms, the paper.
        k_alpha: Time constant of the rates at which packets arrive and are accepted (K_alpha). Time, above 0. Default:
            200ms, the paper.
        k_c: How long the link must be congested, or not, before the fair rate is updated (K_c). Time, above 0. Default:
            100ms, the paper.
        threshold: While the link is not congested and the queue is shorter, nothing is dropped for its rate; in the
            unit of ``limit``. Packets or bytes. Default: limit / 4, the paper's 16 of 64 kB.
    """

    kind: ClassVar[str] = "csfq"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "bandwidth": "rate",
        "k": "time",
        "k_alpha": "time",
        "k_c": "time",
        "threshold": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        bandwidth: str | float | None = None,
        edge: bool | None = None,
        table_size: int | None = None,
        k: str | float | None = None,
        k_alpha: str | float | None = None,
        k_c: str | float | None = None,
        threshold: str | int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "bandwidth": bandwidth,
                "edge": edge,
                "table_size": table_size,
                "k": k,
                "k_alpha": k_alpha,
                "k_c": k_c,
                "threshold": threshold,
            }
        )
