"""The parts of a dumbbell's file that follow from others."""

from __future__ import annotations

from fairlane._values import with_unit
from fairlane.errors import ScenarioError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_OLD = frozenset({"tahoe", "reno", "newreno", "sack", "vegas"})
"""The congestion controls that ns-2 had in 1999."""


def links(rate: str, delay: str, queue: object, hosts: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of the bottleneck and of the hosts' links.

    ``hosts`` has the ``rate`` and the ``delay`` of the hosts' links, and the round trip, ``rtt``; each may be ``None``.
    """
    bottleneck: dict[str, Any] = {"rate": rate, "delay": delay}
    if queue is not None:
        bottleneck["queue"] = {"kind": queue} if isinstance(queue, str) else queue
    own, rtt = hosts["delay"], hosts["rtt"]
    if rtt is not None:
        if own is not None:
            raise TypeError("rtt: it says what access_delay is, so give one of them")
        own = _access_delay(with_unit("rtt", rtt, "time"), delay)
    access = {"delay": with_unit("access_delay", "1ms" if own is None else own, "time")}
    if hosts["rate"] is not None:
        access["rate"] = with_unit("access_rate", hosts["rate"], "rate")
    return {"bottleneck": bottleneck, "access": access}


def preset(given: str | None, flows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The table of TCP with a preset: the one that is given, or ``modern`` if a congestion control needs it."""
    name = "modern" if given is None and any(_is_modern(group) for group in flows) else given
    return {} if name is None else {"tcp": {"preset": name}}


def _is_modern(group: Mapping[str, Any]) -> bool:
    """True for a group of TCP flows with a congestion control that the preset ``ns2-1999`` is too old for."""
    cc = group.get("cc")
    return group.get("kind", "tcp") == "tcp" and isinstance(cc, str) and cc not in _OLD


def _access_delay(rtt: str, delay: str) -> float:
    """The delay in seconds of each host's link with which a round trip has the delay ``rtt``."""
    from fairlane.units import seconds

    rest = seconds(rtt) - 2 * seconds(delay)
    if rest < 0:
        raise ScenarioError(f"rtt: {rtt} is shorter than twice the bottleneck's delay of {delay}; lower that")
    return rest / 4
