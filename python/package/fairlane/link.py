"""Programs behind the link of a scenario, by the program ``fairlane``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from fairlane import _core, _made
from fairlane._runs import with_queue
from fairlane._values import count, instance
from fairlane.config import QueueConfig
from fairlane.errors import ArgumentError, MissingFileError, ScenarioError, ShellError, StateError
from fairlane.outcome import Outcome
from fairlane.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

__all__ = ["Completed", "Shell", "shell"]

_COMMAND = "command: a list of a program and its arguments, such as ['curl', 'http://gateway:8000/']"
_MTU = (1280, 9000)
_WARNING = "warning: "


def shell(  # noqa: PLR0913 - all have defaults but one
    scenario: Scenario | str | os.PathLike[str],
    *,
    queue: str | QueueConfig | None = None,
    seed: int | None = None,
    ecn: bool = False,
    cc: str | None = None,
    mtu: int = 1500,
    flows: bool = False,
    listen: Mapping[int | str, int] | None = None,
    pcap: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
) -> Shell:
    """Returns a link behind which programs run, as ``fairlane shell``; ``docs/shell.md`` describes the network inside.

    It needs Linux with user namespaces, and no root. It runs the program ``fairlane`` that the wheel brings.

    >>> with fl.shell("home.toml", queue="fq-codel") as link:  # doctest: +SKIP
    ...     done = link.run(["curl", "http://gateway:8000/"], capture_output=True)
    >>> done.returncode, done.outcome.queue()["kind"]  # doctest: +SKIP
    (0, 'fq-codel')

    Args:
        scenario: One with one link, or what :meth:`fairlane.Scenario.from_toml` reads; a file or a text may leave out
            ``duration`` and ``[[flows]]``.
        queue: Another discipline of the library for the queues that a comparison changes.
        seed: The seed; the scenario's own by default.
        ecn: Let TCP ask for ECN.
        cc: The congestion control of TCP; the system's by default.
        mtu: The MTU of the link in bytes, 1280 to 9000.
        flows: Run the scenario's own flows next to each program.
        listen: The ports of this host that lead to ports inside: ``{8080: 80}`` or ``{"0.0.0.0:8080": 80}``.
        pcap: A file for the packets; each program begins it anew.
        program: Another program; by default that of ``FAIRLANE`` in the environment, the wheel's, or that in ``PATH``.

    Raises:
        TypeError: ``queue`` is not a discipline of the library, or ``scenario`` is none.
        ArgumentError: ``mtu`` is out of range.
        ScenarioError: The scenario is not valid with ``seed`` and ``queue``; it is a :class:`MissingFileError` for a
            file that does not exist.
        ShellError: The system is not Linux, or there is no program.
    """
    if sys.platform != "linux":
        raise ShellError("a shell needs Linux; scenario.run() simulates on any system")
    document = _links(scenario)
    if seed is not None:
        document = document.with_values([("seed", count("seed", seed, least=0))])
    if queue is not None:
        if not isinstance(instance(queue), (str, QueueConfig)):
            raise TypeError(f'queue: a link has one of the library\'s, such as "choke", not a {type(queue).__name__}')
        document = with_queue(document, queue)
    least, most = _MTU
    options = [f"--mtu={count('mtu', mtu, least=least, most=most)}"]
    options += [option for option, wanted in {"--ecn": ecn, "--flows": flows}.items() if wanted]
    if cc is not None:
        options.append(f"--cc={cc}")
    own = [f"--listen={at}:{port}" for at, port in (listen or {}).items()]
    if pcap is not None:
        own.append(f"--pcap={Path(os.fsdecode(pcap)).absolute()}")
    return Shell(_made.program_of(program, "a shell", ShellError), document, options, own)


class Completed(subprocess.CompletedProcess[Any]):
    """A program that has ended behind a link, as ``subprocess.run`` returns one.

    Attributes:
        args: The program and its arguments.
        returncode: Its exit code, or 128 and the number of the signal that ended it.
        stdout: Its output, with ``capture_output=True``; bytes, or text with ``text=True``.
        stderr: The same of standard error.
        outcome: The link's counts: the first queue is that of packets towards the program, the second that of packets
            from it, and each connection is a flow in each direction.
    """

    def __init__(self, args: list[str], returncode: int, stdout: Any, stderr: Any, outcome: Outcome) -> None:  # noqa: ANN401 - as subprocess has them
        super().__init__(args, returncode, stdout, stderr)
        self.outcome = outcome


@final
class Shell:
    """A link behind which programs run, one after the other. :func:`shell` makes one, for a ``with`` statement.

    Each program has its own network and its own outcome; a link keeps no packets between two programs.
    """

    def __init__(self, program: str, document: _core.Document, options: list[str], own: list[str]) -> None:
        self._program = program
        self._document = document
        self._options = options
        # Those of each run alone.
        self._own = own
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> Shell:
        """Checks that the link can be set up.

        Raises:
            ShellError: It cannot, with the reason, such as the rights of this user.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="fairlane-shell-")
        try:
            self._document.write_into(self._folder.name)
            done = self._start([*self._options, "--quiet"], ["true"], stdin=subprocess.DEVNULL, capture_output=True)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        if done.returncode:
            self.__exit__(None, None, None)
            raise ShellError(_said(done.stderr) or f"fairlane ended with exit code {done.returncode}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Removes the files of the link. Programs have ended before."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def run(  # noqa: PLR0913 - as subprocess.run has them
        self,
        command: Iterable[str | os.PathLike[str]],
        *,
        input: str | bytes | None = None,  # noqa: A002 - the word of subprocess.run
        capture_output: bool = False,
        text: bool = False,
        timeout: float | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Completed:
        """Runs a program behind the link and waits for it, with the arguments of ``subprocess.run``.

        Inside, this host is ``gateway``. Warnings of the link, such as that of a machine that is too busy, are warnings
        of Python.

        Args:
            command: The program and its arguments.
            input: What the program reads; without it standard input is this process's.
            capture_output: Keep its output; otherwise it goes where this process's goes.
            text: Input and output are text.
            timeout: Seconds after which the program and all that it has started are killed.
            cwd: The folder in which it starts.
            env: Its environment; this process's by default.

        Raises:
            TypeError: ``command`` is not a list of text and paths.
            ArgumentError: ``command`` is empty.
            StateError: The link is not in a ``with`` statement.
            ShellError: The link cannot be set up, ``cwd`` cannot be entered, the program cannot be executed, or the
                link has failed.
            subprocess.TimeoutExpired: The time is over.
        """
        if self._folder is None:
            raise StateError("a link is used in a with statement: with fairlane.shell(scenario) as link: ...")
        if isinstance(command, (str, bytes)):
            raise TypeError(_COMMAND)
        words = [os.fsdecode(word) for word in command]
        if not words:
            raise ArgumentError(_COMMAND)
        with tempfile.TemporaryDirectory(dir=self._folder.name) as folder:
            made = {name: Path(folder, name) for name in ("json", "out", "report")}
            files = [f"--{name}={path}" for name, path in made.items()]
            how: dict[str, Any] = {"capture_output": capture_output, "text": text, "timeout": timeout}
            how |= {"cwd": cwd, "env": env} | ({} if input is None else {"input": input})
            done = self._start([*self._options, *self._own, "--quiet", *files], words, **how)
            outcomes = _made.outcomes(made["json"], made["out"])
            if not outcomes:
                raise ShellError(
                    _said(done.stderr) or f"fairlane ended with exit code {done.returncode}, see its words"
                )
            for line in made["report"].read_text(encoding="utf-8").splitlines():
                if line.startswith(_WARNING):
                    warnings.warn(line.removeprefix(_WARNING), stacklevel=2)
        return Completed(
            words, done.returncode, done.stdout, done.stderr, Outcome(outcomes[0], self._document.to_toml())
        )

    def _start(self, options: list[str], words: list[str], **how: Any) -> subprocess.CompletedProcess[Any]:  # noqa: ANN401 - those of subprocess.run
        """Runs the program ``fairlane`` with a command."""
        if self._folder is None:
            raise StateError("the link has ended")
        file = str(Path(self._folder.name, "scenario.toml"))
        command = [self._program, "shell", file, *options, "--", *words]
        try:
            return subprocess.run(command, check=False, **how)  # noqa: S603 - it is what the user asked for
        except OSError as error:
            if error.filename != self._program:
                raise ShellError(f"cwd: {error}") from error
            raise ShellError(f"{self._program} cannot be run: {error}; {_made.INSTALL}") from error


def _links(given: Scenario | str | os.PathLike[str]) -> _core.Document:
    """The document of a scenario, of which the links are enough."""
    if isinstance(given, Scenario):
        return given._document  # noqa: SLF001 - of this package
    if not isinstance(given, (str, os.PathLike)):
        raise TypeError(f"scenario: expected a Scenario, a file or a name, not a {type(given).__name__}")
    if isinstance(given, str) and "\n" in given:
        return _core.Document.parse("scenario.toml", given, links_alone=True)
    path = os.fsdecode(given)
    try:
        return _core.Document.load(path, links_alone=True)
    except ScenarioError as error:
        if os.path.lexists(path):
            raise
        raise MissingFileError(str(error), help=error.help, file=error.file) from None


def _said(stderr: str | bytes | None) -> str:
    """The error that the program ``fairlane`` has told, if its words were kept."""
    text = stderr.decode(errors="replace") if isinstance(stderr, bytes) else stderr or ""
    return next((line.removeprefix("error: ") for line in text.splitlines()[::-1] if line.startswith("error: ")), "")
