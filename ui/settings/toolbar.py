"""Toolbar of the settings form: option search, which options are shown, findings, undo and redo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QLineEdit, QPushButton, QToolButton, QWidget

from ui.common.cards import text_button
from ui.common.icons import icon
from ui.common.labels import MutedLabel
from ui.settings.option_grid import ShownOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.lint import Finding
    from ui.settings.undo import FormUndoStack

#: Smallest width of the search field, characters.
_SEARCH_LETTERS = 18


class SettingsToolbar(QWidget):
    """Search field and buttons above the options.

    Args:
        history: stack of undo steps.
        panel: widget within which Ctrl+F works.

    Signals:
        searched: the search words, or "" to end the search.
        search_left: Enter or Down was pressed, so the first hit gets the focus.
        shown_chosen: which options the user wants to see, a ShownOptions.
        findings_clicked: the user wants to see the next finding.
    """

    searched = Signal(str)
    search_left = Signal()
    shown_chosen = Signal(object)
    findings_clicked = Signal()

    def __init__(self, history: FormUndoStack, panel: QWidget) -> None:
        super().__init__()
        self._search = _SearchField()
        self._search.setObjectName("option-search")
        self._search.setPlaceholderText(self.tr("Find an option"))
        self._search.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
        self._search.setAccessibleName(self.tr("Find an option"))
        self._search.setToolTip(self.tr("Find an option (Ctrl+F)"))
        self._search.setClearButtonEnabled(True)
        self._search.setMinimumWidth(self.fontMetrics().averageCharWidth() * _SEARCH_LETTERS)
        self._search.textChanged.connect(self._on_text)
        self._search.left.connect(self.search_left)
        self._shown_buttons = {
            ShownOptions.SET: _switch(self.tr("Set and Recommended"), "options-set"),
            ShownOptions.ALL: _switch(self.tr("All Options"), "options-all"),
        }
        group = QButtonGroup(self)
        for shown, button in self._shown_buttons.items():
            group.addButton(button, shown.value)
        self._shown_buttons[ShownOptions.SET].setChecked(True)
        group.idClicked.connect(self._on_shown_clicked)
        self._hits = MutedLabel()
        self._hits.setObjectName("option-hits")
        self._findings = text_button("")
        self._findings.setObjectName("option-findings")
        self._findings.hide()
        self._findings.clicked.connect(self.findings_clicked)
        undo = _tool(self.tr("Undo"), "undo", QKeySequence.StandardKey.Undo)
        redo = _tool(self.tr("Redo"), "redo", QKeySequence.StandardKey.Redo)
        undo.clicked.connect(history.undo_step)
        redo.clicked.connect(history.redo_step)
        undo.setEnabled(False)
        redo.setEnabled(False)
        history.canUndoChanged.connect(undo.setEnabled)
        history.canRedoChanged.connect(redo.setEnabled)
        self._steps = QWidget()
        steps = QHBoxLayout(self._steps)
        steps.setContentsMargins(0, 0, 0, 0)
        for step in (undo, redo):
            steps.addWidget(step)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._search, 1)
        switch = QHBoxLayout()
        switch.setSpacing(0)
        for shown_button in self._shown_buttons.values():
            switch.addWidget(shown_button)
        layout.addLayout(switch)
        layout.addWidget(self._hits)
        layout.addWidget(self._findings)
        layout.addStretch(1)
        layout.addWidget(self._steps)
        find = QShortcut(QKeySequence.StandardKey.Find, panel)
        find.activated.connect(self._on_find)

    def focus_chain(self) -> list[QWidget]:
        """Return the focusable widgets in Tab order."""
        steps = self._steps.findChildren(QWidget)
        return [self._search, *self._shown_buttons.values(), self._findings, *steps]

    def show_only(self, shown: ShownOptions) -> None:
        """Show which options the form shows."""
        self._shown_buttons[shown].setChecked(True)

    def show_hits(self, count: int) -> None:
        """Show the number of rows found."""
        if not self._search.text().strip():
            self._hits.setText("")
        elif count == 1:
            self._hits.setText(self.tr("1 setting found"))
        else:
            self._hits.setText(self.tr("{count} settings found").format(count=count))

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Show how many errors and warnings the form has; none hides the button."""
        errors = sum(finding.severity == "error" for finding in findings)
        warnings = sum(finding.severity == "warning" for finding in findings)
        count = errors + warnings
        self._findings.setIcon(icon("error", "error") if errors else icon("warning", "warn"))
        self._findings.setText(str(count))
        self._findings.setVisible(count > 0)
        name = self.tr("Errors: {errors}. Warnings: {warnings}.").format(errors=errors, warnings=warnings)
        self._findings.setAccessibleName(name)
        self._findings.setToolTip(self.tr("{summary} Go to the next one.").format(summary=name))

    def set_busy(self, *, busy: bool) -> None:
        """Disable undo and redo while ``busy`` is True; the search stays enabled."""
        self._steps.setEnabled(not busy)

    def clear(self) -> None:
        """Clear the search."""
        self._search.clear()

    def _on_shown_clicked(self, number: int) -> None:
        self.shown_chosen.emit(ShownOptions(number))

    def _on_text(self, text: str) -> None:
        self.searched.emit(text.strip())

    def _on_find(self) -> None:
        self._search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._search.selectAll()


class _SearchField(QLineEdit):
    """Line edit that Esc clears.

    Signals:
        left: Enter or Down was pressed.
    """

    left = Signal()

    # Qt overrides

    def event(self, event: QEvent) -> bool:
        """Qt: keep Esc from the window's shortcuts while the field has text."""
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() == Qt.Key.Key_Escape
            and self.text()
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: Esc clears the text; Enter and Down emit ``left``."""
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Down):
            self.left.emit()
        else:
            super().keyPressEvent(event)


def _switch(text: str, object_name: str) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(object_name)
    button.setCheckable(True)
    return button


def _tool(name: str, icon_name: str, key: QKeySequence.StandardKey) -> QToolButton:
    button = QToolButton()
    button.setIcon(icon(icon_name))
    button.setObjectName(icon_name)
    button.setAutoRaise(True)
    button.setAccessibleName(name)
    keys = QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
    button.setToolTip(f"{name} ({keys})")
    return button
