"""Tests of the comparison of sections of `fairlane characterize`: `python3 -m unittest discover bench/peers`."""

import contextlib
import io
import json
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import process  # noqa: E402
import programs  # noqa: E402
import sections  # noqa: E402
import workload  # noqa: E402

characterize = programs.load("characterize")

SCENARIO = """
duration = "20s"
warmup = "10s"
seed = 1
[tcp]
preset = "modern"
initial_window = 3
ecn = false
[bottleneck]
rate = "10000000bit"
delay = "0ms"
queue = { kind = "droptail", limit = "83p" }
[access]
rate = "100000000bit"
delay = "25ms"
[[flows]]
name = "udp"
kind = "udp"
rate = "20000000bit"
packet = "1500b"
[[flows]]
name = "tcp"
kind = "tcp"
cc = "sack"
packet = "1500b"
count = 2
access = { delay = "5ms" }
"""


def told(text, kind="droptail"):
    return sections.arguments(tomllib.loads(text), sections.DISCIPLINES[kind])


class Arguments(unittest.TestCase):
    """Would catch a parameter that is lost or scaled on its way to ns-3."""

    def test_every_parameter_arrives(self):
        arguments = told(SCENARIO)
        groups = [value for name, value in arguments if name == "group"]
        self.assertEqual(groups, ["udp,udp,1,1500,0.025,20000000", "tcp,fairlane::TcpLinuxReno,2,1500,0.005,0"])
        values = dict(arguments)
        network = ("rate", "delay", "accessrate", "duration", "warmup", "device", "queue")
        self.assertEqual(
            [values[name] for name in network],
            ["10000000", "0", "100000000", "20", "10", "0", "ns3::FifoQueueDisc"],
        )
        # A packet of 1500 bytes on the wire less the headers of PPP, IP and TCP: 2, 20 and 20.
        self.assertEqual(values["ns3::TcpSocket::SegmentSize"], "1458")
        self.assertEqual(values["ns3::TcpSocket::InitialCwnd"], "3")
        self.assertEqual(values["ns3::FifoQueueDisc::MaxSize"], "83p")

    def test_the_program_knows_every_argument(self):
        source = (HERE / "ns3" / "characterize.cc").read_text()
        known = {part.split('"')[0] for part in source.split('AddValue("')[1:]}
        self.assertEqual({name for name, _ in told(SCENARIO) if not name.startswith("ns3::")} | {"seed"}, known)

    def test_both_sides_have_the_same_parameters(self):
        pairs = {
            "target": ("Target", "QueueDelayReference"),
            "interval": ("Interval",),
            "tupdate": ("Tupdate",),
            "max_burst": ("MaxBurstAllowance",),
            "blue_threshold": ("BlueThreshold",),
            "weight": ("QW",),
        }
        compared = 0
        for discipline in sections.DISCIPLINES.values():
            attributes = {key.split("::")[2]: value for key, value in discipline.attributes(83, 10_000_000).items()}
            for key, theirs in pairs.items():
                if key in discipline.fairlane:
                    found = next(attributes[name] for name in theirs if name in attributes)
                    self.assertEqual(str(found), discipline.fairlane[key])
                    compared += 1
            self.assertEqual(attributes["MaxSize"], "83p")
        self.assertEqual(compared, 11)

    def refused(self, old, new, message):
        self.assertIn(old, SCENARIO)
        with self.assertRaisesRegex(workload.ScenarioError, message):
            told(SCENARIO.replace(old, new, 1))

    def test_what_ns3_would_run_differently(self):
        self.refused("ecn = false", "ecn = true", "without ECN")
        self.refused('preset = "modern"', 'preset = "ns2-1999"', 'preset "modern"')
        self.refused('cc = "sack"', 'cc = "ledbat"', "the comparison has sack, cubic")
        self.refused('packet = "1500b"', 'packet = "500b"', "differ in packet")
        self.refused("count = 2", 'source = "web"', "do not know flows.tcp.source")
        self.refused('delay = "0ms"', 'reverse = { rate = "1mbit" }', "do not know bottleneck.reverse")
        self.refused('kind = "tcp"', 'kind = "tfrc"', "tcp and udp")


