"""Labels that tell disciplines apart."""

from __future__ import annotations

from collections.abc import Mapping

from fairlane._values import instance, setting
from fairlane.config import QueueConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fairlane._sweep import Point
    from fairlane.discipline import SomeDiscipline

__all__ = ["labelled", "names", "parameters"]


def labelled(
    queues: Mapping[str, SomeDiscipline] | Iterable[SomeDiscipline],
) -> tuple[list[SomeDiscipline], list[str] | None]:
    """The disciplines of a comparison and their labels: the keys of a mapping, or names if some are of one kind.

    Raises:
        TypeError: A label is not text, or a class of the library stands for an object of it.
    """
    if isinstance(queues, Mapping):
        for label in queues:
            if not isinstance(label, str):
                raise TypeError(f"queues: a label is text, and {label!r} is not")
        return [instance(queue) for queue in queues.values()], list(queues)
    each = [instance(queue) for queue in queues]
    kinds = {_kind(queue) for queue in each}
    return each, names(each) if len(kinds) < len(each) else None


def names(queues: Sequence[SomeDiscipline]) -> list[str]:
    """Different names: the kind, the parameters in which those of the kind differ, and a number if need be."""
    kinds = [_kind(queue) for queue in queues]
    made: list[str] = []
    for queue, kind in zip(queues, kinds, strict=True):
        same = [other for other, name in zip(queues, kinds, strict=True) if name == kind]
        name = " ".join([kind, *(f"{key}={value}" for key, value in _given(queue).items() if key in _differing(same))])
        others = [name, *(f"{name} ({number})" for number in range(2, len(queues) + 1))]
        made.append(next(other for other in others if other not in made))
    return made


def parameters(queues: Sequence[SomeDiscipline]) -> list[Point]:
    """The parameters in which the disciplines differ, each under ``queue.`` and its name, where they were given."""
    differing = _differing(queues)
    return [[(f"queue.{key}", _given(queue)[key]) for key in differing if key in _given(queue)] for queue in queues]


def _differing(queues: Sequence[SomeDiscipline]) -> list[str]:
    given = [_given(queue) for queue in queues if isinstance(queue, QueueConfig)]
    keys = dict.fromkeys(key for values in given for key in values)
    return [key for key in keys if len({values.get(key) for values in given}) > 1]


def _given(queue: SomeDiscipline) -> dict[str, str]:
    if not isinstance(queue, QueueConfig):
        return {}
    return {key: setting(key, value) for key, value in queue.parameters.items()}


def _kind(queue: SomeDiscipline) -> str:
    if isinstance(queue, str):
        return queue
    if isinstance(queue, QueueConfig):
        return queue.kind
    return str(getattr(queue, "name", None) or getattr(queue, "__name__", type(queue).__name__))
