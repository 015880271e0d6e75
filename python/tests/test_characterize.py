"""Characterizations by RFC 7928 are those of the command line."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
from pathlib import Path

import fairlane as fl
import polars as pl
import pytest
import skip

CLI = Path(os.environ.get("FAIRLANE", Path(__file__).parents[2] / "target/dist/fairlane"))
ONLY = ["friendly", "rtt", "operator"]


@pytest.fixture(scope="module")
def report() -> fl.Characterization:
    return fl.characterize([fl.Codel(target="10ms"), "choke"], only=ONLY, quick=True, runs=2, buffer="0.5bdp")


@skip.unless(CLI.exists(), "program", "not built: make build")
def test_it_is_that_of_the_command_line(report: fl.Characterization) -> None:
    """Would catch a setting or a number that is lost or changed on the way."""
    command = [str(CLI), "characterize", "codel,choke", "target=10ms", "--only", ",".join(ONLY), "--quick"]
    said = subprocess.run(
        [*command, "--runs", "2", "--buffer", "0.5bdp", "--json"], capture_output=True, text=True, check=True
    )
    theirs, ours = json.loads(said.stdout), report.to_dict()
    # The command line knows what a packet costs, and CHOKe has no target: it is given to CoDel alone.
    assert [section["cases"] for section in ours["sections"]] == [section["cases"] for section in theirs["sections"]]
    assert (ours["setup"], ours["subjects"]) == (theirs["setup"], theirs["subjects"])


def test_its_parts(report: fl.Characterization) -> None:
    assert report.subjects == ("droptail", "codel", "choke")
    assert "41 packets" in report.setup["Buffer"]
    assert [section.id for section in report.sections] == ONLY
    friendly, rtt, operator = report.sections
    assert (friendly.verdict, operator.verdict) == ("characterised", "discussed")
    assert set(operator.discussion) == set(report.subjects)
    assert any("10ms" in sentence for sentence in operator.discussion["codel"])
    # Each scenario is a file that can be run.
    assert rtt.scenarios
    assert all(fl.Scenario.from_toml(text).to_dict()["flows"] for text in rtt.scenarios.values())
    assert not report.partial
    assert repr(report) == "<Characterization of droptail, codel, choke: 3 sections>"


def test_its_tables(report: fl.Characterization) -> None:
    queues, groups = pl.DataFrame(report.queues), pl.DataFrame(report.groups)
    assert len(queues) == sum(len(section.scenarios) for section in report.sections) * 3
    assert set(queues["runs"]) == {2}
    friendly = queues.filter(pl.col("section") == "friendly")
    delay = dict(zip(friendly["queue"], friendly["delay_s"], strict=True))
    assert delay["codel"] < delay["droptail"]
    tree = report.to_dict()["sections"][0]["cases"][0]["subjects"][0]["groups"][0]
    first = groups.row(0, named=True)
    assert (first["section"], first["queue"], first["group"]) == ("friendly", "droptail", tree["name"])
    assert first["goodput_bps"] == tree["goodput_bps"]["mean"]
    assert first["goodput_bps_ci95"] == tree["goodput_bps"]["ci95"]
    assert [first[f"delay_p{at}_s"] for at in (50, 95, 99)] == [number["mean"] for number in tree["delay_s"]]
    assert first["completion_s"] is None
    assert first["startup_s"] is None


def test_its_page_and_its_copy(report: fl.Characterization, tmp_path: Path) -> None:
    file = report.html(tmp_path / "page.html")
    text = file.read_text()
    assert text == report.html()
    assert all(title in text for title in ("Round-trip-time fairness", "Characterization by RFC 7928"))
    again = pickle.loads(pickle.dumps(report))
    assert again == report
    assert again.html() == text
    assert "Control by the operator" in report._repr_html_()


def test_labels_tell_parameters_apart() -> None:
    queues = {"short": fl.Codel(target="1ms"), "long": fl.Codel(target="50ms")}
    report = fl.characterize(queues, only="friendly", quick=True, runs=1)
    assert report.subjects == ("droptail", "short", "long")
    delay = dict(zip(report.queues["queue"], report.queues["delay_s"], strict=True))
    assert delay["short"] < delay["long"]
    assert set(report.queues["delay_s_ci95"]) == {None}


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(fl.ScenarioError, match='there is no section "rt"') as refused:
        fl.characterize("codel", only="rt", quick=True)
    assert "rtt" in str(refused.value)
    with pytest.raises(fl.ScenarioError, match=r"^buffer: write bdp, 2bdp, or packets, 200p"):
        fl.characterize("codel", buffer="2 buffers")
    with pytest.raises(fl.ScenarioError, match=r"^rate: "):
        fl.characterize("codel", rate="fast")
    with pytest.raises(fl.ScenarioError, match=r"^rate: a link needs a rate above zero"):
        fl.characterize("codel", rate="0mbit")
    with pytest.raises(ValueError, match="buffer: 0 is out of range"):
        fl.characterize("codel", buffer=0)
    with pytest.raises(TypeError, match="a discipline is a name or one such as"):
        fl.characterize([7])  # type: ignore[list-item]
    with pytest.raises(fl.ScenarioError, match="codle"):
        fl.characterize("codle")


def test_ctrl_c_keeps_the_finished_runs() -> None:
    told: list[tuple[int, int]] = []

    def once(done: int, total: int) -> None:
        told.append((done, total))
        if 0 < done < total and len([1 for before, _ in told if before]) == 1:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(fl.Interrupted, match=r"interrupted: \d+ of \d+ runs are done") as stopped:
        fl.characterize("codel", only=["mild", "two-way"], jobs=1, runs=3, progress=once)
    report = stopped.value.characterization
    assert report is not None
    assert report.partial
    assert 0 < sum(report.queues["runs"]) < told[0][1]
    again = pickle.loads(pickle.dumps(stopped.value))
    assert again.characterization == report
