"""Settings page: all options of a mount as rows and as text, their values in use, and the mount command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QPushButton, QScrollArea, QVBoxLayout, QWidget

from advisor.dialects.linux import mount_command
from advisor.lint import apply_fix
from advisor.options import MountOptions, options_for_mount
from advisor.share import is_share
from advisor.tunables import tunables
from app.errors import AppError, ErrorKind
from app.mounts.findings import lint_mount
from app.mounts.option_comparison import compare_options, overridden_options
from app.text.units import format_size
from ui.common.labels import MutedLabel, plain_label, plain_tip
from ui.common.mount_request import MountRequest
from ui.common.option_search import find_options
from ui.settings.footer import SettingsFooter
from ui.settings.form_state import DEFAULT_OPTIONS, FormState, with_mount_time, with_value
from ui.settings.option_grid import OptionGrid
from ui.settings.server_probe import ServerProbeDialog
from ui.settings.share_field import ShareField
from ui.settings.toolbar import SettingsToolbar
from ui.settings.undo import FormUndoStack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QResizeEvent

    from advisor.dialects.entry import MountTime
    from advisor.facts import Facts
    from advisor.finding import Finding
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall
    from ui.settings.option_rows import RecommendedValue


class ReadaheadRequestRow(QFrame):
    """Row with the requested readahead; hidden if the form requests none.

    Signals:
        dropped: the user leaves the readahead unchanged.
    """

    dropped = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("read-ahead-request")
        self._text = plain_label(wrap=True)
        self._text.setToolTip(plain_tip(tunables()["read_ahead_kb"].help))
        self._leave = QPushButton(self.tr("&Leave it"))
        self._leave.setObjectName("read-ahead-leave")
        self._leave.clicked.connect(self.dropped)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 4, 16, 4)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._leave)
        self.hide()

    def text(self) -> str:
        """Return the text of the row."""
        return self._text.text()

    def show_request(self, kilobytes: int | None) -> None:
        """Show the requested readahead, KiB; None hides the row."""
        self.setVisible(kilobytes is not None)
        if kilobytes is not None:
            text = self.tr("Readahead: “Apply…” sets it to {size}, until unmounted. “Mount” alone leaves it "
                           "as it is.")  # fmt: skip
            self._text.setText(text.format(size=format_size(kilobytes * 1024)))

    def set_busy(self, *, busy: bool) -> None:
        """Disable the button while ``busy`` is True."""
        self._leave.setEnabled(not busy)


#: Delay between the last edit of the option string and its lint, ms: a half-typed option is no error.
_PAUSE_MS = 400


class SettingsPanel(QWidget):
    """Form for share, mount point and options of a mount or of a draft.

    The option string is the primary data. The rows show and edit its items. Each edit can be undone.

    Signals:
        edited: the contents of the form changed.
        submitted: Enter was pressed in the share or the mount point.
        dialect_chosen: name of the dialect for which the Copy As dialog is wanted.
        asked: a query of the server ended, with or without an answer.
    """

    edited = Signal()
    submitted = Signal()
    dialect_chosen = Signal(str)
    asked = Signal()

    def __init__(self, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__()
        self._submit = submit
        self._probe: ServerProbeDialog | None = None
        self._state = self._start = FormState("", "", "")
        self._original = ""
        self._mount: Mount | None = None
        self._facts: Facts | None = None
        self._mounts: Sequence[Mount] = ()
        self._share = ShareField(submit)
        self._share.check_wanted.connect(self.check_server)
        self._share.answered.connect(self.asked)
        self._share.setObjectName("share")
        self._share.setPlaceholderText(self.tr("server:/export, for example nas01:/export/home"))
        self._mount_point = QLineEdit()
        self._mount_point.setObjectName("mount-point")
        self._mount_point.setPlaceholderText(self.tr("an empty or new directory, for example /mnt/home"))
        self._history = FormUndoStack(self)
        self._history.reached.connect(self._on_reached)
        self._toolbar = SettingsToolbar(self._history, self)
        self._grid = OptionGrid(
            [(self.tr("&Share"), self._share), (self.tr("M&ount point"), self._mount_point)]
        )
        self._rows = self._grid.rows
        self._no_hits = MutedLabel(wrap=True)
        self._no_hits.setObjectName("no-options")
        self._no_hits.setContentsMargins(24, 24, 24, 24)
        self._no_hits.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._no_hits.hide()
        self._read_ahead = ReadaheadRequestRow()
        self._footer = SettingsFooter()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._help_texts: dict[QObject, str] = {}
        self._area = QScrollArea()
        self._lay_out()
        self._connect()
        self.show_draft("", "")

    def _lay_out(self) -> None:
        self._area.setAccessibleName(self.tr("Options"))
        self._area.setWidget(self._grid)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._toolbar)
        layout.addWidget(self._no_hits, 1)
        layout.addWidget(self._area, 1)
        layout.addWidget(self._read_ahead)
        layout.addWidget(self._footer)

    def _connect(self) -> None:
        for field in (self._share, self._mount_point):
            field.textEdited.connect(self._on_place_edited)
            field.returnPressed.connect(self.submitted)
            self._history.watch(field)
        self._history.watch(self._footer.raw)
        self._on_row_made(self._grid.when.combo, self._grid.when.help)
        self._grid.edited.connect(self._on_row_edited)
        self._grid.when_edited.connect(self._on_when_edited)
        self._grid.row_made.connect(self._on_row_made)
        self._footer.raw_edited.connect(self._on_raw_edited)
        self._footer.fix_chosen.connect(self._on_fix)
        self._footer.dialect_chosen.connect(self.dialect_chosen)
        self._pause.timeout.connect(self._show_findings)
        self._toolbar.searched.connect(self._on_searched)
        self._toolbar.search_left.connect(self._grid.focus_first)
        self._toolbar.all_reverted.connect(self.revert_all)
        self._read_ahead.dropped.connect(self._on_read_ahead_dropped)

    # Called by the window

    def show_draft(self, share: str, mount_point: str) -> None:
        """Show the form of a new mount with the default options."""
        self._reset_servers()
        self._mount = None
        self._original = DEFAULT_OPTIONS
        self._show_in_use()
        self._start = FormState(share, mount_point, DEFAULT_OPTIONS)
        self._load(self._start)

    def restore(self, state: FormState) -> None:
        """Restore a stored state as one undoable step."""
        self._record(state)

    def show_mount(self, mount: Mount, *, keep_edits: bool) -> None:
        """Show a mount; ``keep_edits`` keeps the user's edits of the same mount and their undo steps."""
        keep_edits = keep_edits and self._mount is not None
        edits = keep_edits and self.dirty
        self._reset_servers()
        self._mount = mount
        self._original = mount.requested
        self._show_in_use()
        if edits or (keep_edits and self._original == self._state.options):
            self._show(self._state, fresh=False)
        else:
            self._load(FormState(mount.share, mount.mount_point, self._original))

    def load_entry(
        self, share: str, mount_point: str, options: str, read_ahead_kb: int | None = None
    ) -> None:
        """Put an entry into the form as one undoable step; for a mount, share and mount point stay unchanged.

        Args:
            share: server:/export.
            mount_point: absolute path.
            options: the option string.
            read_ahead_kb: requested readahead, KiB; None to leave it unchanged.
        """
        state = FormState(share, mount_point, options, read_ahead_kb)
        if self._mount is not None:
            state = state._replace(share=self._state.share, mount_point=self._state.mount_point)
        self._record(state)

    def set_busy(self, *, busy: bool) -> None:
        """Disable editing while ``busy`` is True."""
        for part in (self._toolbar, self._footer, self._read_ahead):
            part.set_busy(busy=busy)
        self._grid.setEnabled(not busy)
        self._history.lock(locked=busy)

    def set_facts(self, facts: Facts | None) -> None:
        """Set the facts of link, server and this computer for the lint; None if they are unknown."""
        self._facts = facts
        self._lint_unless_typing()

    def set_mounts(self, mounts: Sequence[Mount]) -> None:
        """Set the host's mounts for the lint: a mount of the same server may share its connections."""
        self._mounts = mounts
        self._lint_unless_typing()

    def show_recommended(self, advice: Mapping[str, RecommendedValue]) -> None:
        """Show recommended values by canonical option name; an empty mapping hides their column."""
        self._grid.show_recommended(advice)

    def _reset_servers(self) -> None:
        """Discard queries and answers of servers, because another host or mount is shown."""
        self._share.reset()
        if self._probe is not None:
            self._probe.close()

    def focus_share(self) -> None:
        """Give the keyboard focus to the share, and select it."""
        self._share.setFocus()
        line = self._share.focusProxy()
        if isinstance(line, QLineEdit):
            line.selectAll()

    def check_server(self, server: str) -> None:
        """Open the probe dialog for a server, and close that of a previous one."""
        if self._probe is not None:
            self._probe.close()
        self._probe = ServerProbeDialog(self.window(), self._submit, server)
        self._probe.finished.connect(self._on_probe_closed)
        self._probe.show()

    def _on_probe_closed(self) -> None:
        self._probe = None

    # State of the form

    @property
    def unfinished(self) -> FormState | None:
        """Contents of the form that are not applied, or None without edits."""
        if self._mount is not None:
            return self._state if self.dirty else None
        return self._state if self._state != self._start else None

    @property
    def dirty(self) -> bool:
        """Whether the form differs from the options requested for the mount."""
        return self._mount is not None and (
            self._state.options != self._original or self._state.read_ahead_kb is not None
        )

    def edited_options(self) -> set[str]:
        """Return the names of the options that differ from those requested for the mount."""
        if self._mount is None:
            return set()
        original = MountOptions.parse(self._original)
        return {change.name for change in original.diff(MountOptions.parse(self._state.options))}

    @property
    def unknown_server(self) -> str:
        """Error message if the name of a new mount's server could not be resolved, or ""."""
        return self._share.unknown_server() if self._mount is None else ""

    @property
    def complete(self) -> bool:
        """Whether the form has a share and a mount point."""
        return bool(self._state.share.strip() and self._state.mount_point.strip())

    def problem(self) -> AppError | None:
        """Return the error of the first invalid row and focus the row, or return None."""
        row = self._grid.problem()
        if row is None:
            return None
        self._toolbar.clear()
        row.editor.setFocus()
        return AppError(ErrorKind.OPTION_INVALID, row.problem(), hint=row.option.help)

    def request(self) -> MountRequest:
        """Return the contents of the form as a request."""
        state = self._state
        return MountRequest(
            state.share.strip(), state.mount_point.strip(), state.options, state.read_ahead_kb
        )

    def original_request(self, mount: Mount) -> MountRequest:
        """Return the request with which the mount was made."""
        return MountRequest(mount.share, mount.mount_point, mount.requested)

    # User edits: each is recorded as an undo step, and the stack then reports the state to show

    def _on_place_edited(self) -> None:
        state = self._state._replace(share=self._share.text(), mount_point=self._mount_point.text())
        self._record(state, "place" if state.share == self._state.share else "share")

    def _on_raw_edited(self, text: str) -> None:
        self._pause.start()
        self._record(self._state._replace(options=text), "raw")

    def _on_row_edited(self, name: str, value: str | None) -> None:
        try:
            options = with_value(self._state.options, name, value)
        except ValueError as error:
            self._rows[name].show_problem(str(error))
            return
        self._rows[name].show_problem("")
        self._record(self._state._replace(options=options), f"row-{name}")

    def _on_when_edited(self, when: MountTime) -> None:
        try:
            options = with_mount_time(self._state.options, when)
        except ValueError:
            self._show(self._state, fresh=False)  # an unclosed quotation mark, which the findings report
            return
        self._record(self._state._replace(options=options))

    def _on_fix(self, finding: Finding) -> None:
        """Apply a finding's fix to the option string, without mounting."""
        try:
            options = apply_fix(MountOptions.parse(self._state.options), finding)
        except ValueError:  # the finding is outdated: the text has an unclosed quotation mark now
            self._show_findings()
            return
        self._record(self._state._replace(options=str(options)))

    def revert_all(self) -> None:
        """Take back all edits of the mount's options, as one undoable step."""
        self._record(self._state._replace(options=self._original, read_ahead_kb=None))

    def _on_read_ahead_dropped(self) -> None:
        self._record(self._state._replace(read_ahead_kb=None))

    def _record(self, state: FormState, source: str = "") -> None:
        self._history.record(self._state, state, source)

    def _on_reached(self, state: FormState) -> None:
        self._show(state, fresh=False)
        self.edited.emit()

    def _on_row_made(self, field: QWidget, help_text: str) -> None:
        self._history.watch(field)
        self._help_texts[field] = help_text
        field.installEventFilter(self)

    def _on_searched(self, words: str) -> None:
        count = self._grid.show_hits(find_options(words) if words else None)
        self._toolbar.show_hits(count)
        self._no_hits.setText(
            self.tr("No option is called “{words}” or has to do with it. What this program does not know "
                    "can be written into the line “Options” below.").format(words=words)
        )  # fmt: skip
        self._no_hits.setVisible(count == 0)
        self._area.setVisible(count != 0)
        self._area.verticalScrollBar().setValue(0)

    # Showing

    def _load(self, state: FormState) -> None:
        """Show a state and clear the undo steps."""
        self._history.clear()
        self._toolbar.clear()
        self._footer.show_help("")
        self._show(state, fresh=True)

    def _show(self, state: FormState, *, fresh: bool) -> None:
        self._state = state
        for field, text in ((self._share, state.share), (self._mount_point, state.mount_point)):
            if field.text() != text:
                field.setText(text)
        options, original = MountOptions.parse(state.options), MountOptions.parse(self._original)
        self._grid.show_place(visible=self._mount is None)
        self._grid.show_when(visible=self._mount is None or self._mount.configured is not None)
        self._grid.show_options(options, original, fresh=fresh)
        self._footer.show_raw(state.options)
        changes = len(original.diff(options)) or int(state.options != self._original)
        self._read_ahead.show_request(state.read_ahead_kb)
        self._toolbar.show_changes(changes + int(state.read_ahead_kb is not None))
        share = state.share.strip() or self.tr("SHARE")
        mount_point = state.mount_point.strip() or self.tr("MOUNTPOINT")
        self._footer.show_command(mount_command(share, mount_point, options_for_mount(options)))
        self._lint_unless_typing()

    def _show_in_use(self) -> None:
        mount = self._mount
        active = mount.active if mount is not None else None
        values = []
        if mount is not None and active is not None:
            values = compare_options(MountOptions.parse(mount.requested), active, mount.added)
        self._footer.show_added(mount.added if mount is not None else [])
        self._grid.show_in_use(
            values, [value.name for value in overridden_options(values)], active=active is not None
        )

    def _lint_unless_typing(self) -> None:
        if not self._pause.isActive():
            self._show_findings()

    def _show_findings(self) -> None:
        mount = self._mount
        configured = mount.configured if mount is not None else None
        share, mount_point = self._state.share.strip(), self._state.mount_point.strip()
        if mount is None:
            # Incomplete input is not checked here.
            share = share if is_share(share) else ""
            mount_point = mount_point if mount_point.startswith("/") else ""
        findings = lint_mount(
            MountOptions.parse(self._state.options),
            # A new mount is treated as saved, because its form also sets the mount time.
            saved=mount is None or configured is not None,
            share=share,
            mount_point=mount_point,
            fstype=configured.fstype if configured is not None else "nfs",
            mounts=self._mounts,
            facts=self._facts,
        )
        self._footer.show_findings(findings)
        self._grid.show_findings(findings)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: hide columns in a narrow window."""
        super().resizeEvent(event)
        self._grid.set_available_width(self.width())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: show the help of the row that gets the focus."""
        if event.type() == QEvent.Type.FocusIn and watched in self._help_texts:
            self._footer.show_help(self._help_texts[watched])
        return super().eventFilter(watched, event)
