"""HTML report of one experiment: conclusions, plots, tables, and every trial."""

from __future__ import annotations

from functools import partial
from html import escape
from typing import TYPE_CHECKING

import msgspec

from advisor.experiment.measurements import FIGURE_INFO, WRITE
from advisor.speeds import SpeedUnit, speed_scale
from app.errors import AppError
from app.experiment.analysis import (
    analyze,
    analyze_search,
    figure_label,
    figures_in,
    level_rows,
    parts_of_plan,
    search_rows,
)
from app.experiment.model import SEARCH_NAME, ExperimentPlan
from app.experiment.search import search_result_to_date
from app.report.html_page import environment_line, html_document, html_table
from app.report.svg_plot import PlotStrip, strip_plot
from app.report.tables import trials_table
from app.text.errors import ErrorCode
from app.text.experiment import set_text, single_color_note
from app.text.units import format_figure
from app.version import VERSION
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.measurements import TrialOutcome
    from advisor.experiment.ranking import Ranking
    from advisor.experiment.tables import FactorCurve, Matrix
    from app.experiment.analysis import FigureAnalysis
    from app.history.model import ExperimentRecord
    from app.text.experiment import FigureFormat

#: Most option sets in a plot and in a ranking table; the last table has all trials.
_MAX_STRIPS, _MAX_RANKED = 15, 30
#: Tone of a sentence to the class attribute of its paragraph.
_CLASSES = {"ok": "", "info": ' class="muted"', "warn": ' class="warn"'}


def experiment_to_html(experiment: ExperimentRecord, unit: SpeedUnit = SpeedUnit.BYTES) -> str:
    """Return the report of an experiment as HTML, with speeds in the given unit.

    Raises:
        AppError: IO if the plan of the experiment cannot be read.
    """
    try:
        plan = from_json(bytes(experiment.spec), ExperimentPlan)
    except msgspec.DecodeError as error:
        raise AppError(ErrorCode.PLAN_NOT_READ_FOR_REPORT, detail=str(error)) from error
    title = plan.experiment.title or experiment.name or "Experiment"
    done = sum(outcome.state != "failed" for outcome in experiment.outcomes)
    planned = f" of {plan.trials}" if plan.trials else ""  # the number of trials of a search is not planned
    head = (
        f"{experiment.share}, begun {experiment.started_at}: {done}{planned} trials done, in the "
        f"random order of seed {experiment.seed}. Written by Mountwright {VERSION}."
    )
    written = partial(format_figure, speed=unit)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="muted">{escape(head)}</p>',
        f"<p>{escape(experiment.note)}</p>" if experiment.note else "",
        f"<p>{escape(environment_line(experiment.environment))}</p>",
        *(f"<p>{escape(note)}</p>" for note in plan.notes),
    ]
    if plan.experiment.recipe == SEARCH_NAME:
        body += _search_section(plan, experiment.outcomes, written)
    for part in parts_of_plan(plan):
        for figure in figures_in(experiment.outcomes, part.workload):
            body += _section(
                analyze(
                    plan, experiment.outcomes, figure, part.workload, written=written,
                    file_size=part.file_size,
                ),
                claims=plan.experiment.recipe != SEARCH_NAME,
                unit=unit,
            )  # fmt: skip
    columns, *rows = trials_table(experiment)
    body += [
        "<h2>Not measured</h2>" if plan.struck else "",
        *(f"<p>{escape(set_text(one.levels))}: {escape(one.reason)}</p>" for one in plan.struck),
        "<h2>All trials</h2>",
        '<p class="muted">Bytes, seconds, and bytes or files a second.</p>',
        html_table([str(cell) for cell in columns], [[_cell(value) for value in row] for row in rows]),
    ]
    return html_document(title, body)


def _search_section(
    plan: ExperimentPlan, outcomes: Sequence[TrialOutcome], written: FigureFormat
) -> list[str]:
    """Return the conclusion of a search and a table of its best sets; [] if no trial has succeeded."""
    best = search_result_to_date(plan, outcomes)
    if best is None:
        return []
    found = analyze_search(best, written)
    rows = [
        [
            f"{_TITLES[row.name]}{', tested again' if row.again else ''}", written(WRITE, row.median),
            f"{written(WRITE, row.low)} to {written(WRITE, row.high)}", str(row.trials),
            set_text(row.levels),
        ]
        for row in search_rows(best)
    ]  # fmt: skip
    return [
        f"<h2>{escape(found.headline)}</h2>",
        *(f"<p{_CLASSES[tone]}>{escape(text)}</p>" for tone, text in found.said),
        html_table(["", "Speed", "Likely between", "Trials", "Option set"], rows),
    ]


#: Titles of the option sets in the result of a search, by row name.
_TITLES = {"winner": "First", "next": "Next", "default": "Kernel's default", "present": "Present setting"}


