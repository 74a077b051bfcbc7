"""Server probe dialog: NFS versions of a server over each transport, and its RPC services."""

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

#: Columns and rows of the table of versions.
_VERSIONS = ("3", "4.0", "4.1", "4.2")
_TRANSPORTS = ("tcp", "udp")


class ServerProbeDialog(QDialog):
    """Non-modal dialog that probes one server and shows the result.

    Args:
        parent: the window.
        submit: sends a request to the agent of the host shown.
        server: name or address, without brackets.
    """

    def __init__(self, parent: QWidget, submit: Callable[[str, Any], BridgeCall], server: str) -> None:
        super().__init__(parent)
        self.setObjectName("server-probe")
        self.setWindowTitle(self.tr("Check server"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._server = server
        self._query = DiscoveryQuery(submit, "discover.probe", lambda host: ProbeArgs(server=host), self)
        self._status_label = plain_label(wrap=True)
        self._status_label.setObjectName("probe-status")
        self._hint = MutedLabel(wrap=True)
        self._hint.setObjectName("probe-hint")
        self._cancel = self._button(self.tr("&Stop"), "probe-cancel", self._query.cancel)
        self._retry = self._button(self.tr("Ask &again"), "probe-retry", self._ask)
        self._copy = self._button(self.tr("&Copy as text"), "probe-copy", self._on_copy)
        self._answer = QWidget()
        self._cells: dict[tuple[str, str], QLabel] = {}
        self._services = QTreeWidget()
        self._services.setObjectName("probe-services")
        self._no_services = MessageList("", "warn")
        self._notes = MessageList("", "info")
        self._lay_out()
        self._query.changed.connect(self._show)
        self.finished.connect(self._query.cancel)
        self._ask()

    def _button(self, text: str, name: str, clicked: Callable[[], None]) -> QPushButton:
        button = QPushButton(text)
        button.setObjectName(name)
        button.clicked.connect(clicked)
        return button

    def _lay_out(self) -> None:
        top = QHBoxLayout()
        top.addWidget(self._status_label, 1)
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

    # The query and its result

    def _ask(self) -> None:
        self._query.reset()
        self._query.ask(self._server)

    def _show(self) -> None:
        query = self._query
        busy = query.state in {"waiting", "asking"}
        result: ProbeResult | None = query.result
        self._cancel.setVisible(busy)
        self._retry.setEnabled(not busy)
        self._copy.setEnabled(result is not None)
        self._answer.setVisible(result is not None)
        error = query.error
        self._hint.setText(error.hint if error is not None else "")
        self._hint.setVisible(bool(self._hint.text()))
        self._status_label.setText(self._status_text())
        self._status_label.setToolTip(plain_tip(error.detail) if error is not None else "")
        theme.tint(self._status_label, getattr(theme.colors(), "error" if error is not None else "text"))
        if result is not None:
            self._show_result(result)

    def _status_text(self) -> str:
        query = self._query
        error: AppError | None = query.error
        if error is not None:
            return error.message
        if query.result is not None:
            return self.tr("It answers at {address}, port {port}.").format(
                address=query.result.address, port=query.result.port
            )
        if query.state == "idle":
            return self.tr("Stopped: nothing is known of this server.")
        return self.tr("Asking {server}… {seconds} s").format(server=self._server, seconds=query.seconds_left)

    def _show_result(self, result: ProbeResult) -> None:
        colors = theme.colors()
        for cell in self._cells.values():
            cell.setText(self._offer_text(None))
            cell.setToolTip("")
            theme.tint(cell, colors.muted)
        for offer in result.versions:
            offer_cell = self._cells.get((offer.transport, offer.version))
            if offer_cell is not None:
                offer_cell.setText(self._offer_text(offer.offered))
                offer_cell.setToolTip(plain_tip(offer.note))
                theme.tint(offer_cell, colors.ok if offer.offered else colors.muted)
        self._services.clear()
        for service in result.services or []:
            item = QTreeWidgetItem(
                [_service_name(service), str(service.version), service.transport.upper(), str(service.port),
                 self._answer_text(service.answers)]
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

    def _offer_text(self, offered: bool | None) -> str:  # noqa: FBT001 - three values: yes, no, unknown
        if offered is None:
            return self.tr("? unknown")
        return self.tr("✓ offered") if offered else self.tr("✗ not offered")

    def _answer_text(self, answers: bool | None) -> str:  # noqa: FBT001 - three values: yes, no, unknown
        if answers is None:
            return self.tr("? not asked")
        return self.tr("✓ yes") if answers else self.tr("✗ no")

    def _on_copy(self) -> None:
        result: ProbeResult | None = self._query.result
        if result is None:
            return
        lines = [f"{self._server}: {self._status_text()}", "", self.tr("NFS versions")]
        for offer in result.versions:
            word = self._offer_text(offer.offered)
            lines.append(f"  {offer.version} {offer.transport.upper()}: {word}  {offer.note}".rstrip())
        lines += ["", self.tr("RPC services")]
        lines += [
            f"  {_service_name(service)} {service.version} {service.transport.upper()} {service.port}: "
            f"{self._answer_text(service.answers)}  {service.note}".rstrip()
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
