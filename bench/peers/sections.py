"""Converts a scenario of `fairlane characterize` and a discipline to the arguments of ns3/characterize.cc.

The scenario file has the network and the flows. It names a preset of TCP and leaves the starts to the default, whose
documented values are here, as those of ns-3's attributes of the same meaning. Both programs get every parameter of the
discipline. What ns-3 does not support is an error.
"""

from collections.abc import Callable
from dataclasses import dataclass

from workload import ACCESS_LIMIT, ScenarioError, as_text, check_keys, quantity, take, whole

KEYS = {
    "": {"duration", "warmup", "seed", "tcp", "bottleneck", "access", "flows"},
    "tcp": {"preset", "initial_window", "ecn"},
    "bottleneck": {"rate", "delay", "queue"},
    "access": {"rate", "delay"},
    "flows.access": {"delay"},
    "flows.tcp": {"name", "kind", "count", "cc", "packet", "access"},
    "flows.udp": {"name", "kind", "count", "rate", "packet", "access"},
}

# The default start of a flow is drawn from 0 s to this, and the default window of a receiver is this, in packets.
STARTS_S = 1
WINDOW = 10_000
HEADERS = {"ppp": 2, "ip": 20, "tcp": 20}
NEVER_GIVE_UP = 1_000_000

# Congestion controls that grow by the acknowledged data, by two segments at most, as in the preset `modern`, and CUBIC's
# Reno-friendly region. Those of ns-3 have neither; the program takes their names, too.
CONTROLS = {"sack": "fairlane::TcpLinuxReno", "cubic": "fairlane::TcpCubic"}

# The preset `modern`. ns-3 restarts the retransmission timer with new acknowledgements only, Fairlane (as Linux) with
# the retransmission, which is three packets later. Where ns-3's granularity is less than these take, each recovery at
# a full queue ends in a timeout. Timestamps would make data packets smaller; ns-3 measures every round trip without.
TCP = {
    "ns3::TcpL4Protocol::RecoveryType": "ns3::TcpClassicRecovery",
    "ns3::TcpSocket::ConnTimeout": "1s",
    "ns3::TcpSocket::ConnCount": NEVER_GIVE_UP,
    "ns3::TcpSocket::DataRetries": NEVER_GIVE_UP,
    "ns3::TcpSocket::DelAckCount": 2,
    "ns3::TcpSocket::DelAckTimeout": "40ms",
    "ns3::TcpSocketBase::Sack": "true",
    "ns3::TcpSocketBase::ReTxThreshold": 3,
    "ns3::TcpSocketBase::LimitedTransmit": "true",
    "ns3::TcpSocketBase::Timestamp": "false",
    "ns3::TcpSocketBase::MinRto": "200ms",
    "ns3::TcpSocketBase::ClockGranularity": "100ms",
    "ns3::TcpSocketBase::UseEcn": "Off",
    "ns3::TcpCubic::Beta": 0.7,
    "ns3::TcpCubic::C": 0.4,
    "ns3::TcpCubic::FastConvergence": "true",
    "ns3::TcpCubic::HyStart": "true",
}


@dataclass(frozen=True)
class Discipline:
    """A discipline of both simulators with its parameters in each."""

    fairlane: dict[str, str]
    type: str
    # ns-3's attributes for a buffer in packets and a rate in bit/s.
    attributes: Callable[[int, int], dict[str, object]]


def fifo(buffer: int, _rate: int) -> dict[str, object]:
    return {"ns3::FifoQueueDisc::MaxSize": f"{buffer}p"}


def red(buffer: int, rate: int) -> dict[str, object]:
    own = {
        "MaxSize": f"{buffer}p",
        "MinTh": 7,
        "MaxTh": 21,
        "LInterm": 50,
        "QW": 0.0625,
        "Wait": "true",
        "Gentle": "false",
        "ARED": "false",
        "UseEcn": "false",
        "UseHardDrop": "true",
        "MeanPktSize": 1500,
        "LinkBandwidth": f"{rate}bps",
        "LinkDelay": "0ms",
    }
    return {f"ns3::RedQueueDisc::{key}": value for key, value in own.items()}


def pie(buffer: int, _rate: int) -> dict[str, object]:
    own = {
        "MaxSize": f"{buffer}p",
        "QueueDelayReference": "15ms",
        "Tupdate": "15ms",
        "A": 0.125,
        "B": 1.25,
        "MaxBurstAllowance": "150ms",
        "MeanPktSize": 1500,
        "UseDequeueRateEstimator": "false",
        "UseCapDropAdjustment": "true",
        "UseDerandomization": "true",
        "UseEcn": "false",
    }
    return {f"ns3::PieQueueDisc::{key}": value for key, value in own.items()}


def codel(buffer: int, _rate: int) -> dict[str, object]:
    own = {"MaxSize": f"{buffer}p", "Target": "5ms", "Interval": "100ms", "MinBytes": 1514, "UseEcn": "false"}
    return {f"ns3::CoDelQueueDisc::{key}": value for key, value in own.items()}


def fq_codel(buffer: int, _rate: int) -> dict[str, object]:
    own = {
        "MaxSize": f"{buffer}p",
        "Target": "5ms",
        "Interval": "100ms",
        "Flows": 1024,
        "DropBatchSize": 64,
        "UseEcn": "false",
    }
    # The quantum is the device's largest packet, counted without the header of the link, and the queues are CoDel's.
    queues = {"ns3::PointToPointNetDevice::Mtu": 1514 - HEADERS["ppp"], "ns3::CoDelQueueDisc::MinBytes": 1514}
    return {f"ns3::FqCoDelQueueDisc::{key}": value for key, value in own.items()} | queues


