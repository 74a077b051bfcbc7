"""Which two of the varied settings stand down and across in the tables of an experiment."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QWidget

from app.experiment.factors import label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.experiment.analysis import Findings

#: Letters of a setting that have room in a narrow window, too.
_LETTERS = 14


class AxisChoice(QWidget):
    """Two combo boxes; hidden where there is no table.

    Signals:
        chosen: names of the settings down and across, another one each.
    """

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._choices: list[str] = []
        self._shown: list[str] = []
        self._boxes = QComboBox(), QComboBox()
        names = ("experiment-rows", "experiment-columns")
        texts = (self.tr("Table &down"), self.tr("Across"))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for place, (box, name, text) in enumerate(zip(self._boxes, names, texts, strict=True)):
            title = QLabel(text)
            title.setBuddy(box)
            box.setObjectName(name)
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
            box.setMinimumContentsLength(_LETTERS)
            box.activated.connect(partial(self._on_chosen, place))
            layout.addWidget(title)
            layout.addWidget(box)
        layout.addStretch(1)
        self.hide()

    def show_findings(self, found: Findings | None) -> None:
        """Offer what was varied, and show what the tables have."""
        self.setVisible(found is not None and bool(found.axes))
        if found is None or not found.axes:
            return
        if found.axis_choices != self._choices:
            self._choices = found.axis_choices
            for box in self._boxes:
                box.clear()
                for name in self._choices:
                    box.addItem(label(name), name)
        self._show(found.axes)

    def _show(self, axes: Sequence[str]) -> None:
        self._shown = list(axes)
        for box, name in zip(self._boxes, axes, strict=True):
            box.setCurrentIndex(box.findData(name))

    def _on_chosen(self, place: int, _index: int) -> None:
        """Take a choice; where it stands on the other side already, the two change places."""
        now: list[str] = [box.currentData() for box in self._boxes]
        if now[0] == now[1]:
            now[1 - place] = self._shown[place]
        self._show(now)
        self.chosen.emit(now)
