"""The lab: scenarios on real Linux TCP, by the program ``fairlane``."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from fairlane import _made
from fairlane._progress import shown
from fairlane._runs import with_queue
from fairlane._signals import CtrlC
from fairlane._values import count, instance
from fairlane.config import QueueConfig
from fairlane.errors import ArgumentError, Interrupted, LabError
from fairlane.outcome import Outcome, Outcomes
from fairlane.scenario import scenario_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Literal

    from fairlane import _core
    from fairlane._progress import Progress
    from fairlane.scenario import Scenario

__all__ = ["lab"]


_LARGEST_READ = 1 << 16
_LOOK_EVERY_S = 0.1


def lab(  # noqa: PLR0913 - all have defaults but one
    scenario: Scenario | str | os.PathLike[str],
    *,
    where: Literal["guest", "host"] = "guest",
    queue: str | QueueConfig | None = None,
    seed: int | None = None,
    runs: int = 1,
    against_sim: bool = False,
    against_kernel: bool = False,
    against_bpf: bool = False,
    ipv6: bool = False,
    kernel: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Outcomes:
    """Runs a scenario on real Linux TCP, as ``fairlane lab``; ``docs/lab.md`` describes what it can and what it checks.

    It runs the program ``fairlane`` that the wheel brings. The differences between Linux's TCP and the
    simulator's, and between the kernel's discipline and the library's, are warnings.

    Args:
        scenario: A dumbbell with TCP and UDP, or what :meth:`fairlane.Scenario.from_toml` reads, such as ``lab-fig3``.
        where: ``guest``: in virtual machines whose clock counts instructions, where a seed names a run; it needs QEMU
            and, once, ``fairlane lab --setup``. ``host``: on this machine's kernel in real time; it needs root.
        queue: Another discipline of the library for the bottleneck.
        seed: The seed; the scenario's own by default.
        runs: Number of runs; with several, means have confidence intervals.
        against_sim: Simulate the scenario too, at least five times.
        against_kernel: Run the kernel's own discipline with the same parameters too.
        against_bpf: Run the library's discipline in the guest's kernel too, as a BPF program.
        ipv6: Use IPv6 instead of IPv4.
        kernel: The folder of the guest's kernel; where ``--setup`` put it by default.
        program: Another program; by default that of ``FAIRLANE`` in the environment, the wheel's, or that in ``PATH``.
        progress: True to show a bar, or a function that is called with the seconds of all runs that are over, and all.

    Returns:
        The outcomes: on Linux (``to_dict()["engine"]`` is ``linux``), then of the kernel's discipline (``kernel``),
        of the BPF program (``bpf``) and of the simulator (``sim``), as far as they were asked for.

    Raises:
        TypeError: ``queue`` is not a discipline of the library.
        ArgumentError: ``where`` is another word.
        ScenarioError: The scenario is not valid with ``seed`` and ``queue``.
        LabError: There is no program, it refuses the scenario or the machine, or the queue was not the bottleneck; it
            has the outcomes of those labs that succeeded.
        Interrupted: Ctrl-C; it has the outcomes so far. A second Ctrl-C ends the lab at once.
    """
    if sys.platform != "linux":
        raise LabError("the lab needs Linux; scenario.run() simulates on any system")
    if where not in {"guest", "host"}:
        raise ArgumentError(f'where: a lab is run in a "guest" or on the "host", not {where!r}')
    document = scenario_of(scenario)._seeded(seed)  # noqa: SLF001 - of this package
    if queue is not None:
        if not isinstance(instance(queue), (str, QueueConfig)):
            raise TypeError(f'queue: a lab has one of the library\'s, such as "choke", not a {type(queue).__name__}')
        document = with_queue(document, queue)
    options = ["--json", "--progress-lines", f"--in={where}", f"--runs={count('runs', runs)}"]
    asked = {"--against-sim": against_sim, "--against-kernel": against_kernel, "--against-bpf": against_bpf}
    asked["--ipv6"] = ipv6
    options += [option for option, wanted in asked.items() if wanted]
    if kernel is not None:
        options += ["--kernel", os.fsdecode(kernel)]
    with tempfile.TemporaryDirectory(prefix="fairlane-lab-") as folder:
        document.write_into(folder)
        command = [
            _made.program_of(program, "the lab", LabError),
            "lab",
            str(Path(folder, "scenario.toml")),
            *options,
            "--out",
            str(Path(folder, "tables")),
        ]
        return _outcomes(_Lab(command, Path(folder)), document.to_toml(), progress)


class _Lab:
    """A lab that was started."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._command = command
        self._folder = folder
        self.interrupted = False
        self.notes: list[str] = []
        self.said: list[str] = []

    def run(self, tell: Callable[[int, int], object] | None) -> int:
        """Runs it to its end and returns the exit code."""
        with Path(self._folder, "outcomes.json").open("wb") as out:
            try:
                # In a separate session, so that a terminal's Ctrl-C reaches it through us alone, once.
                child = subprocess.Popen(  # noqa: S603 - it is what the user asked for
                    self._command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, start_new_session=True
                )
            except OSError as error:
                raise LabError(f"{self._command[0]} cannot be run: {error}; {_made.INSTALL}") from error
        with child, CtrlC() as heard:
            try:
                for line in self._lines(child, heard):
                    self._hear(line, tell)
                return child.wait()
            finally:
                # By an exception of `tell`, or a second Ctrl-C.
                child.kill()

    def _lines(self, child: subprocess.Popen[bytes], heard: Callable[[], bool]) -> Iterator[str]:
        """Yields the lines of standard error; Ctrl-C is passed on."""
        if child.stderr is None:
            return
        rest, more = b"", b"more"
        while more:
            if heard() and not self.interrupted:
                self.interrupted = True
                child.send_signal(signal.SIGINT)
            if select.select([child.stderr], [], [], _LOOK_EVERY_S)[0]:
                more = os.read(child.stderr.fileno(), _LARGEST_READ)
                *lines, rest = (rest + more).split(b"\n")
                yield from (line.decode(errors="replace") for line in lines)
        yield rest.decode(errors="replace")

    def _hear(self, line: str, tell: Callable[[int, int], object] | None) -> None:
        word, _, rest = line.partition(" ")
        if word == "progress":
            done, _, total = rest.partition(" ")
            if tell is not None:
                tell(int(done), int(total))
        elif word == "note:":
            self.notes.append(rest)
        elif line:
            self.said.append(line)

    def outcomes(self) -> list[_core.Outcome]:
        """The outcomes that it printed."""
        return _made.outcomes(Path(self._folder, "outcomes.json"), Path(self._folder, "tables"))


def _outcomes(lab: _Lab, scenario: str, progress: Progress) -> Outcomes:
    with shown(progress, 1, unit="second") as tell:
        code = lab.run(tell)
    for note in lab.notes:
        warnings.warn(note, stacklevel=3)
    outcomes = Outcomes((Outcome(outcome, scenario) for outcome in lab.outcomes()), scenario=scenario)
    said = "\n".join(line.removeprefix("error: ") for line in lab.said[-1:])
    if lab.interrupted:
        raise Interrupted(said or "interrupted", outcomes)
    if code != 0:
        raise LabError(said or f"the lab ended with exit code {code}", outcomes)
    return outcomes
