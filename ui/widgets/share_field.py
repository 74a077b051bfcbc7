"""The share as one line of text, with servers and exports to choose from as they become known."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QGridLayout,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from app.agent.protocol import Empty
from app.discovery.model import ExportsArgs, ServersArgs
from app.errors import ErrorKind
from ui import theme
from ui.models.discovery import (
    DEBOUNCE_MS,
    Inquiry,
    Suggestion,
    Words,
    split_share,
    suggest_exports,
    suggest_servers,
)
from ui.widgets.labels import ElidedLabel, plain_tip
from ui.widgets.share_list import ShareList, TextRole

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.discovery.model import ExportsResult, KnownServer, Problem, ServersResult
    from app.errors import AppError
    from ui.bridge import BridgeCall

#: Keys that move in the list, and by how many rows.
_STEPS: dict[int, int] = {
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_PageDown: 9,
    Qt.Key.Key_PageUp: -9,
}
#: Why version 4's root is unknown, where a test mount may show it: the port, or no version 4.0.
_MOUNT_MAY_TELL = {ErrorKind.ACCESS_DENIED, ErrorKind.VERSION_UNSUPPORTED}
_ENTER = {Qt.Key.Key_Return, Qt.Key.Key_Enter}


class ShareField(QWidget):
    """A line for ``server:/export``: the list is a hint, anything may be typed.

    No server is asked before its name is finished: by the colon, or by opening the list.

    Args:
        submit: sends a request to the host shown.

    Signals:
        textEdited: the person has changed the text, by typing or choosing.
        returnPressed: Enter, outside the list.
        check_wanted: the server that is to be looked at closely.
    """

    textEdited = Signal(str)
    returnPressed = Signal()
    check_wanted = Signal(str)

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._exports = Inquiry(submit, "discover.exports", self._exports_args, self)
        self._try_server = ""  # the person agreed to a test mount of this one
        self._trying = False  # what is asked now includes it
        self._servers = Inquiry(submit, "discover.servers", lambda _host: ServersArgs(browse=False), self)
        # Listening on the network takes its time: what is known without is shown before.
        self._announced = Inquiry(submit, "discover.servers", lambda _host: ServersArgs(), self)
        self._forgetting = Inquiry(submit, "discover.forget", lambda _host: Empty(), self)
        self._line = QLineEdit()
        self._open = QToolButton()
        self._open.setObjectName("share-open")
        self._open.setArrowType(Qt.ArrowType.DownArrow)
        self._open.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._open.setToolTip(self.tr("Show servers, or what the server exports (Alt+Down)."))
        self._open.setAccessibleName(self.tr("Show servers and exports"))
        self._check = QPushButton(self.tr("Chec&k server…"))
        self._check.setObjectName("share-check")
        self._check.setToolTip(self.tr("Ask the server which NFS versions and services it offers."))
        self._said = ElidedLabel(mode=Qt.TextElideMode.ElideRight)
        self._said.setObjectName("share-status")
        self._cancel = QPushButton(self.tr("Stop"))
        self._cancel.setObjectName("share-cancel")
        self._cancel.setAccessibleName(self.tr("Stop asking the server"))
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
        self._list = ShareList(self._line, self)
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
        self._cancel.clicked.connect(self._exports.cancel)
        self._try.clicked.connect(self._on_try)
        self._exports.changed.connect(self._on_answer)
        for asking in (self._servers, self._announced):
            asking.changed.connect(partial(self._on_servers, asking))
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
            self._exports.forget()

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

    def forget(self) -> None:
        """Another host or another form is shown: nothing is asked any more, and no answer is kept."""
        self._close_list()
        self._exports.forget()
        self._servers.forget()
        self._announced.forget()
        self._forgetting.forget()

    # What the person does

    def open_list(self) -> None:
        """Open the list; the server that is written is asked at once."""
        self._line.setFocus()
        self._ask_servers()
        share = split_share(self.text().strip())
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
            self._exports.forget()
        self._wanted = False
        self._show_rows()
        self._show_status()
        self.textEdited.emit(text)

    def _choose(self, index: QModelIndex) -> None:
        text = str(index.data(TextRole))
        if not text:
            self._forgetting.ask("local")
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
        self._exports.forget()
        self._try_server = host
        self._exports.ask(host)

    def _close_list(self) -> None:
        self._wanted = False
        self._list.show_rows([])

    # What is known

    def _ask_servers(self) -> None:
        self._servers.ask("local")
        self._announced.ask("local")

    def _known(self) -> list[KnownServer]:
        for asking in (self._announced, self._servers):
            if asking.state == "answered":
                result: ServersResult = asking.result
                return result.servers
        return []

    def _words(self) -> Words:
        return Words(
            everyone=self.tr("for everyone"),
            export=self.tr("export of version 4"),
            directory=self.tr("directory of version 4"),
            known=self.tr("used on this computer"),
            sources={"fstab": self.tr("in fstab"), "mounted": self.tr("mounted"),
                     "mdns": self.tr("announced on the network"), "recent": self.tr("used recently")},
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
        else:
            rows = suggest_servers(share.server, self._known(), self._words())
            if not text and any("recent" in server.sources for server in self._known()):
                rows.append(Suggestion(self.tr("Forget the servers used recently"), "", ""))
        if not self._wanted and [row.text for row in rows] == [text]:
            rows = []
        self._list.show_rows(rows)

    def _on_answer(self) -> None:
        self._show_status()
        if self._exports.state == "answered":
            self._show_rows()

    def _on_servers(self, asking: Inquiry) -> None:
        if asking.state == "answered":
            self._show_rows()

    def _on_forgotten(self) -> None:
        asking = self._forgetting
        if asking.state == "failed" and asking.error is not None:
            self._said.setText(_short(asking.error))
            self._said.setToolTip(plain_tip(_more(asking.error)))
            theme.tint(self._said, theme.colours().warn)
        elif asking.state == "answered":
            asking.forget()
            self._servers.forget()
            self._announced.forget()
            self._ask_servers()

    def _show_status(self) -> None:
        asking = self._exports
        self._cancel.setVisible(asking.state in {"waiting", "asking"})
        problem = asking.result.root_problem if asking.state == "answered" else None
        self._try.setVisible(problem is not None and problem.kind in _MOUNT_MAY_TELL)
        self._check.setEnabled(bool(split_share(self.text().strip()).host))
        tip, meaning = "", "muted"
        if asking.state == "failed" and asking.error is not None:
            text, tip, meaning = _short(asking.error), _more(asking.error), "warn"
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
        else:
            text = self.tr("The server's name, a colon, and the directory that it exports.")
        self._said.setText(text)
        self._said.setToolTip(plain_tip(tip or text))
        theme.tint(self._said, getattr(theme.colours(), meaning))

    def _answer_text(self, result: ExportsResult) -> tuple[str, str]:
        problems = [one for one in (result.exports_problem, result.root_problem) if one is not None]
        count = len({one.path for one in result.exports or []} | {one.path for one in result.root or []})
        if count == 0 and problems:
            return _short(problems[0]), "\n".join(_more(one) for one in problems)
        if count == 0:
            return self.tr("{server} answers, and exports nothing.").format(server=result.server), ""
        text = self.tr("{server} answers. Directories to choose from: {count}.")
        text = text.format(server=result.server, count=count)
        if not result.root_complete:
            text = self.tr("{text} There are more.").format(text=text)
        return text, "\n".join([text, *(_more(one) for one in problems)])

    # Qt overrides

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: see the line's keys first; those that are not the list's go on to it."""
        if watched is self._line:
            if event.type() == QEvent.Type.FocusOut:
                self._close_list()
            elif isinstance(event, QKeyEvent):
                return self._take_key(event)
        return super().eventFilter(watched, event)

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
        elif shown and key in _STEPS:
            self._list.step(_STEPS[key])
        elif shown and key == Qt.Key.Key_Escape:
            self._close_list()
        elif shown and key in _ENTER and self._list.currentIndex().isValid():
            self._choose(self._list.currentIndex())
        else:
            if key in _ENTER:
                self._close_list()
            return False
        return True

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_list"):
            self._show_status()


def _short(error: AppError | Problem) -> str:
    """Return one short sentence."""
    return error.message


def _more(error: AppError | Problem) -> str:
    return "\n".join(part for part in (error.message, error.hint, error.detail) if part)
