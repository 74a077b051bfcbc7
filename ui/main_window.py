"""Main window: host bar, list of mounts, pages and banner, and the connections between them."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QMainWindow, QStackedWidget, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.files.window_state import WindowState
from app.links import LAB_MOUNT_POINT
from ui.actions import Command, make_actions, make_menu
from ui.apply.interrupted_changes import InterruptedChanges
from ui.common.banner import Banner
from ui.common.bridge import Bridge
from ui.common.focus_order import move_focus
from ui.common.layout import ListSplitter
from ui.common.session import LOCAL, HostSession
from ui.common.status_text import applied_text
from ui.common.tables import ColumnWidths
from ui.common.theme import Appearance
from ui.mounts.facts_loader import FactsLoader
from ui.mounts.host_bar import HostBar
from ui.mounts.import_export import ImportExportDialogs
from ui.mounts.list_panel import MountListPanel
from ui.mounts.mount_share import MountShareDialog
from ui.mounts.page import MountPage
from ui.mounts.placeholder_pages import ConnectingPage, WelcomePage
from ui.mounts.unmanaged_import import UnmanagedImport
from ui.notifications import DesktopNotifications, ServerNotifications, icon_uri
from ui.settings.copy_as import CopyAsDialog
from ui.settings.discovery_model import server_in_share
from ui.settings.drafts import Drafts
from ui.settings.form_state import DEFAULT_OPTIONS, FormState
from ui.settings.option_grid import ShownOptions
from ui.settings.paste import PasteController

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from advisor.dialects import MountSpec
    from advisor.facts import LinkFacts
    from app.mounts.change_model import ApplyReport, ForeignEntry
    from app.mounts.model import Mount, MountReport, MountTable, SavedEntryReport
    from app.service.protocol import HelloResult
    from ui.common.session import LabLink, Opener
    from ui.menu.help import HelpDialog

#: Maximum wait for the lab to power off when the window is closed, s.
_CLOSE_WAIT_S = 5.0
#: Size of the window at the first start, average characters and lines of text.
_FIRST_WIDTH, _FIRST_HEIGHT = 150, 46
#: Largest part of the screen that the window takes up when it opens.
_SCREEN_PART = 0.9


class MainWindow(QMainWindow):
    """Main window of the program.

    Args:
        opener: opens a host by its key; called on a thread.
        links: links of the lab that the user can choose.
        appearance: present appearance: light, dark or as the system.
        choose_appearance: called with the appearance that the user chooses.
    """

    def __init__(
        self,
        opener: Opener,
        links: Sequence[LabLink],
        appearance: Appearance = Appearance.SYSTEM,
        choose_appearance: Callable[[Appearance], None] = lambda _appearance: None,
    ) -> None:
        super().__init__()
        self.setWindowTitle("Mountwright")
        self.bridge = Bridge(self)
        self.session = HostSession(self.bridge, opener, self)
        self._table: MountTable | None = None
        #: Whether the page shows the form of a new mount.
        self._drafting = False
        self._drafts = Drafts(self.bridge.run, self)
        #: Share and mount point of the mount to select once it is listed.
        self._wanted: tuple[str, str] | None = None
        self._closed = False
        #: Open dialog for a new mount.
        self._mount_share: MountShareDialog | None = None
        self._actions = make_actions(self, {
            Command.NEW: self._on_mount_share, Command.REFRESH: self._on_refresh,
            Command.UNMOUNT: self._on_unmount, Command.DISMISS: self._on_dismiss,
            Command.QUIT: self._on_quit, Command.PASTE: self._on_paste,
            Command.EXPORT: self._on_export, Command.IMPORT: self._on_import,
            Command.PALETTE: self._on_palette, Command.PREFERENCES: self._on_preferences,
            Command.SHORTCUTS: self._on_shortcuts, Command.HELP: self._on_help, Command.ABOUT: self._on_about,
        })  # fmt: skip
        self._appearance, self._choose_appearance = appearance, choose_appearance
        self._help: HelpDialog | None = None
        desktop = DesktopNotifications(icon_uri(), self)
        self.notifications = ServerNotifications(desktop.send, self)
        #: Checkable action: whether notifications about silent servers are sent.
        self.notify_switch = QAction(self.tr("Notify When a Server Stops Answering"), self)
        self.notify_switch.setObjectName("action-notify")
        self.notify_switch.setCheckable(True)
        self.notify_switch.setChecked(True)
        self.notify_switch.toggled.connect(self._on_notify_toggled)
        self._host_bar = HostBar(links, self._actions[Command.NEW], make_menu(self, self._actions))
        self._mounts = MountListPanel()
        self._detail = MountPage(self.session.submit, self.bridge.run)
        self._detail.dialect_chosen.connect(self._on_copy_as)
        self._facts_loader = FactsLoader(self.session.submit, self)
        self._unmanaged_import = UnmanagedImport(self.session.submit, self)
        self._paste_controller = PasteController(self)
        self._paste_controller.chosen.connect(self._on_pasted)
        self._import_export = ImportExportDialogs(self, self.session.submit, self.bridge.run)
        share_field = self._detail.settings.findChild(QLineEdit, "share")
        if share_field is not None:
            self._paste_controller.watch(share_field)
        self._welcome_page = WelcomePage(links, self.session.submit)
        self._connecting_page = ConnectingPage()
        self._banner = Banner()
        self._interrupted_changes = InterruptedChanges(self._banner, self.session, self)
        #: Serial numbers in the banner of the warning about a slow host, and of the latest error of a page.
        self._slow_message = self._page_message = 0
        self._column_widths = ColumnWidths(self._detail)
        self._pages = QStackedWidget()
        for page in (self._connecting_page, self._welcome_page, self._detail):
            self._pages.addWidget(page)
        self._lay_out()
        self._connect()
        self._show_page(self._connecting_page)
        self._drafts.load()

    def _lay_out(self) -> None:
        banner_box = QVBoxLayout()
        banner_box.setContentsMargins(12, 8, 12, 0)
        banner_box.addWidget(self._banner)
        right = QWidget()
        right_layout = QVBoxLayout(right)
        right_layout.setContentsMargins(0, 0, 0, 0)
        right_layout.setSpacing(0)
        right_layout.addLayout(banner_box)
        right_layout.addWidget(self._pages, 1)
        self._splitter = ListSplitter(self._mounts, right)
        central = QWidget()
        layout = QVBoxLayout(central)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._host_bar)
        layout.addWidget(self._splitter, 1)
        self.setCentralWidget(central)

    def _connect(self) -> None:
        session = self.session
        session.starting.connect(self._on_starting)
        session.opened.connect(self._on_opened)
        session.failed.connect(self._on_host_failed)
        session.table_changed.connect(self._on_table)
        session.speeds_changed.connect(self._mounts.model.update_speeds)
        session.speeds_changed.connect(self._detail.overview.take_speeds)
        session.speeds_lost.connect(self._mounts.model.clear_speeds)
        session.link_changed.connect(self._on_link)
        session.trouble.connect(self._on_trouble)
        session.slow_changed.connect(self._on_slow)
        self._drafts.loaded.connect(self._on_drafts_loaded)
        self._drafts.failed.connect(self.show_error)
        self._facts_loader.known.connect(self._detail.quick_test.set_facts)
        self._facts_loader.known.connect(self._detail.settings.set_facts)
        self._facts_loader.client_known.connect(self._detail.settings.set_facts)
        self._host_bar.host_chosen.connect(self._on_host_chosen)
        self._mounts.chosen.connect(self._on_chosen)
        self._mounts.changed.connect(self._on_changed)
        self._mounts.vanished.connect(self._on_vanished)
        self._mounts.draft_chosen.connect(self._on_new)
        self._detail.settings.edited.connect(self._on_edited)
        self._detail.discarded.connect(self._on_discarded)
        self._detail.failed.connect(self._on_page_failed)
        self._detail.left.connect(self._on_page_left)
        self._detail.began.connect(self._banner.dismiss)
        self._detail.imported.connect(self._on_import_wanted)
        self._unmanaged_import.chosen.connect(self._on_imported)
        self._unmanaged_import.failed.connect(self.show_error)
        self._detail.mounted.connect(self._on_mounted)
        self._detail.unmounted.connect(self._on_unmounted)
        self._detail.applied.connect(self._on_applied)
        self._detail.reverted.connect(self._on_reverted)
        self._detail.settled.connect(self._on_settled)
        self._detail.removed.connect(self._on_removed)
        self._detail.stuck.connect(self._on_stuck)
        self._welcome_page.mount_clicked.connect(self._on_mount_share)
        self._welcome_page.lab_clicked.connect(self._on_host_chosen)
        self._welcome_page.server_clicked.connect(self._on_server)
        self._welcome_page.paste_clicked.connect(self._on_paste)
        self._connecting_page.retry_clicked.connect(lambda: session.open(session.key))
        self._connecting_page.back_clicked.connect(lambda: self._on_host_chosen(LOCAL))
        # The Delete shortcut works only in the list, because in a field the key deletes a character.
        delete = QShortcut(QKeySequence.StandardKey.Delete, self._mounts)
        delete.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        delete.activated.connect(self._on_unmount)

    # State of the window

    def restore_state(self, state: WindowState) -> None:
        """Restore size, list and page; without a saved size, the window gets that of a first start.

        The window is never larger than the screen allows.
        """
        metrics, screen = self.fontMetrics(), self.screen().availableSize()
        width = state.width or metrics.averageCharWidth() * _FIRST_WIDTH
        height = state.height or metrics.lineSpacing() * _FIRST_HEIGHT
        self.resize(
            min(width, round(screen.width() * _SCREEN_PART)),
            min(height, round(screen.height() * _SCREEN_PART)),
        )
        if state.maximized:
            self.setWindowState(Qt.WindowState.WindowMaximized)
        if state.list_width is not None:
            self._splitter.set_list_width(state.list_width)
        self._detail.choose_page(state.page)
        self._column_widths.restore(state.columns)

    def state(self) -> WindowState:
        """Return the state to restore at the next start."""
        size = self.normalGeometry().size()
        return WindowState(
            width=size.width(), height=size.height(), maximized=self.isMaximized(),
            list_width=self._splitter.list_width(), page=self._detail.page_key,
            columns=self._column_widths.widths(),
        )  # fmt: skip

    # Hosts

    def open_host(self, key: str) -> None:
        """Open the host with this key: `LOCAL` for this computer, otherwise a link of the lab."""
        self.session.open(key)

    def show_error(self, error: AppError) -> None:
        """Show an error in the banner."""
        self._banner.show_error(error)

    def _on_page_failed(self, error: AppError) -> None:
        self.show_error(error)
        self._page_message = self._banner.number

    def _on_page_left(self) -> None:
        """Dismiss the error of a page when the user leaves the page."""
        if self._banner.number == self._page_message:
            self._banner.dismiss()

    def _on_host_chosen(self, key: str) -> None:
        if key == self.session.key and self.session.hello is not None:
            return
        if self._detail.busy and not self.session.slow:
            self._host_bar.show_host(self.session.key, self.session.hello)
            self.show_error(
                AppError(
                    ErrorKind.UNAVAILABLE,
                    self.tr("Something is still running on this host."),
                    hint=self.tr("Wait until it has finished, or stop it, and then choose another host."),
                )
            )
            return  # fmt: skip
        self._banner.dismiss()
        self.session.open(key)

    def _on_starting(self, key: str) -> None:
        self._banner.dismiss()  # a message about the previous host
        self._reset_host()
        self._mounts.clear_choice()
        self._mounts.filter_by("")
        self._mounts.model.clear_speeds()
        self._host_bar.show_host(key, None)
        self._show_title()
        self._connecting_page.show_starting(lab=key != LOCAL)
        self._show_page(self._connecting_page)

    def _on_opened(self, hello: HelloResult) -> None:
        self._host_bar.show_host(self.session.key, hello)

    def _on_host_failed(self, error: AppError) -> None:
        self._reset_host()
        self._connecting_page.show_failed(lab=self.session.key != LOCAL)
        self._show_page(self._connecting_page)
        self.show_error(error)

    def _reset_host(self) -> None:
        """Drop all state that belongs to the previous host."""
        self.notifications.reset()
        self._table = None
        self._drafting = False
        self._wanted = None
        self._paste_controller.close()
        self._import_export.close()
        if self._mount_share is not None:
            self._mount_share.abandon()
        self._detail.reset()
        self._unmanaged_import.reset()
        self._facts_loader.reset()

    def _on_trouble(self, error: AppError) -> None:
        self._host_bar.show_host(self.session.key, self.session.hello)
        self.show_error(error)

    def _on_import_wanted(self, mount: Mount) -> None:
        self._unmanaged_import.ask(mount.mount_point)

    def _on_slow(self, slow: bool) -> None:  # noqa: FBT001 - a slot
        if slow:
            self._banner.show_warning(
                self.tr("The lab has not answered for 5 s."),
                self.tr("This computer may be busy. Wait, restart the lab, or choose another host."),
                action_text=self.tr("Restart &Lab"),
                action=self.session.restart,
            )
            self._slow_message = self._banner.number
        elif self._banner.number == self._slow_message:
            self._banner.dismiss()

    def _show_title(self) -> None:
        """Name the lab in the title of the window, so that nobody takes it for this computer."""
        key = self.session.key
        self.setWindowTitle(self._host_bar.title_of(key) if key != LOCAL else "Mountwright")

    def _on_link(self, link: LinkFacts) -> None:
        self._show_title()
        self._host_bar.show_host(self.session.key, self.session.hello)
        self._detail.take_link(link)
        self._request_facts()

    # Mounts

    def _on_table(self, table: MountTable) -> None:
        first = self._table is None
        self._table = table
        self.notifications.take(table)
        self._detail.settings.set_mounts(table.mounts)
        if table.now:
            self._detail.set_clock(table.now - time.time())
        self._mounts.apply(table)
        if self._wanted is not None and self._mounts.choose(*self._wanted):
            self._wanted = None
            return
        if self._wanted is not None and self._detail.changing:
            return  # the mount comes back when the change ends
        if self._drafting or self._mounts.current() is not None:
            self._show_page(self._detail)
        elif table.mounts:
            self._mounts.choose_first()
        else:
            self._on_no_mounts(first=first)

    def _on_no_mounts(self, *, first: bool) -> None:
        hello = self.session.hello
        if hello is not None and hello.lab:
            self._draft(hello.share, LAB_MOUNT_POINT)
        elif first or self._pages.currentWidget() is not self._welcome_page:
            self._show_page(self._welcome_page)

    def _on_chosen(self, mount: Mount) -> None:
        self._drafting = False
        before = self._drafts.get(self.session.key, (mount.share, mount.mount_point))
        self._detail.show_mount(mount)
        if before is not None and self._detail.settings.unfinished is None:
            self._detail.settings.restore(before)
        self._show_page(self._detail)
        self._request_facts()

    def _on_changed(self, mount: Mount) -> None:
        self._detail.show_mount(mount)

    def _on_vanished(self) -> None:
        if self._detail.changing:
            self._wanted = self._detail.place  # the running change unmounts it for a moment
        elif self._table is not None and not self._mounts.choose_first():
            self._on_no_mounts(first=False)

    def _on_mounted(self, report: MountReport) -> None:
        self._drop_applied_draft()
        if report.messages:
            self._banner.show_information(
                self.tr("The share is mounted, and mount.nfs had something to say."),
                "\n".join(report.messages),
            )
        else:
            self._banner.dismiss()
        self._select_when_listed(report.mount.share, report.mount.mount_point)

    def _select_when_listed(self, share: str, mount_point: str) -> None:
        """Select a mount as soon as it is listed; give up if the list that is read now does not have it."""
        self._wanted = wanted = (share, mount_point)
        call = self.session.refresh()
        if call is not None:
            call.finished.connect(partial(self._on_refreshed, wanted))

    def _on_refreshed(self, wanted: tuple[str, str]) -> None:
        if self._wanted is wanted:
            self._wanted = None

    def _on_unmounted(self, mount_point: str) -> None:
        self._banner.show_information(self.tr("{path} is unmounted.").format(path=mount_point))
        self.session.refresh()

    def _on_applied(self, report: ApplyReport) -> None:
        self._drop_applied_draft()
        message, warning, details = applied_text(report)
        if warning:
            self._banner.show_warning(message, warning, details)
        else:
            self._banner.show_information(message, details)
        mount_or_plan = report.report.mount if report.report is not None else report.plan
        self._select_when_listed(mount_or_plan.share, mount_or_plan.mount_point)

    def _on_settled(self) -> None:
        """Select the mount after a change, if it is listed; a failed change may have left it unmounted."""
        if self._wanted is not None:
            self._select_when_listed(*self._wanted)

    def _on_reverted(self, error: AppError, by_person: bool) -> None:  # noqa: FBT001 - a slot
        if by_person:
            self._banner.show_information(self.tr("The new settings were reverted. The old ones are in use."))
        else:
            # A warning, because a note hides itself, and the user may not have looked at the window.
            self._banner.show_warning(error.message, error.hint)
        self.session.refresh()

    def _on_removed(self, mount_point: str, report: SavedEntryReport) -> None:
        details = self.tr("The file as it was: {path}").format(path=report.backup)
        message = self.tr("{path} is not saved any more.").format(path=mount_point)
        self._banner.show_information(message, details)
        self.session.refresh()

    def _on_stuck(self, mount_point: str, error: AppError) -> None:
        """Show a failed unmount, and offer to detach a busy mount, or to force the unmount otherwise."""
        if error.kind is ErrorKind.BUSY:
            text, ask = self.tr("De&tach…"), self._detail.ask_detach
        else:
            text, ask = self.tr("&Force…"), self._detail.ask_force
        self._banner.show_error(error, text, partial(ask, mount_point))

    def _draft(self, share: str, mount_point: str) -> None:
        """Show the form of a new mount, filled with the stored draft if there is one."""
        self._drafting = True
        self._mounts.clear_choice()
        before = self._drafts.get(self.session.key, None)
        self._detail.show_draft(share, mount_point)
        if before is not None:
            self._detail.settings.restore(before)
        self._request_facts()
        self._show_page(self._detail)

    def _on_drafts_loaded(self) -> None:
        before = self._drafts.get(self.session.key, None)
        if self._drafting and before is not None and self._detail.settings.unfinished is None:
            self._detail.settings.restore(before)
        self._show_draft_row()

    def _leave_draft(self) -> None:
        """Hide the form of a new mount, and show the first mount or the welcome page."""
        self._drafting = False
        if self._table is not None and self._table.mounts:
            self._mounts.choose_first()
        elif self.session.key == LOCAL:
            self._show_page(self._welcome_page)
        else:
            self._on_no_mounts(first=True)

    def _on_edited(self) -> None:
        """Store the edited form as a draft until it is applied or discarded."""
        place = None if self._drafting else self._detail.place
        self._drafts.keep(self.session.key, place, self._detail.settings.unfinished)
        self._show_draft_row()
        if self._drafting:
            self._facts_loader.follow_options(self._detail.settings.request().options)

    def _on_discarded(self) -> None:
        self._drafts.keep(self.session.key, None, None)
        self._leave_draft()
        self._show_draft_row()

    def _drop_applied_draft(self) -> None:
        """Delete the draft of the form, because its settings were applied."""
        place = None if self._drafting else self._detail.place
        self._drafts.keep(self.session.key, place, None)
        self._drafting = False

    def _show_draft_row(self) -> None:
        state = self._drafts.get(self.session.key, None)
        name = None if state is None else (state.share.strip() or state.mount_point.strip())
        self._mounts.show_draft(name, chosen=self._drafting)
        self._mounts.setVisible(self._has_rows() and self._pages.currentWidget() is not self._connecting_page)

    def _has_rows(self) -> bool:
        mounts = self._table is not None and bool(self._table.mounts)
        return mounts or self._drafts.get(self.session.key, None) is not None

    def _request_facts(self) -> None:
        mount = self._mounts.current()
        if mount is not None and self.session.hello is not None:
            self._facts_loader.ask(mount.share)
        elif self._drafting and self.session.hello is not None:
            self._facts_loader.ask_client(self._detail.settings.request().options)
        else:
            self._facts_loader.reset()

    # Commands

    def _on_new(self) -> None:
        hello = self.session.hello
        if hello is None:
            return
        share = hello.share if hello.lab else ""
        self._draft(share, "")

    def _on_mount_share(self) -> None:
        """Open the small dialog for a new mount, with the stored draft if there is one."""
        hello = self.session.hello
        if hello is not None:
            share = hello.share if hello.lab else ""
            draft = self._drafts.get(self.session.key, None)
            self._open_mount_share(draft or FormState(share, "", DEFAULT_OPTIONS))

    def _on_server(self, server: str) -> None:
        """Open the dialog for a mount of a server that was found."""
        self._open_mount_share(FormState(f"{server_in_share(server)}:", "", DEFAULT_OPTIONS))

    def _open_mount_share(self, state: FormState) -> None:
        if self.session.hello is None or self._mount_share is not None:
            return
        blocked = self.tr("Something else is running on this host. Wait until it has finished, or stop it.")
        dialog = MountShareDialog(
            self, self.session.submit, state, self._table.mounts if self._table is not None else [],
            blocked if self._detail.busy else "",
        )  # fmt: skip
        self._mount_share = dialog
        dialog.edited.connect(self._on_share_edited)
        dialog.all_options_wanted.connect(self._on_all_options)
        dialog.mounted.connect(self._on_share_mounted)
        dialog.finished.connect(self._on_mount_share_closed)
        dialog.open()

    def _on_share_edited(self, state: FormState) -> None:
        """Store what the dialog contains as the draft, which outlives the dialog."""
        empty = not (state.share or state.mount_point) and state.options == DEFAULT_OPTIONS
        self._drafts.keep(self.session.key, None, None if empty else state)
        if self._drafting:
            self._detail.settings.restore(state)
        self._show_draft_row()

    def _on_all_options(self) -> None:
        self._on_new()
        self._detail.settings.show_only(ShownOptions.ALL)

    def _on_share_mounted(self, report: ApplyReport) -> None:
        self._drafts.keep(self.session.key, None, None)
        self._drafting = False
        self._on_applied(report)

    def _on_mount_share_closed(self, _result: int) -> None:
        self._mount_share = None

    def _on_paste(self) -> None:
        if self.session.hello is not None and not self._detail.busy:
            self._paste_controller.ask()

    def _on_export(self) -> None:
        hello = self.session.hello
        if hello is not None and self._table is not None:
            self._import_export.export(self._table, hello.host)

    def _on_import(self) -> None:
        if self.session.hello is not None and not self._detail.busy:
            self._import_export.take_in()

    def _on_pasted(self, entry: MountSpec) -> None:
        """Put a pasted entry into the form of its mount if it is listed, otherwise into a new one."""
        share = str(entry.share)
        if not self._mounts.choose(share, entry.mount_point):
            self._draft(share, entry.mount_point)
        self._detail.settings.load_entry(share, entry.mount_point, str(entry.options))

    def _on_imported(self, entry: ForeignEntry, options: str) -> None:
        """Put a saved entry of another program into the form of a new mount; nothing is written."""
        self._draft(entry.share, entry.mount_point)
        self._detail.settings.load_entry(entry.share, entry.mount_point, options)

    def _on_copy_as(self, dialect: str) -> None:
        request = self._detail.settings.request()
        place = (request.share, request.mount_point, request.options)
        CopyAsDialog(self, place, dialect, self.bridge.run).open()

    def _on_refresh(self) -> None:
        self.session.refresh()
        self._request_facts()

    def _on_unmount(self) -> None:
        if self._pages.currentWidget() is self._detail:
            self._detail.ask_unmount()

    def _on_dismiss(self) -> None:
        if not self._banner.isHidden():
            self._banner.dismiss()
        elif self._drafting and self._detail.settings.unfinished is None:
            # Esc leaves only an empty form, because the key may be pressed by mistake.
            has_mounts = self._table is not None and bool(self._table.mounts)
            if has_mounts or self.session.key == LOCAL:
                self._leave_draft()

    def _on_palette(self) -> None:
        from ui.menu.command_palette import CommandPalette

        CommandPalette(self, self._commands()).open()

    def _commands(self) -> list[tuple[str, QAction]]:
        """Return the commands of the window and of the page that is shown, with their texts."""
        from ui.menu.command_palette import usable_commands

        not_needed = {self._actions[Command.PALETTE], self._actions[Command.DISMISS]}
        actions = [action for action in self.actions() if action not in not_needed]
        if self._pages.currentWidget() is self._detail:
            actions += self._detail.commands()
        return usable_commands(actions)

    def _on_preferences(self) -> None:
        from ui.menu.preferences import PreferencesDialog

        PreferencesDialog(self, self._appearance, self._on_appearance, self.notify_switch).open()

    def _on_appearance(self, appearance: Appearance) -> None:
        self._appearance = appearance
        self._choose_appearance(appearance)

    def _on_shortcuts(self) -> None:
        from ui.menu.shortcuts import ShortcutsDialog

        ShortcutsDialog(self).open()

    def _on_help(self) -> None:
        """Show the help of the place where the user is."""
        if self._help is None:
            from ui.menu.help import HelpDialog

            self._help = HelpDialog(self, self.bridge.run)
        self._help.show_page("user-guide", self._help_section())
        self._help.show()
        self._help.raise_()
        self._help.activateWindow()

    def _help_section(self) -> str:
        """Return the heading of the user guide for what is shown."""
        if self._pages.currentWidget() is not self._detail:
            return ""
        return self._detail.help_section

    def _on_about(self) -> None:
        from ui.menu.about import AboutDialog

        AboutDialog(self).open()

    def _on_notify_toggled(self, on: bool) -> None:  # noqa: FBT001 - a slot
        self.notifications.enabled = on

    def _on_quit(self) -> None:
        self.close()

    def _show_page(self, page: QWidget) -> None:
        hello = self.session.hello
        if page is self._welcome_page and page is not self._pages.currentWidget() and hello is not None:
            self._welcome_page.look_for_servers(hello)
        self._pages.setCurrentWidget(page)
        self._show_draft_row()
        self._actions[Command.NEW].setEnabled(page is not self._connecting_page)
        self._actions[Command.PASTE].setEnabled(page is not self._connecting_page)
        self._actions[Command.REFRESH].setEnabled(page is not self._connecting_page)
        self._actions[Command.IMPORT].setEnabled(page is not self._connecting_page)
        has_mounts = self._table is not None and bool(self._table.mounts)
        self._actions[Command.EXPORT].setEnabled(has_mounts and page is not self._connecting_page)
        mount = self._mounts.current()
        self._actions[Command.UNMOUNT].setEnabled(mount is not None and mount.active is not None)

    # Qt overrides

    def focusNextPrevChild(self, next: bool) -> bool:  # noqa: A002, FBT001 - Qt's signature
        """Qt: Tab visits the controls as they stand in the window."""
        central = self.centralWidget()
        return central is not None and move_focus(central, forward=next)

    def closeEvent(self, event: QCloseEvent) -> None:
        """Qt: save the drafts, close the host, and wait some seconds for that."""
        if not self._closed:
            self._closed = True
            self.hide()  # the rest may take seconds
            self._drafts.finish()
            self._detail.reset()
            self.session.close(_CLOSE_WAIT_S)
            self.bridge.close()
        super().closeEvent(event)
