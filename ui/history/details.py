"""Details of selected tests: one with all its figures, two compared, or several drawn over each other."""

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
from ui.common.status_text import local_time
from ui.plots.legend import Swatch
from ui.plots.timeline import SERIES_COLORS, differing_options, overlay_lines

if TYPE_CHECKING:
    from app.history.compare_runs import DifferingValue
    from app.history.model import Run
    from app.history.queries import SelectedRuns

#: Of a verdict to the sign in front of its sentence.
_MEANINGS = {"faster": "ok", "slower": "warn", "same": "info", "unknown": "info"}


class HistoryDetails(QWidget):
    """Shows a :class:`app.history.queries.SelectedRuns`."""

    def __init__(self) -> None:
        super().__init__()
        self._plot: Any = None
        self._laid: SelectedRuns | None = None
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
        self._said = {
            "ok": MessageList("", "ok"), "warn": MessageList("", "warn"), "info": MessageList("", "info")
        }  # fmt: skip
        for name, sentences in self._said.items():
            sentences.setObjectName(f"history-{name}")
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
            self._title, *self._said.values(), self._plot_box, self._keys, self._grid, self._result,
            self._table,
        ):  # fmt: skip
            layout.addWidget(widget)
        layout.addStretch(1)

    def show_tests(self, laid: SelectedRuns | None) -> None:
        """Show these tests, or nothing."""
        self._laid = laid
        self.setVisible(laid is not None)
        if laid is None:
            return
        if self._plot is None:
            # A second to import: only once somebody looks.
            from ui.plots.overlay_plot import OverlayPlot

            self._plot = OverlayPlot()
            self._plot_layout.addWidget(self._plot)
        results = [run.result for run in laid.runs[: len(SERIES_COLORS)]]
        lines = overlay_lines(results)
        self._plot.draw(lines)
        self._plot_box.setVisible(bool(lines))
        self._title.setText(self._title_of(laid))
        self._show_keys(laid.runs[: len(SERIES_COLORS)], drawn=bool(lines))
        one = results[0] if len(laid.runs) == 1 else None
        self._grid.show_cells(one.grid if one is not None else [])
        self._result.setVisible(one is not None and not one.grid)
        self._result.show_result(one)
        self._show_sentences(laid)
        self._show_table(laid)

    def _title_of(self, laid: SelectedRuns) -> str:
        if len(laid.runs) == 1:
            result = laid.runs[0].result
            return self.tr("Test of {share} on {when}").format(
                share=result.share or result.path, when=local_time(result.started_at)
            )
        if len(laid.runs) == 2:
            return self.tr("The newer test beside the older")
        text = self.tr("{count} tests over each other").format(count=len(laid.runs))
        if len(laid.runs) > len(SERIES_COLORS):
            text += self.tr(" (the {count} oldest are drawn)").format(count=len(SERIES_COLORS))
        return text

    def _show_keys(self, runs: list[Run], *, drawn: bool) -> None:
        """Say which color is whose if something is drawn; solid is to the server, dashed from it."""
        _clear(self._keys_layout)
        options = differing_options([run.result for run in runs])
        for row, run in enumerate(runs):
            if drawn:
                self._keys_layout.addWidget(Swatch(SERIES_COLORS[row]), row, 0, Qt.AlignmentFlag.AlignTop)
            text = f"{local_time(run.result.started_at)}   {options[row] or self.tr('the same options')}"
            label = plain_label(text, wrap=True)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._keys_layout.addWidget(label, row, 1)
        if drawn:
            note = MutedLabel(self.tr("Solid lines: to the server. Dashed lines: from it."))
            self._keys_layout.addWidget(note, len(runs), 1)
        self._keys_layout.setColumnStretch(1, 1)

    def _show_sentences(self, laid: SelectedRuns) -> None:
        said: dict[str, list[str]] = {"ok": [], "warn": [], "info": []}
        if laid.problem:
            said["warn"].append(laid.problem)
        if laid.compared is not None:
            for item in laid.compared.comparisons:
                text = item.text()
                said[_MEANINGS[item.verdict]].append(f"{text[:1].upper()}{text[1:]}.")
            said["warn"] += laid.compared.notes
        if len(laid.runs) == 1:
            result = laid.runs[0].result
            found = result.bottleneck
            held = [bottleneck_title(found), *found.evidence] if found is not None else []
            said["info"] = [*held, *result.notes, *unmeasured_effects(result), *result.enough]
        for name, sentences in self._said.items():
            sentences.show_sentences(said[name])

    def _show_table(self, laid: SelectedRuns) -> None:
        """Show what differs between two, or where one was measured."""
        _clear(self._table_layout)
        if laid.compared is not None:
            self._fill(laid.compared.differing)
        elif len(laid.runs) == 1:
            for row, (name, value) in enumerate(settings_text(laid.runs[0].result).items()):
                self._table_layout.addWidget(MutedLabel(name), row, 0, Qt.AlignmentFlag.AlignTop)
                self._table_layout.addWidget(_selectable(value), row, 1)
            self._table_layout.setColumnStretch(1, 1)

    def _fill(self, differing: list[DifferingValue]) -> None:
        titles = (self.tr("What differs"), self.tr("older"), self.tr("newer"))
        if not differing:
            titles = (self.tr("Options and environment are the same in both."), "", "")
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
