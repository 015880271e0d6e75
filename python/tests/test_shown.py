"""Results as notebooks and interpreters show them: short, in HTML without scrolling to the side, and never an error."""

import html.parser
from typing import Any

import fairlane as fl
import pytest

loose: Any = fl


class Widths(html.parser.HTMLParser):
    """Counts the cells of each row, and checks that tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[int] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - not needed
        self.open.append(tag)
        if tag == "tr":
            self.rows.append(0)
        elif tag in {"td", "th"}:
            self.rows[-1] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def rows(thing: Any) -> list[int]:
    """The number of cells in each row of what a notebook shows."""
    shown = thing._repr_html_()
    assert len(shown) < 30_000, "a page in a cell"
    parser = Widths()
    parser.feed(shown)
    assert not parser.open
    return parser.rows


@pytest.fixture(scope="module")
def outcome() -> fl.Outcome:
    return fl.Scenario.figure_3().with_({"duration": "3s", "warmup": "1s"}).run(series="100ms", trace=True)


def test_tables_fit(outcome: fl.Outcome) -> None:
    """Would catch a table of thirty columns, of which a notebook shows the first few and a scroll bar."""
    for table in (outcome.flows, outcome.groups, outcome.queue_flows, outcome.trace, outcome.series.flows):
        assert len(table.columns) > 5
        assert max(rows(table)) <= 8
    # A single row becomes a column, with a line for each of its values.
    assert rows(outcome.queues) == [2] * (len(outcome.queues.columns) + 1)
    # Of many rows the columns that do not fit are named.
    assert outcome.flows.columns[-1] in outcome.flows._repr_html_()
    assert max(rows(outcome.series)) <= 8


def test_results_are_shown(outcome: fl.Outcome) -> None:
    explanation = fl.Choke(limit=300, min=100, max=150).explain("1mbit")
    claim = fl.papers.show("choke")[0]
    for thing in (outcome, fl.Outcomes([outcome] * 3), explanation, claim, fl.Scenario.figure_3()):
        assert max(rows(thing), default=0) <= 8
    assert len(rows(explanation)) == 1 + len(explanation.parameters)
    assert explanation.warnings[0].split("<")[0] in explanation._repr_html_()
    assert len(rows(claim)) == 1 + len(claim.checks)
    assert claim.says.split("<")[0] in claim._repr_html_().replace("&#x27;", "'").replace("&quot;", '"')


def test_text_of_users_is_escaped() -> None:
    """Would catch a name that becomes markup."""
    scenario = fl.Scenario.figure_3().with_({"name": "<script>", "duration": "2s", "warmup": "0s"})
    for thing in (scenario, scenario.run(), scenario.run().groups, scenario.run().queues):
        assert "<script>" not in thing._repr_html_()


def test_a_repr_is_one_line(outcome: fl.Outcome) -> None:
    """Would catch a dataclass that shows all of its content, which is a page."""
    explanation = fl.Choke().explain()
    simulation = fl.Scenario.figure_3().start()
    claim = fl.papers.show("choke")[0]
    things = (outcome, outcome.flows, outcome.series, explanation, claim, simulation, fl.Queue(fl.Choke()))
    for thing in things:
        assert len(repr(thing)) < 1000
        assert "\n" not in repr(thing)
    assert repr(explanation).startswith("<Explanation of choke on a link of 10mbit: ")
    assert repr(claim) == f"<Claim {claim.id}: {claim.status}, {len(claim.checks)} checks>"
    assert len(repr(outcome.series)) < 100


def test_what_was_made_wrongly_says_so_at_once() -> None:
    """Would catch an object that is made, and fails in its repr or at its first use."""
    with pytest.raises(TypeError, match=r"a scenario is made by Scenario\.from_toml"):
        loose.Scenario("x")
    for wrong in (lambda: fl.Choke(min=200, max=100), lambda: fl.Red(limit=50, min=100, max=80)):
        with pytest.raises(fl.ScenarioError, match="min"):
            wrong()


def test_parameters_that_are_not_given_do_not_contradict() -> None:
    """Would catch a check that refuses defaults, which follow the rate of a link."""
    kinds: list[Any] = list(fl.disciplines.ALL)
    assert all(kind().to_dict() == {"kind": kind.kind} for kind in kinds)


def test_help_is_not_empty() -> None:
    """Would catch a class of the compiled part without a word: `help(fl.DropSink)`."""
    for thing in (fl.DropSink, fl.DropSink.dropped, fl.DropSink.marked, fl.Packet, fl.Packet.traffic_class):
        assert len((thing.__doc__ or "").split()) > 5
