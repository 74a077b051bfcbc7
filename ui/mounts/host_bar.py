"""Host bar at the top of the window: the selector of the host, its kernel and link, and the menu."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QColor, QKeySequence, QPainter, QPaintEvent, QPalette, QShortcut
from PySide6.QtWidgets import QComboBox, QFrame, QHBoxLayout, QLabel, QMenu, QPushButton

from ui.common import theme
from ui.common.icons import icon
from ui.common.labels import ElidedLabel, StateLabel
from ui.common.session import LOCAL
from ui.common.status_text import link_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PySide6.QtGui import QAction

    from app.service.protocol import HelloResult
    from ui.common.session import LabLink


#: Height of the line that marks the lab, px.
_LAB_LINE = 3
#: Width of the selector, characters; longer titles are elided.
_TITLE_CHARACTERS = 26


class HostBar(QFrame):
    """Selector of the host, with Mount a Share and the menu; marks the lab in a color of its own.

    Signals:
        host_chosen: the key of the host that the user selected.
    """

    host_chosen = Signal(str)

    def __init__(self, links: Sequence[LabLink], new_mount: QAction, menu: QMenu) -> None:
        super().__init__()
        self._lab = False
        self._titles = {link.key: link.title for link in links}
        self._combo = QComboBox()
        self._combo.setObjectName("host")
        self._combo.addItem(icon("home"), self.title_of(LOCAL), LOCAL)
        if links:
            self._combo.insertSeparator(1)
        for link in links:
            self._combo.addItem(icon("lab", "lab"), self.title_of(link.key), link.key)
        self._combo.activated.connect(self._on_activated)
        self._combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self._combo.setMinimumContentsLength(_TITLE_CHARACTERS)
        self._combo.view().setMinimumWidth(self._combo.view().sizeHintForColumn(0) + _TITLE_CHARACTERS)
        self._combo.setToolTip(
            self.tr(
                "Work on this computer, or in the lab: a real NFS client and server\n"
                "in a virtual machine, with the link chosen here between them."
            )
        )
        label = QLabel(self.tr("&Host"))
        label.setBuddy(self._combo)
        self._chip = StateLabel()
        self._chip.set_state("lab", self.tr("Lab"), "lab")
        self._chip.setToolTip(self.tr("Everything here happens in a virtual machine, not on this computer."))
        self._chip.hide()
        self._about = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._about.setObjectName("about-host")
        self._about.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        new_button = QPushButton(icon("plus"), self.tr("Mou&nt a Share…"))
        new_button.setObjectName("new-mount")
        new_button.setToolTip(self.tr("Set up a mount (Ctrl+N)"))
        new_button.clicked.connect(new_mount.trigger)
        new_mount.enabledChanged.connect(new_button.setEnabled)
        new_button.setEnabled(new_mount.isEnabled())
        menu_button = QPushButton(icon("menu"), "")
        menu_button.setObjectName("menu")
        menu_button.setAccessibleName(self.tr("Menu"))
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
        layout.addWidget(self._chip)
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
            self._combo.addItem(icon("lab", "lab"), self.title_of(key), key)
            index = self._combo.count() - 1
        self._combo.setCurrentIndex(index)
        self._lab = key != LOCAL
        self._chip.setVisible(self._lab)
        self._about.setText("" if hello is None else self._about_text(hello))
        self.update()

    def title_of(self, key: str) -> str:
        """Return the name of a host for the user."""
        if key == LOCAL:
            return self.tr("This computer")
        return self.tr("Lab · {link}").format(link=self._titles.get(key, key))

    def _about_text(self, hello: HelloResult) -> str:
        kernel = self.tr("Linux {release}").format(release=hello.kernel)
        if hello.lab:
            return "  ·  ".join([*(link_figures(hello.link) if hello.link else []), kernel])
        return f"{hello.host}  ·  {kernel}"

    def _on_activated(self, index: int) -> None:
        self.host_chosen.emit(str(self._combo.itemData(index)))

    # Qt overrides

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint the line below, thick and in the color of the lab if the lab is shown."""
        super().paintEvent(event)
        colors = theme.colors()
        height = _LAB_LINE if self._lab else 1
        painter = QPainter(self)
        line = self.rect().adjusted(0, self.height() - height, 0, 0)
        painter.fillRect(line, QColor(colors.lab if self._lab else colors.border))
        painter.end()
