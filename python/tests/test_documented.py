"""Every public name is documented: its meaning, its parameters, the unit of a number, and the errors that it raises."""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import fairlane as fl
import pytest

# Words that give a number its unit, or say that it has none.
UNITS = (
    r"\b(packets?|bytes?|seconds?|nanoseconds|bit/s|Mbit/s|windows?"
    r"|numbers?|counts?|0 to 1|0 or 1|times|factor|fractions?|probabilit\w+|parts?|shares?|ratios?|loads?|rates? in"
    r"|seeds?|cores?|runs?|points?|flows?|candidates?|levels?|bins?|draws?|comparisons?|rows?|line|column|retransmi\w+"
    r"|degrees|decibels|timeouts?|from \d+|width|unit)\b"
)
SUFFIXES = {"_s": "second", "_ns": "nanosecond", "_bps": "bit/s"}


# Their objects come from calls, so the parameters of their constructors are no matter of users.
RESULTS = {
    "Advice",
    "AltairPlots",
    "Characterization",
    "Outcome",
    "Outcomes",
    "Plots",
    "Shell",
    "SweepFile",
    "Table",
    "Tuning",
}


class Name(NamedTuple):
    """A public name with its object, its docstring, and that of its class."""

    path: str
    thing: Any
    doc: str
    around: str = ""


def modules() -> Iterator[types.ModuleType]:
    """The modules that users import."""
    for found in pkgutil.walk_packages(fl.__path__, "fairlane."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield importlib.import_module(found.name)
    yield fl


def of_class(path: str, owner: type) -> Iterator[Name]:
    """The public methods and properties of a class of ours."""
    for name in dir(owner):
        where = next((base for base in owner.__mro__ if name in vars(base)), object)
        if name.startswith("_") or not where.__module__.startswith("fairlane"):
            continue
        thing = inspect.getattr_static(owner, name)
        if isinstance(thing, (classmethod, staticmethod)):
            thing = thing.__func__
        if callable(thing) or isinstance(thing, (property, types.GetSetDescriptorType)):
            doc = inspect.getdoc(getattr(owner, name, thing)) or ""
            if same := re.match(r"As :meth:`(\w+)\.(\w+)`", doc):
                doc += inspect.getdoc(getattr(vars(importlib.import_module(owner.__module__))[same[1]], same[2])) or ""
            yield Name(f"{path}.{name}", thing, doc, inspect.getdoc(owner) or "")


def names() -> list[Name]:
    """All public modules, classes, functions, methods and properties, each once."""
    found: dict[int, Name] = {}
    for module in modules():
        found[id(module)] = Name(module.__name__, module, module.__doc__ or "")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                path = f"{thing.__module__}.{name}"
                found.setdefault(id(thing), Name(path, thing, thing.__doc__ or ""))
                for member in of_class(path, thing) if inspect.isclass(thing) else ():
                    found.setdefault(id(member.thing), member)
    return list(found.values())


NAMES = names()


def parameters(name: Name) -> dict[str, Any]:
    """The parameters of a function, or of the constructor of a class, with their annotations."""
    made = name.thing
    if inspect.isclass(made):
        if (
            issubclass(made, (tuple, BaseException))
            or made.__name__ in RESULTS
            or hasattr(made, "__dataclass_fields__")
        ):
            return {}
        made = vars(made).get("__init__")
    if not inspect.isfunction(made):
        return {}
    kept = [item for item in inspect.signature(made).parameters.values() if item.name not in {"self", "cls"}]
    return {item.name: item.annotation for item in kept}


def fields(owner: Any) -> dict[str, Any]:
    """The data of a class: fields of tuples and dataclasses, and public slots, with their annotations."""
    if not inspect.isclass(owner):
        return {}
    given = {key: kind for key, kind in vars(owner).get("__annotations__", {}).items() if not key.startswith("_")}
    slots = vars(owner).get("__slots__", ())
    given = {key: kind for key, kind in given.items() if "ClassVar" not in str(kind)}
    return {**{slot: "" for slot in slots if not slot.startswith("_")}, **given}


def explained(doc: str, key: str) -> str:
    """The description of a parameter or an attribute: its entry, or else the sentences that mention it."""
    entry = re.search(rf"^( +){key}: (.*(?:\n\1 +.*)*)", doc, flags=re.MULTILINE)
    if entry:
        return re.sub(r"\s+", " ", entry[2])
    paragraphs = [re.sub(r"\s+", " ", part) for part in re.split(r"\n\s*\n", doc)]
    return " ".join(part for part in paragraphs if f"``{key}``" in part)


def docs_of(name: Name) -> str:
    """The docstring of a class with that of its constructor, or of a method with that of its class."""
    init = vars(name.thing).get("__init__") if inspect.isclass(name.thing) else None
    return f"{name.doc}\n\n{getattr(init, '__doc__', None) or ''}\n\n{name.around}"


def test_there_is_much_to_check() -> None:
    """Would catch a walk that finds nothing, or only the top of the package."""
    paths = {name.path for name in NAMES}
    assert len(paths) > 250
    assert paths >= {
        "fairlane",
        "fairlane.gym.QueueEnv.step",
        "fairlane.scenario.Scenario.run",
        "fairlane.queue.Queue.ready_at",
        "fairlane.theory.choke",
        "fairlane.disciplines.choke.Choke",
        "fairlane.errors.LabError",
    }
    assert any(path.endswith("DropSink.marked") for path in paths)


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.path)
def test_it_has_a_meaning(name: Name) -> None:
    """Would catch `help(fl.DropSink)` without a word, and the text that NamedTuple and dataclass make up."""
    own = getattr(name.thing, "__name__", "")
    first = name.doc.strip().split("\n")[0]
    assert len(first.split()) >= 2, f"{name.path} has no docstring"
    assert not first.startswith(f"{own}("), f"{name.path} has a generated docstring only"
    assert first[0].isupper() or first[0] == "`", f"{name.path}: {first}"


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.path)
def test_its_parameters_have_one_too(name: Name) -> None:
    said = docs_of(name)
    missing = [key for key in {**parameters(name), **fields(name.thing)} if not explained(said, key)]
    assert not missing, f"{name.path} does not document {', '.join(missing)}"


