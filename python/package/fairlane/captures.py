"""Replay of captured packets through a queue."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Literal

from fairlane import _core
from fairlane._progress import Progress, shown
from fairlane._values import cores, count, instance, text
from fairlane.config import QueueConfig
from fairlane.errors import Interrupted
from fairlane.outcome import Outcome, Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["replay"]

# What is one flow.
FlowsBy = Literal["five-tuple", "address-pair", "source-address", "destination-address"]


def replay(  # noqa: PLR0913 - all have defaults but two
    capture: str | os.PathLike[str],
    queues: QueueConfig | Sequence[QueueConfig],
    *,
    rate: str,
    seed: int = 1,
    flows: FlowsBy = "five-tuple",
    jobs: int | None = None,
    progress: Progress = None,
) -> Outcomes:
    """Sends the packets of a capture through queues, and measures drops and delays.

    The packets arrive at their captured times, and their senders do not react to drops. ``docs/replay.md`` explains
    what that can and cannot show.

    Args:
        capture: A file of the form pcap or pcapng, also compressed by gzip.
        queues: One discipline, or several.
        rate: The rate of the link that they feed, such as ``10mbit``.
        seed: The seed of all randomness.
        flows: The packets that are one flow: those with the same addresses, protocol and ports, the same two addresses,
            or the same address of one end.
        jobs: How many cores to use; all of them when it is not given.
        progress: True to show a bar, or a function that is called with the number of finished queues and of all.

    Returns:
        An outcome for each queue, in order.

    Raises:
        TypeError: A discipline is not one of the library's classes.
        ValueError: ``flows`` has another value.
        ScenarioError: The capture cannot be read, or a discipline cannot be built.
        Interrupted: Ctrl-C; it has the outcomes measured until then.
    """
    threads = cores(jobs)
    text("rate", rate, "10mbit")
    count("seed", seed, least=0, most=2**64 - 1)
    several = [queues] if isinstance(queues, QueueConfig) else list(queues)
    for queue in several:
        if not isinstance(instance(queue), QueueConfig):
            raise TypeError(f"queues: a discipline is one such as fairlane.Choke(), not a {type(queue).__name__}")
    given = [queue._as_given() for queue in several]  # noqa: SLF001 - it is made for this
    with shown(progress, len(several)) as tell:
        done, interrupted, late = _core.replay(os.fsdecode(capture), given, (rate, seed, flows), threads, tell)
    outcomes = Outcomes(Outcome(outcome) for outcome in done)
    if interrupted:
        raise Interrupted(f"interrupted: {len(outcomes)} of {len(several)} queues were begun", outcomes)
    if late:
        warnings.warn(f"{late} packets are earlier than the one before: each comes together with it", stacklevel=2)
    return outcomes
