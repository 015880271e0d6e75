"""Blue, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Blue(QueueConfig):
    """Signals at random, more after each loss and less when the link is idle.

    Source: Feng, Shin, Kandlur, Saha: The BLUE Active Queue Management Algorithms, IEEE/ACM ToN 10(4), 2002.
    Scheduler state: Nothing.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: 300p, the buffer of the CHOKe paper.
        increment: Step by which a loss raises the probability of a signal (delta_1). Number, above 0, at most 1.
            Default: 0.02, the paper's configuration B4.
        decrement: Step by which an idle link lowers the probability (delta_2). Number, above 0, at most 1. Default:
            0.002, the paper's configuration B4.
        freeze: Least time between two changes of the probability: about a round trip. Time, above 0. Default: 100ms,
            the paper's configuration B4.
        jitter: Each freeze time is drawn from half to one and a half of ``freeze``, which keeps routers from
            synchronising. ``true`` or ``false``. Default: false.
        trigger: Queue length above which each packet queued counts as a loss, which leaves room for bursts and bounds
            the delay (L). Packets or bytes. Default: never.
        idle: An idle link lowers the probability after every freeze time, or once until a packet is queued.
            ``repeated``, ``once``. Default: repeated.
        ecn: Signals mark packets that can be marked; the limit always drops. ``true`` or ``false``. Default: false.
    """

    kind: ClassVar[str] = "blue"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "freeze": "time",
        "trigger": "packets",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        increment: float | None = None,
        decrement: float | None = None,
        freeze: str | float | None = None,
        jitter: bool | None = None,
        trigger: str | int | None = None,
        idle: Literal["repeated", "once"] | None = None,
        ecn: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "increment": increment,
                "decrement": decrement,
                "freeze": freeze,
                "jitter": jitter,
                "trigger": trigger,
                "idle": idle,
                "ecn": ecn,
            }
        )
