"""HTML report of saved tests: plots, comparison, a table of all tests, and the details of each."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from advisor.speeds import SpeedUnit, format_speed, speed_scale
from app.errors import AppError
from app.history.compare_runs import compare_runs, speed_text
from app.history.model import option_string, read_is_cached, tested_share
from app.report.html_page import environment_line, html_document, html_table
from app.report.svg_plot import PlotCurve, PlotStrip, curve_plot, strip_plot
from app.speedtest.analysis import bottleneck_text, outlier_notes, unmeasured_effects
from app.speedtest.model import SPEED_FIGURES
from app.speedtest.network_measurement import network_notes
from app.text.message import message_text
from app.text.units import format_duration, format_size
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.message import Message
    from app.history.model import Run
    from app.speedtest.model import Sample, TestResult

#: Most curves in one plot; more would be hard to distinguish.
_MAX_CURVES = 12
#: Most tests with details; longer reports belong in a spreadsheet.
_MAX_DETAILS = 200
#: Points of a curve: means over this number of equal parts of the test, to keep the file small.
_CURVE_POINTS = 80
_DIRECTIONS = (("write", "To the server"), ("read", "From the server"))


def runs_to_html(
    runs: Sequence[Run], *, title: str = "NFS speed tests", unit: SpeedUnit = SpeedUnit.BYTES
) -> str:
    """Return the report of runs as HTML.

    Args:
        runs: runs in the order of the report; the first 12 are plotted, the first 200 have details.
        title: title of the document.
        unit: unit of all speeds.
    """
    moment = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="muted">{_count_text(len(runs), "test")}, written {moment} by Mountwright {VERSION}.</p>',
        *_plots(runs[:_MAX_CURVES], len(runs), unit),
        *_comparison(runs, unit),
        "<h2>All tests</h2>",
        _runs_table(runs, unit),
        "<h2>Each test</h2>",
        *(_details(run, unit) for run in runs[:_MAX_DETAILS]),
    ]
    if len(runs) > _MAX_DETAILS:
        body.append(f'<p class="muted">The first {_MAX_DETAILS} are described; all are in the table.</p>')
    return html_document(title, body)


def _plots(runs: Sequence[Run], total: int, unit: SpeedUnit) -> list[str]:
    parts: list[str] = []
    medians = [_median(run.result, direction) or 0.0 for run in runs for direction, _name in _DIRECTIONS]
    scale, shown = speed_scale(max(medians, default=0.0), unit)
    for direction, name in _DIRECTIONS:
        series = [
            PlotCurve(_name(run), _speeds(run.result, direction, scale), index)
            for index, run in enumerate(runs)
            if not (direction == "read" and read_is_cached(run.result))
        ]
        parts.append(
            curve_plot(
                f"{name}: speed during the test", "seconds", shown, [item for item in series if item.points]
            )
        )
    for direction, name in _DIRECTIONS:
        found: list[PlotStrip] = []
        for run in runs:
            figure = run.result.figures.get(direction)
            if figure is not None and not (direction == "read" and read_is_cached(run.result)):
                values = [value * scale for value in figure.values]
                median, low, high = (value * scale for value in (figure.median, figure.low, figure.high))
                found.append(PlotStrip(_label(run), values, median, low, high))
        parts.append(strip_plot(f"{name}: each repeat, the median and its interval", shown, found))
    drawn = [part for part in parts if part]
    if not drawn:
        return []
    notes = [f"The first {_MAX_CURVES} of {total} are drawn."] if total > _MAX_CURVES else []
    if any(read_is_cached(run.result) for run in runs):
        notes.append("A read that came at least partly from the client's cache is left out.")
    return ["<h2>Speeds</h2>", *drawn, *(f'<p class="muted">{escape(note)}</p>' for note in notes)]


def _comparison(runs: Sequence[Run], unit: SpeedUnit) -> list[str]:
    """Return the comparison of the older with the newer run, [] unless there are exactly two."""
    if len(runs) != 2:
        return []
    older, newer = sorted(runs, key=lambda run: run.result.started_at)
    parts = [f"<h2>{escape(_label(newer))} compared with {escape(_label(older))}</h2>"]
    try:
        found = compare_runs([older], [newer], unit)
    except AppError as error:
        return [*parts, f"<p>{escape(error.message)}</p>"]
    texts = [item.text(unit) for item in found.comparisons]
    parts += [f"<p>{escape(text[:1].upper() + text[1:])}.</p>" for text in texts]
    parts += [f'<p class="warn">{escape(note)}</p>' for note in found.notes]
    rows = [[item.name, item.before, item.after] for item in found.differing]
    if not rows:
        return [*parts, "<p>Options and environment are the same.</p>"]
    return [*parts, html_table(["Not the same", _label(older), _label(newer)], rows)]


def _runs_table(runs: Sequence[Run], unit: SpeedUnit) -> str:
    head = ["Test", "Started", "Share", "Link", "What", "To the server", "From it", "Asked for", "Said"]
    rows: list[list[str]] = []
    for run in runs:
        result = run.result
        link = result.link.name if result.link is not None else ""
        rows.append(
            [
                escape(_label(run)),
                escape(result.started_at[:16].replace("T", " ")),
                escape(tested_share(result)),
                escape(link or "—"),
                escape(_kind_text(result)),
                escape(speed_text(_median(result, "write"), unit=unit)),
                escape(speed_text(_median(result, "read"), cached=read_is_cached(result), unit=unit)),
                f"<code>{escape(option_string(result.requested) or '—')}</code>",
                _notes(run),
            ]
        )
    return html_table(head, rows, numbers=frozenset({5, 6}), plain=False)


def _details(run: Run, unit: SpeedUnit) -> str:
    result = run.result
    rows: list[list[str]] = []
    for name, figure in result.figures.items():
        form = partial(format_speed, unit=unit) if name in SPEED_FIGURES else _per_s
        ends = f"{form(figure.low)} to {form(figure.high)}" if len(figure.values) > 1 else "—"
        covers = f"{100 * figure.confidence:.0f} %" if len(figure.values) > 1 else "—"
        losses = f"{figure.timeouts} / {figure.retransmissions}"
        rows.append([name, form(figure.median), ends, covers, str(len(figure.values)), losses])
    parts = [
        (
            f"<summary>{escape(_label(run))}: {escape(tested_share(result))}, "
            f"{escape(result.started_at)}</summary>"
        ),
        f"<p>{_notes(run)}</p>" if run.tags or run.note else "",
        f'<p class="muted">Imported from {escape(run.origin)}.</p>' if run.origin else "",
        html_table(["Figure", "Median", "Interval", "Covers", "Repeats", "Time-outs / resent"], rows)
        if rows
        else "",
        _grid(result, unit),
        *(f"<p>{escape(text)}</p>" for text in _verdict(result, unit)),
        *(f"<p>{escape(message_text(note, unit))}</p>" for note in _result_notes(result)),
        f"<p>{escape(result.cache.note)}</p>" if result.cache is not None else "",
        *(f"<p>{escape(text)}</p>" for text in unmeasured_effects(result)),
        f"<p>In use: <code>{escape(option_string(result.effective) or '—')}</code></p>",
        f"<p>{escape(environment_line(result.environment))}</p>",
    ]
    return f"<details>{''.join(parts)}</details>"


def _result_notes(result: TestResult) -> list[Message | str]:
    """Return the notes of a test; those with speeds are made from its values."""
    network: list[Message | str] = []
    if result.network is not None:
        network = network_notes(result.network, result.write, result.read)
    messages = [*outlier_notes(result.figures), *network]
    known = {message_text(one) for one in messages}
    return [*messages, *(note for note in result.notes if note not in known)]


def _verdict(result: TestResult, unit: SpeedUnit) -> list[str]:
    """Return the bottleneck with its evidence, and the uses that the measured speed is enough for."""
    found = result.bottleneck
    bottleneck = (
        [f"{bottleneck_text(found)}. {' '.join(message_text(one, unit) for one in found.evidence)}".strip()]
        if found is not None
        else []
    )
    return [*bottleneck, *(f"Enough for {text[:1].lower()}{text[1:]}" for text in result.enough)]


def _grid(result: TestResult, unit: SpeedUnit) -> str:
    """Return the table of grid cells that fio measured, each with its repeat of median rate."""
    rows: list[list[str]] = []
    for cell in result.grid:
        run = cell.median_run
        if run is not None:
            times = [format_duration(value) if value else "—" for value in (run.latency_s, run.p99_s)]
            rows.append(
                [
                    cell.name,
                    f"{run.iops:.0f}",
                    format_speed(run.bytes_per_s, unit),
                    *times,
                    str(len(cell.runs)),
                ]
            )
    head = ["Cell", "Requests/s", "Speed", "Mean time", "99 % within", "Repeats"]
    return html_table(head, rows, numbers=frozenset(range(1, 6))) if rows else ""


def _notes(run: Run) -> str:
    tags = " ".join(f'<span class="tag">{escape(tag)}</span>' for tag in run.tags)
    base = '<span class="tag">baseline</span> ' if run.baseline else ""
    return f"{base}{tags} {escape(run.note)}".strip()


def _speeds(result: TestResult, direction: str, scale: float) -> list[tuple[float, float]]:
    """Return the speed on the link over time, as means over equal parts of the test.

    Returns:
        Points of seconds since the start and speed times ``scale``.
    """
    transfer = result.write if direction == "write" else result.read
    samples: Sequence[Sample] = transfer.samples if transfer is not None else []
    if len(samples) < 2:
        return []
    step = max(samples[-1].t_s / _CURVE_POINTS, 0.1)
    found: list[tuple[float, float]] = []
    last = samples[0]
    for sample in samples[1:]:
        if sample.t_s - last.t_s >= step or (sample is samples[-1] and sample.t_s > last.t_s):
            speed = (sample.server_bytes - last.server_bytes) / (sample.t_s - last.t_s)
            found.append(((sample.t_s + last.t_s) / 2, max(speed * scale, 0.0)))
            last = sample
    return found


def _median(result: TestResult, direction: str) -> float | None:
    figure = result.figures.get(direction)
    transfer = result.write if direction == "write" else result.read
    return figure.median if figure is not None else transfer.bytes_per_s if transfer is not None else None


def _kind_text(result: TestResult) -> str:
    if result.grid:
        return f"fio, {_count_text(len(result.grid), 'cell')}"
    transfer = result.write or result.read
    size = format_size(transfer.bytes / result.count) if transfer is not None else "—"
    return f"{result.count} of {size}" if result.count > 1 else size


def _label(run: Run) -> str:
    return f"Run {run.id}" if run.id else "Run"


def _name(run: Run) -> str:
    options = option_string(run.result.requested)
    return f"{_label(run)}: {run.result.started_at[:10]} {options or tested_share(run.result)}"


def _per_s(value: float) -> str:
    return f"{value:.3g} /s"


def _count_text(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
