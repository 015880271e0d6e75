"""The environments of Gymnasium keep to its rules, and their numbers are those of the simulation."""

import runpy
from pathlib import Path

import fairlane as fl
import fairlane.gym
import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

ROOT = Path(__file__).parents[2]


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
    with pytest.raises(KeyError, match="outcomes have no queue 'x'"):
        fairlane.gym.QueueEnv(at="x").reset()
    env = fairlane.gym.QueueEnv()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action: nan is not a probability"):
        env.step(np.array([np.nan]))


def test_the_other_passes_gymnasiums_own_check() -> None:
    """Warnings are errors here: would catch a space, a type or a seed that Gymnasium does not expect."""
    check_env(gymnasium.make("fairlane/Congestion-v0").unwrapped)
    check_env(gymnasium.make("fairlane/Congestion-v0", control="rate").unwrapped)


def after(env: fairlane.gym.CongestionEnv, *powers: float) -> tuple[float, dict[str, float]]:
    """The means of 60 steps that begin with these actions and 10 others: the rewards, and what is told."""
    env.reset(seed=1)
    rewards, tellings = [], []
    for power in (*powers, *(70 - len(powers)) * [0.0]):
        seen, reward, terminated, truncated, told = env.step(np.array([power]))
        assert seen in env.observation_space
        assert not terminated
        assert not truncated
        rewards.append(reward)
        tellings.append(told)
    return float(np.mean(rewards[10:])), {key: float(np.mean([told[key] for told in tellings[10:]])) for key in told}


def test_a_window_has_its_throughput_and_its_queue() -> None:
    """Would catch an action without an effect, counts of another interval, and a reward that is not Kleinrock's power.

    A round trip takes 40 ms, and 0.96 ms for a segment of 1000 bytes and 0.04 ms for its acknowledgement to cross all
    links; the acknowledgement waits 0.8 ms for a second segment (RFC 1122, section 4.2.3.2). A window of 20 segments
    does not fill 10 Mbit/s. One of 80 has a round trip of 80 times 0.8 ms.
    """
    env = fairlane.gym.CongestionEnv()
    reward, told = after(env, 1.0)
    assert told["window"] == 20
    assert told["throughput_bps"] == pytest.approx(20 * 8000 / 0.0418, rel=0.01)
    assert reward == pytest.approx(20 * 8000 / 0.0418 / 10e6 * 0.04 / 0.0414, rel=0.02)
    reward, told = after(env, 1.0, 1.0, 7.0)
    assert told["window"] == 80
    assert told["throughput_bps"] == pytest.approx(10e6)
    assert told["rtt_s"] == pytest.approx(0.064, rel=1e-3)
    assert reward == pytest.approx(0.04 / 0.064, rel=1e-3)


def test_a_window_that_is_too_large_loses() -> None:
    env = fairlane.gym.CongestionEnv()
    env.reset(seed=1)
    seen = [env.step(np.array([1.0]))[0] for _ in range(20)]
    assert max(each[2] for each in seen) > 0
    assert env.simulation is not None
    assert env.simulation.flow("ftp/0").cwnd == 1000
    assert after(env, -1.0, -1.0, -1.0, -1.0)[1]["window"] == 2


def test_a_rate_is_paced() -> None:
    """10 segments in 40 ms are 2 Mbit/s at the start. Would catch a rate that the window hides."""
    env = fairlane.gym.CongestionEnv(control="rate")
    for powers, rate_bps in (((), 2e6), ((1.0,), 4e6), ((-1.0,), 1e6), ((0.5, 0.5), 4e6)):
        assert after(env, *powers)[1]["throughput_bps"] == pytest.approx(rate_bps, rel=0.01)


def test_what_cannot_be_controlled_is_refused() -> None:
    for wrong, words in (
        ({"interval_s": 0.0}, "interval_s: 0.0 is out of range: it must be above 0$"),
        ({"rtt_s": np.inf}, "rtt_s: inf is out of range"),
        ({"control": "acks"}, "control: 'acks' is neither 'window' nor 'rate'"),
        ({"group": "web"}, "group: 'web' has 0 flows, and one is controlled"),
        ({"scenario": fl.Scenario.dumbbell(tcp=2, rate="1mbit", duration="1s")}, "group: 'ftp' has 2 flows"),
    ):
        with pytest.raises(ValueError, match=words):
            fairlane.gym.CongestionEnv(**wrong)
    udp = fl.Scenario.dumbbell(udp="1mbit", rate="1mbit", duration="1s")
    with pytest.raises(fl.ScenarioError, match='there is no group of TCP flows "cbr"'):
        fairlane.gym.CongestionEnv(udp, group="cbr").reset()
    env = fairlane.gym.CongestionEnv(fl.Scenario.dumbbell(tcp=1, rate="1mbit", duration="1s"), interval_s=0.6)
    with pytest.raises(RuntimeError, match=r"call reset\(\) before"):
        env.step(np.array([0.0]))
    env.reset()
    with pytest.raises(ValueError, match="action: nan is not a number"):
        env.step(np.array([np.nan]))
    assert [env.step(np.array([0.0]))[3] for _ in range(2)] == [False, True]
    with pytest.raises(RuntimeError, match="the episode is over"):
        env.step(np.array([0.0]))
    env.close()


def test_a_policy_is_learned() -> None:
    """A window that stays at 10 segments, as without weights, uses 2 of 10 Mbit/s: a reward of a fifth.

    Would catch a reward or an observation from which nothing can be learned.
    """
    example = runpy.run_path(str(ROOT / "examples/learned_window.py"))
    unseen = example["link"]("10mbit", 10)
    before = example["played"](unseen, np.zeros(5), 100)
    assert before == pytest.approx(0.2, abs=0.03)
    assert example["played"](unseen, example["learned"](), 100) > 3 * before
