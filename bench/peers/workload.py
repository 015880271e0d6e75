"""Converts a scenario file to the parameters of the peers' dumbbells.

The file is the only source of parameters. A setting that a peer does not support, or that the file leaves to a
default, is an error here, so that two simulators never run different work under one name.
"""

import re
import tomllib
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path

UNITS = {
    "rate": {"bit": 1, "kbit": 10**3, "mbit": 10**6, "gbit": 10**9},
    "time": {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)},
    "packets": {"p": 1},
    "bytes": {"b": 1, "kb": 1000},
}

# The supported tables. Other keys are refused, since the peer would ignore them.
KEYS = {
    "": {"name", "duration", "warmup", "seed", "tcp", "bottleneck", "access", "flows"},
    "tcp": {"preset"},
    "bottleneck": {"rate", "delay", "queue"},
    "access": {"rate", "delay"},
    "flows.tcp": {"name", "kind", "count", "cc", "packet", "window", "start"},
    "flows.udp": {"name", "kind", "count", "rate", "packet", "start", "jitter"},
}

# The size of an acknowledgement by [tcp] preset, in bytes.
ACK = {"ns2-1999": 40}
# The default queue of an access link and of the reverse direction, in packets.
ACCESS_LIMIT = 1000


class ScenarioError(Exception):
    """The reason why the peers cannot run the file."""


@dataclass(frozen=True)
class Workload:
    """The parameters of ns2/dumbbell.tcl and ns3/dumbbell.cc, by their names; rates in bit/s, times in seconds."""

    tcp: int
    cc: str
    preset: str
    window: int
    udp: int
    udprate: Fraction
    packet: int
    ack: int
    rate: Fraction
    delay: Fraction
    accessrate: Fraction
    accessdelay: Fraction
    accesslimit: int
    queue: str
    limit: int
    min: int
    max: int
    probability: float
    weight: float
    wait: int
    gentle: int
    duration: Fraction
    warmup: Fraction
    starts: Fraction

    def arguments(self):
        """Name and value of each parameter, as text."""
        return [(field.name, as_text(getattr(self, field.name))) for field in fields(self)]


def as_text(value):
    """A number as both peers read it."""
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else repr(float(value))
    return str(value)


def quantity(text, kind, where):
    """A number with a unit of `kind`."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([a-z]+)", text) if isinstance(text, str) else None
    if not found or found[2] not in UNITS[kind]:
        raise ScenarioError(f"{where} = {text!r}: expected a {kind} with one of the units {', '.join(UNITS[kind])}")
    return Fraction(found[1]) * UNITS[kind][found[2]]


def whole(text, kind, where):
    """A quantity that has to be a whole number of its base unit."""
    value = quantity(text, kind, where)
    if value.denominator != 1:
        raise ScenarioError(f"{where} = {text!r}: not a whole number")
    return value.numerator


def take(table, key, where):
    """A key that must be in the file."""
    if key not in table:
        raise ScenarioError(f"{where}.{key} is missing: a comparison leaves nothing to a default".lstrip("."))
    return table[key]


def check_keys(table, where, known):
    unknown = sorted(set(table) - known)
    if unknown:
        raise ScenarioError(f"the peers do not know {', '.join(f'{where}.{key}'.lstrip('.') for key in unknown)}")


def apply(document, key, value):
    """Sets one key of the parsed file, as `fairlane run --set` does; flow groups are found by name."""
    *path, last = key.split(".")
    table = document
    for step in path:
        if isinstance(table, list):
            table = next((group for group in table if group.get("name") == step), None)
        else:
            table = table.setdefault(step, {})
        if table is None:
            raise ScenarioError(f"{key}: there is no group {step!r}")
    table[last] = value


def read(path, overrides):
    """The parsed file with `overrides`, a mapping of key to value, on top."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    for key, value in overrides.items():
        apply(document, key, value)
    return document


def group_of(document, kind):
    """The only flow group of `kind`, or None."""
    groups = [group for group in take(document, "flows", "") if group.get("kind") == kind]
    if len(groups) > 1:
        raise ScenarioError(f"the peers take one group of {kind} flows, the file has {len(groups)}")
    return groups[0] if groups else None


