"""Parts written in Python for the tests of sweeps. Other processes import this module."""

from __future__ import annotations

from typing import Any

import fairlane as fl


class Short(fl.Discipline):
    """Droptail of `limit` packets."""

    limit = 30

    def __init__(self, host: fl.Host, limit: int | None = None) -> None:
        super().__init__(host)
        self.most = self.limit if limit is None else limit
        self.queue: list[fl.Packet] = []

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:  # noqa: ARG002
        if len(self.queue) < self.most:
            self.queue.append(packet)
        else:
            sink.dropped(packet, "limit")

    def dequeue(self, now: float, sink: fl.DropSink) -> fl.Packet | None:  # noqa: ARG002
        return self.queue.pop(0) if self.queue else None


class Polling(fl.Application):
    """Asks for 20 packets, one second after those before have come."""

    def on_start(self, server: fl.Server) -> None:
        self.asked, self.end = server.now, server.send(20)

    def on_data(self, received: int, client: fl.Client) -> None:
        if received == self.end:
            self.end = -1
            client.completed(client.now - self.asked)
            client.request(100, pause=1.0)

    def on_request(self, server: fl.Server) -> None:
        self.on_start(server)


class Gentle(fl.CongestionControl):
    """Loses a quarter to congestion."""

    def grow(self, window: fl.Window, ack: fl.Ack) -> None:
        window.cwnd += ack.growth / window.cwnd

    def on_congestion(self, window: fl.Window, event: fl.CongestionEvent) -> float:  # noqa: ARG002
        return 0.75 * event.segments


class Faulty(Short):
    """Fails at once."""

    def enqueue(self, now: float, packet: fl.Packet, sink: fl.DropSink) -> None:  # noqa: ARG002
        raise ZeroDivisionError("of mine")


VARIED: dict[str, Any] = {"bottleneck.queue": [fl.DropTail(limit=30), Short], "seed": [1, 2]}
