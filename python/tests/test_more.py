"""Theory, the papers' claims, and captures."""

import json
import math
import os
import subprocess
from pathlib import Path

import fairlane as fl
import pytest
import skip

ROOT = Path(__file__).parents[2]
CLI = Path(os.environ.get("FAIRLANE", ROOT / "target/dist/fairlane"))


def test_theory_has_the_papers_numbers() -> None:
    # Wang, Tang, Low: the largest share is 1 / (e + 1); at twice the link's rate it is a quarter.
    choke = fl.theory.choke(load=2)
    assert choke.share == pytest.approx(0.251, abs=5e-4)
    assert choke.peak.share == pytest.approx(1 / (math.e + 1))
    assert choke.tcp_share == 1 - choke.share
    assert len(choke.profile) == 10
    # Feng, Kandlur, Saha, Shin, equation 1.
    sfb = fl.theory.sfb(levels=2, bins=23, flows=4)
    assert sfb.misclassified == pytest.approx((1 - (1 - 1 / 23) ** 4) ** 2)
    # Pan, Prabhakar, Psounis, equation 1: a flow has rate / (mu + 2 rate) of the head.
    front = fl.theory.front(mu=2, rates=[1, 0.5])
    assert [flow.head for flow in front.flows] == pytest.approx([1 / 4, 0.5 / 3])
    back = fl.theory.back(rates=[1, 1, 1, 7], memory=1)
    assert back.admitted == pytest.approx(4.8)
    assert fl.theory.gchoke(maxcomp="infinite", load=100).buffer_bound == pytest.approx(0.382, abs=5e-4)
    assert fl.theory.choke_multi(flows=5, candidates=3, load=2).candidates_that_protect == 3
    # A flow at twice the fair rate has 4/3 of it: with one TCP without losses that is 4/7 of the link.
    echo = fl.theory.echo(tcps=1, loss=0, load=6 / 7)
    assert [echo.share, echo.tcp_share, echo.of_fair_share] == pytest.approx([4 / 7, 3 / 7, 8 / 7])
    noisy, exact = (fl.theory.echo(tcps=8, loss=0.01, load=2, tags=tags) for tags in (64, None))
    assert (echo.tags, noisy.tags, noisy.share > exact.share) == (None, 64, True)
    loops = fl.theory.echo_stability(rate=8333, rtt=[0.01, 0.1], tcps=[8, 2000])
    assert [point.stable for point in loops.points] == [False, None, False, None]
    tcp = fl.theory.tcp(loss=0.01, rtt=0.1)
    assert [tcp.tfrc, tcp.full] == pytest.approx([112.332, 110.960], abs=5e-4)
    assert (tcp.timeout, tcp.window) == (0.4, None)
    assert fl.theory.tcp(loss=0.001, rtt=0.47, timeout=3.2, acked=2, window=12).full == pytest.approx(23.912, abs=5e-4)


