"""Pi2, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


class Pi2(QueueConfig):
    """Signals classic flows with the square of a controlled probability, scalable flows with a multiple of it.

    Source: De Schepper, Bondarenko, Tsang, Briscoe: PI2: A Linearized AQM for both Classic and Scalable TCP, CoNEXT
    2016.
    Scheduler state: The delay and its change, and which packets are of scalable flows.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 10000p, as tc(8).
        target: Acceptable standing delay of the queue. Time, above 0. Default: 15ms, RFC 9332.
        tupdate: Time between updates of the probability. Time, above 0. Default: 16ms, as tc(8); the smaller of
            ``target`` and max_rtt / 3, RFC 9332, when ``max_rtt`` is given.
        alpha: Probability that an update adds for each second that the delay is above ``target``. Number, 0..1000.
            Default: 0.16, as tc(8); 0.1 tupdate / max_rtt^2, RFC 9332, when ``max_rtt`` is given.
        beta: Probability that an update adds for each second that the delay has grown by. Number, 0..1000. Default:
            3.2, as tc(8); 0.3 / max_rtt, RFC 9332, when ``max_rtt`` is given.
        max_rtt: Longest round-trip time for which the control is stable. Time, above 0. Default: 100ms, RFC 9332; used
            only to derive ``tupdate``, ``alpha`` and ``beta``.
        coupling_factor: Ratio of scalable flows' marks to the square root of classic flows' signals (k). Number,
            1..255. Default: 2, RFC 9332.
        drop_overload: When marking every scalable packet is not enough, packets of all flows are dropped with the
            classic probability; otherwise only the limit drops. ``true`` or ``false``. Default: true, RFC 9332.
    """

    kind: ClassVar[str] = "pi2"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "time",
        "tupdate": "time",
        "max_rtt": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        target: str | float | None = None,
        tupdate: str | float | None = None,
        alpha: float | None = None,
        beta: float | None = None,
        max_rtt: str | float | None = None,
        coupling_factor: float | None = None,
        drop_overload: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "target": target,
                "tupdate": tupdate,
                "alpha": alpha,
                "beta": beta,
                "max_rtt": max_rtt,
                "coupling_factor": coupling_factor,
                "drop_overload": drop_overload,
            }
        )
