"""What tells one run from every other."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Fingerprint"]


class Fingerprint(NamedTuple):
    """What tells a run's trajectory from every other.

    Attributes:
        strict: Of every decision, to the nanosecond.
        loose: Of what each flow had delivered and dropped in each second.
    """

    strict: str
    loose: str
