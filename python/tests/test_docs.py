"""The pages are true: every block of code runs, and every expression in a line exists."""

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import fairlane as fl
import fairlane.gym
import gymnasium
import pytest

ROOT = Path(__file__).parents[2]
ADVISE = ROOT / "docs/advise.md"
APPLICATIONS = ROOT / "docs/applications.md"
TRANSPORTS = ROOT / "docs/transports.md"
PAGES = [ROOT / "docs/python.md", ROOT / "docs/python-cluster.md", ROOT / "python/README.md"]
BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", flags=re.MULTILINE)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")

# As on the page, except for the durations.
SHORTER = {'"120s"': '"3s"', '"20s"': '"1s"', '"30s"': '"1.5s"'}
# The page on advice searches for minutes.
QUICKER = {
    "figure_3()": 'figure_3().with_({"duration": "3s", "warmup": "1s"})',
    "budget=200": "budget=70",
    'time="60s"': 'kinds=["droptail", "fq-codel"]',
}


def blocks(page: Path) -> list[tuple[str, str]]:
    """The kind and the text of each block."""
    return BLOCK.findall(page.read_text())


def expressions(page: Path) -> list[str]:
    """The code in lines of text that begins with a name of the package or of the page's examples."""
    text = BLOCK.sub("", page.read_text())
    names = r"^(fl|fairlane|scenario|outcome|outcomes|swept|simulation|env|gymnasium)\b[.\[(]"
    return sorted({code for code in INLINE.findall(text) if re.match(names, code)})


