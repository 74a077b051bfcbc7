"""Mount a Share: a small dialog for a new mount, checked while it is filled in.

Server, directory and mount point are enough. The dialog asks the server what it offers, proposes the rest,
and shows on request what will be done. The form with all options is one click away.
"""

from __future__ import annotations

import posixpath
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QDialog,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QProgressBar,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from advisor.share import is_share
from app.discovery.model import ExportsArgs, ProbeArgs, ServersArgs, merge_servers
from app.mounts.change_model import ApplyArgs
from app.mounts.change_text import approval_sentences
from ui.apply.plan_view import PlanView
from ui.common.bridge import LatestCall
from ui.common.cards import primary_button, text_button
from ui.common.dialogs import add_buttons
from ui.common.icons import IconLabel
from ui.common.labels import MutedLabel, plain_label, plain_tip
from ui.common.layout import CollapsibleSection
from ui.common.message_list import MessageList
from ui.settings.discovery_model import (
    DiscoveryQuery,
    PartialShare,
    server_in_share,
    split_share,
    suggest_exports,
    suggest_servers,
    suggestion_texts,
)
from ui.settings.form_state import FormState
from ui.settings.paste import parse_results

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtGui import QKeyEvent

    from app.discovery.model import ExportsResult, KnownServer, ProbeResult
    from app.errors import AppError
    from app.mounts.change_model import ApplyEvent, ApplyPlan, ApplyReport
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall
    from ui.settings.discovery_model import Suggestion

#: Delay between the last typed character and the query of a server or of a plan, ms.
_SERVER_PAUSE_MS, _PLAN_PAUSE_MS = 700, 300
#: Width of a field, characters.
_FIELD_LETTERS = 38
#: Height of what will be done, lines.
_PLAN_LINES = 14
#: Directory in which mount points are proposed.
_PROPOSED_BELOW = "/mnt"


class ChoiceField(QComboBox):
    """Editable field with a list of proposals.

    Signals:
        edited: the user typed a text, or chose a proposal.
        left: the user leaves the field.
        entered: Enter was pressed.
    """

    edited = Signal()
    left = Signal()
    entered = Signal()

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setEditable(True)
        self.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMinimumContentsLength(_FIELD_LETTERS)
        completer = self.completer()
        if completer is not None:
            # A list of what contains the typed text, which is never replaced.
            completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self._suggestions: list[Suggestion] = []
        line = self.line()
        line.setObjectName(f"{name}-text")
        line.textEdited.connect(self.edited)
        line.editingFinished.connect(self.left)
        self.activated.connect(self._on_activated)

    def line(self) -> QLineEdit:
        """Return the line edit."""
        line = self.lineEdit()
        assert line is not None  # noqa: S101 - the box is editable
        return line

    def text(self) -> str:
        """Return the text without surrounding spaces."""
        return self.currentText().strip()

    def offer(self, suggestions: Sequence[Suggestion]) -> None:
        """Replace the proposals; the text stays."""
        if list(suggestions) == self._suggestions:
            return
        self._suggestions = list(suggestions)
        text, position = self.currentText(), self.line().cursorPosition()
        self.blockSignals(True)  # noqa: FBT003
        self.clear()
        for number, suggestion in enumerate(suggestions):
            self.addItem(suggestion.label)
            tip = plain_tip(suggestion.note or suggestion.label)
            self.setItemData(number, tip, Qt.ItemDataRole.ToolTipRole)
        self.setCurrentIndex(-1)
        self.setEditText(text)
        self.line().setCursorPosition(position)
        self.blockSignals(False)  # noqa: FBT003

    def _on_activated(self, _index: int) -> None:
        self.edited.emit()
        self.left.emit()

    # Qt overrides

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt: keep Enter from the default button of the dialog."""
        if event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}:
            self.left.emit()
            self.entered.emit()
        else:
            super().keyPressEvent(event)


class FieldStatus(QWidget):
    """Line below a field: what is known about its content."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._icon = IconLabel()
        self._text = MutedLabel(wrap=True)
        self._text.setObjectName(name)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 6)
        layout.setSpacing(6)
        layout.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._text, 1)

    def show_text(self, text: str, icon: str = "", color: str = "muted", tip: str = "") -> None:
        """Show a sentence with an icon, "" for none."""
        self._icon.set_icon(icon, color)
        self._icon.setVisible(bool(icon))
        self._text.setText(text)
        self._text.setToolTip(plain_tip(tip))


