"""The Advice tab: asked when it is seen, taken by one click, and for other machines too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fake_host import mounted
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QPushButton, QTabWidget

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


def _labels(driver: Driver) -> str:
    page = driver.window._detail.advice
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def test_nothing_is_asked_before_somebody_looks(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    assert fake.asked("advice.get") == []
    driver.tab("Advice")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    assert "Client and server agree on the largest size" in _labels(driver)
    assert not driver.sees("use-recommended")


def test_one_click_fills_the_form_and_mounts_nothing(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(requested="rsize=8192,hard")]
    driver.open()
    driver.tab("Advice")
    driver.wait(lambda: driver.sees("use-recommended"))
    assert driver.text_of("advice-summary") == "One thing to change"
    assert "asked for by you" in _labels(driver)
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.tabText(1) == "Advice • 1"
    driver.click("use-recommended")
    assert driver.window._detail.settings.wish().options == "hard"
    assert driver.window._detail.settings.dirty
    assert fake.asked("mounts.mount") == []
    driver.tab("Advice")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")


def test_the_use_of_a_mount_changes_the_advice(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Advice")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    box = driver.find(QComboBox, "workload")
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData("software"))
    box.activated.emit(box.currentIndex())
    driver.wait(lambda: driver.sees("advice-software"))
    assert fake.asked("advice.get")[-1].workload == "software"


def test_another_machine_is_described_by_hand(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Advice")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    check = driver.find(QCheckBox, "elsewhere")
    assert isinstance(check, QCheckBox)
    check.click()
    assert driver.text_of("advice-summary") == "Name the other machine's adapter or its link."
    for name, data in (("transport", "udp"), ("adapter", "3com-etherlink-iii")):
        box = driver.find(QComboBox, name)
        assert isinstance(box, QComboBox)
        box.setCurrentIndex(box.findData(data))
        box.activated.emit(box.currentIndex())
    driver.wait(lambda: driver.sees("advice-card-3com"))
    assert not driver.find(QPushButton, "use-recommended").isEnabled()
    assert "Read size" in _labels(driver)


def test_what_no_option_mends_comes_first(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.001, duplex="half")
    fake.known = Facts(client=ClientFacts(), link=link, server=ServerFacts())
    driver.open()
    driver.tab("Advice")
    driver.wait(lambda: driver.sees("attention"))
    assert "half duplex" in _labels(driver)


def test_a_failure_is_said_in_place(driver: Driver, fake: FakeHost) -> None:
    driver.open()

    def refuse(_share: str) -> Facts:
        raise AppError(ErrorKind.SERVER_UNKNOWN, "nas01 is not known.", hint="Check its name.")

    fake.gather = refuse
    driver.tab("Advice")
    driver.wait(lambda: "nas01 is not known." in driver.text_of("advice-summary"))
    assert "Check its name." in _labels(driver)
