"""Mount page: one mount, or a new one: its header with the actions, and the tabs below."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from advisor.lint import LintContext
from app.experiment.proposed_options import propose_options
from app.mounts.change_model import ApplyArgs
from ui.apply.controller import ApplyController
from ui.common.layout import TabBar
from ui.experiments.panel import ExperimentPanel
from ui.experiments.use_settings import ask_use_settings
from ui.history.panel import HistoryPanel
from ui.live.panel import LivePanel
from ui.mounts.actions import MountController, RemoveController, UnmountPrompt
from ui.mounts.before_after import BeforeAfterTest
from ui.mounts.header import MountHeader, config_target_of
from ui.mounts.log_dialog import LogDialog
from ui.mounts.readahead import ReadaheadBar, ReadaheadController
from ui.mounts.status_queries import FreeSpaceQuery, WaitingProcessesQuery
from ui.overview.advice_text import recommended_readahead
from ui.overview.panel import AdvicePanel
from ui.settings.panel import SettingsPanel
from ui.test.panel import SpeedTestPanel

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.errors import AppError
    from app.experiment.proposed_options import OptionProposal
    from app.mounts.change_model import ApplyReport, SaveTarget
    from app.mounts.model import Mount, MountReport
    from app.service.advice import AdviceResult
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import MountRequest
    from ui.experiments.use_settings import ChosenSet


class MountPage(QWidget):
    """Shows a mount or a draft.

    Signals:
        failed: something did not work (AppError).
        mounted: a mount succeeded (MountReport).
        unmounted: the mount point.
        stuck: the mount point and the AppError of an unmount that can be forced.
        applied: the ApplyReport of a change that was made and kept.
        reverted: the AppError of a change that was made and taken back, and whether the person said so.
        settled: no change is under way any more, whatever came of it.
        forgotten: the mount point and the FstabReport of an entry that was taken out of fstab.
        discarded: the person gives up what was typed of a new mount.
        imported: a Mount that a foreign unit or an autofs map keeps and that is to be drafted for fstab.
        began: something was started; what was said of the last thing is over.
        left: the page that an error belongs to was left.
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

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._mount: Mount | None = None
        self._submit = submit
        self._made = False
        self._before: MountRequest | None = None
        #: The page that the last error belongs to.
        self._failed_page: QWidget | None = None
        self._mounting = MountController(submit, self)
        self._mounting.busy.connect(self._on_busy)
        self._mounting.mounted.connect(self._on_mounted)
        self._mounting.unmounted.connect(self.unmounted)
        self._mounting.failed.connect(self._on_failed)
        self._mounting.stuck.connect(self.stuck)
        self._asking = UnmountPrompt(self._mounting, self, submit)
        self._applying = ApplyController(submit, self)
        self._applying.changed.connect(self._on_applying)
        self._applying.applied.connect(self._on_applied)
        self._applying.reverted.connect(self.reverted)
        self._forgetting = RemoveController(submit, self)
        self._forgetting.changed.connect(self._show_buttons)
        self._forgetting.failed.connect(self._on_failed)
        self._forgetting.removed.connect(self.removed)
        self._header = MountHeader()
        self._connect_header()
        self._space = FreeSpaceQuery(submit, lambda: self.busy or not self.window().isVisible(), self)
        self.settings = SettingsPanel(submit)
        self.settings.edited.connect(self._show_buttons)
        self.settings.asked.connect(self._block_concurrent_starts)
        self.settings.submitted.connect(self._on_submitted)
        self.advice = AdvicePanel(submit, run)
        self.advice.use_chosen.connect(self._on_use_recommended)
        self.advice.advised.connect(self._on_advised)
        self.live = LivePanel(submit)
        self.quick_test = SpeedTestPanel(submit, run)
        self.quick_test.busy_changed.connect(self._on_running)
        self.experiment = ExperimentPanel(submit, run)
        self.experiment.running_changed.connect(self._on_running)
        self.experiment.use_chosen.connect(self._on_use_set)
        self.history = HistoryPanel(run)
        self.quick_test.kept.connect(self.history.refresh)
        self._trial = BeforeAfterTest(self, self.quick_test, self._applying, self.advice)
        self._trial.apply_wanted.connect(self._on_before_after_apply)
        self._trial.restore_wanted.connect(self._on_restore_previous)
        for page in (self.live, self.quick_test, self.history, self.advice, self.experiment):
            page.failed.connect(partial(self._fail, page))
        self._trial.failed.connect(partial(self._fail, self.advice))
        self._tabs = QTabWidget()
        self._fill_tabs()
        self._lay_out()
        self._make_shortcuts()
        self._tabs.currentChanged.connect(self._on_page)
        self._on_busy("")

    def _connect_header(self) -> None:
        self._header.mount_clicked.connect(self._on_mount_clicked)
        self._header.apply_clicked.connect(self._ask_apply)
        self._header.remove_clicked.connect(self._on_remove_clicked)
        self._header.import_clicked.connect(self._on_import_clicked)
        self._header.discard_clicked.connect(self.discarded)
        self._header.unmount_clicked.connect(self.ask_unmount)
        self._header.cancel_clicked.connect(self._mounting.cancel)
        self._header.log_clicked.connect(self._on_log_clicked)

    def _fill_tabs(self) -> None:
        self._tabs.setObjectName("tabs")
        self._tabs.setAccessibleName(self.tr("Pages of the mount"))
        self._tabs.setTabBar(TabBar())
        self._tabs.setDocumentMode(True)
        self._tabs.addTab(self.settings, self.tr("Settings"))
        self._tabs.addTab(self.advice, self.tr("Advice"))
        self._tabs.addTab(self.quick_test, self.tr("Quick test"))
        self._tabs.addTab(self.experiment, self.tr("Experiment"))
        self._tabs.addTab(self.live, self.tr("Live"))
        self._tabs.addTab(self.history, self.tr("History"))

    def _follow_read_ahead(self) -> None:
        self._saving = ReadaheadController(self._submit, self)
        self._saving.changed.connect(self._show_buttons)
        self._saving.failed.connect(self._on_failed)
        self._read_ahead = ReadaheadBar()
        self._read_ahead.keep_clicked.connect(self._on_keep_read_ahead)
        self._read_ahead.remove_clicked.connect(self._on_remove_read_ahead)
        self._read_ahead.undo_clicked.connect(self._saving.undo)

    def _lay_out(self) -> None:
        self._follow_read_ahead()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._header)
        layout.addWidget(self._read_ahead)
        layout.addWidget(self._tabs, 1)
        self._space.known.connect(self._header.show_space)
        self._header.trouble.force_clicked.connect(self._on_force_clicked)
        self._header.trouble.detach_clicked.connect(self._on_detach_clicked)
        self._header.trouble.remount_clicked.connect(self._on_remount_clicked)
        self._waiting = WaitingProcessesQuery(self._submit, self)
        self._waiting.known.connect(self._header.show_waiting)

    def _make_shortcuts(self) -> None:
        """Ctrl+PgUp and Ctrl+PgDn go round the pages that can be seen, Alt and a number goes to one."""
        keys = {"Ctrl+PgDown": lambda: self._turn(1), "Ctrl+PgUp": lambda: self._turn(-1)}
        for key, turn in keys.items():
            QShortcut(QKeySequence(key), self, turn)
        for number in range(1, self._tabs.count() + 1):
            QShortcut(QKeySequence(f"Alt+{number}"), self, partial(self._go_to, number))

    def _seen(self) -> list[int]:
        return [place for place in range(self._tabs.count()) if self._tabs.isTabVisible(place)]

    def _turn(self, steps: int) -> None:
        seen = self._seen()
        here = seen.index(self._tabs.currentIndex()) if self._tabs.currentIndex() in seen else 0
        self._tabs.setCurrentIndex(seen[(here + steps) % len(seen)])

    def _go_to(self, number: int) -> None:
        seen = self._seen()
        if number <= len(seen):
            self._tabs.setCurrentIndex(seen[number - 1])

    # What the window tells

    def show_draft(self, share: str, mount_point: str) -> None:
        """Show a form for a new mount."""
        self._mount = None
        self._header.show_draft()
        self._space.follow(None)
        self._waiting.follow(None)
        self.settings.show_draft(share, mount_point)
        self.quick_test.set_mount(None)
        self.history.set_share("")
        self.live.set_mount(None)
        self._show_tabs()
        self._tabs.setCurrentIndex(0)
        self._show_buttons()

    def show_mount(self, mount: Mount) -> None:
        """Show this mount."""
        other = self._mount is None or (self._mount.share, self._mount.mount_point) != (
            mount.share, mount.mount_point)  # fmt: skip
        self._mount = mount
        self._saving.look_at(mount.mount_point)
        self._header.show_mount(mount)
        self._space.follow(mount)
        self._waiting.follow(mount)
        self.settings.show_mount(mount, keep_edits=not other and not self._made)
        self._made = False
        self.quick_test.set_mount(mount)
        self.history.set_share(mount.share)
        self.live.set_mount(mount)
        self._show_tabs()
        self._show_buttons()

    def set_clock(self, ahead_s: float) -> None:
        """Take by how much the host's clock is ahead of the one here, in seconds."""
        self._header.set_clock(ahead_s)

    def reset(self) -> None:
        """Another host is shown now."""
        self._mounting.reset()
        self._applying.reset()
        self._forgetting.reset()
        self._saving.reset()
        self._trial.stop()
        self.advice.reset()
        self.quick_test.reset()
        self.live.reset()
        self.experiment.reset()
        self.show_draft("", "")

    def take_link(self, link: LinkFacts) -> None:
        """The lab's link is another now: what was found out over the old one holds no more."""
        self.quick_test.discard_plan()
        self.advice.take_link(link.name)

    def _show_tabs(self) -> None:
        mount = self._mount
        active = mount is not None and mount.active is not None
        self._tabs.setTabVisible(self._tabs.indexOf(self.live), active)

    @property
    def busy(self) -> bool:
        """Whether a mount, an unmount, a change, a test or an experiment is under way."""
        return any((
            self._mounting.is_busy, self._applying.is_busy, self._forgetting.is_busy,
            self._saving.is_busy, self.quick_test.busy, self.experiment.running,
        ))  # fmt: skip

    @property
    def changing(self) -> bool:
        """Whether a change is under way, in which a mount may be away for a moment."""
        return self._applying.is_busy

    @property
    def place(self) -> tuple[str, str] | None:
        """Share and mount point of the mount that is shown."""
        mount = self._mount
        return (mount.share, mount.mount_point) if mount is not None else None

    # What the person does

    def ask_unmount(self) -> None:
        """Ask, then unmount the mount shown."""
        mount = self._mount
        if mount is not None and mount.active is not None and not self.busy:
            self._asking.unmount(mount.mount_point)

    def ask_detach(self, mount_point: str) -> None:
        """Ask, then take a busy mount out of sight and let its users finish."""
        if not self.busy:
            self._asking.detach(mount_point)

    def ask_force(self, mount_point: str) -> None:
        """Ask, then give up on a server that does not answer."""
        if not self.busy:
            self._asking.force(mount_point)

    def _on_submitted(self) -> None:
        if self._header.can_mount:
            self._on_mount_clicked()

    def _on_mount_clicked(self) -> None:
        if self._form_is_valid():
            self._mounting.mount(self.settings.request())

    def _ask_apply(self) -> bool:
        """Open the dialog for what the form says; return whether it is open."""
        if not self._form_is_valid():
            return False
        request, mount = self.settings.request(), self._mount
        configured = mount.configured if mount is not None else None
        kept = config_target_of(configured)
        # A new mount is most likely meant to last; a mount that was made by hand is not made to last unasked.
        keeper: SaveTarget = "fstab" if mount is None else kept
        args = ApplyArgs(
            share=request.share,
            mount_point=request.mount_point,
            options=request.options,
            exact=True,  # the form shows every word, and the dialog asks about those of a new entry
            keeper=keeper,
            read_ahead_kb=request.read_ahead_kb,
        )
        active = mount is not None and mount.active is not None
        return self._applying.open(self.window(), args, active=active, kept=kept)

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
        """Preview an unmount and a mount with the same options; a stale mount is mended by it."""
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
        self._applying.open(self.window(), args, active=True, kept=config_target_of(configured))

    def _on_import_clicked(self) -> None:
        if self._mount is not None:
            self.imported.emit(self._mount)

    def _on_remove_clicked(self) -> None:
        mount = self._mount
        if mount is not None:
            active = mount.active is not None
            self._forgetting.ask(self.window(), mount.mount_point, active=active)

    def _on_keep_read_ahead(self) -> None:
        mount = self._mount
        if mount is not None and mount.active is not None and mount.active.read_ahead_kb is not None:
            self._saving.ask(self.window(), mount.mount_point, mount.active.read_ahead_kb)

    def _on_remove_read_ahead(self) -> None:
        if self._mount is not None:
            self._saving.ask(self.window(), self._mount.mount_point, None)

    def _form_is_valid(self) -> bool:
        problem = self.settings.problem()
        if problem is not None:
            self._on_failed(problem)
        return problem is None

    # What happens

    def _on_failed(self, error: AppError) -> None:
        self._fail(self._tabs.currentWidget(), error)

    def _fail(self, page: QWidget, error: AppError) -> None:
        self._failed_page = page
        self.failed.emit(error)

    def _on_page(self, number: int) -> None:
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
        if self._applying.is_busy:
            self.began.emit()
        self._show_buttons()
        if not self._applying.is_busy:
            self.settled.emit()

    def _on_applied(self, args: ApplyArgs, report: ApplyReport) -> None:
        now = report.report.mount if report.report is not None else self._mount
        if self._mount is not None and now is not None:
            # What was typed is made: the form follows the mount again.
            self._made = True
            self.show_mount(now)
            self._made = report.report is None  # what is kept is told by the next table alone
        self.applied.emit(report)

    def _on_mounted(self, request: MountRequest, report: MountReport) -> None:
        self.mounted.emit(report)

    def _on_use_recommended(self, result: AdviceResult) -> None:
        """Put the advice into the form; nothing is mounted by that."""
        request, advised = self.settings.request(), recommended_readahead(result)
        self.settings.load_entry(
            request.share,
            request.mount_point,
            result.advised_options,
            request.read_ahead_kb if advised is None else advised,
        )
        self._tabs.setCurrentWidget(self.settings)

    def _on_use_set(self, wanted: ChosenSet) -> None:
        """Ask, and put the settings that an experiment varied into the form; nothing is mounted by that."""
        mount, request = self._mount, self.settings.request()
        ahead = mount.active.read_ahead_kb if mount is not None and mount.active is not None else None
        context = LintContext(share=request.share, mount_point=request.mount_point)
        proposal = propose_options(
            wanted.plan, wanted.chosen, request.options,
            read_ahead_kb=ahead if request.read_ahead_kb is None else request.read_ahead_kb, context=context,
        )  # fmt: skip
        ask_use_settings(self.window(), wanted, proposal, partial(self._use_set, wanted, proposal))

    def _use_set(self, wanted: ChosenSet, proposal: OptionProposal) -> None:
        request = self.settings.request()
        self.advice.remember(wanted.share, wanted.link, wanted.measured)
        ahead = request.read_ahead_kb if proposal.read_ahead_kb is None else proposal.read_ahead_kb
        self.settings.load_entry(request.share, request.mount_point, proposal.options, ahead)
        self._tabs.setCurrentWidget(self.settings)

    def _on_before_after_apply(self, result: AdviceResult) -> None:
        mount = self._mount
        if mount is not None and mount.active is not None:
            before = self.settings.original_request(mount)
            self._before = replace(before, read_ahead_kb=mount.active.read_ahead_kb)
        self._on_use_recommended(result)
        self._tabs.setCurrentWidget(self.advice)
        if not self._ask_apply():
            self._trial.end_without_change()

    def _on_restore_previous(self) -> None:
        """Put what was before a change that was tested into the form, and ask to apply it."""
        before = self._before
        if before is not None and self._mount is not None and self._mount.mount_point == before.mount_point:
            self.settings.load_entry(before.share, before.mount_point, before.options, before.read_ahead_kb)
            self._ask_apply()

    def _on_advised(self, result: AdviceResult | None) -> None:
        # To take back what was just typed is no news.
        typed = self.settings.edited_options()
        items = [item for item in result.recommendations if item.included] if result is not None else []
        count = len([item for item in items if item.option not in typed])
        text = self.tr("Advice • {count}").format(count=count) if count else self.tr("Advice")
        self._tabs.setTabText(self._tabs.indexOf(self.advice), text)
        self.settings.show_recommended({item.option: item for item in items if item.scope != "host"})

    def _show_buttons(self) -> None:
        mount = self._mount
        can_undo = mount is not None and self._saving.can_undo(mount.mount_point)
        self._read_ahead.show_mount(mount, can_undo=can_undo, busy=self.busy)
        request = self.settings.request()
        self.advice.set_target(self._mount, request)
        self.advice.trial.look_at(self._mount.mount_point if self._mount is not None else "")
        self.quick_test.set_request(request)
        self.experiment.set_share(
            self._mount.share if self._mount is not None else request.share, request.options
        )
        self._block_concurrent_starts()
        self._show_private_measurement()
        settings = self.settings
        self._header.show_buttons(
            self._mount, busy=self.busy, complete=settings.complete, dirty=settings.dirty,
            typed=settings.unfinished is not None,
        )  # fmt: skip
        settings.set_busy(busy=self.busy)

    def _show_private_measurement(self) -> None:
        """An experiment, and a test of a share that is not mounted, leave this mount still."""
        text = ""
        if self.experiment.running:
            text = self.tr("An experiment uses private mounts. Their traffic is not counted here.")
        elif self.quick_test.uses_private_mount:
            text = self.tr("A test uses a private mount. Its traffic is not counted here.")
        self.live.show_elsewhere(text)

    def _block_concurrent_starts(self) -> None:
        """What is measured while something else is measured or changed would be wrong."""
        why = self.tr(
            "Something else is being measured or changed on this host. Wait until it has finished, or "
            "stop it."
        )
        unknown = self.settings.unknown_server
        self.quick_test.set_blocked(why if self.busy and not self.quick_test.busy else unknown)
        self.experiment.set_blocked(why if self.busy and not self.experiment.running else unknown)
