"""Input widgets: editors of option values, and fields that leave the wheel to the page.

The catalogue's type of an option gives its editor. Each editor can be at “Default”: the option is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox, QHBoxLayout, QLineEdit, QSpinBox, QWidget

from advisor.catalogue import NO, YES
from app.units import parse_size
from ui.common.option_text import is_plain_number, size_item, value_text

if TYPE_CHECKING:
    from PySide6.QtGui import QWheelEvent

    from advisor.catalogue import Option


class NoWheelSpinBox(QSpinBox):
    """Leaves the wheel to the page unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    # Qt overrides

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: turn only what the person is working on."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


#: Offered transfer sizes; any other can be typed.
_SIZES = tuple(2**power for power in range(12, 21))


class NoWheelComboBox(QComboBox):
    """Leaves the wheel to the page unless it has the focus."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(12)

    # Qt overrides

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: turn only what the person is working on."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class _NumberBox(QDoubleSpinBox):
    """A number, or “Default” below the smallest one."""

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
        """Qt: the first step away from “Default” goes to the default's own value."""
        default = self._option.default
        if self.value() == self.minimum() and steps > 0 and default is not None and default.isdigit():
            self.setValue(float(self._option.from_wire(default)))
        else:
            super().stepBy(steps)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt: turn only what the person is working on."""
        if self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


class OptionEditor(QWidget):
    """Edits one option.

    Attributes:
        option: which one.
        field: what takes the focus.

    Signals:
        changed: the value is another one.
    """

    changed = Signal()

    def __init__(self, option: Option) -> None:
        super().__init__()
        self.option = option
        self.field: QWidget = self
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)

    def value(self) -> str | None:
        """Return the canonical value, None for the default; what is no value is returned as typed."""
        raise NotImplementedError

    def set_value(self, value: str | None) -> None:
        """Show this value."""
        raise NotImplementedError

    def problem(self) -> str:
        """Return what is wrong with what was typed, or ""."""
        return ""

    def set_field(self, field: QWidget) -> None:
        """Take the field that is edited; for the editors below."""
        field.setObjectName(f"option-{self.option.name}")
        field.setAccessibleName(self.option.label)
        line = field.lineEdit() if isinstance(field, QComboBox) else None
        if isinstance(line, QLineEdit):
            line.setAccessibleName(self.option.label)
        field.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.field = field
        self._layout.addWidget(field)
        self.setFocusProxy(field)


class ChoiceEditor(OptionEditor):
    """One of a few values."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._combo = NoWheelComboBox()
        self._combo.addItem(self.tr("Default"), None)
        for value in (YES, NO) if option.kind == "flag" else option.values:
            self._combo.addItem(value_text(option, value), value)
        self._combo.currentIndexChanged.connect(self.changed)
        self.set_field(self._combo)

    def value(self) -> str | None:
        """Return the chosen value."""
        data = self._combo.currentData()
        return None if data is None else str(data)

    def set_value(self, value: str | None) -> None:
        """Choose; a value that is not offered is added, so that it is not lost."""
        index = 0 if value is None else self._combo.findData(value)
        if index < 0:
            self._combo.addItem(str(value), value)
            index = self._combo.count() - 1
        self._combo.setCurrentIndex(index)


class NumberEditor(OptionEditor):
    """A number with its unit; tenths of a second are edited as seconds."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._box = _NumberBox(option)
        self._odd: str | None = None
        self._box.valueChanged.connect(self._on_changed)
        self.set_field(self._box)

    def value(self) -> str | None:
        """Return the number as it stands in the option string."""
        if self._odd is not None:
            return self._odd
        if self._box.value() == self._box.minimum():
            return None
        return self.option.to_wire(self._box.value())

    def set_value(self, value: str | None) -> None:
        """Show the number; one that the field cannot show is kept as it is until it is edited."""
        self._odd = None
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
            self._odd = value

    def problem(self) -> str:
        """Return what is wrong with a number that came from elsewhere."""
        if self._odd is None:
            return ""
        return self.tr("“{value}” is not a value of {name}.").format(value=self._odd, name=self.option.name)

    def _on_changed(self) -> None:
        self._odd = None
        self.changed.emit()


class SizeEditor(OptionEditor):
    """A transfer size: offered powers of two, or any that is typed (``262144``, ``256k``, ``1M``)."""

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
        """Return the bytes as a plain decimal."""
        text = self._text()
        if not text or text == self.tr("Default"):
            return None
        try:
            return str(parse_size(text))
        except ValueError:
            return text

    def set_value(self, value: str | None) -> None:
        """Show the size."""
        if value is None:
            self._combo.setCurrentIndex(0)
            self._combo.setEditText(self.tr("Default"))
        else:
            self._combo.setEditText(size_item(int(value)) if is_plain_number(value) else value)

    def problem(self) -> str:
        """Return what is wrong with what was typed."""
        text = self.value()
        if text is None or is_plain_number(text):
            return ""
        return self.tr("“{text}” is not a size; write for example 262144, 256k or 1M.").format(text=text)

    def _text(self) -> str:
        # “262144 (256 KiB)” is how a size is shown; what counts is before the bracket.
        return self._combo.currentText().partition("(")[0].strip()


class TextEditor(OptionEditor):
    """Any text."""

    def __init__(self, option: Option) -> None:
        super().__init__(option)
        self._line = QLineEdit()
        self._line.setPlaceholderText(self.tr("Default"))
        self._line.textChanged.connect(self.changed)
        self.set_field(self._line)

    def value(self) -> str | None:
        """Return the text."""
        return self._line.text().strip() or None

    def set_value(self, value: str | None) -> None:
        """Show the text."""
        self._line.setText(value or "")


def make_editor(option: Option) -> OptionEditor:
    """Return the editor that fits the option's kind."""
    if option.kind in ("flag", "enum", "version"):
        return ChoiceEditor(option)
    if option.kind == "size":
        return SizeEditor(option)
    if option.is_number:
        return NumberEditor(option)
    return TextEditor(option)
