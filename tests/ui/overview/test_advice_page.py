"""The Advice tab: requests while it is visible, use of the advice, and advice for other computers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from before_after_steps import HOME, begin, make_the_change, offered
from fake_host import SERVER, mounted
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QFrame,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QTabWidget,
    QToolButton,
    QWidget,
)

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.recommendation import MeasuredOption
from advisor.speeds import SpeedUnit
from app.errors import AppError, ErrorKind
from ui.apply.dialog import ApplyDialog
from ui.common import style, theme
from ui.common.speed_units import SPEED_UNITS
from ui.overview.facts_card import fact_rows
from ui.plots.expected_plot import ExpectedPlot

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


def _labels(driver: Driver) -> str:
    page = driver.window._detail.advice
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def _settled(driver: Driver) -> None:
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")


def test_advice_on_a_mount_is_requested_in_the_background(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    driver.open()
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    driver.wait(lambda: tabs.tabText(0) == "Overview • 1")
    assert tabs.currentWidget() is driver.window._detail.settings
    row = driver.window._detail.settings._rows["rsize"]
    assert row._recommended is not None
    assert row._recommended.proposed is None


def test_advice_against_a_current_edit_is_not_counted(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    driver.open()
    driver.tab("Overview")
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    driver.wait(lambda: tabs.tabText(0) == "Overview • 1")
    asked = len(fake.asked("advice.get"))
    driver.window._detail.settings._rows["rsize"].editor.set_value("1024")
    driver.wait(lambda: len(fake.asked("advice.get")) > asked)
    driver.wait(lambda: tabs.tabText(0) == "Overview")
    result = driver.window._detail.advice._result
    assert result is not None
    assert [item.option for item in result.recommendations] == ["rsize"]


def test_a_version_over_udp_is_marked_if_the_kernel_cannot_mount_it() -> None:
    server = ServerFacts(tcp_versions=("3", "4.2"), udp_versions=("3",))
    texts = {
        udp: [row.value for row in fact_rows(Facts(server=server, client=ClientFacts(udp=udp)))]
        for udp in (True, False)
    }
    assert "3, 4.2 (TCP); 3 (UDP, which this kernel cannot mount)" in texts[False]
    assert "3, 4.2 (TCP); 3 (UDP)" in texts[True]


def test_advice_on_a_new_mount_is_requested_when_the_tab_is_visible(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open()
    assert driver.window._detail._mount is None
    driver.click("new-mount")
    panel = driver.window._detail.advice
    driver.window._detail.settings.load_entry("nas01:/a", "/a", "hard")
    assert not panel._pause.isActive()
    assert fake.asked("advice.get") == []
    driver.tab("Overview")
    _settled(driver)
    driver.wait(lambda: "Client and server agree on the largest size" in _labels(driver))
    assert not driver.sees("use-recommended")


def test_facts_show_their_source_and_can_be_refreshed(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(interface="eth7", rate_bps=1e9, rtt_s=0.0004,
                     sources={"interface": "the route", "adapter": "sysfs has no name for it"})  # fmt: skip
    fake.known = Facts(client=ClientFacts(), link=link, server=replace(SERVER, tcp_versions=("3", "4.2")))
    fake.mounts = [mounted()]
    driver.open()
    driver.tab("Overview")
    _settled(driver)
    labels = {
        label.text(): label.toolTip() for label in driver.find(QFrame, "facts-card").findChildren(QLabel)
    }
    assert labels["eth7"] == "Known from: the route."
    assert labels["Adapter"] == "Not known: sysfs has no name for it."
    assert labels["3, 4.2 (TCP)"]
    driver.wait(lambda: "Sysfs has no name for it." in _labels(driver))
    asked = len(fake.asked("advice.get"))
    driver.click("refresh-facts")
    driver.wait(lambda: len(fake.asked("advice.get")) == asked + 1)


def test_the_recommended_readahead_is_one_undo_step(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04)
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    fake.mounts = [mounted(requested="hard,rsize=8192")]
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("use-recommended"))
    assert (
        driver.text_of("replaced") == "“Use recommended” replaces what you asked for: Read size 8192 (8 KiB)."
    )
    driver.wait(lambda: driver.sees("how-to"))
    driver.click("how-to")
    driver.wait(lambda: "[nfsrahead]" in _labels(driver))
    driver.click("use-recommended")
    settings = driver.window._detail.settings
    assert settings.request().options == "hard"
    assert settings.request().read_ahead_kb == 1024
    assert settings._read_ahead.text() == (
        "Readahead: “Apply…” sets it to 1 MiB, until unmounted. “Mount” alone leaves it as it is."
    )
    driver.tab("Overview")
    _settled(driver)
    driver.tab("Settings")
    settings._history.undo_step()
    assert settings.request().options == "hard,rsize=8192"
    assert settings.request().read_ahead_kb is None
    assert not settings.dirty
    settings._history.redo_step()
    driver.click("read-ahead-leave")
    assert settings.request().read_ahead_kb is None
    settings._history.undo_step()
    driver.preview()
    driver.wait(lambda: bool(fake.asked("mounts.plan")))
    assert fake.asked("mounts.plan")[0].read_ahead_kb == 1024


def test_one_click_fills_the_form_and_mounts_nothing(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("use-recommended"))
    assert driver.text_of("advice-summary") == "One thing to change"
    driver.wait(lambda: "asked for by you" in _labels(driver))
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    assert tabs.tabText(0) == "Overview • 1"
    driver.click("use-recommended")
    assert driver.window._detail.settings.request().options == "hard"
    assert driver.window._detail.settings.dirty
    assert fake.asked("mounts.mount") == []
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")


def test_a_recommendation_can_be_excluded(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(requested="soft,rsize=8192")]
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "2 things to change")
    box = driver.find(QCheckBox, "include-hard")
    assert isinstance(box, QCheckBox)
    assert box.isChecked()
    assert box.accessibleName().startswith("Include ")
    box.click()
    driver.wait(lambda: driver.text_of("advice-summary") == "One thing to change")
    again = driver.find(QCheckBox, "include-hard")
    assert isinstance(again, QCheckBox)
    assert not again.isChecked()
    tabs = driver.find(QTabWidget, "tabs")
    assert isinstance(tabs, QTabWidget)
    driver.wait(lambda: tabs.tabText(0) == "Overview • 1")
    assert fake.asked("advice.get")[-1].without == ("hard",)
    driver.click("use-recommended")
    assert driver.window._detail.settings.request().options == "soft"


def test_an_unresolved_server_is_not_called_well_configured(driver: Driver, fake: FakeHost) -> None:
    fake.known = replace(fake.known, server=ServerFacts(name="nas09"))
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "No advice yet: “nas09” has no address.")
    driver.wait(lambda: "Check the name of the server" in _labels(driver))


def test_the_workload_changes_the_advice(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    box = driver.find(QComboBox, "workload")
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData("software"))
    box.activated.emit(box.currentIndex())
    driver.wait(lambda: driver.sees("advice-software"))
    assert fake.asked("advice.get")[-1].workload == "software"


@pytest.mark.parametrize("need", ["encrypted", "travels", "needed_at_boot"])
def test_conditions_are_passed_to_the_advice(driver: Driver, fake: FakeHost, need: str) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    check = driver.find(QCheckBox, need.replace("_", "-"))
    assert isinstance(check, QCheckBox)
    check.click()
    driver.wait(lambda: getattr(fake.asked("advice.get")[-1], need) is True)


@pytest.mark.parametrize(
    "name", ["server_sleeps", "firewall", "rdma", "kerberos", "alone", "no_waiting", "many_mounts"]
)
def test_rare_conditions_are_in_a_menu(driver: Driver, fake: FakeHost, name: str) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    button = driver.find(QToolButton, "more-conditions")
    assert isinstance(button, QToolButton)
    menu = button.menu()
    assert menu is not None
    next(action for action in menu.actions() if action.objectName() == name.replace("_", "-")).trigger()
    driver.wait(lambda: getattr(fake.asked("advice.get")[-1], name) is True)
    assert button.text() == "More conditions (1)"


def test_mtu_and_kernel_of_another_computer_are_passed_on(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    check = driver.find(QCheckBox, "elsewhere")
    assert isinstance(check, QCheckBox)
    check.click()
    for name, text in (("mtu", "9000"), ("path-mtu", "1500"), ("kernel-release", "4.18")):
        line = driver.find(QLineEdit, name)
        assert isinstance(line, QLineEdit)
        line.setText(text)
    box = driver.find(QComboBox, "server-kind")
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData("linux"))
    box.activated.emit(box.currentIndex())
    driver.wait(lambda: fake.asked("advice.get")[-1].server == "linux")
    asked = fake.asked("advice.get")[-1]
    assert (asked.mtu, asked.path_mtu, asked.kernel) == (9000, 1500, "4.18")


def test_another_computer_is_described_by_hand(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.text_of("advice-summary") == "Nothing to change.")
    check = driver.find(QCheckBox, "elsewhere")
    assert isinstance(check, QCheckBox)
    check.click()
    assert driver.text_of("advice-summary") == "Name the other machine's adapter, its link or its server."
    for name, data in (("transport", "udp"), ("adapter", "3com-etherlink-iii")):
        box = driver.find(QComboBox, name)
        assert isinstance(box, QComboBox)
        box.setCurrentIndex(box.findData(data))
        box.activated.emit(box.currentIndex())
    driver.wait(lambda: driver.sees("advice-card-3com"))
    driver.wait(lambda: driver.sees("expected-plot"))
    area = driver.window._detail.advice.findChild(QScrollArea)
    assert area is not None
    page = area.widget()
    assert page is not None
    assert page.minimumSizeHint().width() < 680, "it has to fit a window of 1000 pixels"
    assert not driver.find(QPushButton, "use-recommended").isEnabled()
    assert "Read size" in _labels(driver)


def test_system_warnings_come_first(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.001, duplex="half")
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("attention"))
    driver.wait(lambda: "half duplex" in _labels(driver))


def test_a_failure_is_shown_on_the_page(driver: Driver, fake: FakeHost) -> None:
    def refuse(_share: str) -> Facts:
        raise AppError(ErrorKind.SERVER_UNKNOWN, "nas01 is not known.", hint="Check its name.")

    fake.gather = refuse
    driver.open(page="Overview")
    driver.wait(lambda: "nas01 is not known." in driver.text_of("advice-summary"))
    driver.wait(lambda: "Check its name." in _labels(driver))


def test_the_expected_curve_is_drawn_when_visible(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04)
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    fake.mounts = [mounted()]
    driver.window._detail.choose_page("settings")
    driver.open()
    driver.wait(lambda: driver.window._detail.advice._result is not None)
    assert driver.window.findChild(QWidget, "expected-plot") is None
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("expected-plot"))
    plot = driver.find(QWidget, "expected-plot")
    assert "Readahead" in plot.accessibleName()
    style.apply_appearance(app(), theme.Appearance.DARK)
    style.apply_appearance(app(), theme.Appearance.LIGHT)
    driver.click("refresh-facts")
    driver.wait(lambda: driver.sees("expected-plot") and driver.find(QWidget, "expected-plot") is not plot)


def app() -> QApplication:
    found = QApplication.instance()
    assert isinstance(found, QApplication)
    return found


def _try(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver)
    begin(driver)
    driver.wait(lambda: driver.window.findChild(ApplyDialog) is not None)
    assert len(fake.asked("test.run")) == 4
    assert {spec.path for spec in fake.asked("test.run")} == {"/home"}


def test_before_and_after_are_compared_and_saved(driver: Driver, fake: FakeHost) -> None:
    _try(driver, fake)
    assert fake.asked("mounts.apply") == []
    make_the_change(driver, fake, 190e6)
    driver.wait(lambda: len(fake.asked("test.run")) == 8)
    driver.wait(lambda: "faster" in driver.text_of("trial-text"))
    driver.wait(lambda: bool(fake.asked("advice.get")[-1].measured))
    assert fake.asked("mounts.apply")[0].options == "hard"
    (finding,) = fake.asked("advice.get")[-1].measured
    assert (finding.option, finding.value, finding.status) == ("rsize", None, "confirmed")
    driver.wait(lambda: "Your test: to the server" in _labels(driver))
    driver.click("trial-stop")
    assert not driver.sees("trial")


def test_the_previous_settings_can_be_restored(driver: Driver, fake: FakeHost) -> None:
    _try(driver, fake)
    make_the_change(driver, fake, 20e6)
    driver.wait(lambda: "slower" in driver.text_of("trial-text"))
    driver.click("trial-back")
    done = fake.asked("mounts.apply")[0].options
    driver.wait(lambda: fake.asked("mounts.plan")[-1].options != done)
    again = driver.window.findChild(ApplyDialog)
    assert again is not None
    again.reject()


def test_a_canceled_change_is_not_compared(driver: Driver, fake: FakeHost) -> None:
    _try(driver, fake)
    dialog = driver.window.findChild(ApplyDialog)
    assert dialog is not None
    dialog.reject()
    driver.wait(lambda: "Nothing was changed" in driver.text_of("trial-text"))
    assert len(fake.asked("test.run")) == 4


def test_a_before_and_after_test_can_be_stopped(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver)
    fake.hold.clear()
    begin(driver)
    driver.wait(lambda: driver.sees("trial-stop") and driver.window._detail.quick_test.running)
    assert "1 of 4" in driver.text_of("trial-text")
    driver.click("trial-stop")
    driver.wait(lambda: not driver.window._detail.quick_test.running)
    assert "given up" in driver.text_of("trial-text")
    assert driver.window.findChild(ApplyDialog) is None


def test_an_undecided_test_does_not_replace_a_finding(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted()]
    driver.open()
    panel = driver.window._detail.advice
    confirmed = MeasuredOption(
        option="nconnect", value="8", status="confirmed", text="110 MB/s with, 80 without"
    )
    undecided = MeasuredOption(option="nconnect", value="2", status="untested", text="Too few repeats.")
    for finding in (confirmed, undecided):
        panel._add_findings(("nas01:/export/home", "gigabit"), [finding])
    newer = MeasuredOption(option="nconnect", value="4", status="confirmed", text="112 MB/s with, 80 without")
    assert panel._measured["nas01:/export/home", "gigabit"]["nconnect"] == confirmed
    panel._add_findings(("nas01:/export/home", "gigabit"), [newer])
    assert panel._measured["nas01:/export/home", "gigabit"]["nconnect"] == newer


def test_the_expected_speeds_follow_the_unit(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    driver.tab("Overview")
    driver.wait(lambda: driver.sees("expected-plot"))
    try:
        SPEED_UNITS.choose(SpeedUnit.BITS)
        page = driver.window._detail.advice
        driver.wait(lambda: any(
            plot.isVisible() and "Gbit/s" in plot.axis("left").title()
            for plot in page.findChildren(ExpectedPlot)
        ))  # fmt: skip
    finally:
        SPEED_UNITS.choose(SpeedUnit.BYTES)
