"""The figures show the numbers of the outcomes, and neither library is needed for anything else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import fairlane as fl
import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from fairlane import _figures, plot

if TYPE_CHECKING:
    from collections.abc import Iterator

mpl.use("agg")


def points(line: Any) -> list[tuple[float, float]]:
    """The points of a line."""
    return [(float(x), float(y)) for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def scenario() -> fl.Scenario:
    queue = fl.Choke(limit=60, min=10, max=40)
    return fl.Scenario.dumbbell(tcp=6, udp="2mbit", rate="1mbit", duration="10s", warmup="2s", queue=queue)


@pytest.fixture(scope="module")
def compared(scenario: fl.Scenario) -> fl.Outcomes:
    return scenario.compare(["droptail", "choke"], runs=3)


def test_shares_are_those_of_the_groups(compared: fl.Outcomes) -> None:
    ax = compared.plot.shares()
    drawn = [patch.get_width() for container in ax.containers for patch in getattr(container, "patches", [])]
    said = [100 * outcome.group(name)["share"] for outcome in compared for name in ("ftp", "cbr")]
    # Six downloads and a flood on one link: equal rates.
    fair = [100 * 6 / 7, 100 / 7]
    assert sorted(drawn) == pytest.approx(sorted(fair + said))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["max-min fair", "droptail", "choke"]


def test_flows_stand_in_the_order_of_their_throughput(compared: fl.Outcomes) -> None:
    ax = compared[1].plot.flows()
    drawn = sorted(point for line in ax.get_lines() if str(line.get_marker()) in "os" for point in points(line))
    said = sorted(rate / 1e6 for rate in compared[1].flows["throughput_bps"])
    assert [x for x, _ in drawn] == list(range(1, 8))
    assert [y for _, y in drawn] == pytest.approx(said)
    with pytest.raises(ValueError, match=r"of one outcome, and there are 2"):
        compared.plot.flows()


def test_delays_cross_one_half_at_the_median(scenario: fl.Scenario) -> None:
    outcome = scenario.run()
    (line,) = outcome.plot.delays().get_lines()
    drawn = points(line)
    assert [drawn[0][1], drawn[-1][1]] == pytest.approx([0, 100])
    median = next(at for at, part in drawn if part >= 50)
    assert median == pytest.approx(1000 * outcome.queue()["delay_s"]["p50"], rel=0.02)


def test_series_add_up_to_the_groups(scenario: fl.Scenario) -> None:
    outcome = scenario.run(series="500ms")
    above, below = outcome.plot.series()
    for line in above.get_lines():
        rates = [rate for at, rate in points(line) if at > 2]
        said = outcome.group(str(line.get_label()))["throughput_bps"] / 1e6
        # At the receiver and at the queue's exit: they differ by the packets on the wire.
        assert sum(rates) / len(rates) == pytest.approx(said, rel=0.02)
    assert [line.get_label() for line in below.get_lines()] == ["bottleneck", "bottleneck, average"]
    with pytest.raises(ValueError, match="no series was asked for"):
        scenario.run().plot.series()


def test_a_sweep_stands_against_its_key(scenario: fl.Scenario) -> None:
    varied = {"flows.cbr.rate": "100kbit..10mbit/3log", "bottleneck.queue.kind": ["red", "choke"]}
    swept = scenario.sweep(varied, runs=3)
    ax = swept.plot.sweep()
    assert (ax.get_xlabel(), ax.get_xscale()) == ("flows.cbr.rate (Mb/s)", "log")
    assert ax.get_ylabel() == "share (%)"
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    assert sorted(lines) == ["cbr, kind=choke", "cbr, kind=red", "ftp, kind=choke", "ftp, kind=red"]
    assert [x for x, _ in points(lines["cbr, kind=red"])] == pytest.approx([0.1, 1, 10])
    said = [100 * outcome.group("cbr")["share"] for outcome in swept if outcome.queue()["kind"] == "red"]
    assert [y for _, y in points(lines["cbr, kind=red"])] == pytest.approx(said)
    assert len(ax.collections) == 4, "a band for each line"
    other = swept.plot.sweep("queue_delay_mean_s", x="bottleneck.queue.kind")
    assert [label.get_text() for label in other.get_xticklabels()] == ["red", "choke"]
    assert other.get_ylabel() == "queue delay mean (ms)"


@pytest.mark.parametrize(
    ("values", "scaled"),
    [
        (["100kbit", "1.5mbit"], ([0.1, 1.5], "Mb/s")),
        (["10p", "90p"], ([10.0, 90.0], "packets")),
        (["500us", "20ms"], ([0.5, 20.0], "ms")),
        (["bdp", "0.5bdp"], ([1.0, 0.5], "bdp")),
        (["1kb", "1kib"], ([1000.0, 1024.0], "bytes")),
        ([1, 2.5], ([1.0, 2.5], "")),
        (["10p", "10ms"], (None, "")),
        (["red", "choke"], (None, "")),
        (["no bdp", "bdp"], (None, "")),
        ([True, False], (None, "")),
    ],
)
def test_values_with_units_are_numbers(values: list[Any], scaled: tuple[Any, str]) -> None:
    numbers, unit = _figures._scale(values)
    assert (numbers if numbers is None else pytest.approx(numbers), unit) == scaled


def test_a_null_is_left_out_of_a_line(scenario: fl.Scenario) -> None:
    """The last flood starts at the end of the run, so its group gets nothing and has no index."""
    swept = scenario.sweep({"flows.cbr.start": ["0s", "1s", "9999ms"]})
    assert [outcome.group("cbr").get("jain") for outcome in swept] == [1.0, 1.0, None]
    lines = {str(line.get_label()): points(line) for line in swept.plot.sweep("jain").get_lines()}
    assert (len(lines["cbr"]), len(lines["ftp"])) == (2, 3)
    with pytest.raises(ValueError, match="there is no column 'jain'"):
        scenario.sweep({"flows.cbr.start": ["9999ms"], "flows.ftp.start": ["9999ms"]}).plot.sweep("jain")


def test_shares_whose_sum_rounds_above_100_have_intervals() -> None:
    parts: list[tuple[str, float, float | None]] = [
        ("a", 64.38848306271797, 1.0),
        ("b", 35.61151693728204, 1.0),
        ("c", 0.0, 1.0),
    ]
    ax = plot._bars(_figures.Bars("share (%)", [("", parts)]), None)
    assert len(ax.containers) >= 3


def test_what_cannot_be_drawn_is_said(scenario: fl.Scenario, compared: fl.Outcomes) -> None:
    with pytest.raises(ValueError, match="only outcomes of a sweep"):
        compared.plot.sweep()
    swept = scenario.sweep({"seed": [1, 2]})
    with pytest.raises(ValueError, match=r"there is no column 'speed' in the table of groups: it has outcome, "):
        swept.plot.sweep("speed")
    with pytest.raises(ValueError, match="duration was not varied: there are seed"):
        swept.plot.sweep(x="duration")
    with pytest.raises(ValueError, match="queue_kind is no number"):
        swept.plot.sweep("queue_kind")
    with pytest.raises(ValueError, match="there is no outcome to draw"):
        swept[:0].plot.shares()


def test_altair_draws_the_same_numbers(scenario: fl.Scenario, compared: fl.Outcomes) -> None:
    def values(chart: Any) -> list[Any]:
        tree = chart.to_dict()
        return [row for layer in tree["layer"] for row in layer.get("data", tree.get("data", {}))["values"]]

    shares = [row["value"] for row in values(compared.plot.altair.shares()) if "group" in row]
    said = [100 * o.group(name)["share"] for o in compared for name in ("ftp", "cbr")]
    assert shares == pytest.approx([100 * 6 / 7, 100 / 7, *said])
    ends = [(row["low"], row["high"]) for row in values(compared.plot.altair.shares()) if "low" in row]
    widths = [200 * o.group("ftp")["share_ci95"] for o in compared]
    assert [high - low for low, high in ends] == pytest.approx(widths)
    assert [(low + high) / 2 for low, high in ends] == pytest.approx([100 * o.group("ftp")["share"] for o in compared])
    flows = [row["y"] for row in values(compared[1].plot.altair.flows())]
    assert set(flows) == {rate / 1e6 for rate in compared[1].flows["throughput_bps"]}
    assert max(row["y"] for row in values(compared.plot.altair.delays())) == pytest.approx(100)
    swept = scenario.sweep({"flows.cbr.rate": ["100kbit", "1mbit"]}).plot.altair.sweep("jain")
    assert {row["x"] for row in values(swept)} == {0.1, 1.0}
    assert len(scenario.run(series="1s").plot.altair.series().to_dict()["vconcat"]) == 2


@pytest.mark.parametrize(
    ("library", "draw", "words"),
    [("matplotlib.pyplot", "outcome.plot.shares()", "[plot]"), ("altair", "outcome.plot.altair.shares()", "[altair]")],
)
def test_neither_library_is_needed_until_it_draws(library: str, draw: str, words: str) -> None:
    script = f"""
import sys
import fairlane as fl
outcome = fl.Scenario.figure_3().with_({{"duration": "2s", "warmup": "0s"}}).run()
outcome.plot.altair, str(outcome)
assert not {{"matplotlib", "altair", "numpy", "pandas"}} & set(sys.modules)
sys.modules["{library}"] = None
try:
    {draw}
except ImportError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    assert f"pip install 'fairlane{words}'" in said.stdout
