"""Cake, by python/generate."""

from __future__ import annotations

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar, Literal


class Cake(QueueConfig):
    """A shaper, classes, fairness among hosts and then flows, and COBALT on each flow's queue.

    Source: Hoeiland-Joergensen, Taht, Morton: Piece of CAKE: A Comprehensive Queue Management Solution for Home
    Gateways, IEEE LANMAN 2018.
    Scheduler state: A table of 1024 queues a tin, each packet's time of arrival, hosts and class.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: four times what ``bandwidth`` carries in ``rtt``, at
            least 4194304b, as sch_cake.
        bandwidth: Rate to which packets are held back; tins' thresholds, quanta and the least target follow from it.
            Rate, above 0. Default: the link's rate, without a shaper.
        diffserv: Tins, by code point: three (bulk, best effort, voice), one for all, four (video as well), eight, or
            one for each precedence. ``diffserv3``, ``besteffort``, ``diffserv4``, ``diffserv8``, ``precedence``.
            Default: diffserv3, as tc(8).
        isolation: What is fair: flows, and before them the busier host of both, the senders, the receivers, or none;
            or, in place of flows, senders, receivers, pairs of them, or nothing. ``triple-isolate``, ``dual-srchost``,
            ``dual-dsthost``, ``flows``, ``srchost``, ``dsthost``, ``hosts``, ``flowblind``. Default: triple-isolate, as
            tc(8).
        preset: Kind of network, which gives ``rtt``: 100ms, 100us, 1ms, 10ms, 30ms, 300ms or 1s. ``internet``,
            ``datacentre``, ``lan``, ``metro``, ``regional``, ``oceanic``, ``satellite``. Default: internet, as tc(8).
        rtt: Common round-trip time: COBALT's interval and twenty times its target. Time, above 0. Default: by
            ``preset``.
        ingress: Dropped packets count as sent, as they have used the managed link already, and COBALT leaves each bulk
            flow two packets. ``true`` or ``false``. Default: false, as tc(8).
        wash: Packets leave without their code points, whose tins they were in. ``true`` or ``false``. Default: false,
            as tc(8).
        ack_filter: TCP acknowledgements are dropped that a later one in their queue makes superfluous: none, the first
            of two, or also a single one. ``none``, ``filter``, ``aggressive``. Default: none, as tc(8).
        nat: Hosts are those behind this machine's address translation; only behind an NFQUEUE, elsewhere addresses are
            as packets have them. ``true`` or ``false``. Default: false, as tc(8).
    """

    kind: ClassVar[str] = "cake"
    _quantities: ClassVar[dict[str, str]] = {
        "limit": "packets",
        "bandwidth": "rate",
        "rtt": "time",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        bandwidth: str | float | None = None,
        diffserv: Literal["diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence"] | None = None,
        isolation: Literal[
            "triple-isolate", "dual-srchost", "dual-dsthost", "flows", "srchost", "dsthost", "hosts", "flowblind"
        ]
        | None = None,
        preset: Literal["internet", "datacentre", "lan", "metro", "regional", "oceanic", "satellite"] | None = None,
        rtt: str | float | None = None,
        ingress: bool | None = None,
        wash: bool | None = None,
        ack_filter: Literal["none", "filter", "aggressive"] | None = None,
        nat: bool | None = None,
    ) -> None:
        super().__init__(
            {
                "limit": limit,
                "bandwidth": bandwidth,
                "diffserv": diffserv,
                "isolation": isolation,
                "preset": preset,
                "rtt": rtt,
                "ingress": ingress,
                "wash": wash,
                "ack_filter": ack_filter,
                "nat": nat,
            }
        )
