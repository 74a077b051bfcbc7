"""Form of the advice page: workload and conditions, for this mount or for another computer."""

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
    QWidget,
)

from advisor.identify import network_cards, server_kinds
from app.links import load_links
from app.service.model import AdviceArgs
from ui.common.dialogs import show_outline
from ui.overview.advice_text import workload_names

if TYPE_CHECKING:
    from PySide6.QtGui import QAction

#: Minimum width of a field, characters.
_BOX_LETTERS = 12
#: Kernel release such as 5.14 or 6.1.0-18-amd64.
_RELEASE = re.compile(r"[0-9]{1,4}\.[0-9]{1,4}(?:[.-].*)?", re.ASCII)
#: Range of an MTU, bytes: IPv4 requires at least 68 (RFC 791), Linux interfaces allow at most 65536.
_MTU = (68, 65536)


class AdviceForm(QWidget):
    """Fields above the advice: workload, conditions, and the description of another computer.

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
        self._elsewhere = QCheckBox(self.tr("for another &machine"))
        show_outline(self._elsewhere)
        self._elsewhere.setObjectName("elsewhere")
        self._encrypted = _condition_box(
            self.tr("must be encrypted"), "encrypted", self.tr("Nobody on the network may read the data.")
        )
        self._travels = _condition_box(
            self.tr("computer sleeps or travels"),
            "travels",
            self.tr("The computer sleeps, or is not always in the server's network."),
        )
        self._needed_at_boot = _condition_box(
            self.tr("needed at boot"),
            "needed-at-boot",
            self.tr("The computer cannot work without the mount."),
        )
        self._more = _MoreConditions()
        self._mtu = _number_line(self.tr("for example 9000"), "mtu")
        self._path_mtu = _number_line(self.tr("for example 1500"), "path-mtu")
        self._kernel = _number_line(self.tr("for example 5.14"), "kernel-release")
        self._adapter = _card_box(self.tr("one of today, or unknown"), "adapter")
        self._server_adapter = _card_box(self.tr("one of today, or unknown"), "server-adapter")
        self._server = QComboBox()
        self._server.setObjectName("server-kind")
        self._server.addItem(self.tr("any other, or unknown"), "")
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
        boxes = (
            self._workload,
            self._adapter,
            self._server_adapter,
            self._transport,
            self._link,
            self._server,
        )
        for box in boxes:
            # The longest entry is wider than a small window.
            box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(_BOX_LETTERS)
        self._elsewhere_fields: list[QWidget] = []
        self._lay_out()
        self._show_elsewhere_fields()
        for box in boxes:
            box.activated.connect(self.changed)
        self._elsewhere.toggled.connect(self._on_elsewhere)
        for need in (self._encrypted, self._travels, self._needed_at_boot):
            need.toggled.connect(self.changed)
        self._more.changed.connect(self.changed)
        for field in (self._mtu, self._path_mtu, self._kernel):
            field.editingFinished.connect(self.changed)

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        grid.addWidget(_label(self.tr("Use&d for"), self._workload), 0, 0)
        grid.addWidget(self._workload, 0, 1)
        grid.addWidget(self._elsewhere, 0, 2, 1, 2)
        needs = QHBoxLayout()
        needs.addWidget(self._encrypted)
        needs.addWidget(self._travels)
        needs.addWidget(self._needed_at_boot)
        needs.addWidget(self._more)
        needs.addStretch()
        grid.addLayout(needs, 5, 0, 1, 4)
        rows = [
            (1, 0, self.tr("Its ada&pter"), self._adapter),
            (1, 2, self.tr("Server's adapter"), self._server_adapter),
            (2, 0, self.tr("&Link"), self._link),
            (2, 2, self.tr("&Transport"), self._transport),
            (3, 0, self.tr("&Kind of server"), self._server),
            (3, 2, self.tr("Kernel"), self._kernel),
            (4, 0, self.tr("MTU"), self._mtu),
            (4, 2, self.tr("MTU of the whole way"), self._path_mtu),
        ]  # fmt: skip
        for row, column, text, box in rows:
            label = _label(text, box)
            grid.addWidget(label, row, column)
            grid.addWidget(box, row, column + 1)
            self._elsewhere_fields += [label, box]

    @property
    def elsewhere(self) -> bool:
        """Whether the advice is for another computer that the user describes."""
        return self._elsewhere.isChecked()

    def args(self, mount_point: str, share: str, options: str) -> AdviceArgs | None:
        """Return the request for advice, or None if a field is missing; :meth:`missing_text` names it."""
        args = self._args_of_fields(mount_point, share, options)
        return msgspec.structs.replace(args, **self._more.chosen()) if args is not None else None

    def _args_of_fields(self, mount_point: str, share: str, options: str) -> AdviceArgs | None:
        workload = str(self._workload.currentData())
        if not self.elsewhere:
            if not mount_point and not share:
                return None
            return AdviceArgs(
                share="" if mount_point else share,
                mount_point=mount_point,
                options=options,
                workload=workload,
                encrypted=self._encrypted.isChecked(),
                travels=self._travels.isChecked(),
                needed_at_boot=self._needed_at_boot.isChecked(),
            )
        adapter, link = str(self._adapter.currentData()), self._link_text()
        server = str(self._server.currentData())
        if not adapter and not link and not server:
            return None
        return AdviceArgs(
            options=options,
            workload=workload,
            adapter=adapter,
            server_adapter=str(self._server_adapter.currentData()),
            server=server,
            transport=str(self._transport.currentData()),
            link=link,
            encrypted=self._encrypted.isChecked(),
            travels=self._travels.isChecked(),
            needed_at_boot=self._needed_at_boot.isChecked(),
            mtu=_bytes(self._mtu.text()),
            path_mtu=_bytes(self._path_mtu.text()),
            kernel=self._release(),
        )

    def missing_text(self) -> str:
        """Return which field has to be filled in before advice can be requested."""
        if self.elsewhere:
            return self.tr("Name the other machine's adapter, its link or its server.")
        return self.tr("Name the share first, under Settings.")

    def _release(self) -> str:
        text = self._kernel.text().strip()
        return text if _RELEASE.fullmatch(text) else ""

    def _link_text(self) -> str:
        index = self._link.findText(self._link.currentText())
        return str(self._link.itemData(index)) if index >= 0 else self._link.currentText().strip()

    def _on_elsewhere(self) -> None:
        self._show_elsewhere_fields()
        self.changed.emit()

    def _show_elsewhere_fields(self) -> None:
        for widget in self._elsewhere_fields:
            widget.setVisible(self.elsewhere)


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
            self.tr("More conditions ({count})").format(count=count) if count else self.tr("More conditions")
        )


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
    show_outline(box)
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
