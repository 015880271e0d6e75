"""Chokew, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Chokew(QueueConfig):
    """CHOKe without RED; a factor that follows the queue sets how many packets are drawn, fewer for higher classes.

    Source: Wen, Fang, Sun: CHOKeW, Bandwidth Differentiation and TCP Protection in Core Networks, MILCOM 2005.
    Scheduler state: Random looks into the queue and each packet's class.

    Experimental: its publication leaves much open, and this is one reading of it.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 500p, CHOKeW.
        threshold: Queue up to which nothing is compared. Packets or bytes. Default: limit / 5, CHOKeW's 100 of 500
            packets, but at most ``min``.
        min: Queue below which the drawing factor falls. Packets or bytes. Default: limit / 4, CHOKeW's 125 of 500
            packets, but at most ``max``.
        max: Queue above which the drawing factor rises. Packets or bytes. Default: 7/20 of limit, CHOKeW's 175 of 500
            packets, but at least ``min``.
        increment: Rise of the drawing factor with each arrival that finds more than ``max``. Number, above 0, at most
            1. Default: 0.002, CHOKeW.
        decrement: Fall of the drawing factor with each arrival that finds less than ``min``. Number, above 0, at most
            1. Default: 0.001, CHOKeW.
        max_candidates: The drawing factor never exceeds this; a packet of weight w (1 to 4, by the two highest bits of
            its traffic class) is compared with the w-th part of the factor. Whole number, 1..1024. Default: 64; the
            paper has no bound.
    """

    kind: ClassVar[str] = "chokew"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "threshold": "packets",
        "min": "packets",
        "max": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        threshold: str | int | None = None,
        min: str | int | None = None,
        max: str | int | None = None,
        increment: float | None = None,
        decrement: float | None = None,
        max_candidates: int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "threshold": threshold,
                "min": min,
                "max": max,
                "increment": increment,
                "decrement": decrement,
                "max_candidates": max_candidates,
            }
        )
