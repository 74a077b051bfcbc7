"""The option sets of an experiment as a table, the best first; those struck out stand at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from app.experiment.factors import label, level_label
from ui.common.figure_text import between, written
from ui.common.tables import in_lines

if TYPE_CHECKING:
    from advisor.experiment.ranking import Ranking, Standing

    AnyIndex = QModelIndex | QPersistentModelIndex

#: Columns that may have nothing to tell.
INTERVAL, TIMEOUTS = 2, 3

_NO_INDEX = QModelIndex()
_PLACE, _MEDIAN = range(INTERVAL)
#: Columns of numbers, which end where their titles end.
NUMBERS = (_MEDIAN, INTERVAL, TIMEOUTS)


class RankingModel(QAbstractTableModel):
    """Place, figure, interval, time-outs, and a column for each factor."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ranking: Ranking | None = None
        self._factors: list[str] = []

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Show this one, or none."""
        self.beginResetModel()
        self._ranking = ranking
        standings = ranking.standings if ranking is not None else []
        # What is the same in all says nothing.
        names = list(standings[0].levels) if standings else []
        self._factors = [
            name for name in names if len({one.levels.get(name) for one in standings}) > 1
        ] or names
        self.endResetModel()

    def standing(self, place: int) -> Standing | None:
        """Return the option set of a line."""
        standings = self._ranking.standings if self._ranking is not None else []
        return standings[place] if 0 <= place < len(standings) else None

    def empty_columns(self) -> list[int]:
        """Return the columns of intervals and time-outs that have nothing to tell."""
        standings = self._ranking.standings if self._ranking is not None else []
        told = {INTERVAL: any(len(one.values) > 1 for one in standings),
                TIMEOUTS: any(one.timeouts for one in standings)}  # fmt: skip
        return [column for column, tells in told.items() if not tells]

    def _first_like(self, standing: Standing) -> int:
        """Return the place of the first that it cannot be told apart from, 0 if that is none before it."""
        group = self._ranking.group(standing.group) if self._ranking is not None and standing.group else []
        return group[0].place if group and group[0].place < standing.place else 0

    def _text(self, standing: Standing, column: int) -> str:
        figure = self._ranking.figure if self._ranking is not None else ""
        if column == _PLACE:
            first = self._first_like(standing)
            like = self.tr("  (like {place})").format(place=first) if first else ""
            return f"{standing.place}{like}"
        if column == _MEDIAN:
            return written(figure, standing.median)
        if column == INTERVAL and len(standing.values) < 2:
            return "—"
        if column == INTERVAL:
            return between(figure, standing.low, standing.high)
        if column == TIMEOUTS:
            return f"{standing.timeouts:.3g}"
        name = self._factors[column - TIMEOUTS - 1]
        level = standing.levels.get(name)
        return "—" if level is None else level_label(name, level)

    # Qt overrides

    def rowCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: option sets."""
        return 0 if parent.isValid() or self._ranking is None else len(self._ranking.standings)

    def columnCount(self, parent: AnyIndex = _NO_INDEX) -> int:
        """Qt: four, and the factors."""
        return 0 if parent.isValid() else TIMEOUTS + 1 + len(self._factors)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Qt: titles, which stand where their columns' texts do."""
        if orientation is not Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(section)
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        titles = [self.tr("Place"), self.tr("Median"), self.tr("Interval"), self.tr("Time-outs")]
        return [*titles, *(in_lines(label(name)) for name in self._factors)][section]

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Qt: texts, and where they stand."""
        standing = self.standing(index.row()) if index.isValid() else None
        if standing is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._text(standing, index.column())
        if role == Qt.ItemDataRole.ToolTipRole and index.column() == _PLACE and self._first_like(standing):
            return self.tr("Cannot be told apart from place {place}.").format(
                place=self._first_like(standing)
            )
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _alignment(index.column())
        return None


def _alignment(column: int) -> int:
    side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
    return int(side | Qt.AlignmentFlag.AlignVCenter)
