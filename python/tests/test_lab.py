"""The lab: a short one in a guest, and programs in place of fairlane for what goes wrong."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import fairlane as fl
import pytest
import skip
from fairlane import _program

ROOT = Path(__file__).parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))
SHORT = {"duration": "3s", "warmup": "1s", "flows.ftp.count": 8}


@pytest.fixture(autouse=True)
def no_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that name no program find the one in PATH; the environment's and the wheel's are for the other tests."""
    monkeypatch.delenv("FAIRLANE", raising=False)
    monkeypatch.setattr(_program, "own", lambda: None)


def scenario() -> fl.Scenario:
    return fl.Scenario.from_toml(ROOT / "scenarios/lab-fig3.toml").with_(SHORT)


def kernel() -> Path:
    """The folder of the kernel that the tests of the command line have fetched."""
    folder = ROOT / "target/tmp/guest"
    if not CLI.exists():
        skip.because("program", "make build makes target/dist/fairlane")
    if shutil.which("qemu-system-x86_64") is None:
        skip.because("qemu", "there is no QEMU: install qemu-system-x86")
    if not folder.exists():
        skip.because("guest-kernel", "cargo test -p fairlane --features full --test guest fetches a kernel for guests")
    return folder


def test_a_guest_gives_outcomes_as_a_simulation_does() -> None:
    told: list[tuple[int, int]] = []
    outcomes = fl.lab(
        scenario(),
        seed=3,
        against_sim=True,
        kernel=kernel(),
        program=CLI,
        progress=lambda done, total: told.append((done, total)),
    )
    assert [outcome.to_dict()["engine"] for outcome in outcomes] == ["linux", "sim"]
    assert [(outcome.seed, outcome.runs) for outcome in outcomes] == [(3, 1), (3, 5)]
    # Two seconds of 10 Mbit/s in packets of 1000 bytes are 2500; the histogram has each packet that left the queue.
    for outcome in outcomes:
        queue = outcome.queue()
        assert queue["kind"] == "choke"
        assert outcome.group("ftp")["share"] + outcome.group("cbr")["share"] == pytest.approx(1)
        assert queue["departed"] == pytest.approx(2500, rel=0.02)
    packets = outcomes[:1].delay_histogram["packets"]
    assert sum(packets) == pytest.approx(outcomes[0].queue()["departed"], rel=0.02)
    assert len(outcomes.groups) == 4
    assert pickle.loads(pickle.dumps(outcomes[0])) == outcomes[0]
    assert told[-1] == (3, 3)
    assert told == sorted(told)
    assert "choke" in str(outcomes)


def program(folder: Path, text: str) -> Path:
    """A program in Python in place of fairlane."""
    file = folder / "fairlane"
    file.write_text(f"#!{sys.executable}\nimport json, os, signal, sys, time\n{text}")
    file.chmod(0o755)
    return file


def outcome() -> dict[str, Any]:
    return fl.Scenario.figure_3().with_({"duration": "4s", "warmup": "1s"}).run().to_dict()


def test_the_program_gets_what_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch an option that is lost, a changed scenario that is run unchanged, and a program that is not found."""
    seen = tmp_path / "seen.json"
    fake = program(
        tmp_path,
        f"json.dump([sys.argv[1:], open(sys.argv[2]).read()], open({str(seen)!r}, 'w'))\n"
        f"print(json.dumps({{'outcomes': [{outcome()!r}]}}).replace('None', 'null'))\n"
        "if '--kernel' in sys.argv: sys.stderr.write(\"note: the kernel's weight is 2^-9\\n\")\n",
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    changed = scenario().with_({"bottleneck.rate": "7mbit"})
    asked = {"against_kernel": True, "against_bpf": True, "ipv6": True, "kernel": "k", "where": "host"}
    with pytest.warns(UserWarning, match="^the kernel's weight is 2\\^-9$"):
        (only,) = fl.lab(changed, queue=fl.Red(limit=99), seed=5, runs=2, **asked)  # type: ignore[arg-type]
    assert only.queue()["kind"] == "choke"
    arguments, text = json.loads(seen.read_text())
    assert arguments[0] == "lab"
    assert {"--json", "--in=host", "--runs=2", "--against-bpf", "--against-kernel", "--ipv6"} < set(arguments)
    assert arguments[arguments.index("--kernel") + 1] == "k"
    assert "--against-sim" not in arguments
    given = fl.Scenario.from_string(text)
    assert (given["seed"], given["bottleneck.rate"], given["bottleneck.queue.kind"]) == (5, "7mbit", "red")
    assert given["bottleneck.queue.limit"] == "99p"
    assert not Path(arguments[1]).exists()
    monkeypatch.setenv("PATH", "")
    for name in (fake, None):
        if name is None:
            monkeypatch.setenv("FAIRLANE", str(fake))
        assert len(fl.lab(scenario(), program=name)) == 1
    monkeypatch.delenv("FAIRLANE")
    monkeypatch.setattr(_program, "own", lambda: fake)
    assert len(fl.lab(scenario())) == 1


def test_the_program_finds_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a trace that is looked for elsewhere than in the scenario's folder, and one that the package has."""
    seen = tmp_path / "seen.json"
    fake = program(
        tmp_path,
        f"json.dump([open(sys.argv[2]).read(), os.listdir(os.path.dirname(sys.argv[2]))], open({str(seen)!r}, 'w'))\n"
        f"print(json.dumps({{'outcomes': [{outcome()!r}]}}).replace('None', 'null'))\n",
    )
    fl.lab("cellular", program=fake)
    text, files = json.loads(seen.read_text())
    assert 'trace = "cellular.trace"' in text
    assert {"scenario.toml", "cellular.trace"} <= set(files)
    (tmp_path / "own.trace").write_text("1\n2\n")
    tree = scenario().to_dict()
    tree["bottleneck"]["rate"] = {"trace": str(tmp_path / "own.trace"), "opportunities": True}
    text = fl.Scenario.from_dict(tree).to_toml()
    (tmp_path / "own.toml").write_text(text.replace(f"{tmp_path}/", ""))
    monkeypatch.chdir(tmp_path)
    fl.lab("own.toml", program=fake)
    text, _ = json.loads(seen.read_text())
    assert fl.Scenario.from_string(text)["bottleneck.rate.trace"] == str(tmp_path / "own.trace")


