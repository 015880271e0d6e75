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
    Keeps: A table of 1024 queues a tin, each packet's time of arrival, hosts and class.

    Args:
        limit: Hard limit of the queue. Packets or bytes. Default: four times what ``bandwidth`` carries in ``rtt``, at
            least 4194304b, as sch_cake.
        bandwidth: Rate to which packets are held back; tins' thresholds, quanta and the least target follow from it.
            Rate, above 0. Default: the link's rate, without a shaper.
        diffserv: Tins: bulk (CS1, LE), best effort and voice (CS6, CS7, EF, VA, TOS4), or one for all. ``diffserv3``,
            ``besteffort``. Default: diffserv3, as tc(8).
        isolation: Hosts whose flows share the quantum of a single flow: the busier of both, the sender, the receiver,
            or none. ``triple-isolate``, ``dual-srchost``, ``dual-dsthost``, ``flows``. Default: triple-isolate, as
            tc(8).
        preset: Kind of network, which gives ``rtt``: 100ms, 100us, 1ms, 10ms, 30ms, 300ms or 1s. ``internet``,
            ``datacentre``, ``lan``, ``metro``, ``regional``, ``oceanic``, ``satellite``. Default: internet, as tc(8).
        rtt: Common round-trip time: COBALT's interval and twenty times its target. Time, above 0. Default: by
            ``preset``.
        ingress: Dropped packets count as sent, as they have used the managed link already, and COBALT leaves each bulk
            flow two packets. ``true`` or ``false``. Default: false, as tc(8).
    """

    kind: ClassVar[str] = "cake"
    _units: ClassVar[dict[str, str]] = {
        "limit": "p",
    }
    __slots__ = ()

    def __init__(
        self,
        *,
        limit: str | int | None = None,
        bandwidth: str | None = None,
        diffserv: Literal["diffserv3", "besteffort"] | None = None,
        isolation: Literal["triple-isolate", "dual-srchost", "dual-dsthost", "flows"] | None = None,
        preset: Literal["internet", "datacentre", "lan", "metro", "regional", "oceanic", "satellite"] | None = None,
        rtt: str | None = None,
        ingress: bool | None = None,
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
            }
        )
