"""Folded sections of the overview: facts, settings that are right, rejected values, and expected speeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QGridLayout, QVBoxLayout, QWidget

from ui.common.labels import MutedLabel, plain_label
from ui.common.layout import CollapsibleSection
from ui.overview.advice_text import curve_text, expected_text, is_flat, other_text
from ui.overview.facts_card import unknown_reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from PySide6.QtGui import QShowEvent

    from advisor.prediction import PredictedCurve
    from app.service.model import AdviceResult

#: Width of the column of names, characters.
_NAME_WIDTH = 26


class GroupedReasons(QWidget):
    """Two-column list: names that have the same reason, and that reason."""

    def __init__(self, reasons: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        width = self.fontMetrics().averageCharWidth() * _NAME_WIDTH
        for row, (reason, names) in enumerate(reasons.items()):
            name = plain_label(", ".join(names), wrap=True)
            name.setFixedWidth(width)
            text = MutedLabel(reason, wrap=True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(text, row, 1, Qt.AlignmentFlag.AlignTop)


class FoldedList(CollapsibleSection):
    """Folded list of names with reasons; hidden while it is empty."""

    def __init__(self, name: str) -> None:
        self._box = QWidget()
        QVBoxLayout(self._box).setContentsMargins(0, 0, 0, 0)
        super().__init__(name, [self._box])
        self.hide()

    def show_entries(self, title: str, entries: Iterable[tuple[str, str]]) -> None:
        """Show names with their reasons; names with the same reason share a row."""
        reasons: dict[str, list[str]] = {}
        for name, reason in entries:
            reasons.setdefault(reason, []).append(name)
        layout = self._box.layout()
        if layout is None:
            return
        while (item := layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        layout.addWidget(GroupedReasons(reasons))
        self.set_title(title)
        self.setVisible(bool(reasons))


class ExpectedSpeed(CollapsibleSection):
    """Folded predictions of the throughput model; a curve that is not flat is drawn when it is unfolded."""

    def __init__(self, name: str) -> None:
        self._text = plain_label(wrap=True)
        self._plot_box = QFrame()
        self._plot_layout = QVBoxLayout(self._plot_box)
        self._plot_layout.setContentsMargins(0, 0, 0, 0)
        #: Curve that is drawn as soon as the section is visible.
        self._curve: PredictedCurve | None = None
        self._content = _ShownWidget(self._draw)
        layout = QVBoxLayout(self._content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self._text)
        layout.addWidget(self._plot_box)
        super().__init__(name, [self._content])
        self.set_title(self.tr("Expected Speed"))
        self.hide()

    def show_result(self, result: AdviceResult | None) -> None:
        """Show the predictions for a result."""
        lines = expected_text(result.expected) if result is not None else []
        curve = result.curve if result is not None else None
        while (item := self._plot_layout.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.setObjectName("")
                widget.deleteLater()
        self._curve = curve if curve is not None and not is_flat(curve) else None
        self._plot_box.setVisible(self._curve is not None)
        self._text.setText("\n".join([*lines, *curve_text(curve)]))
        self.setVisible(bool(lines) or curve is not None)
        if self._content.isVisible():
            self._draw()

    def _draw(self) -> None:
        curve, self._curve = self._curve, None
        if curve is None:
            return
        # Imported here, because the import of pyqtgraph takes about 1 s.
        from ui.plots.expected_plot import ExpectedPlot

        plot = ExpectedPlot(self._plot_box)
        plot.draw(curve)
        self._plot_layout.addWidget(plot)


class _ShownWidget(QWidget):
    """Widget that calls a function when it becomes visible."""

    def __init__(self, shown: object) -> None:
        super().__init__()
        self._shown = shown

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: call the function."""
        super().showEvent(event)
        if callable(self._shown):
            self._shown()


def unknown_entries(result: AdviceResult) -> list[tuple[str, str]]:
    """Return the names of unknown facts with the reasons why they are unknown."""
    return [
        (name, f"{why[:1].upper()}{why[1:].rstrip('.')}.")
        for why, names in unknown_reasons(result.facts).items()
        for name in names
    ]


def rejected_entries(result: AdviceResult) -> list[tuple[str, str]]:
    """Return the values that are not recommended, with the reasons."""
    return [(other_text(item), item.reason) for item in result.not_recommended]
