"""Text tables: aligned columns; on a narrow terminal the last column wraps, or each row becomes a list."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: Smallest width of a wrapped column, characters; below it each row becomes a list.
_NARROWEST_COLUMN = 20


def table(rows: Sequence[Sequence[str]], columns: int | None = None) -> str:
    """Return rows as aligned columns; the first row is the heading.

    Args:
        rows: rows with equal numbers of cells.
        columns: width of the output, characters; by default that of the terminal at standard output. If the
            table is wider, its last column is wrapped, or each row becomes a list of its cells.
    """
    lines = _aligned(rows)
    width_limit = _terminal_columns() if columns is None else columns
    if width_limit is None or max(map(len, lines)) <= width_limit:
        return "\n".join(lines)
    before = max(map(len, _aligned([row[:-1] for row in rows]))) + 2
    if width_limit - before >= _NARROWEST_COLUMN:
        return "\n".join(_last_wrapped(rows, before, width_limit))
    return "\n".join(_listed(rows, max(width_limit, _NARROWEST_COLUMN)))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


def _last_wrapped(rows: Sequence[Sequence[str]], before: int, width_limit: int) -> Iterator[str]:
    for line, row in zip(_aligned([row[:-1] for row in rows]), rows, strict=True):
        first, *rest = textwrap.wrap(row[-1], width_limit - before) or [""]
        yield f"{line.ljust(before)}{first}".rstrip()
        yield from (" " * before + part for part in rest)


def _listed(rows: Sequence[Sequence[str]], width_limit: int) -> Iterator[str]:
    """Return a block for each row: its first cell, then a line of heading and text for each other cell."""
    names, *rest = rows
    for number, row in enumerate(rest):
        if number:
            yield ""
        for column, (name, cell) in enumerate(zip(names, row, strict=True)):
            if cell:
                text = f"{name}: {cell}" if name and column else cell
                indent = "  " if column else ""
                yield from textwrap.wrap(text, width_limit, initial_indent=indent, subsequent_indent="    ")


def _terminal_columns() -> int | None:
    """Return the width of the terminal at standard output, None if it is not a terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
