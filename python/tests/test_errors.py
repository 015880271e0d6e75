"""Errors: one base class, those of Python where they are meant, and texts without options of the command line."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairlane as fl
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


CAPTURE = min((Path(__file__).parents[2] / "crates").glob("*/tests/**/*.pcap*"))


def scenario() -> fl.Scenario:
    queue = fl.Choke(limit=60, min=5, max=20)
    return fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="2s", queue=queue)


def test_there_is_one_base_class() -> None:
    ours = [fl.ScenarioError, fl.DisciplineError, fl.LabError, fl.SweepStopped, fl.MissingFileError, fl.UnknownKeyError]
    assert all(issubclass(error, fl.FairlaneError) for error in ours)
    assert not issubclass(fl.Interrupted, Exception)
    with pytest.raises(fl.FairlaneError):
        fl.Choke(limit="300")


@pytest.mark.parametrize(
    "read",
    [
        fl.Scenario.from_toml,
        lambda path: fl.Scenario.from_toml(str(path)),
        lambda path: fl.replay(path, fl.Choke(), rate="1mbit"),
    ],
)
def test_a_file_that_is_not_there_is_missed(read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(FileNotFoundError, match=r"none\.toml") as missed:
        read(path)
    for error in (missed.value, pickle.loads(pickle.dumps(missed.value))):
        assert isinstance(error, fl.ScenarioError)
        assert isinstance(error, fl.MissingFileError)
        assert error.file == str(path)
        assert str(error).startswith(f"{path}: this file")


def test_a_slip_in_a_key_is_told_from_a_key_that_is_not_given() -> None:
    for read in (scenario().__getitem__, scenario().get):
        with pytest.raises(fl.UnknownKeyError, match='there is no key "rat" here; did you mean "rate"') as slip:
            read("flows.cbr.rat")
        assert isinstance(slip.value, KeyError)
        assert slip.value.key == "flows.cbr.rat"
        with pytest.raises(fl.UnknownKeyError, match='did you mean "limit"'):
            read("bottleneck.queue.limt")
        with pytest.raises(fl.UnknownKeyError, match='`flows` has no "web"; there are ftp, cbr'):
            read("flows.web.rate")
    for key in ("warmpu", "access.delya"):
        with pytest.raises(fl.UnknownKeyError, match="did you mean"):
            scenario()[key]
    for key in ("bottleneck.queue.weight", "tcp.preset", "flows.ftp.window", "max_flows"):
        with pytest.raises(KeyError, match="is not given, so its default holds") as unset:
            scenario()[key]
        assert not isinstance(unset.value, fl.FairlaneError)
        assert scenario().get(key, 7) == 7
    assert "flows.cbr.rat" not in scenario()


def test_a_scenario_is_written_and_read(tmp_path: Path) -> None:
    """Would catch a text that is taken for the name of a file."""
    ours = scenario()
    assert fl.Scenario.from_toml(ours.to_toml()) == ours
    path = tmp_path / "mine.toml"
    assert ours.save(path) == path
    assert fl.Scenario.from_toml(path) == ours
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(OSError, match="none"):
        ours.save(tmp_path / "none" / "mine.toml")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda it: it.sweep({"bottleneck.queue.min": ["5 packets"]}), r"^bottleneck\.queue\.min = 5 packets: "),
        (lambda it: it.sweep({"seed": "1..2/x"}), r'^seed = 1\.\.2/x: "x" is not a number of values'),
        (lambda it: it.sweep({"sed": [1]}), r'^sed = 1: sed: there is no key "sed" here; did you mean "seed"'),
        (lambda it: it.with_({"runs": 3}), r"is asked with the run: run\(runs=30\)"),
        (lambda _: fl.replay(CAPTURE, fl.Choke(min=30, max=20), rate="1mbit"), "^choke min: "),
    ],
)
def test_texts_do_not_speak_of_options(wrong: Callable[[fl.Scenario], Any], words: str) -> None:
    with pytest.raises(fl.ScenarioError, match=words) as refused:
        wrong(scenario())
    assert "--" not in f"{refused.value} {refused.value.help}"
