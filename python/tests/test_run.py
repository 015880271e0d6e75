"""Runs, comparisons, sweeps, their outcomes, and their end by Ctrl-C."""

import json
import os
import pickle
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import fairlane as fl
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import skip

ROOT = Path(__file__).parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))


def short(**changes: object) -> fl.Scenario:
    return fl.Scenario.figure_3().with_({"duration": "4s", "warmup": "2s", **changes})


def without_cost(tree: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in tree.items() if key != "cost"}


needs_cli = skip.unless(CLI.exists(), "program", "not built: make build")


def printed(*arguments: object) -> dict[str, object]:
    said = subprocess.run([CLI, *map(str, arguments), "--json"], capture_output=True, text=True, check=True)
    tree: dict[str, object] = json.loads(said.stdout)
    return tree


@needs_cli
@pytest.mark.parametrize("path", sorted((ROOT / "scenarios").glob("*.toml"))[::6], ids=lambda path: path.stem)
def test_the_command_line_measures_the_same(path: Path) -> None:
    """Equal bit by bit, since Python reads every float in JSON exactly."""
    changes = {"duration": "3s", "warmup": "1s"}
    ours = fl.Scenario.from_toml(path).with_(changes).run(seed=3, runs=2).to_dict()
    options = [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]
    theirs = printed("run", path, *options, "--seed", 3, "--runs", 2)
    assert without_cost(ours) == without_cost(theirs)
    assert list(ours) == list(theirs)


@pytest.mark.parametrize("line", (ROOT / "scenarios/fingerprints.csv").read_text().splitlines()[1::6])
def test_the_fingerprints_are_those_on_record(line: str) -> None:
    name, until, strict, loose = line.split(",")
    scenario = fl.Scenario.from_toml(ROOT / f"scenarios/{name}.toml").with_({"warmup": "0s", "duration": until})
    assert scenario.fingerprint() == fl.Fingerprint(strict, loose)


@needs_cli
def test_comparisons_and_sweeps_are_those_of_the_command_line() -> None:
    changes = ["--set", "duration=4s", "--set", "warmup=2s"]
    kinds = ["droptail", "sfb", "fq-codel"]
    theirs = printed("compare", *changes, "--queue", ",".join(kinds), "--runs", 2)["outcomes"]
    assert isinstance(theirs, list)
    ours = short().compare(kinds, runs=2).to_dict()["outcomes"]
    assert [without_cost(outcome) for outcome in ours] == [without_cost(outcome) for outcome in theirs]
    file = ROOT / "scenarios/choke-fig3.toml"
    vary = ["--vary", "flows.cbr.rate=1mbit..4mbit/3log", "--vary", "bottleneck.queue.kind=red,choke"]
    theirs = printed("sweep", file, *changes, *vary)["outcomes"]
    assert isinstance(theirs, list)
    ours = short().sweep({"flows.cbr.rate": "1mbit..4mbit/3log", "bottleneck.queue.kind": ["red", "choke"]})
    assert [without_cost(outcome.to_dict()) for outcome in ours] == [without_cost(outcome) for outcome in theirs]


def test_an_outcome_has_its_tables() -> None:
    outcome = short().run(runs=2)
    tree = outcome.to_dict()
    assert pl.DataFrame(outcome.flows)["throughput_bps"].to_list() == [flow["throughput_bps"] for flow in tree["flows"]]
    assert pa.table(outcome.groups).column("group").to_pylist() == ["ftp", "cbr"]
    assert isinstance(outcome.queues.to_pandas(), pd.DataFrame)
    assert outcome.flows.to_polars().shape == (33, len(outcome.flows.columns))
    assert outcome.flows.to_pyarrow().num_rows == 33
    assert outcome.groups["share_ci95"] == [group["share_ci95"] for group in tree["groups"]]
    assert sum(outcome.delay_histogram["packets"]) == pytest.approx(2 * tree["queues"][0]["departed"])
    assert len(outcome.queue_flows) == 33
    assert outcome.group("cbr")["flows"] == 1
    with pytest.raises(KeyError, match="web"):
        outcome.group("web")
    with pytest.raises(KeyError):
        outcome.flows["none"]