@pytest.mark.parametrize("page", [PAGES[0], PAGES[2]], ids=lambda page: page.name)
def test_the_examples_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Would catch a name, a keyword or a key on a page that no longer exists."""
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    for kind, block in blocks(page):
        if kind == "python":
            for long, short in SHORTER.items():
                block = block.replace(long, short)  # noqa: PLW2901 - the same block
            exec(compile(block, page.name, "exec"), known)  # noqa: S102 - it is our own page
    assert len(known["outcomes"].groups) == 6


def test_the_examples_of_advice_run() -> None:
    """Would catch a keyword or an attribute that no longer exists, and a search that is not shortened here."""
    [block] = [block for kind, block in blocks(ADVISE) if kind == "python"]
    for long, short in QUICKER.items():
        assert long in block
        block = block.replace(long, short)
    known: dict[str, Any] = {"fl": fl}
    exec(compile(block, ADVISE.name, "exec"), known)  # noqa: S102 - it is our own page
    assert known["tuning"].queue.kind == "red"
    assert {queue.kind for queue in known["advice"].ranking} == {"droptail", "fq-codel"}


def test_the_example_of_a_transport_runs() -> None:
    """Would catch a method or a keyword that no longer exists, and a transport that delivers nothing."""
    own = run_of(TRANSPORTS)["outcome"].flow("own/0")
    assert own["lost"] > 0
    assert own["goodput_bps"] * 10 / 8 > 100_000


def test_the_application_runs_as_on_the_page() -> None:
    """The link takes 0.8 ms for a packet, so that 20 take 16 ms at least, and then there is a pause of a second."""
    transfers = run_of(APPLICATIONS)["outcome"].group("ftp")["transfers"]
    assert 4 * 10 < transfers["completed"] < 4 * 20
    assert transfers["completion_s"]["p50"] > 0.016


def run_of(page: Path) -> dict[str, Any]:
    """Runs the one example in Python of a page and returns its names."""
    [block] = [block for kind, block in blocks(page) if kind == "python"]
    known: dict[str, Any] = {}
    exec(compile(block, page.name, "exec"), known)  # noqa: S102 - it is our own page
    return known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_tested(page: Path) -> None:
    """Would catch a block that is left out because of its mark.

    Besides those that run here there are commands, examples for a lab or a cluster, whose calls are checked below, and
    text.
    """
    kinds = {kind for kind, _ in blocks(page)}
    assert kinds <= {"python", "python lab", "python cluster", "sh"}
    assert "python" in kinds or "python cluster" in kinds


def test_commands_exist() -> None:
    """Would catch a target of make or an extra that was renamed."""
    said = "".join(text for page in PAGES for kind, text in blocks(page) if kind == "sh")
    targets = set(re.findall(r"^make (\w+)", said, flags=re.MULTILINE))
    assert targets
    assert all(re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE) for target in targets)
    extras = {extra for page in PAGES for extra in re.findall(r"'fairlane\[(\w+)\]'", page.read_text())}
    given = (ROOT / "python/pyproject.toml").read_text().split("[project.optional-dependencies]")[1].split("\n\n")[0]
    assert extras == set(re.findall(r"^(\w+) =", given, flags=re.MULTILINE)) & (extras | {"gym", "plot", "altair"})


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """The objects that the pages talk about."""
    scenario = fl.Scenario.figure_3().with_({"duration": "3s", "warmup": "1s"})
    return {
        "fl": fl,
        "fairlane": fl,
        "scenario": scenario,
        "outcome": scenario.run(series="100ms", trace=True),
        "outcomes": scenario.compare(["droptail", "choke"], runs=2),
        "swept": scenario.sweep({"flows.cbr.rate": ["1mbit", "2mbit"]}),
        "simulation": scenario.start(),
        "env": fairlane.gym.QueueEnv(),
        "gymnasium": gymnasium,
    }


def check(code: ast.expr, known: dict[str, Any]) -> Any:
    """The value of an expression whose names, keys and keywords exist.

    It is `None` where a part is a placeholder or a file. The arguments of such a call are bound to the parameters only.
    """
    if isinstance(code, ast.Name):
        return known.get(code.id)
    if (
        not isinstance(code, (ast.Attribute, ast.Subscript, ast.Call))
        or (owner := check(code.func if isinstance(code, ast.Call) else code.value, known)) is None
    ):
        return None
    if isinstance(code, ast.Attribute):
        return getattr(owner, code.attr)
    if isinstance(code, ast.Subscript):
        return owner[ast.literal_eval(code.slice)]
    inspect.signature(owner).bind_partial(*code.args, **{word.arg: None for word in code.keywords if word.arg})
    text = ast.unparse(code)
    if "..." in text or re.search(r"\b(text|ID|table|path|E|host|Fifo)\b|\.\w{3,7}['\"]", text):
        return None
    return eval(compile(ast.Expression(code), "page", "eval"), known)  # noqa: S307 - it is our own page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_lines_say_exists(page: Path, known: dict[str, Any]) -> None:
    """Would catch `outcome.flows["share"]`, a column that is in another table, and `fl.Queue(3)`."""
    for code in expressions(page):
        if " = " in code:
            target, _, value = code.partition(" = ")
            assert check(ast.parse(target, mode="eval").body, known) is not None, code
            ast.literal_eval(value)
        else:
            # Python has no word for "and so on" after keywords.
            check(ast.parse(code.replace(", ...)", ")"), mode="eval").body, known)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ('outcome.flows["share"]', KeyError),
        ("fl.Queue(3)", TypeError),
        ("scenario.run(serie=...)", TypeError),
        ("outcome.plot.bars()", AttributeError),
    ],
)
def test_what_is_false_is_found(code: str, error: type[Exception], known: dict[str, Any]) -> None:
    """The claims that pages once made, or could: would catch a check that accepts anything."""
    with pytest.raises(error):
        check(ast.parse(code, mode="eval").body, known)


def test_units_are_those_of_the_names(known: dict[str, Any]) -> None:
    """The page says that a name ends in its unit: would catch a column in seconds that is called `_ns`."""
    outcome = known["outcome"]
    trace, series = outcome.trace, outcome.series.queues
    assert 0 <= min(trace["time_ns"]) <= max(trace["time_ns"]) <= 3_000_000_000
    assert max(series["time_s"]) == 3.0
    assert max(outcome.delay_histogram["to_ns"]) > 1_000_000
    assert 0 < outcome.queue()["delay_s"]["mean"] < 3


def test_a_discipline_in_python_takes_about_ten_times_as_long(known: dict[str, Any]) -> None:
    """Would catch a claim on the page, or a change of the code, that is wrong by an order of magnitude."""
    page = PAGES[0].read_text()
    assert "about ten times as long" in page
    block = next(text for _, text in blocks(PAGES[0]) if "class Fifo" in text)
    names: dict[str, Any] = {"fl": fl, "scenario": known["scenario"]}
    exec(block, names)  # noqa: S102 - it is our own page
    long = known["scenario"].with_({"duration": "30s"})

    def cpu_s(queue: Any) -> float:
        # The least of several is the one that was disturbed least.
        return min(float(long.run(queue=queue).to_dict()["cost"]["cpu_s"]) for _ in range(5))

    assert 1.5 < cpu_s(names["Fifo"]) / cpu_s(fl.DropTail(limit=300)) < 60
