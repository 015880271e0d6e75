"""The base class of the disciplines."""

from __future__ import annotations

from fairlane import _core
from fairlane._values import native, number_of, with_unit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar

    from fairlane.explanation import Explanation

__all__ = ["QueueConfig", "by_name"]


class QueueConfig:
    """A discipline with its parameters; those that are not given take their defaults.

    The classes of :mod:`fairlane.disciplines` inherit from this one. Instances are immutable and compare by value.
    """

    kind: ClassVar[str]
    """The discipline's name in scenario files and outcomes."""

    _quantities: ClassVar[dict[str, str]] = {}
    """The quantity of a plain number, for the parameters that have a unit."""

    __slots__ = ("_given",)

    def __init__(self, given: dict[str, Any]) -> None:
        """Stores and checks the parameters in ``given`` that are not ``None``.

        Raises:
            ScenarioError: A value is not of its unit, or out of its range, or values contradict each other on every
                link, such as ``min`` above ``max``.
            TypeError: A value is of a type that no parameter has.
        """
        self._given = {key: self._read(key, value) for key, value in given.items() if value is not None}
        _core.check(self._as_given())

    @classmethod
    def _read(cls, key: str, value: object) -> object:
        value = native(value)
        number = number_of(value)
        if number is not None and key in cls._quantities:
            return _core.with_unit(cls._quantities[key], number, f"{cls.kind} {key}")
        if isinstance(value, (list, tuple)):
            return ",".join(str(native(part)) for part in value)
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

    def explain(self, rate: str | float = "10mbit") -> Explanation:
        """Explains every parameter as it will be used on a link of ``rate``: its value, its origin, and any warnings.

        A plain number as ``rate`` is in bit/s.

        Raises:
            ScenarioError: The parameters contradict each other on a link of this rate, or the rate is not valid.
        """
        from fairlane.explanation import Explanation, Resolved

        rate = with_unit("rate", rate, "rate")
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


def by_name(queue: Any) -> Any:  # noqa: ANN401 - anything may be given
    """Returns the discipline that ``queue`` names, with its defaults; anything else as it is.

    Raises:
        ScenarioError: There is no such discipline; the text has the nearest one.
    """
    if not isinstance(queue, str):
        return queue
    from fairlane import disciplines

    # The name is checked first, and each name has its file.
    _core.check((queue, {}))
    made: Any = next(cls for cls in disciplines.ALL if cls.kind == queue)
    return made()
