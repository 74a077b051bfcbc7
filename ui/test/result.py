"""Result of a test: table of figures, bottleneck, sufficient uses, warnings and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QBoxLayout, QVBoxLayout, QWidget

from app.speedtest.analysis import outlier_notes, unmeasured_effects
from app.speedtest.network_measurement import network_notes
from ui.common.figure_text import bottleneck_title, rates_texts, wide_text
from ui.common.labels import MutedLabel, enlarge, plain_label
from ui.common.message_list import MessageList
from ui.common.result_tables import GridCellTable, ResultTable
from ui.common.speed_units import SPEED_UNITS, convert_to_chosen_unit

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.history.record_test import RecordedTest
    from app.speedtest.model import TestResult

#: Gap between the table and the sentences at its right, px, and minimum width of these, characters.
_GAP_PX = 24
_LINE_CHARACTERS = 30


class SpeedTestResult(QWidget):
    """Figures of a test and the sentences that explain them; hidden without a result."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: TestResult | None = None
        self._fill_timer = QTimer(self)
        self._fill_timer.setSingleShot(True)
        self._fill_timer.setInterval(0)
        self._fill_timer.timeout.connect(self._fill)
        self._table = ResultTable()
        self._cached = MessageList("", "warn")
        self._cached.setObjectName("cached-warning")
        self._wide = MessageList("", "warn")
        self._wide.setObjectName("wide-warning")
        self._slower = MessageList("", "warn")
        self._slower.setObjectName("slower-warning")
        self._rates = MessageList(self.tr("Small files"), "info")
        self._rates.setObjectName("rates")
        self._enough = MessageList(self.tr("What that is enough for"), "ok")
        self._enough.setObjectName("enough")
        self._bottleneck = plain_label(wrap=True)
        self._bottleneck.setObjectName("bottleneck")
        enlarge(self._bottleneck, 1.0, bold=True)
        self._evidence = MessageList("", "info")
        self._evidence.setObjectName("evidence")
        self._baseline = MessageList(self.tr("Compared with the baseline"), "info")
        self._baseline.setObjectName("baseline")
        self._notes = MutedLabel(wrap=True)
        self._notes.setObjectName("notes")
        texts = QVBoxLayout()
        texts.setSpacing(10)
        verdict = QVBoxLayout()
        verdict.setSpacing(3)
        verdict.addWidget(self._bottleneck)
        verdict.addWidget(self._evidence)
        texts.addWidget(self._cached)
        texts.addWidget(self._wide)
        texts.addWidget(self._slower)
        texts.addLayout(verdict)
        for widget in (self._rates, self._enough, self._baseline, self._notes):
            texts.addWidget(widget)
        texts.addStretch(1)
        self._grid = GridCellTable()
        self._figures = figures = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        figures.setSpacing(_GAP_PX)
        figures.addWidget(self._table, 0, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        figures.addLayout(texts, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._grid)
        layout.addLayout(figures)
        SPEED_UNITS.changed.connect(self._show_tables)
        SPEED_UNITS.changed.connect(self._show_notes)
        self.hide()

    def _table_width(self) -> int:
        return 0 if self._table.isHidden() else self._table.minimumSizeHint().width()

    def _fit(self) -> None:
        """Place the sentences at the right of the table if the width allows, otherwise below."""
        line = self.fontMetrics().averageCharWidth() * _LINE_CHARACTERS
        beside = self.width() >= self._table_width() + _GAP_PX + line
        directions = QBoxLayout.Direction
        self._figures.setDirection(directions.LeftToRight if beside else directions.TopToBottom)

    def show_result(self, result: TestResult | None) -> None:
        """Show a result in the next turn of the event loop; None hides the widget."""
        if result is not None and result is self._shown:
            return
        self._shown = result
        self.hide()
        if result is None:
            self._fill_timer.stop()
        else:
            # Deferred, so that the window shows the end of the test without delay.
            self._fill_timer.start()

    def _fill(self) -> None:
        result = self._shown
        if result is None:
            return
        self._show_tables()
        cached = result.read is not None and result.read.cached
        warning = self.tr("This read did not come from the server alone.")
        self._cached.show_sentences([warning] if cached else [])
        wide = wide_text(result)
        self._wide.show_sentences([*([wide] if wide else []), *outlier_notes(result.figures)])
        bottleneck = result.bottleneck
        self._bottleneck.setText(bottleneck_title(bottleneck) if bottleneck is not None else "")
        self._bottleneck.setVisible(bottleneck is not None)
        evidence = bottleneck.evidence if bottleneck is not None else []
        self._evidence.show_sentences([*evidence, *_network_notes(result)])
        self._rates.show_sentences(rates_texts(result))
        self._enough.show_sentences(result.enough)
        self._show_notes()
        # Shown last: showing each part in a visible page would repeat the layout of the page and the plot.
        self.show()

    def _show_notes(self) -> None:
        result = self._shown
        if result is None:
            return
        cache_note = [result.cache.note] if result.cache is not None else []
        shown = {*cache_note, *outlier_notes(result.figures), *_network_notes(result)}
        notes = [
            *cache_note,
            *unmeasured_effects(result),
            *(note for note in result.notes if note not in shown),
        ]
        self._notes.setText(convert_to_chosen_unit("\n".join(notes)))

    def show_saved(self, recorded: RecordedTest | None) -> None:
        """Show the comparison with the baseline and warnings of the history; None until the test is saved."""
        warnings = [recorded.warning, *recorded.messages] if recorded is not None else []
        self._slower.show_sentences([text for text in warnings if text])
        comparison = recorded.comparison if recorded is not None and not recorded.warning else ""
        self._baseline.show_sentences([comparison] if comparison else [])

    def _show_tables(self) -> None:
        result = self._shown
        self._table.show_result(result)
        self._table.setVisible(result is not None and not result.grid)
        self._grid.show_cells(result.grid if result is not None else [])
        self._fit()

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: width of the table alone, because the sentences can move below it."""
        return QSize(self._table_width(), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: place the sentences according to the new width."""
        super().resizeEvent(event)
        self._fit()


def _network_notes(result: TestResult) -> list[str]:
    return network_notes(result.network, result.write, result.read) if result.network is not None else []
