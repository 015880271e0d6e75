"""Arguments of the package: NumPy's values are accepted, and the error of an invalid one names it."""

from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fairlane as fl
import numpy as np
import pytest
from choke import Choke


def scenario(**changes: object) -> fl.Scenario:
    return fl.Scenario.dumbbell(
        tcp=2,
        udp="2mbit",
        rate="1mbit",
        duration="2s",
        queue=fl.Choke(limit=60, min=5, max=20),
    ).with_(changes)


def given() -> Any:
    """Hides the type of a value that the type checker would refuse."""
    return scenario()


loose: Any = fl


def test_numbers_of_numpy_are_numbers() -> None:
    assert scenario(**{"flows.ftp.count": np.int64(3)})["flows.ftp.count"] == 3
    assert scenario(**{"bottleneck.queue.gentle": np.bool_(True)})["bottleneck.queue.gentle"] is True  # noqa: FBT003
    assert scenario(**{"bottleneck.queue.probability": np.float32(0.5)})["bottleneck.queue.probability"] == 0.5
    assert fl.Choke(limit=np.int64(60), probability=np.float32(0.5)) == fl.Choke(limit=60, probability=0.5)
    assert scenario().run(seed=np.uint64(3), runs=np.int32(2)) == scenario().run(seed=3, runs=2)
    seeds = scenario().sweep({"seed": [0, 1, 2], "bottleneck.queue.probability": [0.25, 0.5]})
    assert scenario().sweep({"seed": np.arange(3), "bottleneck.queue.probability": np.linspace(0.25, 0.5, 2)}) == seeds
    assert fl.theory.choke(load=np.float32(2)) == fl.theory.choke(load=2)
    assert fl.theory.back(rates=np.arange(1, 4), memory=np.int64(1)) == fl.theory.back(rates=[1, 2, 3], memory=1)


