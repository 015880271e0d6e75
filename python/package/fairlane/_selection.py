"""Outcomes by their values, and as an array with a dimension for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fairlane._values import native
from fairlane.errors import ArgumentError
from fairlane.units import UNITS, quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import xarray as xr

    from fairlane.outcome import Outcome, Outcomes

__all__ = ["accepts", "dataset"]

_LABEL = "label"


def accepts(wanted: Mapping[str, object], outcomes: Sequence[Outcome]) -> Callable[[Outcome], bool]:
    """A function that is true for outcomes with these values.

    Raises:
        KeyError: No outcome has a key.
    """
    known = dict.fromkeys(key for outcome in outcomes for key in outcome.point)
    for key in wanted:
        if key not in known and key != _LABEL:
            raise KeyError(f"{key!r} was not varied: there are {', '.join([*known, _LABEL])}")
    values = {key: [*_several(native(value))] for key, value in wanted.items()}

    def test(outcome: Outcome) -> bool:
        point = outcome.point
        has = {key: outcome.label if key == _LABEL and key not in point else point.get(key) for key in values}
        return all(any(_same(has[key], value) for value in some) for key, some in values.items())

    return test


def _several(value: object) -> Sequence[object]:
    return value if isinstance(value, (list, tuple, set, range)) else [value]  # type: ignore[return-value]


def _same(there: object, wanted: object) -> bool:
    if there == wanted:
        return type(there) is type(wanted) or not (isinstance(there, bool) or isinstance(wanted, bool))
    one, other = quantity(there), quantity(native(wanted))
    if one is None or other is None:
        return False
    return one[0] == other[0] and (one[1] == other[1] or "" in {one[1], other[1]})


def dataset(outcomes: Outcomes) -> xr.Dataset:
    """The numbers of the groups, with a dimension for each key that was varied."""
    try:
        import xarray  # noqa: F401 - pandas uses it below
    except ImportError as error:
        raise ImportError("to_xarray needs xarray: pip install 'fairlane[xarray]'") from error
    frame: Any = outcomes.groups.to_pandas()
    keys = list(dict.fromkeys(key for outcome in outcomes for key in outcome.point))
    units: dict[str, str] = {}
    if not keys or any(outcome._tree.get(_LABEL) is not None for outcome in outcomes):  # noqa: SLF001 - of this package
        frame[_LABEL] = [outcomes[number].label for number in frame["outcome"]]
        dimensions = [_LABEL]
    else:
        dimensions = [f"point.{key}" if f"point.{key}" in frame else key for key in keys]
        for name in dimensions:
            for ending, unit in UNITS.items():
                if f"{name}_{ending}" in frame and frame[name].dtype.kind not in "fiu":
                    frame[name] = frame.pop(f"{name}_{ending}")
                    units[name] = unit
    dimensions.append("group")
    if frame["queue"].nunique() > 1:
        dimensions.append("queue")
    if frame.duplicated(dimensions).any():
        raise ArgumentError(
            f"several outcomes have the same {' and '.join(dimensions)}, so they have no place of their own"
        )
    others = [name for name in frame if name not in dimensions and name != "outcome"]
    numbers = [name for name in others if frame[name].dtype.kind in "fiu"]
    given = {name: list(dict.fromkeys(frame[name])) for name in dimensions}
    # In the order that was asked for: xarray sorts by itself.
    made: xr.Dataset = frame.set_index(dimensions)[numbers].to_xarray().reindex(given)
    for name, unit in units.items():
        made[name].attrs["units"] = unit
    return made
