"""The disciplines' classes."""

import importlib.machinery
import importlib.util
import pickle
from pathlib import Path

import fairlane as fl
import pytest
from fairlane import _core, disciplines

PYTHON = Path(__file__).parents[1]


def test_the_classes_are_those_of_the_library() -> None:
    """Would catch a new discipline or parameter for which `python/generate` was not run."""
    loader = importlib.machinery.SourceFileLoader("generate", str(PYTHON / "generate"))
    spec = importlib.util.spec_from_loader("generate", loader)
    assert spec is not None
    generate = importlib.util.module_from_spec(spec)
    loader.exec_module(generate)
    written = {file.name: file.read_text() for file in (PYTHON / "package/fairlane/disciplines").glob("*.py")}
    assert generate.files() == written
    first = (PYTHON / "package/fairlane/__init__.py").read_text()
    assert generate.exports(first) == first
    assert len(disciplines.ALL) == len(_core.kinds())


@pytest.mark.parametrize("kind", disciplines.ALL, ids=lambda kind: kind.__name__)
def test_every_discipline_explains_its_defaults_and_runs(kind: type[fl.QueueConfig]) -> None:
    queue = kind({}) if kind is fl.QueueConfig else kind()  # type: ignore[call-arg]
    explained = queue.explain("1mbit")
    assert [parameter.origin for parameter in explained.parameters].count("given") == 0
    assert str(explained).startswith(f"{kind.kind} on a link of 1mbit")
    assert pickle.loads(pickle.dumps(queue)) == queue
    scenario = fl.Scenario.dumbbell(rate="1mbit", duration="2s", tcp=20, udp="2mbit", queue=queue)
    assert scenario.run().queue()["kind"] == kind.kind


def test_numbers_have_the_unit_that_can_be_meant() -> None:
    assert fl.Choke(limit=300, min=100, max=200) == fl.Choke(limit="300p", min="100p", max="200p")
    assert fl.Choke(avpkt=1000).parameters == {"avpkt": "1000b"}
    assert repr(fl.Choke(limit=300)) == "Choke(limit='300p')"
    assert hash(fl.Choke(limit=300)) == hash(fl.Choke(limit="300p"))
    assert fl.Choke() != fl.Red()
    # In the units of results: seconds and bit/s.
    assert fl.Codel(target=0.005, interval=1) == fl.Codel(target="5ms", interval="1s")
    assert fl.Red(bandwidth=1e6) == fl.Red(bandwidth="1mbit")
    with pytest.raises(fl.ScenarioError, match=r"choke limit: 0\.5 is not a whole number of packets"):
        fl.Choke(limit=0.5)  # type: ignore[arg-type]
    with pytest.raises(fl.ScenarioError, match="codel target: -1 is not a time in seconds"):
        fl.Codel(target=-1)


def test_wrong_parameters_are_refused_when_they_are_given() -> None:
    with pytest.raises(TypeError, match="mim"):
        fl.Choke(mim=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="choke limit: a value is text, a number or a bool"):
        fl.Choke(limit=object())  # type: ignore[arg-type]
    with pytest.raises(fl.ScenarioError, match="from 1 to 64"):
        fl.Choke(candidates=65)
    with pytest.raises(fl.ScenarioError, match="choke min"):
        fl.Choke(min=200, max=100).explain()


def test_explain_tells_what_follows_and_what_looks_wrong() -> None:
    explained = fl.Choke(limit=300, min=100, max=150).explain("1mbit")
    assert explained["max"] == "150p"
    assert explained.warnings
    with pytest.raises(KeyError):
        explained["none"]
    with pytest.raises(fl.ScenarioError, match="rate: "):
        fl.Choke().explain("fast")
