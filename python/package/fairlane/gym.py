"""Environments of Gymnasium, in which a controller sets the drop probability of a queue, or the window of a TCP flow.

They need Gymnasium (``pip install 'fairlane[gym]'``) and are imported by the module's name, ``import fairlane.gym``.
That also registers them: ``gymnasium.make("fairlane/Queue-v0")`` and ``gymnasium.make("fairlane/Congestion-v0")``.

The disciplines of the library calculate their probability themselves, and a change of their parameters starts them
again. So the queue of :class:`QueueEnv` is :class:`RandomDrop`, whose probability nothing but the controller sets. In
the same way the congestion control of :class:`CongestionEnv` is :class:`Steered`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from fairlane._values import count
from fairlane.congestion import CongestionControl
from fairlane.discipline import Discipline
from fairlane.errors import ArgumentError, StateError
from fairlane.scenario import Scenario, scenario_of

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fairlane._core import Ack, CongestionEvent, DropSink, Packet, Window
    from fairlane.congestion import Connection
    from fairlane.discipline import Host
    from fairlane.simulation import Simulation

__all__ = ["CongestionEnv", "QueueEnv", "RandomDrop", "Steered"]

_LONGEST_S = 1.0
"""The longest delay that an observation distinguishes."""


class RandomDrop(Discipline):
    """A FIFO that drops, or marks, each arriving packet with a probability that is set from outside.

    ECN-capable packets are marked instead of dropped, and then queued.

    Args:
        host: The link that it works on.
        limit: The most packets in the queue; what arrives at a full queue is dropped.

    Attributes:
        probability: The probability of a signal for each arriving packet, 0 to 1; 0 at the start.
    """

    name = "random-drop"

    def __init__(self, host: Host, limit: int = 300) -> None:
        super().__init__(host)
        self.probability = 0.0
        self._limit = count("limit", limit)
        self._packets: deque[Packet] = deque()

    def enqueue(self, now: float, packet: Packet, sink: DropSink) -> None:  # noqa: ARG002 - the time does not matter
        """Queues the packet, unless the queue is full or chance drops it.

        Args:
            now: The time in seconds.
            packet: The packet.
            sink: Is told if it is dropped or marked.
        """
        if len(self._packets) >= self._limit:
            sink.dropped(packet, "limit")
            return
        if self.random.random() < self.probability:
            if not packet.ecn_capable:
                sink.dropped(packet, "early")
                return
            sink.marked(packet, "early")
        self._packets.append(packet)

    def dequeue(self, now: float, sink: DropSink) -> Packet | None:  # noqa: ARG002 - neither matters
        """Returns the packet that came first, or ``None`` if the queue is empty.

        Args:
            now: The time in seconds.
            sink: Is told nothing.
        """
        return self._packets.popleft() if self._packets else None


class _Stepped(gymnasium.Env["NDArray[np.float32]", "NDArray[np.float32]"]):
    """An environment whose steps are those of a simulation."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - declared so by Gymnasium
    scenario: Scenario
    simulation: Simulation | None = None
    _interval_s: float
    _steps = 0

    def _begin(self, at: str, **parts: Any) -> None:  # noqa: ANN401 - the parameters of Scenario.start
        """Starts the simulation of an episode with these parts; the queue ``at`` must be there."""
        self._steps = 0
        self.simulation = self.scenario.start(seed=int(self.np_random.integers(2**53)), **parts)
        self.simulation.queue(at)

    def _running(self, action: NDArray[np.float32], what: str, least: float, most: float) -> tuple[Simulation, float]:
        """Returns the simulation of the episode, and the number that is the action, clipped; ``what`` names it.

        Raises:
            ArgumentError: The action is not a number.
            StateError: The environment was not reset, or the episode is over.
        """
        if self.simulation is None:
            raise StateError("call reset() before the first step()")
        if self.simulation.now >= self.simulation.end:
            raise StateError("the episode is over: call reset()")
        number = float(np.clip(np.asarray(action, np.float64).reshape(-1)[0], least, most))
        if np.isnan(number):
            raise ArgumentError(f"action: nan is not a {what}")
        return self.simulation, number

    def _advance(self, simulation: Simulation) -> float:
        """Lets the interval pass; returns the seconds that did."""
        began = simulation.now
        self._steps += 1
        simulation.step(min(self._steps * self._interval_s, simulation.end))
        return simulation.now - began

    def close(self) -> None:
        """Drops the simulation of the present episode."""
        self.simulation = None


