"""One mount, or a new one: its header with what can be done, and the tabs below."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from advisor.lint import LintContext
from app.experiment.proposed_options import propose
from app.mounts.change_model import ApplyArgs
from ui.apply.controller import Applying
from ui.experiments.panel import ExperimentPanel
from ui.experiments.use_settings import ask_use
from ui.forgetting import Forgetting
from ui.history.panel import HistoryPanel
from ui.mounts.actions import Mounting
from ui.mounts.before_after import Trial
from ui.mounts.log_dialog import LogDialog
from ui.mounts.readahead import ReadAheadBar
from ui.mounts.status_queries import SpaceAsking
from ui.overview.advice_text import read_ahead_of
from ui.panels.advice import AdvicePanel
from ui.panels.detail_header import DetailHeader, keeper_of
from ui.panels.live import LivePanel
from ui.panels.settings import SettingsPanel
from ui.readahead_saving import ReadaheadSaving
from ui.test.panel import QuickTestPanel
from ui.unmount_asking import UnmountAsking
from ui.waiting_asking import WaitingAsking
from ui.widgets.tab_bar import TabBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.errors import AppError
    from app.experiment.proposed_options import Proposal
    from app.mounts.change_model import ApplyReport, Keeper
    from app.mounts.model import Mount, MountReport
    from app.service.advice import AdviceResult
    from ui.common.bridge import BridgeCall, RunInThread
    from ui.common.mount_request import Wish
    from ui.experiments.use_settings import WantedSet


class DetailPanel(QWidget):
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
    forgotten = Signal(str, object)
    imported = Signal(object)
    discarded = Signal()

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: RunInThread) -> None:
        super().__init__()
        self._mount: Mount | None = None
        self._submit = submit
        self._made = False
        self._before: Wish | None = None
        #: The page that the last error belongs to.
        self._failed_page: QWidget | None = None
        self._mounting = Mounting(submit, self)
        self._mounting.busy.connect(self._on_busy)
        self._mounting.mounted.connect(self._on_mounted)
        self._mounting.unmounted.connect(self.unmounted)
        self._mounting.failed.connect(self._on_failed)
        self._mounting.stuck.connect(self.stuck)
        self._asking = UnmountAsking(self._mounting, self, submit)
        self._applying = Applying(submit, self)
        self._applying.changed.connect(self._on_applying)
        self._applying.applied.connect(self._on_applied)
        self._applying.reverted.connect(self.reverted)
        self._forgetting = Forgetting(submit, self)
        self._forgetting.changed.connect(self._show_buttons)
        self._forgetting.failed.connect(self._on_failed)
        self._forgetting.forgotten.connect(self.forgotten)
        self._header = DetailHeader()
        self._connect_header()
        self._space = SpaceAsking(submit, lambda: self.busy or not self.window().isVisible(), self)
        self.settings = SettingsPanel(submit)
        self.settings.edited.connect(self._show_buttons)
        self.settings.asked.connect(self._let_one_begin)
        self.settings.submitted.connect(self._on_submitted)
        self.advice = AdvicePanel(submit, run)
        self.advice.use_chosen.connect(self._on_use_recommended)
        self.advice.advised.connect(self._on_advised)
        self.live = LivePanel(submit)
        self.quick_test = QuickTestPanel(submit, run)
        self.quick_test.busy_changed.connect(self._on_running)
        self.experiment = ExperimentPanel(submit, run)
        self.experiment.running_changed.connect(self._on_running)
        self.experiment.use_chosen.connect(self._on_use_set)
        self.history = HistoryPanel(run)
        self.quick_test.kept.connect(self.history.refresh)
        self._trial = Trial(self, self.quick_test, self._applying, self.advice)
        self._trial.apply_wanted.connect(self._on_trial_apply)
        self._trial.back_wanted.connect(self._on_way_back)
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
        self._header.forget_clicked.connect(self._on_forget_clicked)
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
        self._saving = ReadaheadSaving(self._submit, self)
        self._saving.changed.connect(self._show_buttons)
        self._saving.failed.connect(self._on_failed)
        self._read_ahead = ReadAheadBar()
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
        self._waiting = WaitingAsking(self._submit, self)
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

    def forget(self) -> None:
        """Another host is shown now."""
        self._mounting.forget()
        self._applying.forget()
        self._forgetting.forget()
        self._saving.forget()
        self._trial.stop()
        self.advice.forget()
        self.quick_test.forget()
        self.live.forget()
        self.experiment.forget()
        self.show_draft("", "")

    def take_link(self, link: LinkFacts) -> None:
        """The lab's link is another now: what was found out over the old one holds no more."""
        self.quick_test.forget_plan()
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
        if self._form_is_sound():
            self._mounting.mount(self.settings.wish())

    def _ask_apply(self) -> bool:
        """Open the dialog for what the form says; return whether it is open."""
        if not self._form_is_sound():
            return False
        wish, mount = self.settings.wish(), self._mount
        configured = mount.configured if mount is not None else None
        kept = keeper_of(configured)
        # A new mount is most likely meant to last; a mount that was made by hand is not made to last unasked.
        keeper: Keeper = "fstab" if mount is None else kept
        args = ApplyArgs(
            share=wish.share,
            mount_point=wish.mount_point,
            options=wish.options,
            exact=True,  # the form shows every word, and the dialog asks about those of a new entry
            keeper=keeper,
            read_ahead_kb=wish.read_ahead_kb,
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
            options=self.settings.original_wish(mount).options,
            fstype=configured.fstype if configured is not None else "nfs",
            again=True,
        )
        self._applying.open(self.window(), args, active=True, kept=keeper_of(configured))

    def _on_import_clicked(self) -> None:
        if self._mount is not None:
            self.imported.emit(self._mount)

    def _on_forget_clicked(self) -> None:
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

    def _form_is_sound(self) -> bool:
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

    def _on_mounted(self, wish: Wish, report: MountReport) -> None:
        self.mounted.emit(report)

    def _on_use_recommended(self, result: AdviceResult) -> None:
        """Put the advice into the form; nothing is mounted by that."""
        wish, advised = self.settings.wish(), read_ahead_of(result)
        self.settings.load_entry(
            wish.share,
            wish.mount_point,
            result.advised_options,
            wish.read_ahead_kb if advised is None else advised,
        )
        self._tabs.setCurrentWidget(self.settings)

    def _on_use_set(self, wanted: WantedSet) -> None:
        """Ask, and put the settings that an experiment varied into the form; nothing is mounted by that."""
        mount, wish = self._mount, self.settings.wish()
        ahead = mount.active.read_ahead_kb if mount is not None and mount.active is not None else None
        context = LintContext(share=wish.share, mount_point=wish.mount_point)
        proposal = propose(
            wanted.plan, wanted.chosen, wish.options,
            read_ahead_kb=ahead if wish.read_ahead_kb is None else wish.read_ahead_kb, context=context,
        )  # fmt: skip
        ask_use(self.window(), wanted, proposal, partial(self._use_set, wanted, proposal))

    def _use_set(self, wanted: WantedSet, proposal: Proposal) -> None:
        wish = self.settings.wish()
        self.advice.remember(wanted.share, wanted.link, wanted.measured)
        ahead = wish.read_ahead_kb if proposal.read_ahead_kb is None else proposal.read_ahead_kb
        self.settings.load_entry(wish.share, wish.mount_point, proposal.options, ahead)
        self._tabs.setCurrentWidget(self.settings)

    def _on_trial_apply(self, result: AdviceResult) -> None:
        mount = self._mount
        if mount is not None and mount.active is not None:
            before = self.settings.original_wish(mount)
            self._before = replace(before, read_ahead_kb=mount.active.read_ahead_kb)
        self._on_use_recommended(result)
        self._tabs.setCurrentWidget(self.advice)
        if not self._ask_apply():
            self._trial.end_without_change()

    def _on_way_back(self) -> None:
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
        self.settings.show_advised({item.option: item for item in items if item.scope != "host"})

    def _show_buttons(self) -> None:
        mount = self._mount
        can_undo = mount is not None and self._saving.can_undo(mount.mount_point)
        self._read_ahead.show_mount(mount, can_undo=can_undo, busy=self.busy)
        wish = self.settings.wish()
        self.advice.set_subject(self._mount, wish)
        self.advice.trial.look_at(self._mount.mount_point if self._mount is not None else "")
        self.quick_test.set_wish(wish)
        self.experiment.set_share(self._mount.share if self._mount is not None else wish.share, wish.options)
        self._let_one_begin()
        self._say_what_is_private()
        settings = self.settings
        self._header.show_buttons(
            self._mount, busy=self.busy, complete=settings.complete, dirty=settings.dirty,
            typed=settings.unfinished is not None,
        )  # fmt: skip
        settings.set_busy(busy=self.busy)

    def _say_what_is_private(self) -> None:
        """An experiment, and a test of a share that is not mounted, leave this mount still."""
        text = ""
        if self.experiment.running:
            text = self.tr("An experiment uses private mounts. Their traffic is not counted here.")
        elif self.quick_test.runs_privately:
            text = self.tr("A test uses a private mount. Its traffic is not counted here.")
        self.live.show_elsewhere(text)

    def _let_one_begin(self) -> None:
        """What is measured while something else is measured or changed would be wrong."""
        why = self.tr(
            "Something else is being measured or changed on this host. Wait until it has finished, or "
            "stop it."
        )
        unknown = self.settings.unknown_server
        self.quick_test.set_blocked(why if self.busy and not self.quick_test.busy else unknown)
        self.experiment.set_blocked(why if self.busy and not self.experiment.running else unknown)
