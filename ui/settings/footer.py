"""Footer of the settings form: help, findings, the option string, and the command."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from advisor.dialects import DIALECTS
from ui.common.labels import MutedLabel, plain_tip
from ui.common.status_text import added_lines
from ui.settings.findings import FindingsPanel

if TYPE_CHECKING:
    from advisor.finding import Finding
    from app.mounts.model import AddedOption

_WRAP = QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere
#: Minimum width of the command, characters.
_LETTERS = 20


class CommandView(QPlainTextEdit):
    """Read-only, selectable text that looks like a label; its height follows its wrapped text."""

    def __init__(self) -> None:
        super().__init__()
        self.setReadOnly(True)
        self.setTabChangesFocus(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWordWrapMode(_WRAP)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)

    def text(self) -> str:
        """Return the full text."""
        return self.toPlainText()

    def show_text(self, text: str) -> None:
        """Show a command."""
        if text != self.text():
            self.setPlainText(text)
            self._fit()

    def _fit(self) -> None:
        layout = QTextLayout(self.text(), self.font())
        option = QTextOption()
        option.setWrapMode(_WRAP)
        layout.setTextOption(option)
        layout.beginLayout()
        height = 0.0
        while (line := layout.createLine()).isValid():
            line.setLineWidth(self.viewport().width())
            height += line.height()
        layout.endLayout()
        self.setFixedHeight(math.ceil(max(height, self.fontMetrics().lineSpacing())) + 2)

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: a small width, so that a long command does not widen the window."""
        return QSize(self.fontMetrics().averageCharWidth() * _LETTERS, self.minimumHeight())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: update the height, because the new width wraps the text differently."""
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self._fit()


class CopyAsButton(QPushButton):
    """Button with a menu of all dialects.

    Signals:
        dialect_chosen: name of the dialect that the user selected.
    """

    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setText(self.tr("Cop&y as"))
        self.setObjectName("copy-as")
        self.setAccessibleName(self.tr("Copy the mount as another program or system writes it"))
        menu = QMenu(self)
        for dialect in DIALECTS.values():
            action = menu.addAction(dialect.label)
            action.setObjectName(f"copy-as-{dialect.name}")
            action.triggered.connect(partial(self._on_chosen, dialect.name))
        self.setMenu(menu)

    def _on_chosen(self, name: str, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - a slot
        self.dialect_chosen.emit(name)


#: Height of the help text, lines; the tool tip has the full text.
_HELP_LINES = 2
_WRAPPED = Qt.TextFlag.TextWordWrap.value


class SettingsFooter(QWidget):
    """Help, findings, option string and mount command below the options.

    Attributes:
        raw: line edit with the option string.

    Signals:
        raw_edited: the option string as typed.
        fix_chosen: the Finding whose fix the user wants in the form.
        dialect_chosen: name of the dialect for which the Copy As dialog is wanted.
    """

    raw_edited = Signal(str)
    fix_chosen = Signal(object)
    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self._help = _HelpLine()
        self._help.setObjectName("option-help")
        self.show_help("")
        self._findings = FindingsPanel()
        self._findings.fix_chosen.connect(self.fix_chosen)
        self.raw = QLineEdit()
        self.raw.setObjectName("options")
        self.raw.setFont(fixed)
        self.raw.setPlaceholderText(self.tr("none"))
        self.raw.setAccessibleName(self.tr("All options, as text"))
        self.raw.setToolTip(
            self.tr("All options as they are written after -o, with commas between.\n"
                    "Nothing that is written here is lost or changed, also what has no row above.")
        )  # fmt: skip
        self.raw.textEdited.connect(self.raw_edited)
        self._added = MutedLabel(wrap=True)
        self._added.setObjectName("added-options")
        self._added.setToolTip(
            self.tr("mount.nfs reads these options from nfsmount.conf and adds them to this mount.")
        )
        self._added_title = MutedLabel(self.tr("Added"))
        self._command = CommandView()
        self._command.setObjectName("command")
        self._command.setFont(fixed)
        self._command.setAccessibleName(self.tr("Command"))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 4, 16, 12)
        layout.setSpacing(4)
        layout.addWidget(self._help)
        layout.addWidget(self._findings)
        layout.addWidget(self._make_box())

    def _make_box(self) -> QFrame:
        copy_button = QPushButton(self.tr("&Copy"))
        copy_button.setAccessibleName(self.tr("Copy the command"))
        copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command.text()))
        copy_as = CopyAsButton()
        copy_as.dialect_chosen.connect(self.dialect_chosen)
        label = MutedLabel(self.tr("O&ptions"))
        label.setBuddy(self.raw)
        box = QFrame()
        box.setFrameShape(QFrame.Shape.StyledPanel)
        grid = QGridLayout(box)
        grid.setContentsMargins(12, 8, 8, 8)
        grid.setHorizontalSpacing(12)
        grid.addWidget(label, 0, 0)
        grid.addWidget(self.raw, 0, 1, 1, 3)
        grid.addWidget(self._added_title, 1, 0, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(self._added, 1, 1, 1, 3)
        grid.addWidget(MutedLabel(self.tr("Command")), 2, 0)
        grid.addWidget(self._command, 2, 1)
        grid.addWidget(copy_button, 2, 2)
        grid.addWidget(copy_as, 2, 3)
        self.show_added([])
        grid.setColumnStretch(1, 1)
        return box

    def show_raw(self, text: str) -> None:
        """Show the option string; unchanged text keeps the position of the cursor."""
        if self.raw.text() != text:
            self.raw.setText(text)

    def show_added(self, added: list[AddedOption]) -> None:
        """Show the options that nfsmount.conf adds to the mount."""
        self._added.setText("\n".join(added_lines(added)))
        self._added.setVisible(bool(added))
        self._added_title.setVisible(bool(added))

    def show_command(self, text: str) -> None:
        """Show the mount command."""
        self._command.show_text(text)

    def show_findings(self, findings: list[Finding]) -> None:
        """Show the lint findings."""
        self._findings.show_findings(findings)

    def show_help(self, text: str) -> None:
        """Show the help of the focused option, or for "" a hint about the keys."""
        hint = self.tr("Go to a row to read about its option. Ctrl+F searches, Ctrl+Z takes back.")
        self._help.show_text(text or hint)

    def set_busy(self, *, busy: bool) -> None:
        """Disable editing while ``busy`` is True."""
        self.raw.setEnabled(not busy)
        self._findings.setEnabled(not busy)


class _HelpLine(MutedLabel):
    """Label of two lines; its tool tip has the full text."""

    def __init__(self) -> None:
        super().__init__(wrap=True)
        self._full_text = ""
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setFixedHeight(self.fontMetrics().lineSpacing() * _HELP_LINES + 2)

    def show_text(self, text: str) -> None:
        """Show as many words of a text as fit."""
        self._full_text = text
        self.setToolTip(plain_tip(text))
        self._fit()

    def _fit(self) -> None:
        words = self._full_text.split(" ")
        fitting = self._full_text
        while words and not self._fits(fitting):
            words.pop()
            fitting = " ".join(words) + " …"
        self.setText(fitting)

    def _fits(self, text: str) -> bool:
        bounds = self.contentsRect().adjusted(0, 0, 0, self.height() * _HELP_LINES)
        return self.fontMetrics().boundingRect(bounds, _WRAPPED, text).height() <= self.height()

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: elide the text to the new width."""
        super().resizeEvent(event)
        self._fit()
