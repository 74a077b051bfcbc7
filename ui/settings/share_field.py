"""Share field: one line of text with servers and exports to choose from as they become known."""

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

from app.discovery.known_servers import merge_servers
from app.discovery.model import NFS_PORT, ExportsArgs, ScanArgs, ServersArgs
from app.errors import ErrorKind
from app.service.protocol import Empty
from ui.common import theme
from ui.common.dialogs import confirm
from ui.common.labels import ElidedLabel, plain_tip
from ui.settings.discovery_model import (
    DEBOUNCE_MS,
    DiscoveryQuery,
    Suggestion,
    SuggestionTexts,
    split_share,
    suggest_exports,
    suggest_servers,
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

#: Keys that move in the list, and by how many rows.
_STEP_KEYS: dict[int, int] = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: 9,
    Qt.Key.Key_PageUp: -9,
}
#: Why version 4's root is unknown, where a test mount may show it: the port, or no version 4.0.
_MOUNT_MAY_TELL = {ErrorKind.ACCESS_DENIED, ErrorKind.VERSION_UNSUPPORTED}
#: Where a server is known from that the network told of.
_ON_NETWORK = {"mdns", "scan"}
_ENTER_KEYS = {Qt.Key.Key_Return, Qt.Key.Key_Enter}
#: How the focus goes to another field of the same window.
_LEAVING_REASONS = {
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.MouseFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
}


