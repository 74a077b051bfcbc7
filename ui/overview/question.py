"""Forms of the overview: what the share is used for, and the description of another machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from advisor.identify import network_cards, server_kinds
from advisor.use_conditions import UseConditions
from app.links import load_links
from app.service.model import AdviceArgs
from ui.common.labels import MutedLabel
from ui.overview.advice_text import workload_names

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

#: Minimum width of a field, characters.
_BOX_LETTERS = 12
#: Kernel release such as 5.14 or 6.1.0-18-amd64.
_RELEASE = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}(?:[.-].*)?", re.ASCII)
#: Range of an MTU, bytes: IPv4 requires at least 68 (RFC 791), Linux interfaces allow at most 65536.
_MTU = (68, 65536)


class UseForm(QWidget):
    """What the share is used for: workload and conditions that the program cannot find out.

    Signals:
        changed: the user changed a field.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._workload = QComboBox()
        self._workload.setObjectName("workload")
        for name, text in workload_names().items():
            self._workload.addItem(text, name)
        self._encrypted = _condition_box(
            self.tr("Must be encrypted"), "encrypted", self.tr("Nobody on the network may read the data.")
        )
        self._travels = _condition_box(
            self.tr("Computer sleeps or travels"),
            "travels",
            self.tr("The computer sleeps, or is not always in the server's network."),
        )
        self._needed_at_boot = _condition_box(
            self.tr("Needed at boot"),
            "needed-at-boot",
            self.tr("The computer cannot work without the mount."),
        )
        self._more = _MoreConditions()
        _shrink(self._workload)
        top = QHBoxLayout()
        top.addWidget(_label(self.tr("Used for"), self._workload))
        top.addWidget(self._workload, 1)
        conditions = QHBoxLayout()
        for box in (self._encrypted, self._travels, self._needed_at_boot, self._more):
            conditions.addWidget(box)
        conditions.addStretch()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(MutedLabel(self.tr("These answers change the advice."), wrap=True))
        layout.addLayout(top)
        layout.addLayout(conditions)
        self._workload.activated.connect(self.changed)
        for need in (self._encrypted, self._travels, self._needed_at_boot):
            need.toggled.connect(self.changed)
        self._more.changed.connect(self.changed)

    def apply_to(self, args: AdviceArgs) -> AdviceArgs:
        """Return a request for advice with these answers."""
        return msgspec.structs.replace(
            args,
            workload=str(self._workload.currentData()),
            conditions=UseConditions(
                encrypted=self._encrypted.isChecked(),
                travels=self._travels.isChecked(),
                needed_at_boot=self._needed_at_boot.isChecked(),
                **self._more.chosen(),
            ),
        )


