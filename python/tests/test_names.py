"""Names stand for scenarios and disciplines wherever one is taken, and keys of a sweep may stand for others."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fairlane as fl
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

CAPTURE = Path(__file__).parents[2] / "crates/capture/tests/data/linux-tcp.pcap"
SHORT = {"duration": "3s", "warmup": "1s"}


def mixed(**more: object) -> fl.Scenario:
    queue = fl.Red(limit=60, min=5, max=20)
    scenario = fl.Scenario.dumbbell(tcp=2, udp="2mbit", rate="12mbit", duration="2s", queue=queue, packet=1500)
    return scenario.with_(more) if more else scenario


def test_a_scenario_has_its_name() -> None:
    assert fl.Scenario.from_toml("choke-fig3") == fl.Scenario.figure_3()
    with pytest.raises(fl.MissingFileError, match=r"choke-fig4: this file cannot be opened") as missed:
        fl.Scenario.from_toml("choke-fig4")
    assert 'did you mean "choke-fig3"' in (missed.value.help or "")


def test_a_file_takes_precedence_over_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("modern").mkdir()
    assert "[bottleneck]" in fl.Scenario.from_toml("modern").to_toml()
    mixed(name="mine").save("choke-fig3")
    assert fl.Scenario.from_toml("choke-fig3")["name"] == "mine"


def test_what_a_scenario_reads_goes_with_it() -> None:
    """Would catch a copy for a worker that looks for the rates of a link among the caller's files."""
    leo = fl.Scenario.from_toml("leo").with_(SHORT)
    again = pickle.loads(pickle.dumps(leo))
    assert again == leo
    assert again.run(seed=2) == leo.run(seed=2)


def test_a_discipline_has_its_name() -> None:
    swept = mixed().sweep({"bottleneck.queue": ["fq-codel", fl.Choke(limit=60, min=5, max=20), "red"]})
    assert [outcome.point for outcome in swept] == [{"bottleneck.queue": name} for name in ("fq-codel", "choke", "red")]
    assert [outcome.queue()["kind"] for outcome in swept] == ["fq-codel", "choke", "red"]
    # As in a comparison, a name keeps the parameters of the scenario.
    assert swept[2].group("cbr") == mixed().compare(["red"])[0].group("cbr")
    assert mixed(**{"bottleneck.queue": "choke"})["bottleneck.queue.kind"] == "choke"
    assert mixed(**{"bottleneck.queue": "choke"})["bottleneck.queue.min"] == "5p"
    assert repr(fl.Queue("fq-codel")) == repr(fl.Queue(fl.FqCodel()))
    replayed = fl.replay(CAPTURE, ["droptail", fl.Choke()], rate="5mbit")
    assert [outcome.label for outcome in replayed] == ["droptail", "choke"]
    assert replayed[0] == fl.replay(CAPTURE, fl.DropTail(), rate="5mbit")[0]


@pytest.mark.parametrize(
    "take",
    [
        fl.Queue,
        lambda name: fl.replay(CAPTURE, name, rate="1mbit"),
        lambda name: mixed().compare([name]),
        lambda name: mixed().sweep({"bottleneck.queue": [name]}),
        lambda name: mixed().run(queue=name),
        lambda name: fl.Scenario.dumbbell(udp="1mbit", rate="1mbit", duration="1s", queue=name),
    ],
)
def test_a_slip_in_a_discipline_is_named(take: Callable[[str], object]) -> None:
    with pytest.raises(fl.ScenarioError, match="chok") as slip:
        take("chok")
    assert "choke" in f"{slip.value} {slip.value.help}".replace("chok:", "")


def test_a_round_trip_is_swept() -> None:
    """Twice the bottleneck's 1 ms and four times the hosts' delay: 42 ms are 10 ms, 10 of which no packet waits."""
    swept = mixed().sweep({"rtt": [0.042, "82ms"]})
    assert [outcome.point["rtt"] for outcome in swept] == ["42ms", "82ms"]
    table = swept.groups
    assert table["point.rtt_s"] == [0.042, 0.042, 0.082, 0.082]
    # The measured round trips stand next to them, without a column of the same name.
    assert len(set(table.columns)) == len(table.columns)
    assert table["rtt_s"][0] == pytest.approx(swept[0].group("ftp")["rtt_s"])
    direct = [mixed(**{"access.delay": delay}).run() for delay in ("10ms", "20ms")]
    assert [outcome.group("ftp") for outcome in swept] == [outcome.group("ftp") for outcome in direct]
    with pytest.raises(fl.ScenarioError, match=r"^rtt = 1ms: a round trip of 1ms is shorter than twice"):
        mixed().sweep({"rtt": ["1ms"]})


def test_a_buffer_is_swept_in_products_of_bandwidth_and_delay() -> None:
    """12 Mbit/s and 80 ms are 120 000 bytes: 80 packets of 1500 bytes. It follows a rate and a round trip swept too."""
    queue = fl.DropTail(limit=7)
    varied = {"bottleneck.queue.limit": ["0.5bdp", "2bdp"], "bottleneck.rate": ["12mbit", "24mbit"], "rtt": ["80ms"]}
    swept = mixed(**{"bottleneck.queue": queue}).sweep(varied)
    sized = [("12mbit", "40p"), ("24mbit", "80p"), ("12mbit", "160p"), ("24mbit", "320p")]
    for outcome, (rate, limit) in zip(swept, sized, strict=True):
        keys = {"bottleneck.rate": rate, "access.delay": "19.5ms", "bottleneck.queue": fl.DropTail(limit=limit)}
        assert outcome.queue() == mixed(**keys).run().queue()
    with pytest.raises(fl.ScenarioError, match=r"^bottleneck.queue.limit = -1bdp: "):
        mixed().sweep({"bottleneck.queue.limit": ["-1bdp"]})


def test_a_modern_congestion_control_has_modern_tcp() -> None:
    """Would catch CUBIC with the timers of 1999, which nobody asked for."""

    def made(**more: object) -> fl.Scenario:
        return fl.Scenario.dumbbell(rate="10mbit", duration="1s", **more)  # type: ignore[arg-type]

    assert made(tcp=2, cc="cubic")["tcp.preset"] == "modern"
    assert made(tcp=2, cc="cubic") == made(tcp=2, cc="cubic", preset="modern")
    assert made(tcp=2, flows=[{"name": "new", "kind": "tcp", "cc": "bbr3"}])["tcp.preset"] == "modern"
    assert made(tcp=2, cc="cubic", preset="ns2-1999")["tcp.preset"] == "ns2-1999"
    for cc in ("tahoe", "reno", "newreno", "sack", "vegas"):
        assert made(tcp=2, cc=cc).get("tcp.preset") is None, cc
    assert repr(made(tcp=2)).endswith(", TCP ns2-1999>")
    assert repr(made(tcp=2, cc="cubic")).endswith(", TCP modern>")
    assert "TCP" not in repr(made(udp="1mbit"))


def test_nothing_is_compared_with_nothing() -> None:
    assert len(mixed().compare()) == 2
    nothing: list[Any] = [[], (), {}, iter(())]
    for none in nothing:
        with pytest.raises(fl.ScenarioError, match="queues: the list is empty"):
            mixed().compare(none)
