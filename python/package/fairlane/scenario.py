"""Scenarios: descriptions of experiments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from fairlane import _core, _dumbbell, _runs
from fairlane._labels import labelled
from fairlane._points import Plan
from fairlane._values import changes_of, count, plain, with_unit
from fairlane.config import QueueConfig
from fairlane.errors import ArgumentError, MissingFileError, ScenarioError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, overload

    from fairlane._parquet import SweepFile
    from fairlane._points import Varied
    from fairlane._progress import Progress
    from fairlane._sweep import SomeExecutor
    from fairlane.advice import Tuning
    from fairlane.application import OwnApplication
    from fairlane.congestion import OwnCongestion
    from fairlane.discipline import SomeDiscipline
    from fairlane.endpoint import OwnEndpoints
    from fairlane.fingerprint import Fingerprint
    from fairlane.outcome import Outcome, Outcomes
    from fairlane.simulation import Simulation

__all__ = ["Scenario", "scenario_of"]


class Scenario:
    """A network, its flows and its queues: what a scenario file describes. It is always valid.

    Values are read and written by their keys, such as ``scenario["bottleneck.queue.min"] = "50p"`` or
    ``scenario["flows.cbr.rate"]``; groups of flows and links are found by their names. Values with a unit are text,
    as in the file. A plain number is in the unit of results, bit/s, seconds or bytes; for the size of a queue it counts
    packets. An invalid change is rejected as a whole; :meth:`update` and :meth:`with_` make several at once.

    Scenarios are compared by value. They can be pickled, so that other processes can run them.
    """

    __slots__ = ("_document",)

    def __init__(self, document: _core.Document) -> None:
        """Use one of the ``from_…`` methods, or :meth:`dumbbell`.

        Raises:
            TypeError: ``document`` is not one that they make.
        """
        if not isinstance(document, _core.Document):
            raise TypeError("a scenario is made by Scenario.from_toml, from_dict, dumbbell or figure_3")
        self._document = document

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Scenario:
        """Reads a scenario from a file, from its text, or one that the package has by its name.

        Args:
            source: The file's path, the name of a scenario of ``fairlane scenarios`` such as ``choke-fig3``, before
                which a file takes precedence, or the text of a scenario, which :meth:`to_toml` returns: text with a
                line break, which every scenario has and no path does.

        Raises:
            ScenarioError: It cannot be read, or is not valid; the text contains the place and the remedy.
            MissingFileError: There is no such file; it is a ``FileNotFoundError``, too.
        """
        if isinstance(source, str) and "\n" in source:
            return cls.from_string(source)
        path = os.fsdecode(source)
        try:
            return cls(_core.Document.load(path))
        except ScenarioError as error:
            if os.path.lexists(path):
                raise
            raise MissingFileError(str(error), help=error.help, file=error.file) from None

    @classmethod
    def from_string(cls, text: str, *, name: str = "scenario.toml") -> Scenario:
        """Reads ``text``, that of a scenario file, which errors call ``name``.

        Raises:
            ScenarioError: It is not valid.
        """
        return cls(_core.Document.parse(name, text))

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, name: str = "scenario") -> Scenario:
        """Takes the keys of a scenario file from ``table``, a mapping; disciplines may stand for their tables.

        Errors call it ``name``.

        Values with a unit are text, as in the file.

        Raises:
            ScenarioError: It is not valid; line and column are those of its ``text``.
            TypeError: A value is of a type that no key takes.
        """
        if not isinstance(table, Mapping):
            raise TypeError(f"a scenario is made of a mapping, and not of a {type(table).__name__}")
        return cls(_core.Document.from_dict(name, {key: plain(value) for key, value in table.items()}))

    @classmethod
    def figure_3(cls) -> Scenario:
        """Figure 3 of the CHOKe paper: 32 TCP flows and one UDP flow of 2 Mbit/s over 1 Mbit/s."""
        return cls(_core.Document.builtin())

    @classmethod
    def dumbbell(  # noqa: PLR0913 - each is a separate key
        cls,
        *,
        rate: str | float,
        duration: str | float,
        tcp: int = 0,
        udp: str | float | None = None,
        queue: str | QueueConfig | None = None,
        warmup: str | float = "0s",
        delay: str | float = "1ms",
        rtt: str | float | None = None,
        access_rate: str | float | None = None,
        access_delay: str | float | None = None,
        packet: str | int | None = None,
        cc: str = "reno",
        window: int | None = None,
        start: str | None = None,
        preset: str | None = None,
        flows: Iterable[Mapping[str, Any]] = (),
        seed: int = 1,
        name: str = "dumbbell",
    ) -> Scenario:
        """Hosts on the left, one bottleneck, hosts on the right.

        Plain numbers are in bit/s, seconds and bytes.

        Args:
            rate: The bottleneck's rate, such as ``1mbit``.
            duration: The simulated time, such as ``120s``.
            tcp: Number of TCP flows with unlimited data; their group is called ``ftp``.
            udp: The rate of a UDP flow that does not slow down, called ``cbr``; ``None`` for none.
            queue: The bottleneck's discipline; droptail of 1000 packets when it is not given.
            warmup: Time at the start that is left out of every average.
            delay: The bottleneck's propagation delay.
            rtt: The round trip's propagation delay, from which that of the hosts' links is computed: there and back,
                twice ``delay`` and four times ``access_delay``.
            access_rate: The rate of every host's own link; by default ten times that of the bottleneck or of a faster
                source.
            access_delay: Its propagation delay, ``1ms`` by default.
            packet: The size on the wire of the packets of all flows that do not say their own; 1000 bytes when it is
                not given.
            cc: TCP's congestion control, such as ``reno``, ``sack`` or ``cubic``; ``reno`` repairs losses by RACK, as
                in Linux, with the preset ``modern``.
            window: TCP's largest window in packets; the file's default when it is not given.
            start: The range of the flows' starts, drawn uniformly, such as ``0s..1s``.
            preset: TCP's parameters by name: ``ns2-1999``, ``modern`` (today's RFCs) or ``linux``. By default
                ``modern`` if a flow has a congestion control that is younger than ``ns2-1999``, such as ``cubic`` or
                ``bbr``, and ``ns2-1999`` otherwise; ``repr`` shows it.
            flows: More groups of flows, each with the keys of ``[[flows]]``.
            seed: The seed of all randomness.
            name: The scenario's name.

        Raises:
            ScenarioError: A value is not valid, or there are no flows; ``rtt`` is shorter than twice ``delay``.
            TypeError: A value is of another type, or both ``rtt`` and ``access_delay`` are given.
        """
        hosts = {"rate": access_rate, "delay": access_delay, "rtt": rtt}
        size = {} if packet is None else {"packet": with_unit("packet", packet, "bytes")}
        flows = [{**size, **group} for group in flows]
        common = {**size, **({} if start is None else {"start": start})}
        if udp is not None:
            flows.insert(0, {"name": "cbr", "kind": "udp", "rate": with_unit("udp", udp, "rate"), **common})
        if tcp:
            limit = {} if window is None else {"window": window}
            flows.insert(0, {"name": "ftp", "kind": "tcp", "count": tcp, "cc": cc, **limit, **common})
        times = {"duration": with_unit("duration", duration, "time"), "warmup": with_unit("warmup", warmup, "time")}
        link = _dumbbell.links(with_unit("rate", rate, "rate"), with_unit("delay", delay, "time"), queue, hosts)
        table = {"name": name, **times, "seed": seed, **_dumbbell.preset(preset, flows), **link, "flows": flows}
        return cls.from_dict(table, name=name)

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401 - values are of many types
        """The value of ``key``, as it was given.

        Raises:
            UnknownKeyError: No scenario has the key; the text has the nearest one.
            KeyError: The key was not given, so its default is used.
        """
        value = self._document.get(key)
        if value is None:
            self._document.check_key(key)
            raise KeyError(f"{key} is not given, so its default holds")
        return value

    def get(self, key: str, default: object = None) -> Any:  # noqa: ANN401 - values are of many types
        """Returns the value of ``key`` as it was given, or ``default``.

        Raises:
            UnknownKeyError: No scenario has the key.
        """
        value = self._document.get(key)
        if value is None:
            self._document.check_key(key)
        return default if value is None else value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._document.get(key) is not None

    __iter__ = None
    """Its keys are paths, and not all of them are written down; :meth:`to_dict` has those that are."""

    def __setitem__(self, key: str, value: object) -> None:
        """Sets the value of ``key``.

        Raises:
            ScenarioError: The scenario would not be valid; it stays as it is.
        """
        self.update({key: value})

    def update(self, changes: Mapping[str, Any]) -> None:
        """Sets the values of several keys at once: ``changes`` has the keys with their new values.

        Raises:
            ScenarioError: The scenario would not be valid; it stays as it is.
            TypeError: A value is of a type that no key takes.
        """
        self._document = self._changed(changes)

    def with_(self, changes: Mapping[str, Any]) -> Scenario:
        """Returns a copy with ``changes``, keys with their new values.

        Raises:
            ScenarioError: It would not be valid.
            TypeError: A value is of a type that no key takes.
        """
        return Scenario(self._changed(changes))

    def _changed(self, changes: Mapping[str, Any]) -> _core.Document:
        return self._document.with_values(changes_of(changes))

    def copy(self) -> Scenario:
        """Returns a copy."""
        return Scenario(self._document)

    def to_toml(self) -> str:
        """The scenario file: the text that was read, comments and all, or a new one if something was changed."""
        return self._document.to_toml()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes :meth:`to_toml` to the file ``path``, which appears whole or not at all, and returns its path.

        Raises:
            OSError: It cannot be written.
        """
        from fairlane._files import write

        return write(path, self.to_toml())

    def to_dict(self) -> dict[str, Any]:
        """Returns all given values, as the tables of the scenario file."""
        return self._document.to_dict()

    def run(  # noqa: PLR0913 - all have defaults
        self,
        *,
        seed: int | None = None,
        runs: int = 1,
        queue: SomeDiscipline | None = None,
        cc: Mapping[str, OwnCongestion] | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
        series: str | float | None = None,
        trace: bool = False,
        pcap: str | os.PathLike[str] | None = None,
        flent: str | os.PathLike[str] | None = None,
        mahimahi: str | os.PathLike[str] | None = None,
        jobs: int | None = None,
        progress: Progress = None,
    ) -> Outcome:
        """Runs the scenario.

        A file of the run appears whole or not at all: what is there stays until the end. After Ctrl-C or an error, the
        part until then may be next to it, as ``x.partial.pcap`` for ``x.pcap``.

        Args:
            seed: The seed of all randomness; the scenario's own by default.
            runs: Number of runs with independent randomness; with several, means have confidence intervals.
            queue: Another discipline for the queues that are described, the bottleneck's first of all.
            cc: Congestion control written in Python, by the names of groups of flows: ``{"ftp": Mine}``. Such a run
                takes one core.
            applications: Applications written in Python, by the names of groups of TCP flows: ``{"ftp": Mine}``. Such a
                run takes one core.
            endpoints: Transports written in Python, by the names of groups of endpoints: ``{"own": make}``, where
                ``make(index, seed)`` returns the source and the sink of a flow. Such a run takes one core.
            series: Record counts of flows and queues in each interval of this length, such as ``100ms``, of a single
                run; a plain number is in seconds.
            trace: Record every event of every packet at every queue, of a single run.
            pcap: Write the packets of a single run that leave the queues between nodes to this file, as a packet
                capture: the one of ``fairlane run --pcap``.
            flent: Write a single run to this file (``.flent.gz``), which flent plots, every 200 ms or in the interval
                of ``series``: the file of ``fairlane run --flent``.
            mahimahi: Write the bottleneck of a single run to this file (``.log``) as mahimahi's ``mm-link`` logs it,
                and the moments of delivery of its link next to it (``.trace``): the files of
                ``fairlane run --mahimahi``.
            jobs: How many cores to use; all of them when it is not given.
            progress: True to show a bar, or a function that is called with the number of finished runs and the total.

        Returns:
            The outcome.

        Raises:
            ScenarioError: It cannot be run.
            CongestionError: A congestion control written in Python made a mistake.
            EndpointError: An endpoint or an application written in Python made a mistake.
            OSError: A file cannot be written; the text has its path.
            ArgumentError: A record of a single run is asked for of several runs; a file would overwrite the scenario's
                or one that the scenario reads; two files are the same; the name of mahimahi's log does not end in
                ``.log``.
            Interrupted: Ctrl-C; it has the outcomes so far.
        """
        document = self._seeded(seed)
        every = None if series is None else with_unit("series", series, "time")
        brought = _runs.Brought(cc, applications, endpoints)
        watch = _runs.Watch(every, trace=trace, pcap=pcap, flent=flent, mahimahi=mahimahi)
        if watch:
            if runs != 1:
                raise ArgumentError(
                    "series, trace, pcap, flent and mahimahi follow one run, and runs asks for several: leave it out"
                )
            if not brought:
                return _runs.only(document, _runs.watched(document, queue, watch, progress))
        how = _runs.How(runs, jobs, progress)
        if brought:
            return _runs.only(document, _runs.with_brought(document, queue, brought, how, watch))
        done = _runs.run(document, how) if queue is None else _runs.compared(document, [queue], how, brought)
        return _runs.only(document, done)

    def start(
        self,
        *,
        seed: int | None = None,
        queue: SomeDiscipline | None = None,
        cc: Mapping[str, OwnCongestion] | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
    ) -> Simulation:
        """Starts a simulation that advances in steps, can be read, and can be changed on the way.

        Args:
            seed: As in :meth:`run`.
            queue: As in :meth:`run`.
            cc: As in :meth:`run`.
            applications: As in :meth:`run`.
            endpoints: As in :meth:`run`.

        Returns:
            The simulation, at time 0. Its outcome is that of :meth:`run`, if nothing is changed.

        Raises:
            ScenarioError: It cannot be run.
        """
        from fairlane.simulation import Simulation

        return Simulation(self, seed=seed, queue=queue, cc=cc, applications=applications, endpoints=endpoints)

    def fingerprint(self) -> Fingerprint:
        """Runs the scenario once and returns the fingerprint of its trajectory, the same on every machine.

        Raises:
            ScenarioError: It cannot be run.
            KeyboardInterrupt: Ctrl-C.
        """
        from fairlane.fingerprint import Fingerprint

        strict, loose = _core.fingerprint(self._document)
        return Fingerprint(f"{strict:016x}", f"{loose:016x}")

    def compare(  # noqa: PLR0913 - all have defaults
        self,
        queues: Mapping[str, SomeDiscipline] | Iterable[SomeDiscipline] | None = None,
        *,
        cc: Mapping[str, OwnCongestion] | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
        runs: int = 1,
        seed: int | None = None,
        jobs: int | None = None,
        progress: Progress = None,
        at: str | None = None,
    ) -> Outcomes:
        """Runs the scenario with each of several disciplines under the same traffic.

        Args:
            queues: The disciplines, or a mapping of labels to them. One that is named only keeps the parameters of the
                scenario that it knows; one with parameters has these and no others. When none are given: droptail, RED
                and the scenario's own. Tables, figures and pages show the labels; several disciplines of one kind have
                labels in any case, made of the parameters in which they differ. With labels tables have a column
                ``label``, and one for each parameter that differs, such as ``queue.limit``.
            cc: As in :meth:`run`, for all disciplines, which then take turns on one core.
            applications: As in :meth:`run`, in the same way.
            endpoints: As in :meth:`run`, in the same way.
            runs: Number of runs of each discipline, with independent randomness.
            seed: As in :meth:`run`.
            jobs: As in :meth:`run`. Disciplines written in Python take turns on one core.
            progress: As in :meth:`run`.
            at: The queue that tables and figures show; by default ``bottleneck`` if there is one, else all.

        Returns:
            The outcomes in the order of ``queues``.

        Raises:
            ScenarioError: A discipline cannot be run, ``queues`` is empty, or the scenario describes no queue.
            TypeError: ``queues`` is no list of disciplines.
            ArgumentError: There is no such queue.
            Interrupted: Ctrl-C; it has the outcomes so far.
        """
        document = self._seeded(seed)
        if queues is None:
            queues = _core.usual(document)
        if isinstance(queues, (str, bytes, QueueConfig)) or not isinstance(queues, Iterable):
            raise TypeError("queues: a list of disciplines is compared, such as [fairlane.Red(), fairlane.Choke()]")
        each, labels = labelled(queues)
        if not each:
            raise ScenarioError("queues: the list is empty; give one discipline at least, or leave it out")
        _runs.check_at(document, at)
        brought = _runs.Brought(cc, applications, endpoints)
        made = _runs.compared(document, each, _runs.How(runs, jobs, progress), brought)
        done, interrupted = _runs.labelled(made, each, labels)
        return _runs.all_of(document, _runs.shown_at(done, at), "compare", interrupted=interrupted)

    if TYPE_CHECKING:

        @overload
        def sweep(
            self,
            varied: Varied,
            *,
            runs: int = 1,
            seed: int | None = None,
            jobs: int | None = None,
            progress: Progress = None,
            executor: SomeExecutor | None = None,
            chunk: int | None = None,
            at: str | None = None,
            applications: Mapping[str, OwnApplication] | None = None,
            endpoints: Mapping[str, OwnEndpoints] | None = None,
            out: None = None,
        ) -> Outcomes: ...
        @overload
        def sweep(
            self,
            varied: Varied,
            *,
            runs: int = 1,
            seed: int | None = None,
            jobs: int | None = None,
            progress: Progress = None,
            executor: SomeExecutor | None = None,
            chunk: int | None = None,
            at: str | None = None,
            applications: Mapping[str, OwnApplication] | None = None,
            endpoints: Mapping[str, OwnEndpoints] | None = None,
            out: str | os.PathLike[str],
            part: str | None = None,
            merge: bool = False,
        ) -> SweepFile: ...

    def sweep(  # noqa: PLR0913 - all have defaults
        self,
        varied: Varied,
        *,
        runs: int = 1,
        seed: int | None = None,
        jobs: int | None = None,
        progress: Progress = None,
        executor: SomeExecutor | None = None,
        chunk: int | None = None,
        at: str | None = None,
        applications: Mapping[str, OwnApplication] | None = None,
        endpoints: Mapping[str, OwnEndpoints] | None = None,
        out: str | os.PathLike[str] | None = None,
        part: str | None = None,
        merge: bool = False,
    ) -> Outcomes | SweepFile:
        """Runs the scenario at every combination of values, on all cores or on an executor.

        Args:
            varied: The values of each key: a list, or text, ``100kbit..10mbit/9log`` for 9 values with equal factors
                between them, ``10p..90p/9`` for equal steps. The last key varies fastest. Plain numbers, also those of
                NumPy's arrays, are in bit/s, seconds, bytes and packets. The key of a queue, ``bottleneck.queue``,
                takes disciplines, also those written in Python: a list, or a mapping of labels to them. Instead of a
                mapping, a list of points, each a mapping of keys to values.
            runs: Number of runs of each point, with independent randomness.
            seed: As in :meth:`run`.
            jobs: As in :meth:`run`; with an executor, the cores of one unit of work, which is one.
            progress: As in :meth:`run`.
            executor: A ``concurrent.futures.Executor``, which may be that of a cluster, or a function that makes one;
                then a broken one is replaced. The outcomes are the same as without. Its workers must be able to import
                what is written in Python, or the package cloudpickle sends the code.
            chunk: Number of points in one unit of work for an executor; by default as many as take a second.
            at: As in :meth:`compare`.
            applications: As in :meth:`run`, for all points.
            endpoints: As in :meth:`run`, for all points.
            out: A Parquet file for the rows of :attr:`Outcomes.groups`, for sweeps whose outcomes exceed the memory.
                Finished points are kept in ``FILE.part`` until all are; the same call continues after an interruption.
                A complete file is not written again. It needs pyarrow.
            part: One of n parts of the points, such as ``3/8``, with ``out``: for jobs of an array on several machines
                that share a folder. Its points stay in ``FILE.part-3-of-8``.
            merge: True to join the parts, which must all be there, into ``out``; nothing is run.

        Returns:
            The outcomes in the order of the points, each with its ``point``; with ``out``, the file. Failed points are
            in its ``failures``, with a ``RuntimeWarning``.

        Raises:
            ScenarioError: A point is not valid, and nothing was run; ``out`` is another sweep's; or a part is missing,
                not finished, or another's.
            ArgumentError: There is no such queue, ``chunk`` is given without ``executor`` and ``out``, or something
                that is written in Python cannot be sent to workers.
            Interrupted: Ctrl-C; the finished points are with it, or in the file.
            SweepStopped: The executor takes no more work; the finished points are with it, or in the file.
        """
        how = _runs.How(runs, jobs, progress)
        if chunk is not None and executor is None and out is None:
            raise ArgumentError("chunk: it is for an executor, and none is given")
        if (part is not None or merge) and (out is None or (part is not None and merge)):
            raise ArgumentError("part: it is for a file, out=, and merge=True joins the parts in another call")
        size = None if chunk is None else count("chunk", chunk)
        document = self._seeded(seed)
        _runs.check_at(document, at)
        brought = _runs.Brought(None, applications, endpoints)
        plan = Plan.checked(document, varied)
        if executor is None and out is None:
            return _runs.swept(document, plan, how, at, brought)
        from fairlane._cluster import Sweep, filed, gathered
        from fairlane._parquet import Part

        parts = brought.parts()
        made = document, plan.points, plan.disciplines, plan.own, parts, how.runs, how.jobs, progress
        sweep = Sweep(*made, executor, size, at)
        if out is None:
            return gathered(sweep)
        return filed(sweep, out, None if part is None else Part.read(part), merged=merge)

    def tune(  # noqa: PLR0913 - all have defaults but two
        self,
        queue: str,
        goal: str,
        *,
        runs: int = 8,
        budget: int = 400,
        seed: int | None = None,
        jobs: int | None = None,
        progress: Progress = None,
    ) -> Tuning:
        """Finds the numeric parameters of a discipline for a goal, as ``fairlane tune`` does.

        It searches by Latin hypercubes and successive halving with the same traffic for all. On a seed that the search
        has not seen the result is never worse than the defaults.

        Args:
            queue: The name of the discipline. It replaces the queues that :meth:`compare` replaces.
            goal: Bounds on metrics and an objective, such as ``"delay.p95<20ms, maximise utilisation"``.
            runs: Runs of the best candidates, and of the comparison on the held-out seed.
            budget: Runs of all candidates together, at most.
            seed: As in :meth:`run`.
            jobs: As in :meth:`run`.
            progress: As in :meth:`run`.

        Raises:
            ScenarioError: There is no such discipline, it cannot be run, or the goal is wrong.
            Interrupted: Ctrl-C; a search has no part of an answer.
        """
        from fairlane.advice import tuned

        return tuned(self._seeded(seed), queue, goal, runs=runs, budget=budget, jobs=jobs, progress=progress)

    def _seeded(self, seed: int | None) -> _core.Document:
        return self._document if seed is None else self._changed({"seed": seed})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        flows, links, seconds = self._document.size()
        groups = self._document.get("flows") or []
        # TCP is that of 1999 unless the scenario says otherwise, which one should see.
        tcp = any(group.get("kind") == "tcp" for group in groups)
        preset = f", TCP {self._document.get('tcp.preset') or 'ns2-1999'}" if tcp else ""
        return f"<Scenario {self._document.title()!r}: {flows} flows, {links} links, {seconds:g} s{preset}>"

    def __str__(self) -> str:
        return self.to_toml()

    def _repr_html_(self) -> str:
        import html

        return f"<p>{html.escape(repr(self)[1:-1])}</p><pre>{html.escape(self.to_toml())}</pre>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._document.name, self.to_toml())


def scenario_of(given: Scenario | str | os.PathLike[str]) -> Scenario:
    """Returns ``given`` if it is a scenario, or the one that a file, a text or a name is.

    Raises:
        ScenarioError: It cannot be read.
        TypeError: It is of another type.
    """
    if isinstance(given, Scenario):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Scenario.from_toml(given)
    raise TypeError(f"scenario: expected a Scenario, a file or a name, not a {type(given).__name__}")


def _again(name: str, text: str) -> Scenario:
    return Scenario.from_string(text, name=name)
