"""The dashboard and the alerts name metrics that a running router has, and do what they say."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from conftest import PROGRAMS, ROOT, run
from skip import because

if TYPE_CHECKING:
    from collections.abc import Iterator

DASHBOARD = ROOT / "packaging/grafana/fairlane.json"
RULES = ROOT / "packaging/prometheus/fairlane.rules.yml"
RULES_TEST = ROOT / "packaging/tests/fairlane.rules.test.yml"

# Labels that Prometheus adds, and that of a router in the kernel, which this machine may not support.
OTHER_LABELS = {"instance", "job", "interface", "alertname"}
# What Grafana puts in place of its own variables.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*", "$min": "60", "$max": "120"}

FETCH = "import sys, urllib.request as u; sys.stdout.write(u.urlopen('http://127.0.0.1:9277/metrics').read().decode())"
# 300 packets in bursts that a queue of 20 does not hold.
SEND = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(10):
    for _ in range(30):
        sender.sendto(bytes(972), ("127.0.0.1", 9))
    time.sleep(0.01)
"""


class Metrics(NamedTuple):
    """The metrics that routers serve."""

    # The type of each family, such as counter, by the name of its samples.
    types: dict[str, str]
    # Each sample's name and labels, as text.
    samples: list[tuple[str, str]]


def read(text: str) -> Metrics:
    """Reads the OpenMetrics text format."""
    types = dict(line.split()[2:4] for line in text.splitlines() if line.startswith("# TYPE "))
    samples = re.findall(r"^(\w+)\{(.*)\} \S+$", text, re.MULTILINE)
    by_sample = {name: types[re.sub(r"_(?:total|bucket|sum|count)$", "", name)] for name, _ in samples}
    return Metrics(by_sample, samples)


@contextmanager
def router(inside: list[str], *arguments: str) -> Iterator[None]:
    """Runs a router until its metrics are served."""
    command = [*inside, str(PROGRAMS / "fairlane"), "router", "--metrics", "9277", *arguments]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 60
            while subprocess.run([*inside, sys.executable, "-c", FETCH], capture_output=True, check=False).returncode:
                assert process.poll() is None, f"{command} ended"
                assert time.monotonic() < end, f"{command} serves no metrics"
            yield
        finally:
            process.kill()


@pytest.fixture(scope="module")
def metrics(namespace: list[str]) -> Metrics:
    """Returns what three routers serve: of an NFQUEUE that drops packets, of a bridge, and of both directions."""
    inside = namespace
    queue = ["choke", "limit=20p", "min=3p", "max=10p"]
    with router(inside, "--queue-num", "0", "--interface", "lo", "--rate", "10mbit", *queue):
        run(*inside, sys.executable, "-c", SEND)
        # What it serves may be a quarter of a second old.
        end = time.monotonic() + 60
        while "fairlane_flow_dropped_packets_total{" not in (text := run(*inside, sys.executable, "-c", FETCH)):
            assert time.monotonic() < end, f"no flow has lost packets: {text}"
        served = [text]
    for name in ("lan0", "wan0"):
        run(*inside, "ip", "link", "add", name, "type", "veth", "peer", "name", f"{name}-peer")
        run(*inside, "ip", "link", "set", name, "up")
    links = [
        ("--bridge", "lan0,wan0", "--rate", "10mbit"),
        ("--interface", "wan0", "--up", "10mbit", "--down", "20mbit"),
    ]
    for link in links:
        with router(inside, *link, "choke"):
            served.append(run(*inside, sys.executable, "-c", FETCH))
    read_each = [read(text) for text in served]
    return Metrics(
        {name: kind for each in read_each for name, kind in each.types.items()},
        [sample for each in read_each for sample in each.samples],
    )


def panels() -> list[dict[str, Any]]:
    """Returns the panels of the dashboard that are no headings."""
    return [panel for panel in json.loads(DASHBOARD.read_text())["panels"] if panel["type"] != "row"]


def queries() -> dict[str, str]:
    """Returns the dashboard's queries by the panel's title and their letter."""
    return {f"{panel['title']} {target['refId']}": target["expr"] for panel in panels() for target in panel["targets"]}


def promtool(*arguments: str | Path) -> str:
    """Runs promtool, or skips the test."""
    program = shutil.which("promtool") or ROOT / "target/tools/prometheus/usr/bin/promtool"
    if not Path(program).is_file():
        because("promtool", "there is no promtool")
    return run(program, *arguments)


def named(text: str) -> Iterator[tuple[str, str, str, str]]:
    """Yields the function, name, labels and range of each selector of a text."""
    yield from re.findall(r"(?:(\w+)\s*\()?\s*\b(fairlane_\w+)(?:\{([^}]*)\})?(\[)?", text)


