"""FqPie, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class FqPie(QueueConfig):
    """Hashes flows into queues, serves them in turn, and runs PIE on each.

    Source: Ramakrishnan, Bhasi, Saicharan, Monis, Patil, Tahiliani: FQ-PIE Queue Discipline in the Linux Kernel:
    Design, Implementation and Challenges, LCN Symposium 2019; RFC 8290; RFC 8033.
    Scheduler state: A table of ``flows`` queues, each with its delay.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 10240p, as tc(8).
        flows: Queues that flows are hashed to. Whole number, 1..65536. Default: 1024, RFC 8290.
        quantum: Bytes that a flow may send when its turn comes. Bytes, from 1b. Default: 1514b, an Ethernet frame.
        memory_limit: Bytes that all queues may hold together, in addition to ``limit``. Packets or bytes. Default:
            33554432b, 32 MiB, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 15ms, RFC 8033.
        tupdate: Time between updates of the probability. Time, above 0. Default: 15ms, RFC 8033.
        alpha: Weight of the deviation from ``target``, in sixteenths as tc(8). Whole number, 0..32. Default: 2, which
            is 0.125 Hz, RFC 8033.
        beta: Weight of the change of the delay, in sixteenths as tc(8). Whole number, 0..32. Default: 20, which is 1.25
            Hz, RFC 8033.
        max_burst: Time after a quiet time for which no packet is signalled. Time, above 0. Default: 150ms, RFC 8033.
        avpkt: Mean packet: no packet is signalled while at most two of them are queued; the unit of ``bytemode``.
            Bytes, from 1b. Default: 1000b, as ns-3.
        bytemode: The probability is proportional to the packet's size over ``avpkt``. ``true`` or ``false``. Default:
            false, as tc(8).
        dq_rate_estimator: The delay is the backlog over the measured departure rate, instead of what the last packet
            waited. ``true`` or ``false``. Default: false, as tc(8).
        ecn: A signal marks a packet that can be marked; the limit always drops. ``true`` or ``false``. Default: false,
            as tc(8).
        ecn_prob: Probability in percent up to which packets are marked; above it they are dropped even if they can be
            marked. Whole number, 0..100. Default: 10, RFC 8033.
    """

    kind: ClassVar[str] = "fq-pie"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "quantum": "bytes",
        "memory_limit": "packets",
        "target": "time",
        "tupdate": "time",
        "max_burst": "time",
        "avpkt": "bytes",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        flows: int | None = None,
        quantum: str | int | None = None,
        memory_limit: str | int | None = None,
        target: str | float | None = None,
        tupdate: str | float | None = None,
        alpha: int | None = None,
        beta: int | None = None,
        max_burst: str | float | None = None,
        avpkt: str | int | None = None,
        bytemode: bool | None = None,
        dq_rate_estimator: bool | None = None,
        ecn: bool | None = None,
        ecn_prob: int | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "flows": flows,
                "quantum": quantum,
                "memory_limit": memory_limit,
                "target": target,
                "tupdate": tupdate,
                "alpha": alpha,
                "beta": beta,
                "max_burst": max_burst,
                "avpkt": avpkt,
                "bytemode": bytemode,
                "dq_rate_estimator": dq_rate_estimator,
                "ecn": ecn,
                "ecn_prob": ecn_prob,
            }
        )