class QueueEnv(_Stepped):
    """A scenario whose queue drops, or marks, with the probability that the controller chooses at each step.

    The action is that probability, an array of one number from 0 to ``most``.

    The observation is an array of four numbers: the delay that the queue has at present, in seconds, at most 1; the
    share of the link that the last step used, 0 to 1; the share of the packets arriving in it that was dropped or
    marked, 0 to 1; and the probability that the controller chose for it.

    The reward of a step is the power of the queue (Kleinrock 1979: throughput over response time), relative to that of
    a full link without a queue: the share of the link that was used, times ``rtt_s`` over ``rtt_s`` plus the queue's
    delay. It is from 0 to 1.

    An episode is the whole scenario; at its end ``truncated`` is true. The seed of :meth:`reset` decides all random
    numbers, so the same seed and actions give the same episode on every platform.

    Args:
        scenario: The scenario, or its file or name, which describes a queue; by default eight flows of CUBIC share
            10 Mbit/s for 20 s, with a round-trip time of 40 ms.
        interval_s: The time between two actions in seconds, above 0.
        rtt_s: The round-trip time without a queue in seconds, above 0: a queue as long halves the reward.
        most: The largest probability, above 0 and at most 1.
        limit: The most packets in the queue.
        at: The name of the queue that is observed. If the scenario describes several, all use the same probability.

    Attributes:
        metadata: What Gymnasium asks of every environment: this one draws no pictures.
        scenario: The scenario, with the seed of the file.
        simulation: The simulation of the present episode; ``None`` before the first :meth:`reset`. Its ``outcome()``
            gives all numbers of a finished episode.

    Raises:
        ArgumentError: A value is out of its range, or there is no such queue.
        ScenarioError: The scenario describes no queue; raised by :meth:`reset`.
    """

    def __init__(  # noqa: PLR0913 - all have defaults
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        *,
        interval_s: float = 0.1,
        rtt_s: float = 0.04,
        most: float = 0.25,
        limit: int = 300,
        at: str = "bottleneck",
    ) -> None:
        for name, value, bound in (("interval_s", interval_s, np.inf), ("rtt_s", rtt_s, np.inf), ("most", most, 1.0)):
            if not 0 < value <= bound:
                raise ArgumentError(
                    f"{name}: {value} is out of range: it must be above 0" + " and at most 1" * (bound == 1)
                )
        self.scenario = _usual() if scenario is None else scenario_of(scenario).copy()
        self.observation_space = gymnasium.spaces.Box(
            np.zeros(4, np.float32), np.array([_LONGEST_S, 1, 1, most], np.float32)
        )
        self.action_space = gymnasium.spaces.Box(0, most, (1,), np.float32)
        self._interval_s, self._rtt_s, self._most = float(interval_s), float(rtt_s), float(most)
        self._limit = count("limit", limit)
        self._at = at
        self._disciplines: list[RandomDrop] = []

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: The seed of all random numbers, 0 or more; without one, the next of the environment's own.
            options: Not used.

        Returns:
            The observation, and a dict with ``time_s``, the time in seconds.

        Raises:
            ScenarioError: The scenario describes no queue, or cannot be run.
            KeyError: There is no queue of the name ``at``.
        """
        super().reset(seed=seed, options=None if options is None else dict(options))
        self._disciplines = []

        def made(host: Host) -> RandomDrop:
            self._disciplines.append(RandomDrop(host, self._limit))
            return self._disciplines[-1]

        self._begin(self._at, queue=made)
        return np.zeros(4, np.float32), {"time_s": 0.0}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Sets the probability and lets the interval pass.

        Args:
            action: An array of one number, the probability; numbers out of range are clipped.

        Returns:
            The observation; the reward; false, since no episode ends before its time; true at the end of the scenario;
            and a dict with ``time_s``, the time in seconds.

        Raises:
            ArgumentError: The action is not a number.
            StateError: The environment was not reset, or the episode is over.
        """
        simulation, probability = self._running(action, "probability", 0.0, self._most)
        for discipline in self._disciplines:
            discipline.probability = probability
        elapsed_s = self._advance(simulation)
        queue = simulation.queue(self._at)
        used = min(8 * queue.departed.bytes / (queue.rate_bps * elapsed_s), 1.0)
        signals = (queue.dropped.packets + queue.marked.packets) / max(queue.arrived.packets, 1)
        delay = queue.delay_s
        seen = np.array([min(delay, _LONGEST_S), used, min(signals, 1.0), probability], np.float32)
        reward = used * self._rtt_s / (self._rtt_s + delay)
        return seen, reward, False, simulation.now >= simulation.end, {"time_s": simulation.now}


