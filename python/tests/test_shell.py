"""Programs behind a link: real ones where users may have namespaces, and programs in place of fairlane."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import fairlane as fl
import pytest
import skip
from fairlane import _program

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))
LINK = '[bottleneck]\nrate = "10mbit"\ndelay = "5ms"\nqueue = { kind = "droptail", limit = "100p" }\n'
REFUSED = "this user may not create one"

pytestmark = [
    skip.unless(sys.platform == "linux", "userns", "namespaces need Linux"),
    # Other programs may have the processors.
    pytest.mark.filterwarnings("ignore:1 % of the packets were late"),
]


@pytest.fixture(autouse=True)
def no_program_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests name the program."""
    monkeypatch.delenv("FAIRLANE", raising=False)
    monkeypatch.setattr(_program, "own", lambda: None)


@pytest.fixture(scope="module")
def cli() -> Path:
    """The program, where users may have namespaces."""
    if not CLI.exists():
        skip.because("program", "make build makes target/dist/fairlane")
    try:
        with fl.shell(LINK, program=CLI):
            return CLI
    except fl.ShellError as error:
        if REFUSED not in str(error):
            raise
        skip.because("userns", str(error))


class Page(BaseHTTPRequestHandler):
    """100 kB for everybody."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(bytes(100_000))

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a server on this host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def test_a_program_crosses_the_link(cli: Path, port: int) -> None:
    """Would catch an outcome of another run, and a program that is not behind the link."""
    load = f"import urllib.request as u; print(len(u.urlopen('http://gateway:{port}/').read()))"
    with fl.shell(LINK, queue=fl.FqCodel(limit=50), seed=3, program=cli) as link:
        done = link.run([sys.executable, "-I", "-c", load], capture_output=True, text=True)
        assert (done.returncode, done.stdout.strip()) == (0, "100000"), done.stderr
        assert (done.outcome.seed, done.outcome.to_dict()["engine"]) == (3, "shell")
        queue = done.outcome.queue("bottleneck")
        assert queue["kind"] == "fq-codel"
        # 100 kB in segments of at most 1448 bytes, in a queue of which the histogram has each packet.
        assert queue["departed"] > 100_000 / 1448
        assert sum(done.outcome.delay_histogram["packets"]) >= queue["departed"]
        assert any(name.startswith("tcp ") for name in done.outcome.flows["flow"])
        # The next program has its own outcome.
        other = link.run([sys.executable, "-c", "import sys; sys.exit(len(sys.stdin.read()))"], input=b"seven b")
        assert (other.returncode, other.stdout, other.stderr) == (7, None, None)
        assert other.outcome.queue("bottleneck")["departed"] == 0
        with pytest.raises(subprocess.CalledProcessError):
            other.check_returncode()
        with pytest.raises(subprocess.TimeoutExpired):
            link.run(["sleep", "60"], timeout=0.5)
        with pytest.raises(fl.ShellError, match="cannot execute no-such-program"):
            link.run(["no-such-program"], capture_output=True)
    with pytest.raises(fl.StateError, match="with statement"):
        link.run(["true"])


def test_a_scenario_without_flows_is_enough(cli: Path, tmp_path: Path) -> None:
    file = tmp_path / "link.toml"
    file.write_text(LINK)
    pcap = tmp_path / "out.pcap"
    with fl.shell(file, pcap=pcap, program=cli) as link:
        assert link.run(["true"]).returncode == 0
    assert pcap.stat().st_size == 24
    with pytest.raises(fl.ScenarioError, match="duration"):
        fl.Scenario.from_toml(file)
    with (
        pytest.raises(fl.ShellError, match="the scenario's own flows are asked for"),
        fl.shell(file, flows=True, program=cli),
    ):
        pass


def test_what_is_wrong_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(fl.ScenarioError, match=r"bottleneck\.rate"):
        fl.shell(LINK.replace("10mbit", "10mbits"))
    with pytest.raises(fl.MissingFileError):
        fl.shell("no-such-file.toml")
    with pytest.raises(fl.ArgumentError, match="mtu"):
        fl.shell(LINK, mtu=100)
    with pytest.raises(TypeError, match="queue"):
        fl.shell(LINK, queue=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="scenario"):
        fl.shell(3)  # type: ignore[arg-type]
    with pytest.raises(fl.ShellError, match="exit code 1"), fl.shell(LINK, program="false"):
        pass
    with fl.shell(LINK, program="true") as link:
        assert [folder.name[:15] for folder in tmp_path.iterdir()] == ["fairlane-shell-"]
        with pytest.raises(fl.ShellError, match=r"^cwd: .*No such file or directory: 'no-such-folder'"):
            link.run(["true"], cwd="no-such-folder")
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("PATH", "")
    with pytest.raises(fl.ShellError, match="a shell needs the program fairlane"):
        fl.shell(LINK)
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(fl.ShellError, match="a shell needs Linux"):
        fl.shell(LINK)
    assert issubclass(fl.ShellError, fl.FairlaneError)


def fake_program(tmp_path: Path) -> tuple[Path, Path]:
    """A program in place of fairlane, and the file in which it writes its arguments and the scenario."""
    outcome = fl.Scenario.figure_3().with_({"duration": "4s", "warmup": "1s"}).run().to_dict()
    (tmp_path / "outcome.json").write_text(json.dumps({"outcomes": [outcome]}))
    seen, fake = tmp_path / "seen.json", tmp_path / "fairlane"
    fake.write_text(
        f"#!{sys.executable}\nimport json, shutil, sys\n"
        f"json.dump([sys.argv[1:], open(sys.argv[2]).read()], open({str(seen)!r}, 'w'))\n"
        "for option in sys.argv:\n"
        f"    if option.startswith('--json='): shutil.copy({str(tmp_path / 'outcome.json')!r}, option[7:])\n"
        "    if option.startswith('--report='): open(option[9:], 'w').write('warning: it was late\\n')\n"
        "print('out'), sys.exit(0 if sys.argv[-1] == 'true' else 9)\n"
    )
    fake.chmod(0o755)
    return fake, seen


def test_the_program_gets_what_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch an option that is lost, a changed scenario that is run unchanged, and a warning that nobody sees."""
    monkeypatch.chdir(tmp_path)
    fake, seen = fake_program(tmp_path)
    asked = {"ecn": True, "cc": "reno", "mtu": 1400, "flows": True, "listen": {8080: 80, "0.0.0.0:81": 81}}
    link = fl.shell(fl.Scenario.figure_3(), queue="red", seed=5, pcap="p", program="./fairlane", **asked)  # type: ignore[arg-type]
    with link, pytest.warns(UserWarning, match="^it was late$"):
        done = link.run(["wc", Path("x")], cwd="/", capture_output=True)
    assert (done.args, done.returncode, done.stdout) == (["wc", "x"], 9, b"out\n")
    arguments, text = json.loads(seen.read_text())
    assert arguments[0] == "shell"
    assert arguments[arguments.index("--") :] == ["--", "wc", "x"]
    expected = {"--ecn", "--cc=reno", "--mtu=1400", "--flows", "--listen=8080:80", "--listen=0.0.0.0:81:81"}
    assert expected | {f"--pcap={tmp_path / 'p'}"} < set(arguments)
    given = fl.Scenario.from_string(text)
    assert (given["seed"], given["bottleneck.queue.kind"]) == (5, "red")
    assert not Path(arguments[1]).exists()
    empty: list[str] = []
    for wrong in ("ls", empty):
        with fl.shell(LINK, program=fake) as link, pytest.raises((TypeError, fl.ArgumentError), match="command"):
            link.run(wrong)