def queue_parameters(queue):
    """The bottleneck's queue. The parameters of another kind are left alone: they have no effect."""
    where = "bottleneck.queue"
    kind = take(queue, "kind", where)
    limit = whole(take(queue, "limit", where), "packets", f"{where}.limit")
    if kind == "droptail":
        # Not used, but the programs require every parameter.
        red = {"min": 1, "max": 2, "probability": 0.1, "weight": 0.002, "wait": 0, "gentle": 0}
    elif kind == "red":
        spacing = take(queue, "uniformize", where)
        if spacing not in ("count", "wait"):
            raise ScenarioError(f"{where}.uniformize = {spacing!r}: the peers have \"count\" and \"wait\"")
        red = {
            "min": whole(take(queue, "min", where), "packets", f"{where}.min"),
            "max": whole(take(queue, "max", where), "packets", f"{where}.max"),
            "probability": take(queue, "probability", where),
            "weight": take(queue, "weight", where),
            "wait": int(spacing == "wait"),
            "gentle": int(take(queue, "gentle", where)),
        }
    else:
        raise ScenarioError(f"{where}.kind = {kind!r}: the peers have droptail and red")
    return {"queue": kind, "limit": limit, **red}


def tcp_parameters(document, group):
    preset = take(document.get("tcp", {}), "preset", "tcp")
    if preset not in ACK:
        raise ScenarioError(f"tcp.preset = {preset!r}: the peers have {', '.join(ACK)}")
    return {
        "tcp": group.get("count", 1),
        "cc": take(group, "cc", "flows.tcp"),
        "window": take(group, "window", "flows.tcp"),
        "preset": preset,
        "ack": ACK[preset],
    }


def udp_parameters(group):
    if group is None:
        return {"udp": 0, "udprate": Fraction(1)}
    if group.get("jitter", 0) != 0:
        raise ScenarioError("the peers' CBR has no jitter to choose")
    rate = quantity(take(group, "rate", "flows.udp"), "rate", "flows.udp.rate")
    return {"udp": group.get("count", 1), "udprate": rate}


def agreed(groups, key):
    """The value of `key` that all groups have in common, since the peers have one value for all."""
    values = {take(group, key, f"flows.{group['kind']}") for group in groups}
    if len(values) != 1:
        raise ScenarioError(f"the groups differ in {key}: {', '.join(sorted(values))}")
    return values.pop()


def start_range(text):
    """The end of a range of starts that begins at 0."""
    first, dots, last = text.partition("..")
    if not dots or quantity(first, "time", "start") != 0:
        raise ScenarioError(f"start = {text!r}: the peers take a range from 0s")
    return quantity(last, "time", "start")


def workload(document):
    """The parameters of a parsed file."""
    check_keys(document, "", KEYS[""])
    check_keys(document.get("tcp", {}), "tcp", KEYS["tcp"])
    bottleneck, access = take(document, "bottleneck", ""), take(document, "access", "")
    check_keys(bottleneck, "bottleneck", KEYS["bottleneck"])
    check_keys(access, "access", KEYS["access"])
    ftp, cbr = group_of(document, "tcp"), group_of(document, "udp")
    if ftp is None:
        raise ScenarioError("there is no group of TCP flows")
    groups = [group for group in (ftp, cbr) if group is not None]
    for group in groups:
        check_keys(group, f"flows.{group['name']}", KEYS[f"flows.{group['kind']}"])
    return Workload(
        **tcp_parameters(document, ftp),
        **udp_parameters(cbr),
        **queue_parameters(take(bottleneck, "queue", "bottleneck")),
        packet=whole(agreed(groups, "packet"), "bytes", "packet"),
        rate=quantity(take(bottleneck, "rate", "bottleneck"), "rate", "bottleneck.rate"),
        delay=quantity(take(bottleneck, "delay", "bottleneck"), "time", "bottleneck.delay"),
        accessrate=quantity(take(access, "rate", "access"), "rate", "access.rate"),
        accessdelay=quantity(take(access, "delay", "access"), "time", "access.delay"),
        accesslimit=ACCESS_LIMIT,
        duration=quantity(take(document, "duration", ""), "time", "duration"),
        warmup=quantity(take(document, "warmup", ""), "time", "warmup"),
        starts=start_range(agreed(groups, "start")),
    )


def group_names(document):
    """The file's names of the groups that the peers call `tcp` and `udp`."""
    found = {kind: group_of(document, kind) for kind in ("tcp", "udp")}
    return {kind: group["name"] for kind, group in found.items() if group is not None}
