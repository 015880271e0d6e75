"""Conversion of Python values for the compiled part."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane import _core
from fairlane.errors import ArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "changes_of",
    "cores",
    "count",
    "instance",
    "items_of",
    "native",
    "number_of",
    "plain",
    "setting",
    "with_unit",
]

_DEEPEST = 16
"""No scenario nests deeper; the compiled part refuses what does."""

_MOST = 2**32 - 1


def native(value: object) -> Any:  # noqa: ANN401 - any type that NumPy has inside
    """A number or an array of NumPy as Python has it; anything else as it is."""
    return value.tolist() if hasattr(value, "dtype") and hasattr(value, "tolist") else value


def plain(value: object, depth: int = 0) -> object:
    """A value made of Python's own types only."""
    from fairlane.config import QueueConfig

    value = native(instance(value))
    if depth > _DEEPEST:
        return value
    if isinstance(value, QueueConfig):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {key: plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, depth + 1) for inner in value]
    return value


def instance(queue: Any) -> Any:  # noqa: ANN401 - anything may be given
    """The argument, which must not be a class of the library in place of an object.

    Raises:
        TypeError: It is such a class.
    """
    from fairlane.config import QueueConfig

    if isinstance(queue, type) and issubclass(queue, QueueConfig):
        name = queue.__name__
        raise TypeError(f"fairlane.{name} is a class: a discipline is an object of it, fairlane.{name}()")
    return queue


def changes_of(changes: Mapping[str, object]) -> list[tuple[str, object]]:
    """Keys with their new values.

    Raises:
        TypeError: They are no mapping, or a key is not text.
    """
    return [(key, plain(value)) for key, value in items_of(changes, '{"seed": 2}')]


def items_of(mapping: Mapping[str, Any], example: str) -> list[tuple[str, Any]]:
    """The keys of a mapping with their values.

    Raises:
        TypeError: It is no mapping, or a key is not text.
    """
    if not isinstance(mapping, Mapping):
        raise TypeError(f"expected keys with values, such as {example}, not a {type(mapping).__name__}")
    for key in mapping:
        if not isinstance(key, str):
            raise TypeError(f'a key is text, such as "flows.cbr.rate", and {key!r} is not')
    return list(mapping.items())


def number_of(value: object) -> float | None:
    """The value as a float if it is a number, and not a bool."""
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def setting(key: str, value: object) -> str:
    """A value of a sweep as text.

    Raises:
        TypeError: It is of another type.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{key}: a sweep's value is text, a number, a bool or a discipline, not a {type(value).__name__}")


def count(name: str, value: object, *, least: int = 1, most: int = _MOST) -> int:
    """The parameter ``name``, a whole number.

    Raises:
        TypeError: It is no whole number.
        ArgumentError: It is out of range.
    """
    number = native(value)
    if not isinstance(number, int):
        raise TypeError(f"{name}: expected a whole number, not a {type(value).__name__}")
    if not least <= number <= most:
        raise ArgumentError(f"{name}: {number} is out of range: it must be from {least} to {most}")
    return number


def cores(jobs: object) -> int | None:
    """The parameter ``jobs``.

    Raises:
        TypeError: It is neither a whole number nor ``None``.
        ArgumentError: It is out of range.
    """
    return None if jobs is None else count("jobs", jobs, most=_core.MOST_THREADS)


_EXAMPLES = {"rate": ("10mbit", "bit/s"), "time": ("100ms", "seconds"), "bytes": ("1000b", "bytes")}


def with_unit(name: str, value: object, quantity: str) -> str:
    """The parameter ``name``, text with a unit or a number: a ``rate`` in bit/s, a ``time`` in seconds, or ``bytes``.

    Raises:
        TypeError: It is neither.
        ScenarioError: The number is out of range.
    """
    value = native(value)
    if isinstance(value, str):
        return value
    number = number_of(value)
    if number is None:
        example, unit = _EXAMPLES[quantity]
        what = type(value).__name__
        raise TypeError(f'{name}: expected text with a unit, such as "{example}", or a number of {unit}, not a {what}')
    return _core.with_unit(quantity, number, name)
