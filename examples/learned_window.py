"""Learns congestion control: a linear policy sets the window of a TCP flow each 100 ms, by the cross-entropy method.

    pip install 'fairlane[gym]' && python examples/learned_window.py

The policy learns on links of 5 and 20 Mbit/s, in less than a minute, and is judged on a link of 10 Mbit/s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from fairlane.gym import CongestionEnv

if TYPE_CHECKING:
    from numpy.typing import NDArray


def link(rate: str, seconds: int) -> CongestionEnv:
    """Returns an environment with this link."""
    scenario = CongestionEnv().scenario.with_({"bottleneck.rate": rate, "duration": f"{seconds}s"})
    return CongestionEnv(scenario)


def played(env: CongestionEnv, weights: NDArray[np.float64], seed: int) -> float:
    """Returns the mean reward of an episode. The action is a weight for each number that is seen, and a constant."""
    seen, _ = env.reset(seed=seed)
    rewards, ended = [], False
    while not ended:
        seen, reward, _, ended, _ = env.step(np.array([weights[:-1] @ seen + weights[-1]], np.float32))
        rewards.append(reward)
    return float(np.mean(rewards))


def learned(generations: int = 8, candidates: int = 16, best: int = 4, seconds: int = 8) -> NDArray[np.float64]:
    """Returns weights: each generation is drawn around the mean of the best of the one before."""
    random = np.random.default_rng(1)
    links = [link("5mbit", seconds), link("20mbit", seconds)]
    mean, spread = np.zeros(5), np.ones(5)
    for generation in range(generations):
        tried = mean + spread * random.standard_normal((candidates, 5))
        rewards = np.array([sum(played(env, weights, generation) for env in links) / 2 for weights in tried])
        kept = tried[np.argsort(rewards)[-best:]]
        mean, spread = kept.mean(axis=0), kept.std(axis=0) + 0.02
        print(f"generation {generation + 1}: mean reward {rewards.mean():.2f}, best {rewards.max():.2f}")
    return mean


if __name__ == "__main__":
    found = learned()
    unseen = link("10mbit", 20)
    print(f"before {played(unseen, np.zeros(5), 100):.2f}, learned {played(unseen, found, 100):.2f}")
    print(dict(zip(("throughput", "round trip", "lost", "last", "constant"), found.round(2).tolist(), strict=True)))
