"""The search for a discipline and its parameters, and the recipe for Optuna."""

from __future__ import annotations

import json
import os
import pickle
import runpy
import signal
import subprocess
from pathlib import Path

import fairlane as fl
import pytest
import skip

CLI = Path(os.environ.get("FAIRLANE", Path(__file__).parents[2] / "target/dist/fairlane"))
RECIPE = Path(__file__).parent.parent / "notebooks/tune-with-optuna.py"
FLOOD = fl.Scenario.from_toml(
    """
    duration = "6s"
    warmup = "1s"
    [bottleneck]
    rate = "2mbit"
    [[flows]]
    name = "flood"
    kind = "udp"
    rate = "3mbit"
    """
)


def test_a_limit_is_tuned() -> None:
    """A packet of 1000 bytes takes 4 ms at 2 Mbit/s, and the queue is full: 40 ms are ten packets."""
    tuning = FLOOD.tune("droptail", "delay.p99<41ms, maximise delay.mean", budget=150)
    assert (tuning.queue, tuning.verdict) == (fl.DropTail(limit="10p"), "better")
    assert tuning.scenario["bottleneck.queue.limit"] == "10p"
    assert pickle.loads(pickle.dumps(tuning)) == tuning
    assert repr(tuning).endswith("DropTail(limit='10p'), better than the defaults>")
    assert tuning == FLOOD.tune("droptail", "delay.p99<41ms, maximise delay.mean", budget=150, jobs=1)


def advise(goal: str = "utilisation>0.5, maximise jain") -> fl.Advice:
    kinds = ["droptail", "codel", "fq-codel"]
    return fl.advise(2e6, "20ms", goal, mix="2 cubic, udp 2x", kinds=kinds)


def test_a_discipline_is_advised(tmp_path: Path) -> None:
    """Beside a flood of twice the link only a queue for each flow is fair."""
    advice = advise()
    assert advice.queue.kind == "fq-codel"
    assert {queue.kind for queue in advice.ranking} == {"droptail", "codel", "fq-codel"}
    assert advice.met
    assert 'kind = "fq-codel"' in advice.router
    assert advice.scenario["bottleneck.queue.kind"] == "fq-codel"
    assert len(advice.answer) == 3
    assert advice.answer[0].startswith("Use fq-codel limit=1000p: it meets the goal")
    assert advice.tc is not None
    assert "fq_codel limit 1000" in advice.tc
    assert not advice.partial
    assert "Cases that were not searched" in advice.html(tmp_path / "page.html").read_text()
    assert pickle.loads(pickle.dumps(advice)) == advice
    assert repr(advice).startswith("<Advice for 2mbit and 20ms: FqCodel(")


@skip.unless(CLI.exists(), "program", "not built: make build")
def test_it_is_that_of_the_command_line() -> None:
    """Would catch a setting that is lost on the way."""
    command = [str(CLI), "advise", "--rate", "2mbit", "--rtt", "20ms", "--mix", "2 cubic, udp 2x", "--json"]
    more = ["--goal", "utilisation>0.5, maximise jain", "--queue", "droptail,codel,fq-codel"]
    said = subprocess.run([*command, *more], capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == advise().to_dict()


def test_mistakes_are_pointed_at() -> None:
    with pytest.raises(fl.ScenarioError, match=r'did you mean "delay\.p95"'):
        advise("dealy.p95<20ms")
    with pytest.raises(fl.ScenarioError, match='there is no queue discipline "redd"'):
        FLOOD.tune("redd", "minimise delay.mean")
    with pytest.raises(fl.ScenarioError, match="too small"):
        FLOOD.tune("red", "minimise delay.mean", budget=10)


@pytest.mark.parametrize("duration", ["100s", "2000s"])
def test_ctrl_c_ends_it(duration: str) -> None:
    """In a short search, which may end before it is heard, and in a long one.

    Would catch a search that cannot be stopped, and a Ctrl-C in the last call of the progress that comes out as it is.
    """
    stopped = False

    def stop(_done: int, _every: int) -> None:
        # Once: a second one may come when the first one has ended the search.
        nonlocal stopped
        if not stopped:
            stopped = True
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fl.Interrupted, match="no part of an answer"):
        fl.Scenario.figure_3().with_({"duration": duration}).tune("red", "minimise delay.mean", progress=stop)


def test_the_recipe_for_optuna() -> None:
    """In short form. Would catch a recipe that no longer runs, and an answer that is worse on held-out seeds."""
    skip.module("optuna", "optuna")
    answer, gains = runpy.run_path(str(RECIPE))["main"](8)
    assert answer == fl.Red() or sum(gains) > 0
