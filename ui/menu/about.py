"""About: version and licenses of the program and of its libraries."""

from __future__ import annotations

from importlib import metadata

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.version import VERSION
from ui.common.dialogs import add_buttons
from ui.common.fonts import TextSize, set_text_size
from ui.common.labels import MutedLabel, plain_label
from ui.common.tables import AutoHeightTable

#: Libraries of the window and of the program, as they are called on PyPI.
_LIBRARIES = (
    "PySide6-Essentials",
    "shiboken6",
    "pyqtgraph",
    "numpy",
    "msgspec",
    "psutil",
    "zeroconf",
    "XlsxWriter",
)
_ICON_SIDE = 64


def library_rows() -> list[tuple[str, str, str]]:
    """Return name, version and license of each library that is installed."""
    rows: list[tuple[str, str, str]] = []
    for name in _LIBRARIES:
        try:
            found = dict(metadata.metadata(name).json)
        except metadata.PackageNotFoundError:
            continue
        terms = str(found.get("license_expression") or found.get("license") or "")
        rows.append((name, str(found["version"]), terms.partition("\n")[0]))
    return rows


class AboutDialog(QDialog):
    """Dialog with the version and the licenses.

    Args:
        parent: the window.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("about")
        self.setWindowTitle(self.tr("About Mountwright"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        picture = QLabel()
        picture.setPixmap(QApplication.windowIcon().pixmap(_ICON_SIDE, _ICON_SIDE))
        name = plain_label(self.tr("Mountwright {version}").format(version=VERSION))
        name.setObjectName("about-version")
        set_text_size(name, TextSize.HEADLINE, bold=True)
        texts = QVBoxLayout()
        texts.addWidget(name)
        texts.addWidget(
            plain_label(self.tr("Mounts NFS shares, finds what slows them down, proves what helps."))
        )
        texts.addWidget(MutedLabel(self.tr(
            "Free software under the GNU General Public License, version 3 or later. "
            "It comes without any warranty."
        ), wrap=True))  # fmt: skip
        top = QHBoxLayout()
        top.setSpacing(16)
        top.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        top.addLayout(texts, 1)
        titles = [self.tr("Library"), self.tr("Version"), self.tr("License")]
        table = AutoHeightTable("about-libraries", self.tr("Libraries and their licenses"), titles)
        for column in (0, 1):
            table.horizontalHeader().setSectionResizeMode(column, QHeaderView.ResizeMode.ResizeToContents)
        rows = library_rows()
        table.setRowCount(len(rows))
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                table.setItem(number, column, QTableWidgetItem(text))
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(16)
        layout.addLayout(top)
        layout.addWidget(table)
        add_buttons(self, layout, self.tr("&Close"), [], None).setFocus()
        self.resize(self.fontMetrics().averageCharWidth() * 88, self.sizeHint().height())
