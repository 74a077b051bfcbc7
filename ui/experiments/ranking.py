"""Ranking tables: option sets of an experiment, effects of each level, and the result of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStyledItemDelegate,
    QTableView,
    QTableWidgetItem,
)

from advisor.experiment.measurements import WRITE
from app.experiment.analysis import figure_label, level_rows, search_rows, set_with_levels
from app.experiment.factors import factor_label, level_label
from ui.common.figure_text import interval_with_unit, with_unit
from ui.common.speed_units import SPEED_UNITS
from ui.common.tables import AutoHeightTable, style_as_list, wrapped_title
from ui.experiments.plan_view import setting_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from PySide6.QtCore import QLocale, QPoint

    from advisor.experiment.ranking import RankedSet, Ranking
    from app.experiment.analysis import FigureAnalysis, LevelRow, SearchRow
    from app.experiment.model import BestSettings

if TYPE_CHECKING:
    AnyIndex = QModelIndex | QPersistentModelIndex

#: Columns of the interval and the timeouts; hidden if they are empty.
INTERVAL, TIMEOUTS = 2, 3

_NO_INDEX = QModelIndex()
_RANK, _MEDIAN = range(INTERVAL)
#: Columns of numbers, aligned to the right like their titles.
NUMBERS = (_MEDIAN, INTERVAL, TIMEOUTS)


class RankingModel(QAbstractTableModel):
    """Item model of a ranking: rank, median, interval, timeouts, and one column per factor."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ranking: Ranking | None = None
        self._factors: list[str] = []

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Replace the ranking; None empties the model."""
        self.beginResetModel()
        self._ranking = ranking
        standings = ranking.standings if ranking is not None else []
        # A factor with the same level in all sets needs no column.
        names = list(standings[0].levels) if standings else []
        self._factors = [
            name for name in names if len({standing.levels.get(name) for standing in standings}) > 1
        ] or names
        self.endResetModel()

    def standing(self, row: int) -> RankedSet | None:
        """Return the ranked option set of a row, None outside of the table."""
        standings = self._ranking.standings if self._ranking is not None else []
        return standings[row] if 0 <= row < len(standings) else None

    def empty_columns(self) -> list[int]:
        """Return which of the columns `INTERVAL` and `TIMEOUTS` are empty."""
        standings = self._ranking.standings if self._ranking is not None else []
        has_values = {INTERVAL: any(len(standing.values) > 1 for standing in standings),
                      TIMEOUTS: any(standing.timeouts for standing in standings)}  # fmt: skip
        return [column for column, filled in has_values.items() if not filled]

    def _tied_rank(self, standing: RankedSet) -> int:
        """Return the rank of the first set of the same group, 0 if no better-ranked set is in it."""
        group = self._ranking.group(standing.group) if self._ranking is not None and standing.group else []
        return group[0].place if group and group[0].place < standing.place else 0

    def _cell_text(self, standing: RankedSet, column: int) -> str:
        figure = self._ranking.figure if self._ranking is not None else ""
        if column == _RANK:
            first = self._tied_rank(standing)
            like = self.tr("  (like {place})").format(place=first) if first else ""
            return f"{standing.place}{like}"
        if column == _MEDIAN:
            return with_unit(figure, standing.median)
        if column == INTERVAL and len(standing.values) < 2:
            return "—"
        if column == INTERVAL:
            return interval_with_unit(figure, standing.low, standing.high)
        if column == TIMEOUTS:
            return f"{standing.timeouts:.3g}"
        name = self._factors[column - TIMEOUTS - 1]
        level = standing.levels.get(name)
        return "—" if level is None else level_label(name, level)

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: number of ranked option sets."""
        return 0 if parent.isValid() or self._ranking is None else len(self._ranking.standings)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: four fixed columns and one per factor."""
        return 0 if parent.isValid() else TIMEOUTS + 1 + len(self._factors)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: column titles, aligned like the texts of their columns."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        titles = [self.tr("Rank"), self.tr("Median"), self.tr("95% CI"), self.tr("Timeouts")]
        return [*titles, *(wrapped_title(factor_label(name)) for name in self._factors)][section]

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: text, tooltip and alignment of a cell."""
        standing = self.standing(index.row()) if index.isValid() else None
        if standing is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell_text(standing, index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == _RANK and self._tied_rank(standing):
            return self.tr("Not significantly different from rank {place}.").format(
                place=self._tied_rank(standing)
            )
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        return None


def _alignment(column: int) -> int:
    side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)


