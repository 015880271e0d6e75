"""Applications written in Python."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from fairlane._core import Client, Server

__all__ = ["Application", "OwnApplication"]

OwnApplication: TypeAlias = "Callable[[int, int], object]"
"""A function that makes an application written in Python for a flow, from its number in the group and a seed, usually
its class."""


class Application:
    """An application written in Python, over the TCP of a group of flows: ``scenario.run(applications={"ftp": Mine})``.

    A subclass implements :meth:`on_start` and :meth:`on_data`. It is both ends of a flow's connection at once: the
    server sends data, the client takes them and may ask for more. Data are counted in packets of the group. There is an
    object for each flow, made in the order of their numbers; those of a group may share state. An exception ends the
    run with an :class:`fairlane.EndpointError`.

    More methods are optional. ``on_request(server)`` takes a request of the client that has reached the server;
    ``on_acknowledged(acknowledged, server)`` is called for each acknowledgement, with the packets that the client has;
    ``on_timer(server)`` when the timer of the server expires; ``on_wake(server)`` where another flow of the group calls
    this one; ``on_stop(now)`` when the flow stops; ``begin_measurement(now)`` at the end of the warm-up.

    A :class:`fairlane.Server` sends, sets the timer and calls other flows; a :class:`fairlane.Client` asks the server
    with an acknowledgement, and counts what is completed. Both have the time ``now``. Times are in seconds.

    Attributes:
        flow: The number of its flow in the group, from 0.
        random: Its random numbers: the same for the same scenario, seed and run.
    """

    def __init__(self, flow: int, seed: int) -> None:
        """Keeps ``flow`` and sets up :attr:`random`.

        Args:
            flow: The number of its flow in the group, from 0.
            seed: The seed of its randomness: a number that is different for each flow and each run.
        """
        self.flow = flow
        self.random = random.Random(seed)  # noqa: S311 - it simulates

    def on_start(self, server: Server) -> None:
        """Begins, when the flow starts. The first request, if there are requests, is at the server.

        Args:
            server: The end that sends data.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method on_start of its own")

    def on_data(self, received: int, client: Client) -> None:
        """Takes data: the client has the first ``received`` packets of the connection.

        The simulator calls it for each packet that arrives, so ``received`` may be the same as before.

        Args:
            received: The packets that have come in order since the connection began.
            client: The end that takes data.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method on_data of its own")