def cobalt(buffer: int, _rate: int) -> dict[str, object]:
    own = {
        "MaxSize": f"{buffer}p",
        "Target": "5ms",
        "Interval": "100ms",
        "BlueThreshold": "400ms",
        "Pdrop": 0,
        "Increment": 1 / 256,
        "Decrement": 1 / 4096,
        "UseEcn": "false",
    }
    return {f"ns3::CobaltQueueDisc::{key}": value for key, value in own.items()}


CODEL = {"target": "5ms", "interval": "100ms", "mtu": "1514b", "ecn": "false"}
DISCIPLINES = {
    "droptail": Discipline({}, "ns3::FifoQueueDisc", fifo),
    "red": Discipline(
        {
            "min": "7p",
            "max": "21p",
            "probability": "0.02",
            "weight": "0.0625",
            "uniformize": "wait",
            "gentle": "false",
            "spare": "true",
            "avpkt": "1500b",
        },
        "ns3::RedQueueDisc",
        red,
    ),
    "pie": Discipline(
        {
            "target": "15ms",
            "tupdate": "15ms",
            "alpha": "2",
            "beta": "20",
            "max_burst": "150ms",
            "avpkt": "1500b",
            "ecn": "false",
        },
        "ns3::PieQueueDisc",
        pie,
    ),
    "codel": Discipline(CODEL, "ns3::CoDelQueueDisc", codel),
    "fq-codel": Discipline(
        CODEL | {"flows": "1024", "quantum": "1514b", "drop_batch": "64"}, "ns3::FqCoDelQueueDisc", fq_codel
    ),
    "cobalt": Discipline(
        {"target": "5ms", "interval": "100ms", "blue_threshold": "400ms", "ecn": "false"},
        "ns3::CobaltQueueDisc",
        cobalt,
    ),
}


def arguments(document, discipline):
    """The names and values of the arguments of ns-3's program for a parsed scenario; names may be repeated."""
    check_keys(document, "", KEYS[""])
    bottleneck, access, tcp = (take(document, key, "") for key in ("bottleneck", "access", "tcp"))
    for name in ("bottleneck", "access", "tcp"):
        check_keys(document[name], name, KEYS[name])
    if (take(tcp, "preset", "tcp"), take(tcp, "ecn", "tcp")) != ("modern", False):
        raise ScenarioError('the comparison has TCP with the preset "modern" and without ECN')
    flows = take(document, "flows", "")
    rate = whole(take(bottleneck, "rate", "bottleneck"), "rate", "bottleneck.rate")
    buffer = whole(take(take(bottleneck, "queue", "bottleneck"), "limit", "queue"), "packets", "queue.limit")
    packets = {whole(take(group, "packet", "flows"), "bytes", "flows.packet") for group in flows}
    if len(packets) != 1:
        raise ScenarioError("the groups differ in packet, and ns-3 has one size of segments for all")
    segment = packets.pop() - sum(HEADERS.values())
    network = {
        "rate": rate,
        "delay": quantity(take(bottleneck, "delay", "bottleneck"), "time", "bottleneck.delay"),
        "accessrate": quantity(take(access, "rate", "access"), "rate", "access.rate"),
        "accesslimit": ACCESS_LIMIT,
        "device": 0,
        "duration": quantity(take(document, "duration", ""), "time", "duration"),
        "warmup": quantity(take(document, "warmup", ""), "time", "warmup"),
        "starts": STARTS_S,
        "queue": discipline.type,
    }
    sizes = {
        "ns3::TcpSocket::SegmentSize": segment,
        "ns3::TcpSocket::InitialCwnd": take(tcp, "initial_window", "tcp"),
        "ns3::TcpSocket::SndBufSize": WINDOW * segment,
        "ns3::TcpSocket::RcvBufSize": WINDOW * segment,
    }
    every = network | TCP | sizes | discipline.attributes(buffer, rate)
    groups = [("group", group_argument(group, access)) for group in flows]
    return [(name, as_text(value)) for name, value in every.items()] + groups


def unloaded_s(document, name):
    """The one-way delay in seconds of a group's packets where nothing waits."""
    bottleneck, access = document["bottleneck"], document["access"]
    group = next(group for group in document["flows"] if group["name"] == name)
    delay = quantity((access | group.get("access", {}))["delay"], "time", "access.delay")
    rates = [quantity(link["rate"], "rate", "rate") for link in (access, bottleneck, access)]
    bits = 8 * whole(group["packet"], "bytes", "packet")
    return 2 * delay + quantity(bottleneck["delay"], "time", "bottleneck.delay") + sum(bits / rate for rate in rates)


def group_argument(group, access):
    """A group as NAME,KIND,COUNT,PACKET,DELAY,RATE."""
    kind = take(group, "kind", "flows")
    if kind not in ("tcp", "udp"):
        raise ScenarioError(f"flows.kind = {kind!r}: ns-3's program has tcp and udp")
    where = f"flows.{group['name']}"
    check_keys(group, where, KEYS[f"flows.{kind}"])
    own = group.get("access", {})
    check_keys(own, f"{where}.access", KEYS["flows.access"])
    delay = quantity(take(access | own, "delay", "access"), "time", f"{where}.access.delay")
    packet = whole(group["packet"], "bytes", f"{where}.packet")
    rate = 0
    if kind == "udp":
        rate = quantity(take(group, "rate", where), "rate", f"{where}.rate")
    elif take(group, "cc", where) in CONTROLS:
        kind = CONTROLS[group["cc"]]
    else:
        raise ScenarioError(f"{where}.cc = {group['cc']!r}: the comparison has {', '.join(CONTROLS)}")
    return ",".join(as_text(value) for value in (group["name"], kind, group.get("count", 1), packet, delay, rate))
