"""A transport that sends each datagram until it is acknowledged, one at a time: of several tests."""

import random

import fairlane as fl

SIZE = 972
WIRE = 1000


class Source(fl.Endpoint):
    """Sends `data` in pieces, each with its number, and again after 200 ms."""

    def __init__(self, data: bytes) -> None:
        self.pieces = [data[begin : begin + SIZE] for begin in range(0, len(data), SIZE)]
        self.number = 0
        self.send = False
        self.again_at: float | None = None

    def start(self, now: float) -> None:  # noqa: ARG002
        self.send = True

    def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:  # noqa: ARG002
        if int.from_bytes(datagram, "big") == self.number:
            self.number, self.send, self.again_at = self.number + 1, True, None

    def transmit(self, now: float) -> fl.Outgoing | None:
        if not self.send or self.number == len(self.pieces):
            return None
        self.send, self.again_at = False, now + 0.2
        return fl.Outgoing(self.number.to_bytes(4, "big") + self.pieces[self.number], WIRE)

    def deadline(self) -> float | None:
        return self.again_at

    def on_timer(self, now: float) -> None:  # noqa: ARG002
        self.again_at, self.send = None, True


class Sink(fl.Endpoint):
    """Keeps the pieces in their order, and acknowledges each."""

    def __init__(self) -> None:
        self.data = b""
        self.expected = 0
        self.ack: bytes | None = None

    def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:  # noqa: ARG002
        self.ack = datagram[:4]
        if int.from_bytes(self.ack, "big") == self.expected:
            self.expected += 1
            self.data += datagram[4:]
            self.delivered_bytes = len(self.data)

    def transmit(self, now: float) -> tuple[bytes, int] | None:  # noqa: ARG002
        ack, self.ack = self.ack, None
        return None if ack is None else (ack, 40)


def data_of(seed: int, pieces: int) -> bytes:
    """The bytes of a flow."""
    return random.Random(seed).randbytes(pieces * SIZE)


def make(index: int, seed: int) -> tuple[Source, Sink]:
    """The endpoints of a flow that is never at its end."""
    del index
    return Source(data_of(seed, 2000)), Sink()


def scenario(bottleneck: str = "", more: str = "") -> fl.Scenario:
    """A group of endpoints called `own` over 1 Mbit/s and 10 ms, with hosts at 8 Mbit/s and 1 ms."""
    return fl.Scenario.from_toml(f"""
        duration = "20s"
        [bottleneck]
        rate = "1mbit"
        delay = "10ms"
        {bottleneck}
        [access]
        rate = "8mbit"
        delay = "1ms"
        [[flows]]
        name = "own"
        kind = "endpoint"
        start = "0s"
        {more}
    """)
