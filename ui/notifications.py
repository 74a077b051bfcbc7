"""Desktop notifications: a server stops answering, and answers again; one for each incident.

They go to the portal (org.freedesktop.portal.Notification) or, where there is none, to the notification
service itself (Desktop Notifications Specification 1.2). Notify takes an unsigned number, which PySide6
cannot make: busctl(1) sends that one.
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

#: Name of the desktop file without its ending, and of the icon.
DESKTOP_NAME = "org.mountwright.Mountwright"

_PORTAL = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
           "org.freedesktop.portal.Notification")  # fmt: skip
_SERVICE = (
    "org.freedesktop.Notifications",
    "/org/freedesktop/Notifications",
    "org.freedesktop.Notifications",
)
_BUSCTL_S = 5.0
#: At most so many mount points are named.
_NAMES = 3


class Send(Protocol):
    """Shows a notification in the place of the one with the same name."""

    def __call__(self, name: str, title: str, body: str) -> None:
        """Show it."""


class DesktopNotifications(QObject):
    """Sends notifications; where there is no session bus, or nobody shows them, nothing happens."""

    def __init__(self, icon: str, parent: QObject) -> None:
        super().__init__(parent)
        self._icon = icon
        self._lock = threading.Lock()
        #: The numbers that the notification service gave, by name.
        self._numbers: dict[str, int] = {}

    def send(self, name: str, title: str, body: str) -> None:
        """Show a notification; the window does not wait for that."""
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
            run_in_thread("notify", partial(self._send_directly, name, title, body))
        watcher.deleteLater()

    def _send_directly(self, name: str, title: str, body: str) -> None:
        """Call the service, one call after the other: each needs the number of the one before."""
        with self._lock:
            number = _notify(self._numbers.get(name, 0), title, body, self._icon)
            if number:
                self._numbers[name] = number


class ServerNotifications(QObject):
    """Tells of servers that stop answering and answer again, by the lists of mounts that it is given.

    Attributes:
        enabled: whether anything is told.

    Args:
        send: shows a notification.
        parent: owner.
    """

    def __init__(self, send: Send, parent: QObject) -> None:
        super().__init__(parent)
        self.enabled = True
        self._send = send
        #: Servers that are silent, and since when as far as that is known; None before the first list.
        self._silent: dict[str, float | None] | None = None

    def reset(self) -> None:
        """Another host is shown now: what is silent in its first list is no news."""
        self._silent = None

    def take(self, table: MountTable) -> None:
        """Tell what is new."""
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
            if server not in silent and server in mounted:  # one that was unmounted is no news
                self._notify_recovered(server, since, table.now)

    def _notify_silent(self, server: str, mounts: list[Mount]) -> None:
        places = [mount.mount_point for mount in mounts]
        named = ", ".join([*places[:_NAMES], *(["…"] if len(places) > _NAMES else [])])
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
    """Whether there is a session bus: without one, libdbus would start one."""
    if os.environ.get("DBUS_SESSION_BUS_ADDRESS"):
        return True
    with contextlib.suppress(OSError):
        return "bus" in os.listdir(os.environ.get("XDG_RUNTIME_DIR", ""))  # noqa: PTH208 - no stat of it
    return False


def icon_uri() -> str:
    """Return the program's icon as a notification names it: also where no package has installed one."""
    return Path(str(resources.files("resources").joinpath("icons", f"{DESKTOP_NAME}.svg"))).as_uri()


def _notify(replaced: int, title: str, body: str, icon: str) -> int:
    """Call Notify(app_name, replaces_id, icon, title, body, actions, hints, time-out).

    Returns:
        The number of the notification, 0 if it was not shown.
    """
    program = process.find_program("busctl")
    if program is None:
        return 0
    told = process.run(
        [program, "--user", "--", "call", *_SERVICE, "Notify", "susssasa{sv}i",
         "Mountwright", str(replaced), icon, title, html.escape(body, quote=False), "0",
         "1", "desktop-entry", "s", DESKTOP_NAME, "-1"],
        timeout=_BUSCTL_S,
    )  # fmt: skip
    number = re.fullmatch(r"[ui] (\d+)\s*", told.stdout)
    return int(number[1]) if number else 0
