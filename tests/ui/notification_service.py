"""A tiny service of notifications on the session bus: prints each call as a line of JSON.

Run as ``python notification_service.py portal|direct``.
"""

import json
import sys

from PySide6.QtCore import QCoreApplication
from PySide6.QtDBus import QDBusArgument, QDBusConnection, QDBusMessage, QDBusVirtualObject

PLACES = {
    "portal": ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop"),
    "direct": ("org.freedesktop.Notifications", "/org/freedesktop/Notifications"),
}


class Service(QDBusVirtualObject):
    """Answers every call with a number."""

    def introspect(self, _path: str) -> str:
        return ""

    def handleMessage(self, message: QDBusMessage, connection: QDBusConnection) -> bool:  # noqa: N802 - Qt's
        texts = [each if not isinstance(each, QDBusArgument) else "…" for each in message.arguments()]
        said = {"method": message.member(), "signature": message.signature(), "arguments": texts}
        print(json.dumps(said), flush=True)
        connection.send(message.createReply([7]))
        return True


def main() -> None:
    app = QCoreApplication([])
    name, path = PLACES[sys.argv[1]]
    bus = QDBusConnection.sessionBus()
    service = Service()
    assert bus.registerVirtualObject(path, service)
    assert bus.registerService(name)
    print("ready", flush=True)
    app.exec()


if __name__ == "__main__":
    main()
