"""The buttons above a plot: pause, zoom, save, and the unit of speeds."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from ui.widgets.unit_choice import UnitChoice


class PlotTools(QWidget):
    """A row of small buttons.

    Signals:
        pause_changed: whether the plot stands still.
        zoom_clicked: the factor.
        whole_clicked: show all of it.
        save_clicked: keep it in a file.
    """

    pause_changed = Signal(bool)
    zoom_clicked = Signal(float)
    whole_clicked = Signal()
    save_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._pause = self._button(
            "pause", self.tr("&Pause"), self.tr("The test goes on; only the plot stands still.")
        )
        self._pause.setCheckable(True)
        self._pause.toggled.connect(self.pause_changed)
        larger = self._button(
            "zoom-in", "+", self.tr("Show the middle larger (or Ctrl and the wheel, or draw a frame).")
        )
        larger.setAccessibleName(self.tr("Larger"))
        larger.clicked.connect(lambda: self.zoom_clicked.emit(2.0))
        smaller = self._button("zoom-out", "−", self.tr("Show more of it."))  # noqa: RUF001 - the sign
        smaller.setAccessibleName(self.tr("Smaller"))
        smaller.clicked.connect(lambda: self.zoom_clicked.emit(0.5))
        self._whole = self._button("zoom-reset", self.tr("&Whole"), self.tr("Show all of it again."))
        self._whole.clicked.connect(self.whole_clicked)
        save = self._button(
            "save-plot", self.tr("Sa&ve…"), self.tr("Keep the plot as a picture, or its samples as a table.")
        )
        save.clicked.connect(self.save_clicked)
        for button in (larger, smaller):
            button.setFixedWidth(button.sizeHint().height())
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        for widget in (self._pause, larger, smaller, self._whole, save, UnitChoice()):
            layout.addWidget(widget)
        self.set_zoomed(False)

    def set_running(self, *, running: bool) -> None:
        """Offer Pause while there is something to pause."""
        if not running:
            self._pause.setChecked(False)
        self._pause.setEnabled(running)

    def set_zoomed(self, zoomed: bool) -> None:  # noqa: FBT001 - a slot
        """Offer the way back from a zoom."""
        self._whole.setEnabled(zoomed)

    def _button(self, name: str, text: str, tip: str) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.setToolTip(tip)
        button.setAutoDefault(False)
        return button
