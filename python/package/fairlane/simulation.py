"""Simulations that advance in steps, for control loops and other simulators."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fairlane import _core, _runs
from fairlane._values import changes_of, instance
from fairlane.config import QueueConfig
from fairlane.outcome import Outcome
from fairlane.queue import Count
from fairlane.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, NoReturn

    from fairlane.application import OwnApplication
    from fairlane.congestion import OwnCongestion
    from fairlane.discipline import SomeDiscipline
    from fairlane.endpoint import OwnEndpoints

__all__ = ["FlowState", "QueueState", "Simulation"]


class QueueState(NamedTuple):
    """A queue at the time of a simulation, and its counts in the last step.

    Attributes:
        packets: Packets in the queue.
        bytes: Bytes in the queue.
        average: The average queue that controls the discipline, in its own unit; ``None`` without one.
        probability: The current probability of a signal, 0 to 1; ``None`` for disciplines without a single one.
        rate_bps: The rate at which the queue is emptied, in bit/s: that of the link, or of its shaper.
        arrived: Packets and bytes that were offered to the queue in the last step.
        departed: Packets and bytes that were given to the link in the last step.
        dropped: Packets and bytes that were dropped in the last step, for any reason.
        marked: Packets and bytes that were marked in the last step.
    """

    packets: int
    bytes: int
    average: float | None
    probability: float | None
    rate_bps: float
    arrived: Count
    departed: Count
    dropped: Count
    marked: Count

    @property
    def delay_s(self) -> float:
        """The time in seconds that the link needs for the bytes in the queue at its present rate."""
        if self.bytes == 0:
            return 0.0
        return 8 * self.bytes / self.rate_bps if self.rate_bps > 0 else float("inf")


class FlowState(NamedTuple):
    """A flow at the time of a simulation, and its counts in the last step.

    Attributes:
        cwnd: TCP's congestion window in packets; ``None`` for other flows.
        srtt_s: TCP's smoothed round-trip time in seconds; ``None`` before the first measurement, and for other flows.
        sent: Data packets that were sent in the last step, retransmissions included.
        delivered: Data packets that reached the receiver in the last step.
        delivered_bytes: The bytes on the wire of those packets.
        unique_bytes: Those of the bytes that the receiver had not had before.
        dropped: Data packets that queues dropped in the last step.
        lost: Data packets that were lost on a wire in the last step.
        retransmitted: Data packets that were sent again in the last step.
        timeouts: TCP's retransmission timeouts in the last step.
    """

    cwnd: float | None
    srtt_s: float | None
    sent: int
    delivered: int
    delivered_bytes: int
    unique_bytes: int
    dropped: int
    lost: int
    retransmitted: int
    timeouts: int


class Simulation:
    """A run of a scenario that advances in steps, can be read, and can be changed on the way.

    :meth:`Scenario.start` makes one. However it is cut into steps, its outcome is that of :meth:`Scenario.run` with the
    same seed, bit by bit, as long as nothing is changed.

    Its values have the keys of the scenario. ``simulation["bottleneck.rate"] = "5mbit"`` holds from then on. These can
    change while it runs: the rates of links, of TFRC, and of UDP sources that have one, and the queues of links.

    A simulation cannot be copied or pickled; start another one with the same seed. After an exception of a part
    written in Python it has ended, and everything but :attr:`end` and the scenario raises a :class:`StateError`.
    """

    __slots__ = ("_core", "_document", "_flows", "_queues")

    def __init__(  # noqa: PLR0913 - all but one have defaults
        self,
        scenario: Scenario,
        *,
        seed: int | None = None,
        queue: SomeDiscipline | None = None,
        cc: Mapping[str, OwnCongestion] | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
    ) -> None:
        """Starts ``scenario`` with the number ``seed``, and ``queue``, ``cc``, ``applications`` and ``endpoints``.

        All are those of :meth:`Scenario.start`.

        Raises:
            TypeError: ``scenario`` is not a scenario, ``queue`` not a discipline, or another one of another type.
            ScenarioError: It cannot be run.
        """
        if not isinstance(scenario, Scenario):
            raise TypeError(f"a simulation is one of a fairlane.Scenario, and not of a {type(scenario).__name__}")
        document = scenario._document if seed is None else scenario.with_({"seed": seed})._document  # noqa: SLF001
        own = None
        if isinstance(instance(queue), (str, QueueConfig)):
            document = _runs.with_queue(document, queue)  # type: ignore[arg-type] # it is one of the library's
        elif callable(queue):
            own = _runs.factory(queue)
        elif queue is not None:
            what = type(queue).__name__
            raise TypeError(f"a discipline is a name, one such as fairlane.Choke(), or a class, not a {what}")
        brought = _runs.Brought(cc, applications, endpoints)
        self._core = _core.Simulation.start(document, own, brought.makers())
        self._document = document
        self._queues = document.reported()
        self._flows: dict[str, int] = {}

    @property
    def now(self) -> float:
        """The time of the simulation in seconds, from 0 at the start."""
        return self._core.now

    @property
    def end(self) -> float:
        """The end of the scenario in seconds: its duration."""
        return self._core.end

    @property
    def scenario(self) -> Scenario:
        """A copy of the scenario with all changes so far."""
        return Scenario(self._document)

    def step(self, until: str | float) -> None:
        """Handles everything that happens before ``until``.

        Args:
            until: A time of the simulation: text with a unit such as ``1s``, or a number of seconds.

        Raises:
            ArgumentError: The time is in the past, or after the end of the scenario.
            KeyboardInterrupt: Ctrl-C; the simulation is somewhere before ``until``, and another step continues.
        """
        self._core.step(until)

    @property
    def queues(self) -> dict[str, QueueState]:
        """The queues that outcomes report, by their names, with their counts in the last step."""
        return {name: self._queue(index) for index, name in enumerate(self._queues)}

    def queue(self, name: str = "bottleneck") -> QueueState:
        """Returns the state of the queue ``name``, with its counts in the last step.

        Raises:
            KeyError: There is no such queue.
        """
        if name not in self._queues:
            raise KeyError(f"outcomes have no queue {name!r}; there are {', '.join(self._queues)}")
        return self._queue(self._queues.index(name))

    def _queue(self, index: int) -> QueueState:
        backlog, average, probability, rate_bps, counts = self._core.queue(index)
        arrived, departed, dropped, marked = (Count(*each) for each in counts)
        return QueueState(*backlog, average, probability, rate_bps, arrived, departed, dropped, marked)

    @property
    def flows(self) -> dict[str, FlowState]:
        """All flows by their names, such as ``ftp/0``, with their counts in the last step."""
        return {name: self._flow(number) for name, number in self._numbers().items()}

    def flow(self, name: str) -> FlowState:
        """Returns the state of the flow ``name``, such as ``ftp/0``, with its counts in the last step.

        Raises:
            KeyError: There is no such flow.
        """
        number = self._numbers().get(name)
        if number is None:
            raise KeyError(f"there is no flow {name!r}: the flows of a group are numbered, such as ftp/0")
        return self._flow(number)

    def _flow(self, number: int) -> FlowState:
        cwnd, srtt_s, counts = self._core.flow(number)
        return FlowState(cwnd, srtt_s, *counts)

    def _numbers(self) -> dict[str, int]:
        if not self._flows:
            self._flows = {name: number for number, name in enumerate(self._document.flow_names())}
        return self._flows

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - values are of many types
        """The present value of a key of the scenario, such as ``bottleneck.rate``, as it was given.

        Raises:
            KeyError: The key was not given, so its default is used.
        """
        return self.scenario[key]

    def __setitem__(self, key: str, value: object) -> None:
        """Changes the value of a key from now on; see :meth:`update`.

        Raises:
            ScenarioError: The value is not valid, or cannot change while it runs; nothing has changed.
        """
        self.update({key: value})

    __iter__ = None
    """Its keys are paths, as those of a scenario."""

    def update(self, changes: Mapping[str, Any]) -> None:
        """Changes the values of several keys from now on: ``changes`` has the keys with their new values.

        A link's rate holds from its next packet, a source's from the packet after the next one. Where a parameter of a
        queue changes, a new discipline takes the packets that arrive, and those in the queue leave first, as when
        ``fairlane router`` reloads its configuration: averages and probabilities start again. Where only the link's
        rate changes, the discipline keeps its state. To act on a discipline without a new start, write it in Python and
        change the object itself.

        Raises:
            ScenarioError: A value is not valid, or cannot change while it runs; nothing has changed.
            TypeError: A value is of a type that no key takes.
            ArgumentError: The simulation has ended.
        """
        document = self._document.with_values(changes_of(changes))
        self._core.change(document)
        self._document = document

    def outcome(self) -> Outcome:
        """Runs what is left of the scenario, and returns the outcome.

        The outcome has no course over time for the figures of its page, and after a change no fair rates. Later calls
        return the same.

        Raises:
            KeyboardInterrupt: Ctrl-C; another call continues.
        """
        return Outcome(self._core.outcome(), self._document.to_toml())

    def __repr__(self) -> str:
        return f"<Simulation of {self._document.title()!r}: {self.now:g} of {self.end:g} s>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a simulation cannot be copied or pickled: start another one with the same seed")
