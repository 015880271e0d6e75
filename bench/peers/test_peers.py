"""Tests of the reading of scenario files and results: `python3 -m unittest discover bench/peers`."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import programs  # noqa: E402
import workload  # noqa: E402

run = programs.load("run")

FIGURE_3 = """
name = "One unresponsive flow"
duration = "120s"
warmup = "20s"
[tcp]
preset = "ns2-1999"
[bottleneck]
rate = "1.5mbit"
delay = "1ms"
[bottleneck.queue]
kind = "red"
limit = "300p"
min = "100p"
max = "200p"
probability = 0.1
weight = 0.002
uniformize = "wait"
gentle = true
[access]
rate = "10mbit"
delay = "500us"
[[flows]]
name = "ftp"
kind = "tcp"
count = 32
cc = "reno"
packet = "1000b"
window = 300
start = "0s..1s"
[[flows]]
name = "cbr"
kind = "udp"
rate = "2mbit"
packet = "1000b"
start = "0s..1s"
"""


def parse(text, overrides=None):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return workload.workload(workload.read(file.name, overrides or {}))


class Reading(unittest.TestCase):
    """Would catch a parameter that is lost or scaled on its way to a peer."""

    def test_every_parameter_arrives(self):
        expected = workload.Workload(
            tcp=32, cc="reno", preset="ns2-1999", window=300, udp=1, udprate=Fraction(2_000_000), packet=1000, ack=40,
            rate=Fraction(1_500_000), delay=Fraction(1, 1000), accessrate=Fraction(10_000_000),
            accessdelay=Fraction(1, 2000), accesslimit=1000, queue="red", limit=300, min=100, max=200, probability=0.1,
            weight=0.002, wait=1, gentle=1, duration=Fraction(120), warmup=Fraction(20), starts=Fraction(1),
        )
        self.assertEqual(parse(FIGURE_3), expected)

    def test_numbers_are_written_as_the_peers_read_them(self):
        arguments = dict(parse(FIGURE_3).arguments())
        self.assertEqual(
            (arguments["rate"], arguments["accessdelay"], arguments["cc"]), ("1500000", "0.0005", "reno")
        )

    def test_both_programs_know_every_parameter(self):
        told = {name for name, _ in parse(FIGURE_3).arguments()} | {"hosts", "seed"}
        table = (HERE / "ns2" / "dumbbell.tcl").read_text().split("set PARAMETERS {")[1].split("\n}\n")[0]
        ns2 = {line.split()[0] for line in table.strip().splitlines()}
        ns3 = {part.split('"')[0] for part in (HERE / "ns3" / "dumbbell.cc").read_text().split('AddValue("')[1:]}
        self.assertEqual(told, ns2)
        self.assertEqual(told, ns3)

    def test_overrides_reach_groups_by_name_and_the_queue(self):
        work = parse(FIGURE_3, {"flows.cbr.rate": "500kbit", "bottleneck.queue.kind": "droptail"})
        self.assertEqual((work.udprate, work.queue, work.limit), (500_000, "droptail", 300))

    def test_without_udp_there_are_no_udp_flows(self):
        self.assertEqual(parse(FIGURE_3.split('[[flows]]\nname = "cbr"')[0]).udp, 0)

    def test_the_speed_scenarios_can_be_run_by_both_peers(self):
        for name, flows in (("100mbit", (320, 10)), ("1gbit", (1000, 0))):
            for needs in run.PEER_NEEDS.values():
                path = run.ROOT / "scenarios" / run.SCENARIOS[name].file
                work = workload.workload(workload.read(path, needs))
                self.assertEqual((work.tcp, work.udp), flows)


class Refusing(unittest.TestCase):
    """Would catch a scenario that a peer runs differently without an error."""

    def refused(self, old, new, message):
        self.assertIn(old, FIGURE_3)
        with self.assertRaisesRegex(workload.ScenarioError, message):
            parse(FIGURE_3.replace(old, new, 1))

    def test_what_is_not_said_or_not_known(self):
        self.refused('preset = "ns2-1999"', "", "tcp.preset is missing")
        self.refused('preset = "ns2-1999"', 'preset = "modern"', "the peers have ns2-1999")
        self.refused("gentle = true", "", "gentle is missing")
        self.refused('kind = "red"', 'kind = "choke"', "the peers have droptail and red")
        self.refused('uniformize = "wait"', 'uniformize = "none"', "the peers have")
        self.refused('delay = "500us"', 'delay = "500us"\nqueue = { kind = "red" }', "do not know access.queue")
        self.refused("window = 300", 'window = 300\nstop = "5s"', "do not know flows.ftp.stop")
        self.refused('rate = "2mbit"', 'rate = "2mbit"\njitter = 0.1', "no jitter")

    def test_quantities(self):
        self.refused('"1.5mbit"', '"1.5mbps"', "expected a rate")
        self.refused('"1.5mbit"', "1500000", "expected a rate")
        self.refused('limit = "300p"', 'limit = "300.5p"', "not a whole number")
        self.refused('start = "0s..1s"', 'start = "1s..2s"', "differ in start")

    def test_groups(self):
        self.refused('kind = "udp"', 'kind = "tcp"', "one group of tcp flows")
        self.refused('packet = "1000b"', 'packet = "500b"', "differ in packet")
        with self.assertRaisesRegex(workload.ScenarioError, "no group 'web'"):
            parse(FIGURE_3, {"flows.web.rate": "1mbit"})


class Results(unittest.TestCase):
    """Would catch a result that is read from the wrong place, and a process without a result."""

    def test_an_outcome(self):
        outcome = {
            "queues": [
                {"name": "bottleneck/reverse", "arrived": 5, "dropped": {}, "mean_packets": 0.0},
                {"name": "bottleneck", "arrived": 200, "dropped": {"limit": 1, "early": 9}, "mean_packets": 12.5},
            ],
            "groups": [
                {"name": "cbr", "throughput_bps": 250e3, "drop_ratio": 0.5},
                {"name": "ftp", "throughput_bps": 750e3, "drop_ratio": 0.25},
            ],
        }
        self.assertEqual(
            run.parse_fairlane(json.dumps(outcome), {"tcp": "ftp", "udp": "cbr"}),
            {
                "setup_cpu_s": None,
                "drop_percent": 5.0,
                "mean_packets": 12.5,
                "throughput_bps": {"tcp": 750e3, "udp": 250e3},
                "group_drop_percent": {"tcp": 25.0, "udp": 50.0},
            },
        )

    def test_cost_is_the_child_s(self):
        spin = "import time\nblock = b'x' * 80_000_000\nwhile time.process_time() < 0.3: pass\nprint('done')"
        output, cpu_s, rss_bytes = run.measure([sys.executable, "-c", spin], 60)
        self.assertEqual(output, b"done\n")
        self.assertGreaterEqual(cpu_s, 0.3)
        self.assertLess(cpu_s, 3.0)
        self.assertGreater(rss_bytes, 80_000_000)
        self.assertLess(rss_bytes, 200_000_000)

    def test_memory_is_not_the_runner_s(self):
        _, _, rss_bytes = run.measure(["sleep", "0.1"], 60)
        self.assertGreater(rss_bytes, 100_000)
        self.assertLess(rss_bytes, 8_000_000)

    def test_a_process_that_fails_or_hangs(self):
        with self.assertRaisesRegex(run.Failed, "exit code 3: out of luck"):
            run.measure([sys.executable, "-c", "import sys; print('out of luck', file=sys.stderr); sys.exit(3)"], 60)
        with self.assertRaisesRegex(run.Failed, "stopped after 0.2 s"):
            run.measure(["sleep", "60"], 0.2)

    def test_ratios_are_of_pairs(self):
        def side(times):
            return run.Side("x", None, None, [run.Sample(t, None, 0, 0.0, 0.0, {}, {}) for t in times])

        fairlane, peer = side([1.0, 2.0, 4.0]), side([10.0, 10.0, 12.0])
        self.assertEqual(run.ratio_text(peer, fairlane), "5.0 (3.0..10.0)")
        self.assertEqual(run.ratio_text(fairlane, fairlane), "")


class Programs(unittest.TestCase):
    """Would catch a peer's program whose queue, link or counters do not match the parameters."""

    # Three times the link's rate of CBR: the link is full, DropTail's queue too, and two packets of three are dropped.
    OVERLOAD = {
        "bottleneck.rate": "1mbit", "flows.cbr.rate": "3mbit", "flows.ftp.count": 1, "flows.ftp.cc": "newreno",
        "duration": "40s", "warmup": "20s",
    }

    def result(self, peer, overrides):
        with tempfile.TemporaryDirectory() as build:
            try:
                program, flag = run.PREPARE[peer](Path(build))
            except run.Unavailable as missing:
                self.skipTest(str(missing))
            side = run.peer_side(peer, program, flag, parse(FIGURE_3, self.OVERLOAD | overrides), run.PAIRS)
            run.run_once(side, 1, 60)
        self.assertIsNone(side.failure)
        return side.samples[0]

    def check_overload(self, peer):
        full = self.result(peer, {"bottleneck.queue.kind": "droptail"})
        self.assertAlmostEqual(sum(full.throughput_bps.values()), 1e6, delta=1e3)
        self.assertAlmostEqual(full.group_drop_percent["udp"], 100 * 2 / 3, delta=0.5)
        self.assertTrue(299 < full.mean_packets <= 300, full.mean_packets)
        # RED without a slope above the upper threshold keeps its average there.
        red = self.result(peer, {"bottleneck.queue.gentle": False})
        self.assertAlmostEqual(sum(red.throughput_bps.values()), 1e6, delta=1e3)
        self.assertAlmostEqual(red.mean_packets, 200, delta=2)

    def test_ns2_under_overload(self):
        self.check_overload("ns2")

    def test_ns3_under_overload(self):
        self.check_overload("ns3")


