"""The steps of a change, numbered, each with its exact command; they tick off while it is carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from ui.common import theme
from ui.common.labels import MutedLabel, enlarge, plain_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.mounts.change_model import Step, StepKind, StepState

_SIGNS: dict[StepState, str] = {"begun": "▸", "done": "✓", "failed": "✖", "skipped": "–"}  # noqa: RUF001
_MEANINGS: dict[StepState, str] = {"begun": "info", "done": "ok", "failed": "error", "skipped": "muted"}


class StepList(QWidget):
    """Shows steps and how far they are."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._steps: list[Step] = []
        self._states: dict[int, StepState] = {}
        self._signs: list[QLabel] = []
        self._notes: list[QLabel] = []
        self._widgets: list[QWidget] = []
        self._title = plain_label(title)
        enlarge(self._title, 1.0, bold=True)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(2, 1)
        self._grid.addWidget(self._title, 0, 0, 1, 3)
        self.hide()

    def show_steps(self, steps: Sequence[Step]) -> None:
        """Show these steps, none of them begun."""
        self._steps = list(steps)
        self._states = {}
        for widget in self._widgets:
            self._grid.removeWidget(widget)
            widget.hide()
            widget.deleteLater()
        self._signs, self._notes, self._widgets = [], [], []
        for number, step in enumerate(steps):
            self._add(number, step)
        self._colour()
        self.setVisible(bool(steps))

    def kind(self, number: int) -> StepKind | None:
        """Return what kind of step it is, None if there is none of that number."""
        return self._steps[number].kind if 0 <= number < len(self._steps) else None

    def state(self, number: int) -> StepState | None:
        """Return how far a step is, None if it has not begun."""
        return self._states.get(number)

    def set_state(self, number: int, state: StepState, note: str = "") -> None:
        """Say how far a step is, the first with number 0; a note that repeats its text is not shown twice."""
        if not 0 <= number < len(self._steps):
            return
        self._states[number] = state
        self._signs[number].setText(_SIGNS[state])
        self._signs[number].setAccessibleName(self._word(state))
        said = "" if note == self._steps[number].text else note
        self._notes[number].setText(said)
        self._notes[number].setVisible(bool(said))
        self._colour()

    def _word(self, state: StepState) -> str:
        return {
            "begun": self.tr("under way"),
            "done": self.tr("done"),
            "failed": self.tr("failed"),
            "skipped": self.tr("skipped"),
        }[state]

    def _add(self, number: int, step: Step) -> None:
        sign = plain_label(" ")
        sign.setMinimumWidth(self.fontMetrics().horizontalAdvance("✖ "))
        enlarge(sign, 1.0, bold=True)
        text = plain_label(step.text, wrap=True)
        note = plain_label(wrap=True)
        note.hide()
        row = 1 + 3 * number
        top = Qt.AlignmentFlag.AlignTop
        self._grid.addWidget(sign, row, 0, top)
        self._grid.addWidget(text, row, 2)
        count = plain_label(f"{number + 1}.")
        self._grid.addWidget(count, row, 1, top)
        self._widgets += [sign, count, text, note]
        if step.command:
            command = MutedLabel(step.command, wrap=True)
            command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
            command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._grid.addWidget(command, row + 1, 2)
            self._widgets.append(command)
        self._grid.addWidget(note, row + 2, 2)
        self._signs.append(sign)
        self._notes.append(note)

    def _colour(self) -> None:
        colours = theme.colours()
        for number, state in self._states.items():
            theme.tint(self._signs[number], getattr(colours, _MEANINGS[state]))
            if state == "failed":
                theme.tint(self._notes[number], colours.error)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_grid"):
            self._colour()
