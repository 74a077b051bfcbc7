"""Desktop notifications: one per silent server and one per recovery, also on a real session bus."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from fake_host import configured, mounted
from PySide6.QtCore import QObject, QUrl
from waiting import DEADLINE_S

from app.mounts.model import Mount, MountTable
from ui.notifications import ServerNotifications, icon_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

    from driver import Driver
    from fake_host import FakeHost

HERE = Path(__file__).parent
Told = list[tuple[str, str, str]]


def silent(mount: Mount, since: float | None = 1000.0) -> Mount:
    return msgspec.structs.replace(mount, state="not-responding", since=since)


HOME, MEDIA = mounted(), mounted("nas01:/media", "/media")
OTHER = mounted("nas02:/data", "/data")


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def notifications(qtbot: Any, told: Told) -> Iterator[ServerNotifications]:
    owner = QObject()
    yield ServerNotifications(lambda *words: told.append(words), owner)
    owner.deleteLater()


def take(notifications: ServerNotifications, *mounts: Mount, now: float = 1040.0) -> None:
    notifications.take(MountTable(mounts=list(mounts), now=now))


def test_an_incident_of_a_server_is_one_notification_and_its_end_another(
    notifications: ServerNotifications, told: Told
) -> None:
    take(notifications, HOME, MEDIA, OTHER)
    take(notifications, silent(HOME), silent(MEDIA), OTHER)
    take(notifications, silent(HOME), silent(MEDIA), OTHER)
    take(notifications, silent(HOME), MEDIA, OTHER)
    assert told == [("server-nas01", "nas01 does not answer", "Programs that use /home, /media wait for it.")]
    take(notifications, HOME, MEDIA, OTHER, now=1180.0)
    assert told[1:] == [("server-nas01", "nas01 answers again", "It was silent for 3 min.")]
    take(notifications, HOME, MEDIA, OTHER)
    assert len(told) == 2


def test_what_was_silent_when_the_window_opened_or_was_unmounted_is_no_news(
    notifications: ServerNotifications, told: Told
) -> None:
    take(notifications, silent(HOME))
    take(notifications, silent(HOME), silent(OTHER, None))
    take(notifications, configured("nas01:/export/home", "/home"), OTHER)
    assert [title for _name, title, _body in told] == ["nas02 does not answer", "nas02 answers again"]
    notifications.reset()
    take(notifications, silent(OTHER))
    assert len(told) == 2


def test_nothing_is_told_where_it_is_switched_off(notifications: ServerNotifications, told: Told) -> None:
    notifications.enabled = False
    take(notifications, HOME)
    take(notifications, silent(HOME))
    take(notifications, HOME)
    assert told == []


# A session bus


@pytest.fixture
def bus() -> Iterator[str]:
    """Start a private session bus; yields its address."""
    program = shutil.which("dbus-daemon")
    if program is None:
        pytest.skip("dbus-daemon is not installed")
    child = subprocess.Popen(
        [program, "--session", "--nofork", "--print-address=1"],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    with child.stdout:
        yield child.stdout.readline().strip()
        child.terminate()
        child.wait(DEADLINE_S)


CLIENT = """
import sys
from PySide6.QtCore import QCoreApplication, QSocketNotifier, QTimer
from ui.notifications import DesktopNotifications
app = QCoreApplication([])
desktop = DesktopNotifications("icon", app)
desktop.send("server-nas01", "nas01 does not answer", "Programs wait; <b>-1</b>.")
def later():
    told.setEnabled(False)
    desktop.send("server-nas01", "nas01 answers again", "")
    desktop.send("server-nas02", "nas02 does not answer", "")
told = QSocketNotifier(0, QSocketNotifier.Type.Read)
told.activated.connect(later)
QTimer.singleShot(int(float(sys.argv[1]) * 1000), app.quit)
app.exec()
"""


@pytest.mark.parametrize("kind", ["portal", "direct"])
def test_a_notification_reaches_the_portal_or_else_the_service(
    bus: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "direct" and shutil.which("busctl") is None:
        pytest.skip("busctl is not installed")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", bus)
    service = subprocess.Popen(
        [sys.executable, "-P", str(HERE / "notification_service.py"), kind], stdout=subprocess.PIPE, text=True
    )
    assert service.stdout is not None
    with service.stdout as lines:
        assert lines.readline() == "ready\n"
        client = subprocess.Popen(
            [sys.executable, "-P", "-c", CLIENT, str(DEADLINE_S)], stdin=subprocess.PIPE, text=True
        )
        call = json.loads(lines.readline())
        assert client.stdin is not None
        with client.stdin:
            client.stdin.write("on\n")
        later = [json.loads(lines.readline())["arguments"] for _ in range(2)]
        for child in (client, service):
            child.terminate()
            child.wait(DEADLINE_S)
    title, body = "nas01 does not answer", "Programs wait; <b>-1</b>."
    if kind == "portal":
        assert (call["method"], call["signature"]) == ("AddNotification", "sa{sv}")
        assert call["arguments"][0] == "server-nas01"
        assert [words[0] for words in later] == ["server-nas01", "server-nas02"]
    else:
        assert (call["method"], call["signature"]) == ("Notify", "susssasa{sv}i")
        # The body of Notify may have markup, so mount points are escaped.
        assert call["arguments"][:5] == ["Mountwright", 0, "icon", title, html.escape(body)]
        # The service answered 7, so the next notification about the same server replaces number 7.
        places = {words[3]: words[1] for words in later}
        assert places == {"nas01 answers again": 7, "nas02 does not answer": 0}


def test_the_icon_is_there_where_no_package_has_installed_it() -> None:
    icon = QUrl(icon_uri())
    assert icon.isLocalFile()
    assert Path(icon.toLocalFile()).read_bytes().lstrip().startswith(b"<")


def test_the_window_tells_and_has_a_switch(driver: Driver, fake: FakeHost) -> None:
    told: Told = []
    driver.window.notifications._send = lambda *words: told.append(words)
    fake.set_mounts([mounted()])
    driver.open()
    driver.wait(lambda: driver.window._table is not None)
    fake.set_mounts([silent(mounted(), time.time() - 5)])
    driver.wait(lambda: [title for _name, title, _body in told] == ["nas01 does not answer"])
    driver.window.notify_switch.setChecked(False)
    fake.set_mounts([mounted()])
    driver.wait(lambda: driver.window._table.mounts[0].state == "mounted")  # type: ignore[union-attr]
    assert len(told) == 1
