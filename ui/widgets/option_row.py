"""One option in the settings form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject, Signal

from app.units import format_size
from ui.common.option_text import default_text, help_text, is_count, spelling, value_text
from ui.widgets.option_cells import OptionCells, RowTexts
from ui.widgets.option_editor import make_editor

if TYPE_CHECKING:
    from PySide6.QtWidgets import QGridLayout, QWidget

    from advisor.catalogue import Option
    from app.mounts.model import OptionValue


class Advised(Protocol):
    """What a row shows of a recommendation (advisor.recommend.Recommendation is one).

    Attributes:
        option: canonical name.
        proposed: canonical value, None to leave the option out.
        reason: why, one or two sentences.
    """

    @property
    def option(self) -> str: ...  # noqa: D102 - said above
    @property
    def proposed(self) -> str | None: ...  # noqa: D102
    @property
    def reason(self) -> str: ...  # noqa: D102


class OptionRow(QObject):
    """Fills one row of a grid and edits one option.

    Signals:
        edited: the canonical name and the value that the person gave it, None for the default.
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
        self._advised: Advised | None = None
        self._problem = ""
        self._said: tuple[OptionValue | None, bool] = (None, False)
        self.editor.changed.connect(self._on_changed)
        self.cells.reverted.connect(self._on_reverted)
        self.cells.left_out.connect(self._on_left_out)
        self.cells.taken.connect(self._on_taken)
        self.show_default("", "")

    def show_value(self, value: str | None, was: str | None) -> None:
        """Show what is asked for and whether that is edited, without telling anybody.

        What was typed and cannot be written stays until the option has another value.
        """
        if not (self._problem and value == self._value):
            self._clear_problem()
            if self.editor.value() != value:
                self.editor.blockSignals(True)  # noqa: FBT003
                self.editor.set_value(value)
                self.editor.blockSignals(False)  # noqa: FBT003
        self._value, self._was = value, was
        self.cells.show_change(self._words(was) if value != was else None, given=value is not None)

    def show_used(self, value: OptionValue | None, *, refused: bool) -> None:
        """Show what is in use.

        Args:
            value: it, or None where nothing is known.
            refused: whether it was asked for with another value, which is not in force; that is marked.
        """
        self._said = value, refused
        used = value.effective if value is not None else None
        self.cells.show_used("" if used is None else value_text(self.option, used))
        self._show_note()

    def show_default(self, version: str, transport: str) -> None:
        """Show the default on this version and transport."""
        text = default_text(self.option, version, transport)
        short, comma, _rest = text.partition(", ")
        self.cells.show_default(short if comma and self.option.default is None else text)

    def show_advised(self, advised: Advised | None) -> None:
        """Show the recommended value; None for none."""
        self._advised = advised
        text = "" if advised is None else self._short(advised.proposed)
        self.cells.show_advised(text, "" if advised is None else advised.reason)

    def show_problem(self, text: str) -> None:
        """Say why what was typed does not count."""
        self._problem = text
        self._show_note()

    def problem(self) -> str:
        """Return what is wrong with what was typed, or ""."""
        return self._problem or self.editor.problem()

    def _clear_problem(self) -> None:
        if self._problem:
            self._problem = ""
            self._show_note()

    def _show_note(self) -> None:
        value, refused = self._said
        note = value.note if value is not None else ""
        if self._problem:
            self.cells.show_note(f"✖ {self._problem}", "error")
        elif refused and value is not None and value.effective is None:
            self.cells.show_note(self.tr("⊘ Ignored: {reason}").format(reason=note), "warn")
        elif refused:
            reason = note or self.tr("The kernel uses another value.")
            self.cells.show_note(self.tr("≠ Not as asked for: {reason}").format(reason=reason), "warn")
        else:
            self.cells.show_note(note)

    def _words(self, value: str | None) -> str:
        return self.tr("Default") if value is None else value_text(self.option, value)

    def _short(self, value: str | None) -> str:
        if value is not None and self.option.kind == "size" and is_count(value):
            return format_size(int(value))
        return self._words(value)

    def _on_changed(self) -> None:
        self.edited.emit(self.option.name, self.editor.value())

    def _on_reverted(self) -> None:
        self.editor.setFocus()
        self.edited.emit(self.option.name, self._was)

    def _on_left_out(self) -> None:
        self.editor.setFocus()
        self.edited.emit(self.option.name, None)

    def _on_taken(self) -> None:
        if self._advised is not None:
            self.edited.emit(self.option.name, self._advised.proposed)
