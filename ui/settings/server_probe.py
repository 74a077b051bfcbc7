"""Server probe dialog: NFS versions over each transport, and which RPC services answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QHeaderView,
    QLabel,
    QPushButton,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from app.discovery.model import ProbeArgs
from ui.common import theme
from ui.common.dialogs import add_buttons
from ui.common.labels import MutedLabel, heading, plain_label, plain_tip
from ui.common.message_list import MessageList
from ui.settings.discovery_model import DiscoveryQuery

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ProbeResult, Service
    from app.errors import AppError
    from ui.common.bridge import BridgeCall

_VERSIONS = ("3", "4.0", "4.1", "4.2")
_TRANSPORTS = ("tcp", "udp")


class ServerProbeDialog(QDialog):
    """Asks one server as soon as it is shown; the window stays usable beside it.

    Args:
        parent: the window.
        submit: sends a request to the host shown.
        server: name or address, without brackets.
    """

    def __init__(self, parent: QWidget, submit: Callable[[str, Any], BridgeCall], server: str) -> None:
        super().__init__(parent)
        self.setObjectName("server-probe")
        self.setWindowTitle(self.tr("Check server"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._server = server
        self._inquiry = DiscoveryQuery(submit, "discover.probe", lambda host: ProbeArgs(server=host), self)
        self._said = plain_label(wrap=True)
        self._said.setObjectName("probe-status")
        self._hint = MutedLabel(wrap=True)
        self._hint.setObjectName("probe-hint")
        self._cancel = self._button(self.tr("&Stop"), "probe-cancel", self._inquiry.cancel)
        self._retry = self._button(self.tr("Ask &again"), "probe-retry", self._ask)
        self._copy = self._button(self.tr("&Copy as text"), "probe-copy", self._on_copy)
        self._answer = QWidget()
        self._cells: dict[tuple[str, str], QLabel] = {}
        self._services = QTreeWidget()
        self._services.setObjectName("probe-services")
        self._no_services = MessageList("", "warn")
        self._notes = MessageList("", "info")
        self._lay_out()
        self._inquiry.changed.connect(self._show)
        self.finished.connect(self._inquiry.cancel)
        self._ask()

    def _button(self, text: str, name: str, clicked: Callable[[], None]) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.clicked.connect(clicked)
        return button

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._said, 1)
        top.addWidget(self._cancel)
        answer = QVBoxLayout(self._answer)
        answer.setContentsMargins(0, 0, 0, 0)
        answer.setSpacing(8)
        answer.addWidget(heading(self.tr("NFS versions")))
        answer.addLayout(self._version_grid())
        answer.addWidget(heading(self.tr("RPC services")))
        tree = self._services
        tree.setAccessibleName(self.tr("RPC services"))
        tree.setHeaderLabels(
            [
                self.tr("Service"),
                self.tr("Version"),
                self.tr("Transport"),
                self.tr("Port"),
                self.tr("Answers"),
            ]
        )
        tree.header().setAccessibleName(self.tr("Column titles"))
        tree.setRootIsDecorated(False)
        tree.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        tree.header().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        answer.addWidget(tree, 1)
        answer.addWidget(self._no_services)
        answer.addWidget(self._notes)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(self._server, scale=1.3))
        layout.addLayout(top)
        layout.addWidget(self._hint)
        layout.addWidget(self._answer, 1)
        layout.addStretch(0)
        add_buttons(self, layout, self.tr("C&lose"), [self._retry, self._copy], None)
        self.resize(self.fontMetrics().averageCharWidth() * 84, self.fontMetrics().lineSpacing() * 30)

    def _version_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(24)
        for column, version in enumerate(_VERSIONS, 1):
            grid.addWidget(MutedLabel(version), 0, column)
        for row, transport in enumerate(_TRANSPORTS, 1):
            grid.addWidget(MutedLabel(transport.upper()), row, 0)
            for column, version in enumerate(_VERSIONS, 1):
                cell = plain_label()
                cell.setObjectName(f"probe-{transport}-{version}")
                self._cells[transport, version] = cell
                grid.addWidget(cell, row, column)
        grid.setColumnStretch(len(_VERSIONS) + 1, 1)
        return grid

    # What happens

    def _ask(self) -> None:
        self._inquiry.reset()
        self._inquiry.ask(self._server)

    def _show(self) -> None:
        inquiry = self._inquiry
        busy = inquiry.state in {"waiting", "asking"}
        result: ProbeResult | None = inquiry.result
        self._cancel.setVisible(busy)
        self._retry.setEnabled(not busy)
        self._copy.setEnabled(result is not None)
        self._answer.setVisible(result is not None)
        error = inquiry.error
        self._hint.setText(error.hint if error is not None else "")
        self._hint.setVisible(bool(self._hint.text()))
        self._said.setText(self._status())
        self._said.setToolTip(plain_tip(error.detail) if error is not None else "")
        theme.tint(self._said, getattr(theme.colors(), "error" if error is not None else "text"))
        if result is not None:
            self._show_result(result)

    def _status(self) -> str:
        inquiry = self._inquiry
        error: AppError | None = inquiry.error
        if error is not None:
            return error.message
        if inquiry.result is not None:
            return self.tr("It answers at {address}, port {port}.").format(
                address=inquiry.result.address, port=inquiry.result.port
            )
        if inquiry.state == "idle":
            return self.tr("Stopped: nothing is known of this server.")
        return self.tr("Asking {server}… {seconds} s").format(
            server=self._server, seconds=inquiry.seconds_left
        )

    def _show_result(self, result: ProbeResult) -> None:
        colors = theme.colors()
        for cell in self._cells.values():
            cell.setText(self._offer_word(None))
            cell.setToolTip("")
            theme.tint(cell, colors.muted)
        for offer in result.versions:
            found = self._cells.get((offer.transport, offer.version))
            if found is not None:
                found.setText(self._offer_word(offer.offered))
                found.setToolTip(plain_tip(offer.note))
                theme.tint(found, colors.ok if offer.offered else colors.muted)
        self._services.clear()
        for service in result.services or []:
            item = QTreeWidgetItem(
                [_service_name(service), str(service.version), service.transport.upper(), str(service.port),
                 self._answer_word(service.answers)]
            )  # fmt: skip
            item.setToolTip(4, plain_tip(service.note))
            self._services.addTopLevelItem(item)
        self._services.setVisible(bool(result.services))
        problem = result.services_problem
        missing = [f"{problem.message} {problem.hint}".strip()] if problem is not None else []
        if not result.services and not missing:
            missing = [self.tr("It lists no RPC services.")]
        self._no_services.show_sentences(missing)
        self._notes.show_sentences(result.notes)

    def _offer_word(self, offered: bool | None) -> str:  # noqa: FBT001 - a value of three
        if offered is None:
            return self.tr("? unknown")
        return self.tr("✓ offered") if offered else self.tr("✗ not offered")

    def _answer_word(self, answers: bool | None) -> str:  # noqa: FBT001 - a value of three
        if answers is None:
            return self.tr("? not asked")
        return self.tr("✓ yes") if answers else self.tr("✗ no")

    def _on_copy(self) -> None:
        result: ProbeResult | None = self._inquiry.result
        if result is None:
            return
        lines = [f"{self._server}: {self._status()}", "", self.tr("NFS versions")]
        for offer in result.versions:
            word = self._offer_word(offer.offered)
            lines.append(f"  {offer.version} {offer.transport.upper()}: {word}  {offer.note}".rstrip())
        lines += ["", self.tr("RPC services")]
        lines += [
            f"  {_service_name(service)} {service.version} {service.transport.upper()} {service.port}: "
            f"{self._answer_word(service.answers)}  {service.note}".rstrip()
            for service in result.services or []
        ]
        if result.services_problem is not None:
            lines.append(f"  {result.services_problem.message}")
        lines += ["", *result.notes] if result.notes else []
        QGuiApplication.clipboard().setText("\n".join(lines) + "\n")

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_notes"):
            self._show()


def _service_name(service: Service) -> str:
    return service.name or str(service.program)
