"""Settings as text: the option string, the mount command, and the formats of other programs."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from advisor.dialects import DIALECTS
from ui.common.labels import MutedLabel
from ui.common.layout import CollapsibleSection
from ui.common.status_text import added_lines

if TYPE_CHECKING:
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
        self.setText(self.tr("Cop&y As"))
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


class TextSection(CollapsibleSection):
    """The option string, the mount command and the formats of other programs, collapsed at first.

    Attributes:
        raw: line edit with the option string.

    Signals:
        raw_edited: the option string as typed.
        dialect_chosen: name of the dialect for which the Copy As dialog is wanted.
    """

    raw_edited = Signal(str)
    dialect_chosen = Signal(str)

    def __init__(self) -> None:
        fixed = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        self.raw = QLineEdit()
        self._added = MutedLabel(wrap=True)
        self._added_title = MutedLabel()
        self._command = CommandView()
        self._copy_command = QPushButton()
        self._copy_as = CopyAsButton()
        box = QWidget()
        super().__init__("as-text", [box])
        self.set_title(self.tr("As Text"))
        self.raw.setObjectName("options")
        self.raw.setFont(fixed)
        self.raw.setPlaceholderText(self.tr("No options"))
        self.raw.setAccessibleName(self.tr("All options as text"))
        self.raw.setToolTip(
            self.tr("All options as written after -o, with commas between. Unknown options are kept.")
        )
        self.raw.textEdited.connect(self.raw_edited)
        self._added.setObjectName("added-options")
        self._added.setToolTip(
            self.tr("mount.nfs reads these options from nfsmount.conf and adds them to this mount.")
        )
        self._added_title.setText(self.tr("Added"))
        self._command.setObjectName("command")
        self._command.setFont(fixed)
        self._command.setAccessibleName(self.tr("Command"))
        self._copy_command.setText(self.tr("&Copy Command"))
        self._copy_command.setObjectName("copy-command")
        self._copy_command.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command.text()))
        self._copy_as.dialect_chosen.connect(self.dialect_chosen)
        self._fill(box)
        self.show_added([])

    def _fill(self, box: QWidget) -> None:
        label = MutedLabel(self.tr("O&ptions"))
        label.setBuddy(self.raw)
        buttons = QHBoxLayout()
        buttons.addWidget(self._copy_command)
        buttons.addWidget(self._copy_as)
        buttons.addStretch(1)
        grid = QGridLayout(box)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        top = Qt.AlignmentFlag.AlignTop
        grid.addWidget(label, 0, 0)
        grid.addWidget(self.raw, 0, 1)
        grid.addWidget(self._added_title, 1, 0, top)
        grid.addWidget(self._added, 1, 1)
        grid.addWidget(MutedLabel(self.tr("Command")), 2, 0, top)
        grid.addWidget(self._command, 2, 1)
        grid.addLayout(buttons, 3, 1)
        grid.setColumnStretch(1, 1)

    def focus_chain(self) -> list[QWidget]:
        """Return the focusable widgets in Tab order."""
        title = self.findChild(QPushButton, "as-text")
        assert title is not None  # noqa: S101 - narrows the type
        return [title, self.raw, self._command, self._copy_command, self._copy_as]

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

    def set_busy(self, *, busy: bool) -> None:
        """Disable editing while ``busy`` is True."""
        self.raw.setEnabled(not busy)
