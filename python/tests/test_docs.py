"""The code on the pages works unchanged."""

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/python.md", ROOT / "python/README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a name, a keyword or a key on a page that no longer exists."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    assert blocks
    known: dict[str, Any] = {}
    for block in blocks:
        # As on the page, except for the duration.
        short = block.replace('"120s"', '"3s"').replace('"20s"', '"1s"')
        exec(compile(short, page.name, "exec"), known)  # noqa: S102 - it is our own page
    assert len(known["outcomes"].groups) == 6
