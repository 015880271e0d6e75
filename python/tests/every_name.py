"""A user's script with every public name. `python/lint` checks its types as users do; a test compares the names."""

from pathlib import Path
from typing import TYPE_CHECKING

import fairlane as fl

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Fifo(fl.Discipline):
    """Droptail of 30 packets."""

    def __init__(self, host: fl.Host) -> None:
        """Begins with an empty queue."""
        super().__init__(host)
        self.queue: list[fl.Packet] = []

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:
        """Queues a packet, or drops it."""
        del now
        if len(self.queue) < 30:
            self.queue.append(packet)
        else:
            sink.dropped(packet, "limit")

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:
        """Returns the packet that has waited longest."""
        del now, sink
        return self.queue.pop(0) if self.queue else None


class Gentle(fl.CongestionControl):
    """Grows by one segment a round trip, and loses a quarter to congestion."""

    def __init__(self, connection: fl.Connection) -> None:
        """Keeps the connection."""
        super().__init__(connection)

    def grow(self, window: fl.Window, ack: fl.Ack) -> None:
        """Grows the window."""
        window.cwnd += ack.growth / window.cwnd

    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:
        """Returns the threshold."""
        del window
        return 0.75 * event.segments


class Flood(fl.Endpoint):
    """Sends a datagram each 10 ms, and counts those that come back marked."""

    def __init__(self, begins: bool) -> None:  # noqa: FBT001
        """Sets the time of the first datagram."""
        self.next_at = 0.0 if begins else None
        self.marks = 0

    def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:
        """Counts a datagram."""
        del now
        self.delivered_bytes += len(datagram)
        self.marks += ecn == fl.Ecn.CE

    def transmit(self, now: float) -> fl.Outgoing | None:
        """Returns a datagram if it is time."""
        if self.next_at is None or now < self.next_at:
            return None
        self.next_at = now + 0.01
        return fl.Outgoing(b"flood", 1000, fl.Ecn.ECT_0)

    def deadline(self) -> float | None:
        """Returns the time of the next datagram."""
        return self.next_at


class Polling(fl.Application):
    """Asks for 20 packets, one second after those before have come."""

    def on_start(self, server: fl.Server) -> None:
        """Sends 20 packets."""
        self.asked, self.end = server.now, server.send(server.packets(20_000))

    def on_data(self, received: int, client: fl.Client) -> None:
        """Asks again."""
        if received == self.end:
            self.end = -1
            client.completed(client.now - self.asked)
            client.request(100, pause=1.0)

    def on_request(self, server: fl.Server) -> None:
        """Sends 20 packets more."""
        self.on_start(server)


def flood(index: int, seed: int) -> tuple[Flood, Flood]:
    """Makes the two ends of a flow."""
    del index, seed
    return Flood(begins=True), Flood(begins=False)


def disciplines() -> list[fl.QueueConfig]:
    """Returns one of each."""
    choke: list[fl.QueueConfig] = [fl.Choke(limit=300, min=100, max=200), fl.BackChoke(), fl.FrontChoke(), fl.Gchoke()]
    choke += [
        fl.ChokeAdaptive(),
        fl.ChokeAuto(),
        fl.Choked(),
        fl.Choker(),
        fl.Chokew(),
        fl.MlocChoke(),
        fl.Rechoke(),
        fl.Xchoke(),
    ]
    red: list[fl.QueueConfig] = [fl.Red(), fl.Ared(), fl.Fred(), fl.Sred(), fl.RedPd(), fl.RedPenaltyBox(), fl.Sfred()]
    delay: list[fl.QueueConfig] = [fl.Codel(target=0.005), fl.Cobalt(), fl.Pie(), fl.Pi2(), fl.DualPi2(), fl.Cake()]
    fair: list[fl.QueueConfig] = [
        fl.FqCodel(),
        fl.FqPie(),
        fl.Drr(),
        fl.Sfq(),
        fl.SfqRed(),
        fl.Scfq(),
        fl.Stfq(),
        fl.Wfq(),
    ]
    others: list[fl.QueueConfig] = [
        fl.DropTail(),
        fl.Blue(),
        fl.Sfb(),
        fl.Afd(),
        fl.Bare(),
        fl.Cbq(),
        fl.Csfq(),
        fl.Echo(),
        fl.Sac(),
    ]
    return [*choke, *red, *delay, *fair, *others]


