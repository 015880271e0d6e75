"""The claims of five papers: every figure, table and number as data, with the experiment that judges it.

``docs/claims.md`` describes what a claim is, ``docs/papers`` how each stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairlane import _core
from fairlane._progress import Progress, shown
from fairlane._values import cores, count
from fairlane.errors import Interrupted
from fairlane.outcome import Outcomes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Check", "Claim", "list_claims", "run", "show"]


@dataclass(frozen=True)
class Check:
    """A number of a claim, and the range in which its mean must lie.

    Attributes:
        what: What the number is.
        unit: Its unit.
        demand: The least and the most that it may be; ``None`` for no bound.
        paper: What the paper has, as it has it.
        model: What the model says, in the same unit.
        ns2: What ns-2 gives, in the same unit.
        value: Our number, after a run; ``None`` when there is none, or when this form of the experiment has none.
        value_ci95: Half the width of its 95 % interval.
        lacking: Why some runs of the full form have no number; ``None`` if all have one. Then the check is undecided.
        met: True if the mean lies in the range, False if it does not; ``None`` if it was not run, or if its interval is
            too wide to say (``verdict`` tells which).
        verdict: ``met``, ``missed``, or ``undecided`` if more runs are needed; ``None`` if it was not run. The rule is
            in ``docs/claims.md``.
    """

    what: str
    unit: str
    demand: tuple[float | None, float | None]
    paper: str | None
    model: float | None
    ns2: float | None
    value: float | None = None
    value_ci95: float | None = None
    lacking: str | None = None
    met: bool | None = None
    verdict: str | None = None


@dataclass(frozen=True, repr=False)
class Claim:
    """A figure, a table or a number of a paper.

    Attributes:
        id: Its name.
        paper: The paper's name.
        where: Where it stands in the paper.
        says: What the paper says.
        status: ``met``, ``short`` (a number is missed), ``undecided`` (none is missed, but one needs more runs) or
            ``out`` (not testable): at the last full run, or of this run; ``None`` when this form of the experiment
            checks nothing.
        remark: Differences explained.
        checks: Its numbers.
    """

    id: str
    paper: str
    where: str
    says: str
    status: str | None
    remark: str
    checks: tuple[Check, ...]

    def __repr__(self) -> str:
        return f"<Claim {self.id}: {self.status or 'not judged'}, {len(self.checks)} checks>"

    def _repr_html_(self) -> str:
        from fairlane._html import caption, table

        rows = [
            (check.what, check.unit, _range(check.demand), check.paper, check.value, check.value_ci95, check.verdict)
            for check in self.checks
        ]
        head = caption(f"{self.id} ({self.where}): {self.says}") + caption(f"status: {self.status or 'not judged'}")
        remark = caption(self.remark) if self.remark else ""
        return head + table(["what", "unit", "demand", "paper", "ours", "±", "verdict"], rows) + remark


def _range(demand: tuple[float | None, float | None]) -> str:
    """The range of a check, in words."""
    least, most = demand
    if least is None and most is None:
        return "any"
    if most is None:
        return f"from {least:g}"
    return f"at most {most:g}" if least is None else f"{least:g} to {most:g}"


def list_claims() -> list[Claim]:
    """All claims, in the order of the papers, with their status at the last full run."""
    return [_claim(claim) for claim in json.loads(_core.claims([]))]


def show(id: str) -> list[Claim]:  # noqa: A002 - the word of the command line
    """The claim named ``id``, or all claims of the paper ``id``, or all whose names begin with ``id``.

    Raises:
        ArgumentError: There is no such claim.
    """
    return [_claim(claim) for claim in json.loads(_core.claims([id]))]


def run(
    ids: str | Sequence[str],
    *,
    short: bool = False,
    runs: int | None = None,
    jobs: int | None = None,
    progress: Progress = None,
) -> list[Claim]:
    """Runs the experiments of claims and judges them.

    Args:
        ids: Their names, as :func:`show` takes them, or ``all``.
        short: Run the short forms, which take seconds, instead of the full ones.
        runs: Number of runs of each random experiment, instead of the experiments' own.
        jobs: Number of cores to use; all of them if it is not given.
        progress: True to show a bar, or a function that is called with the number of finished runs and the total.

    Raises:
        ArgumentError: There is no such claim.
        Interrupted: Ctrl-C; its ``claims`` are judged by the finished runs. For runs of hours use
            ``fairlane paper run``, which continues after an interruption.
    """
    names = [ids] if isinstance(ids, str) else list(ids)
    often = None if runs is None else count("runs", runs)
    threads = cores(jobs)
    with shown(progress, 1) as tell:
        said, done, asked = _core.judge(names, short, often, threads, tell)
    judged = json.loads(said)
    claims = [_claim(claim) for claim in judged["claims"]]
    if judged.get("partial"):
        there = f"{done} of {asked} runs are done"
        raise Interrupted(
            f"interrupted: {there}; the claims of this exception are judged by them", Outcomes([]), claims
        )
    return claims


def _claim(tree: dict[str, Any]) -> Claim:
    names = ("what", "unit", "paper", "model", "ns2", "value_ci95", "lacking", "met", "verdict")

    def check(tree: dict[str, Any]) -> Check:
        # In a claim that was not run, the value is the expression that computes it.
        value = tree["value"] if "met" in tree else None
        given = {name: tree.get(name) for name in names}
        return Check(**given, value=value, demand=(tree["demand"][0], tree["demand"][1]))  # type: ignore[arg-type]

    checks = tuple(check(inner) for inner in tree["checks"])
    texts = {name: tree[name] for name in ("id", "paper", "where", "says", "status", "remark")}
    return Claim(**texts, checks=checks)
