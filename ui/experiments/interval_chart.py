"""Interval chart: the figure of each option set as a dot with its interval, the best group shaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from advisor.experiment.measurements import WRITE
from app.experiment.analysis import search_rows, set_with_levels
from app.experiment.factors import DISPLAY_NAMES
from app.text.experiment import set_text
from ui.common import theme
from ui.common.figure_text import interval_with_unit, with_unit
from ui.common.speed_units import SPEED_UNITS
from ui.common.translation import tr
from ui.experiments.plan_view import setting_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.experiment.ranking import Ranking
    from app.experiment.model import BestSettings, ExperimentPlan

#: Largest number of option sets in the chart.
_MAX_ROWS = 10
#: Part of the width that the labels take up at most.
_LABEL_PART = 0.55


class IntervalRow(NamedTuple):
    """One option set of the chart.

    Attributes:
        label: its settings.
        mark: what the set is ("Now", "Reference"), "" for nothing.
        low: lower end of the interval.
        median: the figure.
        high: upper end of the interval.
        in_best_group: whether the set does not differ significantly from the best.
    """

    label: str
    mark: str
    low: float
    median: float
    high: float
    in_best_group: bool


class SetMarks(NamedTuple):
    """Levels of the option sets that are marked, None for none.

    Attributes:
        now: the present settings of the mount.
        recommended: the recommended settings.
    """

    now: dict[str, str] | None = None
    recommended: dict[str, str] | None = None

    def text(self, levels: dict[str, str]) -> str:
        """Return the mark of an option set, "" for none."""
        marks = {
            (True, True): tr("Now, recommended"), (True, False): tr("Now"), (False, True): tr("Recommended"),
        }  # fmt: skip
        return marks.get((levels == self.now, levels == self.recommended), "")


def ranking_rows(ranking: Ranking, plan: ExperimentPlan, marks: SetMarks) -> list[IntervalRow]:
    """Return the rows of a ranking, the best first; the marked sets are always among them.

    Args:
        ranking: the ranked option sets.
        plan: plan of the experiment; its first set is the reference.
        marks: the present and the recommended settings.
    """
    standings = ranking.standings
    varied = _varied([standing.levels for standing in standings])
    reference = plan.sets[0].levels if plan.sets else {}
    shown = list(standings[:_MAX_ROWS])
    marked = [reference, *(levels for levels in marks if levels is not None)]
    shown += [standing for standing in standings[_MAX_ROWS:] if standing.levels in marked]
    return [
        IntervalRow(
            _label(standing.levels, varied),
            marks.text(standing.levels) or (tr("Reference") if standing.levels == reference else ""),
            standing.low, standing.median, standing.high, standing.group == 1,
        )
        for standing in shown
    ]  # fmt: skip


def search_result_rows(result: BestSettings, recommended: dict[str, str] | None) -> list[IntervalRow]:
    """Return the rows of the result of a search: winner, present settings, next, default.

    Args:
        result: the result.
        recommended: levels of the recommended settings, None if they are no candidate.
    """
    names = {
        "winner": tr("Winner"), "present": tr("Now"), "next": tr("Next"), "default": tr("Default"),
    }  # fmt: skip
    found = search_rows(result)
    varied = _varied([row.levels for row in found if row.levels])
    rows: list[IntervalRow] = []
    for row in found:
        option_set = set_with_levels(row.levels, result.plan.sets)
        if option_set is None and row.name == "present":
            option_set = result.plan.present
        label = _label(row.levels, varied)
        if not row.levels and option_set is not None:
            label = setting_text(option_set)
        mark = names[row.name]
        if row.levels and row.levels == recommended:
            mark = tr("{mark}, recommended").format(mark=mark)
        rows.append(IntervalRow(label, mark, row.low, row.median, row.high, row.high >= found[0].low))
    return rows


def _varied(levels: Sequence[dict[str, str]]) -> list[str]:
    """Return the settings that differ between the sets, all if none does."""
    names = list(levels[0]) if levels else []
    return [name for name in names if len({one.get(name) for one in levels}) > 1] or names


def _label(levels: dict[str, str], varied: Sequence[str]) -> str:
    return set_text({name: levels[name] for name in varied if name in levels}, names=DISPLAY_NAMES)


class IntervalChart(QWidget):
    """Dots with intervals, one row for each option set; hidden without any."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-chart")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._rows: list[IntervalRow] = []
        self._figure = WRITE
        SPEED_UNITS.changed.connect(self._describe)
        self.hide()

    def show_rows(self, figure: str, rows: Sequence[IntervalRow]) -> None:
        """Show the figure of these option sets; no rows hide the chart."""
        self._figure, self._rows = figure, list(rows)
        self._describe()
        self.updateGeometry()
        self.setVisible(bool(rows))

    def lines(self) -> list[str]:
        """Return the chart as text, one line for each option set."""
        return [
            f"{row.mark + ': ' if row.mark else ''}{row.label}: {with_unit(self._figure, row.median)} "
            f"({interval_with_unit(self._figure, row.low, row.high)})"
            for row in self._rows
        ]

    def _describe(self) -> None:
        self.setAccessibleName(self.tr("Option sets with their intervals"))
        self.setAccessibleDescription("\n".join(self.lines()))
        self.update()

    def _row_height(self) -> int:
        return round(self.fontMetrics().height() * 1.7)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: one row for each option set."""
        return QSize(self.fontMetrics().averageCharWidth() * 70, self._row_height() * len(self._rows) + 4)

    def minimumSizeHint(self) -> QSize:
        """Qt: the same height at a smaller width."""
        return QSize(self.fontMetrics().averageCharWidth() * 40, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint labels, intervals, dots and values."""
        del event
        if not self._rows:
            return
        colors, metrics = theme.colors(), self.fontMetrics()
        gap, height = metrics.averageCharWidth(), self._row_height()
        marks = max(metrics.horizontalAdvance(row.mark) for row in self._rows)
        marks += 2 * gap if marks else 0
        widest = max(metrics.horizontalAdvance(row.label) for row in self._rows)
        label = min(widest, round(self.width() * _LABEL_PART) - marks)
        values = [with_unit(self._figure, row.median) for row in self._rows]
        right = max(metrics.horizontalAdvance(value) for value in values) + gap
        left = marks + label + 2 * gap
        width = max(1, self.width() - left - right - 2 * gap)
        low, high = min(0.0, *(row.low for row in self._rows)), max(row.high for row in self._rows)
        span = (high - low) or 1.0
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        for number, (row, value) in enumerate(zip(self._rows, values, strict=True)):
            top, y = number * height, number * height + height / 2
            if row.in_best_group:
                painter.fillRect(QRectF(0, top, self.width(), height), QColor(colors.ok_tint))
            painter.setPen(QColor(colors.accent))
            painter.drawText(gap // 2, top, marks, height, middle, row.mark)
            painter.setPen(QColor(colors.text))
            text = metrics.elidedText(row.label, Qt.TextElideMode.ElideRight, label)
            painter.drawText(marks, top, label, height, middle, text)
            begin, dot, end = (left + width * (x - low) / span for x in (row.low, row.median, row.high))
            painter.setPen(QPen(QColor(colors.muted), 2))
            painter.drawLine(QPointF(begin, y), QPointF(end, y))
            for x in (begin, end):
                painter.drawLine(QPointF(x, y - height * 0.14), QPointF(x, y + height * 0.14))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.ok if row.in_best_group else colors.text))
            painter.drawEllipse(QPointF(dot, y), height * 0.15, height * 0.15)
            painter.setPen(QColor(colors.text))
            painter.drawText(self.width() - right, top, right, height, middle, value)
        painter.end()
