"""Values of Python as the compiled part takes them."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["plain", "texts_of"]


def plain(value: object) -> object:
    """A value without classes of ours."""
    if isinstance(value, QueueConfig):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value


def texts_of(values: str | Iterable[object]) -> str | list[str]:
    """The values of a key in a sweep, each as the command line has it."""
    return values if isinstance(values, str) else [_text(value) for value in values]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"a sweep's value is text, a number or a bool, and not a {type(value).__name__}")
