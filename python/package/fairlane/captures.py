"""Replay of captured packets through a queue."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Literal

from fairlane import _core
from fairlane._labels import labelled
from fairlane._progress import Progress, shown
from fairlane._runs import factory
from fairlane._runs import labelled as named
from fairlane._signals import CtrlC
from fairlane._values import cores, count, with_unit
from fairlane.config import QueueConfig, by_name
from fairlane.errors import Interrupted, MissingFileError
from fairlane.outcome import Outcome, Outcomes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from fairlane.discipline import SomeDiscipline

__all__ = ["replay"]

# What is one flow.
FlowsBy = Literal["five-tuple", "inner", "address-pair", "source-address", "destination-address"]


def replay(  # noqa: PLR0913 - all have defaults but two
    capture: str | os.PathLike[str],
    queues: SomeDiscipline | Mapping[str, SomeDiscipline] | Iterable[SomeDiscipline],
    *,
    rate: str | float,
    seed: int = 1,
    flows: FlowsBy = "five-tuple",
    source: str | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> Outcomes:
    """Sends the packets of a capture through queues, and measures drops and delays.

    The packets arrive at their captured times, and their senders do not react to drops. ``docs/replay.md`` explains
    what that can and cannot show.

    Args:
        capture: A file of the form pcap or pcapng, also compressed by gzip.
        queues: One discipline, or several, or a mapping of labels to them, as in :meth:`fairlane.Scenario.compare`. A
            name has its defaults. Those written in Python take turns on one core.
        rate: The rate of the link that they feed, such as ``10mbit``, or a number in bit/s.
        seed: The seed of all randomness, 0 to 2**63 - 1.
        flows: The packets that are one flow: ``five-tuple`` for those with the same addresses, protocol and ports,
            ``inner`` for the same of the inner headers of tunnels, ``address-pair`` for the same two addresses,
            ``source-address`` and ``destination-address`` for the same address of one end.
        source: The network whose packets are sent, such as ``10.0.0.0/8``: one direction of a capture that has both.
            All packets are sent when it is not given.
        jobs: How many cores to use; all of them when it is not given.
        progress: True to show a bar, or a function that is called with the number of finished queues and of all.

    Returns:
        An outcome for each queue, in order.

    Raises:
        TypeError: A discipline is none.
        ArgumentError: ``flows`` has another value, or ``source`` is no network.
        ScenarioError: The capture cannot be read, or a discipline cannot be built.
        MissingFileError: There is no such capture.
        Interrupted: Ctrl-C; it has the outcomes measured until then.
    """
    threads = cores(jobs)
    link = with_unit("rate", rate, "rate"), count("seed", seed, least=0, most=2**63 - 1), flows, source
    alone = isinstance(queues, (str, QueueConfig)) or callable(queues)
    several, labels = labelled([queues] if alone else queues)  # type: ignore[arg-type, list-item] # checked below
    several = [by_name(queue) for queue in several]
    for queue in several:
        if not (isinstance(queue, QueueConfig) or callable(queue)):
            raise TypeError(f"queues: a discipline is one such as fairlane.Choke(), not a {type(queue).__name__}")
    path = os.fsdecode(capture)
    if not os.path.lexists(path):
        raise MissingFileError(f"{path}: this file does not exist", file=path)
    with shown(progress, len(several)) as tell:
        made, interrupted, late = _all(path, several, link, threads, tell)
    numbers = sorted(made)
    ordered = [made[number] for number in numbers]
    if labels is not None and len(ordered) == len(several):
        ordered, _ = named((ordered, interrupted), several, labels)
    outcomes = Outcomes(Outcome(outcome) for outcome in ordered)
    if interrupted:
        raise Interrupted(f"interrupted: {len(outcomes)} of {len(several)} queues were begun", outcomes)
    if late:
        warnings.warn(f"{late} packets are earlier than the one before: each comes together with it", stacklevel=2)
    return outcomes


def _all(
    path: str,
    queues: list[Any],
    link: tuple[str, int, str, str | None],
    threads: int | None,
    tell: Callable[[int, int], object] | None,
) -> tuple[dict[int, _core.Outcome], bool, int]:
    """The outcomes by their numbers: first those of the library's disciplines together, then the others in turn.

    The other values are true after Ctrl-C, and the number of packets that are out of order.
    """
    given = {number: queue._as_given() for number, queue in enumerate(queues) if isinstance(queue, QueueConfig)}  # noqa: SLF001
    made: dict[int, _core.Outcome] = {}
    interrupted, late = False, 0
    if given:
        done, interrupted, late = _core.replay(path, list(given.values()), link, threads, tell)
        made.update(zip(given, done, strict=False))
    for number, queue in enumerate(queues):
        if number in given or interrupted:
            continue
        with CtrlC() as heard:
            own, interrupted, late = _core.replay_custom(path, factory(queue), heard, link)
        if own is not None:
            made[number] = own
        if tell is not None:
            tell(len(made), len(queues))
    return made, interrupted, late
