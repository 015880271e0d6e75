"""The recipes of `docs/python-cluster.md` for engines that are not executors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import fairlane as fl
import skip
from sweeping import VARIED, dumbbell

PAGE = Path(__file__).parents[2] / "docs" / "python-cluster.md"


def block(word: str) -> str:
    """The first code block on the page that contains this text."""
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return next(code for code in blocks if word in code)


@skip.unless(sys.version_info >= (3, 11), "submitit", "submitit asks for Python 3.11")
def test_slurm_as_the_page_has_it(tmp_path: Path) -> None:
    import submitit  # noqa: PLC0415 - it may be missing

    names: dict[str, Any] = {}
    exec(block("class Slurm"), names)  # noqa: S102 - it is ours
    jobs = submitit.AutoExecutor(folder=tmp_path / "%j", cluster="local")
    jobs.update_parameters(timeout_min=2)
    with names["Slurm"](jobs, every=0.05) as executor:
        swept = dumbbell().sweep(VARIED, executor=executor, chunk=12, out=tmp_path / "sweep.parquet")
        outcomes = dumbbell().sweep(VARIED, executor=executor, chunk=12)
    assert (swept.done, swept.failures) == (24, ())
    assert outcomes == dumbbell().sweep(VARIED)
    assert isinstance(outcomes, fl.Outcomes)
