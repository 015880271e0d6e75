"""Applications written in Python: their calls come when packets do, and errors for faulty ones."""

from typing import Any

import fairlane as fl
import pytest

DATA = 0.012024
"""A packet of 1000 bytes takes 3 times 8 µs and 12 ms over three links of 1 Gbit/s."""

REQUEST = 3 * 140 * 8e-9 + 0.012
"""An acknowledgement of 40 bytes with a request of 100."""


def scenario(keys: str = "", duration: str = "1s") -> fl.Scenario:
    """A dumbbell of 1 Gbit/s throughout, with 12 ms one way, whose one group has these keys in addition."""
    return fl.Scenario.from_toml(
        f"""
        duration = "{duration}"
        [bottleneck]
        rate = "1gbit"
        delay = "10ms"
        [access]
        rate = "1gbit"
        delay = "1ms"
        [[flows]]
        name = "own"
        kind = "tcp"
        start = "0s"
        {keys}
        """
    )


class Calling(fl.Application):
    """The calls of ``source = "rpc"`` with a request of 100 bytes and a response of 7500."""

    asked: float | None = None

    def on_start(self, server: fl.Server) -> None:
        self.end = server.send(server.packets(7500))

    def on_data(self, received: int, client: fl.Client) -> None:
        if received < self.end:
            return
        self.end = 1 << 32
        if self.asked is not None:
            client.completed(client.now - self.asked)
        self.asked = client.now
        client.request(100)

    def on_request(self, server: fl.Server) -> None:
        self.on_start(server)


def test_it_does_what_the_same_of_the_library_does() -> None:
    """Would catch a call that is missing, or late, and a size that is another's."""
    keys = 'count = 3\ncc = "cubic"\ntcp = { preset = "modern" }\n'
    own = scenario(keys, "5s").run(applications={"own": Calling})
    theirs = scenario(keys + 'source = "rpc"\nrequest = "100b"\nsize = "7500b"', "5s").run()
    for index in range(3):
        assert own.flow(f"own/{index}") == theirs.flow(f"own/{index}")
    assert own.group("own")["transfers"] == theirs.group("own")["transfers"]
    assert own.group("own")["transfers"]["completed"] > 300


def test_calls_come_when_packets_do() -> None:
    """Would catch times in another unit, a timer that is missed, and a new connection that counts on."""
    calls: list[tuple[float, str]] = []

    class Noting(fl.Application):
        def on_start(self, server: fl.Server) -> None:
            calls.append((server.now, f"start {server.send(1)}"))

        def on_data(self, received: int, client: fl.Client) -> None:
            calls.append((client.now, f"data {received}"))
            if received == 1 and len(calls) < 4:
                client.request(100, pause=0.003)

        def on_request(self, server: fl.Server) -> None:
            server.set_timer(server.now + 0.005)
            calls.append((server.now, "request"))

        def on_timer(self, server: fl.Server) -> None:
            server.reconnect()
            calls.append((server.now, f"timer {server.send(1)}"))

        def on_stop(self, now: float) -> None:
            calls.append((now, "stop"))

    scenario('stop = "200ms"').run(applications={"own": Noting})
    asked = DATA + REQUEST + 0.003
    expected = [
        (0, "start 1"),
        (DATA, "data 1"),
        (asked, "request"),
        (asked + 0.005, "timer 1"),
        (asked + 0.005 + DATA, "data 1"),
        (0.2, "stop"),
    ]
    assert [call for _, call in calls] == [call for _, call in expected]
    assert [at for at, _ in calls] == pytest.approx([at for at, _ in expected], abs=1e-9)


def test_flows_share_state_and_wake_each_other() -> None:
    """A round ends when all four have answered, and then all are woken: 42 rounds of 24.05 ms in a second.

    By hand: the last of four packets comes 3 times 8 µs after the first, and the request takes 12.00336 ms.
    """
    missing, rounds = 4, 0

    class Worker(fl.Application):
        def on_start(self, server: fl.Server) -> None:
            self.end = server.send(1)

        def on_data(self, received: int, client: fl.Client) -> None:
            nonlocal missing, rounds
            if received == self.end:
                missing -= 1
                if not missing:
                    missing, rounds = 4, rounds + 1
                    client.request(100)

        def on_request(self, server: fl.Server) -> None:
            for flow in range(4):
                server.wake(flow, server.now)

        def on_wake(self, server: fl.Server) -> None:
            self.on_start(server)

    outcome = scenario("count = 4").run(applications={"own": Worker})
    assert rounds == int((1 - DATA - 24e-6) / (DATA + 24e-6 + REQUEST)) + 1 == 42
    assert all(outcome.flow(f"own/{flow}")["goodput_bps"] == rounds * 8000 for flow in range(4))