class ShareField(QWidget):
    """A line for ``server:/export``: the list is a hint, anything may be typed.

    No server is asked before its name is finished: by the colon, or by opening the list.

    Args:
        submit: sends a request to the host shown.

    Signals:
        textEdited: the person has changed the text, by typing or choosing.
        returnPressed: Enter, outside the list.
        check_wanted: the server that is to be looked at closely.
        answered: what is known of the server is something else now.
    """

    textEdited = Signal(str)
    returnPressed = Signal()
    check_wanted = Signal(str)
    answered = Signal()

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._exports = DiscoveryQuery(submit, "discover.exports", self._exports_args, self)
        self._try_server = ""  # the person agreed to a test mount of this one
        self._trying = False  # what is asked now includes it
        self._servers = DiscoveryQuery(
            submit, "discover.servers", lambda _host: ServersArgs(browse=False), self
        )
        # Listening on the network takes its time: what is known without is shown before.
        self._announced = DiscoveryQuery(submit, "discover.servers", lambda _host: ServersArgs(), self)
        self._subnets = DiscoveryQuery(submit, "discover.subnets", lambda _host: Empty(), self)
        self._networks: list[str] = []  # the person agreed to a scan of these
        self._scan = DiscoveryQuery(
            submit, "discover.scan", lambda _host: ScanArgs(networks=self._networks), self
        )
        #: What the network told until now: it stays in the list while it is asked again.
        self._on_network: list[KnownServer] = []
        self._forgetting = DiscoveryQuery(submit, "discover.forget", lambda _host: Empty(), self)
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
        self._said = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._said.setObjectName("share-status")
        self._cancel = QPushButton(self.tr("Stop"))
        self._cancel.setObjectName("share-cancel")
        self._cancel.setAccessibleName(self.tr("Stop asking"))
        self._try = QPushButton(self.tr("List by a test mount…"))
        self._try.setObjectName("share-try")
        self._try.setToolTip(
            self.tr(
                "Mount the server's root where nobody sees it, list it and unmount it (administrator rights)."
            )
        )
        policy = QSizePolicy(self._cancel.sizePolicy())
        policy.setRetainSizeWhenHidden(True)
        self._cancel.setSizePolicy(policy)
        self._list = SuggestionList(self._line, self)
        self._list.setObjectName("share-list")
        self._list.setAccessibleName(self.tr("Servers and exports"))
        self._list.clicked.connect(self._choose)
        self._wanted = False  # the person has opened the list, whatever is written
        self._lay_out()
        self._line.installEventFilter(self)
        self._line.textEdited.connect(self._on_edited)
        self._line.returnPressed.connect(self.returnPressed)
        self._open.clicked.connect(self.open_list)
        self._check.clicked.connect(lambda: self.check_wanted.emit(split_share(self.text().strip()).host))
        self._cancel.clicked.connect(self._on_cancel)
        self._try.clicked.connect(self._on_try)
        self._exports.changed.connect(self._on_answer)
        for asking in (self._servers, self._announced, self._scan):
            asking.changed.connect(partial(self._on_servers, asking))
        self._subnets.changed.connect(self._on_subnets)
        self._forgetting.changed.connect(self._on_forgotten)
        self._show_status()

    def _lay_out(self) -> None:
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setHorizontalSpacing(6)
        layout.setVerticalSpacing(2)
        layout.addWidget(self._line, 0, 0)
        layout.addWidget(self._open, 0, 1)
        layout.addWidget(self._check, 0, 2)
        layout.addWidget(self._said, 1, 0)
        layout.addWidget(self._cancel, 1, 1, 1, 2, Qt.AlignmentFlag.AlignLeft)
        # One of the two at a time.
        layout.addWidget(self._try, 1, 1, 1, 2, Qt.AlignmentFlag.AlignLeft)
        layout.setColumnStretch(0, 1)
        self._open.setFixedHeight(self._line.sizeHint().height())
        self.setFocusProxy(self._line)

    # As a QLineEdit has them

    def text(self) -> str:
        """Return what is written."""
        return self._line.text()

    def setText(self, text: str) -> None:
        """Write this; no server is asked for it."""
        if text != self.text():
            self._line.setText(text)
            self._exports.reset()

    def setPlaceholderText(self, text: str) -> None:
        """Show this while nothing is written."""
        self._line.setPlaceholderText(text)

    def setObjectName(self, name: object) -> None:
        """Name the line: that is what is typed into."""
        self._line.setObjectName(str(name))

    def setAccessibleName(self, name: str) -> None:
        """Name the line for a screen reader."""
        self._line.setAccessibleName(name)

    def installEventFilter(self, watcher: QObject) -> None:
        """Let the watcher see the keys of the line."""
        self._line.installEventFilter(watcher)

    def reset(self) -> None:
        """Another host or another form is shown: nothing is asked any more, and no answer is kept."""
        self._close_list()
        self._exports.reset()
        self._servers.reset()
        self._announced.reset()
        self._subnets.reset()
        self._scan.reset()
        self._on_network = []
        self._forgetting.reset()

    # What the person does

    def open_list(self) -> None:
        """Open the list; the server that is written is asked at once."""
        self._line.setFocus()
        share = split_share(self.text().strip())
        if not share.colon and not self._announced.is_asking:
            self._announced.reset()  # somebody may have come since
        self._ask_servers()
        if share.host and (share.colon or not self._other_servers(share.host)):
            self._exports.ask(share.host)
        self._wanted = True
        self._show_rows()

    def _other_servers(self, host: str) -> bool:
        """Tell whether what is written may be the beginning of another server's name."""
        names = [server.name.casefold() for server in self._known()]
        return host.casefold() not in names and any(host.casefold() in name for name in names)

    def _on_edited(self, text: str) -> None:
        self._ask_servers()
        share = split_share(text.strip())
        if share.colon and share.host:
            self._exports.ask(share.host, delay_ms=DEBOUNCE_MS)
        elif share.host != self._exports.server:
            self._exports.reset()
        self._wanted = False
        self._show_rows()
        self._show_status()
        self.textEdited.emit(text)

    def _choose(self, index: QModelIndex) -> None:
        kind, text = index.data(KindRole), str(index.data(TextRole))
        if kind == "forget":
            self._forgetting.ask("local")
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
            # A server was chosen: what it exports comes next.
            self.open_list()

    def _exports_args(self, host: str) -> ExportsArgs:
        self._trying, self._try_server = self._try_server == host, ""
        return ExportsArgs(server=host, test_mount=self._trying)

    def _on_try(self) -> None:
        host = self._exports.server
        self._exports.reset()
        self._try_server = host
        self._exports.ask(host)

    def _on_cancel(self) -> None:
        if self._scan.is_asking:
            self._scan.cancel()
        else:
            self._exports.cancel()

    def _on_subnets(self) -> None:
        """Say which addresses a scan asks, and begin it after a yes."""
        asking = self._subnets
        if asking.state == "failed" and asking.error is not None:
            self._say_failure(asking.error)
        if asking.state != "answered":
            return
        found: Subnets = asking.result
        asking.reset()
        if not found.subnets:
            self._said.setText(self.tr("This computer is attached to no network that can be scanned."))
            return
        self._networks = [subnet.network for subnet in found.subnets]
        confirm(
            self.window(),
            self.tr("Scan the subnet for NFS servers?"),
            self._scan_text(found),
            self.tr("Scan the Subnet"),
            self._on_scan,
        )

    def _scan_text(self, found: Subnets) -> str:
        lines = [
            self.tr("Mountwright connects to TCP port {port} of {count} addresses: {first} to {last} "
                    "({interface}).").format(
                port=NFS_PORT, count=subnet.count, first=subnet.first, last=subnet.last,
                interface=subnet.interface,
            )
            for subnet in found.subnets
        ]  # fmt: skip
        lines += [
            self.tr("It is a part of the network {network}.").format(network=subnet.cut_from)
            for subnet in found.subnets
            if subnet.cut_from
        ]
        if found.left_out:
            text = self.tr("Too many addresses, and left out: {networks}.")
            lines.append(text.format(networks=", ".join(found.left_out)))
        lines.append(self.tr("Whoever watches the network may take this for an attack."))
        return "\n\n".join(lines)

    def _on_scan(self) -> None:
        self._scan.reset()
        self._scan.ask("local")
        QTimer.singleShot(0, self, self._open_again)  # when the question has closed

    def _open_again(self) -> None:
        self.window().activateWindow()
        self.open_list()

    def _close_list(self) -> None:
        self._wanted = False
        self._list.show_rows([])

    # What is known

    def _ask_servers(self) -> None:
        self._servers.ask("local")
        self._announced.ask("local")

    def _known(self) -> list[KnownServer]:
        """Return what this computer knows, and behind it what the network told, so that no row moves."""
        known: list[KnownServer] = []
        if self._servers.state == "answered":
            result: ServersResult = self._servers.result
            known = result.servers
        names = [server.name.casefold() for server in known]
        return sorted(
            merge_servers([*known, *self._on_network]),
            key=lambda server: _sort_key(names, server.name.casefold()),
        )

    def _add_discovered(self, asking: DiscoveryQuery) -> None:
        """Keep what the network told."""
        told: list[KnownServer] = [server for event in asking.events for server in event.servers]
        if asking.state == "answered" and asking is not self._servers:
            told += [server for server in asking.result.servers if set(server.sources) & _ON_NETWORK]
        if any(server not in self._on_network for server in told):
            self._on_network = merge_servers([*self._on_network, *told])

    def _search_text(self) -> str:
        """Return what is being looked for, or what was found."""
        if self._scan.is_asking:
            return self._scan_progress()
        if self._announced.is_asking:
            return self.tr("Looking for servers…")
        for asking in (self._scan, self._announced):
            if asking.state == "failed" and asking.error is not None:
                return _message(asking.error)
        if self._on_network:
            text = self.tr("Servers found on this network: {count}").format(count=len(self._on_network))
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

    def _words(self) -> SuggestionTexts:
        return SuggestionTexts(
            everyone=self.tr("for everyone"),
            export=self.tr("export of version 4"),
            directory=self.tr("directory of version 4"),
            known=self.tr("used on this computer"),
            sources={"fstab": self.tr("in fstab"), "mounted": self.tr("mounted"),
                     "mdns": self.tr("announced on the network"), "recent": self.tr("used recently"),
                     "scan": self.tr("answers on the subnet")},
        )  # fmt: skip

    def _show_rows(self) -> None:
        """Show what fits the text; a single row that is written already is not worth a list."""
        text = self.text().strip()
        if not self._line.hasFocus() or not (text or self._wanted):
            self._list.show_rows([])
            return
        share = split_share(text)
        result = self._exports.result if self._exports.server == share.host else None
        if share.colon or result is not None:
            rows = suggest_exports(share, result, self._known(), self._words())
            if self._wanted and not rows:
                rows = [Suggestion(self._said.text(), "", "", "status")]
        else:
            rows = suggest_servers(share.server, self._known(), self._words())
            if self._wanted:
                rows = [Suggestion(self._search_text(), "", "", "status"), *rows]
                if not self._scan.is_asking:
                    rows.append(Suggestion(self.tr("Scan the Subnet…"), "", "", "scan"))
            if not text and any("recent" in server.sources for server in self._known()):
                rows.append(Suggestion(self.tr("Forget the servers used recently"), "", "", "forget"))
        if not self._wanted and [row.text for row in rows] == [text]:
            rows = []
        self._list.show_rows(rows)

    def unknown_server(self) -> str:
        """Return why nothing can be reached under the name of the server, "" where that is not known."""
        asking = self._exports
        error = asking.error if asking.state == "failed" else None
        if error is None or error.kind is not ErrorKind.SERVER_UNKNOWN:
            return ""
        return error.message if split_share(self.text().strip()).host == asking.server else ""

    def _on_answer(self) -> None:
        self._show_status()
        self.answered.emit()
        if self._exports.state == "answered" or self._wanted:
            self._show_rows()

    def _on_servers(self, asking: DiscoveryQuery) -> None:
        self._add_discovered(asking)
        if asking is self._scan:
            self._show_status()
        if asking.state != "idle":
            self._show_rows()

    def _on_forgotten(self) -> None:
        asking = self._forgetting
        if asking.state == "failed" and asking.error is not None:
            self._say_failure(asking.error)
        elif asking.state == "answered":
            asking.reset()
            self._servers.reset()
            self._announced.reset()
            self._ask_servers()

    def _say_failure(self, error: AppError) -> None:
        self._said.setText(_message(error))
        self._said.setToolTip(plain_tip(_full_text(error)))
        theme.tint(self._said, theme.colors().warn)

    def _show_status(self) -> None:
        asking = self._exports
        self._cancel.setVisible(asking.is_asking or self._scan.is_asking)
        problem = asking.result.root_problem if asking.state == "answered" else None
        self._try.setVisible(problem is not None and problem.kind in _MOUNT_MAY_TELL)
        self._check.setEnabled(bool(split_share(self.text().strip()).host))
        tip, meaning = "", "muted"
        if asking.state == "failed" and asking.error is not None:
            text, tip, meaning = _message(asking.error), _full_text(asking.error), "warn"
        elif asking.state == "answered":
            text, tip = self._answer_text(asking.result)
        elif asking.state == "asking":
            left = asking.seconds_left
            text = self.tr("Asking {server}… {seconds} s").format(server=asking.server, seconds=left)
            if self._trying:
                # It takes longer than the countdown, and so does the question for the right to make it.
                text = self.tr("Waiting for the test mount of {server}…").format(server=asking.server)
        elif asking.state == "waiting":
            text = self.tr("Asking {server}…").format(server=asking.server)
        elif self._scan.is_asking:
            text = self._search_text()
        else:
            text = self.tr("The server's name, a colon, and the directory that it exports.")
        self._said.setText(text)
        self._said.setToolTip(plain_tip(tip or text))
        theme.tint(self._said, getattr(theme.colors(), meaning))

    def _answer_text(self, result: ExportsResult) -> tuple[str, str]:
        problems = [one for one in (result.exports_problem, result.root_problem) if one is not None]
        count = len({one.path for one in result.exports or []} | {one.path for one in result.root or []})
        if count == 0 and problems:
            return _message(problems[0]), "\n".join(_full_text(one) for one in problems)
        if count == 0:
            return self.tr("{server} answers, and exports nothing.").format(server=result.server), ""
        text = self.tr("{server} answers. Directories to choose from: {count}.")
        text = text.format(server=result.server, count=count)
        if not result.root_complete:
            text = self.tr("{text} There are more.").format(text=text)
        return text, "\n".join([text, *(_full_text(one) for one in problems)])

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: see the line's keys first; those that are not the list's go on to it."""
        if watched is self._line:
            if isinstance(event, QFocusEvent):
                self._on_focus(event)
            elif isinstance(event, QKeyEvent):
                return self._take_key(event)
        return super().eventFilter(watched, event)

    def _on_focus(self, event: QFocusEvent) -> None:
        """Close the list where the person goes on to another field; hide it while another window is in front.

        A busy window system tells of a question's focus when it has closed: what was opened stays wanted.
        """
        if event.gotFocus():
            if self._wanted:
                self._show_rows()
        elif event.reason() in _LEAVING_REASONS:
            self._close_list()
        else:
            self._list.show_rows([])

    def _take_key(self, event: QKeyEvent) -> bool:
        """Return whether the key was for the list."""
        key, shown = event.key(), self._list.isVisible()
        if event.type() == QEvent.Type.ShortcutOverride and key == Qt.Key.Key_Escape and shown:
            # Escape closes the list, not the form.
            event.accept()
            return True
        if event.type() != QEvent.Type.KeyPress:
            return False
        if key == Qt.Key.Key_Down and not shown:
            self.open_list()
        elif shown and key in _STEP_KEYS:
            self._list.step(_STEP_KEYS[key])
        elif shown and key == Qt.Key.Key_Escape:
            self._close_list()
        elif shown and key in _ENTER_KEYS and self._list.currentIndex().isValid():
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
    """Return what sorts a name as these are sorted, and others behind them by the alphabet."""
    return (names.index(name), "") if name in names else (len(names), name)


def _message(error: AppError | Problem) -> str:
    """Return one short sentence."""
    return error.message


def _full_text(error: AppError | Problem) -> str:
    return "\n".join(part for part in (error.message, error.hint, error.detail) if part)
