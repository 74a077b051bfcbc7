"""The way to the server as a card: each fact with how it was learned as its tool tip."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from ui.common.labels import MutedLabel, heading, plain_label, plain_tip
from ui.overview.facts_card import fact_rows

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from advisor.facts import Facts
    from ui.overview.facts_card import FactText

#: Facts stand in so many columns, one less if the card is not so many letters wide.
_COLUMNS, _WIDE = 3, 84


class FactsCard(QFrame):
    """Shows facts; hidden while there are none.

    Signals:
        refresh_clicked: look again.
    """

    refresh_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("facts-card")
        self._facts: Facts | None = None
        self._columns = _COLUMNS
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self._refresh = QPushButton(self.tr("Refre&sh"))
        self._refresh.setObjectName("refresh-facts")
        self._refresh.setToolTip(self.tr("Look at the link and the server again."))
        self._refresh.clicked.connect(self.refresh_clicked)
        top = QHBoxLayout()
        top.addWidget(heading(self.tr("The way to the server"), scale=1.0), 1)
        top.addWidget(self._refresh)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(14, 8, 14, 10)
        self._layout.setSpacing(4)
        self._layout.addLayout(top)
        self._cells = QWidget()
        self._layout.addWidget(self._cells)
        self.show_facts(None)

    def show_facts(self, facts: Facts | None) -> None:
        """Show these facts, or nothing."""
        self._facts = facts
        self._show()

    def _show(self) -> None:
        facts = self._facts
        self._layout.removeWidget(self._cells)
        self._cells.setParent(None)
        self._cells.deleteLater()
        self._cells = QWidget()
        rows = fact_rows(facts) if facts is not None else []
        grid = QGridLayout(self._cells)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(3)
        for place, row in enumerate(rows):
            self._add(grid, place, row)
        for column in range(self._columns):
            grid.setColumnStretch(2 * column + 1, 1)
        self._layout.addWidget(self._cells)
        self.setVisible(bool(rows))

    def _add(self, grid: QGridLayout, place: int, row: FactText) -> None:
        line, column = divmod(place, self._columns)
        name = MutedLabel(row.label)
        value = plain_label(row.value, wrap=True) if row.value else MutedLabel(self.tr("not known"))
        value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        value.setAccessibleName(f"{row.label}: {value.text()}")
        for label in (name, value):
            label.setToolTip(plain_tip(self._how(row)))
            label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(name, line, 2 * column)
        grid.addWidget(value, line, 2 * column + 1)

    def _how(self, row: FactText) -> str:
        if not row.how:
            return self.tr("Nothing says how it was learned.") if row.value else self.tr("It was not told.")
        known = self.tr("Known from: {how}.") if row.value else self.tr("Not known: {how}.")
        return known.format(how=row.how.rstrip("."))

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: fewer facts beside each other in a narrow window."""
        super().resizeEvent(event)
        columns = _COLUMNS if self.width() >= self.fontMetrics().averageCharWidth() * _WIDE else _COLUMNS - 1
        if columns != self._columns:
            self._columns = columns
            self._show()
