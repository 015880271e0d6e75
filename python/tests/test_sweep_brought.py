"""Sweeps on executors with parts written in Python: the same outcomes as on this machine, and files that know them."""

from __future__ import annotations

import builtins
import functools
import multiprocessing
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import brought
import fairlane as fl
import pyarrow.parquet
import pytest
from fairlane import _sent
from sweeping import Through, dumbbell
from transport import make, scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


@pytest.fixture
def no_cloudpickle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)


def counts(outcome: fl.Outcome) -> list[tuple[int, int, int]]:
    """The packets of each flow."""
    flows = outcome.flows
    return list(zip(flows["sent"], flows["delivered"], flows["dropped"], strict=True))


@pytest.mark.parametrize("start", [threads, processes])
@pytest.mark.parametrize("varied", [brought.VARIED, {"flows.ftp.cc": ["reno", brought.Gentle], "seed": [1, 2]}])
def test_classes_run_on_executors(start: Callable[[], Executor], varied: dict[str, Any]) -> None:
    """Would catch a point with another class, or without, and one in another place."""
    undisturbed = dumbbell().sweep(varied, runs=2)
    with start() as executor:
        outcomes = dumbbell().sweep(varied, runs=2, executor=executor, chunk=3)
    assert outcomes == undisturbed
    assert outcomes.failures == ()
    assert outcomes[0] != outcomes[2]
    if varied is brought.VARIED:
        # The library's droptail and the one in Python do the same.
        assert list(map(counts, outcomes[:2])) == list(map(counts, outcomes[2:]))


def test_endpoints_run_on_executors() -> None:
    varied = {"bottleneck.loss": [0, 0.1], "bottleneck.queue": [fl.DropTail(limit=30), brought.Short]}
    undisturbed = scenario().sweep(varied, endpoints={"own": make})
    with processes() as executor:
        assert scenario().sweep(varied, endpoints={"own": make}, executor=executor) == undisturbed
    goodput = [outcome.flow("own/0")["goodput_bps"] for outcome in undisturbed]
    assert goodput[0] == goodput[1] > goodput[2] == goodput[3] > 0


def local(limit: int) -> type[brought.Short]:
    class Local(brought.Short):
        pass

    Local.limit = limit
    return Local


def test_code_that_workers_cannot_import_is_sent() -> None:
    """Would catch a class that comes without what its function has bound."""
    varied = {"bottleneck.queue": [local(10), local(40)]}
    with processes() as executor:
        outcomes = dumbbell().sweep(varied, executor=executor)
    expected = dumbbell().sweep({"bottleneck.queue": [fl.DropTail(limit=10), fl.DropTail(limit=40)]})
    assert list(map(counts, outcomes)) == list(map(counts, expected))
    assert counts(outcomes[0]) != counts(outcomes[1])


@pytest.mark.usefixtures("no_cloudpickle")
def test_without_cloudpickle_such_code_is_refused() -> None:
    varied = {"bottleneck.queue": [brought.Short]}
    with processes() as executor:
        assert len(dumbbell().sweep(varied, executor=executor)) == 1
        wrong = local(10)
        words = r"bottleneck\.queue: workers cannot import local\.<locals>\.Local: put it at the top of a module .*, or"
        with pytest.raises(ValueError, match=words):
            dumbbell().sweep({"bottleneck.queue": [wrong]}, executor=executor)
        wrong.__module__, wrong.__qualname__ = "__main__", "Local"
        vars(sys.modules["__main__"])["Local"] = wrong
        try:
            with pytest.raises(ValueError, match="workers cannot import Local"):
                dumbbell().sweep({"bottleneck.queue": [functools.partial(wrong, limit=3)]}, executor=executor)
        finally:
            del vars(sys.modules["__main__"])["Local"]
        with pytest.raises(ValueError, match=r"endpoints: workers cannot import .*<lambda>"):
            scenario().sweep({"seed": [1]}, endpoints={"own": lambda *_: make(0, 0)}, executor=executor)


def hide(_points: object) -> None:
    """Lets a worker lack a module."""
    sys.modules["brought"] = None  # type: ignore[assignment]


