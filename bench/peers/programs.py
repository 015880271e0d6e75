"""Imports the runners, whose files have no suffix, for their tests."""

import importlib.machinery
import importlib.util
import sys
from pathlib import Path


def load(name):
    """Imports the program `name` of this folder."""
    loader = importlib.machinery.SourceFileLoader(name, str(Path(__file__).resolve().parent / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    sys.modules[name] = module
    loader.exec_module(module)
    return module