def test_what_goes_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(fl.LabError, match=r"there is no 'fairlane': install a wheel of this package, which has it"):
        fl.lab(scenario())
    with pytest.raises(fl.LabError, match="there is no 'elsewhere'"):
        fl.lab(scenario(), program="elsewhere")
    broken = tmp_path / "broken"
    broken.write_text("#!/nowhere\n")
    broken.chmod(0o755)
    with pytest.raises(fl.LabError, match=r"broken cannot be run: .*; install a wheel"):
        fl.lab(scenario(), program=broken)
    refusing = "sys.stderr.write('Linux 7 in virtual time\\nerror: no room today; make some\\n'); sys.exit(2)\n"
    with pytest.raises(fl.LabError, match=r"^no room today; make some$") as refused:
        fl.lab(scenario(), program=program(tmp_path, refusing))
    assert refused.value.outcomes is not None
    assert len(refused.value.outcomes) == 0
    partly = f"print(json.dumps({{'outcomes': [{outcome()!r}]}}))\nsys.exit('error: no measurement of red')\n"
    with pytest.raises(fl.LabError, match="no measurement of red") as missing:
        fl.lab(scenario(), program=program(tmp_path, partly))
    again = pickle.loads(pickle.dumps(missing.value))
    assert (str(again), len(again.outcomes)) == ("no measurement of red", 1)
    with pytest.raises(fl.LabError, match="exit code 7"):
        fl.lab(scenario(), program=program(tmp_path, "sys.exit(7)\n"))
    with pytest.raises(ValueError, match=r'"guest" or on the "host"'):
        fl.lab(scenario(), where="there")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="queue: a lab has one of the library's"):
        fl.lab(scenario(), queue=7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="runs: 0 is out of range"):
        fl.lab(scenario(), runs=0)
    with pytest.raises(fl.ScenarioError, match="chok"):
        fl.lab(scenario(), queue="chok")


WAITS = """
def stop(*_):
    print(json.dumps({"outcomes": OUTCOMES}))
    sys.stderr.write("error: interrupted: 1 of 2 labs are done\\n")
    sys.exit(2)
signal.signal(signal.SIGINT, stop)
sys.stderr.write("progress 1 2\\n")
sys.stderr.flush()
time.sleep(60)
"""


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    fake = program(tmp_path, WAITS.replace("OUTCOMES", f"[{outcome()!r}]"))

    def interrupt(done: int, total: int) -> None:
        assert (done, total) == (1, 2)
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()

    with pytest.raises(fl.Interrupted, match="1 of 2 labs are done") as stopped:
        fl.lab(scenario(), program=fake, progress=interrupt)
    assert len(stopped.value.outcomes) == 1


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    """Would catch a lab that goes on without anyone who waits for it."""
    place = tmp_path / "id"
    deaf = "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsys.stderr.write('progress 1 2\\n')\nsys.stderr.flush()\n"
    fake = program(tmp_path, f"open({str(place)!r}, 'w').write(str(os.getpid()))\n{deaf}time.sleep(60)\n")

    def interrupt(_done: int, _total: int) -> None:
        for after in (0.3, 0.6):
            threading.Timer(after, signal.raise_signal, [signal.SIGINT]).start()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        fl.lab(scenario(), program=fake, progress=interrupt)
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int(place.read_text()), 0)
