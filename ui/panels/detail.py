"""One mount, or a new one: its header with what can be done, and the tabs below."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QTabWidget, QVBoxLayout, QWidget

from advisor.dialects.linux_fstab import FILE as FSTAB
from advisor.options import MountOptions
from app.mounts.change import ApplyArgs
from ui import theme
from ui.advice_text import read_ahead_of
from ui.applying import Applying
from ui.forgetting import Forgetting
from ui.mounting import Mounting, Wish
from ui.panels.advice import AdvicePanel
from ui.panels.experiment import ExperimentPanel
from ui.panels.history import HistoryPanel
from ui.panels.live import LivePanel
from ui.panels.quick_test import QuickTestPanel
from ui.panels.settings import SettingsPanel
from ui.trial import Trial
from ui.unmount_asking import UnmountAsking
from ui.widgets.labels import ElidedLabel, StateLabel, enlarge, plain_label
from ui.widgets.mount_delegate import STATE_MEANING
from ui.widgets.tab_bar import TabBar

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.recommend import Measured
    from app.advice import AdviceResult
    from app.bench.experiment.model import PlannedSet
    from app.mounts.change import ApplyReport, Keeper
    from app.mounts.model import Configured, Mount, MountReport
    from ui.bridge import BridgeCall
    from ui.dialogs.copy_as import Run


class DetailPanel(QWidget):
    """Shows a mount or a draft.

    Signals:
        failed: something did not work (AppError).
        mounted: a mount succeeded (MountReport).
        unmounted: the mount point.
        stuck: the mount point and the AppError of an unmount that can be forced.
        applied: the ApplyReport of a change that was made and kept.
        reverted: the AppError of a change that was made and taken back, and whether the person said so.
        forgotten: the mount point and the FstabReport of an entry that was taken out of fstab.
        imported: a Mount that a foreign unit or an autofs map keeps and that is to be drafted for fstab.
        began: something was started; what was said of the last thing is over.
    """

    failed = Signal(object)
    began = Signal()
    mounted = Signal(object)
    unmounted = Signal(str)
    stuck = Signal(str, object)
    applied = Signal(object)
    reverted = Signal(object, bool)
    forgotten = Signal(str, object)
    imported = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], run: Run) -> None:
        super().__init__()
        self._mount: Mount | None = None
        self._made = False
        self._before: Wish | None = None
        self._mounting = Mounting(submit, self)
        self._mounting.busy.connect(self._on_busy)
        self._mounting.mounted.connect(self._on_mounted)
        self._mounting.unmounted.connect(self.unmounted)
        self._mounting.failed.connect(self.failed)
        self._mounting.stuck.connect(self.stuck)
        self._asking = UnmountAsking(self._mounting, self)
        self._applying = Applying(submit, self)
        self._applying.changed.connect(self._on_applying)
        self._applying.applied.connect(self._on_applied)
        self._applying.reverted.connect(self.reverted)
        self._forgetting = Forgetting(submit, self)
        self._forgetting.failed.connect(self.failed)
        self._forgetting.forgotten.connect(self.forgotten)
        self._title = ElidedLabel()
        self._state = StateLabel()
        self._busy_bar, self._busy_text, self._busy_row = QProgressBar(), plain_label(), QFrame()
        self._make_header()
        self.settings = SettingsPanel(submit)
        self.settings.edited.connect(self._show_buttons)
        self.settings.submitted.connect(self._on_submitted)
        self.advice = AdvicePanel(submit, run)
        self.advice.use_chosen.connect(self._on_use_recommended)
        self.advice.advised.connect(self._on_advised)
        self.live = LivePanel(submit)
        self.quick_test = QuickTestPanel(submit, run)
        self.quick_test.running_changed.connect(self._on_running)
        self.experiment = ExperimentPanel(submit, run)
        self.experiment.running_changed.connect(self._on_running)
        self.experiment.use_chosen.connect(self._on_use_set)
        self.history = HistoryPanel(run)
        self.quick_test.kept.connect(self.history.refresh)
        for panel in (self.live, self.quick_test, self.history, self.advice, self.experiment):
            panel.failed.connect(self.failed)
        self._trial = Trial(self, self.quick_test, self._applying, self.advice)
        self._trial.apply_wanted.connect(self._on_trial_apply)
        self._trial.back_wanted.connect(self._on_way_back)
        self._tabs = QTabWidget()
        self._fill_tabs()
        self._lay_out()
        self._on_busy("")

    def _make_header(self) -> None:
        enlarge(self._title, 1.4, bold=True)
        self._mount_button = _button(self.tr("&Mount"), "mount", self._on_mount_clicked)
        self._apply_button = _button(self.tr("&Apply…"), "apply", self._on_apply_clicked)
        self._forget_button = _button(self.tr("&Forget…"), "forget", self._on_forget_clicked)
        self._forget_button.setToolTip(self.tr("Take it out of fstab, or remove its systemd units."))
        self._import_button = _button(self.tr("&Import into fstab…"), "import", self._on_import_clicked)
        self._unmount_button = _button(self.tr("&Unmount…"), "unmount", self.ask_unmount)
        self._busy_bar.setTextVisible(False)
        self._busy_bar.setMaximumWidth(self.fontMetrics().averageCharWidth() * 16)
        self._cancel = _button(self.tr("&Cancel"), "cancel", self._mounting.cancel)

    def _fill_tabs(self) -> None:
        self._tabs.setObjectName("tabs")
        self._tabs.setTabBar(TabBar())
        self._tabs.setDocumentMode(True)
        self._tabs.addTab(self.settings, self.tr("Settings"))
        self._tabs.addTab(self.advice, self.tr("Advice"))
        self._tabs.addTab(self.quick_test, self.tr("Quick test"))
        self._tabs.addTab(self.experiment, self.tr("Experiment"))
        self._tabs.addTab(self.live, self.tr("Live"))
        self._tabs.addTab(self.history, self.tr("History"))

    def _lay_out(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(self._title)
        texts.addWidget(self._state)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addLayout(texts, 1)
        for button in (
            self._import_button,
            self._forget_button,
            self._unmount_button,
            self._apply_button,
            self._mount_button,
        ):
            top.addWidget(button)
        busy = QHBoxLayout(self._busy_row)
        busy.setContentsMargins(0, 0, 0, 0)
        busy.addWidget(self._busy_bar)
        busy.addWidget(self._busy_text, 1)
        busy.addWidget(self._cancel)
        header = QVBoxLayout()
        header.setContentsMargins(16, 14, 16, 8)
        header.addLayout(top)
        header.addWidget(self._busy_row)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(header)
        layout.addWidget(self._tabs, 1)

    # What the window tells

    def show_draft(self, share: str, mount_point: str) -> None:
        """Show a form for a new mount."""
        self._mount = None
        self._title.setText(self.tr("New mount"))
        self._state.set_state(self.tr("not mounted"), "muted")
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
        self._title.setText(f"{mount.share}  →  {mount.mount_point}")
        self._state.set_state(self._state_text(mount), STATE_MEANING[mount.state])
        self.settings.show_mount(mount, keep_edits=not other and not self._made)
        self._made = False
        self.quick_test.set_mount(mount)
        self.history.set_share(mount.share)
        self.live.set_mount(mount)
        self._show_tabs()
        self._show_buttons()

    def forget(self) -> None:
        """Another host is shown now."""
        self._mounting.forget()
        self._applying.forget()
        self._forgetting.forget()
        self._trial.stop()
        self.advice.forget()
        self.quick_test.forget()
        self.live.forget()
        self.experiment.forget()
        self.show_draft("", "")

    def _show_tabs(self) -> None:
        mount = self._mount
        active = mount is not None and mount.active is not None
        self._tabs.setTabVisible(self._tabs.indexOf(self.live), active)

    @property
    def busy(self) -> bool:
        """Whether a mount, an unmount, a change or a test is under way."""
        return any((
            self._mounting.is_busy, self._applying.is_busy, self.quick_test.running, self.experiment.running
        ))  # fmt: skip

    def _state_text(self, mount: Mount) -> str:
        words = {
            "mounted": self.tr("mounted"),
            "not-mounted": self.tr("not mounted, set up in {file}"),
            "not-responding": self.tr("not responding"),
            "differs": self.tr("mounted, differs from what is configured"),
        }
        word = words[mount.state].format(file=mount.configured.origin if mount.configured else "fstab")
        if mount.configured is not None and not mount.configured.ours:
            word = self.tr("{state} (read only: {file})").format(
                state=self.tr("not mounted") if mount.active is None else word, file=mount.configured.origin
            )
        if mount.active is None:
            return word
        version = MountOptions.parse(mount.active.options).get("vers")
        return f"{word}, NFS {version}" if version else word

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
        if self._mount_button.isVisible() and self._mount_button.isEnabled():
            self._on_mount_clicked()

    def _on_mount_clicked(self) -> None:
        if self._form_is_sound():
            self._mounting.mount(self.settings.wish())

    def _on_apply_clicked(self) -> None:
        if not self._form_is_sound():
            return
        wish, mount = self.settings.wish(), self._mount
        configured = mount.configured if mount is not None else None
        kept = _keeper(configured)
        # A new mount is most likely meant to last; a mount that was made by hand is not made to last unasked.
        keeper: Keeper = "fstab" if mount is None else kept
        args = ApplyArgs(
            share=wish.share,
            mount_point=wish.mount_point,
            options=wish.options,
            fstype=configured.fstype if configured is not None else "nfs",
            keeper=keeper,
            read_ahead_kb=wish.read_ahead_kb,
        )
        active = mount is not None and mount.active is not None
        self._applying.open(self.window(), args, active=active, kept=kept)

    def _on_import_clicked(self) -> None:
        if self._mount is not None:
            self.imported.emit(self._mount)

    def _on_forget_clicked(self) -> None:
        mount = self._mount
        if mount is not None:
            active = mount.active is not None
            self._forgetting.ask(self.window(), mount.mount_point, active=active)

    def _form_is_sound(self) -> bool:
        problem = self.settings.problem()
        if problem is not None:
            self.failed.emit(problem)
        return problem is None

    # What happens

    def _on_busy(self, text: str) -> None:
        if text:
            self.began.emit()
        self._busy_row.setVisible(bool(text))
        # A hidden bar must not go on moving.
        self._busy_bar.setRange(0, 0 if text else 1)
        self._busy_bar.setAccessibleName(text)
        self._busy_text.setText(text)
        self._show_buttons()

    def _on_running(self, running: bool) -> None:  # noqa: FBT001 - a slot
        if running:
            self.began.emit()
        self._show_buttons()

    def _on_applying(self) -> None:
        if self._applying.is_busy:
            self.began.emit()
        self._show_buttons()

    def _on_applied(self, args: ApplyArgs, report: ApplyReport) -> None:
        if report.report is not None:
            wish = Wish(args.share, args.mount_point, args.options)
            self.settings.remember(wish, report.report)
        now = report.report.mount if report.report is not None else self._mount
        if self._mount is not None and now is not None:
            # What was typed is made: the form follows the mount again.
            self._made = True
            self.show_mount(now)
            self._made = report.report is None  # what is kept is told by the next table alone
        self.applied.emit(report)

    def _on_mounted(self, wish: Wish, report: MountReport) -> None:
        self.settings.remember(wish, report)
        self.mounted.emit(report)

    def _on_use_recommended(self, result: AdviceResult) -> None:
        """Put the advice into the form; nothing is mounted by that."""
        wish = self.settings.wish()
        self.settings.load_entry(
            wish.share, wish.mount_point, result.advised_options, read_ahead_of(result) or wish.read_ahead_kb
        )
        self._tabs.setCurrentWidget(self.settings)

    def _on_use_set(self, chosen: PlannedSet, measured: tuple[Measured, ...], link: str) -> None:
        """Put the options of an experiment's set into the form; nothing is mounted by that."""
        wish = self.settings.wish()
        self.advice.remember(wish.share, link, measured)
        read_ahead_kb = chosen.read_ahead_kb or wish.read_ahead_kb
        self.settings.load_entry(wish.share, wish.mount_point, chosen.options, read_ahead_kb)
        self._tabs.setCurrentWidget(self.settings)

    def _on_trial_apply(self, result: AdviceResult) -> None:
        mount = self._mount
        if mount is not None and mount.active is not None:
            before = self.settings.original_wish(mount)
            self._before = replace(before, read_ahead_kb=mount.active.read_ahead_kb)
        self._on_use_recommended(result)
        self._tabs.setCurrentWidget(self.advice)
        self._on_apply_clicked()

    def _on_way_back(self) -> None:
        """Put what was before a change that was tested into the form, and ask to apply it."""
        before = self._before
        if before is not None and self._mount is not None and self._mount.mount_point == before.mount_point:
            self.settings.load_entry(before.share, before.mount_point, before.options, before.read_ahead_kb)
            self._on_apply_clicked()

    def _on_advised(self, result: AdviceResult | None) -> None:
        count = len(result.recommendations) if result is not None else 0
        text = self.tr("Advice • {count}").format(count=count) if count else self.tr("Advice")
        self._tabs.setTabText(self._tabs.indexOf(self.advice), text)
        items = result.recommendations if result is not None else ()
        self.settings.show_advised({item.option: item for item in items if item.scope != "host"})

    def _show_buttons(self) -> None:
        wish = self.settings.wish()
        self.advice.set_subject(self._mount, wish)
        self.quick_test.set_wish(wish)
        self.experiment.set_share(self._mount.share if self._mount is not None else wish.share, wish.options)
        mount = self._mount
        active = mount is not None and mount.active is not None
        self._unmount_button.setVisible(active)
        self._unmount_button.setEnabled(not self.busy)
        on_demand = mount is not None and mount.configured is not None and mount.configured.keeper == "autofs"
        self._mount_button.setVisible(not active and not on_demand)
        self._mount_button.setEnabled(not self.busy and self.settings.complete)
        self._apply_button.setText(self.tr("&Apply…") if mount is not None else self.tr("Mount and &keep…"))
        self._apply_button.setEnabled(not self.busy and self.settings.complete)
        self._forget_button.setVisible(mount is not None and _keeper(mount.configured) != "nowhere")
        self._forget_button.setEnabled(not self.busy)
        foreign = mount is not None and mount.configured is not None and not mount.configured.ours
        self._import_button.setVisible(foreign)
        self._import_button.setEnabled(not self.busy)
        self.settings.set_busy(busy=self.busy)
        self._colour()

    def _colour(self) -> None:
        colours = theme.colours_of(self)
        active = self._mount is not None and self._mount.active is not None
        loud = {self._mount_button: not active, self._apply_button: active and self.settings.dirty}
        for button, wanted in loud.items():
            chosen = wanted and button.isEnabled()
            theme.tint(button, colours.accent if chosen else colours.raised, QPalette.ColorRole.Button)
            text = colours.text if button.isEnabled() else colours.muted
            theme.tint(button, colours.on_accent if chosen else text, QPalette.ColorRole.ButtonText)

    # Qt overrides

    def changeEvent(self, event: QEvent) -> None:
        """Qt: follow a change between light and dark."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_busy_row"):
            self._colour()


def _keeper(configured: Configured | None) -> Keeper:
    """Return where a mount is kept now, as far as this program may change it there."""
    if configured is None or not configured.ours:
        return "nowhere"
    return "fstab" if configured.origin == FSTAB else "systemd"


def _button(text: str, name: str, clicked: Callable[[], None]) -> QPushButton:
    button = QPushButton(text)
    button.setObjectName(name)
    button.clicked.connect(clicked)
    return button
