"""Downloads by aioquic, a QUIC library, across a simulated link with several queues, next to a flood.

    pip install fairlane aioquic && python examples/quic_downloads.py

Keys and connection ids are drawn by the system, so bytes differ from run to run. Sizes, times and the table do not.
"""

from __future__ import annotations

import ssl
from collections import deque
from datetime import datetime, timezone

import fairlane as fl
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import HandshakeCompleted, StreamDataReceived
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PEER, HEADERS, FILE = ("10.0.0.1", 443), 20 + 8, bytes(20_000_000)  # the headers are those of IPv4 and UDP
FIRST, LAST = (datetime(year, 1, 1, tzinfo=timezone.utc) for year in (2020, 2040))


class Quic(fl.Endpoint):
    """A client that asks for the file, or a server that sends it."""

    def __init__(self, connection: QuicConnection, *, client: bool) -> None:
        self.connection, self.client, self.begun = connection, client, client
        self.ready: deque[bytes] = deque()

    def start(self, now: float) -> None:
        if self.client:
            self.connection.connect(PEER, now)

    def receive(self, now: float, datagram: bytes, ecn: fl.Ecn) -> None:  # noqa: ARG002 - aioquic has no ECN
        self.begun = True
        self.connection.receive_datagram(datagram, PEER, now)
        while event := self.connection.next_event():
            if isinstance(event, HandshakeCompleted) and self.client:
                self.connection.send_stream_data(0, b"the file, please", end_stream=True)
            elif isinstance(event, StreamDataReceived) and self.client:
                self.delivered_bytes += len(event.data)
            elif isinstance(event, StreamDataReceived):
                self.connection.send_stream_data(0, FILE, end_stream=True)

    def transmit(self, now: float) -> tuple[bytes, int] | None:
        if self.begun and not self.ready:
            self.ready.extend(data for data, _ in self.connection.datagrams_to_send(now))
        return (self.ready[0], len(self.ready.popleft()) + HEADERS) if self.ready else None

    def deadline(self) -> float | None:
        # A microsecond more than its sum of seconds, which is rounded: at the sum itself the timer may not be due.
        return None if (timer := self.connection.get_timer()) is None else timer + 1e-6

    def on_timer(self, now: float) -> None:
        self.connection.handle_timer(now)


def download(_index: int, _seed: int) -> tuple[Quic, Quic]:
    """Returns the server, which is the source, and the client."""
    key, name = Ed25519PrivateKey.generate(), x509.Name([])
    certificate = x509.CertificateBuilder(name, name, key.public_key(), 1, FIRST, LAST).sign(key, None)
    client = QuicConnection(configuration=QuicConfiguration(server_name="fl", verify_mode=ssl.CERT_NONE))
    first = client.original_destination_connection_id
    settings = QuicConfiguration(is_client=False, certificate=certificate, private_key=key)
    server = QuicConnection(configuration=settings, original_destination_connection_id=first)
    return Quic(server, client=False), Quic(client, client=True)


def table(seconds: int = 10) -> fl.Outcomes:
    """Returns the outcomes of four downloads over 10 Mbit/s, next to a flood of 5 Mbit/s."""
    group = {"name": "quic", "kind": "endpoint", "count": 4}
    link = fl.Scenario.dumbbell(rate="10mbit", delay="10ms", duration=seconds, udp="5mbit", flows=[group])
    queues = [fl.DropTail(limit=100), fl.Choke(limit=100, min=20, max=60), fl.FqCodel()]
    return link.sweep({"bottleneck.queue": queues}, endpoints={"quic": download})


if __name__ == "__main__":
    print(table())
