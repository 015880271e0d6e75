#!/usr/bin/env python3
"""Tunes RED with Optuna: a recipe for a search of your own over scenarios.

    pip install optuna
    python tune-with-optuna.py [TRIALS]

Three rules make its answer one that lasts. All trials run with the same seeds, so that what differs is the queue. The defaults are the first
trial. And what is found is judged on seeds that the search has not seen: if it is not better there, the defaults are the answer.
`scenario.tune` does the same without Optuna.
"""

from __future__ import annotations

import sys
from statistics import mean

import fairlane as fl

try:
    import optuna
except ModuleNotFoundError:
    sys.exit("this recipe needs Optuna: pip install optuna")

SEARCHED, HELD_OUT = (1, 2, 3), (11, 12, 13, 14, 15)

SCENARIO = fl.Scenario.dumbbell(
    tcp=8, udp="1mbit", rate="10mbit", delay="10ms", duration="15s", warmup="5s", preset="modern", queue="red"
)


def cost(queue: fl.QueueConfig, seed: int) -> float:
    """The 95th percentile of the delay in milliseconds, and 10 for each percent of the link below 95 that is idle."""
    outcome = SCENARIO.with_({"bottleneck.queue": queue}).run(seed=seed)
    measured = outcome.queue()
    return 1e3 * measured["delay_s"]["p95"] + 1e3 * max(0.0, 0.95 - measured["utilisation"])


def red(trial: optuna.Trial) -> fl.Red:
    """RED with thresholds that never contradict each other: each is a multiple of the one below it."""
    low = trial.suggest_int("min", 2, 100, log=True)
    high = low * trial.suggest_float("max / min", 1.5, 10, log=True)
    return fl.Red(
        limit=max(100, round(2 * high)),
        min=low,
        max=round(high) + 1,
        probability=trial.suggest_float("probability", 0.005, 0.5, log=True),
        weight=trial.suggest_float("weight", 0.0005, 0.1, log=True),
        gentle=trial.suggest_categorical("gentle", [False, True]),
    )


def main(trials: int) -> tuple[fl.Red, list[float]]:
    """Searches; returns the answer, and how much lower than the defaults' its cost is with each held-out seed."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=1))
    study.optimize(lambda trial: mean(cost(red(trial), seed) for seed in SEARCHED), n_trials=trials)
    found, defaults = red(optuna.trial.FixedTrial(study.best_params)), fl.Red()
    if mean(cost(defaults, seed) for seed in SEARCHED) <= study.best_value:
        found = defaults
    gains = [cost(defaults, seed) - cost(found, seed) for seed in HELD_OUT]
    better = mean(gains) > 0
    print(f"found {found}")
    print(f"its cost is lower than the defaults' by {', '.join(f'{gain:.1f}' for gain in gains)} on held-out seeds")
    print("use it" if better else "use the defaults")
    return (found if better else defaults), gains


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
