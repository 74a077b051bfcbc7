"""Desktop notifications: one when a server stops answering, replaced by one when it answers again.

They go to the portal (org.freedesktop.portal.Notification) or, without one, to the notification service
(Desktop Notifications Specification 1.2). Its method Notify has an argument of type UINT32, which PySide6
cannot send, so busctl(1) calls it.
"""

from __future__ import annotations

import contextlib
import html
import os
import re
import threading
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from PySide6.QtCore import QObject
from PySide6.QtDBus import QDBusConnection, QDBusMessage, QDBusPendingCallWatcher

from app import process
from app.tasks import run_in_thread
from app.text.mounts import lasting_text
from ui.mounts.list_model import server_of

if TYPE_CHECKING:
    from app.mounts.model import Mount, MountTable

#: Name of the desktop file and of the icon, without extension.
DESKTOP_NAME = "org.mountwright.Mountwright"

#: D-Bus service, object path and interface of the portal.
_PORTAL = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
           "org.freedesktop.portal.Notification")  # fmt: skip
#: D-Bus service, object path and interface of the notification service.
_SERVICE = (
    "org.freedesktop.Notifications",
    "/org/freedesktop/Notifications",
    "org.freedesktop.Notifications",
)
#: Time limit of busctl, s.
_BUSCTL_TIMEOUT_S = 5.0
#: Maximum number of mount points in a notification.
_MAX_NAMES = 3


class Send(Protocol):
    """Function that shows a notification and replaces the one with the same name."""

    def __call__(self, name: str, title: str, body: str) -> None:
        """Show a notification with a title and a body, both plain text."""


class DesktopNotifications(QObject):
    """Sends desktop notifications; does nothing without a session bus or a notification service.

    Args:
        icon: URI of the icon.
        parent: Qt parent.
    """

    def __init__(self, icon: str, parent: QObject) -> None:
        super().__init__(parent)
        self._icon = icon
        self._lock = threading.Lock()
        #: Numbers that the notification service has assigned, by name of the notification.
        self._numbers: dict[str, int] = {}

    def send(self, name: str, title: str, body: str) -> None:
        """Show a notification, without waiting for the result."""
        if not _has_bus():
            return
        message = QDBusMessage.createMethodCall(*_PORTAL, "AddNotification")
        message.setArguments([name, {"title": title, "body": body}])
        call = QDBusConnection.sessionBus().asyncCall(message)
        watcher = QDBusPendingCallWatcher(call, self)
        watcher.finished.connect(partial(self._on_answer, watcher, name, title, body))

    def _on_answer(
        self, watcher: QDBusPendingCallWatcher, name: str, title: str, body: str, *_finished: object
    ) -> None:
        if watcher.isError():
            run_in_thread("notify", partial(self._send_to_service, name, title, body))
        watcher.deleteLater()

    def _send_to_service(self, name: str, title: str, body: str) -> None:
        """Call the service under a lock, because a replacement needs the number of the previous call."""
        with self._lock:
            number = _notify(self._numbers.get(name, 0), title, body, self._icon)
            if number:
                self._numbers[name] = number


class ServerNotifications(QObject):
    """Notifies about servers that stop answering or answer again, as seen in successive lists of mounts.

    Args:
        send: shows a notification.
        parent: Qt parent.

    Attributes:
        enabled: whether notifications are sent.
    """

    def __init__(self, send: Send, parent: QObject) -> None:
        super().__init__(parent)
        self.enabled = True
        self._send = send
        #: Silent servers and the time (Unix, s) since when, None if unknown; None before the first list.
        self._silent: dict[str, float | None] | None = None

    def reset(self) -> None:
        """Forget the last host's mounts: the first list of the next host causes no notification."""
        self._silent = None

    def take(self, table: MountTable) -> None:
        """Compare a list of mounts with the previous one, and notify about the changes."""
        silent: dict[str, list[Mount]] = {}
        for mount in table.mounts:
            if mount.state == "not-responding":
                silent.setdefault(server_of(mount.share), []).append(mount)
        before, self._silent = self._silent, {
            server: mounts[0].since for server, mounts in silent.items()
        }  # fmt: skip
        if before is None or not self.enabled:
            return
        for server, mounts in silent.items():
            if server not in before:
                self._notify_silent(server, mounts)
        mounted = {server_of(mount.share) for mount in table.mounts if mount.active is not None}
        for server, since in before.items():
            if server not in silent and server in mounted:  # an unmounted server causes no notification
                self._notify_recovered(server, since, table.now)

    def _notify_silent(self, server: str, mounts: list[Mount]) -> None:
        mount_points = [mount.mount_point for mount in mounts]
        named = ", ".join([*mount_points[:_MAX_NAMES], *(["…"] if len(mount_points) > _MAX_NAMES else [])])
        self._send(
            f"server-{server}",
            self.tr("{server} does not answer").format(server=server),
            self.tr("Programs that use {places} wait for it.").format(places=named),
        )

    def _notify_recovered(self, server: str, since: float | None, now: float) -> None:
        body = ""
        if since is not None and now > since:
            body = self.tr("It was silent for {time}.").format(time=lasting_text(now - since))
        self._send(f"server-{server}", self.tr("{server} answers again").format(server=server), body)


def _has_bus() -> bool:
    """Return whether a session bus exists; without this check libdbus would start one."""
    if os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return True
    with contextlib.suppress(OSError):
        return "bus" in os.listdir(os.environ.get("XDG_RUNTIME_DIR", ""))  # noqa: PTH208 - no stat of it
    return False


def icon_uri() -> str:
    """Return the file URI of the program's icon, which works without an installed icon theme entry."""
    return Path(str(resources.files("resources").joinpath("icons", f"{DESKTOP_NAME}.svg"))).as_uri()


def _notify(replaces_id: int, title: str, body: str, icon: str) -> int:
    """Call Notify(app_name, replaces_id, app_icon, summary, body, actions, hints, expire_timeout).

    Returns:
        Number of the notification, 0 if it was not shown.
    """
    program = process.find_program("busctl")
    if program is None:
        return 0
    result = process.run(
        [program, "--user", "--", "call", *_SERVICE, "Notify", "susssasa{sv}i",
         "Mountwright", str(replaces_id), icon, title, html.escape(body, quote=False), "0",
         "1", "desktop-entry", "s", DESKTOP_NAME, "-1"],
        timeout=_BUSCTL_TIMEOUT_S,
    )  # fmt: skip
    number = re.fullmatch(r"[ui] (\d+)\s*", result.stdout)
    return int(number[1]) if number else 0
