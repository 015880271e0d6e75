"""Exceptions; their text contains the problem and the remedy."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fairlane.characterization import Characterization
    from fairlane.outcome import Outcomes
    from fairlane.papers import Claim

__all__ = [
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
]


class FairlaneError(Exception):
    """The base class of this package's errors. :class:`Interrupted` is none, since Ctrl-C is no error."""


class ArgumentError(FairlaneError, ValueError):
    """An argument that is out of range, or that does not fit the others; the text has its name and the remedy."""


class StateError(FairlaneError, RuntimeError):
    """A call for which it is too early or too late, such as a step of a simulation that has failed."""


class ScenarioError(FairlaneError, ValueError):
    """An invalid scenario, discipline or sweep.

    The text has the place of the value, the problem and the remedy.

    Attributes:
        key: The key, such as ``bottleneck.queue.max``; empty when the error is not about one.
        help: The remedy, if the message does not contain it.
        file: The name of the file, for an error about a scenario.
        line: The line in it, from 1, for a value in the file.
        column: The column in that line, from 1, in characters.
        text: The text of the file; for a scenario from a dict, the text that was generated from it.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - pickle gives them back in a row
        self,
        message: str,
        key: str = "",
        help: str | None = None,  # noqa: A002 - the word of the command line
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str = "",
    ) -> None:
        super().__init__(message)
        self.key = key
        self.help = help
        self.file = file
        self.line = line
        self.column = column
        self.text = text

    def __reduce__(self) -> tuple[Any, ...]:
        parts = (self.key, self.help, self.file, self.line, self.column, self.text)
        return type(self), (str(self), *parts)


class MissingFileError(ScenarioError, FileNotFoundError):
    """A scenario or a capture that does not exist. Its attributes are those of :class:`ScenarioError`."""

    def __str__(self) -> str:
        # Without the number that FileNotFoundError puts before the text.
        return str(self.args[0])


class UnknownKeyError(ScenarioError, KeyError):
    """A key that no scenario has. Its attributes are those of :class:`ScenarioError`; ``help`` has the nearest key."""

    def __str__(self) -> str:
        # Without the quotes that KeyError puts around the text.
        return str(self.args[0])


class CongestionError(FairlaneError, RuntimeError):
    """A congestion control written in Python set a window or a rate that is none, or raised what is the cause of this.

    The text has the flow and the simulated time.
    """


class DisciplineError(FairlaneError, RuntimeError):
    """A discipline written in Python lost a packet, or returned or dropped one twice."""


class EndpointError(FairlaneError, RuntimeError):
    """An endpoint or an application written in Python made a mistake, or raised the exception that is the cause.

    The text has the end, the flow with its number in the group, and the simulated time.
    """


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, ended a long run.

    Attributes:
        outcomes: The outcomes so far. An outcome whose ``partial`` is true has fewer or shorter runs than were
            asked for.
        claims: The claims of :func:`fairlane.papers.run`, judged by the finished runs. ``value`` and ``met`` are
            ``None`` where there were none.
        characterization: The report of :func:`fairlane.characterize` with the finished runs; ``None`` of other work.
    """

    def __init__(
        self,
        message: str,
        outcomes: Outcomes,
        claims: Sequence[Claim] = (),
        characterization: Characterization | None = None,
    ) -> None:
        super().__init__(message)
        self.outcomes = outcomes
        self.claims = tuple(claims)
        self.characterization = characterization

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.outcomes, self.claims, self.characterization)


class SweepStopped(FairlaneError, RuntimeError):  # noqa: N818 - it is what happened, like Interrupted
    """A sweep could not continue, because its executor takes no more work or no worker can do it.

    Attributes:
        outcomes: The outcomes so far; empty for a sweep into a file, which continues when it is called again.
    """

    def __init__(self, message: str, outcomes: Outcomes | None = None) -> None:
        super().__init__(message)
        self.outcomes = outcomes


class ShellError(FairlaneError, RuntimeError):
    """A link of :func:`fairlane.shell` could not be set up, or has failed: the text has the reason, and the remedy."""


class LabError(FairlaneError, RuntimeError):
    """A lab gave no measurement: the text has the reason, and the remedy.

    Attributes:
        outcomes: The outcomes of the labs that succeeded, of several; ``None`` if none was begun.
    """

    def __init__(self, message: str, outcomes: Outcomes | None = None) -> None:
        super().__init__(message)
        self.outcomes = outcomes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.outcomes)
