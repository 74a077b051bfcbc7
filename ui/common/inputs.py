"""Input widgets: editors of option values, and fields that ignore the mouse wheel without focus.

The kind of an option in the catalogue determines its editor. Every editor has the choice “Default”, which
leaves the option out of the option string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QHBoxLayout, QLineEdit, QSpinBox, QWidget

from advisor.catalogue import NO, YES
from app.text.units import parse_size
from ui.common.option_text import is_plain_number, size_item, value_text

if TYPE_CHECKING:
    from PySide6.QtGui import QWheelEvent

    from advisor.catalogue import Option


class NoWheelSpinBox(QSpinBox):
    """Spin box that scrolls the page instead of its value, unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # Qt overrides

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: ignore the wheel without focus, so that the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


#: Offered transfer sizes, bytes; others can be typed.
_SIZES = tuple(2**power for power in range(12, 21))


class NoWheelComboBox(QComboBox):
    """Combo box that scrolls the page instead of its value, unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    # Qt overrides

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: ignore the wheel without focus, so that the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class _NumberBox(QDoubleSpinBox):
    """Spin box for a number; one step below the minimum is “Default”."""

    def __init__(self, option: Option) -> None:
        super().__init__()
        self._option = option
        tenths = option.kind == "decisec"
        self.setDecimals(1 if tenths else 0)
        scale = 10 if tenths else 1
        smallest, largest = option.minimum or 0, option.maximum or 0
        step = 0.1 if tenths else 1.0
        self.setRange(smallest / scale - step, largest / scale)
        self.setValue(self.minimum())
        self.setSingleStep(1.0)
        self.setGroupSeparatorShown(False)
        self.setSpecialValueText(self.tr("Default"))
        if option.kind in ("decisec", "sec"):
            self.setSuffix(" s")
        elif option.kind == "minutes":
            self.setSuffix(" min")

    # Qt overrides

    def stepBy(self, steps: int) -> None:
        """Qt: step up from “Default” to the numeric default of the option."""
        default = self._option.default
        if self.value() == self.minimum() and steps > 0 and default is not None and default.isdigit():
            self.setValue(float(self._option.from_wire(default)))
        else:
            super().stepBy(steps)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: ignore the wheel without focus, so that the page scrolls."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class OptionEditor(QWidget):
    """Base class of the editors of one option.

    Attributes:
        option: option of the catalogue.
        field: inner widget that takes the focus.

    Signals:
        changed: the value changed.
    """

    changed = Signal()

    def __init__(self, option: Option) -> None:
        super().__init__()
        self.option = option
        self.field: QWidget = self
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def value(self) -> str | None:
        """Return the canonical value, None for the default; an invalid value as typed."""
        raise NotImplementedError

    def set_value(self, value: str | None) -> None:
        """Show a canonical value, None for the default."""
        raise NotImplementedError

    def problem(self) -> str:
        """Return the problem of an invalid value, "" without one."""
        return ""

    def set_default_text(self, text: str) -> None:
        """Set what the editor shows without a value, without emitting ``changed``."""
        raise NotImplementedError

    def set_field(self, field: QWidget) -> None:
        """Set the inner widget; called by subclasses."""
        field.setObjectName(f"option-{self.option.name}")
        field.setAccessibleName(self.option.label)
        line = field.lineEdit() if isinstance(field, QComboBox) else None
        if isinstance(line, QLineEdit):
            line.setAccessibleName(self.option.label)
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        field.setMinimumWidth(1)  # a long default text is clipped and does not widen the form
        self.field = field
        self._layout.addWidget(field)
        self.setFocusProxy(field)


class ChoiceEditor(OptionEditor):
    """Editor of a flag or an enumeration: a combo box."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._combo = NoWheelComboBox()
        self._combo.addItem(self.tr("Default"), None)
        for value in (YES, NO) if option.kind == "flag" else option.values:
            self._combo.addItem(value_text(option, value), value)
        self._combo.currentIndexChanged.connect(self.changed)
        self.set_field(self._combo)

    def value(self) -> str | None:
        """Return the selected value, None for the default."""
        data = self._combo.currentData()
        return None if data is None else str(data)

    def set_value(self, value: str | None) -> None:
        """Select a value; a value that the list does not offer is added to it."""
        index = 0 if value is None else self._combo.findData(value)
        if index < 0:
            self._combo.addItem(str(value), value)
            index = self._combo.count() - 1
        self._combo.setCurrentIndex(index)

    def set_default_text(self, text: str) -> None:
        """Set the text of the first entry."""
        self._combo.setItemText(0, text)