def test_an_outcome_survives_a_pickle_with_all_it_has() -> None:
    watched = short().run(series="500ms", trace=True)
    again = pickle.loads(pickle.dumps(watched))
    assert again == watched
    assert again.series.flows.to_dict() == watched.series.flows.to_dict()
    assert again.trace.to_dict() == watched.trace.to_dict()
    recorded = short().run()
    again = pickle.loads(pickle.dumps(recorded))
    assert again.delay_histogram.to_dict() == recorded.delay_histogram.to_dict()
    assert again.html() == recorded.html()
    assert again != watched.to_dict()
    with pytest.raises(ValueError, match="no series was asked for"):
        _ = recorded.series
    with pytest.raises(ValueError, match="no trace was asked for"):
        _ = recorded.trace


def test_a_shaper_stands_before_its_link() -> None:
    scenario = fl.Scenario.from_toml(ROOT / "scenarios/autorate.toml")
    scenario["duration"] = "20s"
    adjusted = scenario.run()
    scenario["bottleneck.shaper.kind"] = "fixed"
    fixed = scenario.run()
    assert [adjusted.queue(name)["kind"] for name in ("bottleneck", "bottleneck/buffer")] == ["fq-codel", "droptail"]
    assert 3 * adjusted.queue()["delay_s"]["p95"] < fixed.queue()["delay_s"]["p95"]
    assert "Rate of bottleneck" in adjusted.html()
    assert pickle.loads(pickle.dumps(adjusted)).html() == adjusted.html()


def test_series_and_trace_add_up_to_the_outcome() -> None:
    outcome = short(warmup="1ms").run(series="1s", trace=True)
    queue = outcome.queue()
    series = outcome.series.queues.to_polars()
    assert series["time_s"].to_list() == [1, 2, 3, 4]
    events = outcome.trace.to_polars()["event"].value_counts()
    counts = dict(zip(events["event"], events["count"], strict=True))
    assert sum(series["departed"]) == counts["departed"] == queue["departed"]
    assert sum(series["arrived"]) == counts["arrived"] == queue["arrived"]
    assert len(short().run(series="1s", queue=fl.Red()).series.queues) == 4
    assert short().run(series="1s", queue="red").queue()["kind"] == "red"


def test_pages_and_representations(tmp_path: Path) -> None:
    outcomes = short().compare()
    page = tmp_path / "page.html"
    # As the last line of a notebook's cell a page would be a megabyte of output.
    assert outcomes.html(page) == page
    assert outcomes.html() == page.read_text()
    assert list(tmp_path.iterdir()) == [page]
    assert "Over time" in page.read_text()
    assert "One unresponsive flow" in outcomes[0].html()
    assert repr(outcomes) == "<Outcomes of a compare: 3>"
    assert repr(outcomes[1]) == "<Outcome of 'One unresponsive flow', seed 1, 1 runs>"
    assert outcomes._repr_html_().count("<tr>") == 7
    assert "<td>cbr</td>" in outcomes[0]._repr_html_()
    assert "<td>ftp/0</td>" in outcomes[0].flows._repr_html_()
    assert "choke" in str(outcomes)
    assert isinstance(outcomes[1:], fl.Outcomes)
    assert json.loads(outcomes.to_json()) == outcomes.to_dict()


def test_seeds_and_cores() -> None:
    scenario = short()
    assert scenario.run() == scenario.run(seed=1) == scenario.run(jobs=1)
    assert scenario.run(seed=2) != scenario.run()
    assert scenario["seed"] == 1
    assert scenario.sweep({"seed": [1, 2]}, jobs=1) == scenario.sweep({"seed": [1, 2]}, jobs=2)