class Program(unittest.TestCase):
    """Would catch a queue of another length in ns-3, an attribute that it does not have, and a wrong measure."""

    @classmethod
    def setUpClass(cls):
        cls.build = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.build.cleanup)
        try:
            cls.program = process.build_ns3(Path(cls.build.name), "ns3-characterize")
        except process.Unavailable as missing:
            raise unittest.SkipTest(str(missing)) from missing

    def run_it(self, text, kind="droptail"):
        command = [self.program, *(f"--{name}={value}" for name, value in told(text, kind)), "--seed=1"]
        output, _, _ = process.measure(command, 60)
        return json.loads(output), characterize.of_ns3([output])

    ALONE = SCENARIO.split('[[flows]]\nname = "tcp"')[0]

    def test_a_flood(self):
        """UDP at twice the rate: half is lost, and a packet waits for 82 others and the rest of one.

        That is 82.5 to 83 transmissions of 1.2 ms.
        """
        result, groups = self.run_it(self.ALONE)
        goodput, delay = groups["udp"]
        self.assertAlmostEqual(goodput, 10e6, delta=2e3)
        self.assertAlmostEqual(delay / 0.0012, 82.75, delta=0.3)
        self.assertAlmostEqual(result["drop_percent"], 50, delta=0.1)

    def test_an_empty_path(self):
        """Half of the rate by itself waits for nothing."""
        _, groups = self.run_it(self.ALONE.replace("20000000bit", "5000000bit"))
        self.assertAlmostEqual(groups["udp"][0], 5e6, delta=2e3)
        self.assertAlmostEqual(groups["udp"][1], 0, delta=1e-8)

    def test_every_discipline_has_its_attributes(self):
        short = SCENARIO.replace('"20s"', '"2s"').replace('"10s"', '"1s"').replace("20000000bit", "8000000bit")
        for kind in sections.DISCIPLINES:
            _, groups = self.run_it(short, kind)
            self.assertGreater(groups["tcp"][0], 0, kind)

    def test_an_unknown_attribute_is_refused(self):
        with self.assertRaisesRegex(process.Failed, "exit code"):
            process.measure([self.program, "--ns3::FifoQueueDisc::Length=83p"], 60)


FAKE_FAIRLANE = """#!{python}
import pathlib, sys
assert sys.argv[1:3] == ["characterize", "pie"] and "target=15ms" in sys.argv, sys.argv
out = pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
(out / "report.json").write_text({report!r})
(out / "medium-medium.toml").write_text({scenario!r})
"""
# Its goodput is 8 Mbit/s and as many more as the seed.
FAKE_PEER = """#!{python}
import json, sys
seed = int(sys.argv[-1].removeprefix("--seed="))
print(json.dumps({{"groups": {{"tcp": {{"goodput_bps": 8e6 + seed * 1e6, "queueing_s": 0.02}}}}}}))
"""


class Results(unittest.TestCase):
    """Would catch a ratio of the wrong numbers, a mean without weights, and a disagreement that is not shown."""

    def test_the_mean_delay_is_that_of_packets(self):
        goodput, delay = characterize.total({"a": (3e6, 0.010), "b": (1e6, 0.030)})
        self.assertAlmostEqual(goodput, 4e6)
        self.assertAlmostEqual(delay, 0.015)

    def test_lines(self):
        ours, theirs = {"a": (8e6, 0.010), "b": (2e6, 0.010)}, {"a": (8e6, 0.011), "b": (1.9e6, 0.012)}
        lines = characterize.rows("mix", "pie", ours, theirs)
        self.assertEqual(lines[0][3:], ["10.000", "9.900", "0.990", "10.00", "11.19", "1.119"])
        self.assertEqual(lines[2], ["mix", "pie", "b", "2.000", "1.900", "**0.950**", "10.00", "12.00", "**1.200**"])

    def test_means_are_over_runs(self):
        runs = [json.dumps({"groups": {"a": {"goodput_bps": rate, "queueing_s": 0.01}}}) for rate in (1e6, 3e6)]
        self.assertEqual(characterize.of_ns3(runs), {"a": (2e6, 0.01)})

    def test_an_outcome_has_the_delay_above_that_of_the_path(self):
        # Two links of 5 ms, where 12,000 bits take 0.12 ms, and the bottleneck, where they take 1.2 ms.
        outcome = {
            "groups": [{"name": "tcp", "throughput_bps": 9.5e6, "delay_s": 0.010 + 0.00144 + 0.003}],
            "flows": [{"group": "tcp", "goodput_bps": rate} for rate in (5e6, 4e6)],
        }
        ((goodput, delay),) = characterize.of_run(outcome, tomllib.loads(SCENARIO)).values()
        self.assertEqual(goodput, 9e6)
        self.assertAlmostEqual(delay, 0.003)

    def test_a_run_from_end_to_end(self):
        report = {
            "sections": [
                {
                    "id": "medium",
                    "cases": [
                        {
                            "name": "medium",
                            "subjects": [
                                {"label": "droptail", "groups": []},
                                {
                                    "label": "pie",
                                    "groups": [
                                        {"name": "tcp", "goodput_bps": {"mean": 9e6}, "queueing_s": {"mean": 0.02}},
                                    ],
                                },
                            ],
                        }
                    ],
                }
            ]
        }
        fake = FAKE_FAIRLANE.format(python=sys.executable, report=json.dumps(report), scenario=SCENARIO)
        peer = FAKE_PEER.format(python=sys.executable)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("fairlane", fake), ("peer", peer)):
                Path(folder, name).write_text(text)
                Path(folder, name).chmod(0o755)
            options = characterize.read_options(["--only", "medium", "--runs", "2"])
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                characterize.compare("pie", f"{folder}/fairlane", f"{folder}/peer", options)
        # The mean of 9 and 10 Mbit/s.
        self.assertEqual(
            shown.getvalue(), "| medium | pie | tcp | 9.000 | 9.500 | **1.056** | 20.00 | 20.00 | 1.000 |\n"
        )


if __name__ == "__main__":
    unittest.main()
