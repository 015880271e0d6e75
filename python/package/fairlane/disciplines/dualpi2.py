"""DualPi2, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class DualPi2(QueueConfig):
    """A queue for scalable and one for classic flows, with coupled signals.

    Source: De Schepper, Briscoe, White: Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and
    Scalable Throughput (L4S), RFC 9332, 2023.
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
        laqm: The L queue's own marks: every packet from ``step_thresh`` on, or a share that rises over ``range`` from
            ``min_thresh`` on. ``step``, ``ramp``. Default: step, as tc(8); ramp is RFC 9332, appendix A.1.
        step_thresh: Delay from which every packet of the L queue is marked, with ``laqm = step``. Time, above 0.
            Default: 1ms, as tc(8).
        min_thresh: Delay from which some packets of the L queue are marked, with ``laqm = ramp``. Time, above 0.
            Default: 800us, RFC 9332.
        range: Delay beyond ``min_thresh`` from which every packet of the L queue is marked, with ``laqm = ramp``. Time,
            above 0. Default: 400us, RFC 9332.
        min_qlen_step: Packets that must stay behind in the L queue for its own marks. Whole number, 0..65536. Default:
            0, as tc(8); 1, RFC 9332's Th_len, with ``laqm = ramp``.
        spare_mtus: Packets of 1514 bytes that must stay behind in both queues together for a signal of the controller.
            Whole number, 0..65536. Default: 0, RFC 9332; Linux has 2.
        classic_protection: Percent of the link that the classic queue is sure of while both queues have packets. Whole
            number, 0..100. Default: 10, as tc(8).
    """

    kind: ClassVar[str] = "dualpi2"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "target": "time",
        "tupdate": "time",
        "max_rtt": "time",
        "step_thresh": "time",
        "min_thresh": "time",
        "range": "time",
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
        laqm: Literal["step", "ramp"] | None = None,
        step_thresh: str | float | None = None,
        min_thresh: str | float | None = None,
        range: str | float | None = None,
        min_qlen_step: int | None = None,
        spare_mtus: int | None = None,
        classic_protection: int | None = None,
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
                "laqm": laqm,
                "step_thresh": step_thresh,
                "min_thresh": min_thresh,
                "range": range,
                "min_qlen_step": min_qlen_step,
                "spare_mtus": spare_mtus,
                "classic_protection": classic_protection,
            }
        )
