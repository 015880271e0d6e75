"""Parts of outcomes, tables of each run, and arrays with a dimension for each key."""

from __future__ import annotations

import pickle
import statistics

import fairlane as fl
import numpy as np
import pytest


@pytest.fixture(scope="module")
def swept() -> fl.Outcomes:
    queue = fl.Choke(limit=60, min=5, max=20)
    scenario = fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="3s", warmup="1s", queue=queue)
    return scenario.sweep({"flows.cbr.rate": ["500kbit", "1mbit", "2mbit"], "seed": [1, 2]}, runs=3)


def test_each_run_is_a_row(swept: fl.Outcomes) -> None:
    """The mean and the spread of the runs are those of the outcome."""
    table = swept.each_run
    rows = [dict(zip(table.columns, row, strict=True)) for row in zip(*table.to_dict().values(), strict=True)]
    assert len(rows) == 6 * 3 * 2
    assert [row["run"] for row in rows[:6]] == [0, 0, 1, 1, 2, 2]
    for number, outcome in enumerate(swept):
        for name in ("ftp", "cbr"):
            runs = [row for row in rows if row["outcome"] == number and row["group"] == name]
            group = outcome.group(name)
            assert statistics.mean(row["throughput_bps"] for row in runs) == pytest.approx(group["throughput_bps"])
            # Student's t for two degrees of freedom.
            half = 4.3027 * statistics.stdev(row["share"] for row in runs) / 3**0.5
            assert half == pytest.approx(group["share_ci95"], rel=1e-4)
        delays = {row["run"]: row["queue_delay_mean_s"] for row in rows if row["outcome"] == number}
        assert statistics.mean(delays.values()) == pytest.approx(outcome.queue()["delay_s"]["mean"])
    assert table["flows.cbr.rate_bps"][0] == 5e5


def test_a_single_run_is_one_row_a_group() -> None:
    outcome = fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="3s").run()
    table = outcome.each_run
    assert table["run"] == [0, 0]
    assert table["share"] == outcome.groups["share"]
    assert table["queue_utilisation"] == outcome.groups["queue_utilisation"]


def test_outcomes_are_found_by_their_values(swept: fl.Outcomes) -> None:
    assert [outcome.seed for outcome in swept.filter({"flows.cbr.rate": "1mbit"})] == [1, 2]
    assert swept.filter({"flows.cbr.rate": 1e6}) == swept.filter({"flows.cbr.rate": "1000kbit"}) == swept[2:4]
    assert swept.filter({"flows.cbr.rate": np.array([5e5, 2e6]), "seed": 2}) == fl.Outcomes([swept[1], swept[5]])
    assert len(swept.filter(lambda outcome: outcome.seed == 1)) == 3
    assert len(swept.filter({"seed": True})) == 0
    assert len(swept.filter({"label": "choke"})) == 6
    assert swept.filter({"seed": 1}).plot.sweep("jain").get_xlabel() == "flows.cbr.rate (Mb/s)"
    with pytest.raises(KeyError, match=r"'sed' was not varied: there are flows\.cbr\.rate, seed, label"):
        swept.filter({"sed": 1})
    with pytest.raises(KeyError, match="6 outcomes are called 'choke'"):
        swept["choke"]
    with pytest.raises(KeyError, match="there is no outcome 'red' among choke"):
        swept["red"]


def test_outcomes_are_added(swept: fl.Outcomes) -> None:
    both = swept[:2] + swept[4:]
    assert [outcome.point["flows.cbr.rate"] for outcome in both] == 2 * ["500kbit"] + 2 * ["2mbit"]
    assert both.groups["outcome"] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert swept[:3] + swept[3:] == swept
    with pytest.raises(TypeError):
        swept + [1]  # type: ignore[operator]  # noqa: RUF005


def test_tables_are_values(swept: fl.Outcomes) -> None:
    table = swept.groups
    assert table.shape == (12, len(table.columns))
    assert table == swept.groups
    assert table != swept.flows
    assert table != swept[:3].groups
    assert table.head(2)["group"] == ["ftp", "cbr"]
    assert table.head(2) == swept[:1].groups.head()
    assert table.head(100) == table
    assert table.head(0).shape == (0, table.shape[1])
    assert pickle.loads(pickle.dumps(table)) == table
    assert pickle.loads(pickle.dumps(table.head(0))).columns == table.columns
    with pytest.raises(ValueError, match="rows: -1 is out of range"):
        table.head(-1)
    with pytest.raises(TypeError):
        hash(table)


def test_arrays_have_a_dimension_for_each_key(swept: fl.Outcomes) -> None:
    array = swept.to_xarray()
    assert dict(array.sizes) == {"flows.cbr.rate": 3, "point.seed": 2, "group": 2}
    assert array["flows.cbr.rate"].values.tolist() == [5e5, 1e6, 2e6]
    assert array["flows.cbr.rate"].attrs["units"] == "bit/s"
    for outcome in swept:
        at = {
            "flows.cbr.rate": fl.rate(str(outcome.point["flows.cbr.rate"])),
            "point.seed": outcome.seed,
            "group": "cbr",
        }
        assert float(array["share"].sel(at)) == outcome.group("cbr")["share"]
    compared = (
        fl.Scenario.figure_3().with_({"duration": 4, "warmup": 2}).compare([fl.Choke(limit=100), fl.Choke(limit=300)])
    )
    assert compared.to_xarray()["label"].values.tolist() == ["choke limit=100p", "choke limit=300p"]
    with pytest.raises(ValueError, match="several outcomes have the same"):
        (swept + swept).to_xarray()


def test_a_sweep_of_three_keys_is_drawn_in_parts(swept: fl.Outcomes) -> None:
    """Would catch a figure with a line for every combination in the legend."""
    axes = swept.plot.sweep("share", hue="group", facet="seed")
    assert [one.get_title() for one in axes] == ["seed=1", "seed=2"]
    assert axes[0].get_ylim() == axes[1].get_ylim()
    for one, seed in zip(axes, (1, 2), strict=True):
        assert [line.get_label() for line in one.get_lines()] == ["ftp", "cbr"]
        drawn = list(np.asarray(one.get_lines()[1].get_ydata()))
        assert drawn == [100 * outcome.group("cbr")["share"] for outcome in swept.filter({"seed": seed})]
    ax = swept.plot.sweep("share", hue="group")
    colours = {str(line.get_label()): line.get_color() for line in ax.get_lines()}
    assert list(colours) == ["ftp, seed=1", "cbr, seed=1", "ftp, seed=2", "cbr, seed=2"]
    assert colours["ftp, seed=1"] == colours["ftp, seed=2"] != colours["cbr, seed=1"]
    # The axis is the key with the most numbers.
    assert ax.get_xlabel() == "flows.cbr.rate (Mb/s)"
    charts = swept.plot.altair.sweep("share", hue="group", facet="seed").to_dict()
    assert [chart["title"] for chart in charts["hconcat"]] == ["seed=1", "seed=2"]
    for given, words in (
        ({"hue": "rate"}, "hue: rate cannot be shown so: there are group, seed"),
        ({"hue": "seed", "facet": "seed"}, "facet: seed is already shown by hue"),
        ({"facet": "group", "y": "queue_delay_mean_s"}, "facet: group cannot be shown so: there are seed"),
        ({"facet": "seed", "ax": ax}, "ax: facets have axes of their own"),
    ):
        with pytest.raises(ValueError, match=words):
            swept.plot.sweep(**given)
