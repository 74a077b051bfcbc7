"""Result of a test: verdict, warnings and uses at once; tables, reasons and method folded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.speedtest.analysis import outlier_notes, unmeasured_effects
from app.speedtest.network_measurement import network_notes
from app.text.message import message_text
from ui.common.cards import CardKind, Headline, text_button
from ui.common.figure_text import bottleneck_title, rates_texts, verdict, wide_text
from ui.common.fonts import TextSize, set_text_size
from ui.common.icons import icon
from ui.common.labels import UnitAwareLabel, heading, plain_label
from ui.common.layout import CollapsibleSection
from ui.common.message_list import MessageList
from ui.common.result_tables import GridCellTable, ResultTable
from ui.common.speed_units import SPEED_UNITS

if TYPE_CHECKING:
    from app.history.record_test import RecordedTest
    from app.speedtest.model import TestResult


class SpeedTestResult(QWidget):
    """Answer of a test, what it is enough for, and what to do next; hidden without a result.

    Signals:
        improvement_wanted: the user wants to know what could be faster.
        comparison_wanted: the user wants to compare the test with earlier ones.
        save_clicked: the user wants to save the plot.
    """

    improvement_wanted = Signal()
    comparison_wanted = Signal()
    save_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("test-result")
        self._verdict = Headline()
        self._verdict.setObjectName("verdict")
        self._cached = MessageList("", "warn")
        self._cached.setObjectName("cached-warning")
        self._wide = MessageList("", "warn")
        self._wide.setObjectName("wide-warning")
        self._slower = MessageList("", "warn")
        self._slower.setObjectName("slower-warning")
        self._baseline = MessageList("", "info")
        self._baseline.setObjectName("baseline")
        self._enough = UnitAwareLabel()
        self._enough.setObjectName("enough")
        self._compare = QPushButton(self.tr("Compare with Earlier"))
        self._compare.setObjectName("compare-test")
        self._compare.setAutoDefault(False)
        self._compare.clicked.connect(self.comparison_wanted)
        self._lay_out()
        self.hide()

    def _lay_out(self) -> None:
        improve = QPushButton(self.tr("What Could Be Faster?"))
        improve.setObjectName("improve")
        improve.setIcon(icon("speed"))
        improve.clicked.connect(self.improvement_wanted)
        save = text_button(self.tr("Sa&ve…"))
        save.setObjectName("save-plot")
        save.setToolTip(self.tr("Save the plot as a picture, or its samples as a table."))
        save.clicked.connect(self.save_clicked)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        for button in (improve, self._compare, save):
            button.setAutoDefault(False)
            actions.addWidget(button)
        actions.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        for part in (
            self._verdict, self._cached, self._wide, self._slower, self._baseline, self._enough,
        ):  # fmt: skip
            layout.addWidget(part)
        layout.addLayout(actions)

    def show_result(self, result: TestResult | None) -> None:
        """Show a result; None hides the widget."""
        if result is None:
            self.hide()
            return
        found = verdict(result)
        cached = result.read is not None and result.read.cached
        if found is not None:
            kind = CardKind.OK if found.good else CardKind.PLAIN
            self._verdict.set_text(found.icon, found.text, kind=kind)
        self._verdict.setVisible(found is not None and not cached)
        warning = self.tr("Part of the read came from this computer's cache, not from the server.")
        self._cached.show_sentences([warning] if cached else [])
        wide = wide_text(result)
        self._wide.show_sentences([*([wide] if wide else []), *outlier_notes(result.figures)])
        self._enough.say(" ".join(result.enough))
        self._enough.setVisible(bool(result.enough))
        self.show()

    def show_saved(self, recorded: RecordedTest | None) -> None:
        """Show the comparison with the baseline and warnings of the history; None until the test is saved."""
        warnings = [recorded.warning, *recorded.messages] if recorded is not None else []
        self._slower.show_sentences([text for text in warnings if text])
        comparison = recorded.comparison if recorded is not None and not recorded.warning else ""
        self._baseline.show_sentences([comparison] if comparison else [])
        self._compare.setEnabled(recorded is not None)


class SpeedTestDetails(QWidget):
    """Tables of a test, the reasons of its verdict, and how it was measured; all folded."""

    def __init__(self) -> None:
        super().__init__()
        self._shown: TestResult | None = None
        # The parts are filled in the next turn of the event loop, so that the answer is shown without delay.
        self._fill_timer = QTimer(self)
        self._fill_timer.setSingleShot(True)
        self._fill_timer.setInterval(0)
        self._fill_timer.timeout.connect(self._fill)
        self._table = ResultTable()
        self._table.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._grid = GridCellTable()
        self._rates = UnitAwareLabel()
        self._rates.setObjectName("rates")
        self._bottleneck = plain_label(wrap=True)
        self._bottleneck.setObjectName("bottleneck")
        set_text_size(self._bottleneck, TextSize.BODY, bold=True)
        self._evidence = MessageList("", "info")
        self._evidence.setObjectName("evidence")
        self._notes = UnitAwareLabel()
        self._notes.setObjectName("notes")
        self._rates_title = heading(self.tr("Small Files"), scale=1.0)
        self._sections = [
            CollapsibleSection("test-figures", [self._table, self._grid, self._rates_title, self._rates]),
            CollapsibleSection("test-method", [self._bottleneck, self._evidence, self._notes]),
        ]
        self._sections[0].set_title(self.tr("All Figures"))
        self._sections[1].set_title(self.tr("How This Was Measured"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for section in self._sections:
            layout.addWidget(section)
        SPEED_UNITS.changed.connect(self._show_tables)
        self.hide()

    def show_result(self, result: TestResult | None) -> None:
        """Show the details of a result; None hides them."""
        if result is not None and result is self._shown:
            return
        self._shown = result
        self.setVisible(result is not None)
        if result is None:
            self._fill_timer.stop()
        else:
            self._fill_timer.start()

    def _fill(self) -> None:
        result = self._shown
        if result is None:
            return
        self._show_tables()
        bottleneck = result.bottleneck
        self._bottleneck.setText(bottleneck_title(bottleneck) if bottleneck is not None else "")
        self._bottleneck.setVisible(bottleneck is not None)
        network = (
            network_notes(result.network, result.write, result.read) if result.network is not None else []
        )
        evidence = bottleneck.evidence if bottleneck is not None else []
        self._evidence.show_sentences([*evidence, *network])
        cache_note = [result.cache.note] if result.cache is not None else []
        shown = {*cache_note, *map(message_text, [*outlier_notes(result.figures), *network])}
        notes = [
            *cache_note,
            *unmeasured_effects(result),
            *(note for note in result.notes if note not in shown),
            self.tr("This test is saved in the history."),
        ]
        self._notes.say("\n".join(notes))

    def _show_tables(self) -> None:
        result = self._shown
        self._table.show_result(result)
        self._table.setVisible(result is not None and not result.grid)
        self._grid.show_cells(result.grid if result is not None else [])
        rates = rates_texts(result) if result is not None else []
        self._rates.say("\n".join(rates))
        for part in (self._rates, self._rates_title):
            part.setVisible(bool(rates))
