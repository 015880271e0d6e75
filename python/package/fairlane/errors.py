"""What can go wrong, as exceptions that say what would be right."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fairlane.outcome import Outcomes
    from fairlane.papers import Claim

__all__ = ["DisciplineError", "Interrupted", "ScenarioError", "SweepStopped"]


class ScenarioError(ValueError):
    """A scenario, a discipline or a sweep that was refused.

    Its text is that of the command line: where the value stands, what is wrong with it and what would be right.

    Attributes:
        key: The key, such as ``bottleneck.queue.max``; empty when the error is not about one.
        help: What to write instead, where the text does not say it.
        file: What the file is called, if it is about a scenario.
        line: The line in it, from 1, if the value stands in the file.
        column: The column in that line, from 1, in characters.
        text: The text of the file; for a scenario that was made of a dict, the text that was made of it.
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


class DisciplineError(RuntimeError):
    """A discipline written in Python broke the rules of a queue: it lost a packet, or gave one away twice."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, or a notebook's stop button, ended a long run.

    Attributes:
        outcomes: What was done until then. An outcome whose ``partial`` is true has fewer or shorter runs than were
            asked for.
        claims: Of :func:`fairlane.papers.run`, the claims, judged by the runs that were done. ``value`` and ``met`` are
            ``None`` where none was.
    """

    def __init__(self, message: str, outcomes: Outcomes, claims: Sequence[Claim] = ()) -> None:
        super().__init__(message)
        self.outcomes = outcomes
        self.claims = tuple(claims)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.outcomes, self.claims)


class SweepStopped(RuntimeError):  # noqa: N818 - it is what happened, like Interrupted
    """A sweep could not go on, as its executor takes no more work or no worker can do it.

    Attributes:
        outcomes: What was done until then; none of a sweep into a file, which goes on when it is called again.
    """

    def __init__(self, message: str, outcomes: Outcomes | None = None) -> None:
        super().__init__(message)
        self.outcomes = outcomes
