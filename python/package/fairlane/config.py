"""What the disciplines' classes have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairlane import _core

__all__ = ["Explanation", "QueueConfig", "Resolved"]


@dataclass(frozen=True)
class Resolved:
    """One parameter as it will be used.

    Attributes:
        key: Its name.
        value: Its value, with its unit.
        origin: ``given``, ``default`` or ``derived``.
        why: The reason of a default, or the rule by which it was derived.
        meaning: What it means.
    """

    key: str
    value: str
    origin: str
    why: str | None
    meaning: str


@dataclass(frozen=True)
class Explanation:
    """Every parameter of a discipline as it will be used, what follows, and what looks wrong.

    Attributes:
        kind: The discipline's name.
        rate: The link's rate.
        parameters: All parameters, in the order of the documentation.
        consequences: What follows and is worth knowing, such as how fast the average reacts.
        warnings: What looks wrong, such as ``max`` below twice ``min``.
    """

    kind: str
    rate: str
    parameters: tuple[Resolved, ...]
    consequences: tuple[str, ...]
    warnings: tuple[str, ...]

    def __getitem__(self, key: str) -> str:
        """The value of the parameter ``key``, with its unit."""
        for parameter in self.parameters:
            if parameter.key == key:
                return parameter.value
        raise KeyError(key)

    def __str__(self) -> str:
        width = max((len(parameter.key) for parameter in self.parameters), default=0)
        lines = [f"{self.kind} on a link of {self.rate}"]
        for parameter in self.parameters:
            why = f"{parameter.origin}: {parameter.why}" if parameter.why else parameter.origin
            lines.append(f"  {parameter.key:<{width}}  {parameter.value} ({why})")
        for title, words in (("What follows", self.consequences), ("What looks wrong", self.warnings)):
            lines += [title, *(f"  - {word}" for word in words)] if words else []
        return "\n".join(lines)


class QueueConfig:
    """A discipline with its parameters; those that are not given take their defaults.

    The classes of :mod:`fairlane.disciplines` are made of this one. Equal ones compare equal, and none changes.
    """

    kind: ClassVar[str]
    """The discipline's name in scenario files and outcomes."""

    _units: ClassVar[dict[str, str]] = {}
    """The unit of a plain number, where there can only be one."""

    __slots__ = ("_given",)

    def __init__(self, given: dict[str, Any]) -> None:
        """Keeps what is not ``None``, and checks it.

        Raises:
            ScenarioError: A value is not of its unit, or out of its range.
            TypeError: A value is of a type that no parameter has.
        """
        self._given = {key: self._read(key, value) for key, value in given.items() if value is not None}
        _core.check(self._as_given())

    @classmethod
    def _read(cls, key: str, value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and key in cls._units:
            return f"{value}{cls._units[key]}"
        if isinstance(value, (list, tuple)):
            return ",".join(str(part) for part in value)
        return value

    def _as_given(self) -> tuple[str, dict[str, Any]]:
        return self.kind, self._given

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters that were given, as a scenario file has them."""
        return dict(self._given)

    def to_dict(self) -> dict[str, Any]:
        """The table of a scenario file: ``kind`` and the parameters that were given."""
        return {"kind": self.kind, **self._given}

    def explain(self, rate: str = "10mbit") -> Explanation:
        """Tells every parameter as it will be used on a link of ``rate``, where it comes from, and what looks wrong.

        Raises:
            ScenarioError: The parameters contradict each other, such as ``min`` above ``max``.
        """
        rows, consequences, warnings = _core.explain(self._as_given(), rate)
        parameters = tuple(Resolved(*row) for row in rows)
        return Explanation(self.kind, rate, parameters, tuple(consequences), tuple(warnings))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QueueConfig) and self._as_given() == other._as_given()

    def __hash__(self) -> int:
        return hash((self.kind, tuple(sorted(self._given.items()))))

    def __repr__(self) -> str:
        names = {key: key.replace("-", "_") for key in self._given}
        return f"{type(self).__name__}({', '.join(f'{names[key]}={value!r}' for key, value in self._given.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self._given)


def _again(cls: type[QueueConfig], given: dict[str, Any]) -> QueueConfig:
    made = object.__new__(cls)
    QueueConfig.__init__(made, given)
    return made
