"""Levels that are not measured, struck out, each with its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.experiment.factors import label, level_label
from ui.common.labels import MutedLabel, plain_label
from ui.experiments.plan_view import levels_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.experiment.model import Struck


class StruckList(QWidget):
    """Shows them; hidden when there are none."""

    def __init__(self) -> None:
        super().__init__()
        self._struck: list[Struck] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(14)
        self._grid.setVerticalSpacing(3)
        self._grid.setColumnStretch(1, 1)
        self.hide()

    def show_struck(self, struck: Sequence[Struck]) -> None:
        """Show these instead of the ones before."""
        self.setVisible(bool(struck))
        if list(struck) == self._struck:
            return
        self._struck = list(struck)
        while (item := self._grid.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (text, reason) in enumerate(_together(struck)):
            out = plain_label(text, wrap=True)
            font = out.font()
            font.setStrikeOut(True)
            out.setFont(font)
            out.setAccessibleName(self.tr("Not measured: {levels}").format(levels=text))
            out.setMinimumWidth(min(out.fontMetrics().horizontalAdvance(text) + 2,
                                    out.fontMetrics().averageCharWidth() * 30))  # fmt: skip
            self._grid.addWidget(out, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(MutedLabel(reason, wrap=True), row, 1, Qt.AlignmentFlag.AlignTop)


def _together(struck: Sequence[Struck]) -> list[tuple[str, str]]:
    """Return what is struck out in words, with its reason; levels of one factor for one reason together."""
    rows: dict[tuple[str, str], list[str]] = {}
    for one in struck:
        words = [levels_words(one.levels)]
        if len(one.levels) == 1:
            ((factor, level),) = one.levels.items()
            words = [label(factor), level_label(factor, level)]
        rows.setdefault((words[0], one.reason), []).extend(words[1:])
    return [
        (f"{name}: {', '.join(levels)}" if levels else name, reason)
        for (name, reason), levels in rows.items()
    ]
