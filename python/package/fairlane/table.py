"""Tables of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fairlane import _core
from fairlane._html import caption, wide_table
from fairlane._values import count

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Series", "Table"]

_SHOWN = 20
_PANDAS = {"u32": "uint32", "u64": "uint64", "f64": "float64"}
"""The types of columns of numbers in pandas; those of text differ with its version."""


class Table:
    """A table of numbers for any library that reads Arrow: ``polars.DataFrame(table)``, ``pyarrow.table(table)``.

    It is passed on without a copy, and needs none of these libraries itself: ``table["flow"]`` is a column as a list,
    ``len(table)`` the number of rows. Tables are compared by value and can be pickled.
    ``docs/outcome.md`` describes the columns.
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

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and that of columns."""
        return len(self), len(self.columns)

    def head(self, rows: int = 5) -> Table:
        """Returns a table of the first rows.

        Raises:
            ArgumentError: ``rows`` is negative.
        """
        return Table(self._core.head(count("rows", rows, least=0, most=2**63 - 1)))

    def to_pandas(self) -> pd.DataFrame:
        """The table for pandas 2 or later: by pyarrow if that is installed, which is faster, and otherwise without it.

        Raises:
            ImportError: pandas is not installed.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_pandas needs pandas: pip install 'fairlane[pandas]'") from error
        try:
            frame: pd.DataFrame = self.to_pyarrow().to_pandas()
        except ImportError:
            types = {name: _PANDAS.get(kind) for name, kind in zip(self.columns, self._core.types, strict=True)}
            columns = {name: pd.Series(self[name], dtype=kind) for name, kind in types.items()}
            frame = pd.DataFrame(columns)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The table for Polars 0.20 or later.

        Raises:
            ImportError: Polars is not installed.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise ImportError("to_polars needs Polars: pip install 'fairlane[polars]'") from error
        if hasattr(pl.DataFrame, "__arrow_c_stream__"):
            return pl.DataFrame(self)
        # Versions before 1.0 do not read Arrow's C interface.
        types = {"u32": pl.UInt32, "u64": pl.UInt64, "f64": pl.Float64, "text": pl.String}
        kinds = zip(self.columns, self._core.types, strict=True)
        return pl.DataFrame([pl.Series(name, self[name], dtype=types[kind]) for name, kind in kinds])

    def to_pyarrow(self) -> pa.Table:
        """The table for pyarrow 14 or later.

        Raises:
            ImportError: pyarrow is not installed.
        """
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError("to_pyarrow needs pyarrow: pip install 'fairlane[parquet]'") from error

        return pa.table(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._core.to_bytes(),)

    def __repr__(self) -> str:
        return f"<Table of {len(self)} rows: {', '.join(self.columns)}>"

    def _repr_html_(self) -> str:
        names = self.columns
        rows = list(zip(*(self[name][:_SHOWN] for name in names), strict=True))
        more = caption(f"and {len(self) - _SHOWN} rows more") if len(self) > _SHOWN else ""
        return wide_table(names, rows) + more


def _again(data: bytes) -> Table:
    return Table(_core.Table.from_bytes(data))


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
