"""What a quick test shall do, and the button that starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QPushButton, QWidget

from app.bench.result import DEFAULT_SIZE, TestSpec
from app.units import format_size
from ui import theme
from ui.widgets.labels import enlarge

if TYPE_CHECKING:
    from app.bench.result import CacheMethod, Direction

_SIZES = tuple(2**20 * count for count in (4, 16, 64, 256, 1024, 4096))


class QuickTestControls(QWidget):
    """Direction, size, cache handling; Start and Stop are one button.

    Signals:
        start_clicked: begin.
        stop_clicked: cancel.
        plan_changed: another direction, size or method was chosen.
    """

    start_clicked = Signal()
    stop_clicked = Signal()
    plan_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._running = False
        self._direction = QComboBox()
        self._direction.setObjectName("direction")
        for text, value in (
            (self.tr("To the server and back"), "both"),
            (self.tr("To the server"), "write"),
            (self.tr("From the server"), "read"),
        ):
            self._direction.addItem(text, value)
        self._size = QComboBox()
        self._size.setObjectName("size")
        for size in _SIZES:
            self._size.addItem(format_size(size), float(size))  # a float: an int role is 32 bits
        self._size.setCurrentIndex(_SIZES.index(DEFAULT_SIZE))
        self._cache = QComboBox()
        self._cache.setObjectName("cache")
        self._cache.addItem(self.tr("Emptied before reading"), "fadvise")
        self._cache.addItem(self.tr("Bypassed (direct I/O)"), "direct")
        self._cache.setToolTip(self.tr("How the memory of this computer is kept out of the read,\n"
                                       "so that the bytes really come from the server."))  # fmt: skip
        self._button = QPushButton(self.tr("&Start"))
        self._button.setObjectName("start")
        enlarge(self._button, 1.25, bold=True)
        self._button.clicked.connect(self._on_button)
        for combo in (self._direction, self._size, self._cache):
            combo.currentIndexChanged.connect(self.plan_changed)
        self._lay_out()
        self._colour()

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(3)
        for column, (text, combo) in enumerate(
            ((self.tr("&Copy"), self._direction), (self.tr("Si&ze"), self._size),
             (self.tr("Client's c&ache"), self._cache))
        ):  # fmt: skip
            label = QLabel(text)
            label.setBuddy(combo)
            combo.setAccessibleName(text.replace("&", ""))
            grid.addWidget(label, 0, column)
            grid.addWidget(combo, 1, column)
        grid.setColumnStretch(3, 1)
        metrics = self._button.fontMetrics()
        self._button.setMinimumSize(metrics.averageCharWidth() * 18, int(metrics.lineSpacing() * 2.3))
        grid.addWidget(self._button, 0, 4, 2, 1)

    def spec(self, path: str) -> TestSpec:
        """Return what was chosen."""
        return TestSpec(
            path=path,
            direction=cast("Direction", self._direction.currentData()),
            size=int(self._size.currentData()),
            cache=cast("CacheMethod", self._cache.currentData()),
        )

    def plan_text(self, path: str) -> str:
        """Return what the test will write, before it does."""
        size = format_size(int(self._size.currentData()))
        text = {
            "both": self.tr("Writes one file of {size} under {path}, reads it back and removes it."),
            "write": self.tr("Writes one file of {size} under {path} and removes it."),
            "read": self.tr("Writes one file of {size} under {path} first, because there must be something "
                            "to read, then times reading it and removes it."),
        }[self._direction.currentData()]  # fmt: skip
        space = self.tr("The free space is looked at first; a file that would not fit is not begun.")
        return f"{text} {space}".format(size=size, path=path)

    def set_idle(self, *, can_start: bool) -> None:
        """Offer Start."""
        self._set(running=False, enabled=can_start, text=self.tr("&Start"))

    def set_running(self, *, mine: bool, stopping: bool) -> None:
        """Offer Stop, if the test that runs is the one shown."""
        if mine:
            self._set(running=True, enabled=not stopping, text=self.tr("&Stop"))
        else:
            self._set(running=False, enabled=False, text=self.tr("&Start"))

    def _set(self, *, running: bool, enabled: bool, text: str) -> None:
        self._running = running
        self._button.setText(text)
        self._button.setEnabled(enabled)
        for combo in (self._direction, self._size, self._cache):
            combo.setEnabled(not running)
        self._colour()

    def _on_button(self) -> None:
        (self.stop_clicked if self._running else self.start_clicked).emit()

    def _colour(self) -> None:
        colours = theme.colours_of(self)
        loud = not self._running and self._button.isEnabled()
        back, text = (colours.accent, colours.on_accent) if loud else (colours.raised, colours.text)
        theme.tint(self._button, back, QPalette.ColorRole.Button)
        theme.tint(self._button, text if self._button.isEnabled() else colours.muted,
                   QPalette.ColorRole.ButtonText)  # fmt: skip

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_button"):
            self._colour()
