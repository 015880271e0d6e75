"""Csfq, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Csfq(QueueConfig):
    """Drops what a flow sends above a fair rate, by the rate that the edge wrote on its packets.

    Source: Stoica, Shenker, Zhang: Core-Stateless Fair Queueing, SIGCOMM 1998.
    Keeps: Labels, or at the edge the rates of ``table_size`` flows.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        bandwidth: Rate that is shared among the flows (C). Rate, above 0. Default: the link's rate.
        edge: Packets without a label are given the rate of their flow, measured here; else they are not dropped for a
            rate. ``true`` or ``false``. Default: true.
        table_size: Flows that the edge knows the rate of; the longest unused makes room. Whole number, 1..16777216.
            Default: 16384.
        k: Time constant of a flow's rate at the edge (K). Time, above 0. Default: 100ms, the paper.
        k_alpha: Time constant of the rates at which packets arrive and are accepted (K_alpha). Time, above 0. Default:
            200ms, the paper.
        k_c: How long the link is congested, or not, before the fair rate follows (K_c). Time, above 0. Default: 100ms,
            the paper.
        threshold: While the link is not congested and the queue below this, nothing is dropped for its rate; in the
            unit of ``limit``. Packets or bytes. Default: limit / 4, the paper's 16 of 64 kB.
    """

    kind: ClassVar[str] = "csfq"
    _units: ClassVar[dict[str, str]] = {
        "limit": "p",
        "threshold": "p",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        bandwidth: str | None = None,
        edge: bool | None = None,
        table_size: int | None = None,
        k: str | None = None,
        k_alpha: str | None = None,
        k_c: str | None = None,
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
