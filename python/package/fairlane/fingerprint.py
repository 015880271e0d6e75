"""Fingerprints of runs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Fingerprint"]


class Fingerprint(NamedTuple):
    """Hashes that identify the trajectory of a run.

    Attributes:
        strict: The hash of every decision, to the nanosecond.
        loose: The hash of the packets that each flow delivered and lost to drops in each second.
    """

    strict: str
    loose: str
