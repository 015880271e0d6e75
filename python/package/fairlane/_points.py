"""The points of a sweep: which values each key has, and which disciplines stand among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from fairlane import _core
from fairlane._labels import labelled, names
from fairlane._values import instance, items_of, native, number_of, setting
from fairlane.config import QueueConfig
from fairlane.errors import ArgumentError, Interrupted, ScenarioError
from fairlane.outcome import Outcomes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from fairlane._sweep import Point

__all__ = ["Plan", "Varied"]

Varied: TypeAlias = "Mapping[str, Any] | Iterable[Mapping[str, Any]]"
"""The values that each key of a sweep has, or its points one by one."""


class Plan:
    """The points of a sweep.

    Attributes:
        points: The points, each a list of keys with their values as text.
        disciplines: The library's disciplines that are varied: the key, the text that stands for one, and its table.
        own: Those written in Python, and congestion controls, by the key and the text that stands for one.
    """

    __slots__ = ("_document", "disciplines", "own", "points")

    def __init__(self, document: _core.Document, varied: object) -> None:
        """Takes what :meth:`fairlane.Scenario.sweep` varies.

        Raises:
            ScenarioError: There are too many points, or a range is not valid.
            TypeError: It is of another type.
        """
        self._document = document
        self.disciplines: list[tuple[str, str, dict[str, Any]]] = []
        self.own: dict[tuple[str, str], Callable[[Any], object]] = {}
        if isinstance(varied, (Mapping, str, bytes)) or not isinstance(varied, Iterable):
            items = items_of(varied, '{"seed": [1, 2]}')  # type: ignore[arg-type] # it is checked there
            self.points = _core.Document.points([(key, self._values(key, values)) for key, values in items])
        else:
            self.points = self._listed(varied)

    @classmethod
    def checked(cls, document: _core.Document, varied: object) -> Plan:
        """Makes the points as the constructor does, and checks every one.

        Raises:
            ScenarioError: A point is not valid.
            ArgumentError: A point has two of its parts written in Python.
            Interrupted: Ctrl-C.
        """
        from fairlane._signals import CtrlC

        try:
            with CtrlC(at_once=True) as heard:
                plan = cls(document, varied)
                if not heard() and plan._are_valid() and not heard():
                    return plan
        except KeyboardInterrupt:
            pass  # It came while the list of points was being made.
        raise Interrupted("interrupted while the points were checked: none of them was run", Outcomes([], of="sweep"))

    def _are_valid(self) -> bool:
        """Checks every point. Returns false after Ctrl-C."""
        for point in self.points if self.own else ():
            if sum(pair in self.own for pair in point) > 1:
                raise ArgumentError(
                    "a point of a sweep has one discipline or congestion control written in Python at most"
                )
        plain = [[pair for pair in point if pair not in self.own] for point in self.points]
        return self._document.check_points(plain, self.disciplines)

    def _listed(self, points: Iterable[Any]) -> list[Point]:
        """Points that are given one by one."""
        rows = [items_of(point, '{"seed": 2}') for point in _limited("varied", points)]
        if not rows:
            raise ScenarioError("the sweep has no points: give one at least")
        # All values of a key are named together, so that disciplines of one kind are told apart.
        keys = dict.fromkeys(key for row in rows for key, _ in row)
        texts = {
            key: iter(self._list(key, [value for row in rows for name, value in row if name == key])) for key in keys
        }
        return [[(key, next(texts[key])) for key, _ in row] for row in rows]

    def _values(self, key: str, values: object) -> str | list[str]:
        values = native(values)
        if isinstance(values, str):
            return values
        if isinstance(values, Mapping) and values and all(map(_is_discipline, values.values())):
            queues, labels = labelled(values)
            return self._disciplines(key, queues, labels or [])
        if isinstance(values, (bytes, Mapping)) or not isinstance(values, Iterable):
            raise TypeError(
                f"{key}: the values of a sweep are a list, such as [1, 2], or text, such as '1,2', not a"
                f" {type(values).__name__}"
            )
        return self._list(key, _limited(key, values))

    def _list(self, key: str, values: Sequence[object]) -> list[str]:
        values = [native(instance(value)) for value in values]
        queues: list[Any] = [value for value in values if _is_discipline(value)]
        if queues:
            each = list(dict.fromkeys(queues))
            named = dict(zip(each, self._disciplines(key, each, names(each)), strict=True))
            return [named[value] if _is_discipline(value) else setting(key, value) for value in values]
        numbers = [number for number in map(number_of, values) if number is not None]
        written = self._document.with_unit(key, numbers) if numbers else None
        if written is None:
            return [setting(key, value) for value in values]
        rest = iter(written)
        return [setting(key, value) if number_of(value) is None else next(rest) for value in values]

    def _disciplines(self, key: str, queues: Sequence[Any], labels: list[str]) -> list[str]:
        for queue, label in zip(queues, labels, strict=True):
            if isinstance(queue, QueueConfig):
                self.disciplines.append((key, label, queue.to_dict()))
            else:
                self.own[key, label] = queue
        return labels


def _is_discipline(value: object) -> bool:
    return isinstance(value, QueueConfig) or callable(value)


def _limited(name: str, values: Iterable[Any]) -> list[Any]:
    """The values as a list, if they are no more than the points of a sweep may be.

    Raises:
        ScenarioError: They are more.
    """
    most = _core.MOST_POINTS
    listed = list(islice(values, most + 1))
    if len(listed) > most:
        raise ScenarioError(f"{name}: a sweep has at most {most} points, and these are more; use several sweeps")
    return listed
