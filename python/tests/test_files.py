"""The files in which a run is recorded: those of the command line, whole or not at all, and never an input."""

from __future__ import annotations

import errno
import gzip
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import fairlane as fl
import pytest
import skip
from choke import Choke

ROOT = Path(__file__).parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))
SCENARIO = ROOT / "scenarios/choke-fig3.toml"

needs_cli = skip.unless(CLI.exists(), "program", "not built: make build")
NAMES = ["x.pcap", "x.flent.gz", "x.log", "x.trace"]


def short(**changes: object) -> fl.Scenario:
    return fl.Scenario.from_toml(SCENARIO).with_({"duration": "3s", "warmup": "1s", **changes})


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_cli
@pytest.mark.parametrize("series", [None, "100ms"])
def test_the_files_are_those_of_the_command_line(
    series: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    # By relative paths, as the log has its own.
    files = ["--pcap", "x.pcap", "--flent", "x.flent.gz", "--mahimahi", "x.log"]
    if series is not None:
        files += ["--series", "y.csv", "--interval", series]
    changes = ["--set", "duration=3s", "--set", "warmup=1s", "--seed", "7"]
    subprocess.run([CLI, "run", SCENARIO, *changes, *files], cwd=theirs, capture_output=True, check=True, timeout=60)
    monkeypatch.chdir(ours)
    outcome = short().run(seed=7, series=series, pcap="x.pcap", flent=Path("x.flent.gz"), mahimahi="x.log")
    assert names(ours) == sorted(NAMES)
    for name in NAMES:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name
    assert outcome == short().run(seed=7)


def test_a_capture_can_be_read(tmp_path: Path) -> None:
    """By its format, a header and records (draft-ietf-opsawg-pcap): IPv4 packets in the order of their times."""
    path = tmp_path / "x.pcap"
    outcome = short(warmup="0s").run(pcap=path)
    capture = path.read_bytes()
    magic, major, minor, _, _, longest, link = struct.unpack_from(">IHHiIII", capture)
    assert (magic, major, minor, longest, link) == (0xA1B23C4D, 2, 4, 65535, 101)
    at, last, forward = 24, 0, 0
    while at < len(capture):
        seconds, nanoseconds, kept, length = struct.unpack_from(">IIII", capture, at)
        header = capture[at + 16 : at + 16 + kept]
        assert header[0] >> 4 == 4
        assert kept <= length
        now = seconds * 10**9 + nanoseconds
        assert last <= now <= 3 * 10**9
        # Data: their sources have addresses in the lower half of 10.0.0.0/8. Opening segments are short.
        forward += header[13] < 128 and length >= 1000
        at, last = at + 16 + kept, now
    assert at == len(capture)
    assert forward == outcome.queue()["departed"]


def test_a_discipline_written_in_python_is_recorded_too(tmp_path: Path) -> None:
    for name, queue in (("ours", Choke), ("theirs", fl.Choke(limit=300, min=100, max=200))):
        (tmp_path / name).mkdir()
        pcap, flent = tmp_path / name / "x.pcap", tmp_path / name / "x.flent.gz"
        outcome = short().run(queue=queue, series="500ms", pcap=pcap, flent=flent)
        assert len(outcome.series.queues) == 6
        assert "Over time" in outcome.html()
        assert names(tmp_path / name) == ["x.flent.gz", "x.pcap"]
        assert len(json.loads(gzip.decompress(flent.read_bytes()))["x_values"]) == 6
        assert pcap.stat().st_size > 10_000


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    missing, folder = tmp_path / "none" / "x.pcap", tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"cannot write .*none/x\.pcap: No such file"):
        short().run(pcap=missing)
    with pytest.raises(fl.ScenarioError, match="folder is a folder; name a file in it"):
        short().run(flent=folder)
    with pytest.raises(ValueError, match=r"mahimahi .*x\.txt: the trace is written next to a log") as refused:
        short().run(mahimahi=tmp_path / "x.txt")
    assert "--" not in str(refused.value)
    with pytest.raises(TypeError, match="pcap: expected the path of a file, not a int"):
        short().run(pcap=3)  # type: ignore[arg-type]
    assert names(tmp_path) == ["folder"]


@skip.unless(Path("/dev/full").exists(), "full", "there is no /dev/full")
@pytest.mark.parametrize("queue", [None, Choke], ids=["library", "own"])
def test_a_full_disk_ends_the_run(queue: fl.OwnDiscipline | None, tmp_path: Path) -> None:
    """Would catch an error that is lost, and a file that looks whole."""
    flent = tmp_path / "x.flent.gz"
    with pytest.raises(OSError, match="cannot write /dev/full") as full:
        short().run(pcap="/dev/full", flent=flent, queue=queue)
    assert os.strerror(errno.ENOSPC) in str(full.value)
    assert names(tmp_path) == ["x.flent.partial.gz"]


@skip.unless(sys.platform != "win32", "unix", "Windows has links for few users")
def test_no_input_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SCENARIO.read_text().replace('rate  = "1mbit"', 'rate  = { trace = "rates.csv" }', 1)
    assert "rates.csv" in text
    own, rates, table = tmp_path / "own.toml", tmp_path / "rates.csv", "time_s,rate_bps\n0,1000000\n"
    own.write_text(text)
    rates.write_text(table)
    (tmp_path / "hard.toml").hardlink_to(own)
    (tmp_path / "soft.toml").symlink_to(own)
    monkeypatch.chdir(tmp_path)
    scenario = fl.Scenario.from_toml("own.toml").with_({"duration": "3s", "warmup": "1s"})
    for path in ("own.toml", "hard.toml", "soft.toml", rates):
        with pytest.raises(ValueError, match=r"pcap would overwrite .*, which is read; write to another file"):
            scenario.run(pcap=path)
        with pytest.raises(ValueError, match="flent would overwrite"):
            scenario.run(seed=2, queue=Choke, flent=path)
    with pytest.raises(ValueError, match="pcap and flent name the same file"):
        scenario.run(pcap="x", flent="./x")
    with pytest.raises(ValueError, match="pcap and mahimahi name the same file"):
        scenario.run(pcap="x.trace", mahimahi="x.log")
    assert own.read_text() == text
    assert rates.read_text() == table
    assert names(tmp_path) == ["hard.toml", "own.toml", "rates.csv", "soft.toml"]


def test_what_was_there_stays_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_text("old")
    seen: list[bool] = []

    class Looks(Choke):
        def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
            seen.append(path.read_text() == "old")
            super().enqueue(now, packet, sink)

    short(duration="1s", warmup="0s").run(queue=Looks, pcap=path)
    assert seen
    assert all(seen)
    assert path.read_bytes()[:4] != b"old"
    path.write_text("old")

    class Fails(Choke):
        def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:
            if now > 0.5:
                raise LookupError("of mine")
            return super().dequeue(now, sink)

    with pytest.raises(LookupError, match="of mine"):
        short(duration="1s", warmup="0s").run(queue=Fails, pcap=path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.partial.pcap", "x.pcap"]


@pytest.mark.parametrize("record", [{"pcap": "x.pcap"}, {"flent": "x.flent.gz"}, {"mahimahi": "x.log"}])
def test_several_runs_are_refused(record: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="follow one run, and runs asks for several"):
        short().run(runs=2, **record)  # type: ignore[arg-type]
    assert names(tmp_path) == []
