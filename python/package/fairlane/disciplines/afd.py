"""Afd, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Afd(QueueConfig):
    """Drops what a flow sends above a fair share, by a sample of recent arrivals.

    Source: Pan, Breslau, Prabhakar, Shenker: Approximate Fairness through Differential Dropping, ACM CCR 33(2), 2003.
    Scheduler state: The flows of ``shadow`` sampled arrivals.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        shadow: Sampled arrivals whose flows are remembered (b). Whole number, 1..1048576. Default: 500, the paper.
        sample: One in this many arrivals is sampled (s). Whole number, 1..1048576. Default: 5: 500 samples then cover
            10 to 30 arrivals of each of 83 to 250 flows.
        target_queue: Queue length that the controller aims at (q_target). Packets. Default: limit / 6, the middle of
            tc(8)'s thresholds for RED.
        interval: Time between updates of the fair share (T_s). Time, above 0. Default: 6250us, the paper's 160 Hz.
        avpkt: Mean packet: converts a ``limit`` in bytes to packets. Bytes, from 1b. Default: 1000b, as tc(8) and the
            papers.
    """

    kind: ClassVar[str] = "afd"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target_queue": "packets",
        "interval": "time",
        "avpkt": "bytes",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        shadow: int | None = None,
        sample: int | None = None,
        target_queue: str | int | None = None,
        interval: str | float | None = None,
        avpkt: str | int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "shadow": shadow,
                "sample": sample,
                "target_queue": target_queue,
                "interval": interval,
                "avpkt": avpkt,
            }
        )
