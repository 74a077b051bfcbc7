"""Saving a test's plot: a picture (PNG), or its samples as a table (CSV, RFC 4180).

A file dialog would hang on an unreachable mount. Here the user types a path, and a child process writes
the file.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
from typing import TYPE_CHECKING

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImageWriter
from PySide6.QtWidgets import QComboBox, QDialog, QGridLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout

from app.files.safe_write import default_folder, save_file
from ui.common.dialogs import add_buttons
from ui.common.labels import plain_label

if TYPE_CHECKING:
    from PySide6.QtGui import QImage
    from PySide6.QtWidgets import QWidget

    from app.errors import AppError
    from ui.common.bridge import RunInThread
    from ui.plots.timeline import Timeline

#: CSV columns, with units in their names; unknown values are empty.
_COLUMNS = ("repeat", "warm_up", "direction", "phase", "seconds", "bytes_called", "bytes_with_server",
            "bytes_per_second", "round_trip_seconds", "timeouts", "retransmissions")  # fmt: skip


def timeline_csv(timeline: Timeline) -> str:
    """Return all samples as CSV in full precision; times and counters start at zero with each transfer."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(_COLUMNS)
    for curve in timeline.curves:
        for time_s, speed, sample in zip(curve.times_s, curve.speeds, curve.samples, strict=True):
            phases = [span.phase for span in timeline.phase_intervals if span.start_s < time_s <= span.end_s]
            writer.writerow([
                curve.round, int(curve.warm_up), curve.way, phases[0] if phases else curve.way, sample.t_s,
                sample.bytes, sample.server_bytes, speed, "" if sample.rtt_s is None else sample.rtt_s,
                sample.timeouts, sample.retransmissions,
            ])  # fmt: skip
    return text.getvalue()


class SavePlotDialog(QDialog):
    """Dialog for the format and the path of the file.

    Args:
        parent: the window.
        subject: tested path; its last component becomes part of the proposed file name.
        image: picture of the plot.
        table: samples as CSV text.
        run: runs blocking work on a thread.
    """

    def __init__(self, parent: QWidget, subject: str, image: QImage, table: str, run: RunInThread) -> None:
        super().__init__(parent)
        self.setObjectName("save-plot-dialog")
        self.setWindowTitle(self.tr("Save the Plot"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._image = image
        self._table = table
        self._run = run
        self._saving = ""
        self._name = re.sub(r"[^\w.-]+", "-", posixpath.basename(subject)).strip("-.") or "test"
        self._kind = QComboBox()
        self._kind.setObjectName("save-plot-kind")
        self._kind.addItem(self.tr("Picture (PNG)"), "png")
        self._kind.addItem(self.tr("All samples as a table (CSV)"), "csv")
        self._kind.currentIndexChanged.connect(self._on_kind)
        self._path = QLineEdit()
        self._path.setObjectName("save-plot-path")
        self._save = QPushButton(self.tr("Sa&ve"))
        self._save.setObjectName("save-plot-save")
        self._save.clicked.connect(self._on_save)
        self._status = plain_label(wrap=True)
        self._status.setObjectName("save-plot-told")
        grid = QGridLayout()
        for row, (text, widget) in enumerate(
            ((self.tr("&Save as"), self._kind), (self.tr("New &file"), self._path))
        ):
            label = QLabel(text)
            label.setBuddy(widget)
            grid.addWidget(label, row, 0)
            grid.addWidget(widget, row, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addLayout(grid)
        layout.addWidget(self._status)
        add_buttons(self, layout, self.tr("C&lose"), [self._save], self._save)
        self.resize(self.fontMetrics().averageCharWidth() * 84, self.sizeHint().height())
        self._on_kind()

    def _on_kind(self) -> None:
        self._status.setText("")
        self._path.setText(str(default_folder() / f"speed-{self._name}.{self._kind.currentData()}"))

    def _on_save(self) -> None:
        path = self._path.text().strip()
        image, table = self._image, self._table
        picture = self._kind.currentData() == "png"
        self._save.setEnabled(False)
        self._status.setText(self.tr("Saving…"))
        # The picture is compressed on the thread, too, because that takes noticeable time.
        call = self._run("save", lambda: save_file(path, _png(image) if picture else table.encode()))
        self._saving = path
        call.succeeded.connect(self._on_saved)
        call.failed.connect(self._on_failed)

    def _on_saved(self, _none: object) -> None:
        self._show_status(self.tr("Saved as {path}.").format(path=self._saving))

    def _on_failed(self, error: AppError) -> None:
        self._show_status(f"{error.message} {error.hint}".strip())

    def _show_status(self, text: str) -> None:
        self._save.setEnabled(True)
        self._status.setText(text)


def _png(image: QImage) -> bytes:
    data = QByteArray()
    device = QBuffer(data)
    device.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(device, QByteArray(b"png")).write(image)
    return bytes(data.data())
