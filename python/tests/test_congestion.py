"""Congestion control written in Python: the same windows as the library's, and errors for faulty ones."""

import math
from typing import Any

import fairlane as fl
import pytest


class Reno(fl.CongestionControl):
    """RFC 5681, with the window in use in whole segments where bytes are counted (RFC 3465)."""

    def grow(self, window: fl.Window, ack: fl.Ack) -> None:
        if ack.byte_counting:
            window.cwnd += ack.growth / max(1, math.floor(window.cwnd))
        else:
            window.cwnd += 1 / window.cwnd

    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:  # noqa: ARG002
        return float(math.floor(event.segments / 2))


def scenario(**keys: Any) -> fl.Scenario:
    values = {"tcp": 4, "rate": "5mbit", "duration": "20s", "packet": "1000b", "queue": "droptail", **keys}
    return fl.Scenario.dumbbell(**values)


def transport(outcome: fl.Outcome) -> str:
    return str(outcome.to_dict()["groups"][0]["transport"]).split(",", maxsplit=1)[0]


TEN: list[dict[str, Any]] = [
    *({"preset": preset, "queue": queue} for preset in ("ns2-1999", "modern", "linux") for queue in ("choke", "codel")),
    {"preset": "modern", "tcp": 1, "rtt": "200ms"},
    {"preset": "modern", "udp": "6mbit", "queue": "fq-codel"},
    {"preset": "ns2-1999", "tcp": 20, "rate": "2mbit"},
    {"preset": "linux", "tcp": 10, "rtt": "20ms", "seed": 7},
]


@pytest.mark.parametrize("keys", TEN)
def test_reno_in_python_is_reno(keys: dict[str, Any]) -> None:
    """Would catch a call that is lost or comes at another time, and a window that is not what the method left."""
    recovery = "reno" if keys["preset"] == "ns2-1999" else "rack"
    same = scenario(**keys).with_({"tcp.recovery": recovery})
    ours, theirs = (same.run(series="100ms", cc=cc) for cc in (None, {"ftp": Reno}))
    windows = [outcome.series.flows.to_dict()["cwnd"] for outcome in (ours, theirs) if outcome.series]
    assert len(windows) == 2
    assert windows[0] == windows[1]
    assert len(set(windows[0])) > 10
    assert transport(theirs) == "tcp Reno"


def test_a_sweep_has_it_next_to_others() -> None:
    """Would catch a point that runs with the scenario's own, and a value without its name."""
    outcomes = scenario(preset="modern").sweep({"flows.ftp.cc": ["reno", Reno, "cubic"]})
    shares = [outcome.group("ftp")["throughput_bps"] for outcome in outcomes]
    assert [transport(outcome) for outcome in outcomes] == ["tcp reno", "tcp Reno", "tcp cubic"]
    assert shares[0] == shares[1]


class Model(fl.CongestionControl):
    """A fixed window and rate, and what it is told."""

    name = "fixed"
    paces = True
    has_model = True
    told: list[str]

    def __init__(self, connection: fl.Connection) -> None:
        super().__init__(connection)
        Model.told = []

    def grow(self, window: fl.Window, ack: fl.Ack) -> None:
        pass

    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:
        Model.told.append(event.signal)
        return window.cwnd

    def on_ack(self, window: fl.Window, ack: fl.Ack, in_flight: int, recovering: bool) -> None:  # noqa: ARG002, FBT001
        window.cwnd = 50.0

    def pacing_rate(self, window: fl.Window) -> float:
        assert window.cwnd == 50
        return 125.0


def test_a_model_sets_window_and_rate() -> None:
    """125 segments of 1000 bytes a second are 1 Mbit/s. Would catch a rate that is not used."""
    outcome = scenario(tcp=1, preset="modern", warmup="5s").run(cc={"ftp": Model})
    assert outcome.group("ftp")["throughput_bps"] == pytest.approx(1e6, rel=0.01)
    assert transport(outcome) == "tcp fixed"


class Bad(Reno):
    def grow(self, window: fl.Window, ack: fl.Ack) -> None:  # noqa: ARG002
        window.cwnd = math.nan


class Raises(Reno):
    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:  # noqa: ARG002
        raise KeyError(event.signal)


class Nothing(Reno):
    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:  # noqa: ARG002
        return "half"  # type: ignore[return-value]


@pytest.mark.parametrize("cc", ["cubic", "tahoe", "newreno", "sack", "vegas", "bbr3", "ledbat", "prague"])
def test_the_rest_of_tcp_does_not_depend_on_what_it_replaces(cc: str) -> None:
    """Would catch loss recovery and slow start that are those of the congestion control in the file."""

    def run(cc: str) -> fl.Outcome:
        scenario = fl.Scenario.dumbbell(tcp=2, cc=cc, preset="modern", rate="10mbit", duration="5s", queue="droptail")
        return scenario.run(cc={"ftp": Reno})

    outcome = run(cc)
    assert outcome.group("ftp")["transport"] == "tcp Reno, recovery rack"
    assert outcome.flow("ftp/0") == run("reno").flow("ftp/0")


def test_mistakes_are_errors() -> None:
    """Would catch a mistake that goes on into the simulation, or an error without the flow, the time or the cause."""
    with pytest.raises(fl.CongestionError, match=r"flow ftp/\d at [\d.]+ s: .* set the window to NaN segments"):
        scenario(preset="modern").run(cc={"ftp": Bad})
    with pytest.raises(fl.CongestionError, match=r"flow ftp/\d at [\d.]+ s: .* raised KeyError: 'loss'") as raised:
        scenario(preset="modern").run(cc={"ftp": Raises})
    assert isinstance(raised.value.__cause__, KeyError)
    with pytest.raises(fl.CongestionError, match=r"on_congestion returned .*str.*, which is no number"):
        scenario(preset="modern").run(cc={"ftp": Nothing})
    with pytest.raises(fl.CongestionError, match=r"has no method grow: see fairlane\.CongestionControl"):
        scenario().run(cc={"ftp": lambda _: object()})
    with pytest.raises(fl.ScenarioError, match='no group of TCP flows "cbr"'):
        scenario(udp="1mbit").run(cc={"cbr": Reno})
    with pytest.raises(TypeError, match="a congestion control is a class, not a str"):
        scenario().run(cc={"ftp": "cubic"})  # type: ignore[dict-item]


def test_each_run_has_its_own_randomness() -> None:
    """Would catch a seed that is the same in each run or connection, or another one each time."""
    seeds: list[int] = []

    class Drawing(Reno):
        def __init__(self, connection: fl.Connection) -> None:
            super().__init__(connection)
            seeds.append(self.random.randrange(1 << 40))

    for _ in range(2):
        scenario(duration="1s").run(cc={"ftp": Drawing}, runs=2)
    assert seeds[:8] == seeds[8:]
    assert len(set(seeds)) == 8


class Interrupted(Reno):
    def grow(self, window: fl.Window, ack: fl.Ack) -> None:  # noqa: ARG002
        raise KeyboardInterrupt


def test_ctrl_c_in_a_method_is_no_mistake() -> None:
    """Would catch a second Ctrl-C that is told as an error of the congestion control."""
    with pytest.raises(fl.Interrupted):
        scenario(preset="modern").run(cc={"ftp": Interrupted})