class Steered(CongestionControl):
    """A congestion control whose window, or rate, is set from outside. Neither acknowledgements nor losses change it.

    Args:
        connection: The connection that it works for.
        rate_segments_s: The pacing rate at the start in segments per second; without one the window is steered.

    Attributes:
        window: The congestion window in segments. At the start it is TCP's initial window; with a rate it is the
            receiver's window and does not limit.
        rate_segments_s: The pacing rate in segments per second; ``None`` where the window is steered.
    """

    name = "steered"
    has_model = True
    has_own_slow_start = True

    def __init__(self, connection: Connection, rate_segments_s: float | None = None) -> None:
        super().__init__(connection)
        self.rate_segments_s = rate_segments_s
        self.window = connection.initial_window if rate_segments_s is None else float(connection.receiver_window)

    def grow(self, window: Window, ack: Ack) -> None:
        """Changes nothing.

        Args:
            window: The window.
            ack: The acknowledgement.
        """

    def on_ack(self, window: Window, ack: Ack, in_flight: int, recovering: bool) -> None:  # noqa: ARG002, FBT001
        """Sets the window.

        Args:
            window: The window.
            ack: The acknowledgement.
            in_flight: The number of segments on their way.
            recovering: True in loss recovery.
        """
        window.cwnd = self.window

    def on_congestion(self, window: Window, event: CongestionEvent) -> float:  # noqa: ARG002
        """Returns the present window as the threshold, in segments.

        Args:
            window: The window.
            event: The congestion.
        """
        return window.cwnd

    def pacing_rate(self, window: Window) -> float | None:  # noqa: ARG002
        """Returns the rate in segments per second; ``None`` for that of the window.

        Args:
            window: The window.
        """
        return self.rate_segments_s


class _Maker:
    """Makes the congestion control of each connection, and keeps it; with the round trip for which a rate is set."""

    name = Steered.name

    def __init__(self, rtt_s: float | None) -> None:
        self.rtt_s = rtt_s
        self.paces = rtt_s is not None
        self.all: list[Steered] = []

    def __call__(self, connection: Connection) -> Steered:
        rate = None if self.rtt_s is None else connection.initial_window / self.rtt_s
        self.all.append(Steered(connection, rate))
        return self.all[-1]


