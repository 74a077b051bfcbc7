"""Mount actions: mount, unmount, and remove from fstab, each with its confirmation dialog.

A lazy or forced unmount has its own confirmation. The polkit dialog of an action that an administrator has to
approve appears only after the user confirmed the action.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.mounts.change_model import RemoveArgs
from app.mounts.change_text import approval_sentences
from app.service.protocol import ApprovalArgs, LinkHomeArgs, UnmountArgs
from ui.common.bridge import LatestCall
from ui.common.dialogs import add_buttons, confirm, fit_to_text
from ui.common.labels import heading, plain_label
from ui.common.message_list import MessageList
from ui.common.text_view import TextView

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import MountReport, SavedEntryReport
    from app.service.protocol import ApprovalResult
    from ui.common.bridge import BridgeCall
    from ui.common.mount_request import MountRequest

#: Errors of an unmount after which a lazy or forced unmount is offered.
_FORCIBLE_ERRORS = frozenset({ErrorKind.BUSY, ErrorKind.NOT_RESPONDING})
#: Errors after which the same action can be repeated with an administrator's approval.
_APPROVABLE_ERRORS = frozenset(
    {ErrorKind.MOUNT_POINT_RESTRICTED, ErrorKind.MOUNT_NOT_YOURS, ErrorKind.OPTION_RESERVED}
)


class MountController(QObject):
    """Sends mount and unmount requests to the agent, one at a time.

    Signals:
        busy: a sentence that names the running action, or "" when it ended.
        mounted: the MountRequest of a successful mount and its MountReport.
        unmounted: the mount point of a successful unmount.
        failed: the AppError of a failed action.
        stuck: the mount point and the AppError of a failed unmount that can be forced or detached.
        mount_restricted: the MountRequest and the AppError of a mount that needs an administrator's approval.
        unmount_restricted: the UnmountArgs and the AppError of an unmount that needs an administrator's
            approval.
    """

    busy = Signal(str)
    mounted = Signal(object, object)
    unmounted = Signal(str)
    failed = Signal(object)
    stuck = Signal(str, object)
    mount_restricted = Signal(object, object)
    unmount_restricted = Signal(object, object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._call: BridgeCall | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a mount or an unmount is running."""
        return self._call is not None

    def mount(self, request: MountRequest, *, approved: bool = False, link: str = "") -> None:
        """Mount a share.

        Args:
            request: share, mount point and options.
            approved: the mount needs an administrator's approval, and the user confirmed it.
            link: path of a symbolic link to the mount point, created after the mount; "" for none.
        """
        text = self.tr("Mounting {share}…").format(share=request.share)
        args = msgspec.structs.replace(request.args(), approved=approved)
        call = self._start("mounts.mount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._on_mounted, call, request, link))
            call.failed.connect(partial(self._on_mount_failed, call, None if approved else request))

    def unmount(
        self, mount_point: str, *, force: bool = False, lazy: bool = False, approved: bool = False
    ) -> None:
        """Unmount a mount point.

        Args:
            mount_point: absolute path.
            force: abort the requests that wait for the server (``umount -f``).
            lazy: detach now and release the mount when it is no longer in use (``umount -l``).
            approved: the unmount needs an administrator's approval, and the user confirmed it.
        """
        args = UnmountArgs(mount_point=mount_point, force=force, lazy=lazy, approved=approved)
        text = self.tr("Unmounting {path}…").format(path=mount_point)
        call = self._start("mounts.unmount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._on_unmounted, call, mount_point))
            call.failed.connect(partial(self._on_unmount_failed, call, args))

    def cancel(self) -> None:
        """Cancel the running action."""
        if self._call is not None:
            self._call.cancel()

    def reset(self) -> None:
        """Stop tracking the running action, because the connection to the host is closed."""
        self._call = None
        self.busy.emit("")

    def _start(self, verb: str, args: Any, text: str) -> BridgeCall | None:
        if self._call is not None:
            return None
        try:
            call = self._submit(verb, args)
        except AppError as error:
            self.failed.emit(error)
            return None
        self._call = call
        self.busy.emit(text)
        return call

    # After reset(), answers of the previous host must not be reported for the next one.

    def _end(self, call: BridgeCall) -> bool:
        """End the running action; return False if ``call`` belongs to an earlier one."""
        if call is not self._call:
            return False
        self._call = None
        self.busy.emit("")
        return True

    def _on_mounted(self, call: BridgeCall, request: MountRequest, link: str, report: MountReport) -> None:
        if not self._end(call):
            return
        self.mounted.emit(request, report)
        if link:
            link_call = self._start("mounts.link", LinkHomeArgs(path=link, target=request.mount_point), "")
            if link_call is not None:
                link_call.succeeded.connect(partial(self._on_linked, link_call))
                link_call.failed.connect(partial(self._on_mount_failed, link_call, None))

    def _on_linked(self, call: BridgeCall, _result: object) -> None:
        self._end(call)

    def _on_mount_failed(self, call: BridgeCall, request: MountRequest | None, error: AppError) -> None:
        if not self._end(call):
            return
        if request is not None and error.kind in _APPROVABLE_ERRORS:
            self.mount_restricted.emit(request, error)
        else:
            self.failed.emit(error)

    def _on_unmounted(self, call: BridgeCall, mount_point: str, _result: object) -> None:
        if self._end(call):
            self.unmounted.emit(mount_point)

    def _on_unmount_failed(self, call: BridgeCall, args: UnmountArgs, error: AppError) -> None:
        if not self._end(call):
            return
        if error.kind in _APPROVABLE_ERRORS and not args.approved:
            self.unmount_restricted.emit(args, error)
        elif (
            error.kind in _FORCIBLE_ERRORS
            and not args.lazy
            and not (args.force and error.kind is not ErrorKind.BUSY)
        ):
            self.stuck.emit(args.mount_point, error)
        else:
            self.failed.emit(error)


class ApprovalPrompt(QObject):
    """Confirms mounts and unmounts that need an administrator's approval, then repeats them with it.

    Args:
        submit: sends a request to the agent.
        mounting: runs the actions; its ``*_restricted`` signals start the confirmation.
        widget: any widget of the window above which the dialogs open.
    """

    def __init__(
        self, submit: Callable[[str, Any], BridgeCall], mounting: MountController, widget: QWidget
    ) -> None:
        super().__init__(widget)
        self._submit = submit
        self._mounting = mounting
        self._widget = widget
        mounting.mount_restricted.connect(self._ask_mount)
        mounting.unmount_restricted.connect(self._ask_unmount)

    def _ask_mount(self, request: MountRequest, error: AppError) -> None:
        args = ApprovalArgs(share=request.share, mount_point=request.mount_point, options=request.options)
        self._request_approval(args, partial(self._confirm_mount, request, error))

    def _ask_unmount(self, args: UnmountArgs, error: AppError) -> None:
        query = ApprovalArgs(mount_point=args.mount_point)
        self._request_approval(query, partial(self._confirm_unmount, args, error))

    def _request_approval(self, args: ApprovalArgs, on_answer: Callable[[ApprovalResult], None]) -> None:
        try:
            call = self._submit("mounts.approval", args)
        except AppError as error:
            self._mounting.failed.emit(error)
            return
        call.succeeded.connect(on_answer)
        call.failed.connect(self._mounting.failed)

    def _confirm_mount(self, request: MountRequest, error: AppError, approval: ApprovalResult) -> None:
        if approval.instead:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}, with a link?").format(
                    share=request.share, path=approval.instead
                ),
                "\n\n".join(approval.text),
                self.tr("&Mount and Link"),
                lambda: self._mounting.mount(
                    replace(request, mount_point=approval.instead), link=request.mount_point
                ),
            )
        else:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}?").format(share=request.share, path=request.mount_point),
                "\n\n".join(approval.text or [error.message]),
                self.tr("&Ask Administrator"),
                lambda: self._mounting.mount(request, approved=True),
            )

    def _confirm_unmount(self, args: UnmountArgs, error: AppError, approval: ApprovalResult) -> None:
        confirm(
            self._widget.window(),
            self.tr("Unmount {path}?").format(path=args.mount_point),
            "\n\n".join(approval.text or [error.message]),
            self.tr("&Ask Administrator"),
            lambda: self._mounting.unmount(args.mount_point, force=args.force, lazy=args.lazy, approved=True),
        )