def test_a_worker_without_the_module_ends_the_sweep() -> None:
    """Would catch units that are sent again and again, and failures of all points."""
    with (
        processes() as executor,
        pytest.raises(fl.SweepStopped, match=r"the workers cannot do this sweep: .*brought"),
    ):
        dumbbell().sweep(brought.VARIED, executor=Through(executor, hide))


def test_applications_run_on_executors(tmp_path: Path) -> None:
    """Would catch points that run with the application of the scenario."""
    parts: dict[str, Any] = {"applications": {"ftp": brought.Polling}}
    varied = {"bottleneck.queue": [fl.DropTail(), fl.FqCodel()]}
    alone = [dumbbell().run(queue=queue, **parts).group("ftp") for queue in varied["bottleneck.queue"]]
    assert alone[1]["transfers"]["completed"] > 0
    with processes() as executor:
        for outcomes in (dumbbell().sweep(varied, **parts), dumbbell().sweep(varied, executor=executor, **parts)):
            assert [outcome.group("ftp") for outcome in outcomes] == alone
    out = tmp_path / "sweep.parquet"
    assert dumbbell().sweep(varied, out=out, **parts).done == 2
    with pytest.raises(fl.ScenarioError, match="it has other code written in Python"):
        dumbbell().sweep(varied, out=out)


def test_a_point_that_raises_does_not_sink_the_others() -> None:
    varied = {"bottleneck.queue": [brought.Short, brought.Faulty]}
    with processes() as executor, pytest.warns(RuntimeWarning, match=r"1 of 2 points failed, .* with ZeroDiv"):
        outcomes = dumbbell().sweep(varied, executor=executor, chunk=2)
    assert list(outcomes) == list(dumbbell().sweep({"bottleneck.queue": [brought.Short]}))
    assert outcomes.failures[0].point == {"bottleneck.queue": "Faulty"}


@pytest.mark.parametrize("start", [None, processes])
def test_a_file_goes_on_with_the_same_classes_only(start: Callable[[], Executor] | None, tmp_path: Path) -> None:
    """Would catch rows of another class, and of one whose source or bound values have changed."""
    out = tmp_path / "sweep.parquet"

    def interrupt(done: int, _total: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    varied = {"bottleneck.queue": {"thirty": brought.Short, "ten": functools.partial(brought.Short, limit=10)}}
    with pytest.raises(fl.Interrupted, match="the same call goes on from there"):
        dumbbell().sweep({**varied, "seed": [1, 2]}, executor=start, chunk=1, out=out, progress=interrupt)
    changed = {"bottleneck.queue": {"thirty": brought.Short, "ten": functools.partial(brought.Short, limit=11)}}
    with pytest.raises(
        fl.ScenarioError, match="it has other code written in Python; choose another file, or remove it"
    ):
        dumbbell().sweep({**changed, "seed": [1, 2]}, executor=start, out=out)
    swept = dumbbell().sweep({**varied, "seed": [1, 2]}, executor=start, out=out)
    assert (swept.done, swept.failures) == (4, ())
    expected = dumbbell().sweep({**varied, "seed": [1, 2]}).groups.to_pyarrow()
    assert pyarrow.parquet.read_table(out).replace_schema_metadata(None) == expected
    assert dumbbell().sweep({**varied, "seed": [1, 2]}, executor=start, out=out).done == 4


def test_an_identity_follows_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a change of a class that goes unnoticed, and one of its place that does not matter."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for name, text in (("first", "class A:\n    x = 1\n"), ("second", "\n\nclass A:\n    x = 2\n")):
        (tmp_path / f"{name}.py").write_text(text)
        made = builtins.__import__(name).A
        made.__module__ = "same"
        monkeypatch.setitem(sys.modules, "same", sys.modules[name])
        found.append(_sent.identity_of(made))
    assert found[0].startswith("same:A ")
    assert found[0] != found[1]
    assert _sent.identity_of(local(1)) == _sent.identity_of(local(1))

    def bound(limit: int) -> Callable[[fl.Host], brought.Short]:
        return lambda host: brought.Short(host, limit)

    assert _sent.identity_of(bound(1)) == _sent.identity_of(bound(1)) != _sent.identity_of(bound(2))
