"""The overview: one headline with one accented button, three tiles, and everything else folded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
import pytest
from before_after_steps import FAR, HOME, offered
from fake_host import SERVER, configured, mounted
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QScrollArea, QTabWidget, QWidget
from sample_results import figure, result

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from app.errors import AppError, ErrorKind
from app.history.record_test import record_test
from app.speedtest.model import Environment
from app.stats.model import MountSpeed
from ui.apply.dialog import ApplyDialog
from ui.common.style import PRIMARY
from ui.overview.headline_card import HeadlineCard
from ui.overview.tiles import moment_text
from ui.settings.server_probe import ServerProbeDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

    from app.mounts.model import Mount

SAVED = configured("nas01:/export/home", "/home", "hard").configured


def saved_mount() -> Mount:
    return msgspec.structs.replace(mounted(requested="hard"), configured=SAVED, after_boot="mounted")


def over(link: LinkFacts, server: ServerFacts = SERVER) -> Facts:
    return Facts(client=ClientFacts(kernel="6.12.0", udp=False), link=link, server=server)


def title(driver: Driver) -> str:
    card = driver.window.findChild(HeadlineCard)
    assert card is not None
    return card.headline.title()


def words(driver: Driver, name: str) -> str:
    part = driver.find(QWidget, name)
    return "\n".join(label.text() for label in part.findChildren(QLabel) if not label.isHidden())


def primary_buttons(driver: Driver) -> list[str]:
    page = driver.window._detail.overview
    buttons = page.findChildren(QPushButton)
    return [button.objectName() for button in buttons if button.isVisible() and button.property(PRIMARY)]


def shows(driver: Driver, text: str, primary: str) -> None:
    driver.wait(lambda: title(driver) == text)
    driver.wait(lambda: primary_buttons(driver) == [f"overview-{primary}"])


def record(speed: float, **changes: object) -> None:
    known = {
        "share": "nas01:/export/home", "as_copy": True, "requested": {"hard": "hard"},
        "started_at": datetime.now(UTC).isoformat(), "link": FAR, "environment": Environment(),
    }  # fmt: skip
    record_test(result([speed] * 6, [speed] * 6, **{**known, **changes}))


def test_the_overview_is_the_landing_page(driver: Driver) -> None:
    driver.window.open_host("")
    driver.wait(lambda: driver.window._detail._mount is not None)
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    driver.wait(lambda: tabs.currentWidget() is driver.window._detail.overview)


def test_a_possible_gain(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    shows(driver, "Reading can be about twice as fast", "try")
    text = words(driver, "overview-headline")
    assert "Read size 8 KiB → default." in text
    assert "Interrupts /home for about 1 s." in text
    button = driver.find(QPushButton, "overview-try")
    assert isinstance(button, QPushButton)
    assert "about" in button.text()
    # Without a test, the apply dialog asks, and the overview stays.
    driver.click("overview-apply")
    driver.wait(lambda: driver.window.findChild(ApplyDialog) is not None)
    driver.wait(lambda: fake.asked("mounts.plan") != [])
    assert fake.asked("mounts.plan")[-1].options == "hard"
    assert driver.sees("overview-headline-card")
    dialog = driver.window.findChild(ApplyDialog)
    assert dialog is not None
    dialog.reject()


def test_not_measured_yet(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [saved_mount()]
    fake.known = over(LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004))
    driver.open(page="Overview")
    shows(driver, "Not measured yet", "test")
    driver.click("overview-test")
    driver.wait(lambda: fake.asked("test.run") != [])
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.currentWidget() is driver.window._detail.quick_test


def test_as_fast_as_the_link_allows(driver: Driver, fake: FakeHost) -> None:
    record(118e6, link=LinkFacts(rate_bps=1e9))
    fake.mounts = [saved_mount()]
    fake.known = over(LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004))
    driver.open(page="Overview")
    shows(driver, "As fast as this link allows", "test")
    assert "The network link is the limit." in words(driver, "overview-headline")
    driver.wait(lambda: "% of the link" in words(driver, "tile-test"))
    assert "↑ 118 MB/s\n↓ 118 MB/s" in words(driver, "tile-test")
    assert "Last Test · Today" in words(driver, "tile-test")


def test_slower_than_the_link_without_a_remedy(driver: Driver, fake: FakeHost) -> None:
    record(40e6, figures={"write": figure([40e6]), "read": figure([40e6])})
    fake.mounts = [saved_mount()]
    fake.known = over(LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004))
    driver.open(page="Overview")
    shows(driver, "No known setting is faster", "experiment")
    assert "34% of the link" in words(driver, "overview-headline")


def test_a_test_of_other_settings_does_not_count(driver: Driver, fake: FakeHost) -> None:
    record(118e6, requested={"rsize": "8192"})
    fake.mounts = [saved_mount()]
    fake.known = over(LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004))
    driver.open(page="Overview")
    driver.wait(lambda: title(driver) == "Not measured yet with these settings")
    assert "With other settings" in words(driver, "tile-test")


def test_a_mount_that_ends_at_the_next_restart(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(requested="hard")]
    fake.known = over(LinkFacts(kind="ethernet", rate_bps=1e9, rtt_s=0.0004))
    driver.open(page="Overview")
    shows(driver, "This mount ends at the next restart", "save")
    driver.click("overview-save")
    driver.wait(lambda: fake.asked("mounts.plan") != [])
    assert fake.asked("mounts.plan")[-1].keeper == "fstab"
    dialog = driver.window.findChild(ApplyDialog)
    assert dialog is not None
    dialog.reject()


def test_a_server_that_does_not_respond(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [msgspec.structs.replace(saved_mount(), state="not-responding", since=0.0)]
    driver.open(page="Overview")
    driver.wait(lambda: title(driver).startswith("nas01 has not answered for "))
    driver.wait(lambda: primary_buttons(driver) == ["overview-check-server"])
    driver.click("overview-check-server")
    driver.wait(lambda: driver.window.findChild(ServerProbeDialog) is not None)
    probe = driver.window.findChild(ServerProbeDialog)
    assert probe is not None
    probe.reject()
    driver.click("overview-unmount")
    driver.agree()
    driver.wait(lambda: fake.asked("mounts.unmount") != [])


def test_a_server_without_an_address(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted("nosuchserver:/a", "/a")]
    fake.known = over(LinkFacts(), ServerFacts(name="nosuchserver", sources={"address": "no such name"}))
    driver.open(page="Overview")
    shows(driver, "Can't advise yet: nosuchserver has no address", "check-name")
    driver.click("overview-check-name")
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.currentWidget() is driver.window._detail.settings


def test_a_share_that_is_not_mounted(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [configured()]
    driver.open(page="Overview")
    shows(driver, "Not mounted", "mount")
    driver.click("overview-mount")
    driver.wait(lambda: fake.asked("mounts.mount") != [])


def test_a_draft_without_a_share(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open(page="Overview")
    driver.window._on_new()
    driver.tab("Overview")
    driver.wait(lambda: title(driver) == "New mount" and driver.sees("overview-check-name"))
    assert not driver.sees("tile-test")
    driver.click("overview-check-name")
    line = driver.window._detail.settings._share.focusProxy()
    assert isinstance(line, QLineEdit)
    driver.wait(line.hasFocus)


def test_a_failure_is_shown_and_retried(driver: Driver, fake: FakeHost) -> None:
    def refuse(_share: str) -> Facts:
        raise AppError(ErrorKind.SERVER_UNKNOWN, "nas01 is unknown.", hint="Check its name.")

    known, fake.gather = fake.gather, refuse
    driver.open(page="Overview")
    shows(driver, "No advice", "refresh")
    assert "nas01 is unknown." in words(driver, "overview-headline")
    assert "Check its name." in words(driver, "overview-headline")
    fake.gather = known
    driver.click("overview-refresh")
    driver.wait(lambda: title(driver) != "No advice")


def test_the_tiles_show_link_and_traffic(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    speed = MountSpeed(
        read_bytes_per_s=2e5, write_bytes_per_s=1e6, transfers_per_s=3.0, rtt_s=None, timeouts=0
    )
    fake.busy = [{"/home": speed}, {"/home": speed}]
    offered(driver, fake)
    assert "100 Mbit/s" in words(driver, "tile-link")
    assert "RTT 20 ms" in words(driver, "tile-link")
    assert "None yet" in words(driver, "tile-test")
    driver.wait(lambda: "↑ 1 MB/s\n↓ 200 kB/s" in words(driver, "tile-now"))
    driver.click("tile-now-button")
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.currentWidget() is driver.window._detail.live
    driver.tab("Overview")
    driver.click("tile-link-button")
    driver.wait(lambda: driver.window.findChild(ServerProbeDialog) is not None)
    probe = driver.window.findChild(ServerProbeDialog)
    assert probe is not None
    probe.reject()


@pytest.mark.parametrize("pixels", [15, 20])
def test_headline_button_and_tiles_need_no_scrolling(driver: Driver, fake: FakeHost, pixels: int) -> None:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    before = app.font()
    font = app.font()
    font.setPixelSize(pixels)
    app.setFont(font)
    try:
        fake.mounts = [HOME]
        offered(driver, fake)
        driver.window.resize(1000, 700)
        QApplication.processEvents()
        assert (driver.window.width(), driver.window.height()) == (1000, 700)
        area = driver.window._detail.overview.findChild(QScrollArea)
        assert area is not None
        view = area.viewport()
        for name in ("overview-headline", "overview-try", "tile-test", "tile-link", "tile-now"):
            widget = driver.find(QWidget, name)
            end = widget.mapTo(view, QPoint(widget.width(), widget.height()))
            assert end.x() <= view.width(), name
            assert end.y() <= view.height(), name
    finally:
        app.setFont(before)


def test_the_buttons_work_with_the_keyboard(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    button = driver.find(QPushButton, "overview-why")
    button.setFocus()
    driver.qtbot.keyClick(button, Qt.Key.Key_Space)
    driver.wait(lambda: driver.sees("overview-reasons"))
    driver.qtbot.keyClick(button, Qt.Key.Key_Space)
    driver.wait(lambda: not driver.sees("overview-reasons"))


def test_times_of_today_and_yesterday_are_words() -> None:
    now = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
    assert moment_text("2026-03-02T11:00:00+00:00", now).startswith("Today ")
    assert moment_text("2026-03-01T11:00:00+00:00", now).startswith("Yesterday ")
    assert "26" in moment_text("2026-02-11T11:00:00+00:00", now)
