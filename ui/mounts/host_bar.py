"""Host bar at the top of the window: the selector of the host, its kernel and link, and the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QPalette, QShortcut
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QMenu, QPushButton

from ui.common.labels import ElidedLabel
from ui.common.session import LOCAL
from ui.common.status_text import link_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QAction

    from app.service.protocol import HelloResult
    from ui.common.session import LabLink


class HostBar(QFrame):
    """Selector of the host, with New Mount and the menu.

    Signals:
        host_chosen: the key of the host that the user selected.
    """

    host_chosen = Signal(str)

    def __init__(self, links: Sequence[LabLink], new_mount: QAction, menu: QMenu) -> None:
        super().__init__()
        self._combo = QComboBox()
        self._combo.setObjectName("host")
        self._combo.addItem(self.tr("This computer"), LOCAL)
        if links:
            self._combo.insertSeparator(1)
        for link in links:
            self._combo.addItem(self._lab_title(link.key), link.key)
            self._combo.setItemData(self._combo.count() - 1, link.title, Qt.ItemDataRole.ToolTipRole)
        self._combo.activated.connect(self._on_activated)
        self._combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._combo.setToolTip(
            self.tr(
                "Work on this computer, or in the lab: a real NFS client and server\n"
                "in a virtual machine, with the link chosen here between them."
            )
        )
        label = QLabel(self.tr("&Host"))
        label.setBuddy(self._combo)
        self._about = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._about.setObjectName("about-host")
        self._about.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        new_button = QPushButton(self.tr("&New mount"))
        new_button.setObjectName("new-mount")
        new_button.setToolTip(self.tr("Set up a mount (Ctrl+N)"))
        new_button.clicked.connect(new_mount.trigger)
        new_mount.enabledChanged.connect(new_button.setEnabled)
        new_button.setEnabled(new_mount.isEnabled())
        menu_button = QPushButton(self.tr("Men&u"))
        menu_button.setObjectName("menu")
        menu_button.setToolTip(self.tr("Menu (F10)"))
        menu.aboutToShow.connect(lambda: QTimer.singleShot(0, self._align_menu))
        menu_button.setMenu(menu)
        self._menu, self._menu_button = menu, menu_button
        QShortcut(QKeySequence("F10"), self, menu_button.showMenu)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(10)
        layout.addWidget(label)
        layout.addWidget(self._combo)
        layout.addWidget(self._about, 1)
        layout.addWidget(new_button)
        layout.addWidget(menu_button)

    def _align_menu(self) -> None:
        """Align the menu's right edge with its button, so that it does not extend beyond the window."""
        right = self._menu_button.mapToGlobal(self._menu_button.rect().bottomRight()).x()
        if self._menu.isVisible() and self._menu.geometry().right() > right:
            self._menu.move(right - self._menu.width() + 1, self._menu.y())

    def show_host(self, key: str, hello: HelloResult | None) -> None:
        """Select a host and show its name, kernel and link; ``hello`` is None while it is being opened."""
        index = self._combo.findData(key)
        if index < 0:
            self._combo.addItem(self._lab_title(key), key)
            index = self._combo.count() - 1
        self._combo.setCurrentIndex(index)
        self._about.setText("" if hello is None else self._about_text(hello))

    def _about_text(self, hello: HelloResult) -> str:
        kernel = self.tr("Linux {release}").format(release=hello.kernel)
        if hello.lab:
            return "  ·  ".join([*(link_figures(hello.link) if hello.link else []), kernel])
        return f"{hello.host}  ·  {kernel}"

    def _lab_title(self, key: str) -> str:
        return self.tr("Lab: {link}").format(link=key)

    def _on_activated(self, index: int) -> None:
        self.host_chosen.emit(str(self._combo.itemData(index)))
