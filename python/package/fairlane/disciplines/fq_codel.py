"""FqCodel, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class FqCodel(QueueConfig):
    """Hashes flows into queues, serves them in turn, and runs CoDel on each.

    Source: Hoeiland-Joergensen, McKenney, Taht, Gettys, Dumazet: The Flow Queue CoDel Packet Scheduler and Active Queue
    Management Algorithm, RFC 8290, 2018.
    Scheduler state: A table of ``flows`` queues and each packet's time of arrival.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 10240p, as tc(8).
        flows: Queues that flows are hashed to. Whole number, 1..65536. Default: 1024, RFC 8290.
        quantum: Bytes that a flow may send when its turn comes. Bytes, from 1b. Default: 1514b, an Ethernet frame.
        memory_limit: Bytes that all queues may hold together, in addition to ``limit``. Packets or bytes. Default:
            33554432b, 32 MiB, as tc(8).
        drop_batch: Most packets that the longest queue loses at once when the limit is exceeded; no more than half its
            bytes. Whole number, 1..65536. Default: 64, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 5ms, RFC 8289.
        interval: How long the delay may be above ``target`` before a drop. Time, above 0. Default: 100ms, RFC 8289.
        mtu: No packet is signalled while no more than this stays queued behind it. Bytes, from 1b. Default: 1514b, an
            Ethernet frame, as tc(8).
        ecn: A signal marks a packet that can be marked; the limit always drops. ``true`` or ``false``. Default: true,
            as tc(8).
        ce_threshold: ECN-capable packets that waited longer are marked, in addition to other decisions. Time, above 0.
            Default: never.
    """

    kind: ClassVar[str] = "fq-codel"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "quantum": "bytes",
        "memory_limit": "packets",
        "target": "time",
        "interval": "time",
        "mtu": "bytes",
        "ce_threshold": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        flows: int | None = None,
        quantum: str | int | None = None,
        memory_limit: str | int | None = None,
        drop_batch: int | None = None,
        target: str | float | None = None,
        interval: str | float | None = None,
        mtu: str | int | None = None,
        ecn: bool | None = None,
        ce_threshold: str | float | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "flows": flows,
                "quantum": quantum,
                "memory_limit": memory_limit,
                "drop_batch": drop_batch,
                "target": target,
                "interval": interval,
                "mtu": mtu,
                "ecn": ecn,
                "ce_threshold": ce_threshold,
            }
        )
