"""The search for a discipline and its parameters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fairlane import _core, disciplines
from fairlane._progress import Progress, shown
from fairlane._values import cores, count, with_unit
from fairlane.errors import Interrupted
from fairlane.outcome import Outcomes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable
    from pathlib import Path
    from typing import overload

    from fairlane.config import QueueConfig
    from fairlane.scenario import Scenario

__all__ = ["Advice", "Tuning", "advise"]


class Tuning:
    """The result of a search for the parameters of a discipline: :meth:`fairlane.Scenario.tune`. It can be pickled."""

    __slots__ = ("_tree",)

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    @property
    def queue(self) -> QueueConfig:
        """The discipline with the parameters to use: those that were found, or the defaults."""
        return _queue(self._tree["kind"], self._tree["parameters"])

    @property
    def verdict(self) -> str:
        """The comparison with the defaults on the held-out seed: ``better``, ``tie`` or ``worse``."""
        return str(self._tree["verdict"])

    @property
    def scenario(self) -> Scenario:
        """The scenario with :attr:`queue`."""
        from fairlane.scenario import Scenario

        return Scenario.from_toml(self._tree["toml"])

    def to_dict(self) -> dict[str, Any]:
        """The whole result, the JSON of ``fairlane tune --json``."""
        return json.loads(json.dumps(self._tree))  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return self._tree == other._tree if isinstance(other, Tuning) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # equal results are not the same object

    def __repr__(self) -> str:
        return f"<Tuning for {self._tree['goal']!r}: {self.queue!r}, {self.verdict} than the defaults>".replace(
            "tie than", "not better than"
        )


class Advice:
    """The disciplines for a link, ranked: :func:`fairlane.advise`. It can be pickled."""

    __slots__ = ("_tree",)

    def __init__(self, tree: dict[str, Any]) -> None:
        self._tree = tree

    @property
    def queue(self) -> QueueConfig:
        """The best discipline with its parameters."""
        return self.ranking[0]

    @property
    def answer(self) -> tuple[str, ...]:
        """The answer in sentences: what to use, why not the runner-up, and what will go wrong when."""
        return tuple(self._tree["answer"])

    @property
    def tc(self) -> str | None:
        """The commands for Linux with the best discipline; ``None`` if the kernel has no such one."""
        tc = self._tree["tc"]
        return None if tc is None else str(tc)

    @property
    def partial(self) -> bool:
        """True if the time was over before all candidates were judged."""
        return bool(self._tree["partial"])

    @property
    def ranking(self) -> tuple[QueueConfig, ...]:
        """All disciplines with their parameters, the best first."""
        return tuple(_queue(row["kind"], row["parameters"]) for row in self._tree["ranking"])

    @property
    def met(self) -> bool:
        """True if the best discipline meets all bounds of the goal."""
        return bool(self._tree["ranking"][0]["met"])

    @property
    def scenario(self) -> Scenario:
        """The link with its traffic and the best discipline."""
        from fairlane.scenario import Scenario

        return Scenario.from_toml(self._tree["scenario"])

    @property
    def router(self) -> str:
        """The file of a router with the best discipline, for ``fairlane router --config``."""
        return str(self._tree["router"])

    def to_dict(self) -> dict[str, Any]:
        """The whole advice, the JSON of ``fairlane advise --json``, with the cases that were not searched."""
        return json.loads(json.dumps(self._tree))  # type: ignore[no-any-return]

    if TYPE_CHECKING:

        @overload
        def html(self, path: None = None) -> str: ...
        @overload
        def html(self, path: str | os.PathLike[str]) -> Path: ...

    def html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Returns a self-contained page of the advice as text; with a path, writes it there and returns the path.

        Args:
            path: The file of the page; text is returned when it is not given.

        Raises:
            OSError: It cannot be written.
        """
        from fairlane._files import text_or_file

        text = _core.advice_page(json.dumps(self._tree), "from Python")
        return text_or_file(text, path)

    def __eq__(self, other: object) -> bool:
        return self._tree == other._tree if isinstance(other, Advice) else NotImplemented

    __hash__ = None  # type: ignore[assignment] # equal results are not the same object

    def __repr__(self) -> str:
        met = "meets" if self.met else "misses"
        return f"<Advice for {self._tree['rate']} and {self._tree['rtt']}: {self.queue!r} {met} {self._tree['goal']!r}>"


