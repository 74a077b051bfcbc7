"""Mount page: the header with the actions of one mount or of a draft, and the tabs below."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget

from advisor.lint import LintContext
from app.experiment.proposed_options import propose_options
from app.mounts.change_model import ApplyArgs
from ui.apply.controller import ApplyController
from ui.common.icons import icon
from ui.common.layout import PageTabs
from ui.common.pending_bar import PendingBar
from ui.experiments.panel import ExperimentPanel
from ui.experiments.use_settings import ask_use_settings
from ui.history.panel import HistoryPanel
from ui.live.panel import LivePanel
from ui.mounts.actions import MountController, RemoveController, UnmountPrompt
from ui.mounts.header import MountHeader, config_target_of
from ui.mounts.log_dialog import LogDialog
from ui.mounts.readahead import ReadaheadBar, ReadaheadController
from ui.mounts.status_queries import FreeSpaceQuery, WaitingProcessesQuery
from ui.overview.advice_text import recommended_readahead
from ui.overview.headline_card import OverviewAction
from ui.overview.panel import OverviewPanel
from ui.settings.panel import SettingsPanel
from ui.test.panel import SpeedTestPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.errors import AppError
    from app.experiment.proposed_options import OptionProposal
    from app.mounts.change_model import ApplyReport, SaveTarget
    from app.mounts.model import Mount, MountReport
    from app.service.model import AdviceResult
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest
    from ui.experiments.use_settings import ChosenSet


#: Sections of docs/user-guide.md by the key of a page.
_HELP_SECTIONS = {
    "overview": "Overview", "settings": "Settings", "test": "Test", "experiments": "Experiments",
    "live": "Live", "history": "History",
}  # fmt: skip


class MountPage(QWidget):
    """Page of one mount or of the draft of a new mount, with its settings, advice, tests and history.

    Signals:
        failed: the AppError of a failed action.
        began: an action started; messages about the previous action are outdated.
        left: the user left the tab that the last error belongs to.
        mounted: the MountReport of a successful mount.
        unmounted: the mount point of a successful unmount.
        stuck: the mount point and the AppError of a failed unmount that can be forced or detached.
        applied: the ApplyReport of a change that was applied and kept.
        reverted: the AppError of a change that was rolled back, and whether the user requested that.
        settled: the change ended, with any result.
        removed: the mount point and the SavedEntryReport of a mount that was removed from fstab or systemd.
        imported: a Mount of a unit or an autofs map not managed by Mountwright, to be drafted for fstab.
        discarded: the user discards the draft of a new mount.
        dialect_chosen: name of the dialect for which the Copy As dialog is wanted.
    """

    failed = Signal(object)
    began = Signal()
    left = Signal()
    mounted = Signal(object)
    unmounted = Signal(str)
    stuck = Signal(str, object)
    applied = Signal(object)
    reverted = Signal(object, bool)
    settled = Signal()
    removed = Signal(str, object)
    imported = Signal(object)
    discarded = Signal()
    dialect_chosen = Signal(str)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._mount: Mount | None = None
        self._submit = submit
        self._edits_applied = False
        #: The tab that the last error belongs to.
        self._failed_page: QWidget | None = None
        self._mount_controller = MountController(submit, self)
        self._mount_controller.busy.connect(self._on_busy)
        self._mount_controller.mounted.connect(self._on_mounted)
        self._mount_controller.unmounted.connect(self.unmounted)
        self._mount_controller.failed.connect(self._on_failed)
        self._mount_controller.stuck.connect(self.stuck)
        self._unmount_prompt = UnmountPrompt(self._mount_controller, self, submit)
        self._apply_controller = ApplyController(submit, self)
        self._apply_controller.changed.connect(self._on_applying)
        self._apply_controller.applied.connect(self._on_applied)
        self._apply_controller.reverted.connect(self.reverted)
        self._remove_controller = RemoveController(submit, self)
        self._remove_controller.changed.connect(self._show_buttons)
        self._remove_controller.failed.connect(self._on_failed)
        self._remove_controller.removed.connect(self.removed)
        self._header = MountHeader()
        self._pending = PendingBar()
        self._connect_header()
        self._space = FreeSpaceQuery(submit, lambda: self.busy or not self.window().isVisible(), self)
        self.settings = SettingsPanel(submit)
        self._connect_settings()
        self.overview = OverviewPanel(submit, run)
        self._connect_overview()
        self.live = LivePanel(submit)
        self.quick_test = SpeedTestPanel(submit, run)
        self.experiment = ExperimentPanel(submit, run)
        self.experiment.running_changed.connect(self._on_running)
        self.experiment.use_chosen.connect(self._on_use_set)
        self.history = HistoryPanel(run)
        self._connect_test()
        self.overview.recorded.connect(self.history.refresh)
        for page in (self.live, self.quick_test, self.history, self.overview, self.experiment):
            page.failed.connect(partial(self._fail, page))
        self._tabs = PageTabs()
        #: Pages by the key that the state file of the window has.
        self._page_keys = self._fill_tabs()
        #: Page that the next mount is shown with, while the form of a new mount is shown.
        self._page_of_mounts: QWidget = self.overview
        self._lay_out()
        self._make_shortcuts()
        self._on_busy("")

    def _connect_test(self) -> None:
        self.quick_test.busy_changed.connect(self._on_running)
        self.quick_test.kept.connect(self.history.refresh)
        self.quick_test.improvement_wanted.connect(self._on_improvement_wanted)
        self.quick_test.comparison_wanted.connect(self._on_compare_wanted)
        self.quick_test.kept.connect(self.overview.refresh_tests)

    def _connect_overview(self) -> None:
        self.overview.use_chosen.connect(self._on_use_recommended)
        self.overview.apply_chosen.connect(self._on_apply_recommended)
        self.overview.advised.connect(self._on_advised)
        self.overview.triggered.connect(self._on_overview_action)
        self.overview.watch_clicked.connect(lambda: self._tabs.setCurrentWidget(self.live))
        self.overview.check_clicked.connect(self.settings.check_server)
        self.overview.busy_changed.connect(self._on_trial)

    def _connect_header(self) -> None:
        self._header.mount_clicked.connect(self._on_mount_clicked)
        self._header.apply_clicked.connect(self._on_apply_clicked)
        self._header.remove_clicked.connect(self._on_remove_clicked)
        self._header.import_clicked.connect(self._on_import_clicked)
        self._header.discard_clicked.connect(self.discarded)
        self._header.unmount_clicked.connect(self.ask_unmount)
        self._header.cancel_clicked.connect(self._mount_controller.cancel)
        self._header.log_clicked.connect(self._on_log_clicked)
        self._header.dialect_chosen.connect(self.dialect_chosen)
        self._pending.apply_clicked.connect(self._on_apply_clicked)
        self._pending.undo_clicked.connect(self._on_undo_all)

    def _connect_settings(self) -> None:
        self.settings.dialect_chosen.connect(self.dialect_chosen)
        self.settings.edited.connect(self._show_buttons)
        self.settings.asked.connect(self._block_concurrent_starts)
        self.settings.submitted.connect(self._on_submitted)

    def _fill_tabs(self) -> dict[str, QWidget]:
        self._tabs.setObjectName("tabs")
        self._tabs.setAccessibleName(self.tr("Pages of the mount"))
        keys: dict[str, QWidget] = {}
        for key, page, icon_name, title in (
            ("overview", self.overview, "home", self.tr("Overview")),
            ("settings", self.settings, "gear", self.tr("Settings")),
            ("test", self.quick_test, "speed", self.tr("Test")),
            ("experiments", self.experiment, "flask", self.tr("Experiments")),
            ("live", self.live, "pulse", self.tr("Live")),
            ("history", self.history, "clock", self.tr("History")),
        ):
            keys[key] = page
            self._tabs.add_page(page, icon_name, title)
            action = QAction(icon(icon_name), title, self)
            action.setObjectName(f"page-{key}")
            action.setShortcut(QKeySequence(f"Alt+{len(keys)}"))
            action.triggered.connect(partial(self._on_page_action, page))
            self.addAction(action)
        self._tabs.currentChanged.connect(self._on_tab_changed)
        return keys

    def _make_readahead_bar(self) -> None:
        self._readahead_controller = ReadaheadController(self._submit, self)
        self._readahead_controller.changed.connect(self._show_buttons)
        self._readahead_controller.failed.connect(self._on_failed)
        self._read_ahead = ReadaheadBar()
        self._read_ahead.keep_clicked.connect(self._on_keep_read_ahead)
        self._read_ahead.remove_clicked.connect(self._on_remove_read_ahead)
        self._read_ahead.undo_clicked.connect(self._readahead_controller.undo)

    def _lay_out(self) -> None:
        self._make_readahead_bar()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._header)
        layout.addWidget(self._read_ahead)
        layout.addWidget(self._tabs, 1)
        bar = QVBoxLayout()
        bar.setContentsMargins(12, 0, 12, 8)
        bar.addWidget(self._pending)
        layout.addLayout(bar)
        self._space.known.connect(self._header.show_space)
        self._header.trouble.force_clicked.connect(self._on_force_clicked)
        self._header.trouble.detach_clicked.connect(self._on_detach_clicked)
        self._header.trouble.remount_clicked.connect(self._on_remount_clicked)
        self._waiting = WaitingProcessesQuery(self._submit, self)
        self._waiting.known.connect(self._header.show_waiting)

    def _make_shortcuts(self) -> None:
        """Ctrl+PgUp and Ctrl+PgDown cycle through the visible pages."""
        keys = {"Ctrl+PgDown": lambda: self._move_tabs(1), "Ctrl+PgUp": lambda: self._move_tabs(-1)}
        for key, move in keys.items():
            QShortcut(QKeySequence(key), self, move)

    def _visible_tabs(self) -> list[int]:
        return [index for index in range(self._tabs.count()) if self._tabs.isTabVisible(index)]

    def _move_tabs(self, steps: int) -> None:
        visible = self._visible_tabs()
        current = visible.index(self._tabs.currentIndex()) if self._tabs.currentIndex() in visible else 0
        self._tabs.setCurrentIndex(visible[(current + steps) % len(visible)])

    def _on_page_action(self, page: QWidget, _checked: bool = False) -> None:  # noqa: FBT001, FBT002 - a slot
        self._tabs.setCurrentWidget(page)

    # Called by the window

    def show_draft(self, share: str, mount_point: str) -> None:
        """Show the draft of a new mount."""
        if self._mount is not None:
            self._page_of_mounts = self._tabs.currentWidget()
        self._mount = None
        self._header.show_draft()
        self._space.follow(None)
        self._waiting.follow(None)
        self.settings.show_draft(share, mount_point)
        self.quick_test.set_mount(None)
        self.history.set_share("")
        self.live.set_mount(None)
        self._show_tabs()
        self._tabs.setCurrentWidget(self.settings)
        self._show_buttons()

    def show_mount(self, mount: Mount) -> None:
        """Show a mount; edits of the same mount are kept unless they were just applied."""
        was_draft = self._mount is None
        is_other = self._mount is None or (self._mount.share, self._mount.mount_point) != (
            mount.share, mount.mount_point)  # fmt: skip
        self._mount = mount
        self._readahead_controller.look_at(mount.mount_point)
        self._header.show_mount(mount)
        self._space.follow(mount)
        self._waiting.follow(mount)
        self.settings.show_mount(mount, keep_edits=not is_other and not self._edits_applied)
        self._edits_applied = False
        self.quick_test.set_mount(mount)
        self.history.set_share(mount.share)
        self.live.set_mount(mount)
        self._show_tabs()
        if was_draft:
            self._tabs.setCurrentWidget(self._page_of_mounts)
        self._show_buttons()

    @property
    def help_section(self) -> str:
        """Heading of the user guide for the page that is shown."""
        shown = self._tabs.currentWidget()
        return next((section for key, section in _HELP_SECTIONS.items() if self._page_keys[key] is shown), "")

    @property
    def page_key(self) -> str:
        """Key of the page that mounts are shown with."""
        shown = self._tabs.currentWidget() if self._mount is not None else self._page_of_mounts
        return next((key for key, page in self._page_keys.items() if page is shown), "")

    def choose_page(self, key: str) -> None:
        """Choose the page that mounts are shown with; an unknown key changes nothing."""
        page = self._page_keys.get(key)
        if page is not None:
            self._page_of_mounts = page
            if self._mount is not None:
                self._tabs.setCurrentWidget(page)

    def set_clock(self, ahead_s: float) -> None:
        """Set the offset of the host's clock from this computer's clock, s; positive if the host is ahead."""
        self._header.set_clock(ahead_s)
        self.overview.set_clock(ahead_s)

    def reset(self) -> None:
        """Clear the page, because the window switches to another host."""
        self._mount_controller.reset()
        self._apply_controller.reset()
        self._remove_controller.reset()
        self._readahead_controller.reset()
        self.overview.reset()
        self.quick_test.reset()
        self.live.reset()
        self.experiment.reset()
        self.show_draft("", "")

    def take_link(self, link: LinkFacts) -> None:
        """Discard facts and plans measured over the previous link, because the lab's link changed."""
        self.quick_test.discard_plan()
        self.overview.take_link(link.name)

    def _show_tabs(self) -> None:
        mount = self._mount
        active = mount is not None and mount.active is not None
        self._tabs.setTabVisible(self._tabs.indexOf(self.live), active)
        live = self.findChild(QAction, "page-live")
        if live is not None:
            live.setEnabled(active)

    @property
    def busy(self) -> bool:
        """Whether a mount, an unmount, a change, a test or an experiment is running."""
        return any((
            self._mount_controller.is_busy, self._apply_controller.is_busy, self._remove_controller.is_busy,
            self._readahead_controller.is_busy, self.quick_test.busy, self.experiment.running,
            self.overview.trial.is_busy,
        ))  # fmt: skip

    @property
    def changing(self) -> bool:
        """Whether a change is being applied, during which the mount can be absent for a moment."""
        return self._apply_controller.is_busy or self.overview.trial.is_busy

    @property
    def place(self) -> tuple[str, str] | None:
        """Share and mount point of the mount shown, or None for a draft."""
        mount = self._mount
        return (mount.share, mount.mount_point) if mount is not None else None

    def commands(self) -> list[QAction]:
        """Return the actions that choose a page, and those of the mount."""
        found = self.actions()
        for action in self._header.actions_menu().actions():
            menu = action.menu()
            found += menu.actions() if isinstance(menu, QMenu) else [action]
        return found

    # User actions

    def ask_unmount(self) -> None:
        """Confirm, then unmount the mount shown."""
        mount = self._mount
        if mount is not None and mount.active is not None and not self.busy:
            self._unmount_prompt.unmount(mount.mount_point)

    def ask_detach(self, mount_point: str) -> None:
        """Confirm, then detach a busy mount (lazy unmount)."""
        if not self.busy:
            self._unmount_prompt.detach(mount_point)

    def ask_force(self, mount_point: str) -> None:
        """Confirm, then force the unmount of a mount whose server does not respond."""
        if not self.busy:
            self._unmount_prompt.force(mount_point)

    def _on_submitted(self) -> None:
        if self._header.can_mount:
            self._on_mount_clicked()

    def _on_mount_clicked(self) -> None:
        if self._form_is_valid():
            self._mount_controller.mount(self.settings.request())

    def _on_apply_clicked(self) -> None:
        self._ask_apply()

    def _ask_apply(self, target: SaveTarget | None = None) -> bool:
        """Open the apply dialog with the values of the form; return whether it is open.

        Args:
            target: where to save the mount; None where it is saved already, or in fstab for a new mount.
        """
        if not self._form_is_valid():
            return False
        request, mount = self.settings.request(), self._mount
        configured = mount.configured if mount is not None else None
        saved_in = config_target_of(configured)
        # A new mount is saved in fstab by default. A mount that is not saved stays so by default.
        if target is None:
            target = "fstab" if mount is None else saved_in
        args = ApplyArgs(
            share=request.share,
            mount_point=request.mount_point,
            options=request.options,
            exact=True,  # the form shows all options, and the dialog asks about those added to a new entry
            keeper=target,
            read_ahead_kb=request.read_ahead_kb,
        )
        active = mount is not None and mount.active is not None
        return self._apply_controller.open(self.window(), args, active=active, saved_in=saved_in)

    def _on_log_clicked(self) -> None:
        mount = self._mount
        if mount is not None:
            LogDialog(self.window(), mount.share, mount.mount_point, self._submit).open()

    def _on_force_clicked(self) -> None:
        if self._mount is not None:
            self.ask_force(self._mount.mount_point)

    def _on_detach_clicked(self) -> None:
        if self._mount is not None:
            self.ask_detach(self._mount.mount_point)

    def _on_remount_clicked(self) -> None:
        """Preview an unmount and a mount with the same options, which repairs a stale mount."""
        mount = self._mount
        if mount is None or mount.active is None:
            return
        configured = mount.configured
        args = ApplyArgs(
            share=mount.share,
            mount_point=mount.mount_point,
            options=self.settings.original_request(mount).options,
            fstype=configured.fstype if configured is not None else "nfs",
            again=True,
        )
        self._apply_controller.open(self.window(), args, active=True, saved_in=config_target_of(configured))

    def _on_import_clicked(self) -> None:
        if self._mount is not None:
            self.imported.emit(self._mount)

    def _on_remove_clicked(self) -> None:
        mount = self._mount
        if mount is not None:
            in_fstab = config_target_of(mount.configured) == "fstab"
            self._remove_controller.ask(
                self.window(), mount.mount_point, active=mount.active is not None, in_fstab=in_fstab
            )

    def _on_keep_read_ahead(self) -> None:
        mount = self._mount
        if mount is not None and mount.active is not None and mount.active.read_ahead_kb is not None:
            self._readahead_controller.ask(self.window(), mount.mount_point, mount.active.read_ahead_kb)

    def _on_remove_read_ahead(self) -> None:
        if self._mount is not None:
            self._readahead_controller.ask(self.window(), self._mount.mount_point, None)

    def _form_is_valid(self) -> bool:
        problem = self.settings.problem()
        if problem is not None:
            self._on_failed(problem)
        return problem is None

    # Results

    def _on_failed(self, error: AppError) -> None:
        self._fail(self._tabs.currentWidget(), error)

    def _fail(self, page: QWidget, error: AppError) -> None:
        self._failed_page = page
        self.failed.emit(error)

    def _on_tab_changed(self, number: int) -> None:
        if self._failed_page is not None and self._tabs.widget(number) is not self._failed_page:
            self._failed_page = None
            self.left.emit()

    def _on_busy(self, text: str) -> None:
        if text:
            self.began.emit()
        self._header.show_busy(text)
        self._show_buttons()

    def _on_running(self, running: bool) -> None:  # noqa: FBT001 - a slot
        if running:
            self.began.emit()
        self._show_buttons()

    def _on_applying(self) -> None:
        if self._apply_controller.is_busy:
            self.began.emit()
        self._show_buttons()
        if not self._apply_controller.is_busy:
            self.settled.emit()

    def _on_applied(self, args: ApplyArgs, report: ApplyReport) -> None:
        now = report.report.mount if report.report is not None else self._mount
        if self._mount is not None and now is not None:
            # The edits are applied now, so the form shows the mount's settings again.
            self._edits_applied = True
            self.show_mount(now)
            self._edits_applied = (
                report.report is None
            )  # only the next mount table has the new saved settings
        self.applied.emit(report)

    def _on_mounted(self, request: MountRequest, report: MountReport) -> None:
        self.mounted.emit(report)

    def _on_use_recommended(self, result: AdviceResult) -> None:
        """Put the recommended options into the form, without mounting."""
        request, advised = self.settings.request(), recommended_readahead(result)
        self.settings.load_entry(
            request.share,
            request.mount_point,
            result.advised_options,
            request.read_ahead_kb if advised is None else advised,
        )
        self._tabs.setCurrentWidget(self.settings)

    def _on_use_set(self, chosen_set: ChosenSet) -> None:
        """Confirm, then put the settings chosen in an experiment into the form, without mounting."""
        mount, request = self._mount, self.settings.request()
        read_ahead_kb = mount.active.read_ahead_kb if mount is not None and mount.active is not None else None
        context = LintContext(share=request.share, mount_point=request.mount_point)
        proposal = propose_options(
            chosen_set.plan, chosen_set.chosen, request.options,
            read_ahead_kb=read_ahead_kb if request.read_ahead_kb is None else request.read_ahead_kb,
            context=context,
        )  # fmt: skip
        ask_use_settings(self.window(), chosen_set, proposal, partial(self._use_set, chosen_set, proposal))

    def _use_set(self, chosen_set: ChosenSet, proposal: OptionProposal) -> None:
        request = self.settings.request()
        self.overview.remember(chosen_set.share, chosen_set.link, chosen_set.measured)
        read_ahead_kb = request.read_ahead_kb if proposal.read_ahead_kb is None else proposal.read_ahead_kb
        self.settings.load_entry(request.share, request.mount_point, proposal.options, read_ahead_kb)
        self._tabs.setCurrentWidget(self.settings)

    def _on_apply_recommended(self, result: AdviceResult) -> None:
        """Put the recommended options into the form, and open the apply dialog."""
        self._on_use_recommended(result)
        self._tabs.setCurrentWidget(self.overview)
        self._ask_apply()

    def _on_overview_action(self, action: OverviewAction) -> None:
        """Carry out an action of the overview that belongs to another page or to the header."""
        actions: dict[OverviewAction, Callable[[], object]] = {
            OverviewAction.TEST: self._on_test_wanted,
            OverviewAction.EXPERIMENT: lambda: self._tabs.setCurrentWidget(self.experiment),
            OverviewAction.CHECK_NAME: self._on_share_wanted,
            OverviewAction.UNMOUNT: self.ask_unmount,
            OverviewAction.REMOUNT: self._on_remount_clicked,
            OverviewAction.SAVE: lambda: self._ask_apply("fstab"),
            OverviewAction.MOUNT: self._on_mount_clicked,
        }
        actions[action]()

    def _on_test_wanted(self) -> None:
        self._tabs.setCurrentWidget(self.quick_test)
        self.quick_test.start_planned()

    def _on_share_wanted(self) -> None:
        self._tabs.setCurrentWidget(self.settings)
        self.settings.focus_share()

    def _on_trial(self) -> None:
        """Follow the start and the end of a before-and-after test."""
        if self.overview.trial.is_busy:
            self.began.emit()
        self._show_buttons()
        if not self.overview.trial.is_busy:
            self.settled.emit()

    def _on_improvement_wanted(self) -> None:
        self._tabs.setCurrentWidget(self.overview)

    def _on_compare_wanted(self, number: int) -> None:
        self._tabs.setCurrentWidget(self.history)
        self.history.compare_with_earlier(number)

    def _on_advised(self, result: AdviceResult | None) -> None:
        items = [item for item in result.recommendations if item.included] if result is not None else []
        self.settings.show_recommended({item.option: item for item in items if item.scope != "host"})
        self._show_settings_to_experiments(result)

    def _show_settings_to_experiments(self, result: AdviceResult | None) -> None:
        """Tell the experiments which settings the mount has now, and which are recommended."""
        mount = self._mount
        active = mount.active if mount is not None else None
        now = active.read_ahead_kb if active is not None else None
        recommended = None
        if result is not None:
            read_ahead_kb = recommended_readahead(result)
            recommended = (result.advised_options, now if read_ahead_kb is None else read_ahead_kb)
        self.experiment.set_settings((mount.requested if mount is not None else "", now), recommended)

    def _show_buttons(self) -> None:
        mount = self._mount
        can_undo = mount is not None and self._readahead_controller.can_undo(mount.mount_point)
        # The result of a before-and-after test offers the same with one question less.
        offered = mount if not self.overview.trial.is_shown else None
        self._read_ahead.show_mount(offered, can_undo=can_undo, busy=self.busy)
        request = self.settings.request()
        self.overview.set_target(self._mount, request)
        self.quick_test.set_request(request)
        self.experiment.set_share(
            self._mount.share if self._mount is not None else request.share, request.options
        )
        self._block_concurrent_starts()
        self._show_private_measurement()
        settings = self.settings
        self._header.show_buttons(
            self._mount, busy=self.busy, complete=settings.complete, typed=settings.unfinished is not None
        )
        self._pending.show_changes(settings.changed_labels(), busy=self.busy)
        settings.set_busy(busy=self.busy)

    def _on_undo_all(self) -> None:
        self.settings.revert_all()

    def _show_private_measurement(self) -> None:
        """Tell the live page that a test or an experiment uses a private mount, which it does not count."""
        text = ""
        if self.experiment.running:
            text = self.tr("An experiment uses private mounts. Their traffic is not counted here.")
        elif self.quick_test.uses_private_mount:
            text = self.tr("A test uses a private mount. Its traffic is not counted here.")
        self.live.show_elsewhere(text)

    def _block_concurrent_starts(self) -> None:
        """Disable the start of a test or an experiment while another measurement or a change is running."""
        why = self.tr(
            "Something else is being measured or changed on this host. Wait until it has finished, or "
            "stop it."
        )
        unknown = self.settings.unknown_server
        self.quick_test.set_blocked(why if self.busy and not self.quick_test.busy else unknown)
        self.experiment.set_blocked(why if self.busy and not self.experiment.running else unknown)
        self.overview.set_blocked(why if self.busy else "")
