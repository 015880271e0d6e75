"""The environment of Gymnasium keeps to its rules, and its numbers are those of the simulation."""

import fairlane as fl
import fairlane.gym
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env


def test_it_passes_gymnasiums_own_check() -> None:
    """Warnings are errors here: would catch a space, a type or a seed that Gymnasium does not expect."""
    check_env(gymnasium.make("fairlane/Queue-v0").unwrapped)


def test_an_episode_is_the_same_again_and_another_with_another_seed() -> None:
    def played(seed: int | None, env: fairlane.gym.QueueEnv) -> list[float]:
        env.reset(seed=seed)
        return [env.step(np.array([0.02], np.float32))[1] for _ in range(20)]

    env = fairlane.gym.QueueEnv()
    first = played(7, env)
    assert played(7, fairlane.gym.QueueEnv()) == first
    assert played(8, env) != first
    played(7, env)
    assert played(None, env) != first


def test_its_numbers_are_those_of_the_link() -> None:
    """A flood of 2 Mbit/s at 1 Mbit/s: packets of 1000 bytes, 8 ms each. The closed forms of its steady state.

    Would catch an action without an effect, counts of another interval, and a reward that is not Kleinrock's power.
    """
    flood = fl.Scenario.dumbbell(udp="2mbit", rate="1mbit", duration="10s", queue="droptail", access_rate="100mbit")
    env = fairlane.gym.QueueEnv(flood, interval_s=1.0, rtt_s=0.2, most=1.0, limit=25)
    env.reset(seed=1)
    # A full queue of 25 packets: 0.2 s, as the round-trip time, so half the power; half of the packets are lost.
    for _ in range(2):
        seen, reward, terminated, truncated, info = env.step(np.array([0.0]))
    assert seen == pytest.approx([0.2, 1.0, 0.5, 0.0], abs=0.01)
    assert reward == pytest.approx(0.5, abs=0.01)
    assert (terminated, truncated, info) == (False, False, {"time_s": 2.0})
    # Of 250 packets a second chance drops 80 %: the link is used at 40 %, and no queue stays.
    for _ in range(2):
        seen, reward, *_ = env.step(np.array([0.8]))
    assert seen[1:] == pytest.approx([0.4, 0.8, 0.8], abs=0.08)
    assert seen[0] <= 0.016
    assert reward == pytest.approx(seen[1] * 0.2 / (0.2 + seen[0]))
    # Everything is dropped, and a number beyond the range is clipped to it.
    for _ in range(2):
        seen, reward, *_ = env.step(np.array([7.0]))
    assert seen.tolist() == [0.0, 0.0, 1.0, 1.0]
    assert reward == 0.0


def test_it_marks_what_can_be_marked() -> None:
    ecn = {"name": "ecn", "kind": "udp", "rate": "500kbit", "ecn": True}
    scenario = fl.Scenario.dumbbell(rate="1mbit", duration="4s", queue="droptail", flows=[ecn])
    env = fairlane.gym.QueueEnv(scenario, interval_s=2.0, most=1.0)
    env.reset(seed=1)
    seen, *_ = env.step(np.array([1.0]))
    assert env.simulation is not None
    queue = env.simulation.queue()
    assert (queue.dropped.packets, queue.marked.packets) == (0, queue.arrived.packets)
    assert seen[2] == 1.0


def test_an_episode_ends_with_the_scenario() -> None:
    scenario = fl.Scenario.dumbbell(tcp=1, rate="1mbit", duration="1s", queue="droptail")
    env = fairlane.gym.QueueEnv(scenario, interval_s=0.3)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before"):
        env.step(np.array([0.0]))
    env.reset(seed=1)
    ends = [env.step(np.array([0.0]))[3] for _ in range(4)]
    assert ends == [False, False, False, True]
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step(np.array([0.0]))
    env.reset()
    assert env.simulation is not None
    assert env.simulation.now == 0.0
    env.close()


def test_what_cannot_be_is_refused() -> None:
    for wrong, words in (
        ({"interval_s": 0.0}, "interval_s: 0.0 is out of range: it must be above 0$"),
        ({"rtt_s": -1.0}, "rtt_s: -1.0 is out of range"),
        ({"most": 1.5}, "most: 1.5 is out of range: it must be above 0 and at most 1"),
        ({"limit": 0}, "limit: 0 is out of range"),
    ):
        with pytest.raises(ValueError, match=words):
            fairlane.gym.QueueEnv(**wrong)
    with pytest.raises(KeyError, match="there is no queue 'x'"):
        fairlane.gym.QueueEnv(at="x").reset()
    env = fairlane.gym.QueueEnv()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action: nan is not a probability"):
        env.step(np.array([np.nan]))
