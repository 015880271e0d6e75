"""Results as notebooks show them: small tables that need no scrolling to the side."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["bullets", "caption", "table", "wide_table"]

_COLUMNS = 8
"""The most columns that fit next to each other."""

_ROWS = 5
"""The most rows that fit next to each other, as columns."""


def cell(value: object) -> str:
    """A value: numbers with at most six digits, and nothing for ``None``."""
    if value is None:
        return ""
    return html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))


def table(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    cells = ["".join(f"<td>{cell(value)}</td>" for value in row) for row in rows]
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def wide_table(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of any number of columns: a few rows become columns, and of many only the first columns are shown."""
    if len(names) <= _COLUMNS:
        return table(names, rows)
    if 0 < len(rows) <= _ROWS:
        turned = [[name, *(row[at] for row in rows)] for at, name in enumerate(names)]
        return table(["", *(str(number) for number in range(len(rows)))], turned)
    left = ", ".join(names[_COLUMNS:])
    return table(names[:_COLUMNS], [row[:_COLUMNS] for row in rows]) + caption(f"and the columns {left}")


def caption(text: str) -> str:
    """A line of text."""
    return f"<p>{html.escape(text)}</p>"


def bullets(title: str, lines: Sequence[str]) -> str:
    """A list below a title; nothing without lines."""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    return f"{caption(title)}<ul>{items}</ul>" if items else ""