def tables(folder: Path) -> "tuple[pd.DataFrame, pl.DataFrame]":
    """Runs, compares and sweeps, and returns tables."""
    queue: fl.SomeDiscipline = fl.Choke(limit=60)
    mine: fl.OwnDiscipline = Fifo
    gentle: fl.OwnCongestion = Gentle
    ends: fl.OwnEndpoints = flood
    polling: fl.OwnApplication = Polling
    scenario = fl.Scenario.dumbbell(
        tcp=2, udp=fl.rate("2mbit"), rate=fl.rate_text(1e6), duration=fl.seconds("2s"), rtt=0.08
    )
    scenario["duration"] = fl.seconds_text(3)
    outcome: fl.Outcome = scenario.run(queue=queue, runs=2)
    outcomes: fl.Outcomes = scenario.compare({"short": fl.DropTail(limit=30), "mine": mine, "named": "red"})
    swept = scenario.sweep({"flows.cbr.rate": [1e5, 1e6], "bottleneck.queue": [fl.Choke(limit=30), fl.Choke(limit=60)]})
    file: fl.SweepFile = scenario.sweep({"seed": [1, 2]}, out=folder / "swept.parquet")
    failures: tuple[fl.Failure, ...] = file.failures
    page: Path = outcomes[:2].html(folder / "page.html")
    table: fl.Table = swept.groups.head(3)
    series: fl.Series = scenario.run(cc={"ftp": gentle}, series="500ms").series
    scenario.run(applications={"ftp": polling})
    flows = [{"name": "own", "kind": "endpoint"}]
    fl.Scenario.dumbbell(rate="1mbit", duration="1s", flows=flows).run(endpoints={"own": ends})
    print(outcome.label, failures, page, table.shape, series.flows.columns, scenario.fingerprint())
    return table.to_pandas(), (swept + outcomes).filter({"label": "mine"}).each_run.to_polars()


def packets() -> fl.Counters:
    """Operates a queue packet by packet."""
    queue = fl.Queue(fl.Choke(limit=50), rate=1e6)
    events: list[fl.Event] = queue.enqueue(0.0, flow=1)
    count: fl.Count = queue.counters.arrived
    explained: fl.Explanation = fl.Red(limit=300).explain(1e6)
    resolved: fl.Resolved = explained.parameters[0]
    simulation: fl.Simulation = fl.Scenario.figure_3().start(seed=1)
    simulation.step(0.5)
    state: fl.QueueState = simulation.queue("bottleneck")
    flow: fl.FlowState = simulation.flow("ftp/0")
    print(state.packets, flow.cwnd)
    mark: fl.Fingerprint = fl.Scenario.figure_3().with_({"duration": 1, "warmup": 0}).fingerprint()
    print(events, count.packets, resolved.value, mark, fl.__version__, len(fl.disciplines.ALL))
    return queue.counters


def errors(capture: Path) -> list[str]:
    """Meets every exception."""
    said: list[str] = []
    try:
        fl.replay(capture, [fl.Choke(), Fifo], rate="1mbit")
        fl.lab(fl.Scenario.from_toml(capture))
        link: fl.Shell = fl.shell(capture)
        done: fl.Completed = link.run(["true"])
        said.append(done.outcome.scenario)
    except fl.MissingFileError as error:
        said.append(f"{error.file}: {error}")
    except fl.UnknownKeyError as error:
        said.append(error.key)
    except fl.ScenarioError as error:
        said.append(error.help or "")
    except (fl.ArgumentError, fl.StateError) as error:
        said.append(str(error))
    except (
        fl.CongestionError,
        fl.DisciplineError,
        fl.EndpointError,
        fl.LabError,
        fl.ShellError,
        fl.SweepStopped,
    ) as error:
        said.append(str(error))
    except fl.Interrupted as interrupted:
        said.append(repr(interrupted.outcomes) + repr(interrupted.characterization))
    except fl.FairlaneError as error:
        said.append(str(error))
    report: fl.Characterization = fl.characterize("codel", only="friendly", quick=True, runs=1)
    section: fl.Section = report.sections[0]
    said += [section.verdict, report.html()]
    tuning: fl.Tuning = fl.Scenario.figure_3().tune("red", "minimise delay.mean", runs=1, budget=16)
    advice: fl.Advice = fl.advise("1mbit", "20ms", "minimise delay.mean", on="router", kinds=["red"], time="60s")
    said += [tuning.verdict, advice.router, *advice.answer, advice.tc or "", str(advice.partial)]
    return [*said, str(fl.theory.choke(load=2).share), fl.papers.list_claims()[0].id]