def test_what_cannot_be_run_is_refused() -> None:
    scenario = short()
    for refused in (
        lambda: scenario.run(runs=0),
        lambda: scenario.run(jobs=0),
        lambda: scenario.run(series="1s", runs=2),
        lambda: scenario.run(series="soon"),
        lambda: scenario.run(series="0s"),
        lambda: scenario.compare(["chok"]),
        lambda: scenario.sweep({"flows.cbr.rate": ["1mbit", "1"]}),
        lambda: scenario.sweep({"flows.cbr.rate": "1mbit..2s/3"}),
    ):
        with pytest.raises(ValueError):
            refused()
    for mistaken in (
        lambda: scenario.compare("red"),
        lambda: scenario.sweep({"seed": [object()]}),
        lambda: scenario.run(runs="two"),  # type: ignore[arg-type]
        lambda: scenario.run(queue=3),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            mistaken()


def test_progress_is_told_and_can_fail() -> None:
    told: list[tuple[int, int]] = []
    short().run(runs=3, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (3, 3)

    def fails(_done: int, _total: int) -> None:
        raise LookupError("of mine")

    with pytest.raises(LookupError, match="of mine"):
        short().run(progress=fails)


def test_nothing_is_shown_on_a_pipe(capfd: pytest.CaptureFixture[str]) -> None:
    short().run()
    assert capfd.readouterr().err == ""


def test_other_threads_go_on() -> None:
    """Would catch a run that holds the interpreter's lock."""
    ticks = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    short(duration="1000s").run(jobs=1)
    stop.set()
    thread.join()
    assert len(ticks) > 3


TWO_LINKS = """
duration = "3s"
warmup = "1s"
[[links]]
name = "first"
from = "a"
to = "b"
rate = "2mbit"
queue = { kind = "choke" }
[[links]]
name = "second"
from = "b"
to = "c"
rate = "1mbit"
queue = { kind = "red" }
[[flows]]
name = "ftp"
kind = "tcp"
from = "a"
to = "c"
[[flows]]
name = "flood"
kind = "udp"
rate = "500kbit"
from = "a"
to = "b"
"""


def test_tables_show_one_queue_or_name_all(tmp_path: Path) -> None:
    """Would catch a column of numbers of different queues."""
    scenario = fl.Scenario.from_string(TWO_LINKS)
    queues = ["droptail", "fq-codel"]
    rows = scenario.compare(queues).groups.to_dict()
    named = list(zip(rows["outcome"], rows["group"], rows["queue"], strict=True))
    each = [("ftp", "first"), ("ftp", "second"), ("flood", "first")]
    assert named == [(outcome, *pair) for outcome in (0, 1) for pair in each]
    outcomes = scenario.compare(queues, at="second")
    assert set(outcomes.groups.to_dict()["queue"]) == {"second", ""}
    assert "queue second" in str(outcomes)
    assert outcomes[0].to_dict()["at"] == "second"
    varied = {"links.second.rate": ["1mbit", "4mbit"]}
    here = scenario.sweep(varied, at="second")
    with ThreadPoolExecutor(1) as executor:
        assert scenario.sweep(varied, at="second", executor=executor) == here
    file = scenario.sweep(varied, at="second", out=tmp_path / "swept.parquet")
    assert set(pa.parquet.read_table(file)["queue"].to_pylist()) == {"second", ""}
    with pytest.raises(fl.ScenarioError, match="it shows the queue second, and not first"):
        scenario.sweep(varied, at="first", out=tmp_path / "swept.parquet")
    with pytest.raises(ValueError, match="name one of them: first, second"):
        scenario.compare(queues, at="third")


def test_fair_rates_and_limits_are_told() -> None:
    """A flow of 500 kbit/s has what it demands of 2 Mbit/s, and the download the whole second link."""
    outcome = fl.Scenario.from_string(TWO_LINKS).run()
    assert (outcome.group("ftp")["fair_bps"], outcome.group("flood")["fair_bps"]) == pytest.approx((1e6, 0.5e6))
    assert outcome.notes == []
    slow = fl.Scenario.from_string(TWO_LINKS + 'access = { rate = "400kbit" }\n').run()
    assert "carry 400kbit, less than the 500kbit" in slow.notes[0]