def test_randomness_is_that_of_the_run() -> None:
    """Would catch a seed that flows or runs share, and one that changes."""

    def drawn(runs: int) -> list[float]:
        numbers: list[float] = []

        class Drawing(Calling):
            def on_start(self, server: fl.Server) -> None:
                numbers.append(self.random.random())
                server.send(1)

            def on_data(self, received: int, client: fl.Client) -> None:
                pass

        scenario("count = 2").run(applications={"own": Drawing}, runs=runs)
        return numbers

    assert drawn(2) == drawn(2)
    assert len(set(drawn(2))) == 4


def test_a_simulation_in_steps_does_the_same() -> None:
    """Would catch applications that a simulation leaves out."""
    simulation = scenario().start(applications={"own": Calling})
    simulation.step("500ms")
    assert simulation.outcome().flow("own/0") == scenario().run(applications={"own": Calling}).flow("own/0")


def faulty(name: str, does: Any) -> type[fl.Application]:
    """An application whose method of this name does something else."""
    return type("Faulty", (Calling,), {name: does})


def test_mistakes_are_errors_with_their_place() -> None:
    """Would catch an exception that is lost, or told without its flow and time."""

    def fails(*_: object) -> None:
        raise KeyError("no such segment")

    with pytest.raises(fl.EndpointError, match=r'the sink of flow "own/0" at 0.012024 s: it raised KeyError') as error:
        scenario().run(applications={"own": faulty("on_data", fails)})
    assert isinstance(error.value.__cause__, KeyError)
    with pytest.raises(fl.EndpointError, match=r'the source of flow "own/0" at 0 s: it raised KeyError'):
        scenario().run(applications={"own": faulty("on_start", fails)})
    with pytest.raises(fl.EndpointError, match=r"a request of 2000 bytes does not fit a packet of 1000"):
        scenario().run(applications={"own": faulty("on_data", lambda _self, _received, client: client.request(2000))})
    with pytest.raises(fl.EndpointError, match="`wake` gave flow 7"):
        scenario().run(applications={"own": faulty("on_start", lambda _self, server: server.wake(7, 0.5))})
    with pytest.raises(fl.EndpointError, match="set_timer"):
        scenario().run(applications={"own": faulty("on_start", lambda _self, server: server.set_timer(float("nan")))})
    kept: list[fl.Server] = []

    def keeps(_self: object, server: fl.Server) -> None:
        kept.append(server)
        server.send(1)

    def uses(_self: object, _received: int, _client: fl.Client) -> None:
        kept[0].send(1)

    keeping = type("Keeping", (Calling,), {"on_start": keeps, "on_data": uses})
    with pytest.raises(fl.EndpointError, match="do not keep it"):
        scenario().run(applications={"own": keeping})


def test_what_is_no_application_is_refused() -> None:
    """Would catch a group that does not exist, a class without the methods, and an object instead of a class."""
    with pytest.raises(fl.ScenarioError, match='there is no group of TCP flows "ftp"'):
        scenario().run(applications={"ftp": Calling})
    phased = scenario().to_toml().replace('start = "0s"', 'phases = [["0s", "100ms"], ["200ms", "300ms"]]')
    phases = fl.Scenario.from_toml(phased)
    with pytest.raises(fl.ScenarioError, match='an application has no phases, and there are some in group "own"'):
        phases.run(applications={"own": Calling})
    with pytest.raises(fl.EndpointError, match=r"has no method on_start: see fairlane\.Application"):
        scenario().run(applications={"own": lambda _flow, _seed: object()})
    with pytest.raises(TypeError, match="an application is a class, not a str"):
        scenario().run(applications={"own": "rpc"})  # type: ignore[dict-item] # that is the test
    with pytest.raises(NotImplementedError, match="has no method on_data of its own"):
        fl.Application(0, 1).on_data(1, None)  # type: ignore[arg-type] # nothing is looked at
