"""Mount actions: mount, unmount, and remove from fstab, each with the questions before it.

An unmount detaches or forces only after a question of its own; what an administrator has to approve is asked
for after a yes alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QPushButton, QVBoxLayout, QWidget

from app.errors import AppError, ErrorKind
from app.mounts.approval import approval_sentences
from app.mounts.change_model import RemoveArgs
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

#: Failures of an unmount that the person may overrule.
_FORCIBLE_ERRORS = frozenset({ErrorKind.BUSY, ErrorKind.NOT_RESPONDING})
#: Refusals that an administrator may overcome.
_APPROVABLE_ERRORS = frozenset(
    {ErrorKind.MOUNT_POINT_RESTRICTED, ErrorKind.MOUNT_NOT_YOURS, ErrorKind.OPTION_RESERVED}
)


class MountController(QObject):
    """Does one thing at a time.

    Signals:
        busy: a sentence about what is being done, "" when it ended.
        mounted: the MountRequest and its MountReport.
        unmounted: the mount point.
        failed: the AppError.
        stuck: the mount point and the AppError of an unmount that can be forced.
        mount_restricted: the MountRequest and the AppError of a mount that an administrator may approve.
        unmount_restricted: the UnmountArgs and the AppError, likewise.
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
        """Whether something is being done."""
        return self._call is not None

    def mount(self, request: MountRequest, *, approved: bool = False, link: str = "") -> None:
        """Mount the share; ``approved`` asks an administrator, ``link`` is a path to make a link to it at."""
        text = self.tr("Mounting {share}…").format(share=request.share)
        args = msgspec.structs.replace(request.args(), approved=approved)
        call = self._start("mounts.mount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._on_mounted, call, request, link))
            call.failed.connect(partial(self._on_mount_failed, call, None if approved else request))

    def unmount(
        self, mount_point: str, *, force: bool = False, lazy: bool = False, approved: bool = False
    ) -> None:
        """Unmount; ``force`` gives up what waits for the server, ``lazy`` detaches at once."""
        args = UnmountArgs(mount_point=mount_point, force=force, lazy=lazy, approved=approved)
        text = self.tr("Unmounting {path}…").format(path=mount_point)
        call = self._start("mounts.unmount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._on_unmounted, call, mount_point))
            call.failed.connect(partial(self._on_unmount_failed, call, args))

    def cancel(self) -> None:
        """Cancel what is being done."""
        if self._call is not None:
            self._call.cancel()

    def reset(self) -> None:
        """The host is gone, and what was being done with it."""
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

    # What belongs to a host that was forgotten is not told of the next one.

    def _end(self, call: BridgeCall) -> bool:
        """Return whether it is what was being done, which is over now."""
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
            made = self._start("mounts.link", LinkHomeArgs(path=link, target=request.mount_point), "")
            if made is not None:
                made.succeeded.connect(partial(self._on_linked, made))
                made.failed.connect(partial(self._on_mount_failed, made, None))

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
    """Asks above a window, and mounts or unmounts after a yes.

    Args:
        submit: asks the host.
        mounting: mounts and unmounts; it tells what has to be approved.
        widget: in the window.
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
        self._look(args, partial(self._on_mount_found, request, error))

    def _ask_unmount(self, args: UnmountArgs, error: AppError) -> None:
        query = ApprovalArgs(mount_point=args.mount_point)
        self._look(query, partial(self._on_unmount_found, args, error))

    def _look(self, args: ApprovalArgs, found: Callable[[ApprovalResult], None]) -> None:
        try:
            call = self._submit("mounts.approval", args)
        except AppError as error:
            self._mounting.failed.emit(error)
            return
        call.succeeded.connect(found)
        call.failed.connect(self._mounting.failed)

    def _on_mount_found(self, request: MountRequest, error: AppError, found: ApprovalResult) -> None:
        if found.instead:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}, with a link?").format(
                    share=request.share, path=found.instead
                ),
                "\n\n".join(found.text),
                self.tr("&Mount and Link"),
                lambda: self._mounting.mount(
                    replace(request, mount_point=found.instead), link=request.mount_point
                ),
            )
        else:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}?").format(share=request.share, path=request.mount_point),
                "\n\n".join(found.text or [error.message]),
                self.tr("&Ask Administrator"),
                lambda: self._mounting.mount(request, approved=True),
            )

    def _on_unmount_found(self, args: UnmountArgs, error: AppError, found: ApprovalResult) -> None:
        confirm(
            self._widget.window(),
            self.tr("Unmount {path}?").format(path=args.mount_point),
            "\n\n".join(found.text or [error.message]),
            self.tr("&Ask Administrator"),
            lambda: self._mounting.unmount(args.mount_point, force=args.force, lazy=args.lazy, approved=True),
        )


class UnmountPrompt(QObject):
    """Asks above a window, and unmounts after a yes.

    Args:
        mounting: unmounts.
        widget: in the window.
        submit: asks the host, what an administrator has to approve.
    """

    def __init__(
        self, mounting: MountController, widget: QWidget, submit: Callable[[str, Any], BridgeCall]
    ) -> None:
        super().__init__(widget)
        self._approving = ApprovalPrompt(submit, mounting, widget)
        self._mounting = mounting
        self._widget = widget

    def unmount(self, mount_point: str) -> None:
        """Ask, then unmount it."""
        confirm(
            self._widget.window(),
            self.tr("Unmount {path}?").format(path=mount_point),
            self.tr("Programs that use files there will not find them until it is mounted again."),
            self.tr("&Unmount"),
            lambda: self._mounting.unmount(mount_point),
        )

    def detach(self, mount_point: str) -> None:
        """Ask, then take a busy mount out of sight and let its users finish."""
        confirm(
            self._widget.window(),
            self.tr("Detach {path} although it is in use?").format(path=mount_point),
            self.tr("It disappears at once. Programs that have files open there keep them until they close "
                    "them, and until then a new mount of the same share may keep the old settings."),
            self.tr("&Detach"),
            lambda: self._mounting.unmount(mount_point, lazy=True),
        )  # fmt: skip

    def force(self, mount_point: str) -> None:
        """Ask, then give up on a server that does not answer."""
        confirm(
            self._widget.window(),
            self.tr("Force {path} off although its server does not answer?").format(path=mount_point),
            self.tr("What programs have written there and the server has not confirmed is lost, and programs "
                    "that use files there get errors."),
            self.tr("&Force"),
            lambda: self._mounting.unmount(mount_point, force=True),
        )  # fmt: skip


class RemoveDialog(QDialog):
    """Shows the change of fstab.

    Args:
        parent: the window.
        mount_point: whose entry it is.
        report: the preview.
        active: whether it is mounted now.

    Signals:
        agreed: the person wants it.
    """

    agreed = Signal()

    def __init__(self, parent: QWidget, mount_point: str, report: SavedEntryReport, *, active: bool) -> None:
        super().__init__(parent)
        self.setObjectName("forget-dialog")
        self.setWindowTitle(self.tr("Forget"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        diff = TextView(self.tr("What is taken out"), lines=14, diff=True)
        diff.setObjectName("forget-diff")
        diff.show_text(report.diff + (report.readahead.diff if report.readahead is not None else ""))
        warnings = MessageList("", "warn")
        approval = approval_sentences(report.approval) if report.approval is not None else []
        warnings.show_sentences([*approval, *report.warnings])
        consequence = self.tr("It will not be mounted by itself any more.")
        if active:
            consequence = self.tr("It stays mounted until it is unmounted or the computer shuts down, and "
                                  "will not be mounted again by itself.")  # fmt: skip
        do = QPushButton(self.tr("&Forget it"))
        do.setObjectName("forget-do")
        do.clicked.connect(self._on_do)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(18, 16, 18, 14)
        layout.setSpacing(10)
        layout.addWidget(heading(self.tr("Stop keeping {path}?").format(path=mount_point), scale=1.3))
        layout.addWidget(plain_label(consequence, wrap=True))
        layout.addWidget(plain_label(self.tr("A copy as it is now is kept."), wrap=True))
        if report.readahead is not None:
            told = self.tr("The saved readahead is removed with it.")
            layout.addWidget(plain_label(told, wrap=True))
        layout.addWidget(diff)
        layout.addWidget(warnings)
        add_buttons(self, layout, self.tr("&Cancel"), [do], None)
        fit_to_text(self, 104)

    def _on_do(self) -> None:
        self.accept()
        self.agreed.emit()


class RemoveController(QObject):
    """Takes one entry out at a time, after a yes.

    Signals:
        changed: whether an entry is being taken out is another answer now.
        forgotten: the mount point and the FstabReport of what was written.
        failed: the AppError.
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
        """Whether an entry is being taken out."""
        return self._writing

    def ask(self, window: QWidget, mount_point: str, *, active: bool) -> None:
        """Show what would be taken out, and ask; not while another entry is being taken out."""
        if self._dialog is None and not self._writing:
            args = RemoveArgs(mount_point=mount_point, preview=True)
            self._start(args, partial(self._on_preview, window, args, active))

    def reset(self) -> None:
        """The host is gone."""
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

    def _on_preview(self, window: QWidget, args: RemoveArgs, active: bool, report: SavedEntryReport) -> None:  # noqa: FBT001 - bound
        dialog = RemoveDialog(window, args.mount_point, report, active=active)
        self._dialog = dialog
        # The file has to be the one that was shown.
        approved = report.approval is not None
        real = msgspec.structs.replace(args, preview=False, expected_sha256=report.sha256, approved=approved)
        dialog.agreed.connect(partial(self._start, real, partial(self.removed.emit, args.mount_point)))
        dialog.finished.connect(self._on_closed)
        dialog.open()

    def _on_closed(self, _result: int) -> None:
        self._dialog = None
