"""The disciplines, each with its parameters, each in a separate file.

Values with a unit are text, such as ``"100p"``, ``"150kb"``, ``"20ms"`` or ``"1mbit"``. A plain number is in the unit
of results: packets for the sizes of queues, bytes for the sizes of packets, seconds for times and bit/s for rates. A
parameter that is not given, or ``None``, has its default.

All of this folder is written by python/generate from the library's own tables.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fairlane.config import QueueConfig
    from fairlane.disciplines.afd import Afd
    from fairlane.disciplines.ared import Ared
    from fairlane.disciplines.back_choke import BackChoke
    from fairlane.disciplines.bare import Bare
    from fairlane.disciplines.blue import Blue
    from fairlane.disciplines.cake import Cake
    from fairlane.disciplines.cbq import Cbq
    from fairlane.disciplines.choke import Choke
    from fairlane.disciplines.choke_adaptive import ChokeAdaptive
    from fairlane.disciplines.choke_auto import ChokeAuto
    from fairlane.disciplines.choked import Choked
    from fairlane.disciplines.choker import Choker
    from fairlane.disciplines.chokew import Chokew
    from fairlane.disciplines.cobalt import Cobalt
    from fairlane.disciplines.codel import Codel
    from fairlane.disciplines.csfq import Csfq
    from fairlane.disciplines.droptail import DropTail
    from fairlane.disciplines.drr import Drr
    from fairlane.disciplines.dualpi2 import DualPi2
    from fairlane.disciplines.echo import Echo
    from fairlane.disciplines.fq_codel import FqCodel
    from fairlane.disciplines.fq_pie import FqPie
    from fairlane.disciplines.fred import Fred
    from fairlane.disciplines.front_choke import FrontChoke
    from fairlane.disciplines.gchoke import Gchoke
    from fairlane.disciplines.mloc_choke import MlocChoke
    from fairlane.disciplines.pi2 import Pi2
    from fairlane.disciplines.pie import Pie
    from fairlane.disciplines.rechoke import Rechoke
    from fairlane.disciplines.red import Red
    from fairlane.disciplines.red_pd import RedPd
    from fairlane.disciplines.red_penalty_box import RedPenaltyBox
    from fairlane.disciplines.sac import Sac
    from fairlane.disciplines.scfq import Scfq
    from fairlane.disciplines.sfb import Sfb
    from fairlane.disciplines.sfq import Sfq
    from fairlane.disciplines.sfq_red import SfqRed
    from fairlane.disciplines.sfred import Sfred
    from fairlane.disciplines.sred import Sred
    from fairlane.disciplines.stfq import Stfq
    from fairlane.disciplines.wfq import Wfq
    from fairlane.disciplines.xchoke import Xchoke

    ALL: tuple[type[QueueConfig], ...]
    """Every discipline, in the order of the documentation."""

__all__ = [
    "ALL",
    "Afd",
    "Ared",
    "BackChoke",
    "Bare",
    "Blue",
    "Cake",
    "Cbq",
    "Choke",
    "ChokeAdaptive",
    "ChokeAuto",
    "Choked",
    "Choker",
    "Chokew",
    "Cobalt",
    "Codel",
    "Csfq",
    "DropTail",
    "Drr",
    "DualPi2",
    "Echo",
    "FqCodel",
    "FqPie",
    "Fred",
    "FrontChoke",
    "Gchoke",
    "MlocChoke",
    "Pi2",
    "Pie",
    "Rechoke",
    "Red",
    "RedPd",
    "RedPenaltyBox",
    "Sac",
    "Scfq",
    "Sfb",
    "Sfq",
    "SfqRed",
    "Sfred",
    "Sred",
    "Stfq",
    "Wfq",
    "Xchoke",
]

_FILES = {
    "DropTail": "droptail",
    "Red": "red",
    "Ared": "ared",
    "Choke": "choke",
    "ChokeAdaptive": "choke_adaptive",
    "ChokeAuto": "choke_auto",
    "FrontChoke": "front_choke",
    "BackChoke": "back_choke",
    "MlocChoke": "mloc_choke",
    "Xchoke": "xchoke",
    "Gchoke": "gchoke",
    "Chokew": "chokew",
    "Choker": "choker",
    "Rechoke": "rechoke",
    "Sac": "sac",
    "Choked": "choked",
    "Blue": "blue",
    "Sfb": "sfb",
    "Sfred": "sfred",
    "Bare": "bare",
    "Sred": "sred",
    "Fred": "fred",
    "Afd": "afd",
    "Csfq": "csfq",
    "Echo": "echo",
    "RedPenaltyBox": "red_penalty_box",
    "RedPd": "red_pd",
    "Sfq": "sfq",
    "SfqRed": "sfq_red",
    "Drr": "drr",
    "Wfq": "wfq",
    "Scfq": "scfq",
    "Stfq": "stfq",
    "Cbq": "cbq",
    "Codel": "codel",
    "FqCodel": "fq_codel",
    "Pie": "pie",
    "FqPie": "fq_pie",
    "Cobalt": "cobalt",
    "Cake": "cake",
    "Pi2": "pi2",
    "DualPi2": "dualpi2",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Reads the file of a discipline when it is asked for: there are many, and mostly few are used."""
        if name == "ALL":
            found = tuple(__getattr__(kind) for kind in _FILES)
        elif name in _FILES:
            found = getattr(__import__(f"{__name__}.{_FILES[name]}", fromlist=[name]), name)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