class NumberEditor(OptionEditor):
    """Editor of a number with its unit; tenths of a second are shown in seconds."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._box = _NumberBox(option)
        self._unshowable: str | None = None
        self._box.valueChanged.connect(self._on_changed)
        self.set_field(self._box)

    def value(self) -> str | None:
        """Return the number as in the option string, None for the default."""
        if self._unshowable is not None:
            return self._unshowable
        if self._box.value() == self._box.minimum():
            return None
        return self.option.to_wire(self._box.value())

    def set_value(self, value: str | None) -> None:
        """Show a number; a value that the spin box cannot show stays unchanged until the user edits it."""
        self._unshowable = None
        if value is None:
            self._box.setValue(self._box.minimum())
            return
        try:
            number = float(self.option.from_wire(value))
        except (ValueError, OverflowError):
            number = -1.0
        if self._box.minimum() < number <= self._box.maximum():
            self._box.setValue(number)
        else:
            self._box.setValue(self._box.minimum())
            self._unshowable = value

    def problem(self) -> str:
        """Return the problem of a value that the spin box cannot show, "" without one."""
        if self._unshowable is None:
            return ""
        return self.tr("“{value}” is not a value of {name}.").format(
            value=self._unshowable, name=self.option.name
        )

    def set_default_text(self, text: str) -> None:
        """Set the text of the step below the minimum."""
        self._box.setSpecialValueText(text)
        line = self._box.lineEdit()
        if not line.hasFocus():
            line.setCursorPosition(0)  # shows the begin of a long text

    def _on_changed(self) -> None:
        self._unshowable = None
        self.changed.emit()


class SizeEditor(OptionEditor):
    """Editor of a transfer size: a power of two from the list, or typed (``262144``, ``256k``, ``1M``)."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._combo = NoWheelComboBox()
        self._combo.setEditable(True)
        self._combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self._combo.addItem(self.tr("Default"))
        for size in _SIZES:
            self._combo.addItem(size_item(size))
        self._combo.editTextChanged.connect(self.changed)
        self.set_field(self._combo)

    def value(self) -> str | None:
        """Return the number of bytes as a decimal, None for the default; an invalid size as typed."""
        text = self._text()
        if not text or self._combo.currentText() == self._combo.itemText(0):
            return None
        try:
            return str(parse_size(text))
        except ValueError:
            return text

    def set_value(self, value: str | None) -> None:
        """Show a size in bytes, None for the default."""
        if value is None:
            self._combo.setCurrentIndex(0)
            self._combo.setEditText(self._combo.itemText(0))
        else:
            self._combo.setEditText(size_item(int(value)) if is_plain_number(value) else value)
        self._show_begin()

    def set_default_text(self, text: str) -> None:
        """Set the text of the first entry."""
        is_default = self.value() is None
        self._combo.blockSignals(True)  # noqa: FBT003
        self._combo.setItemText(0, text)
        if is_default:
            self._combo.setEditText(text)
            self._show_begin()
        self._combo.blockSignals(False)  # noqa: FBT003

    def problem(self) -> str:
        """Return the problem of a typed size, "" without one."""
        text = self.value()
        if text is None or is_plain_number(text):
            return ""
        return self.tr("Enter a size such as 262144, 256k or 1M instead of “{text}”.").format(text=text)

    def _show_begin(self) -> None:
        """Show the begin of a long text instead of its end."""
        line = self._combo.lineEdit()
        if line is not None and not line.hasFocus():
            line.setCursorPosition(0)

    def _text(self) -> str:
        # In “262144 (256 KiB)”, the number before the parenthesis is the value.
        return self._combo.currentText().partition("(")[0].strip()


class TextEditor(OptionEditor):
    """Editor of an option with free text."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._line = QLineEdit()
        self._line.setPlaceholderText(self.tr("Default"))
        self._line.textChanged.connect(self.changed)
        self.set_field(self._line)

    def value(self) -> str | None:
        """Return the text, None if it is empty."""
        return self._line.text().strip() or None

    def set_value(self, value: str | None) -> None:
        """Show a text, None for the default."""
        self._line.setText(value or "")

    def set_default_text(self, text: str) -> None:
        """Set the placeholder."""
        self._line.setPlaceholderText(text)


def make_editor(option: Option) -> OptionEditor:
    """Create the editor for the kind of an option."""
    if option.kind in ("flag", "enum", "version"):
        return ChoiceEditor(option)
    if option.kind == "size":
        return SizeEditor(option)
    if option.is_number:
        return NumberEditor(option)
    return TextEditor(option)
