"""Tables of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fairlane._html import caption, wide_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from fairlane import _core

__all__ = ["Series", "Table"]

_SHOWN = 20


class Table:
    """A table of numbers for any library that reads Arrow: ``polars.DataFrame(table)``, ``pyarrow.table(table)``.

    It is passed on without a copy, and needs none of these libraries itself: ``table["flow"]`` is a column as a list,
    ``len(table)`` the number of rows. ``docs/outcome.md`` describes the columns.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Table) -> None:
        self._core = core

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table by Arrow's C interface, for libraries."""
        return self._core.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The names and types of the columns by Arrow's C interface, for libraries."""
        return self._core.__arrow_c_schema__()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._core.columns

    def __len__(self) -> int:
        return len(self._core)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of a column; ``None`` where there is none."""
        return self._core.column(column)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns by their names."""
        return {name: self[name] for name in self.columns}

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas 3, which needs pyarrow for it."""
        import pandas as pd

        frame: pd.DataFrame = pd.DataFrame.from_arrow(self)  # type: ignore[attr-defined] # newer than its stubs
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The table for Polars."""
        import polars as pl

        return pl.DataFrame(self)

    def to_pyarrow(self) -> pa.Table:
        """The table for pyarrow."""
        import pyarrow as pa

        return pa.table(self)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        names = self.columns
        rows = list(zip(*(self[name][:_SHOWN] for name in names), strict=True))
        more = caption(f"and {len(self) - _SHOWN} rows more") if len(self) > _SHOWN else ""
        return wide_table(names, rows) + more


class Series(NamedTuple):
    """Counts in each interval of a run.

    Attributes:
        flows: A row for each flow after each interval.
        queues: A row for each queue after each interval.
    """

    flows: Table
    queues: Table

    def __repr__(self) -> str:
        return f"<Series of {len(self.flows)} rows of flows and {len(self.queues)} rows of queues>"

    def _repr_html_(self) -> str:
        tables = (("flows", self.flows), ("queues", self.queues))
        return "".join(caption(name) + table._repr_html_() for name, table in tables)
