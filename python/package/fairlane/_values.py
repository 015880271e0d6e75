"""Conversion of Python values for the compiled part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlane import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["changes_of", "cores", "count", "instance", "native", "plain", "text", "varied_of"]

_DEEPEST = 16
"""No scenario nests deeper; the compiled part refuses what does."""

_MOST = 2**32 - 1


def native(value: object) -> Any:  # noqa: ANN401 - whatever NumPy has inside
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
    return [(key, plain(value)) for key, value in _items(changes, '{"seed": 2}')]


def varied_of(varied: Mapping[str, str | Iterable[object]]) -> list[tuple[str, str | list[str]]]:
    """The keys of a sweep with their values, each as the command line has it.

    Raises:
        TypeError: They are no mapping, a key is not text, or a value is none.
    """
    return [(key, _texts(key, values)) for key, values in _items(varied, '{"seed": [1, 2]}')]


def _items(mapping: Mapping[str, Any], example: str) -> list[tuple[str, Any]]:
    if not isinstance(mapping, Mapping):
        raise TypeError(f"expected keys with values, such as {example}, not a {type(mapping).__name__}")
    for key in mapping:
        if not isinstance(key, str):
            raise TypeError(f'a key is text, such as "flows.cbr.rate", and {key!r} is not')
    return list(mapping.items())


def _texts(key: str, values: str | Iterable[object]) -> str | list[str]:
    values = native(values)
    if isinstance(values, str):
        return values
    if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable):
        raise TypeError(
            f"{key}: the values of a sweep are a list, such as [1, 2], or text, such as '1,2', not a"
            f" {type(values).__name__}"
        )
    return [_text(key, native(value)) for value in values]


def _text(key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    what = f"{key}: a sweep's value is text, a number or a bool, not a {type(value).__name__}"
    if hasattr(value, "explain"):
        what += ": vary the discipline's name, under a key such as bottleneck.queue.kind, or compare disciplines"
    raise TypeError(what)


def count(name: str, value: object, *, least: int = 1, most: int = _MOST) -> int:
    """The parameter ``name``, a whole number.

    Raises:
        TypeError: It is no whole number.
        ValueError: It is out of range.
    """
    number = native(value)
    if not isinstance(number, int):
        raise TypeError(f"{name}: expected a whole number, not a {type(value).__name__}")
    if not least <= number <= most:
        raise ValueError(f"{name}: {number} is out of range: it must be from {least} to {most}")
    return number


def cores(jobs: object) -> int | None:
    """The parameter ``jobs``.

    Raises:
        TypeError: It is neither a whole number nor ``None``.
        ValueError: It is out of range.
    """
    return None if jobs is None else count("jobs", jobs, most=_core.MOST_THREADS)


def text(name: str, value: object, example: str) -> str:
    """The parameter ``name``, which is text with a unit.

    Raises:
        TypeError: It is no text.
    """
    if not isinstance(value, str):
        raise TypeError(f'{name}: expected text with a unit, such as "{example}", not a {type(value).__name__}')
    return value
