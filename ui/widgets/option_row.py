"""One row of the settings form: label, default, what is asked for, what is in use, and a note."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from ui import theme
from ui.option_text import default_text, help_text, spelling, value_text
from ui.widgets.labels import ElidedLabel, MutedLabel, plain_label
from ui.widgets.option_editor import make_editor

if TYPE_CHECKING:
    from advisor.catalogue import Option
    from app.mounts.model import OptionValue

COLUMN_LABEL, COLUMN_DEFAULT, COLUMN_ASKED, COLUMN_RESET, COLUMN_USED = range(5)


class OptionRow(QObject):
    """Fills one row of a grid.

    Signals:
        changed: the person edited the value.
    """

    changed = Signal()

    def __init__(self, option: Option, grid: QGridLayout, row: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.option = option
        self.editor = make_editor(option)
        tip = help_text(option)
        label = QLabel(option.label)
        label.setBuddy(self.editor)
        name = MutedLabel(spelling(option))
        title = QWidget()
        title_layout = QHBoxLayout(title)
        title_layout.setContentsMargins(0, 0, 0, 0)
        title_layout.addWidget(label)
        title_layout.addStretch(1)
        title_layout.addWidget(name)
        short, comma, _rest = default_text(option).partition(", ")
        text = short if comma and option.default is None else default_text(option)
        self._default = ElidedLabel(text, mode=Qt.TextElideMode.ElideRight)
        self._default.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._default.setMinimumWidth(self._default.fontMetrics().averageCharWidth() * 20)
        self._default.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._reset = QToolButton()
        self._reset.setText("↺")
        self._reset.setAutoRaise(True)
        self._reset.setToolTip(self.tr("Back to the default"))
        self._reset.setAccessibleName(self.tr("{label}: back to the default").format(label=option.label))
        self._reset.clicked.connect(self._on_reset)
        policy = self._reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._reset.setSizePolicy(policy)
        self._used = plain_label(wrap=True)
        self._used.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._note = plain_label(wrap=True)
        self._note.hide()
        in_use = QWidget()
        in_use_layout = QVBoxLayout(in_use)
        in_use_layout.setContentsMargins(0, 0, 0, 0)
        in_use_layout.setSpacing(1)
        in_use_layout.addWidget(self._used)
        in_use_layout.addWidget(self._note)
        self._differs = False
        for widget in (title, self._default, self.editor):
            widget.setToolTip(tip)
        self.editor.changed.connect(self._on_changed)
        cells: tuple[tuple[int, QWidget], ...] = (
            (COLUMN_LABEL, title), (COLUMN_DEFAULT, self._default), (COLUMN_ASKED, self.editor),
            (COLUMN_RESET, self._reset), (COLUMN_USED, in_use),
        )  # fmt: skip
        for column, cell in cells:
            grid.addWidget(cell, row, column)
        self._show_reset()

    def show_value(self, value: str | None) -> None:
        """Show what is asked for, without telling anybody."""
        self.editor.blockSignals(True)  # noqa: FBT003
        self.editor.set_value(value)
        self.editor.blockSignals(False)  # noqa: FBT003
        self._show_reset()

    def show_used(self, value: OptionValue | None) -> None:
        """Show what is in use, and mark it where it is not what was asked for."""
        used = value.effective if value is not None else None
        asked = value.requested if value is not None else None
        self._used.setText("" if used is None else value_text(self.option, used))
        self._differs = asked is not None and used is not None and asked != used
        note = value.note if value is not None else ""
        if self._differs:
            note = note or self.tr("Not what was asked for.")
            note = f"≠ {note}"
        self._note.setText(note)
        self._note.setVisible(bool(note))
        self._colour()

    def set_enabled(self, *, enabled: bool) -> None:
        """Let the person edit, or not."""
        self.editor.setEnabled(enabled)
        self._reset.setEnabled(enabled)

    def colour_again(self) -> None:
        """Follow a change between light and dark."""
        self._colour()

    def _on_changed(self) -> None:
        self._show_reset()
        self.changed.emit()

    def _on_reset(self) -> None:
        self.editor.set_value(None)
        self._show_reset()
        self.editor.setFocus()

    def _show_reset(self) -> None:
        self._reset.setVisible(self.editor.value() is not None)

    def _colour(self) -> None:
        colours = theme.colours_of(self._note)
        theme.tint(self._note, colours.warn if self._differs else colours.muted)
        theme.tint(self._used, colours.warn if self._differs else colours.text)
