"""Share field: a line edit with suggestions of servers and exports, which appear as they are discovered."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.discovery.model import NFS_PORT, ExportsArgs, ScanArgs, ServersArgs, merge_servers
from app.errors import ErrorKind
from app.service.protocol import Empty
from ui.common import theme
from ui.common.dialogs import confirm
from ui.common.labels import ElidedLabel, plain_tip
from ui.settings.discovery_model import (
    DEBOUNCE_MS,
    DiscoveryQuery,
    Suggestion,
    split_share,
    suggest_exports,
    suggest_servers,
    suggestion_texts,
)
from ui.settings.suggestion_list import KindRole, SuggestionList, TextRole

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import (
        ExportsResult,
        KnownServer,
        Problem,
        ServersEvent,
        ServersResult,
        Subnets,
    )
    from app.errors import AppError
    from ui.common.bridge import BridgeCall

#: Keys that move the selection in the list, and the number of rows.
_STEP_KEYS: dict[int, int] = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: 9,
    Qt.Key.Key_PageUp: -9,
}
#: Errors of listing the NFSv4 root after which a test mount may succeed (privileged port, any version).
_TEST_MOUNT_ERRORS = {ErrorKind.ACCESS_DENIED, ErrorKind.VERSION_UNSUPPORTED}
#: Sources of servers that were discovered on the network.
_NETWORK_SOURCES = {"mdns", "scan"}
_ENTER_KEYS = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
#: Reasons of a focus change to another widget of the same window.
_LEAVING_REASONS = {
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.MouseFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
}


class ShareField(QWidget):
    """Line edit for ``server:/export`` with a list of suggestions; any other text can be typed, too.

    A server is queried only after a colon was typed or the list was opened, when its name is complete.

    Args:
        submit: sends a request to the agent of the host shown.

    Signals:
        textEdited: the user changed the text by typing or by choosing a suggestion.
        returnPressed: Enter was pressed outside the list.
        check_wanted: server for which the user wants the probe dialog.
        answered: the state of the query of the server's exports changed.
    """

    textEdited = Signal(str)
    returnPressed = Signal()
    check_wanted = Signal(str)
    answered = Signal()

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._exports = DiscoveryQuery(submit, "discover.exports", self._exports_args, self)
        self._test_mount_server = ""  # server for which the user requested a test mount
        self._uses_test_mount = False  # whether the current query includes a test mount
        self._servers = DiscoveryQuery(
            submit, "discover.servers", lambda _host: ServersArgs(browse=False), self
        )
        # Browsing the network takes seconds, so the servers known without it are queried separately.
        self._browse = DiscoveryQuery(submit, "discover.servers", lambda _host: ServersArgs(), self)
        self._subnets = DiscoveryQuery(submit, "discover.subnets", lambda _host: Empty(), self)
        self._networks: list[str] = []  # subnets whose scan the user confirmed
        self._scan = DiscoveryQuery(
            submit, "discover.scan", lambda _host: ScanArgs(networks=self._networks), self
        )
        #: Servers discovered on the network so far; they stay in the list during another search.
        self._network_servers: list[KnownServer] = []
        self._forget = DiscoveryQuery(submit, "discover.forget", lambda _host: Empty(), self)
        self._line = QLineEdit()
        self._open = QToolButton()
        self._open.setObjectName("share-open")
        self._open.setArrowType(Qt.ArrowType.DownArrow)
        self._open.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._open.setToolTip(self.tr("Show servers, or what the server exports (Alt+Down)."))
        self._open.setAccessibleName(self.tr("Show servers and exports"))
        self._check = QPushButton(self.tr("Ch&eck server…"))
        self._check.setObjectName("share-check")
        self._check.setToolTip(self.tr("Ask the server which NFS versions and services it offers."))
        self._status = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._status.setObjectName("share-status")
        self._cancel = QPushButton(self.tr("Stop"))
        self._cancel.setObjectName("share-cancel")
        self._cancel.setAccessibleName(self.tr("Stop asking"))
        self._try = QPushButton(self.tr("List by a test mount…"))
        self._try.setObjectName("share-try")
        self._try.setToolTip(
            self.tr(
                "Mount the server's root in a private mount, list it and unmount it. Needs an administrator."
            )
        )
        policy = QSizePolicy(self._cancel.sizePolicy())
        policy.setRetainSizeWhenHidden(True)
        self._cancel.setSizePolicy(policy)
        self._list = SuggestionList(self._line, self)
        self._list.setObjectName("share-list")
        self._list.setAccessibleName(self.tr("Servers and exports"))
        self._list.clicked.connect(self._choose)
        self._list_requested = False  # whether the user opened the list, which then shows for any text
        self._lay_out()
        self._line.installEventFilter(self)
        self._line.textEdited.connect(self._on_edited)
        self._line.returnPressed.connect(self.returnPressed)
        self._open.clicked.connect(self.open_list)
        self._check.clicked.connect(lambda: self.check_wanted.emit(split_share(self.text().strip()).host))
        self._cancel.clicked.connect(self._on_cancel)
        self._try.clicked.connect(self._on_try)
        self._exports.changed.connect(self._on_answer)
        for query in (self._servers, self._browse, self._scan):
            query.changed.connect(partial(self._on_servers, query))
        self._subnets.changed.connect(self._on_subnets)
        self._forget.changed.connect(self._on_forgotten)
        self._show_status()

    def _lay_out(self) -> None:
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(6)
        layout.setVerticalSpacing(2)
        layout.addWidget(self._line, 0, 0)
        layout.addWidget(self._open, 0, 1)
        layout.addWidget(self._check, 0, 2)
        layout.addWidget(self._status, 1, 0)
        layout.addWidget(self._cancel, 1, 1, 1, 2, Qt.AlignmentFlag.AlignLeft)
        # In the same cell, because only one of the two buttons is visible at a time.
        layout.addWidget(self._try, 1, 1, 1, 2, Qt.AlignmentFlag.AlignLeft)
        layout.setColumnStretch(0, 1)
        self._open.setFixedHeight(self._line.sizeHint().height())
        self.setFocusProxy(self._line)

    # Interface of QLineEdit

    def text(self) -> str:
        """Return the text."""
        return self._line.text()

    def setText(self, text: str) -> None:
        """Set the text without querying the server."""
        if text != self.text():
            self._line.setText(text)
            self._exports.reset()

    def setPlaceholderText(self, text: str) -> None:
        """Set the text shown while the field is empty."""
        self._line.setPlaceholderText(text)

    def setObjectName(self, name: object) -> None:
        """Set the object name of the line edit."""
        self._line.setObjectName(str(name))

    def setAccessibleName(self, name: str) -> None:
        """Set the accessible name of the line edit."""
        self._line.setAccessibleName(name)

    def installEventFilter(self, watcher: QObject) -> None:
        """Install an event filter on the line edit."""
        self._line.installEventFilter(watcher)

    def focus_chain(self) -> list[QWidget]:
        """Return the focusable widgets in Tab order."""
        return [self._line, self._check, self._cancel, self._try]

    def reset(self) -> None:
        """Cancel all queries and discard their answers, because another host or form is shown."""
        self._close_list()
        self._exports.reset()
        self._servers.reset()
        self._browse.reset()
        self._subnets.reset()
        self._scan.reset()
        self._network_servers = []
        self._forget.reset()

    # User actions

    def open_list(self) -> None:
        """Open the list, and query the typed server without delay."""
        self._line.setFocus()
        share = split_share(self.text().strip())
        if not share.colon and not self._browse.is_asking:
            self._browse.reset()  # new servers may have been announced since the last search
        self._query_servers()
        if share.host and (share.colon or not self._may_be_other_server(share.host)):
            self._exports.ask(share.host)
        self._list_requested = True
        self._show_rows()

    def _may_be_other_server(self, host: str) -> bool:
        """Return whether the typed name is only a part of a known server's name."""
        names = [server.name.casefold() for server in self._known()]
        return host.casefold() not in names and any(host.casefold() in name for name in names)

    def _on_edited(self, text: str) -> None:
        self._query_servers()
        share = split_share(text.strip())
        if share.colon and share.host:
            self._exports.ask(share.host, delay_ms=DEBOUNCE_MS)
        elif share.host != self._exports.server:
            self._exports.reset()
        self._list_requested = False
        self._show_rows()
        self._show_status()
        self.textEdited.emit(text)

    def _choose(self, index: QModelIndex) -> None:
        kind, text = index.data(KindRole), str(index.data(TextRole))
        if kind == "forget":
            self._forget.ask("local")
        elif kind == "scan":
            self._subnets.reset()
            self._subnets.ask("local")
        if kind != "choice":
            return
        self._close_list()
        self._line.setText(text)
        self._on_edited(text)
        share = split_share(text)
        if not share.export:
            # A server was chosen, so its exports are suggested next.
            self.open_list()

    def _exports_args(self, host: str) -> ExportsArgs:
        self._uses_test_mount, self._test_mount_server = self._test_mount_server == host, ""
        return ExportsArgs(server=host, test_mount=self._uses_test_mount)

    def _on_try(self) -> None:
        host = self._exports.server
        self._exports.reset()
        self._test_mount_server = host
        self._exports.ask(host)

    def _on_cancel(self) -> None:
        if self._scan.is_asking:
            self._scan.cancel()
        else:
            self._exports.cancel()

    def _on_subnets(self) -> None:
        """Confirm the addresses of a subnet scan, then start it."""
        query = self._subnets
        if query.state == "failed" and query.error is not None:
            self._show_failure(query.error)
        if query.state != "answered":
            return
        subnets: Subnets = query.result
        query.reset()
        if not subnets.subnets:
            self._status.setText(self.tr("This computer is attached to no network that can be scanned."))
            return
        self._networks = [subnet.network for subnet in subnets.subnets]
        confirm(
            self.window(),
            self.tr("Scan the subnet for NFS servers?"),
            self._scan_text(subnets),
            self.tr("Scan the Subnet"),
            self._on_scan,
        )

    def _scan_text(self, subnets: Subnets) -> str:
        lines = [
            self.tr("Mountwright connects to TCP port {port} of {count} addresses: {first} to {last} "
                    "({interface}).").format(
                port=NFS_PORT, count=subnet.count, first=subnet.first, last=subnet.last,
                interface=subnet.interface,
            )
            for subnet in subnets.subnets
        ]  # fmt: skip
        lines += [
            self.tr("It is a part of the network {network}.").format(network=subnet.cut_from)
            for subnet in subnets.subnets
            if subnet.cut_from
        ]
        if subnets.left_out:
            text = self.tr("Too many addresses, and left out: {networks}.")
            lines.append(text.format(networks=", ".join(subnets.left_out)))
        lines.append(self.tr("Whoever watches the network may take this for an attack."))
        return "\n\n".join(lines)

    def _on_scan(self) -> None:
        self._scan.reset()
        self._scan.ask("local")
        QTimer.singleShot(0, self, self._reopen_list)  # after the confirmation dialog closed

    def _reopen_list(self) -> None:
        self.window().activateWindow()
        self.open_list()

    def _close_list(self) -> None:
        self._list_requested = False
        self._list.show_rows([])

    # Suggestions and status

    def _query_servers(self) -> None:
        self._servers.ask("local")
        self._browse.ask("local")

    def _known(self) -> list[KnownServer]:
        """Return the servers known here, then those found on the network, so that no row moves."""
        known: list[KnownServer] = []
        if self._servers.state == "answered":
            result: ServersResult = self._servers.result
            known = result.servers
        names = [server.name.casefold() for server in known]
        return sorted(
            merge_servers([*known, *self._network_servers]),
            key=lambda server: _sort_key(names, server.name.casefold()),
        )

    def _add_discovered(self, query: DiscoveryQuery) -> None:
        """Add the servers that a query found on the network."""
        discovered: list[KnownServer] = [server for event in query.events for server in event.servers]
        if query.state == "answered" and query is not self._servers:
            discovered += [
                server for server in query.result.servers if set(server.sources) & _NETWORK_SOURCES
            ]
        if any(server not in self._network_servers for server in discovered):
            self._network_servers = merge_servers([*self._network_servers, *discovered])

    def _search_text(self) -> str:
        """Return the state or the result of the search for servers."""
        if self._scan.is_asking:
            return self._scan_progress()
        if self._browse.is_asking:
            return self.tr("Looking for servers…")
        for query in (self._scan, self._browse):
            if query.state == "failed" and query.error is not None:
                return _message(query.error)
        if self._network_servers:
            text = self.tr("Servers found on this network: {count}").format(count=len(self._network_servers))
        elif self._known():
            text = self.tr("No other servers found on this network.")
        else:
            text = self.tr("No servers found on this network. Enter a name or an address.")
        return text

    def _scan_progress(self) -> str:
        if not self._scan.events:
            return self.tr("Scanning the subnet…")
        done: ServersEvent = self._scan.events[-1]
        text = self.tr("Scanning the subnet… {asked} of {total} addresses asked")
        return text.format(asked=done.asked, total=done.total)

    def _show_rows(self) -> None:
        """Show the suggestions for the text, but no list for a single one that equals the text."""
        text = self.text().strip()
        if not self._line.hasFocus() or not (text or self._list_requested):
            self._list.show_rows([])
            return
        share = split_share(text)
        result = self._exports.result if self._exports.server == share.host else None
        if share.colon or result is not None:
            rows = suggest_exports(share, result, self._known(), suggestion_texts())
            if self._list_requested and not rows:
                rows = [Suggestion(self._status.text(), "", "", "status")]
        else:
            rows = suggest_servers(share.server, self._known(), suggestion_texts())
            if self._list_requested:
                rows = [Suggestion(self._search_text(), "", "", "status"), *rows]
                if not self._scan.is_asking:
                    rows.append(Suggestion(self.tr("Scan the Subnet…"), "", "", "scan"))
            if not text and any("recent" in server.sources for server in self._known()):
                rows.append(Suggestion(self.tr("Clear recent servers"), "", "", "forget"))
        if not self._list_requested and [row.text for row in rows] == [text]:
            rows = []
        self._list.show_rows(rows)

    def unknown_server(self) -> str:
        """Return the error message if the server's name could not be resolved, or ""."""
        query = self._exports
        error = query.error if query.state == "failed" else None
        if error is None or error.kind is not ErrorKind.SERVER_UNKNOWN:
            return ""
        return error.message if split_share(self.text().strip()).host == query.server else ""

    def _on_answer(self) -> None:
        self._show_status()
        self.answered.emit()
        if self._exports.state == "answered" or self._list_requested:
            self._show_rows()

    def _on_servers(self, query: DiscoveryQuery) -> None:
        self._add_discovered(query)
        if query is self._scan:
            self._show_status()
        if query.state != "idle":
            self._show_rows()

    def _on_forgotten(self) -> None:
        query = self._forget
        if query.state == "failed" and query.error is not None:
            self._show_failure(query.error)
        elif query.state == "answered":
            query.reset()
            self._servers.reset()
            self._browse.reset()
            self._query_servers()

    def _show_failure(self, error: AppError) -> None:
        self._status.setText(_message(error))
        self._status.setToolTip(plain_tip(_full_text(error)))
        theme.tint(self._status, theme.colors().warn)

    def _show_status(self) -> None:
        query = self._exports
        self._cancel.setVisible(query.is_asking or self._scan.is_asking)
        problem = query.result.root_problem if query.state == "answered" else None
        self._try.setVisible(problem is not None and problem.kind in _TEST_MOUNT_ERRORS)
        self._check.setEnabled(bool(split_share(self.text().strip()).host))
        tip, meaning = "", "muted"
        if query.state == "failed" and query.error is not None:
            text, tip, meaning = _message(query.error), _full_text(query.error), "warn"
        elif query.state == "answered":
            text, tip = self._answer_text(query.result)
        elif query.state == "asking":
            left = query.seconds_left
            text = self.tr("Asking {server}… {seconds} s").format(server=query.server, seconds=left)
            if self._uses_test_mount:
                # No countdown: the test mount and the request for administrator rights can take longer.
                text = self.tr("Waiting for the test mount of {server}…").format(server=query.server)
        elif query.state == "waiting":
            text = self.tr("Asking {server}…").format(server=query.server)
        elif self._scan.is_asking:
            text = self._search_text()
        else:
            text = self.tr("The server's name, a colon, and the directory that it exports.")
        self._status.setText(text)
        self._status.setToolTip(plain_tip(tip or text))
        theme.tint(self._status, getattr(theme.colors(), meaning))

    def _answer_text(self, result: ExportsResult) -> tuple[str, str]:
        problems = [item for item in (result.exports_problem, result.root_problem) if item is not None]
        exports, root = result.exports or [], result.root or []
        count = len({export.path for export in exports} | {entry.path for entry in root})
        if count == 0 and problems:
            return _message(problems[0]), "\n".join(_full_text(problem) for problem in problems)
        if count == 0:
            return self.tr("{server} answers, and exports nothing.").format(server=result.server), ""
        text = self.tr("{server} answers. Directories to choose from: {count}.")
        text = text.format(server=result.server, count=count)
        if not result.root_complete:
            text = self.tr("{text} There are more.").format(text=text)
        return text, "\n".join([text, *(_full_text(problem) for problem in problems)])

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: handle the keys of the list before the line edit gets them."""
        if watched is self._line:
            if isinstance(event, QFocusEvent):
                self._on_focus(event)
            elif isinstance(event, QKeyEvent):
                return self._handle_key(event)
        return super().eventFilter(watched, event)

    def _on_focus(self, event: QFocusEvent) -> None:
        """Close the list when the focus moves to another field; hide it while another window has the focus.

        A slow window system can report the focus of a dialog only after the dialog closed. The list is only
        hidden then, and shown again when the focus returns.
        """
        if event.gotFocus():
            if self._list_requested:
                self._show_rows()
        elif event.reason() in _LEAVING_REASONS:
            self._close_list()
        else:
            self._list.show_rows([])

    def _handle_key(self, event: QKeyEvent) -> bool:
        """Handle a key of the list; return whether it was one."""
        key, list_shown = event.key(), self._list.isVisible()
        if event.type() == QEvent.Type.ShortcutOverride and key == Qt.Key.Key_Escape and list_shown:
            # Escape closes the list and must not reach the window's shortcut.
            event.accept()
            return True
        if event.type() != QEvent.Type.KeyPress:
            return False
        if key == Qt.Key.Key_Down and not list_shown:
            self.open_list()
        elif list_shown and key in _STEP_KEYS:
            self._list.step(_STEP_KEYS[key])
        elif list_shown and key == Qt.Key.Key_Escape:
            self._close_list()
        elif list_shown and key in _ENTER_KEYS and self._list.currentIndex().isValid():
            self._choose(self._list.currentIndex())
        else:
            if key in _ENTER_KEYS:
                self._close_list()
            return False
        return True

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_list"):
            self._show_status()


def _sort_key(names: list[str], name: str) -> tuple[int, str]:
    """Return a sort key: names in ``names`` first, in that order, then all others alphabetically."""
    return (names.index(name), "") if name in names else (len(names), name)


def _message(error: AppError | Problem) -> str:
    """Return the message of an error without hint and detail."""
    return error.message


def _full_text(error: AppError | Problem) -> str:
    return "\n".join(part for part in (error.message, error.hint, error.detail) if part)
