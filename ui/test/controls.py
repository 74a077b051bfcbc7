"""Options of a test: workload, direction, duration, cache method, sizes and repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QLineEdit, QSpinBox, QWidget

from app.files.safe_write import default_folder
from app.speedtest.model import ACCESS_PATTERNS, DEFAULT_SIZE, Grid, TestPlanArgs, TestSpec
from app.text.units import format_size

if TYPE_CHECKING:
    from PySide6.QtGui import QResizeEvent

    from app.speedtest.model import AccessPattern, CacheMethod, Direction, Preset, WorkloadKind
    from ui.test.run import TestTarget

#: Memory sizes of the server that are offered, bytes.
_MEMORIES = tuple(2**30 * count for count in (1, 2, 4, 8, 16, 32, 64))
#: File sizes that are offered, bytes.
_SIZES = tuple(2**20 * count for count in (4, 16, 64, 256, 1024, 4096))
#: Default number of small files, by file size in bytes.
_SMALL_FILE_COUNTS = {2**20: 100, 4096: 1000}
#: Numbers of small files that are offered.
_COUNTS = (10, 100, 1000, 5000)
#: Gap between two columns, px.
_GAP = 14
#: Duration of each preset, s.
_PRESET_SECONDS = {"quick": 15.0, "normal": 60.0, "thorough": 240.0}
#: Default number of repeats: a 95% confidence interval of the median needs six.
_REPEATS = 6
#: Access patterns of the grid, by direction of the test.
_PATTERNS: dict[Direction, tuple[AccessPattern, ...]] = {
    "both": ACCESS_PATTERNS,
    "write": tuple(pattern for pattern in ACCESS_PATTERNS if pattern.endswith("write")),
    "read": tuple(pattern for pattern in ACCESS_PATTERNS if pattern.endswith("read")),
}


class SpeedTestControls(QWidget):
    """Form of a test: workload, direction, duration, cache method; only the fields that apply are shown.

    Signals:
        plan_changed: the user changed a field, so the plan is outdated.
    """

    plan_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._workload = _combo("what", [(self.tr("One file"), 0), *(
            (self.tr("Many files of {size}").format(size=format_size(size)), size)
            for size in _SMALL_FILE_COUNTS
        ), (self.tr("Your own file or directory"), "own"),
            (self.tr("Grid of requests (fio)"), "grid")])  # fmt: skip
        self._source = QLineEdit()
        self._source.setObjectName("source")
        self._source.setPlaceholderText(str(default_folder()))
        self._source.setToolTip(self.tr("An absolute path on the host that runs the test. It is only read."))
        self._direction = _combo("direction", [
            (self.tr("Both directions"), "both"), (self.tr("To the server"), "write"),
            (self.tr("From the server"), "read"),
        ])  # fmt: skip
        self._duration = _combo("duration", [
            (self.tr("Quick (about 15 s)"), "quick"), (self.tr("Normal (about 1 min)"), "normal"),
            (self.tr("Thorough (about 4 min)"), "thorough"), (self.tr("Custom"), ""),
        ])  # fmt: skip
        self._duration.setToolTip(
            self.tr("Sets file size and repeats by the link and the free space.\n"
                    "For a grid, it sets the cells and their duration.")
        )  # fmt: skip
        self._cache = _combo("cache", [
            (self.tr("Emptied before reading"), "fadvise"), (self.tr("Bypassed (direct I/O)"), "direct"),
        ])  # fmt: skip
        self._cache.setToolTip(self.tr("Keeps this computer's cache out of the read,\n"
                                       "so that all bytes come from the server."))  # fmt: skip
        # Sizes are floats, because Qt item data holds only 32-bit integers.
        self._size = _combo("size", [(format_size(size), float(size)) for size in _SIZES])
        self._size.setCurrentIndex(_SIZES.index(DEFAULT_SIZE))
        self._count = _combo("count", [(f"{count:,}", count) for count in _COUNTS])
        self._repeats = QSpinBox()
        self._repeats.setObjectName("repeats")
        self._repeats.setRange(1, 50)
        self._repeats.setValue(_REPEATS)
        self._repeats.setToolTip(
            self.tr("A warm-up comes first. A 95% confidence interval needs at least six repeats.")
        )
        self._baseline = _combo("baseline", [
            (self.tr("None"), False), (self.tr("Network alone (iperf3)"), True),
        ])  # fmt: skip
        self._baseline.setToolTip(
            self.tr("Measures one TCP stream in each direction after the test.\n"
                    "This needs iperf3 here and “iperf3 -s” on the server.")
        )  # fmt: skip
        self._memory = _combo("server-memory", [(self.tr("Unknown"), 0.0), *(
            (format_size(size), float(size)) for size in _MEMORIES
        )])  # fmt: skip
        self._memory.setToolTip(
            self.tr("The file becomes 1.5 times as large as this memory,\n"
                    "so that the server reads at least a third of it from disk.")
        )  # fmt: skip
        self._labels: dict[QWidget, QLabel] = {}
        self._grid = QGridLayout(self)
        self._lay_out()
        self._workload.currentIndexChanged.connect(self._on_workload)
        self._duration.currentIndexChanged.connect(self._show_fields)
        for combo in (
            self._workload, self._direction, self._duration, self._cache, self._size, self._count,
            self._baseline, self._memory,
        ):  # fmt: skip
            combo.currentIndexChanged.connect(self.plan_changed)
        self._repeats.valueChanged.connect(self.plan_changed)
        self._source.textChanged.connect(self.plan_changed)
        self._show_fields()

    def _lay_out(self) -> None:
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(3)
        texts: list[tuple[str, QWidget]] = [
            (self.tr("&Copy"), self._workload), (self.tr("&Direction"), self._direction),
            (self.tr("D&uration"), self._duration), (self.tr("Client's cac&he"), self._cache),
            (self.tr("Si&ze"), self._size), (self.tr("Number of &files"), self._count),
            (self.tr("&Baseline"), self._baseline), (self.tr("Server's &memory"), self._memory),
            (self.tr("&Repeats"), self._repeats), (self.tr("F&ile or directory"), self._source),
        ]  # fmt: skip
        for text, field in texts:
            label = QLabel(text)
            label.setBuddy(field)
            field.setAccessibleName(text.replace("&", ""))
            self._labels[field] = label
        self._arrange(narrow=False)

    def _arrange(self, *, narrow: bool) -> None:
        """Arrange the fields in three columns, or in two."""
        self._narrow = narrow
        grid = self._grid
        for field, (row, column) in self._positions(narrow=narrow).items():
            grid.addWidget(self._labels[field], row, column)
            grid.addWidget(field, row + 1, column, 1, 3 if field is self._source else 1)
        grid.setColumnStretch(3, 1)

    def _positions(self, *, narrow: bool) -> dict[QWidget, tuple[int, int]]:
        """Return the grid row and column of each field's label."""
        if narrow:
            return {
                self._workload: (0, 0), self._direction: (0, 1), self._duration: (2, 0), self._cache: (2, 1),
                self._size: (4, 0), self._count: (4, 0), self._repeats: (4, 1), self._source: (6, 0),
                self._baseline: (4, 0), self._memory: (4, 1),
            }  # fmt: skip
        return {
            self._workload: (0, 0), self._direction: (0, 1), self._duration: (0, 2), self._cache: (2, 0),
            self._size: (2, 1), self._count: (2, 1), self._repeats: (2, 2), self._source: (4, 0),
            self._baseline: (2, 1), self._memory: (2, 2),
        }  # fmt: skip

    def _minimum_width(self, *, narrow: bool) -> int:
        """Return the minimum width of an arrangement, px; hidden fields count too."""
        columns: dict[int, int] = {}
        for field, (_row, column) in self._positions(narrow=narrow).items():
            columns[column] = max(columns.get(column, 0), field.minimumSizeHint().width())
        return sum(columns.values()) + _GAP * len(columns)

    def _spec(self, target: TestTarget) -> TestSpec:
        """Return the specification of the chosen test; a preset later replaces sizes and repeats."""
        workload, direction = self._workload_kind(), cast("Direction", self._direction.currentData())
        small = int(self._workload.currentData()) if workload == "files" else 0
        return TestSpec(
            path=target.mount_point if target.mounted else "",
            share="" if target.mounted else target.share,
            options=target.options,
            direction=direction,
            size=small or int(self._size.currentData()),
            cache=cast("CacheMethod", self._cache.currentData()),
            workload=workload,
            count=int(self._count.currentData()) if small else 1,
            repeats=self._repeats.value(),
            source=self._source.text().strip() if workload == "own" else "",
            grid=Grid(patterns=_PATTERNS[direction]) if workload == "grid" else None,
            network_alone=self._is_thorough() and bool(self._baseline.currentData()),
            server_memory=int(self._memory.currentData())
            if self._is_thorough() and workload == "file"
            else 0,
            small_reads=workload == "file",
        )

    def _is_thorough(self) -> bool:
        return bool(self._duration.currentData() == "thorough")

    def plan_args(self, target: TestTarget) -> TestPlanArgs | None:
        """Return the request for a plan, None while the path of the user's own files is missing."""
        if self._workload_kind() == "own" and not self._source.text().strip():
            return None
        preset = cast("Preset | None", self._duration.currentData() or None)
        return TestPlanArgs(spec=self._spec(target), preset=preset)

    def _workload_kind(self) -> WorkloadKind:
        chosen = self._workload.currentData()
        if chosen in ("own", "grid"):
            return cast("WorkloadKind", chosen)
        return "files" if chosen else "file"

    def offer_fresh_mount(self, *, offered: bool) -> None:
        """Offer or hide the cache method "fresh-mount"; it needs a mount that no other program uses."""
        index = self._cache.findData("fresh-mount")
        if offered and index < 0:
            self._cache.addItem(self.tr("Fresh mount"), "fresh-mount")
        elif not offered and index >= 0:
            self._cache.removeItem(index)

    def set_enabled(self, *, on: bool) -> None:
        """Enable the fields, or disable them while a test runs."""
        for field in self._labels:
            field.setEnabled(on)

    def summary(self) -> str:
        """Return the chosen options in one line."""
        direction = {
            "both": self.tr("both directions"), "write": self.tr("to the server"),
            "read": self.tr("from the server"),
        }[self._direction.currentData()]  # fmt: skip
        test = self.tr("{workload}, {direction}").format(
            workload=self._workload.currentText(), direction=direction
        )
        duration = {
            "quick": "", "normal": self.tr("about 1 min"), "thorough": self.tr("about 4 min"),
            "": self.tr("size and repeats as chosen"),
        }[self._duration.currentData()]  # fmt: skip
        cache = {
            "fadvise": self.tr("cache emptied before reading"), "direct": self.tr("cache bypassed"),
            "fresh-mount": self.tr("mounted again before reading"),
        }[self._cache.currentData()] if self._workload_kind() != "grid" else ""  # fmt: skip
        return " · ".join(part for part in (test, duration, cache) if part)

    def nominal_seconds(self) -> float | None:
        """Return the duration of the chosen preset, s; None without one."""
        return _PRESET_SECONDS.get(self._duration.currentData())

    def _on_workload(self) -> None:
        workload = self._workload_kind()
        if workload == "files":
            self._count.setCurrentIndex(_COUNTS.index(_SMALL_FILE_COUNTS[int(self._workload.currentData())]))
        self._repeats.setValue(1 if workload == "grid" else _REPEATS)
        self._show_fields()

    def _show_fields(self) -> None:
        """Show only the fields that apply to the chosen workload and duration."""
        workload = self._workload_kind()
        chosen = not self._duration.currentData()
        for field, shown in (
            (self._cache, workload != "grid"),
            (self._size, chosen and workload in ("file", "grid")),
            (self._count, chosen and workload == "files"),
            (self._repeats, chosen), (self._source, workload == "own"),
            (self._baseline, self._is_thorough()), (self._memory, self._is_thorough() and workload == "file"),
        ):  # fmt: skip
            field.setVisible(shown)
            self._labels[field].setVisible(shown)

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: width of the arrangement in two columns."""
        return QSize(self._minimum_width(narrow=True), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: choose the arrangement that fits the width."""
        super().resizeEvent(event)
        narrow = self._minimum_width(narrow=False) > self.width()
        if narrow != self._narrow:
            self._arrange(narrow=narrow)


def _combo(name: str, items: list[tuple[str, object]]) -> QComboBox:
    combo = QComboBox()
    combo.setObjectName(name)
    for text, value in items:
        combo.addItem(text, value)
    return combo