class MountShareDialog(QDialog):
    """Dialog that mounts a share and saves the mount.

    Args:
        parent: the window.
        submit: sends a request to the agent of the host shown.
        state: what the dialog shows at first.
        mounts: the mounts of the host.
        blocked: why nothing may be mounted now, "" if it may.

    Signals:
        edited: the FormState after an edit of the user.
        all_options_wanted: the user wants the form with all options.
        mounted: the ApplyReport of the new mount.
    """

    edited = Signal(object)
    all_options_wanted = Signal()
    mounted = Signal(object)

    def __init__(
        self,
        parent: QWidget,
        submit: Callable[[str, Any], BridgeCall],
        state: FormState,
        mounts: Sequence[Mount],
        blocked: str = "",
    ) -> None:
        super().__init__(parent)
        self.setObjectName("mount-share")
        self.setWindowTitle(self.tr("Mount a Share"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._mounts = list(mounts)
        self._blocked = blocked
        self._state = state
        self._known_query = DiscoveryQuery(
            submit, "discover.servers", lambda _host: ServersArgs(browse=False), self
        )
        # Browsing the network takes seconds, so the servers known without it are asked for separately.
        self._browse_query = DiscoveryQuery(submit, "discover.servers", lambda _host: ServersArgs(), self)
        self._probe = DiscoveryQuery(submit, "discover.probe", lambda host: ProbeArgs(server=host), self)
        self._exports = DiscoveryQuery(
            submit, "discover.exports", lambda host: ExportsArgs(server=host), self
        )
        self._plan_call = LatestCall(submit)
        self._apply_call = LatestCall(submit)
        self._plan: ApplyPlan | None = None
        self._planned_args: ApplyArgs | None = None
        #: Whether to mount as soon as the plan is known.
        self._mount_wanted = False
        #: Whether the mount point is the one that the dialog proposed.
        self._point_is_proposed = not state.mount_point
        self._make_fields(state)
        self._lay_out()
        self._connect()
        self._known_query.ask("local")
        self._browse_query.ask("local")
        self._on_servers()
        if self._host():
            self._ask_server()
        self._propose_point()
        self._show_directory()
        self._on_changed(by_user=False)
        empty = [field for field in (self._server, self._directory, self._point) if not field.text()]
        next(iter(empty), self._mount).setFocus()

    # Construction

    def _make_fields(self, state: FormState) -> None:
        share = split_share(state.share)
        self._server = ChoiceField("share-server")
        self._server.setEditText(share.host)
        self._server.line().setPlaceholderText(self.tr("Name or address, for example nas01"))
        self._directory = ChoiceField("share-directory")
        self._directory.setEditText(share.export)
        self._directory.line().setPlaceholderText(self.tr("For example /export/home"))
        self._point = QLineEdit(state.mount_point)
        self._point.setObjectName("share-mount-point")
        self._point.setPlaceholderText(self.tr("For example /mnt/home"))
        self._statuses = {
            name: FieldStatus(f"share-{name}-status") for name in ("server", "directory", "point")
        }
        self._boot = QCheckBox(self.tr("Mount at &boot"))
        self._boot.setObjectName("share-boot")
        self._boot.setChecked(True)
        self._boot_note = MutedLabel(wrap=True)
        self._options = QLineEdit(state.options)
        self._options.setObjectName("share-options")
        self._options.setAccessibleName(self.tr("Options"))
        self._all_options = text_button(self.tr("&All Options…"))
        self._all_options.setObjectName("share-all-options")
        self._view = PlanView()
        self._view.setObjectName("share-plan")
        self._approval = MessageList("", "warn")
        self._approval.setObjectName("share-approval")
        self._problem = MessageList("", "error")
        self._problem.setObjectName("share-problem")
        self._progress = QProgressBar()
        self._progress.setTextVisible(False)
        self._progress.hide()
        self._status = plain_label(wrap=True)
        self._status.setObjectName("share-progress")
        self._status.hide()
        self._mount = primary_button(self.tr("&Mount"))
        self._mount.setObjectName("share-mount")

    def _lay_out(self) -> None:
        rows: list[tuple[str, QWidget, str]] = [
            (self.tr("&Server"), self._server, "server"),
            (self.tr("&Directory on the server"), self._directory, "directory"),
            (self.tr("M&ount at"), self._point, "point"),
        ]
        self._fields = QWidget()
        grid = QGridLayout(self._fields)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for number, (text, field, name) in enumerate(rows):
            label = QLabel(text)
            label.setBuddy(field)
            for part in (field, field.line()) if isinstance(field, ChoiceField) else (field,):
                part.setAccessibleName(text.replace("&", ""))
            grid.addWidget(label, 2 * number, 0)
            grid.addWidget(field, 2 * number, 1)
            grid.addWidget(self._statuses[name], 2 * number + 1, 1)
        grid.addWidget(self._boot, 6, 1)
        grid.addWidget(self._boot_note, 7, 1)
        options = QWidget()
        line = QHBoxLayout(options)
        line.setContentsMargins(0, 0, 0, 0)
        line.addWidget(self._options, 1)
        line.addWidget(self._all_options)
        self._option_section = CollapsibleSection("share-more", [options])
        self._option_section.set_title(self.tr("Options"))
        scroll = QScrollArea()
        scroll.setWidget(self._view)
        scroll.setWidgetResizable(True)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setAccessibleName(self.tr("What Will Be Done"))
        scroll.setMinimumHeight(self.fontMetrics().lineSpacing() * _PLAN_LINES)
        self._plan_section = CollapsibleSection("share-what", [scroll])
        self._plan_section.set_title(self.tr("What Will Be Done"))
        status = QHBoxLayout()
        status.addWidget(self._progress)
        status.addWidget(self._status, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(8)
        for part in (self._fields, self._option_section, self._plan_section, self._approval, self._problem):
            layout.addWidget(part)
        layout.addStretch(1)
        layout.addLayout(status)
        self._close = add_buttons(self, layout, self.tr("&Cancel"), [self._mount], self._mount)
        self._progress.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)

    def _connect(self) -> None:
        self._server_pause = self._pause(_SERVER_PAUSE_MS, self._ask_server)
        self._plan_pause = self._pause(_PLAN_PAUSE_MS, self._ask_plan)
        self._server.edited.connect(self._on_server_edited)
        self._server.left.connect(self._ask_server)
        self._directory.edited.connect(self._on_directory_edited)
        self._point.textEdited.connect(self._on_point_edited)
        self._options.textEdited.connect(self._on_changed)
        self._boot.toggled.connect(self._on_changed)
        self._all_options.clicked.connect(self._on_all_options)
        self._mount.clicked.connect(self._on_mount)
        for query in (self._known_query, self._browse_query):
            query.changed.connect(self._on_servers)
        self._probe.changed.connect(self._show_server)
        self._exports.changed.connect(self._on_exports)
        self._server.entered.connect(partial(self._directory.setFocus, Qt.FocusReason.TabFocusReason))
        self._directory.entered.connect(partial(self._point.setFocus, Qt.FocusReason.TabFocusReason))

    def _pause(self, milliseconds: int, then: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(then)
        return timer

    # Content

    def _host(self) -> str:
        return self._server.text().removeprefix("[").removesuffix("]")

    def state(self) -> FormState:
        """Return what the fields contain."""
        server, directory = self._host(), self._directory.text()
        share = f"{server_in_share(server)}:{directory}" if server or directory else ""
        return FormState(share, self._point.text().strip(), self._options.text().strip())

    def _args(self) -> ApplyArgs | None:
        """Return the change for the content, None while it is incomplete."""
        state = self.state()
        if not is_share(state.share) or not state.mount_point.startswith("/"):
            return None
        return ApplyArgs(
            share=state.share,
            mount_point=state.mount_point,
            options=state.options,
            exact=True,
            keeper="fstab" if self._boot.isChecked() else "nowhere",
        )

    # Edits of the user

    def _on_server_edited(self) -> None:
        text = self._server.text()
        share = split_share(text)
        if any(letter.isspace() for letter in text):
            self._take_text(text)
        elif share.colon and share.server and (share.export.startswith("/") or not share.export):
            # A whole share was typed or pasted.
            self._server.setEditText(share.host)
            self._directory.setEditText(share.export)
            self._directory.setFocus()
            self._propose_point()
        self._server_pause.start()
        self._probe.cancel()
        self._show_server()
        self._on_changed()

    def _take_text(self, text: str) -> None:
        """Fill the fields from a mount command, a line of fstab or the like, if the text is one."""
        results = parse_results(text)
        if len(results) != 1:
            return
        entry = results[0].entry
        share = split_share(str(entry.share))
        self._server.setEditText(share.host)
        self._directory.setEditText(share.export)
        self._point_is_proposed = not entry.mount_point
        self._point.setText(entry.mount_point)
        self._options.setText(str(entry.options))
        self._option_section.set_open(on=True)
        self._point.setFocus()

    def _on_directory_edited(self) -> None:
        self._propose_point()
        self._show_directory()
        self._on_changed()

    def _on_point_edited(self) -> None:
        self._point_is_proposed = not self._point.text().strip()
        self._on_changed()

    def _on_changed(self, *_value: object, by_user: bool = True) -> None:
        """Plan the change again after a pause."""
        self._mount_wanted = False
        self._plan = self._planned_args = None
        self._plan_call.cancel()
        self._problem.show_sentences([])
        self._boot_note.setText(
            self.tr("Saved in /etc/fstab. The computer boots even if the server is absent.")
            if self._boot.isChecked()
            else self.tr("The mount ends at the next restart.")
        )
        if by_user:
            self._state = self.state()
            self.edited.emit(self._state)
        self._plan_pause.start()
        self._show_point()

    def _propose_point(self) -> None:
        """Propose a mount point that is named after the directory, unless the user has typed one."""
        directory = self._directory.text()
        if not self._point_is_proposed:
            return
        if not directory.startswith("/"):
            self._point.setText("")
            return
        name = posixpath.basename(directory.rstrip("/")) or self._host()
        taken = {mount.mount_point for mount in self._mounts}
        path = posixpath.join(_PROPOSED_BELOW, name.replace(" ", "-"))
        number = 2
        proposed = path
        while proposed in taken:
            proposed, number = f"{path}-{number}", number + 1
        self._point.setText(proposed)

    # Servers and exports

    def _known(self) -> list[KnownServer]:
        queries = (self._known_query, self._browse_query)
        events = [server for query in queries for event in query.events for server in event.servers]
        answers = [server for query in queries if query.result is not None for server in query.result.servers]
        return merge_servers([*answers, *events])

    def _on_servers(self) -> None:
        self._server.offer(suggest_servers("", self._known(), suggestion_texts()))
        self._show_server()

    def _ask_server(self) -> None:
        """Ask the server which versions and directories it offers, unless it has answered."""
        self._server_pause.stop()
        host = self._host()
        if not host:
            self._probe.reset()
            self._exports.reset()
        elif host != self._probe.server or self._probe.state == "idle":
            self._probe.ask(host)
            self._exports.ask(host)

    def _show_server(self) -> None:
        status, host, query = self._statuses["server"], self._host(), self._probe
        if not host:
            status.show_text(self._search_text())
        elif query.server != host or query.state == "idle":
            status.show_text("")
        elif query.state == "failed" and query.error is not None:
            error: AppError = query.error
            status.show_text(error.message, "error", "error", "\n".join([error.hint, error.detail]).strip())
        elif query.result is not None:
            result: ProbeResult = query.result
            versions = [o.version for o in result.versions if o.offered and o.transport == "tcp"]
            text = self.tr("Answers. NFS {versions}.").format(versions=", ".join(versions))
            status.show_text(text if versions else self.tr("Answers."), "check", "ok")
        else:
            text = self.tr("Asking {server}…")
            status.show_text(text.format(server=host))

    def _search_text(self) -> str:
        names = [server.name for server in self._known()]
        if names:
            return self.tr("Found: {names}").format(names=", ".join(names[:4]))
        if self._browse_query.is_asking:
            return self.tr("Looking for servers…")
        return self.tr("No servers found on this network. Enter a name or an address.")

    def _on_exports(self) -> None:
        suggestions = self._exported()
        self._directory.offer(suggestions)
        if len(suggestions) == 1 and not self._directory.text():
            self._directory.setEditText(suggestions[0].label)
            self._propose_point()
            self._on_changed()
        self._show_directory()

    def _exported(self) -> list[Suggestion]:
        host, query = self._host(), self._exports
        result: ExportsResult | None = query.result if query.server == host else None
        share = PartialShare(server_in_share(host), colon=True, export="")
        return suggest_exports(share, result, self._known(), suggestion_texts()) if host else []

    def _show_directory(self) -> None:
        status, query, directory = self._statuses["directory"], self._exports, self._directory.text()
        offered = self._exported()
        chosen = next((item for item in offered if item.label == directory), None)
        if directory and not directory.startswith("/"):
            text = self.tr("Enter a path that begins with “/”, such as /export/home.")
            status.show_text(text, "error", "error")
        elif chosen is not None:
            status.show_text(
                self.tr("Offered by the server ({note})").format(note=chosen.note), "check", "ok"
            )
        elif offered and directory:
            status.show_text(self.tr("The server does not list this directory."), "info", "info")
        elif offered:
            status.show_text(self._count_text(len(offered)))
        elif query.is_asking and query.server == self._host():
            status.show_text(self.tr("Asking for directories…"))
        elif query.state == "answered" and query.server == self._host():
            status.show_text(self.tr("The server lists no directories."))
        else:
            status.show_text("")

    def _count_text(self, count: int) -> str:
        if count == 1:
            return self.tr("1 directory offered")
        return self.tr("{count} directories offered").format(count=count)

    # Plan

    def _ask_plan(self) -> None:
        args = self._args()
        if args is None or self._is_taken(args.mount_point) or self._apply_call.is_pending:
            self._plan_call.cancel()
            self._show_point()
            return
        self._planned_args = args
        self._plan_call.ask("mounts.plan", args, partial(self._on_plan, args), self._on_no_plan)

    def _is_taken(self, mount_point: str) -> bool:
        return any(mount.mount_point == mount_point for mount in self._mounts)

    def _on_plan(self, args: ApplyArgs, plan: ApplyPlan) -> None:
        if args != self._planned_args:
            return
        self._plan = plan
        self._view.show_plan(plan)
        self._approval.show_sentences(approval_sentences(plan.approval) if plan.approval is not None else [])
        self._show_point()
        if self._mount_wanted:
            self._on_mount()

    def _on_no_plan(self, error: AppError) -> None:
        self._mount_wanted = False
        self._view.clear()
        self._show_error(error)
        self._show_point()

    def _show_point(self) -> None:
        """Show what becomes of the mount point, and enable the button if the share can be mounted."""
        status, point = self._statuses["point"], self._point.text().strip()
        taken = self._is_taken(point)
        if taken:
            status.show_text(self.tr("Another share is mounted or saved there."), "error", "error")
        elif point and not point.startswith("/"):
            status.show_text(
                self.tr("Enter a path that begins with “/”, such as /mnt/home."), "error", "error"
            )
        elif self._plan is not None:
            status.show_text(self.tr("Free. A missing directory is created."), "check", "ok")
        else:
            status.show_text("")
        if self._blocked:
            self._problem.show_sentences([self._blocked])
        failed = bool(self._problem.sentences()) and self._plan is None
        ready = self._args() is not None and not taken and not failed and not self._blocked
        self._mount.setEnabled(ready and not self._apply_call.is_pending)

    def _show_error(self, error: AppError) -> None:
        self._problem.show_sentences(["\n".join(text for text in (error.message, error.hint) if text)])

    # Actions

    def _on_all_options(self) -> None:
        self.edited.emit(self.state())
        self.all_options_wanted.emit()
        self.reject()

    def _on_mount(self) -> None:
        """Mount as planned; without a plan yet, as soon as it is there."""
        args, plan = self._planned_args, self._plan
        if args is None or plan is None or args != self._args():
            self._mount_wanted = True
            self._plan_pause.stop()
            self._ask_plan()
            return
        approved = plan.approval is not None
        args = msgspec.structs.replace(args, expected_sha256=plan.sha256, approved=approved)
        self._problem.show_sentences([])
        self._show_running(self.tr("Mounting {share}…").format(share=args.share))
        self._apply_call.ask("mounts.apply", args, self._on_mounted, self._on_failed, self._on_event)

    def _on_event(self, event: ApplyEvent) -> None:
        if event.state == "begun" and event.text:
            self._status.setText(event.text)

    def _on_mounted(self, report: ApplyReport) -> None:
        self.accept()
        self.mounted.emit(report)

    def _on_failed(self, error: AppError) -> None:
        self._show_running("")
        self._show_error(error)
        self._mount.setEnabled(True)

    def _show_running(self, text: str) -> None:
        running = bool(text)
        for part in (self._fields, self._option_section):
            part.setEnabled(not running)
        self._mount.setEnabled(not running)
        self._status.setText(text)
        self._status.setVisible(running)
        # The range (0, 0) animates the bar, which would cost time even while it is hidden.
        self._progress.setRange(0, 0 if running else 1)
        self._progress.setAccessibleName(text)
        self._progress.setVisible(running)

    def abandon(self) -> None:
        """Close the dialog without a question, because the connection to the host is closed."""
        self._apply_call.reset()
        self.reject()

    # Qt overrides

    def reject(self) -> None:
        """Qt: Esc and Cancel stop a running mount; else they close the dialog, whose content is kept."""
        if self._apply_call.is_pending:
            self._status.setText(self.tr("Stopping…"))
            self._apply_call.interrupt()
            return
        super().reject()

    def done(self, result: int) -> None:
        """Qt: stop all queries when the dialog closes, because Qt deletes it then."""
        for query in (self._known_query, self._browse_query, self._probe, self._exports):
            query.cancel()
        self._plan_call.cancel()
        for timer in (self._server_pause, self._plan_pause):
            timer.stop()
        super().done(result)
