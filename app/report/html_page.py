"""HTML page of a report: one file without scripts or external resources, for light and dark color schemes."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from app.history.compare_runs import environment_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from app.speedtest.model import Environment

_POLICY = "default-src 'none';style-src 'unsafe-inline'"
_STYLE = """
:root{color-scheme:light dark;--back:#ffffff;--text:#1c2127;--muted:#59626e;--border:#d3d8df;--raised:#f4f5f7;
--warn:#875300;--c0:#0067a3;--c1:#b34700;--c2:#14713a;--c3:#7b3fa0;--c4:#a3195b;--c5:#59626e}
@media (prefers-color-scheme:dark){:root{--back:#17191d;--text:#e7e9ec;--muted:#a6aeb9;--border:#3b414a;
--raised:#1f2227;--warn:#e8b34b;--c0:#5bb8ec;--c1:#f0a53a;--c2:#5fcb80;--c3:#c9a0f0;--c4:#ff8fbf;--c5:#a6aeb9}}
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;max-width:64rem;
margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}p{margin:.4rem 0}
.muted{color:var(--muted)}.warn{color:var(--warn)}
.wide{overflow-x:auto}td:nth-child(-n+5){white-space:nowrap}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.3rem .8rem .3rem 0;border-bottom:1px solid var(--border);vertical-align:top}
th{color:var(--muted);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;
white-space:nowrap}
.tag{background:var(--raised);border:1px solid var(--border);border-radius:.7rem;padding:0 .5rem;
font-size:.8rem;white-space:nowrap}
code{font:13px/1.5 ui-monospace,monospace;overflow-wrap:anywhere}
details{border:1px solid var(--border);border-radius:.4rem;padding:.5rem 1rem;margin:.6rem 0}
summary{cursor:pointer;font-weight:600}
svg{width:100%;height:auto;margin:.6rem 0}
.label{fill:var(--muted);font-size:12px}.title{fill:var(--text);font-size:14px;font-weight:600}
.grid{stroke:var(--border);fill:none}.line{fill:none;stroke-width:1.6}.whisker{stroke:var(--muted);stroke-width:6;
opacity:.35}.dot{fill:none;stroke:var(--c0);stroke-width:1.3}.median{stroke:var(--c1);stroke-width:2.5}
.c0{stroke:var(--c0)}.c1{stroke:var(--c1)}.c2{stroke:var(--c2)}.c3{stroke:var(--c3)}.c4{stroke:var(--c4)}
.c5{stroke:var(--c5)}
@media print{details{break-inside:avoid}}
"""
#: CSS classes h1 to h8: background of a matrix cell, in eighths of the color of the best cell.
_HEAT_COLORS = "".join(
    f".h{n}{{background:color-mix(in srgb,var(--c2) {6 * n}%,transparent)}}" for n in range(1, 9)
)


def html_document(title: str, body: Iterable[str]) -> str:
    """Return the HTML document; ``title`` is plain text, ``body`` are HTML fragments."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}{_HEAT_COLORS}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def html_table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: frozenset[int] = frozenset(),
    plain: bool = True,
) -> str:
    """Return an HTML table.

    Args:
        head: headings of the columns, as plain text.
        rows: cells of each row.
        numbers: indexes of the columns with numbers, which are aligned right.
        plain: whether the cells are plain text to be escaped; otherwise they are HTML.
    """

    def cell(tag: str, column: int, text: str) -> str:
        number = ' class="n"' if column in numbers else ""
        return f"<{tag}{number}>{text}</{tag}>"

    lines = ["".join(cell("th", column, escape(text)) for column, text in enumerate(head))]
    lines += [
        "".join(cell("td", column, escape(text) if plain else text) for column, text in enumerate(row))
        for row in rows
    ]
    return f'<div class="wide"><table><tr>{"</tr><tr>".join(lines)}</tr></table></div>'


def environment_line(environment: Environment | None) -> str:
    """Return the known facts of an environment as one line of plain text."""
    facts = environment_facts(environment)
    return "; ".join(f"{name} {value}" for name, value in facts.items()) or "Where it ran is not known."