def _section(found: FigureAnalysis, *, claims: bool, unit: SpeedUnit) -> list[str]:
    """Return the section of one figure of one workload; ``claims`` adds the headline of the figure."""
    ranked = found.ranking.standings[:_MAX_STRIPS]
    scale, shown = _scale(found.figure, max((item.high for item in ranked), default=0.0), unit)
    rows = [
        PlotStrip(
            f"{item.place}.", [value * scale for value in item.values], item.median * scale,
            item.low * scale, item.high * scale,
        )
        for item in ranked
    ]  # fmt: skip
    label = figure_label(found.figure)
    return [
        f"<h2>{escape(found.part.label)}: {escape(label)}</h2>",
        f"<p><strong>{escape(found.headline)}</strong></p>" if claims else "",
        *(f"<p{_CLASSES[tone]}>{escape(text)}</p>" for tone, text in found.said),
        strip_plot(f"{label}: the first {len(rows)} option sets by place", shown, rows)
        if len(rows) > 1
        else "",
        _ranking(found.ranking, partial(format_figure, speed=unit)),
        _levels(found),
        *(_curve(item, unit) for item in found.curves),
        *(_matrix(item, unit) for item in found.matrices),
        _pooled(found),
    ]


#: Methods of an interval in words.
_METHODS = {"sign-test": "sign test", "bootstrap": "bootstrap", "range": "range"}


def _ranking(ranking: Ranking, written: FigureFormat) -> str:
    rows = [
        [
            str(item.place),
            str(item.group or "—"),
            set_text(item.levels),
            written(ranking.figure, item.median),
            f"{written(ranking.figure, item.low)} to {written(ranking.figure, item.high)}",
            _METHODS[item.method],
            str(len(item.values)),
            f"{item.timeouts:.3g} / {item.retransmissions:.3g}",
        ]
        for item in ranking.standings[:_MAX_RANKED]
    ]
    head = ["Place", "Group", "Option set", "Median", "Interval", "Made by", "Repeats", "Time-outs / resent"]
    note = f'<p class="muted">Those of one group cannot be told apart.{_more(ranking)}</p>'
    return html_table(head, rows) + note if rows else ""


def _levels(found: FigureAnalysis) -> str:
    """Return the table of levels: effect against the mean of the factor's levels, rank sum and mean rank."""
    rows = [
        [row.factor, row.level, row.beside, f"{row.sum:g}", f"{row.mean:.1f}"] for row in level_rows(found)
    ]
    head = ["Factor", "Level", "Beside the average of its levels", "Sum of places", "Average place"]
    return html_table(head, rows) if rows else ""


def _more(ranking: Ranking) -> str:
    more = len(ranking.standings) - _MAX_RANKED
    return f" {more} more are left out." if more > 0 else ""


def _curve(curve: FactorCurve, unit: SpeedUnit) -> str:
    """Return the plot of a figure against one factor, with a row for each level."""
    scale, shown = _scale(curve.figure, max((point.high for point in curve.points), default=0.0), unit)
    rows = [
        PlotStrip(point.level, [value * scale for value in point.values], point.median * scale,
              point.low * scale, point.high * scale)
        for point in curve.points
    ]  # fmt: skip
    return strip_plot(
        f"{figure_label(curve.figure)} against {curve.factor}, the others at their base", shown, rows
    )


def _pooled(found: FigureAnalysis) -> str:
    """Return a line with the factors that the matrix cells are medians over, "" if there are none."""
    if not found.matrices or not found.pooled:
        return ""
    return f'<p class="muted">Medians over {escape(", ".join(found.pooled))}.</p>'


def _matrix(matrix: Matrix, unit: SpeedUnit) -> str:
    """Return a table of a figure over two factors.

    The better a cell, the stronger its color; if the cells do not differ significantly, all have one color.
    """
    if matrix.best() is None:
        return ""
    lines = ["".join(f"<th>{escape(text)}</th>" for text in ("", *matrix.columns))]
    for level, row, shades in zip(matrix.rows, matrix.cells, matrix.shades(), strict=True):
        cells = "".join(
            _shaded(value, shade, matrix.figure, unit) for value, shade in zip(row, shades, strict=True)
        )
        lines.append(f"<th>{escape(level)}</th>{cells}")
    fixed = f" ({set_text(matrix.fixed)})" if matrix.fixed else ""
    title = f"{figure_label(matrix.figure)}: {matrix.row_factor} down, {matrix.column_factor} across{fixed}"
    body = "</tr><tr>".join(lines)
    note = single_color_note(matrix.differs)
    footnote = f'<p class="muted">{escape(note)}</p>' if note else ""
    heat = f'<div class="wide"><table class="heat"><tr>{body}</tr></table></div>'
    return f"<p>{escape(title)}</p>{heat}{footnote}"


def _shaded(value: float | None, shade: float, figure: str, unit: SpeedUnit) -> str:
    if value is None:
        return "<td>—</td>"
    return f'<td class="h{round(8 * shade)}">{escape(format_figure(figure, value, unit))}</td>'


def _scale(figure: str, largest: float, speed: SpeedUnit) -> tuple[float, str]:
    """Return the factor that converts values for a plot, and the unit of the converted values."""
    unit = FIGURE_INFO[figure].unit if figure in FIGURE_INFO else ""
    if unit == "bytes/s":
        return speed_scale(largest, speed)
    return 1.0, {"1/s": "a second", "s": "seconds"}.get(unit, unit)


def _cell(value: Sequence[object] | object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)