def advise(  # noqa: PLR0913 - all have defaults but three
    rate: str | float,
    rtt: str | float,
    goal: str,
    *,
    mix: str = "8 cubic, 2 web",
    on: str = "linux",
    no_flow_state: bool = False,
    kinds: Iterable[str] = (),
    time: str | float = "60s",
    seed: int = 1,
    jobs: int | None = None,
    progress: Progress = None,
) -> Advice:
    """Recommends a discipline for a link, its traffic and a goal, as ``fairlane advise`` does.

    The disciplines that meet the goal also run with other seeds, links, numbers of flows and a flood.

    Args:
        rate: The rate of the link, such as ``20mbit``, or a number in bit/s.
        rtt: The round trip without queues, such as ``40ms``, or a number in seconds.
        goal: Bounds on metrics and an objective, such as ``"delay.p95<20ms, utilisation>0.95, maximise jain"``.
        mix: The traffic: groups such as ``"web, 8 cubic, 1 udp 2x"``.
        on: The place: ``linux``, ``router``, ``simulator`` or ``silicon``.
        no_flow_state: Leaves out disciplines that keep state of flows.
        kinds: The names of the disciplines; by default those of the place.
        time: Time for all of it, such as ``60s``, or a number in seconds; then, or after Ctrl-C, the answer is partial.
        seed: The seed of all random numbers, 0 to 2**63 - 1.
        jobs: How many cores to use; all of them when it is not given.
        progress: True to show a bar, or a function that is called with the number of finished runs and of all.

    Raises:
        ScenarioError: A value is not valid, the goal or the mix is wrong, or no discipline is left.
        Interrupted: Ctrl-C before a candidate was judged.
    """
    asked = {
        "rate": with_unit("rate", rate, "rate"),
        "rtt": with_unit("rtt", rtt, "time"),
        "goal": goal,
        "mix": mix,
        "on": on,
        "no_flow_state": bool(no_flow_state),
        "kinds": list(kinds),
        "time": with_unit("time", time, "time"),
        "seed": count("seed", seed, least=0, most=2**63 - 1),
        "threads": cores(jobs),
    }
    with shown(progress, 1) as tell:
        done = _core.advise({**asked, "progress": tell})
    return Advice(_whole(done))


def tuned(  # noqa: PLR0913 - those of Scenario.tune
    document: _core.Document,
    queue: str,
    goal: str,
    *,
    runs: int,
    budget: int,
    jobs: int | None,
    progress: Progress,
) -> Tuning:
    """Searches for :meth:`fairlane.Scenario.tune`."""
    asked = {
        "kind": queue,
        "goal": goal,
        "runs": count("runs", runs),
        "budget": count("budget", budget),
        "threads": cores(jobs),
    }
    with shown(progress, 1) as tell:
        done = _core.tune(document, {**asked, "progress": tell})
    return Tuning(_whole(done))


def _whole(done: str | None) -> dict[str, Any]:
    if done is None:
        raise Interrupted("interrupted: a search has no part of an answer", Outcomes([]))
    return json.loads(done)  # type: ignore[no-any-return]


def _queue(kind: str, parameters: list[list[str]]) -> QueueConfig:
    """The discipline of this kind with parameters as text."""
    made = next(made for made in disciplines.ALL if made.kind == kind)
    given: dict[str, Any] = {key: _typed(value) for key, value in parameters}
    return made(**given)


def _typed(text: str) -> str | float:
    """A plain number, or the text of a value with a unit."""
    try:
        number = float(text)
    except ValueError:
        return text
    return int(text) if text.isdigit() else number