def test_theory_says_what_is_wrong() -> None:
    with pytest.raises(ValueError, match="load"):
        fl.theory.choke(load=-1)
    with pytest.raises(ValueError, match=r"maxcomp|infinite"):
        fl.theory.gchoke(maxcomp="many", load=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fl.theory.choke(2)  # type: ignore[call-arg]


def test_claims_are_listed_shown_and_run() -> None:
    claims = fl.papers.list_claims()
    assert len({claim.id for claim in claims}) == len(claims) > 50
    assert {claim.status for claim in claims} <= {"met", "short", "undecided", "out"}
    one = next(claim for claim in claims if claim.id.endswith("table-2") or "table" in claim.id)
    assert fl.papers.show(one.id) == [one]
    assert one.checks[0].value is None
    (judged,) = fl.papers.run(one.id, short=True)
    assert judged.id == one.id
    assert any(check.verdict is not None for check in judged.checks)
    verdicts = {True: "met", False: "missed"}
    assert all(check.verdict == verdicts[check.met] for check in judged.checks if check.met is not None)
    with pytest.raises(ValueError, match="no-such"):
        fl.papers.run("no-such-claim")


def test_a_single_run_decides_nothing() -> None:
    """One run of a random experiment has no interval, so each of its numbers is undecided, neither met nor missed."""
    (claim,) = fl.papers.run("bare-fig12", short=True, runs=1)
    assert claim.status == "undecided"
    assert {(check.met, check.verdict, check.value_ci95) for check in claim.checks} == {(None, "undecided", None)}


def capture() -> Path:
    found = sorted((ROOT / "crates").glob("*/tests/**/*.pcap*"))
    if not found:
        skip.because("captures", "no capture is kept in the repository")
    return found[0]


def test_a_capture_is_replayed() -> None:
    path = capture()
    outcomes = fl.replay(path, [fl.DropTail(), fl.Choke()], rate="1mbit")
    assert [outcome.queue()["kind"] for outcome in outcomes] == ["droptail", "choke"]
    assert outcomes[0].queue()["arrived"] > 0
    if CLI.exists():
        command = [str(CLI), "replay", str(path), "--rate", "1mbit", "--queue", "choke", "--json"]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        ours = outcomes[1].to_dict()
        del said["cost"], ours["cost"]
        assert ours == said


def test_one_direction_of_a_capture_is_replayed() -> None:
    """Each packet is of IPv4 or of IPv6. Would catch a discipline in Python that gets all packets."""

    def arrived(source: str) -> list[int]:
        outcomes = fl.replay(capture(), [fl.DropTail(), Fifo], rate="1mbit", source=source)
        return [outcome.queue()["arrived"] for outcome in outcomes]

    everything = fl.replay(capture(), fl.DropTail(), rate="1mbit")[0].queue()["arrived"]
    four, six = arrived("0.0.0.0/0"), arrived("::/0")
    assert four[0] == four[1] > 0
    assert six[0] == six[1] > 0
    assert four[0] + six[0] == everything
    with pytest.raises(fl.ScenarioError, match=r"there is no packet from 192.0.2.0/24"):
        arrived("192.0.2.0/24")
    with pytest.raises(ValueError, match=r"source: there are bits behind the first 8: write 10.0.0.0/8"):
        arrived("10.0.0.1/8")


def test_what_cannot_be_replayed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fl.ScenarioError, match="none"):
        fl.replay(tmp_path / "none.pcap", fl.Red(), rate="1mbit")
    with pytest.raises(fl.ScenarioError, match="rate: "):
        fl.replay(capture(), fl.Red(), rate="quick")
    with pytest.raises(ValueError, match="flows: write one of five-tuple, inner, address-pair"):
        fl.replay(capture(), fl.Red(), rate="1mbit", flows="ports")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not a int"):
        fl.replay(capture(), [3], rate="1mbit")  # type: ignore[list-item]


def test_what_needs_more_memory_than_there_is_is_refused_at_once() -> None:
    """Would catch a process that is killed instead of an error."""
    scenario = fl.Scenario.figure_3()
    with pytest.raises(fl.ScenarioError, match=r"this needs at least \d+ GB of memory \(.*\), and \d+ GB are free"):
        scenario.with_({"duration": "1000000s"}).run(series="1us")
    with pytest.raises(fl.ScenarioError, match="GB of memory"):
        scenario.with_({"max_flows": 100_000_000, "flows.ftp.count": 99_999_999}).run()


class Fifo(fl.Discipline):
    """Droptail of 20 packets."""

    def __init__(self, host: fl.Host) -> None:
        super().__init__(host)
        self.queue: list[fl.Packet] = []

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:  # noqa: ARG002
        if len(self.queue) < 20:
            self.queue.append(packet)
        else:
            sink.dropped(packet, "limit")

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:  # noqa: ARG002
        return self.queue.pop(0) if self.queue else None


def test_a_discipline_in_python_takes_a_capture() -> None:
    """Would catch a packet, a time or a count that is lost between the replay and Python."""
    told: list[tuple[int, int]] = []
    queues: dict[str, fl.QueueConfig | fl.OwnDiscipline] = {"mine": Fifo, "ours": fl.DropTail(limit=20)}
    outcomes = fl.replay(
        capture(),
        queues,
        rate=10e3,
        progress=lambda done, total: told.append((done, total)),
    )
    assert [outcome.label for outcome in outcomes] == ["mine", "ours"]
    assert told[-1] == (2, 2)
    mine, ours = (outcome.to_dict() for outcome in outcomes)
    for outcome in (mine, ours):
        del outcome["cost"], outcome["label"], outcome["queues"][0]["kind"]
        outcome.pop("point", None)
    assert mine == ours
    assert mine["queues"][0]["dropped"]["limit"] > 0
    assert [outcome.queue()["kind"] for outcome in outcomes] == ["Fifo", "droptail"]

    class Loses(Fifo):
        def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
            pass

    with pytest.raises(fl.DisciplineError, match="neither left nor been dropped"):
        fl.replay(capture(), Loses, rate="1mbit")