def test_a_scenario_finds_its_traces(cli: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a trace that is looked for elsewhere than in the scenario's folder, and one that the package has."""
    trace = "".join(f"{ms}\n" for ms in range(1, 101))
    for name, value in {"own.trace": trace, "day.csv": "time_s,rate_bps\n0,2000000\n60,3000000\n"}.items():
        (tmp_path / name).write_text(value)
    (tmp_path / "own.toml").write_text(
        '[bottleneck]\nrate = { trace = "own.trace", opportunities = true }\ndelay = "5ms"\n'
        '[bottleneck.reverse]\nrate = { trace = "day.csv", every = "120s" }\ndelay = "5ms"\n'
    )
    monkeypatch.chdir(tmp_path)
    for scenario in ("own.toml", "cellular", fl.Scenario.from_toml("leo").with_({"seed": 3})):
        with fl.shell(scenario, program=cli) as link:
            assert link.run(["true"]).returncode == 0
    fake, seen = fake_program(tmp_path)
    with fl.shell("own.toml", program=fake) as link, pytest.warns(UserWarning, match="late"):
        link.run(["true"])
    _, text = json.loads(seen.read_text())
    assert f'"{tmp_path / "own.trace"}"' in text
    assert f'"{tmp_path / "day.csv"}"' in text
