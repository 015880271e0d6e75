"""Keeps a congested link fair: simulate, compare and sweep queue disciplines, with CHOKe at the centre.

>>> import fairlane as fl
>>> scenario = fl.Scenario.dumbbell(
...     tcp=32, udp="2mbit", rate="1mbit", duration="30s", warmup="10s", queue=fl.Choke(limit=300, min=100, max=200)
... )
>>> outcome = scenario.run(seed=1)
>>> outcome.group("cbr")["share"] < 0.3
True

A :class:`Scenario` is run, compared and swept. The results are an :class:`Outcome` or several, with
tables for pandas, Polars and pyarrow. The disciplines are classes with their parameters: :mod:`fairlane.disciplines`.
A :class:`Queue` takes packets one by one. A :class:`Discipline`, a :class:`CongestionControl`,
an :class:`Application` and an :class:`Endpoint` are written in Python.
:func:`replay` sends a capture through queues, :func:`lab` runs a scenario on real Linux TCP, :func:`shell` puts any
program behind a scenario's link, :func:`characterize` reports on disciplines by RFC 7928, :func:`advise` names one for
a link and a goal, :mod:`fairlane.theory` computes what queues do in equilibrium, and :mod:`fairlane.papers` tests the
claims of papers.

A :class:`Simulation` is a run in steps, that can be read and changed on the way.

Values with a unit are text, such as ``"1mbit"``, ``"20ms"``, ``"150kb"`` or ``"300p"``. Plain numbers and results are
in bit/s, seconds, bytes and packets, or in the unit that a name ends in, such as ``_ns`` for nanoseconds:
:func:`rate` and :func:`seconds` read a text. All errors of this package are a :class:`FairlaneError`, except those of
Python itself: ``TypeError`` for an argument of the wrong type, ``KeyError`` for a name that a result lacks, ``OSError``
for a file, ``ImportError`` for a package that is not installed.
"""

from fairlane import disciplines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlane import papers, theory
    from fairlane._core import Ack, Client, CongestionEvent, DropSink, Packet, Server, Window, __version__
    from fairlane._parquet import SweepFile
    from fairlane._sweep import Failure
    from fairlane.advice import Advice, Tuning, advise
    from fairlane.application import Application, OwnApplication
    from fairlane.captures import replay
    from fairlane.characterization import Characterization, Section, characterize
    from fairlane.config import QueueConfig
    from fairlane.congestion import CongestionControl, Connection, OwnCongestion
    from fairlane.discipline import Discipline, Host, OwnDiscipline, SomeDiscipline
    from fairlane.disciplines import *  # noqa: F403 - all of them, by the list of that module
    from fairlane.endpoint import Ecn, Endpoint, Outgoing, OwnEndpoints
    from fairlane.errors import (
        ArgumentError,
        CongestionError,
        DisciplineError,
        EndpointError,
        FairlaneError,
        Interrupted,
        LabError,
        MissingFileError,
        ScenarioError,
        ShellError,
        StateError,
        SweepStopped,
        UnknownKeyError,
    )
    from fairlane.explanation import Explanation, Resolved
    from fairlane.fingerprint import Fingerprint
    from fairlane.link import Completed, Shell, shell
    from fairlane.linux import lab
    from fairlane.outcome import Outcome, Outcomes
    from fairlane.queue import Count, Counters, Event, Queue
    from fairlane.scenario import Scenario
    from fairlane.simulation import FlowState, QueueState, Simulation
    from fairlane.table import Series, Table
    from fairlane.units import rate, rate_text, seconds, seconds_text

