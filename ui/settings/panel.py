"""Settings page: all options of a mount as rows and as text, their values in use, and the mount command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from advisor.dialects.linux import mount_command
from advisor.lint import apply_fix
from advisor.options import MountOptions, options_for_mount
from advisor.share import is_share
from app.errors import AppError, ErrorKind
from app.mounts.findings import lint_mount
from app.mounts.option_comparison import compare_options, overridden_options
from ui.common.cards import SPACING_SMALL, text_button
from ui.common.labels import MutedLabel
from ui.common.layout import PageColumn, PageScrollArea
from ui.common.mount_request import MountRequest
from ui.common.option_text import option_label
from ui.settings.findings import FindingList
from ui.settings.form_state import DEFAULT_OPTIONS, FormState, with_mount_time, with_value
from ui.settings.option_grid import OptionGrid, ShownOptions
from ui.settings.option_rows import READAHEAD
from ui.settings.server_probe import ServerProbeDialog
from ui.settings.share_field import ShareField
from ui.settings.text_section import TextSection
from ui.settings.toolbar import SettingsToolbar
from ui.settings.undo import FormUndoStack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from PySide6.QtCore import QObject
    from PySide6.QtGui import QResizeEvent, QShowEvent

    from advisor.dialects.entry import MountTime
    from advisor.facts import Facts
    from advisor.finding import Finding
    from app.mounts.model import Mount
    from ui.common.bridge import BridgeCall
    from ui.settings.option_rows import OptionCells, RecommendedValue


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
        #: Why the form shows no options: none is set, or none was found.
        self._no_options = MutedLabel(wrap=True)
        self._no_options.setObjectName("no-options")
        self._show_all = text_button(self.tr("Show All Options"))
        self._show_all.setObjectName("show-all-options")
        self._show_all.clicked.connect(lambda: self.show_only(ShownOptions.ALL))
        #: Findings that belong to no row.
        self._findings = FindingList()
        self._findings.setObjectName("findings")
        self._found: list[Finding] = []
        self._text = TextSection()
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        #: Cells of the row of each field, and the row whose help is shown.
        self._cells: dict[QObject, OptionCells] = {}
        self._helped: OptionCells | None = None
        #: Setting to scroll to and to focus as soon as the page is shown.
        self._to_reveal = ""
        self._lay_out()
        self._connect()
        self.show_draft("", "")

    def _lay_out(self) -> None:
        page = PageColumn()
        body = page.body
        body.setSpacing(SPACING_SMALL)
        body.addWidget(self._findings)
        body.addWidget(self._grid)
        body.addWidget(self._no_options)
        body.addWidget(self._show_all, 0, Qt.AlignmentFlag.AlignLeft)
        body.addWidget(self._text)
        body.addStretch(1)
        self._area = PageScrollArea(page, self.tr("Options"))
        top = PageColumn()
        top.body.addWidget(self._toolbar)
        top.setContentsMargins(0, 0, 0, -SPACING_SMALL)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(top)
        layout.addWidget(self._area, 1)

    def _connect(self) -> None:
        for field in (self._share, self._mount_point):
            field.textEdited.connect(self._on_place_edited)
            field.returnPressed.connect(self.submitted)
            self._history.watch(field)
        self._history.watch(self._text.raw)
        self._on_row_made(self._grid.when.combo, self._grid.when.cells)
        self._on_row_made(self._grid.readahead.combo, self._grid.readahead.cells)
        self._grid.edited.connect(self._on_row_edited)
        self._grid.when_edited.connect(self._on_when_edited)
        self._grid.readahead_edited.connect(self._on_readahead_edited)
        self._grid.row_made.connect(self._on_row_made)
        self._text.raw_edited.connect(self._on_raw_edited)
        for findings in (self._grid, self._findings):
            findings.fix_chosen.connect(self._on_fix)
        self._text.dialect_chosen.connect(self.dialect_chosen)
        self._pause.timeout.connect(self._show_findings)
        self._toolbar.searched.connect(self._on_searched)
        self._toolbar.search_left.connect(self._grid.focus_first)
        self._toolbar.shown_chosen.connect(self.show_only)
        self._toolbar.findings_clicked.connect(self._on_next_finding)
        self._order_tabs()

    def _order_tabs(self) -> None:
        """Set the Tab order as on the page."""
        previous: QWidget | None = None
        for widget in (*self._toolbar.focus_chain(), self._area):
            if previous is not None:
                QWidget.setTabOrder(previous, widget)
            previous = widget
        previous = self._grid.order_tabs(previous)
        for widget in (self._show_all, *self._text.focus_chain()):
            if previous is not None:
                QWidget.setTabOrder(previous, widget)
            previous = widget

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
        before = self._state
        self._record(state)
        self._reveal(self._changed_names(before))

    def show_only(self, shown: ShownOptions) -> None:
        """Show only the options that are set or recommended, or all of them."""
        self._toolbar.show_only(shown)
        self._grid.show_only(shown)
        self._show_emptiness()

    def set_busy(self, *, busy: bool) -> None:
        """Disable editing while ``busy`` is True."""
        for part in (self._toolbar, self._text):
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
        """Show recommended values by the name of the option or of the tunable."""
        self._grid.show_recommended(advice)
        self._show_emptiness()

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

    def changed_labels(self) -> list[str]:
        """Return the labels of the settings that are edited and not applied, in the order of the rows."""
        if not self.dirty:
            return []
        names = self._changed_names(self._state._replace(options=self._original, read_ahead_kb=None))
        ordered = self._grid.in_order(names)
        labels = [self._grid.readahead.label if name == READAHEAD else option_label(name) for name in ordered]
        return [*labels, *sorted(names.difference(ordered))] or [self.tr("Options")]

    def revert_all(self) -> None:
        """Undo all edits of the mount as one undoable step."""
        self._record(self._state._replace(options=self._original, read_ahead_kb=None))

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
        found = self._grid.problem()
        if found is None:
            return None
        field, problem, help_text = found
        self._toolbar.clear()
        field.setFocus()
        return AppError(ErrorKind.OPTION_INVALID, problem, hint=help_text)

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

    def _on_readahead_edited(self, kilobytes: int | None) -> None:
        self._record(self._state._replace(read_ahead_kb=kilobytes), "readahead")

    def _record(self, state: FormState, source: str = "") -> None:
        self._history.record(self._state, state, source)

    def _on_reached(self, state: FormState) -> None:
        self._show(state, fresh=False)
        self.edited.emit()

    def _on_row_made(self, field: QWidget, cells: OptionCells) -> None:
        self._history.watch(field)
        self._cells[field] = cells
        field.installEventFilter(self)

    def _on_searched(self, words: str) -> None:
        count = self._grid.search(words)
        self._toolbar.show_hits(count)
        self._area.verticalScrollBar().setValue(0)
        text = self.tr("No option matches “{words}”. Type an unknown option under “As Text”.")
        self._show_emptiness("" if count else text.format(words=words))

    def _show_emptiness(self, text: str = "") -> None:
        """Say why no options are shown: ``text``, or that none is set."""
        bare = not text and self._grid.is_bare
        if bare:
            text = self.tr("No options are set. The defaults of the kernel apply.")
        self._no_options.setText(text)
        self._no_options.setVisible(bool(text))
        self._show_all.setVisible(bare)

    def _changed_names(self, before: FormState) -> set[str]:
        """Return the names of the settings in which the form differs from a state."""
        changes = MountOptions.parse(before.options).diff(MountOptions.parse(self._state.options))
        names = {change.name for change in changes}
        return names | ({READAHEAD} if self._state.read_ahead_kb != before.read_ahead_kb else set())

    def _reveal(self, names: set[str]) -> None:
        """Scroll to the first of these settings and focus it, now or as soon as the page is shown."""
        self._to_reveal = next(iter(self._grid.in_order(names)), "")
        if self.isVisible():
            self._reveal_now()

    def _reveal_now(self) -> None:
        name, self._to_reveal = self._to_reveal, ""
        if not name:
            return
        self._toolbar.clear()
        field = self._grid.field(name)
        if field is not None:
            field.setFocus(Qt.FocusReason.OtherFocusReason)
            self._scroll_to(field)

    def _scroll_to(self, field: QWidget) -> None:
        page = self._area.widget()
        layout = page.layout() if page is not None else None
        if layout is not None:
            layout.activate()
        self._area.ensureWidgetVisible(field, 0, self.fontMetrics().height() * 4)

    def _on_next_finding(self) -> None:
        """Focus the next row with a finding after the focused one, or the first."""
        fields = [
            field for field, cells in self._cells.items()
            if isinstance(field, QWidget) and cells.is_visible and cells.findings()
        ]  # fmt: skip
        if not fields:
            self._area.verticalScrollBar().setValue(0)
            return
        fields.sort(key=lambda field: field.mapTo(self, field.rect().topLeft()).y())
        here = next((number for number, field in enumerate(fields) if field.hasFocus()), -1)
        field = fields[(here + 1) % len(fields)]
        field.setFocus(Qt.FocusReason.OtherFocusReason)
        self._scroll_to(field)

    def _show_help(self, cells: OptionCells) -> None:
        """Show the help of a row instead of that of another one; the row stays where it is on the screen."""
        if cells is self._helped:
            return
        page = self._area.widget()
        before = cells.focus_chain()[0].mapTo(self, QPoint(0, 0)).y()
        if self._helped is not None:
            self._helped.show_help(shown=False)
        self._helped = cells
        cells.show_help(shown=True)
        layout = page.layout() if page is not None else None
        if layout is not None:
            layout.activate()
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + cells.focus_chain()[0].mapTo(self, QPoint(0, 0)).y() - before)

    # Showing

    def _load(self, state: FormState) -> None:
        """Show a state and clear the undo steps."""
        self._history.clear()
        self._toolbar.clear()
        if self._helped is not None:
            self._helped.show_help(shown=False)
            self._helped = None
        self._show(state, fresh=True)

    def _show(self, state: FormState, *, fresh: bool) -> None:
        self._state = state
        for field, text in ((self._share, state.share), (self._mount_point, state.mount_point)):
            if field.text() != text:
                field.setText(text)
        options, original = MountOptions.parse(state.options), MountOptions.parse(self._original)
        self._grid.show_place(visible=self._mount is None)
        self._grid.show_when(visible=self._mount is None or self._mount.configured is not None)
        self._grid.show_options(options, original, state.read_ahead_kb, fresh=fresh)
        self._text.show_raw(state.options)
        self._show_emptiness()
        share = state.share.strip() or self.tr("SHARE")
        mount_point = state.mount_point.strip() or self.tr("MOUNTPOINT")
        self._text.show_command(mount_command(share, mount_point, options_for_mount(options)))
        self._lint_unless_typing()

    def _show_in_use(self) -> None:
        mount = self._mount
        active = mount.active if mount is not None else None
        values = []
        if mount is not None and active is not None:
            values = compare_options(MountOptions.parse(mount.requested), active, mount.added)
        self._text.show_added(mount.added if mount is not None else [])
        self._grid.show_in_use(values, [value.name for value in overridden_options(values)], active)

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
        self._found = findings
        self._findings.show_findings(self._grid.show_findings(findings))
        self._toolbar.show_findings(findings)
        self._show_emptiness()

    # Qt overrides

    def showEvent(self, event: QShowEvent) -> None:
        """Qt: scroll to a setting that was changed while another page was shown."""
        super().showEvent(event)
        if self._to_reveal:
            # The layout has its final size only after the event.
            QTimer.singleShot(0, self, self._reveal_now)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt: use smaller editors in a narrow window."""
        super().resizeEvent(event)
        self._grid.set_available_width(self.width())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Qt: show the help of the row that gets the focus."""
        if event.type() == QEvent.Type.FocusIn and watched in self._cells:
            self._show_help(self._cells[watched])
        return super().eventFilter(watched, event)
