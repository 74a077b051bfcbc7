"""Mounting and unmounting: one at a time, in the background."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from PySide6.QtCore import QObject, Signal

from app.errors import AppError, ErrorKind
from app.service.protocol import LinkHomeArgs, UnmountArgs

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import MountReport
    from ui.common.bridge import BridgeCall
    from ui.common.mount_request import Wish


#: Failures of an unmount that the person may overrule.
_STUCK = frozenset({ErrorKind.BUSY, ErrorKind.NOT_RESPONDING})
#: Refusals that an administrator may overcome.
_APPROVABLE = frozenset(
    {ErrorKind.MOUNT_POINT_RESTRICTED, ErrorKind.MOUNT_NOT_YOURS, ErrorKind.OPTION_RESERVED}
)


class Mounting(QObject):
    """Does one thing at a time.

    Signals:
        busy: a sentence about what is being done, "" when it ended.
        mounted: the Wish and its MountReport.
        unmounted: the mount point.
        failed: the AppError.
        stuck: the mount point and the AppError of an unmount that can be forced.
        mount_restricted: the Wish and the AppError of a mount that an administrator may approve by itself.
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

    def mount(self, wish: Wish, *, approved: bool = False, link: str = "") -> None:
        """Mount the share; ``approved`` asks an administrator, ``link`` is a path to make a link to it at."""
        text = self.tr("Mounting {share}…").format(share=wish.share)
        args = msgspec.structs.replace(wish.args(), approved=approved)
        call = self._start("mounts.mount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._on_mounted, call, wish, link))
            call.failed.connect(partial(self._on_mount_failed, call, None if approved else wish))

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

    def forget(self) -> None:
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

    def _on_mounted(self, call: BridgeCall, wish: Wish, link: str, report: MountReport) -> None:
        if not self._end(call):
            return
        self.mounted.emit(wish, report)
        if link:
            made = self._start("mounts.link", LinkHomeArgs(path=link, target=wish.mount_point), "")
            if made is not None:
                made.succeeded.connect(partial(self._on_linked, made))
                made.failed.connect(partial(self._on_mount_failed, made, None))

    def _on_linked(self, call: BridgeCall, _result: object) -> None:
        self._end(call)

    def _on_mount_failed(self, call: BridgeCall, wish: Wish | None, error: AppError) -> None:
        if not self._end(call):
            return
        if wish is not None and error.kind in _APPROVABLE:
            self.mount_restricted.emit(wish, error)
        else:
            self.failed.emit(error)

    def _on_unmounted(self, call: BridgeCall, mount_point: str, _result: object) -> None:
        if self._end(call):
            self.unmounted.emit(mount_point)

    def _on_unmount_failed(self, call: BridgeCall, args: UnmountArgs, error: AppError) -> None:
        if not self._end(call):
            return
        if error.kind in _APPROVABLE and not args.approved:
            self.unmount_restricted.emit(args, error)
        elif error.kind in _STUCK and not args.lazy and not (args.force and error.kind is not ErrorKind.BUSY):
            self.stuck.emit(args.mount_point, error)
        else:
            self.failed.emit(error)
