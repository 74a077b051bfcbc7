"""Tables of the command line: aligned columns, which on a narrow terminal wrap or become lists."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: A column of fewer characters is not worth wrapping.
_NARROWEST_COLUMN = 20


def table(rows: Sequence[Sequence[str]], columns: int | None = None) -> str:
    """Return rows as aligned columns; the first row is the heading.

    Args:
        rows: each with as many cells.
        columns: of the terminal; by default those of the one that is printed to. On a narrower one the last
            column is wrapped, and each row becomes a list of its cells where that does not do.
    """
    lines = _aligned(rows)
    room = _terminal_columns() if columns is None else columns
    if room is None or max(map(len, lines)) <= room:
        return "\n".join(lines)
    before = max(map(len, _aligned([row[:-1] for row in rows]))) + 2
    if room - before >= _NARROWEST_COLUMN:
        return "\n".join(_last_wrapped(rows, before, room))
    return "\n".join(_listed(rows, max(room, _NARROWEST_COLUMN)))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in lines]


def _last_wrapped(rows: Sequence[Sequence[str]], before: int, room: int) -> Iterator[str]:
    for line, row in zip(_aligned([row[:-1] for row in rows]), rows, strict=True):
        first, *rest = textwrap.wrap(row[-1], room - before) or [""]
        yield f"{line.ljust(before)}{first}".rstrip()
        yield from (" " * before + part for part in rest)


def _listed(rows: Sequence[Sequence[str]], room: int) -> Iterator[str]:
    """Return a block for each row: its first cell, and below it each other one behind its heading."""
    names, *rest = rows
    for number, row in enumerate(rest):
        if number:
            yield ""
        for place, (name, cell) in enumerate(zip(names, row, strict=True)):
            if cell:
                text = f"{name}: {cell}" if name and place else cell
                indent = "  " if place else ""
                yield from textwrap.wrap(text, room, initial_indent=indent, subsequent_indent="    ")


def _terminal_columns() -> int | None:
    """Return the width of the terminal that is printed to, None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None
