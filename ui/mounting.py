"""Mounting, unmounting, and mounting again with other options: one at a time, in the background."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from app.agent.protocol import MountArgs, UnmountArgs
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import MountReport
    from ui.bridge import BridgeCall


#: Failures of an unmount that the person may overrule.
_STUCK = frozenset({ErrorKind.BUSY, ErrorKind.NOT_RESPONDING})


@dataclass(frozen=True, slots=True)
class Wish:
    """A mount as the person spelled it: share, mount point and option string."""

    share: str
    mount_point: str
    options: str

    def args(self) -> MountArgs:
        """Return it as the agent's verb takes it."""
        return MountArgs(share=self.share, mount_point=self.mount_point, options=self.options)


class Mounting(QObject):
    """Does one thing at a time.

    Signals:
        busy: a sentence about what is being done, "" when it ended.
        mounted: the Wish and its MountReport.
        unmounted: the mount point.
        failed: the AppError.
        stuck: the mount point and the AppError of an unmount that can be forced.
    """

    busy = Signal(str)
    mounted = Signal(object, object)
    unmounted = Signal(str)
    failed = Signal(object)
    stuck = Signal(str, object)

    def __init__(self, submit: Callable[[str, Any], BridgeCall], parent: QObject) -> None:
        super().__init__(parent)
        self._submit = submit
        self._call: BridgeCall | None = None

    @property
    def is_busy(self) -> bool:
        """Whether something is being done."""
        return self._call is not None

    def mount(self, wish: Wish) -> None:
        """Mount the share."""
        self._mount(wish, self._fail_plainly)

    def unmount(self, mount_point: str, *, force: bool = False, lazy: bool = False) -> None:
        """Unmount; ``force`` gives up what waits for the server, ``lazy`` detaches at once."""
        args = UnmountArgs(mount_point=mount_point, force=force, lazy=lazy)
        self._unmount(args, partial(self._on_unmounted, mount_point))

    def mount_again(self, old: Wish, new: Wish) -> None:
        """Unmount and mount with other options; if that fails, put the old mount back."""
        self._unmount(UnmountArgs(mount_point=old.mount_point), partial(self._after_unmount, old, new))

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

    def _end(self) -> None:
        self._call = None
        self.busy.emit("")

    def _mount(self, wish: Wish, on_failure: Callable[[AppError], None]) -> None:
        text = self.tr("Mounting {share}…").format(share=wish.share)
        call = self._start("mounts.mount", wish.args(), text)
        if call is not None:
            call.succeeded.connect(partial(self._on_mounted, wish))
            call.failed.connect(on_failure)

    def _unmount(self, args: UnmountArgs, then: Callable[[], None]) -> None:
        text = self.tr("Unmounting {path}…").format(path=args.mount_point)
        call = self._start("mounts.unmount", args, text)
        if call is not None:
            call.succeeded.connect(partial(self._then, then))
            call.failed.connect(partial(self._on_unmount_failed, args))

    def _then(self, then: Callable[[], None], _result: object) -> None:
        then()

    def _on_mounted(self, wish: Wish, report: MountReport) -> None:
        self._end()
        self.mounted.emit(wish, report)

    def _on_unmounted(self, mount_point: str) -> None:
        self._end()
        self.unmounted.emit(mount_point)

    def _on_unmount_failed(self, args: UnmountArgs, error: AppError) -> None:
        self._end()
        if error.kind in _STUCK and not (args.force or args.lazy):
            self.stuck.emit(args.mount_point, error)
        else:
            self.failed.emit(error)

    def _fail_plainly(self, error: AppError) -> None:
        self._end()
        self.failed.emit(error)

    def _after_unmount(self, old: Wish, new: Wish) -> None:
        self._end()
        self._mount(new, partial(self._put_back, old))

    def _put_back(self, old: Wish, error: AppError) -> None:
        self._end()
        # The person's error is the first one; what becomes of the old mount is told with it.
        text = self.tr("Putting {path} back as it was…").format(path=old.mount_point)
        call = self._start("mounts.mount", old.args(), text)
        if call is not None:
            call.succeeded.connect(partial(self._on_put_back, old, error))
            call.failed.connect(partial(self._on_put_back_failed, old, error))

    def _on_put_back(self, old: Wish, error: AppError, report: MountReport) -> None:
        self._end()
        self.mounted.emit(old, report)
        self._tell(error, self.tr("The mount is back as it was."))

    def _on_put_back_failed(self, old: Wish, error: AppError, second: AppError) -> None:
        self._end()
        sentence = self.tr("{path} could not be mounted again as it was either: {message}")
        self._tell(error, sentence.format(path=old.mount_point, message=second.message))

    def _tell(self, error: AppError, sentence: str) -> None:
        kind = ErrorKind.MOUNT_FAILED if error.kind is ErrorKind.CANCELLED else error.kind
        hint = f"{error.hint} {sentence}".strip()
        self.failed.emit(AppError(kind, error.message, hint=hint, detail=error.detail))
