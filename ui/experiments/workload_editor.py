"""Editor of one workload of a recipe: kind, direction, sizes and number of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QLabel,
    QLineEdit,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.experiment.recipes import CP_BLOCK_SIZE, RecipeWorkload
from app.text.units import format_size, parse_size
from ui.common.inputs import NoWheelComboBox, NoWheelSpinBox
from ui.common.labels import ProblemLabel

if TYPE_CHECKING:
    from app.speedtest.model import Direction, WorkloadKind

#: Upper limit of the number of files in a workload.
_MAX_FILES = 100_000
#: Kinds of workloads that have more than one file.
_MULTI_FILE_KINDS = frozenset({"files", "streams"})


class WorkloadCard(QWidget):
    """Editor of one workload: kind, direction, sizes and number of files.

    Args:
        work: initial workload.

    Signals:
        changed: the user edited the workload.
        removed: the user removed the workload from the recipe.
    """

    changed = Signal()
    removed = Signal()

    def __init__(self, work: RecipeWorkload) -> None:
        super().__init__()
        self.setObjectName("work")
        self._kind = _combo([
            (self.tr("one file"), "file"), (self.tr("many small files"), "files"),
            (self.tr("several files at once"), "streams"), (self.tr("records in random order"), "random"),
        ], work.kind)  # fmt: skip
        self._direction = _combo([
            (self.tr("to the server and back"), "both"), (self.tr("to the server"), "write"),
            (self.tr("from the server"), "read"),
        ], work.direction)  # fmt: skip
        self._name = QLineEdit(work.name)
        self._size, self._quick_size = QLineEdit(work.size), QLineEdit(work.quick_size)
        self._block = QLineEdit("" if work.block_size == CP_BLOCK_SIZE else work.block_size)
        self._block.setPlaceholderText(self.tr("As cp does"))
        self._count, self._quick_count = _spin(1, work.count), _spin(0, work.quick_count)
        self._quick_size.setPlaceholderText(self.tr("the same"))
        self._quick_count.setSpecialValueText(self.tr("the same"))
        self._problem = ProblemLabel()
        self._remove_button = QToolButton()
        self._remove_button.setText("✕")
        self._remove_button.setAutoRaise(True)
        self._remove_button.setToolTip(self.tr("Do not copy it."))
        self._remove_button.setAccessibleName(self.tr("Remove this workload"))
        self._remove_button.clicked.connect(self.removed)
        for line in (self._name, self._size, self._quick_size, self._block):
            line.setMinimumWidth(line.fontMetrics().averageCharWidth() * 8)
        self._labels: dict[QWidget, QLabel] = {}
        self._lay_out()
        for field in (self._name, self._size, self._quick_size, self._block):
            field.textChanged.connect(self._on_changed)
        for box in (self._kind, self._direction):
            box.currentIndexChanged.connect(self._on_changed)
        for spin in (self._count, self._quick_count):
            spin.valueChanged.connect(self._on_changed)
        self._update_fields()

    def _lay_out(self) -> None:
        grid = QGridLayout()
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(4)
        cells: list[tuple[str, str, QWidget, int, int]] = [
            ("kind", self.tr("Copy"), self._kind, 0, 0),
            ("direction", self.tr("Direction"), self._direction, 0, 2),
            ("size", self.tr("Size of a file"), self._size, 1, 0),
            ("count", self.tr("Files"), self._count, 1, 2),
            ("quick-size", self.tr("Quick: size"), self._quick_size, 2, 0),
            ("quick-count", self.tr("Quick: files"), self._quick_count, 2, 2),
            ("block", self.tr("Bytes a call"), self._block, 3, 0),
            ("name", self.tr("Named"), self._name, 3, 2),
        ]
        for name, text, field, row, column in cells:
            label = QLabel(text)
            label.setBuddy(field)
            field.setObjectName(f"work-{name}")
            field.setAccessibleName(text)
            self._labels[field] = label
            grid.addWidget(label, row, column)
            grid.addWidget(field, row, column + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        grid.addWidget(self._remove_button, 0, 4)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.addLayout(grid)
        layout.addWidget(self._problem)

    def work(self) -> RecipeWorkload:
        """Return the workload as entered, also with invalid sizes; unnamed ones get a default name."""
        several = self._has_many_files()
        return RecipeWorkload(
            name=self._name.text().strip() or self._default_name(),
            kind=cast("WorkloadKind", self._kind.currentData()),
            size=self._size.text().strip(),
            quick_size=self._quick_size.text().strip(),
            count=self._count.value() if several else 1,
            quick_count=self._quick_count.value() if several else 0,
            block_size=self._block.text().strip() or CP_BLOCK_SIZE,
            direction=cast("Direction", self._direction.currentData()),
        )

    def problem(self) -> str:
        """Return the first problem of the sizes, "" without one."""
        for field in (self._size, self._quick_size, self._block):
            text = field.text().strip()
            if field is not self._size and not text:
                continue
            if field is self._block and text == CP_BLOCK_SIZE:
                continue
            try:
                size = parse_size(text)
            except ValueError as error:
                return str(error)
            if size < 1:
                return self.tr("It must be at least one byte.")
        return ""

    def _has_many_files(self) -> bool:
        return self._kind.currentData() in _MULTI_FILE_KINDS

    def _default_name(self) -> str:
        try:
            size = format_size(parse_size(self._size.text()))
        except ValueError:
            size = self._size.text().strip()
        kind = self._kind.currentData()
        if kind in _MULTI_FILE_KINDS:
            at_once = self.tr("{count} files of {size} at once")
            text = at_once if kind == "streams" else self.tr("{count} files of {size}")
            return text.format(count=self._count.value(), size=size)
        text = self.tr("{size} file at random") if kind == "random" else self.tr("{size} file")
        return text.format(size=size)

    def _on_changed(self, *_value: object) -> None:
        self._update_fields()
        self.changed.emit()

    def _update_fields(self) -> None:
        several = self._has_many_files()
        for field in (self._count, self._quick_count):
            field.setVisible(several)
            self._labels[field].setVisible(several)
        self._name.setPlaceholderText(self._default_name())
        self._problem.show_problem(self.problem())


def _combo(items: list[tuple[str, str]], chosen: str) -> NoWheelComboBox:
    box = NoWheelComboBox()
    for text, data in items:
        box.addItem(text, data)
    box.setCurrentIndex(max(box.findData(chosen), 0))
    return box


def _spin(minimum: int, value: int) -> NoWheelSpinBox:
    spin = NoWheelSpinBox()
    spin.setRange(minimum, _MAX_FILES)
    spin.setValue(value)
    return spin
