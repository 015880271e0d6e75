"""The example with a QUIC library in Python: its downloads share a link as fair queueing says, the same each time."""

import runpy
from pathlib import Path

import pytest
import skip

EXAMPLE = Path(__file__).parents[2] / "examples/quic_downloads.py"


def test_downloads_share_a_link_that_is_fair() -> None:
    """Five flows with fair queueing get 2 of 10 Mbit/s each; the flood asks for 5.

    Would catch a handshake or a stream that stops, timers that are missed, and results that follow the random keys.
    """
    skip.module("aioquic", "aioquic")
    table = runpy.run_path(str(EXAMPLE))["table"]
    droptail, _, fair = outcomes = table(4)
    assert [outcome.queue()["kind"] for outcome in outcomes] == ["droptail", "choke", "fq-codel"]
    assert fair.group("cbr")["throughput_bps"] == pytest.approx(2e6, rel=0.1)
    each = [fair.flow(f"quic/{number}")["throughput_bps"] for number in range(4)]
    assert sum(each) == pytest.approx(8e6, rel=0.1)
    assert each == pytest.approx(4 * [2e6], rel=0.4)
    assert all(0.8 * rate < fair.flow(f"quic/{number}")["goodput_bps"] < rate for number, rate in enumerate(each))
    assert droptail.group("cbr")["throughput_bps"] > 4e6
    assert table(4) == outcomes
