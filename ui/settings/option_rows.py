"""Rows of the option grid: label, editor, value in use, recommendation, findings and help of one option.

The row of the mount time stands for several options: auto, noauto and x-systemd.automount. The row of the
readahead is no mount option, but a tunable of the mounted share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeVar

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from advisor.tunables import tunables
from app.helper.readahead import MAX_READ_AHEAD_KB
from app.text.message import message_text
from app.text.units import format_size, parse_size
from ui.common import theme
from ui.common.icons import icon
from ui.common.inputs import NoWheelComboBox, make_editor
from ui.common.labels import ElidedLabel, MutedLabel, TintedLabel, plain_label, plain_tip
from ui.common.option_text import default_text, help_line, help_text, is_plain_number, spelling, value_text
from ui.settings.findings import FindingList

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtWidgets import QLabel

    from advisor.catalogue import Option
    from advisor.dialects.entry import MountTime
    from advisor.lint import Finding
    from app.mounts.model import Active, OptionValue

#: Minimum width of a label, characters; longer labels are elided if the column is narrow.
_LETTERS = 16
#: Largest width of a label with its name that the column of labels makes room for, characters.
_BOTH_LETTERS = 28


class OptionTitle(QWidget):
    """Label of an option, and its name behind it in the muted color if there is room."""

    def __init__(self, label: str, name: str) -> None:
        super().__init__()
        self.label = label
        self.name = name
        self.setAccessibleName(f"{label} ({name})")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    # Qt overrides

    def sizeHint(self) -> QSize:
        """Qt: wide enough for the label, and for the name if both are short."""
        metrics = self.fontMetrics()
        label = metrics.horizontalAdvance(self.label) + 2
        both = label + metrics.averageCharWidth() * 2 + metrics.horizontalAdvance(self.name)
        width = both if both <= metrics.averageCharWidth() * _BOTH_LETTERS else label
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
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(self.rect(), middle, text)
        left = metrics.horizontalAdvance(text) + metrics.averageCharWidth()
        if left + metrics.horizontalAdvance(self.name) <= self.width():
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            painter.drawText(self.rect().adjusted(left, 0, 0, 0), middle, self.name)
        painter.end()


COLUMN_MARK, COLUMN_LABEL, COLUMN_VALUE, COLUMN_BUTTONS, COLUMN_ASIDE = range(5)
#: Grid rows of one option: its cells, and the details below them.
GRID_ROWS = 2

_W = TypeVar("_W", bound=QWidget)

#: Color of a note.
Tone = Literal["muted", "warn", "error"]


class RowTexts(NamedTuple):
    """Fixed texts of a row.

    Attributes:
        label: short description of the option.
        spelling: name of the option as written in an option string.
        tip: tool tip with the help text.
        help: the help shown below the focused row.
    """

    label: str
    spelling: str
    tip: str
    help: str


class OptionCells(QObject):
    """Cells of one row around an editor, and the details below: note, findings, help.

    Args:
        editor: input widget of the value.
        texts: fixed texts of the row.
        grid: layout that gets the cells.
        row: first of the two grid rows of the option.

    Signals:
        reverted: the user wants the original value back.
        left_out: the user removes the option.
        taken: the user accepts the recommended value.
        fix_chosen: the Finding whose fix the user wants in the form.
    """

    reverted = Signal()
    left_out = Signal()
    taken = Signal()
    fix_chosen = Signal(object)

    def __init__(self, editor: QWidget, texts: RowTexts, grid: QGridLayout, row: int) -> None:
        super().__init__(editor)
        self._texts = texts
        self._tone: Tone = "muted"
        #: Text of the recommendation, and the value that its button puts into the form.
        self._advice = ("", "")
        self._visible = self._helps = self._narrow = False
        self._grid, self._row = grid, row
        self._shown_change: tuple[str | None, bool] | None = None
        #: Background of an edited row.
        self._band = QFrame()
        self._band.setAutoFillBackground(True)
        self._band.hide()
        self._changed = TintedLabel("●", "accent")
        self._changed.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._changed.hide()
        self._title = OptionTitle(texts.label, texts.spelling)
        self._revert = _button("undo")
        self._revert.clicked.connect(self.reverted)
        self._leave_out = _button("close")
        self._leave_out.setToolTip(self.tr("Use the default."))
        self._leave_out.setAccessibleName(self.tr("{label}: use the default").format(label=texts.label))
        self._leave_out.clicked.connect(self.left_out)
        self._used = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._used.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._used.hide()
        self._recommended = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._recommended.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._recommended.hide()
        self._use = QPushButton(self.tr("Use"))
        self._use.hide()
        self._use.clicked.connect(self.taken)
        # The column has the same width for all editors, however long their texts are.
        editor.setSizePolicy(QSizePolicy.Policy.Ignored, editor.sizePolicy().verticalPolicy())
        editor.setMinimumWidth(0)
        for widget in (self._title, editor):
            widget.setToolTip(plain_tip(f"{texts.label}\n{texts.tip}"))
        for text in (self._used, self._recommended):
            text.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        aside = _side_by_side(self._used, self._recommended, self._use)
        aside.layout().addStretch(1)  # type: ignore[union-attr]
        aside.layout().setSpacing(8)  # type: ignore[union-attr]
        self._cells = {
            COLUMN_MARK: self._changed, COLUMN_LABEL: self._title, COLUMN_VALUE: editor,
            COLUMN_BUTTONS: _side_by_side(self._revert, self._leave_out), COLUMN_ASIDE: aside,
        }  # fmt: skip
        grid.addWidget(self._band, row, 0, 1, -1)
        for column, cell in self._cells.items():
            cell.hide()  # otherwise Qt shows the cell when the layout becomes visible
            grid.addWidget(cell, row, column)
        self._band.lower()
        #: Parts of the details; most rows never need them.
        self._details: QWidget | None = None
        self._note: QLabel | None = None
        self._help: QLabel | None = None
        self._findings: FindingList | None = None
        self.update_colors()

    def focus_chain(self) -> list[QWidget]:
        """Return the focusable widgets in Tab order, the editor first."""
        editor = self._cells[COLUMN_VALUE]
        # Qt's Tab order passes over a widget that only forwards the focus to another.
        chain = [editor.focusProxy() or editor, self._revert, self._leave_out, self._use]
        if self._findings is not None:
            chain += self._findings.findChildren(QPushButton)
        return chain

    @property
    def is_visible(self) -> bool:
        """Whether the row is shown."""
        return self._visible

    def texts(self) -> list[str]:
        """Return the texts beside and below the editor, from left to right and from top to bottom."""
        beside = [self._used.text()] if not self._used.isHidden() else []
        beside += [self._recommended.text()] if not self._recommended.isHidden() else []
        below = [label for label in (self._note, self._help) if label is not None and not label.isHidden()]
        return [text for text in (*beside, *(label.text() for label in below)) if text]

    def set_visible(self, *, visible: bool) -> None:
        """Show or hide the row; a hidden row uses no space."""
        if visible == self._visible:
            return
        self._visible = visible
        for cell in self._cells.values():
            cell.setVisible(visible)
        self._changed.setVisible(visible and self._is_edited)
        self._band.setVisible(visible and self._is_edited)
        self._show_details()

    @property
    def _is_edited(self) -> bool:
        return self._shown_change is not None and self._shown_change[0] is not None

    def show_change(self, was: str | None, *, given: bool) -> None:
        """Mark an edited value.

        Args:
            was: text of the original value; None if the value is not edited.
            given: whether the option has a value, so that it can be removed.
        """
        if (was, given) == self._shown_change:
            return
        self._shown_change = was, given
        for mark in (self._changed, self._band):
            mark.setVisible(self._visible and was is not None)
        self._revert.setVisible(was is not None)
        self._leave_out.setVisible(given)
        if was is not None:
            tip = self.tr("Edited. It was {value}.").format(value=was)
            back = self.tr("{label}: undo the change, back to {value}").format(
                label=self._texts.label, value=was
            )
            self._changed.setToolTip(plain_tip(tip))
            self._changed.setAccessibleName(tip)
            self._revert.setToolTip(plain_tip(self.tr("Undo the change, back to {value}").format(value=was)))
            self._revert.setAccessibleName(back)

    def show_in_use(self, text: str) -> None:
        """Show the value in use beside the editor; "" where it does not differ."""
        self._used.setText(text)
        self._used.setVisible(bool(text))

    def show_recommended(self, text: str, reason: str = "", *, value: str = "") -> None:
        """Show the recommendation beside the editor.

        Args:
            text: what is recommended; "" for nothing.
            reason: reason for it.
            value: text of the value that the button puts into the form; "" hides the button.
        """
        self._advice = text, value
        tip = plain_tip("\n".join(part for part in (text, reason) if part))
        for widget in (self._recommended, self._use):
            widget.setToolTip(tip)
        name = self.tr("{label}: use the recommended {value}").format(label=self._texts.label, value=value)
        self._use.setAccessibleName(name)
        self._show_advice()

    def set_narrow(self, *, narrow: bool) -> None:
        """Show a recommendation in its button alone, because there is no room beside it."""
        if narrow != self._narrow:
            self._narrow = narrow
            self._show_advice()

    def _show_advice(self) -> None:
        text, value = self._advice
        alone = self._narrow and bool(value)
        self._recommended.setText(text)
        self._recommended.setVisible(bool(text) and not alone)
        self._use.setText(self.tr("Use {value}").format(value=value))
        self._use.setVisible(bool(value))

    def show_note(self, text: str, tone: Tone = "muted") -> None:
        """Show a note below the row."""
        if self._note is None:
            if not text:
                return
            self._note = self._add_detail(plain_label(wrap=True), 0)
            self._note.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._tone = tone
        self._note.setText(text)
        self._note.setVisible(bool(text))
        theme.tint(self._note, getattr(theme.colors(), tone))
        self._show_details()

    def note(self) -> str:
        """Return the note below the row."""
        return self._note.text() if self._note is not None else ""

    def show_findings(self, findings: Sequence[Finding]) -> bool:
        """Show the findings on the option below its row; return whether the focusable widgets changed."""
        if self._findings is None:
            if not findings:
                return False
            self._findings = self._add_detail(FindingList(), 1)
            self._findings.fix_chosen.connect(self.fix_chosen)
        if list(findings) == self._findings.findings():
            return False
        self._findings.show_findings(findings)
        self._show_details()
        return True

    def findings(self) -> list[Finding]:
        """Return the findings below the row."""
        return self._findings.findings() if self._findings is not None else []

    def show_help(self, *, shown: bool) -> None:
        """Show or hide the help of the option below its row."""
        self._helps = shown
        if self._help is None:
            if not shown:
                return
            self._help = self._add_detail(MutedLabel(self._texts.help, wrap=True), -1)
            self._help.setObjectName("option-help")
        self._help.setVisible(shown)
        self._show_details()

    def _add_detail(self, part: _W, position: int) -> _W:
        """Add a part to the details; ``position`` is its place among them, -1 for the last."""
        if self._details is None:
            self._details = QWidget()
            layout = QVBoxLayout(self._details)
            layout.setContentsMargins(0, 0, 0, 6)
            layout.setSpacing(2)
            self._details.hide()
            self._grid.addWidget(self._details, self._row + 1, COLUMN_LABEL, 1, -1)
        rows = self._details.layout()
        assert isinstance(rows, QVBoxLayout)  # noqa: S101 - narrows the type
        rows.insertWidget(min(position, rows.count()) if position >= 0 else rows.count(), part)
        return part

    def _show_details(self) -> None:
        if self._details is None:
            return
        filled = self._helps or bool(self.note()) or bool(self.findings())
        self._details.setVisible(self._visible and filled)

    def update_colors(self) -> None:
        """Apply the colors of the current theme and of the note."""
        colors = theme.colors()
        theme.tint(self._band, colors.accent_tint, QPalette.ColorRole.Window)
        if self._note is not None:
            theme.tint(self._note, getattr(colors, self._tone))


def _button(icon_name: str) -> QToolButton:
    button = QToolButton()
    button.setIcon(icon(icon_name, "muted"))
    button.setAutoRaise(True)
    _retain_size(button)
    button.hide()
    return button


def _retain_size(widget: QWidget) -> None:
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def _side_by_side(*parts: QWidget) -> QWidget:
    whole = QWidget()
    layout = QHBoxLayout(whole)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(0)
    for part in parts:
        layout.addWidget(part)
    return whole


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
        texts = RowTexts(option.label, spelling(option), help_text(option), help_line(option))
        self.cells = OptionCells(self.editor, texts, grid, row)
        self._value: str | None = None
        self._was: str | None = None
        self._recommended: RecommendedValue | None = None
        self._problem = ""
        self._version_and_transport = ("", "")
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
        self._show_recommended()

    def show_in_use(self, value: OptionValue | None, *, refused: bool) -> None:
        """Show the value in use.

        Args:
            value: the option with its value in use, or None if that is unknown.
            refused: whether another value was requested than the one in use, which is then marked.
        """
        self._in_use_and_refused = value, refused
        used = value.effective if value is not None else None
        default = self.option.default_for(*self._version_and_transport)
        text = ""
        # While a value is edited, the row offers the way back to the one before.
        edited = self._value != self._was
        if used is not None and not edited and used != (default if self._value is None else self._value):
            text = self.tr("In use: {value}").format(value=value_text(self.option, used))
        self.cells.show_in_use("" if refused else text)
        self._show_note()

    def show_default(self, version: str, transport: str) -> None:
        """Show the default value for this NFS version and transport in the editor."""
        self._version_and_transport = version, transport
        text = default_text(self.option, version, transport)
        short, comma, _rest = text.partition(", ")
        if comma and self.option.default is None:
            text = short
        self.editor.set_default_text(self.tr("Default: {value}").format(value=text))

    def show_recommended(self, advised: RecommendedValue | None) -> None:
        """Show a recommendation, or remove it for None."""
        self._recommended = advised
        self._show_recommended()

    def _show_recommended(self) -> None:
        advised = self._recommended
        if advised is None:
            self.cells.show_recommended("")
        elif advised.proposed == self._value:
            self.cells.show_recommended(self.tr("✓ Recommended"), advised.reason)
        else:
            value = self._short_value_text(advised.proposed)
            self.cells.show_recommended(self.tr("Recommended"), advised.reason, value=value)

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
            used = value_text(self.option, value.effective or "") if value is not None else ""
            reason = note or self.tr("The kernel uses another value.")
            text = self.tr("≠ In use: {value}. {reason}").format(value=used, reason=reason)
            self.cells.show_note(text, "warn")
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
            "start-up": self.tr("At boot"),
            "on-demand": self.tr("On demand (automount)"),
            "by-hand": self.tr("Manually"),
        }
        self._was: MountTime = "start-up"
        self.combo = NoWheelComboBox()
        self.combo.setObjectName("option-when")
        self.combo.setAccessibleName(self.tr("When to mount"))
        for when, text in self._texts.items():
            self.combo.addItem(text, when)
        self.help = self.tr(
            "For a mount saved in fstab or systemd. On demand: systemd mounts the share when a program opens "
            "the mount point (x-systemd.automount). Manually: only when you mount it (noauto)."
        )
        self.cells = OptionCells(
            self.combo, RowTexts(self.tr("When to mount"), "auto/noauto", self.help, self.help), grid, row
        )
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
            self.tr("The computer boots without the share if the server is absent (nofail).")
            if shows_nofail_note
            else ""
        )

    def _on_changed(self, _index: int) -> None:
        self.edited.emit(self.combo.currentData())

    def _on_reverted(self) -> None:
        self.edited.emit(self._was)


#: Readahead values offered, KiB; others can be typed.
_READAHEAD_KB = (128, 512, 1024, 2048, 4096, 8192, 15360)
#: Name of the readahead in recommendations.
READAHEAD = "read_ahead_kb"


class ReadaheadRow(QObject):
    """Row of the grid that shows and edits the readahead of the mounted share.

    Attributes:
        combo: editable selector of the readahead.
        label: label of the row.
        help: help text of the row.
        cells: cells of the row.

    Signals:
        edited: the requested readahead, KiB; None to leave it unchanged.
    """

    edited = Signal(object)

    def __init__(self, grid: QGridLayout, row: int, parent: QWidget) -> None:
        super().__init__(parent)
        tunable = tunables()[READAHEAD]
        self.label = tunable.label
        self.help = tunable.help
        self._search_text = " ".join([tunable.label, READAHEAD, *tunable.keywords]).casefold()
        self._requested: int | None = None
        self._in_use: int | None = None
        self._lasts = ""
        self._recommended: RecommendedValue | None = None
        self._problem = ""
        self.combo = NoWheelComboBox()
        self.combo.setObjectName("option-readahead")
        self.combo.setAccessibleName(tunable.label)
        self.combo.setEditable(True)
        self.combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.combo.addItems([format_size(kb * 1024) for kb in _READAHEAD_KB])
        line = self.combo.lineEdit()
        if line is not None:
            line.setAccessibleName(tunable.label)
            line.setPlaceholderText(self.tr("Default: 128 KiB"))
        self.cells = OptionCells(
            self.combo, RowTexts(tunable.label, READAHEAD, self.help, self.help), grid, row
        )
        self.combo.editTextChanged.connect(self._on_typed)
        self.cells.reverted.connect(self._on_reverted)
        self.cells.taken.connect(self._on_taken)

    def show_in_use(self, active: Active | None) -> None:
        """Set the readahead in use, and how long it lasts; the next call of :meth:`show_value` shows them."""
        self._in_use = active.read_ahead_kb if active is not None else None
        self._lasts = {
            "until-unmounted": self.tr("Until unmounted"),
            "saved": self.tr("At every mount"),
            "nfs.conf": self.tr("Set in nfs.conf"),
        }.get(active.read_ahead_state if active is not None else "", "")

    def show_value(self, requested: int | None) -> None:
        """Show the requested readahead, KiB, or for None the one in use."""
        shown = requested if requested is not None else self._in_use
        text = format_size(shown * 1024) if shown is not None else ""
        if requested != self._requested or not self._problem:
            self._problem = ""
            if self._typed_kb() != shown:
                self.combo.blockSignals(True)  # noqa: FBT003
                self.combo.setEditText(text)
                self.combo.blockSignals(False)  # noqa: FBT003
        self._requested = requested
        before = format_size(self._in_use * 1024) if self._in_use is not None else self.tr("the default")
        self.cells.show_change(before if requested is not None else None, given=False)
        self.cells.show_in_use(self.tr("Until unmounted") if requested is not None else self._lasts)
        self._show_note()
        self._show_recommended()

    def show_recommended(self, advised: RecommendedValue | None) -> None:
        """Show a recommendation, or remove it for None."""
        self._recommended = advised
        self._show_recommended()

    def problem(self) -> str:
        """Return why the input is invalid, or ""."""
        return self._problem

    def is_hit(self, words: str) -> bool:
        """Return whether each of these words has to do with the readahead."""
        return all(word in self._search_text for word in words.casefold().split())

    def _show_recommended(self) -> None:
        kb = _recommended_kb(self._recommended)
        reason = self._recommended.reason if self._recommended is not None else ""
        if kb is None:
            self.cells.show_recommended("")
        elif kb == (self._requested if self._requested is not None else self._in_use):
            self.cells.show_recommended(self.tr("✓ Recommended"), reason)
        else:
            value = format_size(kb * 1024)
            self.cells.show_recommended(self.tr("Recommended"), reason, value=value)

    def _show_note(self) -> None:
        if self._problem:
            self.cells.show_note(f"✖ {self._problem}", "error")
        else:
            self.cells.show_note("")

    def _typed_kb(self) -> int | None:
        """Return the readahead in the field, KiB; None if it is empty, -1 if it is invalid."""
        text = self.combo.currentText().strip()
        if not text:
            return None
        try:
            kb, rest = divmod(parse_size(text), 1024)
        except ValueError:
            kb, rest = -1, 0
        if rest or not 0 <= kb <= MAX_READ_AHEAD_KB:
            return -1
        return kb

    def _on_typed(self, _text: str) -> None:
        kb = self._typed_kb()
        if kb == -1:
            self._problem = self.tr("Enter a size in whole KiB, such as 512k or 1M.")
            self._show_note()
            return
        self._problem = ""
        self._show_note()
        self.edited.emit(None if kb == self._in_use else kb)

    def _on_reverted(self) -> None:
        self._problem = ""
        self.combo.setFocus()
        self.edited.emit(None)

    def _on_taken(self) -> None:
        kb = _recommended_kb(self._recommended)
        if kb is not None:
            self.edited.emit(None if kb == self._in_use else kb)


def _recommended_kb(advised: RecommendedValue | None) -> int | None:
    proposed = advised.proposed if advised is not None else None
    return int(proposed) if proposed is not None and is_plain_number(proposed) else None
