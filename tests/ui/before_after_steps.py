"""Steps of a test before and after a recommended change, on the overview."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_host import mounted, readahead_set
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from advisor.facts import ClientFacts, Facts, LinkFacts
from ui.overview.before_after import BeforeAfterDialog

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost

#: Mount for which the advisor recommends a single change, with a predicted gain over FAR.
HOME = readahead_set(mounted(requested="rsize=8192,hard"), 1024)
FAR = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.02, mtu=1500)


def offered(driver: Driver, fake: FakeHost) -> None:
    """Open the overview of HOME, and wait until it offers to try the change."""
    fake.known = Facts(client=ClientFacts(kernel="6.12.0", udp=False), link=FAR, server=fake.known.server)
    driver.open(page="Overview")
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("overview-try"))


def question(driver: Driver) -> BeforeAfterDialog:
    """Click the headline's button, and return the question that it asks."""
    driver.click("overview-try")
    driver.wait(lambda: driver.window.findChild(BeforeAfterDialog) is not None)
    found = driver.window.findChild(BeforeAfterDialog)
    assert found is not None
    start = found.findChild(QPushButton, "before-after-start")
    assert start is not None
    driver.wait(start.isVisible)
    return found


def begin(driver: Driver) -> None:
    """Start a test before and after the change, and confirm it."""
    start = question(driver).findChild(QPushButton, "before-after-start")
    assert start is not None
    driver.qtbot.mouseClick(start, Qt.MouseButton.LeftButton)
    driver.wait(lambda: driver.window.findChild(BeforeAfterDialog) is None)