class UnmountPrompt(QObject):
    """Confirms an unmount, a detach or a forced unmount, then starts it.

    Args:
        mounting: runs the unmount.
        widget: any widget of the window above which the dialogs open.
        submit: sends a request to the agent; used to learn what needs an administrator's approval.
    """

    def __init__(
        self, mounting: MountController, widget: QWidget, submit: Callable[[str, Any], BridgeCall]
    ) -> None:
        super().__init__(widget)
        self._approval_prompt = ApprovalPrompt(submit, mounting, widget)
        self._mounting = mounting
        self._widget = widget

    def unmount(self, mount_point: str) -> None:
        """Confirm, then unmount."""
        confirm(
            self._widget.window(),
            self.tr("Unmount {path}?").format(path=mount_point),
            self.tr("Programs that use files there will not find them until it is mounted again."),
            self.tr("&Unmount"),
            lambda: self._mounting.unmount(mount_point),
        )

    def detach(self, mount_point: str) -> None:
        """Confirm, then detach a busy mount (lazy unmount)."""
        confirm(
            self._widget.window(),
            self.tr("Detach {path} although it is in use?").format(path=mount_point),
            self.tr("It disappears at once. Programs that have files open there keep them until they close "
                    "them, and until then a new mount of the same share may keep the old settings."),
            self.tr("&Detach"),
            lambda: self._mounting.unmount(mount_point, lazy=True),
        )  # fmt: skip

    def force(self, mount_point: str) -> None:
        """Confirm, then force the unmount of a mount whose server does not respond."""
        confirm(
            self._widget.window(),
            self.tr("Force {path} off although its server does not answer?").format(path=mount_point),
            self.tr("What programs have written there and the server has not confirmed is lost, and programs "
                    "that use files there get errors."),
            self.tr("&Force"),
            lambda: self._mounting.unmount(mount_point, force=True),
        )  # fmt: skip


