"""Placeholder pages: no NFS mount yet, and a host that is being opened or could not be opened."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from app.discovery.model import ServersArgs
from ui.common import theme
from ui.common.bridge import LatestCall
from ui.common.cards import SPACING_SMALL, Card, CardKind, Headline, primary_button, text_button
from ui.common.fonts import TextSize, scale_font, set_text_size
from ui.common.icons import draw_icon, icon
from ui.common.labels import MutedLabel, heading, plain_label
from ui.common.layout import PageColumn, PageScrollArea

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.discovery.model import KnownServer, ServersEvent, ServersResult
    from app.errors import AppError
    from app.service.protocol import HelloResult
    from ui.common.bridge import BridgeCall
    from ui.common.session import LabLink

#: Width of the combo box for the link, characters; fits into a narrow window.
_LETTERS = 20
#: Link of the lab that is offered first: on a faster one there is nothing to gain.
_SLOW_LINK = "wan"
#: Maximum number of servers offered.
_MAX_SERVERS = 6


class WelcomePage(QWidget):
    """Page of a host without NFS mounts; offers a first mount and the lab.

    Args:
        links: links of the lab.
        submit: sends a request to the agent.

    Signals:
        mount_clicked: a new mount is requested.
        server_clicked: a mount of this server is requested; carries its name or address.
        paste_clicked: the dialog that reads a mount command is requested.
        lab_clicked: the lab is requested; carries the key of the selected link.
    """

    mount_clicked = Signal()
    server_clicked = Signal(str)
    paste_clicked = Signal()
    lab_clicked = Signal(str)

    def __init__(self, links: Sequence[LabLink], submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._search = LatestCall(submit)
        self._early: list[KnownServer] = []
        title = plain_label(self.tr("Make Network Directories Fast"), wrap=True)
        set_text_size(title, TextSize.HEADLINE, bold=True)
        promise = plain_label(
            self.tr("Mountwright mounts NFS shares, finds what slows them down, and proves what helps."),
            wrap=True,
        )
        column = PageColumn()
        column.body.addWidget(_Drawing())
        column.body.addWidget(title)
        column.body.addWidget(promise)
        column.body.addWidget(self._make_mount_card())
        column.body.addWidget(self._make_lab_card(links))
        self._helper = HelperCard()
        column.body.addWidget(self._helper)
        column.body.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(PageScrollArea(column, self.tr("First steps")))

    def _make_mount_card(self) -> Card:
        mount_button = primary_button(self.tr("&Mount a Share…"))
        mount_button.setObjectName("empty-mount")
        mount_button.clicked.connect(self.mount_clicked)
        paste_button = text_button(self.tr("&Paste a Mount Command or a Line of fstab…"))
        paste_button.setObjectName("empty-paste")
        paste_button.clicked.connect(self.paste_clicked)
        self._found = MutedLabel(wrap=True)
        self._found.setObjectName("empty-found")
        self._servers = QHBoxLayout()
        self._servers.setSpacing(SPACING_SMALL)
        row = QHBoxLayout()
        row.addWidget(mount_button)
        row.addWidget(paste_button)
        row.addStretch(1)
        card = Card()
        card.body.addWidget(heading(self.tr("Your Own Server")))
        card.body.addWidget(self._found)
        card.body.addLayout(self._servers)
        card.body.addLayout(row)
        return card

    def _make_lab_card(self, links: Sequence[LabLink]) -> Card:
        self._links = QComboBox()
        self._links.setObjectName("empty-link")
        self._links.setAccessibleName(self.tr("Link of the lab"))
        for link in links:
            self._links.addItem(link.title, link.key)
        self._links.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self._links.setMinimumContentsLength(_LETTERS)
        self._links.setCurrentIndex(max(0, self._links.findData(_SLOW_LINK)))
        self._links.currentIndexChanged.connect(self._show_promise)
        lab_button = QPushButton(icon("lab", "lab"), self.tr("See It Work in the &Lab"))
        lab_button.setObjectName("empty-lab")
        lab_button.clicked.connect(self._on_lab)
        self._promise = plain_label(wrap=True)
        self._promise.setObjectName("empty-promise")
        row = QHBoxLayout()
        row.addWidget(lab_button)
        row.addWidget(self._links)
        row.addStretch(1)
        card = Card()
        card.body.addWidget(heading(self.tr("No Server at Hand?")))
        card.body.addWidget(self._promise)
        card.body.addLayout(row)
        self._show_promise()
        return card

    def look_for_servers(self, hello: HelloResult) -> None:
        """Search for servers on the network, and say whether the privileged helper is missing."""
        self._helper.show_command(hello.helper_command)
        self._show_servers([])
        self._found.setText(self.tr("Looking for servers on this network…"))
        self._early = []
        self._search.ask(
            "discover.servers", ServersArgs(), self._on_servers, self._on_no_answer, self._on_some_servers
        )

    def _on_some_servers(self, event: ServersEvent) -> None:
        """Show servers as they are found; a later event may know more exports of a server."""
        known = {server.name: server for server in [*self._early, *event.servers]}
        self._early = list(known.values())
        self._show_servers(self._early)

    def _on_servers(self, result: ServersResult) -> None:
        self._show_servers(result.servers)
        self._found.setText(
            self.tr("Servers that were found:")
            if result.servers
            else self.tr("No server announces itself on this network. Enter its name or its address.")
        )

    def _on_no_answer(self, _error: AppError) -> None:
        self._found.setText(self.tr("Enter the name or the address of a server, such as nas01:/export/home."))

    def _show_servers(self, servers: Sequence[KnownServer]) -> None:
        while (item := self._servers.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for server in servers[:_MAX_SERVERS]:
            count = len(server.exports)
            name = server.calls_itself or server.name
            text = name
            if count == 1:
                text = self.tr("{server} (1 export)").format(server=name)
            elif count:
                text = self.tr("{server} ({count} exports)").format(server=name, count=count)
            button = QPushButton(icon("server"), text.replace("&", "&&"))
            button.setObjectName(f"empty-server-{server.name}")
            button.clicked.connect(partial(self._on_server, server.name))
            self._servers.addWidget(button)
        self._servers.addStretch(1)

    def _show_promise(self) -> None:
        first = (
            self.tr("A line of 100 Mbit/s, 40 ms away: there one setting makes reading about twice as fast.")
            if self._links.currentData() == _SLOW_LINK
            else self.tr("A real NFS server and client, with the link of your choice between them.")
        )
        rest = self.tr(
            "It runs in a small virtual machine, ready in a few seconds. Nothing on this computer changes."
        )
        self._promise.setText(f"{first} {rest}")

    def _on_server(self, server: str, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - a slot
        self.server_clicked.emit(server)

    def _on_lab(self) -> None:
        self.lab_clicked.emit(str(self._links.currentData()))


class HelperCard(Card):
    """Card about the missing privileged helper, with the command that installs it; hidden if it is there."""

    def __init__(self) -> None:
        super().__init__(CardKind.WARNING)
        self.setObjectName("helper-card")
        title = Headline()
        question = self.tr("To change mounts here, the privileged helper is needed once")
        title.set_text("warning", question, "", CardKind.WARNING)
        self._command = plain_label()
        self._command.setObjectName("helper-command")
        self._command.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        scale_font(self._command, 1.0, fixed_width=True)
        copy = QPushButton(icon("copy"), self.tr("&Copy Command"))
        copy.setObjectName("helper-copy")
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(self._command.text()))
        row = QHBoxLayout()
        row.addWidget(self._command)
        row.addWidget(copy)
        row.addStretch(1)
        self.body.addWidget(title)
        self.body.addWidget(
            plain_label(self.tr("Run this command in a terminal. It asks for your password:"))
        )
        self.body.addLayout(row)
        self.body.addWidget(MutedLabel(
            self.tr("It copies the helper to /usr/libexec/mountwright and its rules to "
                    "/usr/share/polkit-1/actions. The helper mounts, and writes fstab, only after polkit has "
                    "asked. Without it you can look at mounts, read advice, and work in the lab."),
            wrap=True,
        ))  # fmt: skip
        self.hide()

    def show_command(self, command: str) -> None:
        """Show the command that installs the helper; "" hides the card."""
        self._command.setText(command)
        self.setVisible(bool(command))


#: Height of the drawing, lines of text.
_DRAWING_LINES = 5


class _Drawing(QWidget):
    """Drawing of a computer and a server with a link between them."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedHeight(self.fontMetrics().lineSpacing() * _DRAWING_LINES)

    # Qt overrides

    def paintEvent(self, event: QPaintEvent) -> None:
        """Qt: paint both ends and what travels between them."""
        del event
        colors, side = theme.colors(), round(self.height() * 0.8)
        middle = self.height() // 2
        left = QRect(0, middle - side // 2, side, side)
        right = QRect(min(self.width() - side, 5 * side), middle - side // 2, side, side)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_icon(painter, left, "laptop", colors.text)
        draw_icon(painter, right, "server", colors.text)
        begin, end = left.right() + side // 4, right.left() - side // 4
        for number, (color, offset) in enumerate(((colors.write, -side // 8), (colors.read, side // 8))):
            y = middle + offset
            painter.setPen(QPen(QColor(color), 2))
            painter.drawLine(begin, y, end, y)
            painter.setBrush(QColor(color))
            tip, back = (end, -1) if number == 0 else (begin, 1)
            arrow = [QPoint(tip, y), QPoint(tip + back * 9, y - 5), QPoint(tip + back * 9, y + 5)]
            painter.drawPolygon(arrow)
        painter.end()


class ConnectingPage(QWidget):
    """Page shown while a host is being opened, and after that failed.

    Signals:
        retry_clicked: open the same host again.
        back_clicked: return to this computer.
    """

    retry_clicked = Signal()
    back_clicked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._title = heading("", scale=1.4)
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._text = MutedLabel(wrap=True)
        self._text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setAccessibleName(self.tr("In progress"))
        self._bar.setMaximumWidth(self.fontMetrics().averageCharWidth() * 50)
        self._retry = QPushButton(self.tr("&Try Again"))
        self._retry.setObjectName("starting-retry")
        self._retry.clicked.connect(self.retry_clicked)
        self._back = QPushButton(self.tr("&Back to This Computer"))
        self._back.setObjectName("starting-back")
        self._back.clicked.connect(self.back_clicked)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(self._retry)
        buttons.addWidget(self._back)
        buttons.addStretch(1)
        bar = QHBoxLayout()
        bar.addWidget(self._bar)
        layout = QVBoxLayout(self)
        layout.setSpacing(12)
        layout.addStretch(2)
        layout.addWidget(self._title)
        layout.addWidget(self._text)
        layout.addLayout(bar)
        layout.addLayout(buttons)
        layout.addStretch(3)

    def show_starting(self, *, lab: bool) -> None:
        """Show that a host is being opened; ``lab`` selects the text for the lab."""
        if lab:
            self._title.setText(self.tr("Starting the lab…"))
            self._text.setText(self.tr("A small virtual machine boots with an NFS server, a client "
                                       "and the link between them. It takes a few seconds."))  # fmt: skip
        else:
            self._title.setText(self.tr("Looking at this computer…"))
            self._text.setText("")
        self._bar.setRange(0, 0)
        self._bar.show()
        self._retry.hide()
        self._back.setVisible(lab)

    def show_failed(self, *, lab: bool) -> None:
        """Show that the host could not be opened; the message area has the reason."""
        self._title.setText(
            self.tr("The lab is not running") if lab else self.tr("This computer did not answer")
        )
        self._text.setText(self.tr("The message above says why."))
        self._bar.setRange(0, 1)  # stops the animation
        self._bar.hide()
        self._retry.show()
        self._back.setVisible(lab)