def test_what_can_be_gone_through_is_a_list() -> None:
    expected = scenario().compare(["red", "choke"])
    assert scenario().compare(kind for kind in ("red", "choke")) == expected
    assert scenario().compare(np.array(["red", "choke"])) == expected
    swept = scenario().sweep({"seed": [1, 2]})
    assert scenario().sweep({"seed": range(1, 3)}) == swept
    assert scenario().sweep({"seed": (seed for seed in (1, 2))}) == swept
    assert scenario().sweep({"seed": {1: "one", 2: "two"}.keys()}) == swept


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: given().run(runs=2.0), "runs: expected a whole number, not a float"),
        (lambda: given().run(runs="2"), "runs: expected a whole number, not a str"),
        (lambda: given().run(jobs=1.5), "jobs: expected a whole number, not a float"),
        (
            lambda: given().run(series=[1]),
            'series: expected text with a unit, such as "100ms", or a number of seconds, not a list',
        ),
        (lambda: given().run(queue=fl.Red), r"fairlane\.Red is a class: .*, fairlane\.Red\(\)"),
        (lambda: given().compare([fl.Red]), r"fairlane\.Red is a class: .*, fairlane\.Red\(\)"),
        (lambda: given().with_({"bottleneck.queue": fl.Red}), r"fairlane\.Red is a class"),
        (lambda: loose.Queue(loose.Red), r"fairlane\.Red is a class"),
        (lambda: given().compare("red"), "queues: a list of disciplines"),
        (lambda: given().with_([("seed", 1)]), r'expected keys with values, such as {"seed": 2}, not a list'),
        (lambda: given().sweep(None), r'expected keys with values, such as {"seed": \[1, 2\]}, not a NoneType'),
        (lambda: given().sweep({3: [1]}), 'a key is text, such as "flows.cbr.rate", and 3 is not'),
        (lambda: given().sweep({"seed": 3}), r"seed: the values of a sweep are a list, .* not a int"),
        (lambda: given().sweep({"seed": b"12"}), r"seed: the values of a sweep are a list, .* not a bytes"),
        (
            lambda: given().sweep({"seed": [None]}),
            "seed: a sweep's value is text, a number, a bool or a discipline, not a NoneType",
        ),
        (lambda: given().sweep({"bottleneck.queue": [fl.Red]}), r"fairlane\.Red is a class"),
        (lambda: given().sweep([3]), r'expected keys with values, such as {"seed": 2}, not a int'),
        (lambda: given().run(progress="x"), "progress: expected True, False or a function .*, not a str"),
        (lambda: loose.Scenario("x"), "a scenario is made by Scenario.from_toml, from_dict, dumbbell or figure_3"),
        (lambda: loose.replay("x.pcap", [3], rate="1mbit"), "a discipline is one such as .*, not a int"),
        (lambda: given().sweep({"seed": [1]}, executor=3), "executor: expected a concurrent.futures.Executor"),
        (lambda: given().sweep({"seed": [1]}, executor=NoFutures()), "its submit must return .*Future, not a tuple"),
        (
            lambda: loose.Choke().explain(None),
            'rate: expected text with a unit, such as "10mbit", or a number of bit/s',
        ),
        (lambda: loose.Queue(loose.Choke(), rate=None), "rate: expected text with a unit"),
        (lambda: loose.Queue(loose.Choke(), seed=1.5), "seed: expected a whole number, not a float"),
        (lambda: loose.theory.choke(load=None), "load: expected a number, not a NoneType"),
        (lambda: loose.Scenario.from_dict({1: 2}), "^the keys of a table are text, and 1 is not"),
    ],
)
def test_what_is_of_the_wrong_type_is_named(wrong: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        wrong()


def test_what_is_out_of_range_is_named(tmp_path: Path) -> None:
    queue = fl.Queue(fl.Choke())
    itself: dict[str, Any] = {}
    itself["access"] = itself
    for wrong, words in (
        (lambda: scenario().run(runs=0), "runs: 0 is out of range: it must be from 1 to 4294967295"),
        (lambda: scenario().run(runs=2**40), "runs: 1099511627776 is out of range"),
        # This many threads would stall the machine.
        (lambda: scenario().run(jobs=100_000), "jobs: 100000 is out of range: it must be from 1 to 1024"),
        (lambda: scenario().sweep({"seed": [1]}, jobs=-1, out=tmp_path / "x.parquet"), "jobs: -1 is out of range"),
        (lambda: fl.papers.run("all", jobs=0), "jobs: 0 is out of range"),
        (lambda: scenario().run(seed=2**63), "seed: 9223372036854775808 is too large or too small"),
        (lambda: scenario().run(seed=-1), "seed: -1 is out of range: it must be from 0 to 9223372036854775807"),
        (lambda: scenario(name="\ud800"), "name: this text cannot be written as UTF-8"),
        (lambda: fl.Scenario.from_dict(itself), "no scenario nests as deeply"),
        (lambda: fl.Queue(fl.Choke(), seed=2**64), "seed: 18446744073709551616 is out of range: it must be from 0 to"),
        (lambda: queue.enqueue(0, flow=-1), "flow: -1 is out of range"),
        (lambda: queue.enqueue(0, flow=1, bytes=2**33), "bytes: 8589934592 is out of range"),
        (lambda: queue.enqueue(0, flow=1, traffic_class=256), "traffic_class: 256 is out of range: .* from 0 to 255"),
        (lambda: fl.theory.choke(load=float("nan")), "load: nan is out of range; give a finite number"),
        (lambda: fl.theory.front(mu=1, rates=[1, float("inf")]), "rates: inf is out of range"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    assert queue.packets == 0


class NoFutures(Executor):
    """Gives results instead of futures."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)


def test_a_class_of_executors_makes_one() -> None:
    assert scenario().sweep({"seed": [1, 2]}, executor=ThreadPoolExecutor) == scenario().sweep({"seed": [1, 2]})


def test_a_queue_says_what_it_is() -> None:
    queue = fl.Queue(fl.Choke(limit=9))
    queue.enqueue(0, flow=1)
    assert repr(queue) == "<Queue of Choke(limit='9p'): 1 packets, 1000 bytes>"
    assert repr(fl.Queue(Choke)) == "<Queue of Choke: 0 packets, 0 bytes>"


def test_a_discipline_without_its_methods_is_named() -> None:
    class Nothing(fl.Discipline):
        average = None

    with pytest.raises(NotImplementedError, match="Nothing has no method enqueue of its own"):
        scenario().run(queue=Nothing)