class CongestionEnv(_Stepped):
    """A scenario with a TCP flow whose congestion window, or pacing rate, the controller changes at each step.

    The action is an array of one number from -1 to 1: the window, or the rate, is multiplied by 2 to its power, as in
    Orca (Abbasloo et al., SIGCOMM 2020, with a range of -2 to 2). It stays between 2 segments and the receiver's
    window; a rate stays between these in ``rtt_s``.

    The observation is an array of four numbers, all without a unit, so that a controller fits links of any rate: the
    flow's throughput in the last step over the largest of the episode so far, 0 to 1; the smallest round-trip time so
    far over the present one, 0 to 1; the share of the segments sent in the last step that was dropped or lost, 0 to 1;
    and the last action.

    The reward of a step is the power of the flow (Kleinrock 1979: throughput over response time), relative to that of a
    full link without a queue, minus the share that was dropped or lost. It is from -1 to 1.

    An episode is the whole scenario; at its end ``truncated`` is true. The seed of :meth:`reset` decides all random
    numbers, so the same seed and actions give the same episode on every platform.

    Args:
        scenario: The scenario, or its file or name; by default one flow crosses 10 Mbit/s for 20 s, with a round-trip
            time of 40 ms and a queue of 100 packets.
        control: ``window`` or ``rate``.
        group: The name of the group with the flow, which has one flow of TCP.
        interval_s: The time between two actions in seconds, above 0.
        rtt_s: The round-trip time without a queue in seconds, above 0, for the reward.
        at: The name of the queue whose link's rate is that of a full link in the reward.

    Attributes:
        metadata: What Gymnasium asks of every environment: this one draws no pictures.
        scenario: The scenario, with the seed of the file.
        simulation: The simulation of the present episode; ``None`` before the first :meth:`reset`. Its ``outcome()``
            gives all numbers of a finished episode.

    Raises:
        ArgumentError: A value is out of its range, or the group has not one flow.
    """

    def __init__(  # noqa: PLR0913 - all have defaults
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        *,
        control: str = "window",
        group: str = "ftp",
        interval_s: float = 0.1,
        rtt_s: float = 0.04,
        at: str = "bottleneck",
    ) -> None:
        for name, value in (("interval_s", interval_s), ("rtt_s", rtt_s)):
            if not 0 < value < np.inf:
                raise ArgumentError(f"{name}: {value} is out of range: it must be above 0")
        if control not in {"window", "rate"}:
            raise ArgumentError(f"control: {control!r} is neither 'window' nor 'rate'")
        self.scenario = _one() if scenario is None else scenario_of(scenario).copy()
        flows = [name for name in self.scenario._document.flow_names() if name.rpartition("/")[0] == group]  # noqa: SLF001
        if len(flows) != 1:
            raise ArgumentError(f"group: {group!r} has {len(flows)} flows, and one is controlled: set its count to 1")
        self.observation_space = gymnasium.spaces.Box(
            np.array([0, 0, 0, -1], np.float32), np.array([1, 1, 1, 1], np.float32)
        )
        self.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
        self._interval_s, self._rtt_s = float(interval_s), float(rtt_s)
        self._control, self._group, self._flow, self._at = control, group, flows[0], at
        self._steered: list[Steered] = []
        self._least_rtt_s = self._most_bytes_s = 0.0

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Starts an episode.

        Args:
            seed: The seed of all random numbers, 0 or more; without one, the next of the environment's own.
            options: Not used.

        Returns:
            The observation, and a dict with ``time_s``, the time in seconds.

        Raises:
            ScenarioError: The scenario cannot be run, or the group is none of TCP.
            KeyError: There is no queue of the name ``at``.
        """
        super().reset(seed=seed, options=None if options is None else dict(options))
        made = _Maker(self._rtt_s if self._control == "rate" else None)
        self._steered = made.all
        self._least_rtt_s, self._most_bytes_s = np.inf, 0.0
        self._begin(self._at, cc={self._group: made})
        return np.array([0, 1, 0, 0], np.float32), {"time_s": 0.0}

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Changes the window or the rate, and lets the interval pass.

        Args:
            action: An array of one number, the logarithm to base 2 of the factor; numbers out of range are clipped.

        Returns:
            The observation; the reward; false, since no episode ends before its time; true at the end of the scenario;
            and a dict with ``time_s``, the time in seconds, ``window``, the window in segments, ``throughput_bps``, the
            throughput in the step in bit/s, and ``rtt_s``, the smoothed round-trip time in seconds.

        Raises:
            ArgumentError: The action is not a number.
            StateError: The environment was not reset, or the episode is over.
        """
        simulation, power = self._running(action, "number", -1.0, 1.0)
        for steered in self._steered:
            most = float(steered.connection.receiver_window)
            if steered.rate_segments_s is None:
                steered.window = float(np.clip(steered.window * 2**power, 2.0, most))
            else:
                bounds = 2.0 / self._rtt_s, most / self._rtt_s
                steered.rate_segments_s = float(np.clip(steered.rate_segments_s * 2**power, *bounds))
        elapsed_s = self._advance(simulation)
        flow = simulation.flow(self._flow)
        bytes_s = flow.delivered_bytes / elapsed_s
        self._most_bytes_s = max(self._most_bytes_s, bytes_s)
        rtt_s = flow.srtt_s or self._rtt_s
        self._least_rtt_s = min(self._least_rtt_s, rtt_s)
        gone = min((flow.dropped + flow.lost) / max(flow.sent, 1), 1.0)
        seen = np.array([bytes_s / max(self._most_bytes_s, 1.0), self._least_rtt_s / rtt_s, gone, power], np.float32)
        used = min(8 * bytes_s / simulation.queue(self._at).rate_bps, 1.0)
        reward = used * min(self._rtt_s / rtt_s, 1.0) - gone
        told = {"time_s": simulation.now, "window": flow.cwnd, "throughput_bps": 8 * bytes_s, "rtt_s": rtt_s}
        return seen, reward, False, simulation.now >= simulation.end, told


def _usual() -> Scenario:
    return Scenario.dumbbell(
        tcp=8, cc="cubic", rate="10mbit", delay="18ms", duration="20s", queue="droptail", preset="modern"
    )


def _one() -> Scenario:
    queue = {"kind": "droptail", "limit": "100p"}
    flow = {"name": "ftp", "kind": "tcp", "window": 1000, "start": "0s"}
    table = {"rate": "10mbit", "delay": "18ms", "queue": queue}
    return Scenario.from_dict(
        {
            "name": "one flow",
            "duration": "20s",
            "tcp": {"preset": "modern"},
            "bottleneck": table,
            "access": {"rate": "100mbit", "delay": "1ms"},
            "flows": [flow],
        }
    )


gymnasium.register(id="fairlane/Queue-v0", entry_point="fairlane.gym:QueueEnv")
gymnasium.register(id="fairlane/Congestion-v0", entry_point="fairlane.gym:CongestionEnv")
