"""The modules that `import fairlane` loads; every name exists although most modules are loaded later."""

import re
import subprocess
import sys
from pathlib import Path

import every_name
import fairlane as fl
import pytest

ROOT = Path(__file__).parents[2]

HEAVY = {
    "concurrent",
    "contextlib",
    "dataclasses",
    "enum",
    "hashlib",
    "html",
    "inspect",
    "json",
    "logging",
    "pathlib",
} | {
    "pickle",
    "random",
    "re",
    "typing",
    "warnings",
}
"""Modules that take milliseconds to import, while a sweep of a hundred runs takes half a second."""

SWEEP = f"""
import sys
before = set(sys.modules)
import fairlane as fl
print(*sorted(set(sys.modules) - before))
scenario = fl.Scenario.from_toml({str(ROOT / "scenarios/choke-fig3.toml")!r}).with_({{"duration": "21s"}})
assert len(scenario.sweep({{"seed": "1..4/4"}}, runs=2)) == 4
print(*sorted(set(sys.modules) - before))
"""

# mypy checks each of these too: would catch a name that only the interpreter finds.
NAMES = {
    "Ack": fl.Ack,
    "Advice": fl.Advice,
    "Application": fl.Application,
    "ArgumentError": fl.ArgumentError,
    "Characterization": fl.Characterization,
    "Client": fl.Client,
    "Completed": fl.Completed,
    "CongestionControl": fl.CongestionControl,
    "CongestionError": fl.CongestionError,
    "CongestionEvent": fl.CongestionEvent,
    "Connection": fl.Connection,
    "Count": fl.Count,
    "Counters": fl.Counters,
    "Discipline": fl.Discipline,
    "DisciplineError": fl.DisciplineError,
    "DropSink": fl.DropSink,
    "Ecn": fl.Ecn,
    "Endpoint": fl.Endpoint,
    "EndpointError": fl.EndpointError,
    "Event": fl.Event,
    "Explanation": fl.Explanation,
    "Failure": fl.Failure,
    "FairlaneError": fl.FairlaneError,
    "Fingerprint": fl.Fingerprint,
    "FlowState": fl.FlowState,
    "Host": fl.Host,
    "Interrupted": fl.Interrupted,
    "LabError": fl.LabError,
    "MissingFileError": fl.MissingFileError,
    "Outcome": fl.Outcome,
    "Outcomes": fl.Outcomes,
    "Outgoing": fl.Outgoing,
    "OwnApplication": fl.OwnApplication,
    "OwnCongestion": fl.OwnCongestion,
    "OwnDiscipline": fl.OwnDiscipline,
    "OwnEndpoints": fl.OwnEndpoints,
    "Packet": fl.Packet,
    "Queue": fl.Queue,
    "QueueConfig": fl.QueueConfig,
    "QueueState": fl.QueueState,
    "Resolved": fl.Resolved,
    "Scenario": fl.Scenario,
    "ScenarioError": fl.ScenarioError,
    "Section": fl.Section,
    "Series": fl.Series,
    "Server": fl.Server,
    "Shell": fl.Shell,
    "ShellError": fl.ShellError,
    "Simulation": fl.Simulation,
    "StateError": fl.StateError,
    "SomeDiscipline": fl.SomeDiscipline,
    "SweepFile": fl.SweepFile,
    "SweepStopped": fl.SweepStopped,
    "Table": fl.Table,
    "Tuning": fl.Tuning,
    "UnknownKeyError": fl.UnknownKeyError,
    "Window": fl.Window,
    "__version__": fl.__version__,
    "advise": fl.advise,
    "characterize": fl.characterize,
    "disciplines": fl.disciplines,
    "lab": fl.lab,
    "papers": fl.papers,
    "rate": fl.rate,
    "rate_text": fl.rate_text,
    "replay": fl.replay,
    "seconds": fl.seconds,
    "seconds_text": fl.seconds_text,
    "shell": fl.shell,
    "theory": fl.theory,
}


def test_a_plain_sweep_reads_no_more_than_it_needs() -> None:
    """Would catch an import that makes every short program slower."""
    # Without the packages of the tests, and without modules that an environment loads at its start.
    said = subprocess.run([sys.executable, "-I", "-c", SWEEP], capture_output=True, text=True, check=True)
    read = [line.split() for line in said.stdout.splitlines()]
    assert [name for name in read[0] if name.startswith("fairlane")] == ["fairlane", "fairlane.disciplines"]
    assert not {name.split(".")[0] for name in read[0]} & HEAVY
    # Ctrl-C needs signal, which reads enum: 3 ms.
    assert {name.split(".")[0] for name in read[1]} & HEAVY == {"enum"}
    assert "fairlane.scenario" in read[1]


def test_every_name_is_there() -> None:
    assert set(fl.__all__) == set(NAMES) | set(fl.disciplines.__all__) - {"ALL"}
    assert len(fl.__all__) == len(set(fl.__all__))
    assert set(fl.__all__) <= set(dir(fl))
    assert all(hasattr(fl, name) for name in dir(fl))
    every: dict[str, object] = {}
    exec("from fairlane import *", every)  # noqa: S102 - it is a statement of modules only
    assert set(every) - {"__builtins__"} == set(fl.__all__)
    assert every["Choke"] is fl.Choke is fl.disciplines.Choke
    assert [kind.__name__ for kind in fl.disciplines.ALL] == list(fl.disciplines._FILES)


def test_a_script_with_every_name_is_checked_and_runs(tmp_path: Path) -> None:
    """Would catch a name that type checkers do not find: `python/lint` reads this script with mypy and pyright."""
    named = set(re.findall(r"\bfl\.(\w+)", (ROOT / "python/tests/every_name.py").read_text()))
    assert named == set(fl.__all__)
    assert {type(queue) for queue in every_name.disciplines()} == set(fl.disciplines.ALL)
    pandas, polars = every_name.tables(tmp_path)
    assert (pandas.shape[0], polars["label"].to_list()) == (3, ["mine", "mine"])
    assert every_name.packets().arrived.packets == 1
    missing = tmp_path / "none.pcap"
    assert every_name.errors(missing)[0] == f"{missing}: {missing}: this file does not exist"


def test_a_name_that_is_not_there_is_missed() -> None:
    with pytest.raises(AttributeError, match="module 'fairlane' has no attribute 'Chok'"):
        _ = fl.Chok  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"module 'fairlane\.disciplines' has no attribute 'Chok'"):
        _ = fl.disciplines.Chok  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="cannot import name 'Chok'"):
        from fairlane import Chok  # type: ignore[attr-defined] # noqa: F401, PLC0415
