"""Functions that must work with the wheel alone: without other packages, a compiler or PATH."""

import importlib.util
import pickle

import fairlane as fl

for other in ("numpy", "pandas", "pyarrow", "polars", "tqdm"):
    assert importlib.util.find_spec(other) is None, f"this is no clean environment: {other} is here"

scenario = fl.Scenario.figure_3().with_({"duration": "4s", "warmup": "2s"})
outcome = scenario.run()
assert len(outcome.flows) == len(outcome.flows["flow"]) == 33
assert pickle.loads(pickle.dumps(outcome)) == outcome
assert "<html" in outcome.html()