class RemoveDialog(QDialog):
    """Preview of the removal of a mount from fstab or of its systemd units.

    Args:
        parent: the window.
        mount_point: mount point of the saved entry.
        report: preview of the removal, with the difference of the files.
        active: whether the share is mounted now.
        in_fstab: whether the entry is in fstab; otherwise it is a pair of systemd units.

    Signals:
        agreed: the user confirmed the removal.
    """

    agreed = Signal()

    def __init__(
        self, parent: QWidget, mount_point: str, report: SavedEntryReport, *, active: bool, in_fstab: bool
    ) -> None:
        super().__init__(parent)
        self.setObjectName("forget-dialog")
        title = self.tr("Remove {path} from fstab?") if in_fstab else self.tr("Remove the units of {path}?")
        title = title.format(path=mount_point)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        diff = TextView(self.tr("Change of the files"), lines=14, diff=True)
        diff.setObjectName("forget-diff")
        diff.show_text(report.diff + (report.readahead.diff if report.readahead is not None else ""))
        warnings = MessageList("", "warn")
        approval = approval_sentences(report.approval) if report.approval is not None else []
        warnings.show_sentences([*approval, *report.warnings])
        consequence = self.tr("It will not be mounted at boot.")
        if active:
            consequence = self.tr(
                "It stays mounted until you unmount it or shut down the computer. "
                "It will not be mounted at boot."
            )
        do = QPushButton(self.tr("&Remove"))
        do.setObjectName("forget-do")
        do.clicked.connect(self._on_confirmed)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(title, scale=1.3))
        layout.addWidget(plain_label(consequence, wrap=True))
        layout.addWidget(plain_label(self.tr("The file as it is now is saved as a copy."), wrap=True))
        if report.readahead is not None:
            note = self.tr("The saved readahead is removed with it.")
            layout.addWidget(plain_label(note, wrap=True))
        layout.addWidget(diff)
        layout.addWidget(warnings)
        add_buttons(self, layout, self.tr("&Cancel"), [do], None)
        fit_to_text(self, 104)

    def _on_confirmed(self) -> None:
        self.accept()
        self.agreed.emit()


class RemoveController(QObject):
    """Removes saved mounts, one at a time, each after its preview was confirmed.

    Signals:
        changed: the value of :attr:`is_busy` may have changed.
        removed: the mount point and the SavedEntryReport of the removal.
        failed: the AppError of a failed preview or removal.
    """

    changed = Signal()
    removed = Signal(str, object)
    failed = Signal(object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._call = LatestCall(submit)
        self._dialog: RemoveDialog | None = None
        self._writing = False

    @property
    def is_busy(self) -> bool:
        """Whether a removal is running."""
        return self._writing

    def ask(self, window: QWidget, mount_point: str, *, active: bool, in_fstab: bool) -> None:
        """Show the preview of a removal; does nothing while a preview is open or a removal is running."""
        if self._dialog is None and not self._writing:
            args = RemoveArgs(mount_point=mount_point, preview=True)
            show = partial(self._on_preview, window, args, {"active": active, "in_fstab": in_fstab})
            self._start(args, show)

    def reset(self) -> None:
        """Close the preview and stop waiting for answers, because the connection to the host is closed."""
        self._end()
        if self._dialog is not None:
            self._dialog.reject()

    def _start(self, args: RemoveArgs, then: Callable[[SavedEntryReport], None]) -> None:
        if self._call.ask("mounts.forget", args, partial(self._on_answer, then), self._on_failed):
            self._writing = not args.preview
            self.changed.emit()

    def _on_answer(self, then: Callable[[SavedEntryReport], None], report: SavedEntryReport) -> None:
        self._end()
        then(report)

    def _on_failed(self, error: AppError) -> None:
        self._end()
        self.failed.emit(error)

    def _end(self) -> None:
        self._call.reset()
        self._writing = False
        self.changed.emit()

    def _on_preview(
        self, window: QWidget, args: RemoveArgs, saved: dict[str, bool], report: SavedEntryReport
    ) -> None:
        dialog = RemoveDialog(window, args.mount_point, report, **saved)
        self._dialog = dialog
        # The removal fails if fstab changed since the preview: the user confirmed that preview only.
        approved = report.approval is not None
        real = msgspec.structs.replace(args, preview=False, expected_sha256=report.sha256, approved=approved)
        dialog.agreed.connect(partial(self._start, real, partial(self.removed.emit, args.mount_point)))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None
