"""The program ``fairlane``, which the wheel brings beside this package."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["NAME", "own"]

NAME = "fairlane.exe" if sys.platform == "win32" else "fairlane"


def own() -> Path | None:
    """The program that was installed with this package; None if the package came without one."""
    return next((path for folder in _folders() if (path := folder / NAME).is_file()), None)


def _folders() -> Iterator[Path]:
    """Where installers put programs: of this environment or user, and beside a package in a folder (``--target``)."""
    beside = Path(__file__).resolve().parents[1] / "bin"
    for scheme in (None, sysconfig.get_preferred_scheme("user")):
        paths = sysconfig.get_paths() if scheme is None else sysconfig.get_paths(scheme)
        if Path(__file__).is_relative_to(paths["platlib"]):
            yield Path(paths["scripts"])
    yield beside
