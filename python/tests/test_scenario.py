"""Scenarios: reading, changing, writing, and errors."""

import copy
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import fairlane as fl
import pytest
import skip

ROOT = Path(__file__).parents[2]
SHIPPED = sorted((ROOT / "scenarios").glob("*.toml"))
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))


def dumbbell(**changes: Any) -> fl.Scenario:
    given: dict[str, Any] = {"tcp": 4, "udp": "2mbit", "rate": "1mbit", "duration": "4s", "warmup": "2s"}
    return fl.Scenario.dumbbell(**{**given, "queue": fl.Choke(limit=30, min=10, max=20), **changes})


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_scenarios_survive_every_form(path: Path) -> None:
    """Would catch a value that changes its type, or a comment that is lost, on the way."""
    scenario = fl.Scenario.from_toml(path)
    assert scenario.to_toml() == path.read_text()
    assert fl.Scenario.from_string(scenario.to_toml(), name=str(path)) == scenario
    assert fl.Scenario.from_dict(scenario.to_dict(), name=str(path)) == scenario
    assert pickle.loads(pickle.dumps(scenario)) == scenario


def test_a_dumbbell_is_the_file_of_the_paper() -> None:
    ours = fl.Scenario.dumbbell(
        name="CHOKe, Figure 3",
        tcp=32,
        udp="2mbit",
        rate="1mbit",
        queue=fl.Choke(limit="300p", min=100, max=200, probability=0.1, weight=0.002, uniformize="count"),
        duration="120s",
        warmup="20s",
        window=300,
        start="0s..1s",
        preset="ns2-1999",
        access_rate="10mbit",
    )
    theirs = fl.Scenario.figure_3()
    short = {"duration": "4s", "warmup": "2s", "name": "the same"}
    assert ours.with_(short).run() == theirs.with_(short).run()


def test_values_are_read_and_written_by_their_keys() -> None:
    scenario = dumbbell()
    assert scenario["bottleneck.queue.min"] == "10p"
    assert scenario["flows.ftp.count"] == 4
    assert "seed" in scenario
    assert "flows.web" not in scenario
    assert scenario.get("bottleneck.loss", 7) == 7
    with pytest.raises(KeyError):
        scenario["tcp.preset"]
    before = scenario.copy()
    scenario["bottleneck.queue.min"] = "5p"
    assert scenario["bottleneck.queue.min"] == "5p"
    assert scenario != before
    assert before["bottleneck.queue.min"] == "10p"
    assert scenario == before.with_({"bottleneck.queue.min": "5p"})
    scenario["bottleneck.queue"] = fl.Red(limit=40)
    assert scenario["bottleneck.queue"] == {"kind": "red", "limit": "40p"}


def test_several_changes_are_made_at_once_or_not_at_all() -> None:
    scenario = dumbbell()
    scenario.update({"duration": "2s", "warmup": "1s"})
    before = scenario.copy()
    with pytest.raises(fl.ScenarioError, match="leaves nothing to measure"):
        scenario.update({"seed": 7, "duration": "1s"})
    assert scenario == before


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("duration", "4", 'write for example "20ms"'),
        ("duration", -4, "duration: -4 is not a time in seconds"),
        ("durration", "4s", 'there is no key "durration" here; did you mean "duration"?'),
        ("flows.web.rate", "1mbit", '`flows` has no "web"; there are ftp, cbr'),
        ("bottleneck.queue.kind", "chok", 'did you mean "choke"?'),
        ("bottleneck.queue.limit", "3x", "limit"),
        ("flows.ftp.count", "4", "is not a count"),
        ("seed", 2**70, "too large"),
    ],
)
def test_what_is_wrong_is_said(key: str, value: object, expected: str) -> None:
    scenario = dumbbell()
    with pytest.raises(ValueError) as refused:
        scenario[key] = value
    assert expected in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize("value", [None, object(), {1: "a"}, {"a": {1, 2}}, b"4s"])
def test_other_types_are_type_errors(value: object) -> None:
    with pytest.raises(TypeError, match="duration"):
        dumbbell()["duration"] = value
    nested: list[object] = []
    nested.append(nested)
    with pytest.raises((ValueError, RecursionError)):
        dumbbell()["duration"] = nested


def test_errors_of_files_have_their_parts_and_survive_a_pickle() -> None:
    text = 'duration = "4s"\n[bottleneck]\nrate = "1mbit"\nspeed = 3\n'
    with pytest.raises(fl.ScenarioError) as refused:
        fl.Scenario.from_string(text, name="mine.toml")
    for error in (refused.value, pickle.loads(pickle.dumps(refused.value)), copy.copy(refused.value)):
        assert (error.file, error.line, error.column, error.key) == ("mine.toml", 4, 1, "bottleneck.speed")
        assert str(error).startswith("mine.toml:4:1: bottleneck.speed: there is no key")
        assert error.text == text
    with pytest.raises(fl.ScenarioError, match=r"^no/such/file\.toml: this file cannot be opened"):
        fl.Scenario.from_toml("no/such/file.toml")
    with pytest.raises(fl.ScenarioError, match=r"`duration` is missing"):
        fl.Scenario.from_dict({})


@skip.unless(CLI.exists(), "program", "not built: make build")
def test_the_command_line_says_the_same(tmp_path: Path) -> None:
    wrong = {
        "unit.toml": 'duration = "4"\n',
        "key.toml": 'duration = "4s"\nwarmpu = "1s"\n',
        "toml.toml": "duration = 4s\n",
        "queue.toml": 'duration = "4s"\nbottleneck = { rate = "1mbit", queue = { kind = "choke", limt = "3p" } }\n',
    }
    for name, text in wrong.items():
        path = tmp_path / name
        path.write_text(text)
        said = subprocess.run([CLI, "run", path], capture_output=True, text=True, check=False)
        with pytest.raises(fl.ScenarioError) as refused:
            fl.Scenario.from_toml(path)
        assert said.stderr == f"error: {refused.value}\n"


def test_representations() -> None:
    scenario = dumbbell()
    assert repr(scenario) == "<Scenario 'dumbbell': 5 flows, 1 links, 4 s, TCP ns2-1999>"
    assert "&quot;1mbit&quot;" in scenario._repr_html_()
    with pytest.raises(TypeError):
        iter(scenario)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        hash(scenario)


def test_a_size_of_packets_is_that_of_listed_flows_too() -> None:
    flows = [{"name": "a", "kind": "tcp"}, {"name": "b", "kind": "tcp", "packet": "500b"}]
    scenario = fl.Scenario.dumbbell(rate="20mbit", duration="3s", packet="1500b", flows=flows)
    assert [scenario[f"flows.{name}.packet"] for name in "ab"] == ["1500b", "500b"]
