"""Numbers with a unit: texts are read by the library's parser, and tables have both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fairlane as fl
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

if TYPE_CHECKING:
    from pathlib import Path


def scenario() -> fl.Scenario:
    queue = fl.Choke(limit=60, min=5, max=20)
    return fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="1mbit", duration="2s", queue=queue)


def test_texts_are_numbers_and_back() -> None:
    assert [fl.rate(text) for text in ("64kbit", "1.5mbit", "10gbit", "0bit")] == [64_000, 1_500_000, 10_000_000_000, 0]
    assert [fl.seconds(text) for text in ("20ms", "5us", "1.5s", "80ns")] == pytest.approx([0.02, 5e-6, 1.5, 8e-8])
    assert [fl.rate_text(1e6), fl.rate_text(np.int64(177_828)), fl.rate_text(0.4)] == ["1mbit", "177828bit", "0bit"]
    assert [fl.seconds_text(0.02), fl.seconds_text(np.float32(1.5)), fl.seconds_text(0)] == ["20ms", "1500ms", "0ns"]
    with pytest.raises(fl.ScenarioError, match='a rate cannot be "20ms"'):
        fl.rate("20ms")
    with pytest.raises(fl.ScenarioError, match="a time cannot be"):
        fl.seconds("20")
    for wrong in (-1, float("nan"), float("inf")):
        with pytest.raises(fl.ScenarioError, match="is not a rate in bit/s"):
            fl.rate_text(wrong)


def test_plain_numbers_are_in_the_units_of_results() -> None:
    """Would catch a number that is taken for megabits or milliseconds."""
    text = fl.Scenario.dumbbell(
        tcp=2, udp="2mbit", rate="1mbit", duration="2s", warmup="500ms", packet="500b", delay="5ms"
    )
    number = fl.Scenario.dumbbell(
        tcp=2, udp=2e6, rate=np.int64(1_000_000), duration=2, warmup=0.5, packet=500, delay=0.005
    )
    assert number == text
    changed = scenario().with_({"duration": 4, "flows.cbr.rate": 3e6, "bottleneck.queue.limit": np.int32(90)})
    assert (changed["duration"], changed["flows.cbr.rate"], changed["bottleneck.queue.limit"]) == ("4s", "3mbit", "90p")
    changed["flows.ftp.packet"] = 500
    assert changed["flows.ftp.packet"] == "500b"
    # A key without a unit takes the number itself.
    assert changed.with_({"flows.ftp.count": 3, "bottleneck.queue.probability": 0.5})["flows.ftp.count"] == 3
    assert fl.Queue(fl.Choke(), rate=1e6).packets == 0
    assert fl.Choke().explain(1e6).rate == "1mbit"
    assert scenario().run(series=1).series == scenario().run(series="1s").series


def test_arrays_are_swept() -> None:
    swept = scenario().sweep({"flows.cbr.rate": np.geomspace(1e5, 1e7, 3), "bottleneck.queue.limit": [30, 60]})
    assert swept == scenario().sweep(
        {"flows.cbr.rate": ["100kbit", "1mbit", "10mbit"], "bottleneck.queue.limit": ["30p", "60p"]}
    )
    assert swept[0].point == {"flows.cbr.rate": "100kbit", "bottleneck.queue.limit": "30p"}


def test_tables_have_numbers_beside_the_text(tmp_path: Path) -> None:
    """Would catch a pivot that sorts 10mbit, 20mbit, 2mbit."""
    varied = {
        "flows.cbr.rate": ["100kbit", "177828bit", "1mbit"],
        "bottleneck.queue.limit": ["30p", "60p"],
        "duration": ["2s", "2500ms"],
    }
    swept = scenario().sweep(varied)
    groups = swept.groups
    # Two groups in each of twelve points.
    assert groups["flows.cbr.rate"] == [text for text in varied["flows.cbr.rate"] for _ in range(8)]
    assert groups["flows.cbr.rate_bps"] == [rate for rate in (1e5, 177_828.0, 1e6) for _ in range(8)]
    assert groups["bottleneck.queue.limit_packets"] == 3 * (4 * [30.0] + 4 * [60.0])
    assert groups["duration_s"] == 6 * [2.0, 2.0, 2.5, 2.5]
    assert {"flows.cbr.rate_bps", "duration_s"} <= {*swept.flows.columns} & {*swept.queues.columns}
    out = scenario().sweep(varied, out=tmp_path / "swept.parquet")
    assert pa.parquet.read_table(out).replace_schema_metadata(None) == groups.to_pyarrow()


def test_values_without_a_common_unit_are_text_alone(tmp_path: Path) -> None:
    varied = {"bottleneck.queue.limit": ["60p", "60kb"], "bottleneck.queue.kind": ["red", "choke"]}
    groups = scenario().sweep(varied).groups
    assert [name for name in groups.columns if name.startswith("bottleneck")] == list(varied)
    out = scenario().sweep(varied, out=tmp_path / "swept.parquet")
    assert pa.parquet.read_table(out).replace_schema_metadata(None) == groups.to_pyarrow()


def test_a_round_trip_has_the_length_that_was_asked_for() -> None:
    """One packet of 1000 bytes at a time: the delays, and the times of transmission there and of 40 bytes back."""
    alone = fl.Scenario.dumbbell(
        tcp=1, window=1, rate="10mbit", access_rate="100mbit", rtt="80ms", duration="10s", warmup="1s"
    )
    assert alone["access.delay"] == "19500us"
    there, back = 1000 * 8 * (1 / 10e6 + 2 / 100e6), 40 * 8 * (1 / 10e6 + 2 / 100e6)
    assert alone.run().group("ftp")["rtt_s"] == pytest.approx(0.08 + there + back, rel=0.001)
    with pytest.raises(TypeError, match="rtt: it says what access_delay is"):
        fl.Scenario.dumbbell(tcp=1, rate="1mbit", duration="2s", rtt="80ms", access_delay="1ms")
    with pytest.raises(fl.ScenarioError, match="rtt: 1ms is shorter than twice the bottleneck's delay of 1ms"):
        fl.Scenario.dumbbell(tcp=1, rate="1mbit", duration="2s", rtt="1ms")
