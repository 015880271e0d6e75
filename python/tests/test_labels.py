"""Labels of disciplines reach tables, figures and pages."""

from __future__ import annotations

import pickle

import fairlane as fl
import matplotlib as mpl
import pytest
from every_name import Fifo

mpl.use("agg")


@pytest.fixture(scope="module")
def scenario() -> fl.Scenario:
    return fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="3s", warmup="1s")


def columns(table: fl.Table) -> list[str]:
    return [name for name in table.columns if name == "label" or name.startswith("queue.")]


def test_disciplines_of_one_kind_are_told_apart(scenario: fl.Scenario) -> None:
    """Would catch three rows that are all called choke."""
    queues = [fl.Choke(limit=30), fl.Choke(limit=60), fl.Choke(limit=60, candidates=4), fl.DropTail(limit=60)]
    outcomes = scenario.compare(queues)
    labels = ["choke limit=30p", "choke limit=60p", "choke limit=60p candidates=4", "droptail"]
    assert [outcome.label for outcome in outcomes] == labels
    groups = outcomes.groups
    assert columns(groups) == ["label", "queue.limit", "queue.limit_packets", "queue.candidates"]
    assert groups["label"] == [label for label in labels for _ in ("ftp", "cbr")]
    assert groups["queue.limit"] == 2 * ["30p"] + 6 * ["60p"]
    assert groups["queue.candidates"] == [None, None, None, None, 4.0, 4.0, None, None]
    assert all(label in str(outcomes) for label in labels)
    page = outcomes.html()
    assert all(label in page for label in labels)
    names = [text.get_text() for text in outcomes.plot.shares().get_yticklabels()]
    assert names == ["max-min fair", *labels]
    assert [line.get_label() for line in outcomes.plot.delays().get_lines()] == labels
    assert pickle.loads(pickle.dumps(outcomes[1])) == outcomes[1]


def test_a_mapping_gives_labels(scenario: fl.Scenario) -> None:
    outcomes = scenario.compare({"short": fl.DropTail(limit=30), "mine": Fifo, "named": "red"})
    assert [outcome.label for outcome in outcomes] == ["short", "mine", "named"]
    assert outcomes["short"].groups["throughput_bps"] == outcomes["mine"].groups["throughput_bps"]
    assert outcomes.queues["label"] == ["short", "mine", "named"]
    assert ">mine<" in outcomes.html()
    with pytest.raises(TypeError, match="a label is text, and 3 is not"):
        scenario.compare({3: "red"})  # type: ignore[dict-item]


def test_equal_disciplines_are_numbered(scenario: fl.Scenario) -> None:
    outcomes = scenario.compare([fl.Choke(), fl.Choke(), "choke"])
    assert [outcome.label for outcome in outcomes] == ["choke", "choke (2)", "choke (3)"]


def test_different_kinds_need_no_labels(scenario: fl.Scenario) -> None:
    """Their outcomes are those of the command line, bit by bit."""
    outcomes = scenario.compare([fl.Red(limit=30), "choke", Fifo])
    assert columns(outcomes.groups) == []
    assert "label" not in outcomes[0].to_dict()
    assert [outcome.label for outcome in outcomes] == ["red", "choke", "Fifo"]
    assert outcomes["choke"] is outcomes[1]


def test_disciplines_are_an_axis_of_a_sweep(scenario: fl.Scenario, tmp_path_factory: pytest.TempPathFactory) -> None:
    queues: list[object] = [fl.Choke(limit=30), fl.Choke(limit=60), fl.Cake(), Fifo]
    swept = scenario.sweep({"bottleneck.queue": queues, "flows.cbr.rate": ["1mbit", "2mbit"]}, runs=2)
    names = ["choke limit=30p", "choke limit=60p", "cake", "Fifo"]
    points = [(name, rate) for name in names for rate in ("1mbit", "2mbit")]
    assert [tuple(outcome.point.values()) for outcome in swept] == points
    for outcome in swept:
        here = scenario.with_({"flows.cbr.rate": outcome.point["flows.cbr.rate"]})
        alone = here.run(queue=queues[names.index(str(outcome.point["bottleneck.queue"]))], runs=2)  # type: ignore[arg-type]
        assert outcome.groups["throughput_bps"] == alone.groups["throughput_bps"]
    # On an executor and into a file those of the library; the file knows the disciplines, not only their names.
    library = {"bottleneck.queue": {"a": fl.Choke(limit=30), "b": fl.Cake()}}
    out = tmp_path_factory.mktemp("swept") / "swept.parquet"
    assert scenario.sweep(library, out=out).done == 2
    other = {"bottleneck.queue": {"a": fl.Choke(limit=31), "b": fl.Cake()}}
    with pytest.raises(fl.ScenarioError, match="it has other points"):
        scenario.sweep(other, out=out)
    with pytest.raises(fl.ScenarioError, match="it has other points, it has other code written in Python"):
        scenario.sweep({"bottleneck.queue": [Fifo]}, out=out)
    with pytest.raises(fl.ScenarioError, match=r"flows\.cbr: a discipline written in Python belongs to a queue"):
        scenario.sweep({"flows.cbr": [Fifo]})


def test_a_sweep_of_points(scenario: fl.Scenario) -> None:
    swept = scenario.sweep([{"seed": 1, "flows.cbr.rate": 1e6}, {"seed": 2, "bottleneck.queue": fl.Choke()}])
    assert [outcome.point for outcome in swept] == [
        {"seed": 1, "flows.cbr.rate": "1mbit"},
        {"seed": 2, "bottleneck.queue": "choke"},
    ]
    assert swept[1].queue()["kind"] == "choke"
    assert swept.groups["flows.cbr.rate_bps"] == [1e6, 1e6, None, None]
    with pytest.raises(fl.ScenarioError, match="the sweep has no points"):
        scenario.sweep([])


def test_a_sweep_that_is_too_large_is_refused_at_once(scenario: fl.Scenario) -> None:
    """Would catch a list of a thousand million numbers."""
    with pytest.raises(fl.ScenarioError, match="seed: a sweep has at most 100000 points"):
        scenario.sweep({"seed": range(10**9)})
    with pytest.raises(fl.ScenarioError, match=r"^sweep: the sweep has 50000 . 3 points"):
        scenario.sweep({"seed": range(50_000), "flows.ftp.count": [1, 2, 3]})
