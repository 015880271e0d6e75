"""Tables for pandas, Polars, pyarrow, NumPy and xarray; `python/matrix` runs this file against several versions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import fairlane as fl
import pytest
import skip

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def swept() -> fl.Outcomes:
    queue = fl.Choke(limit=60, min=5, max=20)
    scenario = fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="3s", warmup="1s", queue=queue)
    return scenario.sweep({"flows.cbr.rate": ["500kbit", "2mbit"], "seed": [1, 2]})


def tables(outcomes: fl.Outcomes) -> list[fl.Table]:
    return [outcomes.groups, outcomes.flows, outcomes.queues, outcomes.each_run, outcomes.groups.head(0)]


def without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes every import of pyarrow fail, as where it is not installed."""
    for name in list(sys.modules):
        if name.split(".")[0] == "pyarrow":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)


@pytest.mark.parametrize("hide", [None, without_pyarrow])
def test_pandas_has_the_values(
    hide: Callable[[pytest.MonkeyPatch], None] | None, swept: fl.Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    pandas = skip.module("pandas")
    if hide is not None:
        hide(monkeypatch)
    for table in tables(swept):
        frame = table.to_pandas()
        assert frame.shape == table.shape
        assert list(frame.columns) == table.columns
        for name, kind in zip(table.columns, table._core.types, strict=True):
            values = [None if pandas.isna(value) else value for value in frame[name].tolist()]
            assert values == table[name]
            if kind != "text":
                assert str(frame[name].dtype) == {"u32": "uint32", "u64": "uint64", "f64": "float64"}[kind]
    pivot = swept.groups.to_pandas().pivot_table(index="flows.cbr.rate_bps", columns="group", values="share")
    assert list(pivot.index) == [5e5, 2e6]


def test_polars_has_the_values(swept: fl.Outcomes) -> None:
    polars = skip.module("polars")
    types = {"text": polars.String, "u32": polars.UInt32, "u64": polars.UInt64, "f64": polars.Float64}
    for table in tables(swept):
        frame = table.to_polars()
        assert frame.shape == table.shape
        assert frame.to_dict(as_series=False) == table.to_dict()
        assert [frame[name].dtype for name in table.columns] == [types[kind] for kind in table._core.types]


def test_pyarrow_has_the_values(swept: fl.Outcomes) -> None:
    skip.module("pyarrow")
    for table in tables(swept):
        assert table.to_pyarrow().to_pydict() == table.to_dict()


def test_numpy_is_taken(swept: fl.Outcomes) -> None:
    numpy = skip.module("numpy")
    again: Any = fl.Scenario.from_toml(swept._scenario)
    varied = {"flows.cbr.rate": numpy.array([5e5, 2e6]), "seed": numpy.arange(1, 3)}
    assert again.sweep(varied) == swept
    assert fl.Choke(limit=numpy.int64(60), probability=numpy.float32(0.5)) == fl.Choke(limit=60, probability=0.5)


def test_xarray_has_the_values(swept: fl.Outcomes) -> None:
    skip.module("xarray")
    array = swept.to_xarray()
    for outcome in swept:
        at = {
            "flows.cbr.rate": fl.rate(str(outcome.point["flows.cbr.rate"])),
            "point.seed": outcome.seed,
            "group": "cbr",
        }
        assert float(array["share"].sel(at)) == outcome.group("cbr")["share"]


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("pandas", lambda table: table.groups.to_pandas()),
        ("polars", lambda table: table.groups.to_polars()),
        ("pyarrow", lambda table: table.groups.to_pyarrow()),
        ("xarray", lambda outcomes: outcomes.to_xarray()),
    ],
)
def test_what_is_not_installed_is_said(
    library: str, call: Callable[[Any], object], swept: fl.Outcomes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    extra = {"pyarrow": "parquet"}.get(library, library)
    with pytest.raises(ImportError, match=rf"(?i)needs {library}: pip install 'fairlane\[{extra}\]'"):
        call(swept)
