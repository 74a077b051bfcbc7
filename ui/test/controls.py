"""Controls of a test: workload, direction, time, cache method, and the button that starts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QComboBox, QGridLayout, QLabel, QLineEdit, QPushButton, QSpinBox, QWidget

from app.files.safe_write import default_folder
from app.speedtest.model import ACCESS_PATTERNS, DEFAULT_SIZE, Grid, TestPlanArgs, TestSpec
from app.text.units import format_size
from ui.common import theme
from ui.common.labels import enlarge, plain_tip

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
#: Default number of repeats: a 95% confidence interval of the median needs six.
_REPEATS = 6
#: Access patterns of the grid, by direction of the test.
_PATTERNS: dict[Direction, tuple[AccessPattern, ...]] = {
    "both": ACCESS_PATTERNS,
    "write": tuple(pattern for pattern in ACCESS_PATTERNS if pattern.endswith("write")),
    "read": tuple(pattern for pattern in ACCESS_PATTERNS if pattern.endswith("read")),
}


class SpeedTestControls(QWidget):
    """Form of a test: workload, direction, duration, cache method; one button starts and stops it.

    Signals:
        start_clicked: the user starts the test.
        stop_clicked: the user stops or abandons the test.
        plan_changed: the user changed a field, so the plan is outdated.
    """

    start_clicked = Signal()
    stop_clicked = Signal()
    plan_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._running = False
        self._workload = _combo("what", [(self.tr("One file"), 0), *(
            (self.tr("Many files of {size}").format(size=format_size(size)), size)
            for size in _SMALL_FILE_COUNTS
        ), (self.tr("My own file or folder"), "own"), (self.tr("A grid through fio"), "grid")])  # fmt: skip
        self._source = QLineEdit()
        self._source.setObjectName("source")
        self._source.setPlaceholderText(str(default_folder()))
        self._source.setToolTip(self.tr("An absolute path on the computer that tests. It is only read."))
        self._direction = _combo("direction", [
            (self.tr("To the server and back"), "both"), (self.tr("To the server"), "write"),
            (self.tr("From the server"), "read"),
        ])  # fmt: skip
        self._duration = _combo("duration", [
            (self.tr("Quick, about 15 seconds"), "quick"), (self.tr("Normal, about a minute"), "normal"),
            (self.tr("Thorough, about 4 minutes"), "thorough"), (self.tr("Just this much"), ""),
        ])  # fmt: skip
        self._duration.setToolTip(
            self.tr("How much is copied is chosen from the link and the free space,\n"
                    "and how often, so that the figures say how sure they are.\n"
                    "Of a grid it chooses the cells, and for how long each is measured.")
        )  # fmt: skip
        self._cache = _combo("cache", [
            (self.tr("Emptied before reading"), "fadvise"), (self.tr("Bypassed (direct I/O)"), "direct"),
        ])  # fmt: skip
        self._cache.setToolTip(self.tr("How the memory of this computer is kept out of the read,\n"
                                       "so that the bytes really come from the server."))  # fmt: skip
        # Sizes are floats, because Qt item data holds only 32-bit integers.
        self._size = _combo("size", [(format_size(size), float(size)) for size in _SIZES])
        self._size.setCurrentIndex(_SIZES.index(DEFAULT_SIZE))
        self._count = _combo("count", [(f"{count:,}", count) for count in _COUNTS])
        self._repeats = QSpinBox()
        self._repeats.setObjectName("repeats")
        self._repeats.setRange(1, 50)
        self._repeats.setValue(_REPEATS)
        self._repeats.setToolTip(
            self.tr("Besides a warm-up, which is not counted. Six or more make a 95 % interval.")
        )
        self._baseline = _combo("baseline", [
            (self.tr("None"), False), (self.tr("The network alone"), True),
        ])  # fmt: skip
        self._baseline.setToolTip(
            self.tr("Afterwards one TCP stream to the server and one from it are measured,\n"
                    "which tells the network from the server. It needs iperf3 on this computer,\n"
                    "and “iperf3 -s” running on the server.")
        )  # fmt: skip
        self._memory = _combo("server-memory", [(self.tr("Not known"), 0.0), *(
            (format_size(size), float(size)) for size in _MEMORIES
        )])  # fmt: skip
        self._memory.setToolTip(
            self.tr("The file is made half as large again, so that a third or more of it\n"
                    "has to come from the server's disk. That takes as long as it takes.")
        )  # fmt: skip
        self._button = QPushButton(self.tr("&Start"))
        self._button.setObjectName("start")
        enlarge(self._button, 1.25, bold=True)
        self._button.clicked.connect(self._on_button)
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
        self._update_colors()

    def _lay_out(self) -> None:
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(3)
        texts: list[tuple[str, QWidget]] = [
            (self.tr("Co&py"), self._workload), (self.tr("&Direction"), self._direction),
            (self.tr("Ho&w long"), self._duration), (self.tr("Client's &cache"), self._cache),
            (self.tr("Si&ze"), self._size), (self.tr("Number of &files"), self._count),
            (self.tr("&Baseline"), self._baseline), (self.tr("Server's &memory"), self._memory),
            (self.tr("&Repeats"), self._repeats), (self.tr("F&ile or folder"), self._source),
        ]  # fmt: skip
        for text, field in texts:
            label = QLabel(text)
            label.setBuddy(field)
            field.setAccessibleName(text.replace("&", ""))
            self._labels[field] = label
        metrics = self._button.fontMetrics()
        self._button.setMinimumSize(metrics.averageCharWidth() * 18, int(metrics.lineSpacing() * 2.6))
        self._arrange(narrow=False)

    def _arrange(self, *, narrow: bool) -> None:
        """Arrange the fields in three columns with the button at the right, or in two with it below."""
        self._narrow = narrow
        grid = self._grid
        for field, (row, column) in self._positions(narrow=narrow).items():
            grid.addWidget(self._labels[field], row, column)
            grid.addWidget(field, row + 1, column, 1, 3 if field is self._source else 1)
        grid.setColumnStretch(3, 1)
        if narrow:
            grid.addWidget(self._button, 8, 0, 1, 4, Qt.AlignmentFlag.AlignLeft)
        else:
            grid.addWidget(self._button, 0, 4, 4, 1)

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
        button = 0 if narrow else _GAP + self._button.minimumWidth()
        return sum(columns.values()) + _GAP * len(columns) + button

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
            self._cache.addItem(self.tr("Mounted afresh"), "fresh-mount")
        elif not offered and index >= 0:
            self._cache.removeItem(index)

    def set_idle(self, *, can_start: bool, why_not: str = "") -> None:
        """Show the Start button; ``why_not`` is its tooltip while it is disabled."""
        self._set(running=False, enabled=can_start, text=self.tr("&Start"))
        self._button.setToolTip(plain_tip(why_not))

    def set_running(self, *, mine: bool, stopping: bool, overdue: bool = False) -> None:
        """Show the button of a running test.

        Args:
            mine: whether the shown mount is tested; otherwise Start is disabled.
            stopping: whether the test is being stopped, which disables Stop.
            overdue: whether stopping takes too long, which offers Abandon.
        """
        if mine:
            text = self.tr("A&bandon") if overdue else self.tr("&Stop")
            self._set(running=True, enabled=overdue or not stopping, text=text)
        else:
            self._set(running=False, enabled=False, text=self.tr("&Start"))

    def _set(self, *, running: bool, enabled: bool, text: str) -> None:
        self._running = running
        self._button.setToolTip("")
        self._button.setText(text)
        self._button.setEnabled(enabled)
        for field in self._labels:
            field.setEnabled(not running)
        self._update_colors()

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

    def _on_button(self) -> None:
        (self.stop_clicked if self._running else self.start_clicked).emit()

    def _update_colors(self) -> None:
        colors = theme.colors()
        highlighted = not self._running and self._button.isEnabled()
        back, text = (colors.accent, colors.on_accent) if highlighted else (colors.raised, colors.text)
        theme.tint(self._button, back, QPalette.ColorRole.Button)
        theme.tint(self._button, text if self._button.isEnabled() else colors.muted,
                   QPalette.ColorRole.ButtonText)  # fmt: skip

    # Qt overrides

    def minimumSizeHint(self) -> QSize:
        """Qt: width of the arrangement in two columns."""
        return QSize(self._minimum_width(narrow=True), super().minimumSizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: choose the arrangement that fits the width, so that the button stays visible."""
        super().resizeEvent(event)
        narrow = self._minimum_width(narrow=False) > self.width()
        if narrow != self._narrow:
            self._arrange(narrow=narrow)

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_labels"):
            self._update_colors()


def _combo(name: str, items: list[tuple[str, object]]) -> QComboBox:
    combo = QComboBox()
    combo.setObjectName(name)
    for text, value in items:
        combo.addItem(text, value)
    return combo
