"""The cells of a row of the settings form: marks, label, default, editor, in use, advised, and a note."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from ui.common import theme
from ui.common.labels import ElidedLabel, plain_label, plain_tip
from ui.settings.option_rows import OptionTitle

if TYPE_CHECKING:
    from advisor.lint import Severity

COLUMN_MARK, COLUMN_LABEL, COLUMN_DEFAULT, COLUMN_ASKED, COLUMN_BUTTONS, COLUMN_USED, COLUMN_ADVISED = range(
    7
)
#: Each row has its note in a grid row of its own below it.
GRID_ROWS = 2

#: What has room in the column of values in use, in a wide window and in a narrow one.
_WIDE, _NARROW = "262144 (256 KiB)", "262144 (…"

Tone = Literal["muted", "warn", "error"]
_SIGNS: dict[Severity, str] = {"error": "✖", "warning": "⚠", "info": "ℹ"}  # noqa: RUF001 - the sign
_COLOURS: dict[Severity, str] = {"error": "error", "warning": "warn", "info": "info"}


class RowTexts(NamedTuple):
    """What stands in a row from the beginning.

    Attributes:
        label: a few plain words.
        spelling: how it is written, beside the label.
        tip: tool tip with the help.
    """

    label: str
    spelling: str
    tip: str


class OptionCells(QObject):
    """Fills one row of a grid, around an editor.

    Args:
        editor: edits the value.
        texts: what stands in the row.
        grid: where to.
        row: first of its two grid rows.

    Signals:
        reverted: the value is to be again what it was.
        left_out: the option is to be left out.
        taken: the advised value is wanted.
    """

    reverted = Signal()
    left_out = Signal()
    taken = Signal()

    def __init__(self, editor: QWidget, texts: RowTexts, grid: QGridLayout, row: int) -> None:
        super().__init__(editor)
        self._name = texts.label
        self._tone: Tone = "muted"
        self._reason = ""
        self._severity: Severity | None = None
        self._visible = self._narrow = False
        self._change: tuple[str | None, bool] | None = None
        self._finding = plain_label()
        self._changed = plain_label("●")
        self._changed.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for sign in (self._finding, self._changed):
            _keep_room(sign)
            sign.hide()
        self._finding.setFixedWidth(self._finding.fontMetrics().averageCharWidth() * 2)
        self._title, self._default = OptionTitle(texts.label, texts.spelling), _default()
        self._revert = _button("↺")
        self._revert.clicked.connect(self.reverted)
        self._leave_out = _button("✕")
        self._leave_out.setToolTip(self.tr("Leave it out: the default counts."))
        self._leave_out.setAccessibleName(self.tr("{label}: leave it out").format(label=texts.label))
        self._leave_out.clicked.connect(self.left_out)
        self._used = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._used.setMinimumWidth(self._used.fontMetrics().horizontalAdvance(_WIDE) + 2)
        self._advised = QToolButton()
        self._advised.setAutoRaise(True)
        self._advised.setVisible(False)
        self._advised.clicked.connect(self.taken)
        self._note = plain_label(wrap=True)
        self._note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for widget in (self._title, self._default, editor):
            widget.setToolTip(plain_tip(f"{texts.label}\n{texts.tip}"))
        self._cells = {
            COLUMN_MARK: _together(self._finding, self._changed), COLUMN_LABEL: self._title,
            COLUMN_DEFAULT: self._default, COLUMN_ASKED: editor,
            COLUMN_BUTTONS: _together(self._revert, self._leave_out), COLUMN_USED: self._used,
        }  # fmt: skip
        for column, cell in self._cells.items():
            cell.hide()  # else Qt shows it later, in its own time
            grid.addWidget(cell, row, column)
        grid.addWidget(self._advised, row, COLUMN_ADVISED, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._note, row + 1, COLUMN_DEFAULT, 1, -1)
        self._note.hide()
        self.colour_again()

    def focus_chain(self) -> list[QWidget]:
        """Return what takes the focus, in its order, the editor first."""
        return [self._cells[COLUMN_ASKED], self._revert, self._leave_out, self._advised]

    def set_visible(self, *, visible: bool) -> None:
        """Show the row or not; a hidden row takes no room."""
        if visible == self._visible:
            return
        self._visible = visible
        for cell in self._cells.values():
            cell.setVisible(visible and not (cell is self._default and self._narrow))
        self._advised.setVisible(visible and bool(self._advised.text()))
        self._note.setVisible(visible and bool(self._note.text()))

    def set_narrow(self, *, narrow: bool) -> None:
        """Do without the default, which the tool tip of the label has, and without room for long values."""
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._default.setVisible(self._visible and not narrow)
        letters = _NARROW if narrow else _WIDE
        self._used.setMinimumWidth(self._used.fontMetrics().horizontalAdvance(letters) + 2)

    def show_default(self, text: str) -> None:
        """Show the default."""
        if text != self._default.text():
            self._default.setText(text)

    def show_change(self, was: str | None, *, given: bool) -> None:
        """Mark an edited value.

        Args:
            was: what it was, in words; None if it is not edited.
            given: whether it can be left out.
        """
        if (was, given) == self._change:
            return
        self._change = was, given
        self._changed.setVisible(was is not None)
        self._revert.setVisible(was is not None)
        self._leave_out.setVisible(given)
        if was is not None:
            tip = plain_tip(self.tr("Edited; was {value}.").format(value=was))
            back = self.tr("{label}: back to {value}").format(label=self._name, value=was)
            self._changed.setToolTip(tip)
            self._changed.setAccessibleName(tip)
            self._revert.setToolTip(plain_tip(self.tr("Back to what it was: {value}").format(value=was)))
            self._revert.setAccessibleName(back)

    def show_used(self, text: str) -> None:
        """Show what is in use."""
        if text != self._used.text():
            self._used.setText(text)

    def show_note(self, text: str, tone: Tone = "muted") -> None:
        """Show a sentence below the row; a value in use that is not the one asked for has its colour too."""
        if (text, tone) == (self._note.text(), self._tone):
            return
        self._tone = tone
        self._note.setText(text)
        self._note.setVisible(self._visible and bool(text))
        self.colour_again()

    def show_finding(self, severity: Severity | None, title: str = "") -> None:
        """Show that lint has found something about it."""
        if severity == self._severity and title == self._finding.accessibleName():
            return
        self._severity = severity
        self._finding.setText("" if severity is None else _SIGNS[severity])
        self._finding.setVisible(severity is not None)
        self._finding.setToolTip(plain_tip(title))
        self._finding.setAccessibleName(title)
        self.colour_again()

    def show_advised(self, text: str, reason: str = "") -> None:
        """Show the recommended value, "" for none."""
        if text == self._advised.text() and reason == self._reason:
            return
        self._reason = reason
        self._advised.setText(text)
        self._advised.setToolTip(plain_tip(reason))
        take = self.tr("{label}: take the advised {value}").format(label=self._name, value=text)
        self._advised.setAccessibleName(take)
        self._advised.setVisible(self._visible and bool(text))

    def colour_again(self) -> None:
        """Follow a change of what is shown, or between light and dark."""
        colours = theme.colours()
        theme.tint(self._changed, colours.accent)
        theme.tint(self._note, getattr(colours, self._tone))
        theme.tint(self._used, colours.text if self._tone == "muted" else getattr(colours, self._tone))
        if self._severity is not None:
            theme.tint(self._finding, getattr(colours, _COLOURS[self._severity]))


def _default() -> ElidedLabel:
    label = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
    label.setForegroundRole(QPalette.ColorRole.PlaceholderText)
    label.setMinimumWidth(label.fontMetrics().averageCharWidth() * 12)
    label.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
    return label


def _button(text: str) -> QToolButton:
    button = QToolButton()
    button.setText(text)
    button.setAutoRaise(True)
    button.setFixedWidth(button.fontMetrics().height() + 4)
    _keep_room(button)
    button.hide()
    return button


def _keep_room(widget: QWidget) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def _together(first: QWidget, second: QWidget) -> QWidget:
    both = QWidget()
    layout = QHBoxLayout(both)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(first)
    layout.addWidget(second)
    return both
