"""The questions before a mount goes: gently, out of sight of those who use it, or by force."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from ui.approval_asking import ApprovalAsking
from ui.dialogs.confirm import confirm

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QWidget

    from ui.common.bridge import BridgeCall
    from ui.mounts.actions import Mounting


class UnmountAsking(QObject):
    """Asks above a window, and unmounts after a yes.

    Args:
        mounting: unmounts.
        widget: in the window.
        submit: asks the host, what an administrator has to approve.
    """

    def __init__(self, mounting: Mounting, widget: QWidget, submit: Callable[[str, Any], BridgeCall]) -> None:
        super().__init__(widget)
        self._approving = ApprovalAsking(submit, mounting, widget)
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