FAKE = """#!{python}
import json, sys
with open({log!r}, "a") as log:
    log.write({name!r} + " " + sys.argv[-1] + chr(10))
if {fails_at!r} in sys.argv[-1]:
    sys.exit("out of luck")
print(json.dumps({result!r}))
"""
FAKE_OUTCOME = {
    "queues": [{"name": "bottleneck", "arrived": 100, "dropped": {"early": 7}, "mean_packets": 5.0}],
    "groups": [
        {"name": "ftp", "throughput_bps": 123.4e3, "drop_ratio": 0.1},
        {"name": "cbr", "throughput_bps": 456.7e3, "drop_ratio": 0.2},
    ],
}
FAKE_RESULT = {
    "groups": {
        "tcp": {"throughput_bps": 222.2e3, "drop_percent": 1.0, "arrived": 1},
        "udp": {"throughput_bps": 333.3e3, "drop_percent": 2.0, "arrived": 1},
    },
    "drop_percent": 3.0, "mean_packets": 4.0, "setup_cpu_s": 0.0,
}


class Comparing(unittest.TestCase):
    """Would catch runs that do not alternate, and a failure of a side that is hidden."""

    def compare(self, fails_at, fairlanes=1):
        """Runs two seeds of a scenario with programs that only print their names."""
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            for name, result in (("fairlane", FAKE_OUTCOME), ("peer", FAKE_RESULT)):
                text = FAKE.format(
                    python=sys.executable, log=str(log), name=name, result=result,
                    fails_at=fails_at if name == "fairlane" else "never",
                )
                Path(folder, name).write_text(text)
                Path(folder, name).chmod(0o755)
            options = run.read_options(["--peer", "ns2", "--runs", "2"])
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                programs = [f"{folder}/fairlane"] * fairlanes, [f"{folder}/peer"]
                good = run.compare("100mbit", {}, options, *programs, lambda name, value: [f"{name}={value}"])
            return good, log.read_text().splitlines(), shown.getvalue()

    def test_the_sides_take_turns_with_the_same_seeds(self):
        good, order, shown = self.compare("never")
        self.assertTrue(good)
        self.assertEqual(order, [f"{name} seed={seed}" for seed in (1, 2) for name in ("fairlane", "peer", "peer")])
        for number in ("123.4", "456.7", "222.2", "333.3", "7.00", "10 shared host pairs", "rate=100000000"):
            self.assertIn(number, shown)

    def test_several_programs_of_fairlane_have_a_column_of_ratios_each(self):
        _, order, shown = self.compare("never", fairlanes=2)
        turns = ("fairlane", "fairlane", "peer", "peer")
        self.assertEqual(order, [f"{name} seed={seed}" for seed in (1, 2) for name in turns])
        head = next(line for line in shown.splitlines() if "CPU s" in line)
        self.assertIn("x fairlane 1 (range)  x fairlane 2 (range)", head)
        self.assertEqual(sum(line.strip().startswith(("fairlane 1 ", "fairlane 2 ")) for line in shown.splitlines()), 2)

    def test_a_side_that_fails_is_named_and_not_tried_again(self):
        good, order, shown = self.compare("seed=1")
        self.assertFalse(good)
        self.assertEqual(order.count("fairlane seed=1") + order.count("fairlane seed=2"), 1)
        self.assertEqual(len(order), 5)
        self.assertIn("fairlane: seed 1: exit code 1: out of luck", shown)
        self.assertIn("222.2", shown)


if __name__ == "__main__":
    unittest.main()
