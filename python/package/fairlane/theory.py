"""Closed forms and Markov chains for the equilibrium of disciplines and TCP, without a simulation.

``docs/theory.md`` gives each model's source and assumptions. A *load* is the rate that a flow sends as a fraction of
the link's rate, and its *share* the fraction of the link that it gets; shares and losses are 0 to 1. Every function
raises a ``ValueError`` that names a value out of its range.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from fairlane import _core
from fairlane._values import native
from fairlane.errors import ArgumentError

__all__ = [
    "BackChoke",
    "BackFlow",
    "Candidates",
    "Choke",
    "Division",
    "Echo",
    "EchoLoop",
    "EchoStability",
    "FrontChoke",
    "FrontFlow",
    "GChoke",
    "Peak",
    "Sfb",
    "Tcp",
    "back",
    "choke",
    "choke_multi",
    "echo",
    "echo_stability",
    "front",
    "gchoke",
    "sfb",
    "tcp",
]


@dataclass(frozen=True)
class FrontFlow:
    """A flow under Front CHOKe.

    Attributes:
        rate: The rate of its arrivals, in the unit of the rates that were given.
        head: The part of the time in which a packet of it is at the queue's head, 0 to 1.
        goodput: The rate at which its packets leave, in the same unit.
        loss: The part of its packets that is lost, 0 to 1.
    """

    rate: float
    head: float
    goodput: float
    loss: float


@dataclass(frozen=True)
class FrontChoke:
    """Front CHOKe with Poisson arrivals.

    Attributes:
        mu: The rate of service, in the unit of the rates that were given.
        empty: The part of the time in which the queue is empty, 0 to 1.
        flows: The flows, in the order of their rates as given.
    """

    mu: float
    empty: float
    flows: tuple[FrontFlow, ...]


def front(*, mu: float, rates: Iterable[float]) -> FrontChoke:
    """Front CHOKe (Pan, Prabhakar, Psounis 2000, equations 1 to 3).

    Args:
        mu: The rate of service, in any unit of packets a time.
        rates: The rate of each flow's arrivals, in the same unit.
    """
    answer = _ask("front", mu=mu, rates=rates)
    return FrontChoke(answer["mu"], answer["empty"], tuple(FrontFlow(**flow) for flow in answer["flows"]))


@dataclass(frozen=True)
class BackFlow:
    """A flow under Back CHOKe.

    Attributes:
        rate: The rate of its arrivals, in the unit of the rates that were given.
        admitted: The rate of its packets that are admitted, in the same unit.
        share: Its share of all admitted packets, 0 to 1.
        loss: The part of its packets that is lost, 0 to 1.
    """

    rate: float
    admitted: float
    share: float
    loss: float


@dataclass(frozen=True)
class BackChoke:
    """Back CHOKe with a memory.

    Attributes:
        memory: Number of flows in the memory.
        admitted: The rate admitted in all, in the unit of the rates that were given.
        flows: The flows, in the order of their rates as given.
    """

    memory: int
    admitted: float
    flows: tuple[BackFlow, ...]


def back(*, rates: Iterable[float], memory: int = 1) -> BackChoke:
    """Back CHOKe that remembers the flows of the last packets admitted (equations 4 and 5).

    Args:
        rates: The rate of each flow's arrivals.
        memory: Number of flows in the memory, less than there are flows.
    """
    answer = _ask("back", rates=rates, memory=memory)
    return BackChoke(answer["memory"], answer["admitted"], tuple(BackFlow(**flow) for flow in answer["flows"]))


@dataclass(frozen=True)
class Division:
    """A division of bins into levels.

    Attributes:
        levels: Number of levels.
        bins: Bins of each level.
        misclassified: The part of responsive flows that is misclassified, 0 to 1.
    """

    levels: int
    bins: int
    misclassified: float


@dataclass(frozen=True)
class Sfb:
    """SFB's bins and its errors.

    Attributes:
        levels: Number of levels of bins.
        bins: Bins of each level.
        flows: Number of unresponsive flows.
        polluted: The part of the bins of a level that is polluted, 0 to 1.
        polluted_bins: Polluted bins of a level, in the mean.
        misclassified: The part of responsive flows that is misclassified, 0 to 1.
        best: The division of as many bins that misclassifies least.
    """

    levels: int
    bins: int
    flows: int
    polluted: float
    polluted_bins: float
    misclassified: float
    best: Division


def sfb(*, levels: int, bins: int, flows: int) -> Sfb:
    """SFB's misclassification (Feng, Kandlur, Saha, Shin 2001, equation 1).

    Args:
        levels: Number of levels of bins.
        bins: Bins of each level.
        flows: Number of unresponsive flows.
    """
    answer = _ask("sfb", levels=levels, bins=bins, flows=flows)
    return Sfb(**{**answer, "best": Division(**answer["best"])})


@dataclass(frozen=True)
class Peak:
    """The largest share of the link that a flow can get.

    Attributes:
        load: Its load there, as a part of the link's rate.
        share: Its share of the link, 0 to 1.
        buffer_share: Its share of the queue, 0 to 1.
    """

    load: float
    share: float
    buffer_share: float


@dataclass(frozen=True)
class Choke:
    """An unresponsive flow among many TCP flows under CHOKe.

    Attributes:
        load: Its sending rate as a part of the link's rate.
        early_drops: The part of arrivals without a match that RED drops.
        share: Its share of the link.
        tcp_share: TCP's share.
        buffer_share: Its part of the queue.
        loss: The part of its packets that is dropped.
        profile: Its part of each tenth of the queue, from the tail to the head.
        peak: The load with the largest share.
    """

    load: float
    early_drops: float
    share: float
    tcp_share: float
    buffer_share: float
    loss: float
    profile: tuple[float, ...]
    peak: Peak


def choke(*, load: float, early_drops: float = 0.0) -> Choke:
    """CHOKe's equilibrium (after Wang, Tang, Low 2003).

    Args:
        load: The flow's sending rate as a part of the link's rate.
        early_drops: The part of arrivals without a match that RED drops, 0 to 1.
    """
    answer = _ask("choke", load=load, early_drops=early_drops)
    return Choke(**{**answer, "profile": tuple(answer["profile"]), "peak": Peak(**answer["peak"])})


@dataclass(frozen=True)
class Candidates:
    """Several equal unresponsive flows, and several candidates for each arrival.

    Attributes:
        flows: How many flows there are.
        candidates: How many candidates are drawn.
        load: The sending rate of each, as a part of the link's rate.
        share: Each one's share of the link.
        total_share: The share of all of them together.
        tcp_share: TCP's share.
        buffer_share: Their part of the queue.
        loss: The part of their packets that is dropped.
        starves: True if TCP gets nothing.
        starvation_load: The load from which it gets nothing; ``None`` when there is none.
        candidates_that_protect: The fewest candidates with which it never starves.
    """

    flows: int
    candidates: int
    load: float
    share: float
    total_share: float
    tcp_share: float
    buffer_share: float
    loss: float
    starves: bool
    starvation_load: float | None
    candidates_that_protect: int


def choke_multi(*, flows: int, candidates: int, load: float) -> Candidates:
    """CHOKe with several candidates against several flows.

    Args:
        flows: Number of unresponsive flows.
        candidates: Candidates drawn for each arrival.
        load: Each flow's sending rate as a part of the link's rate.
    """
    return Candidates(**_ask("choke-multi", flows=flows, candidates=candidates, load=load))


@dataclass(frozen=True)
class GChoke:
    """An unresponsive flow among many TCP flows under gCHOKe; see :class:`Choke`.

    Attributes:
        maxcomp: The most packets that one arrival may match.
        load: The flow's sending rate as a part of the link's rate.
        share: Its share of the link.
        tcp_share: TCP's share.
        buffer_share: Its part of the queue.
        loss: The part of its packets that is dropped.
        peak: The load with the largest share.
        buffer_bound: The most of the queue that any load gives it.
    """

    maxcomp: int | str
    load: float
    share: float
    tcp_share: float
    buffer_share: float
    loss: float
    peak: Peak
    buffer_bound: float


def gchoke(*, maxcomp: int | Literal["infinite"], load: float) -> GChoke:
    """The equilibrium of gCHOKe.

    Args:
        maxcomp: The most packets that one arrival may match, or ``infinite``.
        load: The flow's sending rate as a part of the link's rate.
    """
    answer = _ask("gchoke", maxcomp=maxcomp, load=load)
    return GChoke(**{**answer, "peak": Peak(**answer["peak"])})


@dataclass(frozen=True)
class Echo:
    """Unresponsive flows among TCP flows under ECHO.

    Attributes:
        tcps: Number of TCP flows.
        tcp_loss: The part of TCP's packets that is dropped.
        floods: Number of unresponsive flows.
        load: The sending rate of each, as a part of the link's rate.
        tags: The number of tags of the sample; ``None`` for rates without noise.
        share: The share of the link of each unresponsive flow.
        total_share: The share of all of them together.
        tcp_share: TCP's share.
        loss: The part of the unresponsive flows' packets that is dropped.
        of_fair_share: ``share`` as a part of the max-min fair share.
    """

    tcps: int
    tcp_loss: float
    floods: int
    load: float
    tags: int | None
    share: float
    total_share: float
    tcp_share: float
    loss: float
    of_fair_share: float


def echo(*, tcps: int, loss: float, load: float, floods: int = 1, tags: int | None = None) -> Echo:
    """ECHO's equilibrium, which ``docs/echo.md`` derives.

    Args:
        tcps: Number of TCP flows.
        loss: The part of TCP's packets that is dropped, 0 to less than 1.
        load: The sending rate of each unresponsive flow as a part of the link's rate.
        floods: Number of unresponsive flows.
        tags: The number of tags of the sample, which measure rates with noise; without noise when it is not given.
    """
    given = {} if tags is None else {"tags": tags}
    return Echo(**_ask("echo", tcps=tcps, loss=loss, floods=floods, load=load, **given))


@dataclass(frozen=True)
class EchoLoop:
    """The control loop of ECHO at a round trip and a number of TCP flows.

    All but the first two are ``None`` where windows have less than two packets, where the model does not hold.

    Attributes:
        rtt: The round-trip time without the queue in seconds.
        tcps: Number of TCP flows.
        window: The window of each in packets.
        tcp_loss: The part of their packets that is dropped.
        gain: By how much that part falls for a relative rise of the fair share.
        phase_margin_degrees: The phase margin in degrees, negative if the loop is unstable.
        gain_margin_db: The gain margin in decibels; ``None`` also if no gain makes the loop unstable.
        crossover: The frequency of the phase margin in radians a second.
        stable: True if the loop is stable.
    """

    rtt: float
    tcps: int
    window: float | None = None
    tcp_loss: float | None = None
    gain: float | None = None
    phase_margin_degrees: float | None = None
    gain_margin_db: float | None = None
    crossover: float | None = None
    stable: bool | None = None


@dataclass(frozen=True)
class EchoStability:
    """The control loop of ECHO over round trips and numbers of TCP flows.

    Attributes:
        rate: The rate of the link in packets a second.
        floods: Number of unresponsive flows.
        load: The sending rate of each, as a part of the link's rate.
        tags: The number of tags of the sample; ``None`` for rates without noise.
        target: The target of the delay in seconds.
        points: The loops, for each round trip one of each number of TCP flows.
    """

    rate: float
    floods: int
    load: float
    tags: int | None
    target: float
    points: tuple[EchoLoop, ...]


def echo_stability(  # noqa: PLR0913 - four have defaults
    *,
    rate: float,
    rtt: Iterable[float],
    tcps: Iterable[int],
    floods: int = 0,
    load: float = 1.0,
    tags: int | None = None,
    target: float = 0.01,
) -> EchoStability:
    """The gain and phase margins of ECHO's control loop, linearised as ``docs/echo.md`` says.

    Args:
        rate: The rate of the link in packets a second.
        rtt: Round-trip times without the queue, in seconds.
        tcps: Numbers of TCP flows.
        floods: Number of unresponsive flows.
        load: The sending rate of each unresponsive flow as a part of the link's rate.
        tags: The number of tags of the sample, which measure rates with noise; without noise when it is not given.
        target: The target of the delay in seconds.
    """
    given = {} if tags is None else {"tags": tags}
    answer = _ask("echo-stability", rate=rate, rtt=rtt, tcps=tcps, floods=floods, load=load, target=target, **given)
    return EchoStability(**{**answer, "points": tuple(EchoLoop(**point) for point in answer["points"])})


@dataclass(frozen=True)
class Tcp:
    """The throughput of a long TCP flow, in packets per second, by four models.

    Attributes:
        loss: The probability that a packet is lost.
        rtt: The round-trip time in seconds.
        timeout: The retransmission timeout in seconds.
        acked: The packets that an acknowledgement covers.
        window: The largest window in packets; ``None`` when there is no limit.
        full: The rate in packets a second by the full model of Padhye and others.
        full_window: Packets in a round trip by the full model.
        approximate: The rate in packets a second by the approximate model of Padhye and others, equation 30.
        square_root: The square root law, without timeouts and largest window.
        tfrc: TFRC's equation, without largest window.
    """

    loss: float
    rtt: float
    timeout: float
    acked: float
    window: float | None
    full: float
    full_window: float
    approximate: float
    square_root: float
    tfrc: float


def tcp(
    *, loss: float, rtt: float, timeout: float | None = None, acked: float = 1.0, window: float | None = None
) -> Tcp:
    """The throughput of TCP (Padhye, Firoiu, Towsley, Kurose 1998; Mathis, Semke, Mahdavi, Ott 1997; RFC 5348).

    Args:
        loss: The probability that a packet is lost, above 0 and below 1.
        rtt: The round-trip time in seconds.
        timeout: The retransmission timeout in seconds; four round trips when it is not given.
        acked: The packets that an acknowledgement covers: 2 with delayed acknowledgements that the sender counts.
        window: The largest window in packets; no limit when it is not given.
    """
    given = {name: value for name, value in (("timeout", timeout), ("window", window)) if value is not None}
    return Tcp(**_ask("tcp", loss=loss, rtt=rtt, acked=acked, **given))


def _ask(model: str, **question: object) -> dict[str, Any]:
    asked = {name: _number(name, native(value)) for name, value in question.items()}
    answer: dict[str, Any] = json.loads(_core.theory(json.dumps({"model": model, **asked})))
    del answer["model"]
    return answer


def _number(name: str, value: object) -> object:
    """A number, several numbers or text; values that JSON cannot express are refused here."""
    if isinstance(value, (int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, float):
        raise ArgumentError(f"{name}: {value} is out of range; give a finite number")
    if isinstance(value, Iterable):
        return [_number(name, native(part)) for part in value]
    raise TypeError(f"{name}: expected a number, not a {type(value).__name__}")
