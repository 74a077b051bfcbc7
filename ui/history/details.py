"""Details of selected tests: all figures of one, a comparison of two, an overlay plot of several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QVBoxLayout, QWidget

from app.history.compare_runs import settings_text
from app.speedtest.analysis import unmeasured_effects
from ui.common.figure_text import bottleneck_title
from ui.common.labels import MutedLabel, heading, plain_label
from ui.common.message_list import MessageList
from ui.common.result_tables import GridCellTable, ResultTable
from ui.common.status_text import moment_text
from ui.plots.legend import MAX_RUNS, Swatch, run_styles
from ui.plots.timeline import differing_options, overlay_lines

if TYPE_CHECKING:
    from advisor.message import Message
    from app.history.compare_runs import DifferingValue
    from app.history.model import Run
    from app.history.queries import SelectedRuns
    from ui.plots.timeline import TransferDirection

_DIRECTIONS: tuple[TransferDirection, ...] = ("write", "read")
#: Kind of message list for each verdict of a comparison.
_MEANINGS = {"faster": "ok", "slower": "warn", "same": "info", "unknown": "info"}


class HistoryDetails(QWidget):
    """View of the selected tests (:class:`app.history.queries.SelectedRuns`)."""

    def __init__(self) -> None:
        super().__init__()
        self._plot: Any = None
        self._selected: SelectedRuns | None = None
        self._title = heading("", scale=1.0)
        self._title.setObjectName("history-title")
        self._keys = QWidget()
        self._plot_box = QFrame()
        self._plot_box.setFrameShape(QFrame.Shape.StyledPanel)
        self._plot_box.setFixedHeight(self.fontMetrics().lineSpacing() * 11)
        self._plot_layout = QVBoxLayout(self._plot_box)
        self._plot_layout.setContentsMargins(1, 1, 1, 1)
        self._result = ResultTable()
        self._result.setObjectName("history-results")
        self._grid = GridCellTable()
        self._grid.setObjectName("history-grid")
        self._messages = {
            "ok": MessageList("", "ok"), "warn": MessageList("", "warn"), "info": MessageList("", "info")
        }  # fmt: skip
        for name, sentences in self._messages.items():
            sentences.setObjectName(f"history-{name}")
        self._notes = MessageList("", "info")
        self._notes.setObjectName("history-notes")
        self._table = QWidget()
        self._lay_out()

    def _lay_out(self) -> None:
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        self._keys_layout = QGridLayout(self._keys)
        self._keys_layout.setContentsMargins(0, 0, 0, 0)
        self._table_layout = QGridLayout(self._table)
        self._table_layout.setContentsMargins(0, 0, 0, 0)
        self._table_layout.setHorizontalSpacing(18)
        self._table_layout.setVerticalSpacing(3)
        for widget in (
            self._title, *self._messages.values(), self._plot_box, self._keys, self._grid, self._result,
            self._notes, self._table,
        ):  # fmt: skip
            layout.addWidget(widget)
        layout.addStretch(1)

    def show_tests(self, selected: SelectedRuns | None) -> None:
        """Show the selected tests; None hides the view."""
        self._selected = selected
        self.setVisible(selected is not None)
        if selected is None:
            return
        if self._plot is None:
            # Imported late, because pyqtgraph takes a second to import.
            from ui.plots.overlay_plot import OverlayPlot

            self._plot = OverlayPlot()
            self._plot_layout.addWidget(self._plot)
        results = [run.result for run in selected.runs[-MAX_RUNS:]]
        lines = overlay_lines(results)
        self._plot.draw(lines, [moment_text(result.started_at) for result in results])
        self._plot_box.setVisible(bool(lines))
        self._title.setText(self._title_of(selected))
        self._show_keys(selected.runs[-MAX_RUNS:], drawn=bool(lines))
        single = results[0] if len(selected.runs) == 1 else None
        self._grid.show_cells(single.grid if single is not None else [])
        self._result.setVisible(single is not None and not single.grid)
        self._result.show_result(single)
        self._show_sentences(selected)
        self._show_table(selected)

    def _title_of(self, selected: SelectedRuns) -> str:
        if len(selected.runs) == 1:
            result = selected.runs[0].result
            return self.tr("Test of {share}: {when}").format(
                share=result.share or result.path, when=moment_text(result.started_at)
            )
        if len(selected.runs) == 2:
            return self.tr("Newer Test Compared with Older")
        text = self.tr("{count} Tests Compared").format(count=len(selected.runs))
        if len(selected.runs) > MAX_RUNS:
            text = self.tr("{count} Tests, the Newest {shown} Drawn").format(
                count=len(selected.runs), shown=MAX_RUNS
            )
        return text

    def _show_keys(self, runs: list[Run], *, drawn: bool) -> None:
        """Show the lines, time and differing options of each test; lines only if curves are drawn."""
        _clear(self._keys_layout)
        styles = run_styles(len(runs))
        options = differing_options([run.result for run in runs])
        for row, run in enumerate(runs):
            if drawn:
                for column, meaning in enumerate(_DIRECTIONS):
                    swatch = Swatch(meaning, style=styles[row])
                    self._keys_layout.addWidget(swatch, row, column, Qt.AlignmentFlag.AlignTop)
            text = f"{moment_text(run.result.started_at)}   {options[row] or self.tr('Same options')}"
            label = plain_label(text, wrap=True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._keys_layout.addWidget(label, row, 2)
        if drawn:
            note = MutedLabel(self.tr("Left: to the server. Right: from the server."))
            self._keys_layout.addWidget(note, len(runs), 2)
        self._keys_layout.setColumnStretch(2, 1)

    def _show_sentences(self, selected: SelectedRuns) -> None:
        messages: dict[str, list[str | Message]] = {"ok": [], "warn": [], "info": []}
        notes: list[str | Message] = []
        if selected.problem:
            messages["warn"].append(selected.problem)
        if selected.compared is not None:
            for item in selected.compared.comparisons:
                text = item.text()
                messages[_MEANINGS[item.verdict]].append(f"{text[:1].upper()}{text[1:]}.")
            messages["warn"] += selected.compared.notes
        if len(selected.runs) == 1:
            result = selected.runs[0].result
            bottleneck = result.bottleneck
            if bottleneck is not None:
                messages["info"] = [bottleneck_title(bottleneck), *bottleneck.evidence[:1]]
                notes += bottleneck.evidence[1:]
            notes += [*result.enough, *result.notes, *unmeasured_effects(result)]
        self._notes.show_sentences(notes)
        for name, sentences in self._messages.items():
            sentences.show_sentences(messages[name])

    def _show_table(self, selected: SelectedRuns) -> None:
        """Show the values in which two tests differ, or the settings of a single test."""
        _clear(self._table_layout)
        if selected.compared is not None:
            self._fill(selected.compared.differing)
        elif len(selected.runs) == 1:
            for row, (name, value) in enumerate(settings_text(selected.runs[0].result).items()):
                self._table_layout.addWidget(MutedLabel(name), row, 0, Qt.AlignmentFlag.AlignTop)
                self._table_layout.addWidget(_selectable(value), row, 1)
            self._table_layout.setColumnStretch(1, 1)

    def _fill(self, differing: list[DifferingValue]) -> None:
        titles = (self.tr("Difference"), self.tr("Older"), self.tr("Newer"))
        if not differing:
            titles = (self.tr("Options and environment are the same."), "", "")
        for column, title in enumerate(titles):
            self._table_layout.addWidget(heading(title, scale=1.0), 0, column)
        for row, item in enumerate(differing, 1):
            for column, text in enumerate(item):
                self._table_layout.addWidget(_selectable(text), row, column)
        self._table_layout.setColumnStretch(2, 1)


def _selectable(text: str) -> QLabel:
    label = plain_label(text, wrap=True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


def _clear(layout: QGridLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        widget = item.widget()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
