"""A report of runs as one HTML file: no script, nothing loaded, light and dark as the reader's system is."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from typing import TYPE_CHECKING

import msgspec

from app.errors import AppError
from app.history.comparing import compare_runs, speed_text
from app.history.drawing import Series, Strip, curves, strips
from app.history.model import option_string, read_is_cached, subject
from app.units import format_duration, format_rate, format_size, format_speed
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from app.bench.result import Sample, TestResult
    from app.history.model import Run

#: More curves than this on one plot cannot be told apart.
_CURVES = 12
#: Longer reports are for a spreadsheet.
_DETAILS = 200
#: A curve's points are means over so many parts of the test, so that the file stays small.
_PARTS = 80
_WAYS = (("write", "To the server"), ("read", "From the server"))
_FORMS: dict[str, Callable[[float], str]] = {
    "rate_bps": format_rate,
    "memory_bytes": format_size,
    "rtt_s": format_duration,
}
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


def to_html(runs: Sequence[Run], *, title: str = "NFS speed tests") -> str:
    """Return the report.

    Args:
        runs: in the order in which they are shown; the first 12 are drawn, the first 200 described in full.
        title: of the document.
    """
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="muted">{_many(len(runs), "test")}, written {moment} by Mountwright {VERSION}.</p>',
        *_plots(runs[:_CURVES], len(runs)),
        *_comparison(runs),
        "<h2>All tests</h2>",
        _runs_table(runs),
        "<h2>Each test</h2>",
        *(_details(run) for run in runs[:_DETAILS]),
    ]
    if len(runs) > _DETAILS:
        body.append(f'<p class="muted">The first {_DETAILS} are described; all are in the table.</p>')
    return _document(title, body)


def _document(title: str, body: Iterable[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _plots(runs: Sequence[Run], total: int) -> list[str]:
    parts: list[str] = []
    for way, name in _WAYS:
        series = [
            Series(_name(run), _speeds(run.result, way), place)
            for place, run in enumerate(runs)
            if not (way == "read" and read_is_cached(run.result))
        ]
        parts.append(
            curves(
                f"{name}: speed during the test", "seconds", "MB/s", [item for item in series if item.points]
            )
        )
    for way, name in _WAYS:
        found: list[Strip] = []
        for run in runs:
            figure = run.result.figures.get(way)
            if figure is not None and not (way == "read" and read_is_cached(run.result)):
                values = [value / 1e6 for value in figure.values]
                median, low, high = (value / 1e6 for value in (figure.median, figure.low, figure.high))
                found.append(Strip(_label(run), values, median, low, high))
        parts.append(strips(f"{name}: each repeat, the median and its interval", "MB/s", found))
    drawn = [part for part in parts if part]
    if not drawn:
        return []
    notes = [f"The first {_CURVES} of {total} are drawn."] if total > _CURVES else []
    if any(read_is_cached(run.result) for run in runs):
        notes.append("A read that came at least partly from the client's cache is left out.")
    return ["<h2>Speeds</h2>", *drawn, *(f'<p class="muted">{escape(note)}</p>' for note in notes)]


def _comparison(runs: Sequence[Run]) -> list[str]:
    """Return the comparison of two runs, the older with the newer."""
    if len(runs) != 2:
        return []
    older, newer = sorted(runs, key=lambda run: run.result.started_at)
    parts = [f"<h2>{escape(_label(newer))} compared with {escape(_label(older))}</h2>"]
    try:
        found = compare_runs([older], [newer])
    except AppError as error:
        return [*parts, f"<p>{escape(error.message)}</p>"]
    parts += [f"<p>{escape(item.text()[:1].upper() + item.text()[1:])}.</p>" for item in found.comparisons]
    parts += [f'<p class="warn">{escape(note)}</p>' for note in found.notes]
    rows = [[item.name, item.before, item.after] for item in found.differing]
    if not rows:
        return [*parts, "<p>Options and environment are the same.</p>"]
    return [*parts, _table(["Not the same", _label(older), _label(newer)], rows)]


def _runs_table(runs: Sequence[Run]) -> str:
    head = ["Test", "Started", "Share", "Link", "What", "To the server", "From it", "Asked for", "Said"]
    rows: list[list[str]] = []
    for run in runs:
        result = run.result
        link = result.link.name if result.link is not None else ""
        rows.append(
            [
                escape(_label(run)),
                escape(result.started_at[:16].replace("T", " ")),
                escape(subject(result)),
                escape(link or "—"),
                escape(_what(result)),
                escape(speed_text(_median(result, "write"))),
                escape(speed_text(_median(result, "read"), cached=read_is_cached(result))),
                f"<code>{escape(option_string(result.requested) or '—')}</code>",
                _said(run),
            ]
        )
    return _table(head, rows, numbers=frozenset({5, 6}), plain=False)


def _details(run: Run) -> str:
    result = run.result
    rows: list[list[str]] = []
    for name, figure in result.figures.items():
        form = format_speed if name in {"write", "read"} else _per_s
        ends = f"{form(figure.low)} to {form(figure.high)}" if len(figure.values) > 1 else "—"
        covers = f"{100 * figure.confidence:.0f} %" if len(figure.values) > 1 else "—"
        lost = f"{figure.timeouts} / {figure.retransmissions}"
        rows.append([name, form(figure.median), ends, covers, str(len(figure.values)), lost])
    parts = [
        f"<summary>{escape(_label(run))}: {escape(subject(result))}, {escape(result.started_at)}</summary>",
        f"<p>{_said(run)}</p>" if run.tags or run.note else "",
        f'<p class="muted">Imported from {escape(run.origin)}.</p>' if run.origin else "",
        _table(["Figure", "Median", "Interval", "Covers", "Repeats", "Time-outs / resent"], rows)
        if rows
        else "",
        *(f"<p>{escape(note)}</p>" for note in result.notes),
        f"<p>{escape(result.cache.note)}</p>" if result.cache is not None else "",
        f"<p>In use: <code>{escape(option_string(result.effective) or '—')}</code></p>",
        f"<p>{escape(_environment(result))}</p>",
    ]
    return f"<details>{''.join(parts)}</details>"


def _environment(result: TestResult) -> str:
    """Return what is known of where it ran, in one line."""
    if result.environment is None:
        return "Where it ran is not known."
    found: list[str] = []
    for name, value in msgspec.structs.asdict(result.environment).items():
        if value is not None:
            text = _FORMS[name](value) if name in _FORMS else str(value)
            found.append(f"{_plain(name)} {text}")
    return "; ".join(found)


def _table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: frozenset[int] = frozenset(),
    plain: bool = True,
) -> str:
    """Return a table; ``plain`` cells are text, others are HTML already."""

    def cell(kind: str, place: int, text: str) -> str:
        number = ' class="n"' if place in numbers else ""
        return f"<{kind}{number}>{text}</{kind}>"

    lines = ["".join(cell("th", place, escape(text)) for place, text in enumerate(head))]
    lines += [
        "".join(cell("td", place, escape(text) if plain else text) for place, text in enumerate(row))
        for row in rows
    ]
    return f'<div class="wide"><table><tr>{"</tr><tr>".join(lines)}</tr></table></div>'


def _said(run: Run) -> str:
    tags = " ".join(f'<span class="tag">{escape(tag)}</span>' for tag in run.tags)
    base = '<span class="tag">baseline</span> ' if run.baseline else ""
    return f"{base}{tags} {escape(run.note)}".strip()


def _speeds(result: TestResult, way: str) -> list[tuple[float, float]]:
    """Return seconds and MB/s on the wire, means over equal parts of the test."""
    transfer = result.write if way == "write" else result.read
    samples: Sequence[Sample] = transfer.samples if transfer is not None else []
    if len(samples) < 2:
        return []
    step = max(samples[-1].t_s / _PARTS, 0.1)
    found: list[tuple[float, float]] = []
    last = samples[0]
    for sample in samples[1:]:
        if sample.t_s - last.t_s >= step or (sample is samples[-1] and sample.t_s > last.t_s):
            speed = (sample.server_bytes - last.server_bytes) / (sample.t_s - last.t_s) / 1e6
            found.append(((sample.t_s + last.t_s) / 2, max(speed, 0.0)))
            last = sample
    return found


def _median(result: TestResult, way: str) -> float | None:
    figure = result.figures.get(way)
    transfer = result.write if way == "write" else result.read
    return figure.median if figure is not None else transfer.bytes_per_s if transfer is not None else None


def _what(result: TestResult) -> str:
    transfer = result.write or result.read
    size = format_size(transfer.bytes / result.count) if transfer is not None else "—"
    return f"{result.count} of {size}" if result.count > 1 else size


def _label(run: Run) -> str:
    return f"Run {run.id}" if run.id else "Run"


def _name(run: Run) -> str:
    options = option_string(run.result.requested)
    return f"{_label(run)}: {run.result.started_at[:10]} {options or subject(run.result)}"


def _per_s(value: float) -> str:
    return f"{value:.3g} /s"


def _many(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _plain(name: str) -> str:
    """Return a field's name without its unit: the value is shown with one."""
    for unit in ("_bps", "_bytes", "_s"):
        name = name.removesuffix(unit)
    return name.replace("_", " ")
