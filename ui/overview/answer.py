"""Answer of the advice page: recommended changes, settings to keep, rejected values, and unknown facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from advisor.recommend import group_recommendations
from app.service.advice import headline, missing_facts_hint
from ui.common.labels import MutedLabel, heading, plain_label
from ui.overview.advice_text import curve_text, expected_text, option_label, other_text, replaced_text
from ui.overview.cards import AdviceCard, SystemWarningBox
from ui.overview.facts_card import unknown_reasons

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from PySide6.QtGui import QShowEvent

    from advisor.prediction import PredictedCurve
    from app.errors import AppError
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


class AdviceAnswer(QWidget):
    """Recommendations with their reasons, or the reason why there are none.

    Signals:
        use_clicked: put all included recommendations for the mount into the form.
        try_clicked: run the before-and-after test of the recommendations.
        included: option name, and whether its recommendation is included in the advice.
    """

    use_clicked = Signal()
    try_clicked = Signal()
    included = Signal(str, bool)

    def __init__(self) -> None:
        super().__init__()
        self._summary = heading("")
        self._summary.setObjectName("advice-summary")
        self._summary.setWordWrap(True)
        self._use = QPushButton(self.tr("Use &recommended"))
        self._use.setObjectName("use-recommended")
        self._use.setToolTip(self.tr("Fill the settings with these values. Nothing is mounted by that."))
        self._use.clicked.connect(self.use_clicked)
        self._try = QPushButton(self.tr("&Test before and after…"))
        self._try.setObjectName("try-recommended")
        self._try.setToolTip(self.tr("Run the quick test, apply these values, and run it again."))
        self._try.clicked.connect(self.try_clicked)
        self._replaced = MutedLabel(wrap=True)
        self._replaced.setObjectName("replaced")
        #: Curve that is drawn in `_plot_box` when the page becomes visible.
        self._curve: PredictedCurve | None = None
        self._plot_box: QFrame | None = None
        self._body = QVBoxLayout()
        self._body.setSpacing(10)
        top = QHBoxLayout()
        top.addWidget(self._summary, 1)
        top.addWidget(self._try)
        top.addWidget(self._use)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addWidget(self._replaced)
        layout.addLayout(self._body)
        self.show_text("")

    def show_text(self, text: str) -> None:
        """Show a sentence instead of recommendations."""
        self._clear()
        self._summary.setText(text)

    def show_failure(self, error: AppError) -> None:
        """Show why there is no advice."""
        self.show_text(self.tr("No advice: {message}").format(message=error.message))
        if error.hint:
            self._body.addWidget(plain_label(error.hint, wrap=True))

    def show_result(self, result: AdviceResult, *, elsewhere: bool, mounted: bool) -> None:
        """Show recommendations.

        Args:
            result: the advice.
            elsewhere: whether the advice is for another computer, so that it cannot be used or tested here.
            mounted: whether the share is mounted, so that the recommendations can be tested.
        """
        self._clear()
        for_mount = [item for item in result.recommendations if item.scope != "host" and item.included]
        self._use.setVisible(bool(for_mount))
        self._use.setEnabled(not elsewhere)
        self._try.setVisible(bool(for_mount) and mounted and not elsewhere)
        self._summary.setText(headline(result))
        replaced = "" if elsewhere else replaced_text(for_mount)
        self._replaced.setText(replaced)
        self._replaced.setVisible(bool(replaced))
        hint = missing_facts_hint(result) if not result.recommendations else ""
        if hint:
            self._body.addWidget(plain_label(hint, wrap=True))
        for matter in result.attention:
            self._body.addWidget(SystemWarningBox(matter))
        for group in group_recommendations(result.recommendations):
            card = AdviceCard(group)
            card.included.connect(self.included)
            self._body.addWidget(card)
        self._show_expected(result)
        self._section(
            self.tr("Right as it is"),
            ((option_label(name), reason) for name, reason in result.agreed.items()),
        )
        self._section(
            self.tr("Not recommended"),
            ((other_text(item), item.reason) for item in result.not_recommended),
        )
        self._section(
            self.tr("Not known, and so not taken into account"),
            ((name, f"{why[:1].upper()}{why[1:].rstrip('.')}.")
             for why, names in unknown_reasons(result.facts).items() for name in names),
        )  # fmt: skip

    def _show_expected(self, result: AdviceResult) -> None:
        lines = expected_text(result.expected)
        curve = result.curve
        if lines or curve is not None:
            self._body.addWidget(heading(self.tr("Expected speed of large files, from a model"), scale=1.0))
            self._body.addWidget(plain_label("\n".join([*lines, *curve_text(curve)]), wrap=True))
        if curve is not None:
            self._plot_box = QFrame()
            self._plot_box.setFrameShape(QFrame.Shape.StyledPanel)
            QVBoxLayout(self._plot_box).setContentsMargins(1, 1, 1, 1)
            self._body.addWidget(self._plot_box)
            self._curve = curve
            if self.isVisible():
                self._draw()

    def _draw(self) -> None:
        """Draw the pending curve, if there is one."""
        curve, self._curve = self._curve, None
        layout = self._plot_box.layout() if self._plot_box is not None else None
        if curve is None or layout is None:
            return
        # Imported here, because the import of pyqtgraph takes about 1 s and would delay the window's start.
        from ui.plots.expected_plot import ExpectedPlot

        plot = ExpectedPlot(self._plot_box)
        plot.draw(curve)
        layout.addWidget(plot)

    def _section(self, title: str, entries: Iterable[tuple[str, str]]) -> None:
        reasons: dict[str, list[str]] = {}
        for name, reason in entries:
            reasons.setdefault(reason, []).append(name)
        if reasons:
            self._body.addWidget(heading(title, scale=1.0))
            self._body.addWidget(GroupedReasons(reasons))

    def _clear(self) -> None:
        self._plot_box = self._curve = None
        self._use.hide()
        self._try.hide()
        self._replaced.hide()
        while (item := self._body.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.setParent(None)
                widget.deleteLater()

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: draw the curve that was pending while the page was hidden."""
        super().showEvent(event)
        self._draw()
