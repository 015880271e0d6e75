"""Text with a unit, and numbers in the units of results."""

from __future__ import annotations

from fairlane import _core
from fairlane._values import native

__all__ = ["UNITS", "quantity", "rate", "rate_text", "seconds", "seconds_text"]

UNITS = {"bps": "bit/s", "s": "s", "packets": "packets", "bytes": "bytes", "bdp": "bdp"}
"""The units of numbers, by the endings of the columns that have them."""


def rate(text: str) -> int:
    """Returns the rate that ``text`` says, such as ``1.5mbit``, in bit/s.

    Raises:
        ScenarioError: The text is no rate; the message says what would be.
    """
    return int(_core.number("rate", text))


def seconds(text: str) -> float:
    """Returns the time that ``text`` says, such as ``20ms``, in seconds.

    Raises:
        ScenarioError: The text is no time; the message says what would be.
    """
    return _core.number("time", text)


def rate_text(bits_per_second: float) -> str:
    """Returns ``bits_per_second``, a rate in bit/s, as text such as ``1mbit``, rounded to whole bits per second.

    Raises:
        ScenarioError: It is negative, or not finite.
    """
    return _core.with_unit("rate", native(bits_per_second), "bits_per_second")


def seconds_text(seconds: float) -> str:
    """Returns ``seconds``, a time in seconds, as text such as ``20ms``, rounded to whole nanoseconds.

    Raises:
        ScenarioError: It is negative, not finite, or longer than 104 days.
    """
    return _core.with_unit("time", native(seconds), "seconds")


def quantity(value: object) -> tuple[float, str] | None:
    """Returns the number and the unit of a scenario's value: bit/s, s, packets, bytes, bdp, or none for a plain number.

    ``None`` is returned for a ``value`` that is no number.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return float(value), ""
    read = _core.quantity(str(value))
    return None if read is None else (read[0], UNITS[read[1]])