#: Maximum number of rows visible without scrolling.
_LINES = 10


class _NumberDelegate(QStyledItemDelegate):
    """Delegate that adds space after a right-aligned number, because the next column is left-aligned."""

    def displayText(self, value: Any, locale: QLocale | QLocale.Language) -> str:
        """Qt: the text followed by an en space."""
        return f"{super().displayText(value, locale)}\N{EN SPACE}"


class RankingTable(QTableView):
    """Table of the ranked option sets; initially without a selected row.

    Signals:
        chosen: levels of the selected row, None without a selection.
        menu_asked: the user wants the context menu of a row: its levels, and the global position (QPoint).
    """

    chosen = Signal(object)
    menu_asked = Signal(object, object)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("experiment-ranking")
        self.setAccessibleName(self.tr("Ranking"))
        style_as_list(self)
        self._model = RankingModel(self)
        self.setModel(self._model)
        number = _NumberDelegate(self)
        for column in NUMBERS:
            self.setItemDelegateForColumn(column, number)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self.selectionModel().selectionChanged.connect(self._on_selection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Replace the ranking; the selected option set stays selected."""
        selected = self.levels()
        self._model.show_ranking(ranking)
        for column in (INTERVAL, TIMEOUTS):
            self.setColumnHidden(column, column in self._model.empty_columns())
        line = self.verticalHeader().defaultSectionSize()
        lines = min(max(self._model.rowCount(), 2), _LINES)
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        self.setFixedHeight(header.sizeHint().height() + bar.sizeHint().height() + line * lines + 8)
        if selected is not None:
            self.choose(selected)

    def choose(self, levels: Mapping[str, str]) -> bool:
        """Select the row of an option set; return whether the table has one."""
        standings = [self._model.standing(row) for row in range(self._model.rowCount())]
        found_row = next(
            (row for row, standing in enumerate(standings) if standing and standing.levels == levels), None
        )
        if found_row is None:
            self.clearSelection()
            return False
        self.selectRow(found_row)
        return True

    def levels(self) -> dict[str, str] | None:
        """Return the levels of the selected row, None without a selection."""
        rows = self.selectionModel().selectedRows()
        standing = self._model.standing(rows[0].row()) if rows else None
        return standing.levels if standing is not None else None

    def _on_menu(self, position: QPoint) -> None:
        index = self.indexAt(position)
        standing = self._model.standing(index.row()) if index.isValid() else None
        if standing is not None:
            self.menu_asked.emit(standing.levels, self.viewport().mapToGlobal(position))

    def _on_selection(self, *_changes: object) -> None:
        self.chosen.emit(self.levels())


_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class EffectsTable(AutoHeightTable):
    """Table of level effects, strongest factor first; hidden unless all combinations were measured."""

    def __init__(self) -> None:
        super().__init__("experiment-effects", "", [""] * 5)
        self.setAccessibleName(self.tr("Effect of each setting"))
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.hide()

    def show_findings(self, analysis: FigureAnalysis | None) -> None:
        """Show the level effects of an analysis; levels that are significantly best are bold."""
        rows = level_rows(analysis) if analysis is not None else []
        self.setVisible(bool(rows))
        if analysis is None or not rows:
            return
        self.setHorizontalHeaderLabels([
            self.tr("Setting"), self.tr("Value"), wrapped_title(figure_label(analysis.figure)),
            self.tr("Rank\nsum"), self.tr("Mean\nrank"),
        ])  # fmt: skip
        tips = {
            2: self.tr("Compared with the average of the setting's values, everything else being equal."),
            3: self.tr("All trials sorted, the best with rank 1: the lower the sum, the better."),
        }
        for column in range(self.columnCount()):
            title = self.horizontalHeaderItem(column)
            if title is not None:
                title.setTextAlignment(_RIGHT if column > 1 else _LEFT)
                title.setToolTip(tips.get(column, ""))
        self.setRowCount(len(rows))
        for number, row in enumerate(rows):
            self._fill(number, row, first=not number or rows[number - 1].factor != row.factor)
        self.updateGeometry()

    def _fill(self, number: int, row: LevelRow, *, first: bool) -> None:
        texts = [
            (factor_label(row.factor) if first else "", False),
            (level_label(row.factor, row.level), False),
            (row.beside, row.best),
            (f"{row.sum:g}", row.ahead),
            (f"{row.mean:.1f}", row.ahead),
        ]
        for column, (text, bold) in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            font = item.font()
            font.setBold(bold)
            item.setFont(font)
            if column > 1:
                item.setTextAlignment(_RIGHT)
            self.setItem(number, column, item)


_RIGHT_ALIGNED = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class SearchResultTable(AutoHeightTable):
    """Table of the result of a search: winner, present setting, runner-up, default; hidden without a result.

    Signals:
        chosen: levels of the selected row.
        menu_asked: the user wants the context menu of a row: its levels, and the global position (QPoint).
    """

    chosen = Signal(object)
    menu_asked = Signal(object, object)

    def __init__(self) -> None:
        super().__init__("experiment-answer", "", [""] * 5)
        self.setAccessibleName(self.tr("Result of the search"))
        self.setHorizontalHeaderLabels([
            "", self.tr("Speed"), self.tr("95% CI"), self.tr("Trials"), self.tr("Settings"),
        ])  # fmt: skip
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setStretchLastSection(True)
        self._result: BestSettings | None = None
        self._unit = SPEED_UNITS.unit
        self._rows: list[dict[str, str]] = []
        self.itemSelectionChanged.connect(self._on_selection)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self.hide()

    def show_result(self, result: BestSettings | None) -> None:
        """Show the result of a search; None hides the table."""
        self.setVisible(result is not None)
        if result is None or (result is self._result and SPEED_UNITS.unit is self._unit):
            return
        # A change of the speed unit refills the table, but keeps the selected row.
        rows = self.selectionModel().selectedRows()
        selected_row = rows[0].row() if rows and result is self._result else -1
        self._result = result
        self._unit = SPEED_UNITS.unit
        shown = search_rows(result)
        self.blockSignals(True)  # noqa: FBT003
        self.clearSelection()
        self.setRowCount(len(shown))
        self._rows = [row.levels for row in shown]
        for index, row in enumerate(shown):
            self._fill(index, row, result)
        if selected_row >= 0:
            self.selectRow(selected_row)
        self.blockSignals(False)  # noqa: FBT003
        self.updateGeometry()

    def _fill(self, index: int, row: SearchRow, result: BestSettings) -> None:
        names = {
            "winner": self.tr("Winner"), "present": self.tr("Now"), "next": self.tr("Next"),
            "default": self.tr("Kernel's default"),
        }  # fmt: skip
        name = names[row.name]
        option_set = set_with_levels(row.levels, result.plan.sets)
        if option_set is None and row.name == "present":
            option_set = result.plan.present
        texts = [
            self.tr("{name}, tested again").format(name=name) if row.again else name,
            with_unit(WRITE, row.median),
            interval_with_unit(WRITE, row.low, row.high),
            str(row.trials),
            setting_text(option_set) if option_set is not None else "",
        ]
        for column, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            if 0 < column < 4:
                item.setTextAlignment(_RIGHT_ALIGNED)
            self.setItem(index, column, item)

    def _on_selection(self) -> None:
        rows = self.selectionModel().selectedRows()
        if rows:
            self.chosen.emit(self._rows[rows[0].row()])

    def _on_menu(self, position: QPoint) -> None:
        item = self.itemAt(position)
        if item is not None:
            self.menu_asked.emit(self._rows[item.row()], self.viewport().mapToGlobal(position))
