"""The question before an administrator is asked: why, what a mount hides, and who uses that directory."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from app.errors import AppError
from app.service.protocol import ApprovalArgs
from ui.dialogs.confirm import confirm

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from app.service.protocol import ApprovalResult, UnmountArgs
    from ui.common.bridge import BridgeCall
    from ui.common.mount_request import Wish
    from ui.mounts.actions import Mounting


class ApprovalAsking(QObject):
    """Asks above a window, and mounts or unmounts after a yes.

    Args:
        submit: asks the host.
        mounting: mounts and unmounts; it tells what has to be approved.
        widget: in the window.
    """

    def __init__(self, submit: Callable[[str, Any], BridgeCall], mounting: Mounting, widget: QWidget) -> None:
        super().__init__(widget)
        self._submit = submit
        self._mounting = mounting
        self._widget = widget
        mounting.mount_restricted.connect(self._ask_mount)
        mounting.unmount_restricted.connect(self._ask_unmount)

    def _ask_mount(self, wish: Wish, error: AppError) -> None:
        args = ApprovalArgs(share=wish.share, mount_point=wish.mount_point, options=wish.options)
        self._look(args, partial(self._on_mount_found, wish, error))

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

    def _on_mount_found(self, wish: Wish, error: AppError, found: ApprovalResult) -> None:
        if found.instead:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}, with a link?").format(share=wish.share, path=found.instead),
                "\n\n".join(found.text),
                self.tr("&Mount and Link"),
                lambda: self._mounting.mount(replace(wish, mount_point=found.instead), link=wish.mount_point),
            )
        else:
            confirm(
                self._widget.window(),
                self.tr("Mount {share} at {path}?").format(share=wish.share, path=wish.mount_point),
                "\n\n".join(found.text or [error.message]),
                self.tr("&Ask Administrator"),
                lambda: self._mounting.mount(wish, approved=True),
            )

    def _on_unmount_found(self, args: UnmountArgs, error: AppError, found: ApprovalResult) -> None:
        confirm(
            self._widget.window(),
            self.tr("Unmount {path}?").format(path=args.mount_point),
            "\n\n".join(found.text or [error.message]),
            self.tr("&Ask Administrator"),
            lambda: self._mounting.unmount(args.mount_point, force=args.force, lazy=args.lazy, approved=True),
        )
