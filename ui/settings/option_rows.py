"""Rows of the option grid: title, default, editor, value in use, recommended value and notes of one option.

The row of the mount time stands for several options: auto, noauto and x-systemd.automount.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QSizePolicy, QToolButton, QWidget

from app.text.message import message_text
from app.text.units import format_size
from ui.common import theme
from ui.common.inputs import NoWheelComboBox, make_editor
from ui.common.labels import ElidedLabel, plain_label, plain_tip
from ui.common.option_text import default_text, help_text, is_plain_number, spelling, value_text

if TYPE_CHECKING:
    from advisor.catalogue import Option
    from advisor.dialects.entry import MountTime
    from advisor.lint import Severity
    from app.mounts.model import OptionValue

#: Minimum width of a label, characters; longer labels are elided if the column is narrow.
_LETTERS = 17


class OptionTitle(QWidget):
    """Label of an option at the left, and its name at the right if there is room."""

    def __init__(self, label: str, name: str) -> None:
        super().__init__()
        self.label = label
        self.name = name
        self.setAccessibleName(f"{label} ({name})")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: wide enough for the label and the name."""
        metrics = self.fontMetrics()
        gap = metrics.averageCharWidth() * 2
        width = metrics.horizontalAdvance(self.label) + gap + metrics.horizontalAdvance(self.name)
        return QSize(width, metrics.height())

    def minimumSizeHint(self) -> QSize:
        """Qt: wide enough for the label, at most _LETTERS characters."""
        metrics = self.fontMetrics()
        width = min(metrics.horizontalAdvance(self.label) + 2, metrics.averageCharWidth() * _LETTERS)
        return QSize(width, metrics.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the label and the name."""
        del event
        metrics = self.fontMetrics()
        painter = QPainter(self)
        text = metrics.elidedText(self.label, Qt.TextElideMode.ElideRight, self.width())
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, text)
        left = metrics.horizontalAdvance(text) + metrics.averageCharWidth() * 2
        if left + metrics.horizontalAdvance(self.name) <= self.width():
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            painter.drawText(
                self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.name
            )
        painter.end()


(
    COLUMN_MARK,
    COLUMN_LABEL,
    COLUMN_DEFAULT,
    COLUMN_REQUESTED,
    COLUMN_BUTTONS,
    COLUMN_IN_USE,
    COLUMN_RECOMMENDED,
) = range(7)
#: Grid rows of one option: its cells, and the note below them.
GRID_ROWS = 2

#: Longest text that fits into the column of values in use, in a wide and in a narrow window.
_WIDE, _NARROW = "262144 (256 KiB)", "262144 (…"

#: Color of a note.
Tone = Literal["muted", "warn", "error"]
#: Symbol of each severity.
_SIGNS: dict[Severity, str] = {"error": "✖", "warning": "⚠", "info": "ℹ"}  # noqa: RUF001 - the sign
#: Severity to the name of its color, a field of :class:`ui.common.theme.Colors`.
_SEVERITY_COLORS: dict[Severity, str] = {"error": "error", "warning": "warn", "info": "info"}


class RowTexts(NamedTuple):
    """Fixed texts of a row.

    Attributes:
        label: short description of the option.
        spelling: name of the option as written in an option string.
        tip: tool tip with the help text.
    """

    label: str
    spelling: str
    tip: str


class OptionCells(QObject):
    """Cells of one row around an editor.

    Args:
        editor: input widget of the value.
        texts: fixed texts of the row.
        grid: layout that gets the cells.
        row: first of the two grid rows of the option.

    Signals:
        reverted: the user wants the original value back.
        left_out: the user removes the option.
        taken: the user accepts the recommended value.
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
        self._shown_change: tuple[str | None, bool] | None = None
        self._finding = plain_label()
        self._changed = plain_label("●")
        self._changed.setAlignment(Qt.AlignmentFlag.AlignCenter)
        for sign in (self._finding, self._changed):
            _retain_size(sign)
            sign.hide()
        self._finding.setFixedWidth(self._finding.fontMetrics().averageCharWidth() * 2)
        self._title, self._default_label = OptionTitle(texts.label, texts.spelling), _default_label()
        self._revert = _button("↺")
        self._revert.clicked.connect(self.reverted)
        self._leave_out = _button("✕")
        self._leave_out.setToolTip(self.tr("Leave it out: the default counts."))
        self._leave_out.setAccessibleName(self.tr("{label}: leave it out").format(label=texts.label))
        self._leave_out.clicked.connect(self.left_out)
        self._used = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._used.setMinimumWidth(self._used.fontMetrics().horizontalAdvance(_WIDE) + 2)
        self._recommended = QToolButton()
        self._recommended.setAutoRaise(True)
        self._recommended.setVisible(False)
        self._recommended.clicked.connect(self.taken)
        self._note = plain_label(wrap=True)
        self._note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for widget in (self._title, self._default_label, editor):
            widget.setToolTip(plain_tip(f"{texts.label}\n{texts.tip}"))
        self._cells = {
            COLUMN_MARK: _side_by_side(self._finding, self._changed), COLUMN_LABEL: self._title,
            COLUMN_DEFAULT: self._default_label, COLUMN_REQUESTED: editor,
            COLUMN_BUTTONS: _side_by_side(self._revert, self._leave_out), COLUMN_IN_USE: self._used,
        }  # fmt: skip
        for column, cell in self._cells.items():
            cell.hide()  # otherwise Qt shows the cell when the layout becomes visible
            grid.addWidget(cell, row, column)
        grid.addWidget(self._recommended, row, COLUMN_RECOMMENDED, Qt.AlignmentFlag.AlignLeft)
        grid.addWidget(self._note, row + 1, COLUMN_DEFAULT, 1, -1)
        self._note.hide()
        self.update_colors()

    def focus_chain(self) -> list[QWidget]:
        """Return the focusable widgets in Tab order, the editor first."""
        return [self._cells[COLUMN_REQUESTED], self._revert, self._leave_out, self._recommended]

    def set_visible(self, *, visible: bool) -> None:
        """Show or hide the row; a hidden row uses no space."""
        if visible == self._visible:
            return
        self._visible = visible
        for cell in self._cells.values():
            cell.setVisible(visible and not (cell is self._default_label and self._narrow))
        self._recommended.setVisible(visible and bool(self._recommended.text()))
        self._note.setVisible(visible and bool(self._note.text()))

    def set_narrow(self, *, narrow: bool) -> None:
        """Hide the default, and use a smaller minimum width for the value in use."""
        if narrow == self._narrow:
            return
        self._narrow = narrow
        self._default_label.setVisible(self._visible and not narrow)
        widest = _NARROW if narrow else _WIDE
        self._used.setMinimumWidth(self._used.fontMetrics().horizontalAdvance(widest) + 2)

    def show_default(self, text: str) -> None:
        """Show the default value."""
        if text != self._default_label.text():
            self._default_label.setText(text)

    def show_change(self, was: str | None, *, given: bool) -> None:
        """Mark an edited value.

        Args:
            was: text of the original value; None if the value is not edited.
            given: whether the option has a value, so that it can be removed.
        """
        if (was, given) == self._shown_change:
            return
        self._shown_change = was, given
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

    def show_in_use(self, text: str) -> None:
        """Show the value in use."""
        if text != self._used.text():
            self._used.setText(text)

    def show_note(self, text: str, tone: Tone = "muted") -> None:
        """Show a note below the row; a tone other than "muted" also colors the value in use."""
        if (text, tone) == (self._note.text(), self._tone):
            return
        self._tone = tone
        self._note.setText(text)
        self._note.setVisible(self._visible and bool(text))
        self.update_colors()

    def show_finding(self, severity: Severity | None, title: str = "") -> None:
        """Mark the row with a finding of this severity, or remove the mark for None."""
        if severity == self._severity and title == self._finding.accessibleName():
            return
        self._severity = severity
        self._finding.setText("" if severity is None else _SIGNS[severity])
        self._finding.setVisible(severity is not None)
        self._finding.setToolTip(plain_tip(title))
        self._finding.setAccessibleName(title)
        self.update_colors()

    def show_recommended(self, text: str, reason: str = "") -> None:
        """Show the recommended value and its reason; "" for none."""
        if text == self._recommended.text() and reason == self._reason:
            return
        self._reason = reason
        self._recommended.setText(text)
        self._recommended.setToolTip(plain_tip(reason))
        take = self.tr("{label}: take the advised {value}").format(label=self._name, value=text)
        self._recommended.setAccessibleName(take)
        self._recommended.setVisible(self._visible and bool(text))

    def update_colors(self) -> None:
        """Apply the colors of the current theme, note and finding."""
        colors = theme.colors()
        theme.tint(self._changed, colors.accent)
        theme.tint(self._note, getattr(colors, self._tone))
        theme.tint(self._used, colors.text if self._tone == "muted" else getattr(colors, self._tone))
        if self._severity is not None:
            theme.tint(self._finding, getattr(colors, _SEVERITY_COLORS[self._severity]))


def _default_label() -> ElidedLabel:
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
    _retain_size(button)
    button.hide()
    return button


def _retain_size(widget: QWidget) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def _side_by_side(first: QWidget, second: QWidget) -> QWidget:
    both = QWidget()
    layout = QHBoxLayout(both)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    layout.addWidget(first)
    layout.addWidget(second)
    return both


class RecommendedValue(Protocol):
    """Part of a recommendation that a row shows; advisor.recommend.Recommendation implements it.

    Attributes:
        option: canonical name of the option.
        proposed: recommended canonical value, or None to remove the option.
        reason: reason for the recommendation, one or two sentences.
    """

    @property
    def option(self) -> str: ...  # noqa: D102 - described above
    @property
    def proposed(self) -> str | None: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102


class OptionRow(QObject):
    """Row of the grid that shows and edits one option.

    Attributes:
        option: the option of the catalogue.
        editor: input widget of the value.
        cells: cells of the row.

    Signals:
        edited: canonical name of the option, and the new value; None for the default.
    """

    edited = Signal(str, object)

    def __init__(self, option: Option, grid: QGridLayout, row: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.option = option
        self.editor = make_editor(option)
        texts = RowTexts(option.label, spelling(option), help_text(option))
        self.cells = OptionCells(self.editor, texts, grid, row)
        self._value: str | None = None
        self._was: str | None = None
        self._recommended: RecommendedValue | None = None
        self._problem = ""
        self._in_use_and_refused: tuple[OptionValue | None, bool] = (None, False)
        self.editor.changed.connect(self._on_changed)
        self.cells.reverted.connect(self._on_reverted)
        self.cells.left_out.connect(self._on_left_out)
        self.cells.taken.connect(self._on_taken)
        self.show_default("", "")

    def show_value(self, value: str | None, was: str | None) -> None:
        """Show the requested value and whether it is edited, without emitting ``edited``.

        Invalid input stays in the editor until the option gets another value.

        Args:
            value: requested value, or None for the default.
            was: value before the user's edits, or None for the default.
        """
        if not (self._problem and value == self._value):
            self._clear_problem()
            if self.editor.value() != value:
                self.editor.blockSignals(True)  # noqa: FBT003
                self.editor.set_value(value)
                self.editor.blockSignals(False)  # noqa: FBT003
        self._value, self._was = value, was
        self.cells.show_change(self._value_text(was) if value != was else None, given=value is not None)

    def show_in_use(self, value: OptionValue | None, *, refused: bool) -> None:
        """Show the value in use.

        Args:
            value: the option with its value in use, or None if that is unknown.
            refused: whether another value was requested than the one in use, which is then marked.
        """
        self._in_use_and_refused = value, refused
        used = value.effective if value is not None else None
        self.cells.show_in_use("" if used is None else value_text(self.option, used))
        self._show_note()

    def show_default(self, version: str, transport: str) -> None:
        """Show the default value for this NFS version and transport."""
        text = default_text(self.option, version, transport)
        short, comma, _rest = text.partition(", ")
        self.cells.show_default(short if comma and self.option.default is None else text)

    def show_recommended(self, advised: RecommendedValue | None) -> None:
        """Show a recommendation, or remove it for None."""
        self._recommended = advised
        text = "" if advised is None else self._short_value_text(advised.proposed)
        self.cells.show_recommended(text, "" if advised is None else advised.reason)

    def show_problem(self, text: str) -> None:
        """Show why the input is invalid; "" if it is valid."""
        self._problem = text
        self._show_note()

    def problem(self) -> str:
        """Return why the input is invalid, or ""."""
        return self._problem or self.editor.problem()

    def _clear_problem(self) -> None:
        if self._problem:
            self._problem = ""
            self._show_note()

    def _show_note(self) -> None:
        value, refused = self._in_use_and_refused
        note = message_text(value.note) if value is not None else ""
        if self._problem:
            self.cells.show_note(f"✖ {self._problem}", "error")
        elif refused and value is not None and value.effective is None:
            self.cells.show_note(self.tr("⊘ Ignored: {reason}").format(reason=note), "warn")
        elif refused:
            reason = note or self.tr("The kernel uses another value.")
            self.cells.show_note(self.tr("≠ Not as asked for: {reason}").format(reason=reason), "warn")
        else:
            self.cells.show_note(note)

    def _value_text(self, value: str | None) -> str:
        return self.tr("Default") if value is None else value_text(self.option, value)

    def _short_value_text(self, value: str | None) -> str:
        if value is not None and self.option.kind == "size" and is_plain_number(value):
            return format_size(int(value))
        return self._value_text(value)

    def _on_changed(self) -> None:
        self.edited.emit(self.option.name, self.editor.value())

    def _on_reverted(self) -> None:
        self.editor.setFocus()
        self.edited.emit(self.option.name, self._was)

    def _on_left_out(self) -> None:
        self.editor.setFocus()
        self.edited.emit(self.option.name, None)

    def _on_taken(self) -> None:
        if self._recommended is not None:
            self.edited.emit(self.option.name, self._recommended.proposed)


#: Options that the row of the mount time edits.
MOUNT_TIME_OPTIONS = frozenset({"auto", "x-systemd.automount"})


class MountTimeRow(QObject):
    """Row of the grid that selects when a saved mount is mounted: at boot, on demand, or manually.

    Attributes:
        combo: selector of the mount time.
        help: help text of the row.
        cells: cells of the row.

    Signals:
        edited: the MountTime that the user selected.
    """

    edited = Signal(str)

    def __init__(self, grid: QGridLayout, row: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._texts: dict[MountTime, str] = {
            "start-up": self.tr("At start-up"),
            "on-demand": self.tr("On demand (automount)"),
            "by-hand": self.tr("By hand"),
        }
        self._was: MountTime = "start-up"
        self.combo = NoWheelComboBox()
        self.combo.setObjectName("option-when")
        self.combo.setAccessibleName(self.tr("When to mount"))
        for when, text in self._texts.items():
            self.combo.addItem(text, when)
        tip = self.tr("For what is kept in fstab. At start-up: with the computer. On demand: systemd mounts "
                      "it when somebody enters the mount point (x-systemd.automount). By hand: only when it "
                      "is asked for (noauto).")  # fmt: skip
        self.help = tip
        self.cells = OptionCells(
            self.combo, RowTexts(self.tr("When to mount"), "auto/noauto", tip), grid, row
        )
        self.cells.show_default(self._texts["start-up"])
        self.combo.currentIndexChanged.connect(self._on_changed)
        self.cells.reverted.connect(self._on_reverted)

    def show_value(self, when: MountTime, was: MountTime, *, waits: bool) -> None:
        """Show the mount time.

        Args:
            when: current mount time.
            was: mount time before the user's edits.
            waits: whether the boot waits for an absent server.
        """
        self._was = was
        if self.combo.currentData() != when:
            self.combo.blockSignals(True)  # noqa: FBT003
            self.combo.setCurrentIndex(self.combo.findData(when))
            self.combo.blockSignals(False)  # noqa: FBT003
        self.cells.show_change(self._texts[was] if when != was else None, given=False)
        shows_nofail_note = when == "start-up" and not waits
        self.cells.show_note(
            self.tr("An absent server does not hold up the start (nofail).") if shows_nofail_note else ""
        )

    def _on_changed(self, _index: int) -> None:
        self.edited.emit(self.combo.currentData())

    def _on_reverted(self) -> None:
        self.edited.emit(self._was)