def test_dashboard_and_alerts_name_what_a_router_serves(metrics: Metrics) -> None:
    """Would catch a metric, a label or a reason that was renamed, and a rate of a number that is no counter."""
    rules = RULES.read_text()
    expressions = [*queries().values(), *re.findall(r"expr:(.*?)\n +(?:for|labels):", rules, re.DOTALL)]
    assert len(expressions) > 30
    labels = {(name, *pair) for name, text in metrics.samples for pair in re.findall(r'(\w+)="([^"]*)"', text)}
    known = {label for _, label, _ in labels} | OTHER_LABELS
    for expression in expressions:
        for function, name, selector, of_range in named(expression):
            kind = "gauge" if not of_range else "histogram" if name.endswith("_bucket") else "counter"
            assert metrics.types.get(name) == kind, f"{name} in {expression}"
            assert bool(of_range) == (function in {"rate", "increase", "resets"}), expression
            for label, comparison, value in re.findall(r'(\w+)(=~?)"([^"]*)"', selector):
                assert label in known, f"{label} in {expression}"
                served = {found for sample, other, found in labels if (sample, other) == (name, label)}
                expected = value.split("|") if comparison == "=~" else [value]
                assert label == "instance" or served >= set(expected), f"{value} in {expression}"
        for group in re.findall(r"by \(([^)]*)\)", expression):
            assert {label.strip() for label in group.split(",")} <= known, expression
    # The other texts, and the samples of the alerts' tests.
    for text in (rules, RULES_TEST.read_text(), DASHBOARD.read_text()):
        assert {name for _, name, _, _ in named(text)} <= metrics.types.keys()


def test_directions_are_told_apart(metrics: Metrics) -> None:
    """Would catch a direction that is left out, and two directions in one series."""
    backlogs = [labels for name, labels in metrics.samples if name == "fairlane_backlog_packets"]
    directions = [found[1] if (found := re.search(r'direction="(\w+)"', labels)) else None for labels in backlogs]
    assert {"up", "down"} <= set(directions), backlogs
    assert len(set(backlogs)) == len(backlogs)


def test_every_panel_shows_a_running_router(metrics: Metrics, tmp_path: Path) -> None:
    """Asks Prometheus' own engine, about the router's series. Would catch a query that parses and finds nothing."""
    series = []
    for name, labels in metrics.samples:
        values = "1x60" if metrics.types[name] == "gauge" else "0+60x60"
        series.append({"series": f'{name}{{{labels}, instance="a:9277", job="fairlane"}}', "values": values})
    tests = []
    for title, query in queries().items():
        text = query
        for variable, value in VARIABLES.items():
            text = text.replace(variable, value)
        assert "$" not in text, f"{title} has a variable that the dashboard does not have: {query}"
        expected = [{"labels": "{}", "value": 1}]
        tests.append({"expr": f"count({text}) > bool 0", "eval_time": "30m", "exp_samples": expected})
    # JSON is YAML.
    file = tmp_path / "dashboard.yml"
    case = {"interval": "1m", "input_series": series, "promql_expr_test": tests}
    file.write_text(json.dumps({"rule_files": [], "evaluation_interval": "1m", "tests": [case]}))
    promtool("test", "rules", file)


def test_the_dashboard_is_whole() -> None:
    """Would catch panels on top of each other, and one that does not ask the chosen data source."""
    dashboard = json.loads(DASHBOARD.read_text())
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(ids)) == len(ids)
    variables = {f"${variable['name']}" for variable in dashboard["templating"]["list"]}
    assert variables == (VARIABLES.keys() | {"$datasource"}) - {"$__rate_interval"}
    cells: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        own = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert not own & cells, panel["title"]
        assert columns.stop <= 24
        cells |= own
    for panel in panels():
        assert panel["description"].endswith("."), panel["title"]
        for part in (panel, *panel["targets"]):
            assert part["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


def test_each_alert_fires_and_does_not() -> None:
    """Would catch an alert that never fires, one that fires under load, and one without a test."""
    promtool("check", "rules", RULES)
    promtool("test", "rules", RULES_TEST)
    rules = RULES.read_text()
    alerts = re.findall(r"alert: (\w+)", rules)
    assert set(re.findall(r'alertname="(\w+)"', RULES_TEST.read_text())) == set(alerts)
    for part in ("summary: ", "runbook: ", "severity: "):
        assert rules.count(part) == len(alerts)


def test_every_metric_is_documented(metrics: Metrics) -> None:
    """Would catch a metric that docs/router.md does not describe."""
    page = (ROOT / "docs/router.md").read_text()
    named_there = set(re.findall(r"`(fairlane_\w+…?)", page))
    # `fairlane_arrived_packets_total`, `…_bytes_total` are described together.
    named_there |= {name.replace("_packets_", "_bytes_") for name in named_there}
    beginnings = tuple(name.removesuffix("…") for name in named_there if name.endswith("…"))
    for name in metrics.types:
        family = re.sub(r"_(?:bucket|sum|count)$", "", name)
        assert family in named_there or family.startswith(beginnings), name