def is_number(kind: Any) -> bool:
    """True for the annotation of a number, which may be missing."""
    return re.match(r"(int|float)\b", str(getattr(kind, "__name__", kind))) is not None


def numbers(name: Name) -> Iterator[tuple[str, str]]:
    """The numbers of a name, each with what is said of it."""
    for key, kind in {**parameters(name), **fields(name.thing)}.items():
        if is_number(kind):
            yield key, explained(docs_of(name), key)
    if isinstance(name.thing, property):
        kind = name.thing.fget.__annotations__.get("return", "") if name.thing.fget else ""
        if is_number(kind):
            yield name.path.rpartition(".")[2], name.doc


def lacks_unit(key: str, said: str) -> bool:
    """True if neither a unit nor a word for a number without one is near a number."""
    suffix = next((unit for end, unit in SUFFIXES.items() if key.endswith(end)), None)
    return suffix not in said if suffix else not re.search(UNITS, said, flags=re.IGNORECASE)


@pytest.mark.parametrize("name", [name for name in NAMES if any(numbers(name))], ids=lambda name: name.path)
def test_its_numbers_have_a_unit(name: Name) -> None:
    """A number is of something: would catch a length in the queue's unit, or in seconds, that does not say so."""
    bare = [f"{key} ({said})" for key, said in numbers(name) if lacks_unit(key, said)]
    assert not bare, f"{name.path}: no unit for {'; '.join(bare)}"


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.path)
def test_its_errors_are_listed(name: Name) -> None:
    """Would catch an exception that the code of a function raises and its docstring does not list."""
    code = name.thing.fget if isinstance(name.thing, property) else name.thing
    if not inspect.isfunction(code):
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    calls = [node.exc.func for node in ast.walk(tree) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    raised = {call.id for call in calls if isinstance(call, ast.Name)} - {"NotImplementedError", "AttributeError"}
    unlisted = [error for error in raised if not re.search(rf"Raises:.*\b{error}: ", name.doc, flags=re.DOTALL)]
    assert not unlisted, f"{name.path} raises {', '.join(unlisted)}"


def test_the_checks_can_fail() -> None:
    """Would catch checks that accept anything."""

    class Bare(NamedTuple):
        length: int

    def delay(queue: float) -> float:
        if queue < 0:
            raise ValueError("it is negative")
        return queue

    generated = Name("Bare", Bare, Bare.__doc__ or "")
    nothing = Name("delay", delay, "The delay of the queue, ``queue`` long.")
    for check, name in (
        (test_it_has_a_meaning, generated),
        (test_its_parameters_have_one_too, generated),
        (test_its_numbers_have_a_unit, nothing),
        (test_its_errors_are_listed, nothing),
    ):
        with pytest.raises(AssertionError):
            check(name)
    assert lacks_unit("delay_s", "The delay in packets.")
    assert not lacks_unit("delay_s", "The delay in seconds.")
