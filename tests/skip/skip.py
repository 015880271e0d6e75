"""Skips of tests in Python. Each names what the test needs.

A skip without a requirement, or with a required one, is a failure.

A conftest.py imports the hooks, so that they see every skip.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from skips import RequiredError, note, required

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["because", "module", "pytest_configure", "pytest_runtest_makereport", "unless"]

# The end of a reason.
REQUIREMENT = re.compile(r"\A(?:Skipped: )?(?P<reason>.*) \((?P<word>[a-z-]+)\)\Z", re.DOTALL)


def because(requirement: str, reason: str) -> NoReturn:
    """Skip the test, since `requirement` is missing for `reason`."""
    pytest.skip(f"{reason} ({requirement})")


def unless(there: bool, requirement: str, reason: str) -> pytest.MarkDecorator:  # noqa: FBT001 - a condition, as skipif has it
    """Mark a test that is skipped unless what it needs is there."""
    return pytest.mark.skipif(not there, reason=f"{reason} ({requirement})")


def module(name: str, requirement: str = "python-packages") -> Any:  # noqa: ANN401 - a module
    """Return a module; skip the test where it is not installed."""
    return pytest.importorskip(name, reason=f"there is no {name} ({requirement})")


def pytest_configure() -> None:
    """Refuse unknown requirements."""
    try:
        required()
    except RequiredError as error:
        raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write a skip down, or make it a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        found = REQUIREMENT.match(reason)
        try:
            note(item.nodeid, found["word"] if found else "", found["reason"] if found else reason)
        except RequiredError as error:
            report.outcome = "failed"
            report.longrepr = str(error)
    return report