__all__ = [
    "Ack",
    "Advice",
    "Afd",
    "Application",
    "Ared",
    "ArgumentError",
    "BackChoke",
    "Bare",
    "Blue",
    "Cake",
    "Cbq",
    "Characterization",
    "Choke",
    "ChokeAdaptive",
    "ChokeAuto",
    "Choked",
    "Choker",
    "Chokew",
    "Client",
    "Cobalt",
    "Codel",
    "Completed",
    "CongestionControl",
    "CongestionError",
    "CongestionEvent",
    "Connection",
    "Count",
    "Counters",
    "Csfq",
    "Discipline",
    "DisciplineError",
    "DropSink",
    "DropTail",
    "Drr",
    "DualPi2",
    "Echo",
    "Ecn",
    "Endpoint",
    "EndpointError",
    "Event",
    "Explanation",
    "Failure",
    "FairlaneError",
    "Fingerprint",
    "FlowState",
    "FqCodel",
    "FqPie",
    "Fred",
    "FrontChoke",
    "Gchoke",
    "Host",
    "Interrupted",
    "LabError",
    "MissingFileError",
    "MlocChoke",
    "Outcome",
    "Outcomes",
    "Outgoing",
    "OwnApplication",
    "OwnCongestion",
    "OwnDiscipline",
    "OwnEndpoints",
    "Packet",
    "Pi2",
    "Pie",
    "Queue",
    "QueueConfig",
    "QueueState",
    "Rechoke",
    "Red",
    "RedPd",
    "RedPenaltyBox",
    "Resolved",
    "Sac",
    "Scenario",
    "ScenarioError",
    "Scfq",
    "Section",
    "Series",
    "Server",
    "Sfb",
    "Sfq",
    "SfqRed",
    "Sfred",
    "Shell",
    "ShellError",
    "Simulation",
    "SomeDiscipline",
    "Sred",
    "StateError",
    "Stfq",
    "SweepFile",
    "SweepStopped",
    "Table",
    "Tuning",
    "UnknownKeyError",
    "Wfq",
    "Window",
    "Xchoke",
    "__version__",
    "advise",
    "characterize",
    "disciplines",
    "lab",
    "papers",
    "rate",
    "rate_text",
    "replay",
    "seconds",
    "seconds_text",
    "shell",
    "theory",
]

_FILES = {
    "_core": ("Ack", "Client", "CongestionEvent", "DropSink", "Packet", "Server", "Window", "__version__"),
    "_parquet": ("SweepFile",),
    "_sweep": ("Failure",),
    "advice": ("Advice", "Tuning", "advise"),
    "application": ("Application", "OwnApplication"),
    "captures": ("replay",),
    "characterization": ("Characterization", "Section", "characterize"),
    "config": ("QueueConfig",),
    "congestion": ("CongestionControl", "Connection", "OwnCongestion"),
    "discipline": ("Discipline", "Host", "OwnDiscipline", "SomeDiscipline"),
    "endpoint": ("Ecn", "Endpoint", "Outgoing", "OwnEndpoints"),
    "errors": (
        "ArgumentError",
        "CongestionError",
        "DisciplineError",
        "EndpointError",
        "FairlaneError",
        "Interrupted",
        "LabError",
        "MissingFileError",
        "ScenarioError",
        "ShellError",
        "StateError",
        "SweepStopped",
        "UnknownKeyError",
    ),
    "explanation": ("Explanation", "Resolved"),
    "fingerprint": ("Fingerprint",),
    "link": ("Completed", "Shell", "shell"),
    "linux": ("lab",),
    "outcome": ("Outcome", "Outcomes"),
    "papers": (),
    "plot": (),
    "queue": ("Count", "Counters", "Event", "Queue"),
    "scenario": ("Scenario",),
    "simulation": ("FlowState", "QueueState", "Simulation"),
    "table": ("Series", "Table"),
    "theory": (),
    "units": ("rate", "rate_text", "seconds", "seconds_text"),
}
"""The modules of this package, with their names that are exported here."""

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Imports a module when one of its names is first used, so that short programs start quickly."""
        if name in disciplines.__all__ and name != "ALL":
            found = getattr(disciplines, name)
        elif name in _FILES:
            found = __import__(f"{__name__}.{name}", fromlist=["*"])
        else:
            file = next((file for file, names in _FILES.items() if name in names), None)
            if file is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            found = getattr(__import__(f"{__name__}.{file}", fromlist=[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(file for file in _FILES if file[0] != "_")})