class OtherMachineForm(QWidget):
    """Description of another machine: adapter, link, server, transport, kernel and MTU.

    Signals:
        changed: the user changed a field.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._mtu = _number_line(self.tr("for example 9000"), "mtu")
        self._path_mtu = _number_line(self.tr("for example 1500"), "path-mtu")
        self._kernel = _number_line(self.tr("for example 5.14"), "kernel-release")
        self._adapter = _card_box(self.tr("Any other, or unknown"), "adapter")
        self._server_adapter = _card_box(self.tr("Any other, or unknown"), "server-adapter")
        self._server = QComboBox()
        self._server.setObjectName("server-kind")
        self._server.addItem(self.tr("Any other, or unknown"), "")
        for name, kind in server_kinds().items():
            self._server.addItem(kind.title, name)
        self._transport = QComboBox()
        self._transport.setObjectName("transport")
        self._transport.addItem(self.tr("TCP"), "tcp")
        self._transport.addItem(self.tr("UDP"), "udp")
        self._link = QComboBox()
        self._link.setObjectName("advice-link-box")
        self._link.setEditable(True)
        self._link.addItem("", "")
        for name, link in load_links().items():
            self._link.addItem(f"{name}: {link.title}", name)
        line = self._link.lineEdit()
        if isinstance(line, QLineEdit):
            line.setAccessibleName(self.tr("Link"))
            line.setPlaceholderText(self.tr("for example rate=10gbit,delay=0.1ms"))
            line.editingFinished.connect(self.changed)
        boxes = (self._adapter, self._server_adapter, self._transport, self._link, self._server)
        for box in boxes:
            _shrink(box)
            box.activated.connect(self.changed)
        for field in (self._mtu, self._path_mtu, self._kernel):
            field.editingFinished.connect(self.changed)
        self._lay_out()

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        rows = [
            (0, 0, self.tr("Adapter"), self._adapter),
            (0, 2, self.tr("Server's adapter"), self._server_adapter),
            (1, 0, self.tr("Link"), self._link),
            (1, 2, self.tr("Transport"), self._transport),
            (2, 0, self.tr("Kind of server"), self._server),
            (2, 2, self.tr("Kernel"), self._kernel),
            (3, 0, self.tr("MTU"), self._mtu),
            (3, 2, self.tr("Path MTU"), self._path_mtu),
        ]  # fmt: skip
        for row, column, text, box in rows:
            grid.addWidget(_label(text, box), row, column)
            grid.addWidget(box, row, column + 1)

    def args(self, options: str) -> AdviceArgs | None:
        """Return the request for advice, None while adapter, link and server are all unknown."""
        adapter, link = str(self._adapter.currentData()), self._link_text()
        server = str(self._server.currentData())
        if not adapter and not link and not server:
            return None
        return AdviceArgs(
            options=options,
            adapter=adapter,
            server_adapter=str(self._server_adapter.currentData()),
            server=server,
            transport=str(self._transport.currentData()),
            link=link,
            mtu=_bytes(self._mtu.text()),
            path_mtu=_bytes(self._path_mtu.text()),
            kernel=self._release(),
        )

    def _release(self) -> str:
        text = self._kernel.text().strip()
        return text if _RELEASE.fullmatch(text) else ""

    def _link_text(self) -> str:
        index = self._link.findText(self._link.currentText())
        return str(self._link.itemData(index)) if index >= 0 else self._link.currentText().strip()


class _MoreConditions(QToolButton):
    """Button with a menu of rare conditions that the program cannot determine itself.

    Signals:
        changed: the user checked or cleared a condition.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("more-conditions")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        texts = {
            "server_sleeps": self.tr("Server is off or asleep at times"),
            "firewall": self.tr("Only port 2049 of the server can be reached"),
            "rdma": self.tr("Both ends have RDMA adapters, and the server exports over RDMA"),
            "kerberos": self.tr("Kerberos is set up: realm, keytab and rpc.gssd"),
            "alone": self.tr("No other computer uses these files"),
            "no_waiting": self.tr("Programs must get an error rather than wait for the server"),
            "many_mounts": self.tr("This computer mounts hundreds of shares"),
        }
        self._actions: dict[str, QAction] = {}
        for name, text in texts.items():
            action = menu.addAction(text)
            action.setObjectName(name.replace("_", "-"))
            action.setCheckable(True)
            action.toggled.connect(self._on_toggled)
            self._actions[name] = action
        self.setMenu(menu)
        self._show_count()

    def chosen(self) -> dict[str, bool]:
        """Return whether each condition is checked, by its field name in AdviceArgs."""
        return {name: action.isChecked() for name, action in self._actions.items()}

    def _on_toggled(self) -> None:
        self._show_count()
        self.changed.emit()

    def _show_count(self) -> None:
        count = sum(self.chosen().values())
        self.setText(
            self.tr("More Conditions ({count})").format(count=count) if count else self.tr("More Conditions")
        )


def _shrink(box: QComboBox) -> None:
    """Let a combo box be narrower than its longest entry, which is wider than a small window."""
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(_BOX_LETTERS)


def _number_line(example: str, name: str) -> QLineEdit:
    line = QLineEdit()
    line.setObjectName(name)
    line.setPlaceholderText(example)
    return line


def _bytes(text: str) -> int | None:
    """Return an MTU in bytes, or None for an empty field or a number outside the allowed range."""
    text = text.strip()
    if not text.isascii() or not text.isdigit() or not _MTU[0] <= int(text[:9]) <= _MTU[1]:
        return None
    return int(text)


def _condition_box(text: str, name: str, meaning: str) -> QCheckBox:
    box = QCheckBox(text)
    box.setObjectName(name)
    box.setToolTip(meaning)
    return box


def _card_box(unknown: str, name: str) -> QComboBox:
    box = QComboBox()
    box.setObjectName(name)
    box.addItem(unknown, "")
    for key, card in network_cards().items():
        box.addItem(card.title, key)
    return box


def _label(text: str, buddy: QWidget) -> QLabel:
    label = QLabel(text)
    label.setBuddy(buddy)
    buddy.setAccessibleName(text.replace("&", ""))
    return label
