"""The notebooks run, and print the outputs that are stored in them: a simulation gives the same numbers each time."""

from __future__ import annotations

import importlib.machinery
import importlib.util
from pathlib import Path
from typing import Any

import nbformat
import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def module() -> Any:
    """Imports the program `run`, which has no suffix."""
    loader = importlib.machinery.SourceFileLoader("run_notebooks", str(NOTEBOOKS / "run"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    loader.exec_module(made)
    return made


def said(notebook: Any) -> list[str]:
    """The printed output of the cells, and the text of their values.

    What a cell prints arrives in as many pieces as the kernel sent: those that follow each other are joined.
    """
    texts: list[str] = []
    for cell in notebook.cells:
        printing = False
        for output in cell.get("outputs", []):
            if output.output_type != "stream":
                texts.append(output["data"].get("text/plain", ""))
            elif printing:
                texts[-1] += output["text"]
            else:
                texts.append(output["text"])
            printing = output.output_type == "stream"
    return texts


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_and_says_the_same(path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    run = module().executed(path)
    assert said(run) == said(kept)
    pictures = [out for cell in kept.cells for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]
    assert pictures, "each has a picture"
    assert path.stat().st_size < 120_000, "the pictures are kept small"


def test_all_notebooks_are_there() -> None:
    names = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert names >= {
        "choke-in-ten-lines",
        "figure-5",
        "choose-an-aqm",
        "own-discipline",
        "sweep-on-dask",
        "learned-probability",
    }
