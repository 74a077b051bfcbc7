"""The figures of a finished test and what a reader must know about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui import theme
from ui.widgets.labels import MutedLabel, enlarge, plain_label
from ui.widgets.result_table import ResultTable

if TYPE_CHECKING:
    from app.bench.result import TestResult


class QuickTestResult(QWidget):
    """Hidden until there is a result."""

    def __init__(self) -> None:
        super().__init__()
        self._table = ResultTable()
        self._warning = plain_label(wrap=True)
        self._warning.setObjectName("cached-warning")
        enlarge(self._warning, 1.0, bold=True)
        self._notes = MutedLabel(wrap=True)
        self._notes.setObjectName("notes")
        texts = QVBoxLayout()
        texts.setSpacing(8)
        texts.addWidget(self._warning)
        texts.addWidget(self._notes)
        texts.addStretch(1)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(24)
        layout.addWidget(self._table)
        layout.addLayout(texts, 1)
        self.hide()

    def show_result(self, result: TestResult | None) -> None:
        """Show this result, or nothing."""
        self.setVisible(result is not None)
        self._table.show_result(result)
        if result is None:
            return
        cached = result.read is not None and result.read.cached
        self._warning.setText(
            self.tr("Warning: this read did not come from the server alone.") if cached else ""
        )
        self._warning.setVisible(cached)
        cache_note = [result.cache.note] if result.cache is not None else []
        notes = [*cache_note, *(note for note in result.notes if note not in cache_note)]
        self._notes.setText("\n".join(notes))
        self._colour()

    def _colour(self) -> None:
        theme.tint(self._warning, theme.colours_of(self).warn)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_warning"):
            self._colour()
