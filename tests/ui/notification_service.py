"""Fake notification service on the session bus; prints each call as a line of JSON.

Run it as ``python notification_service.py portal|direct``. The argument ``send`` instead sends notifications
of the program to the service of the desktop, for inspection by eye (docs/contributing.md).
"""

import json
import sys
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QTimer
from PySide6.QtDBus import QDBusArgument, QDBusConnection, QDBusMessage, QDBusVirtualObject

PLACES = {
    "portal": ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"),
    "direct": ("org.freedesktop.Notifications", "/org/freedesktop/Notifications"),
}


class Service(QDBusVirtualObject):
    """D-Bus object that prints every call and answers it with a number."""

    def introspect(self, _path: str) -> str:
        return ""

    def handleMessage(self, message: QDBusMessage, connection: QDBusConnection) -> bool:  # noqa: N802 - Qt's
        texts = [each if not isinstance(each, QDBusArgument) else "…" for each in message.arguments()]
        said = {"method": message.member(), "signature": message.signature(), "arguments": texts}
        print(json.dumps(said), flush=True)
        connection.send(message.createReply(7))
        return True


def send(app: QCoreApplication) -> None:
    """Send the notification of a silent server, and 3 s later that it answers."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from ui.notifications import DesktopNotifications, icon_uri

    desktop = DesktopNotifications(icon_uri(), app)
    waits = "Programs that use /mnt/home, /mnt/<b>media & films</b> wait for it."
    QTimer.singleShot(0, lambda: desktop.send("server-nas01", "nas01 does not answer", waits))
    QTimer.singleShot(
        3000, lambda: desktop.send("server-nas01", "nas01 answers again", "It was silent for 40 s.")
    )
    QTimer.singleShot(5000, app.quit)
    app.exec()


def main() -> None:
    app = QCoreApplication([])
    if sys.argv[1] == "send":
        send(app)
        return
    name, path = PLACES[sys.argv[1]]
    bus = QDBusConnection.sessionBus()
    service = Service()
    assert bus.registerVirtualObject(path, service)
    assert bus.registerService(name)
    print("ready", flush=True)
    app.exec()


if __name__ == "__main__":
    main()
