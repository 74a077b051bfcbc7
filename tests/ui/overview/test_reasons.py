"""The reasons on the overview: recommendations, facts, conditions, and advice for another machine."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from before_after_steps import HOME, offered
from fake_host import SERVER, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QToolButton,
    QWidget,
)
from settings_steps import row as option_row

from advisor.facts import ClientFacts, Facts, LinkFacts, ServerFacts
from advisor.recommendation import MeasuredOption
from advisor.speeds import SpeedUnit
from ui.common import style, theme
from ui.common.cards import BarComparison
from ui.common.speed_units import SPEED_UNITS
from ui.overview.advice_text import is_flat
from ui.overview.facts_card import fact_rows
from ui.overview.headline_card import HeadlineCard
from ui.plots.expected_plot import ExpectedPlot

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


def _labels(driver: Driver) -> str:
    page = driver.window._detail.overview
    return "\n".join(label.text() for label in page.findChildren(QLabel) if label.isVisible())


def _title(driver: Driver) -> str:
    card = driver.window.findChild(HeadlineCard)
    assert card is not None
    return card.headline.title()


def _settled(driver: Driver) -> None:
    driver.wait(lambda: _title(driver) in {"Not measured yet", "This mount ends at the next restart"})


def _open_reasons(driver: Driver) -> None:
    driver.wait(lambda: driver.sees("overview-why"))
    driver.click("overview-why")
    driver.wait(lambda: driver.sees("overview-reasons"))


def _unfold(driver: Driver, name: str) -> None:
    driver.wait(lambda: driver.sees(name))
    driver.click(name)


def _choose(driver: Driver, name: str, data: str) -> None:
    box = driver.find(QComboBox, name)
    assert isinstance(box, QComboBox)
    box.setCurrentIndex(box.findData(data))
    box.activated.emit(box.currentIndex())


def test_advice_on_a_mount_is_requested_in_the_background(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    driver.open(page="Overview")
    driver.tab("Settings")
    row = option_row(driver.window._detail.settings, "rsize")
    driver.wait(lambda: row._recommended is not None)
    assert row._recommended is not None
    assert row._recommended.proposed is None


def test_a_version_over_udp_is_marked_if_the_kernel_cannot_mount_it() -> None:
    server = ServerFacts(tcp_versions=("3", "4.2"), udp_versions=("3",))
    texts = {
        udp: [row.value for row in fact_rows(Facts(server=server, client=ClientFacts(udp=udp)))]
        for udp in (True, False)
    }
    assert "3, 4.2 (TCP); 3 (UDP, which this kernel cannot mount)" in texts[False]
    assert "3, 4.2 (TCP); 3 (UDP)" in texts[True]


def test_advice_on_a_new_mount_is_requested_when_the_page_is_visible(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = []
    driver.open(page="Overview")
    assert driver.window._detail._mount is None
    driver.window._on_new()
    panel = driver.window._detail.overview
    driver.window._detail.settings.load_entry("nas01:/a", "/a", "hard")
    assert not panel._pause.isActive()
    assert fake.asked("advice.get") == []
    driver.tab("Overview")
    driver.wait(lambda: _title(driver) == "Not mounted")
    _unfold(driver, "agreed")
    driver.wait(lambda: "Client and server agree on the largest size" in _labels(driver))
    assert not driver.sees("use-recommended")


def test_facts_show_their_source_and_can_be_refreshed(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(interface="eth7", rate_bps=1e9, rtt_s=0.0004,
                     sources={"interface": "the route", "adapter": "sysfs has no name for it"})  # fmt: skip
    fake.known = Facts(client=ClientFacts(), link=link, server=replace(SERVER, tcp_versions=("3", "4.2")))
    fake.mounts = [mounted()]
    driver.open(page="Overview")
    _settled(driver)
    assert not driver.sees("refresh-facts")
    _unfold(driver, "server-and-link")
    card = driver.find(QWidget, "facts-card")
    labels = {label.text(): label.toolTip() for label in card.findChildren(QLabel)}
    assert labels["eth7"] == "Known from: the route."
    assert labels["Adapter"] == "Unknown: sysfs has no name for it."
    assert labels["3, 4.2 (TCP)"]
    title = driver.text_of("unknown-facts")
    assert title.startswith("Unknown Facts (")
    _unfold(driver, "unknown-facts")
    driver.wait(lambda: "Sysfs has no name for it." in _labels(driver))
    asked = len(fake.asked("advice.get"))
    driver.click("refresh-facts")
    driver.wait(lambda: len(fake.asked("advice.get")) == asked + 1)


def test_the_recommended_readahead_is_one_undo_step(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04)
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    fake.mounts = [mounted(requested="hard,rsize=8192")]
    driver.open(page="Overview")
    _open_reasons(driver)
    driver.wait(lambda: "8192 (8 KiB) (requested)" in _labels(driver))
    _unfold(driver, "facts-read_ahead_kb")
    driver.wait(lambda: "[nfsrahead]" in _labels(driver))
    driver.click("use-recommended")
    settings = driver.window._detail.settings
    assert settings.request().options == "hard"
    assert settings.request().read_ahead_kb == 1024
    assert settings._grid.readahead.cells.texts()[0] == "Until unmounted"
    assert settings.changed_labels() == ["Readahead", "Read size"]
    driver.tab("Overview")
    _settled(driver)
    driver.tab("Settings")
    settings._history.undo_step()
    assert settings.request().options == "hard,rsize=8192"
    assert settings.request().read_ahead_kb is None
    assert not settings.dirty
    settings._history.redo_step()
    settings._grid.readahead.cells._revert.click()
    assert settings.request().read_ahead_kb is None
    settings._history.undo_step()
    driver.preview()
    driver.wait(lambda: bool(fake.asked("mounts.plan")))
    assert fake.asked("mounts.plan")[0].read_ahead_kb == 1024


def test_a_card_has_its_change_gain_and_folded_source(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    assert not driver.sees("advice-negotiate-sizes")
    _open_reasons(driver)
    card = driver.find(QWidget, "advice-negotiate-sizes")
    bars = card.findChild(BarComparison)
    assert bars is not None
    assert bars.accessibleName() == "Reading, predicted"
    now, then = bars.accessibleDescription().splitlines()
    assert now.startswith("Now: ")
    assert then.startswith("Then: ")
    assert "(±" in then
    assert "Source: " not in _labels(driver)
    _unfold(driver, "facts-rsize")
    driver.wait(lambda: "Confidence" in _labels(driver))


def test_tab_visits_the_cards_between_the_tiles_and_the_sections(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    _open_reasons(driver)
    driver.window.activateWindow()
    widget: QWidget = driver.find(QWidget, "overview-try")
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    visited: list[str] = []
    while "used-for" not in visited:
        driver.qtbot.keyClick(widget, Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        assert focused is not None
        assert focused is not widget
        widget = focused
        visited.append(widget.objectName())
    assert visited == [
        "overview-apply", "overview-why", "tile-test-button", "tile-link-button", "tile-now-button",
        "include-rsize", "facts-rsize", "use-recommended", "used-for",
    ]  # fmt: skip


def test_one_click_fills_the_form_and_mounts_nothing(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    _open_reasons(driver)
    driver.click("use-recommended")
    assert driver.window._detail.settings.request().options == "hard"
    assert driver.window._detail.settings.dirty
    assert fake.asked("mounts.mount") == []
    driver.tab("Overview")
    _settled(driver)
    assert not driver.sees("overview-reasons")


def test_a_recommendation_can_be_excluded(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted(requested="soft,rsize=8192")]
    driver.open(page="Overview")
    driver.wait(lambda: _title(driver) == "2 settings should change")
    _open_reasons(driver)
    box = driver.find(QCheckBox, "include-hard")
    assert isinstance(box, QCheckBox)
    assert box.isChecked()
    assert box.accessibleName().startswith("Include ")
    box.click()
    driver.wait(lambda: _title(driver) == "One setting should change")
    again = driver.find(QCheckBox, "include-hard")
    assert isinstance(again, QCheckBox)
    assert not again.isChecked()
    assert fake.asked("advice.get")[-1].without == ("hard",)
    driver.click("use-recommended")
    assert driver.window._detail.settings.request().options == "soft"


def test_the_workload_changes_the_advice(driver: Driver, fake: FakeHost) -> None:
    driver.open(page="Overview")
    _settled(driver)
    _unfold(driver, "used-for")
    _choose(driver, "workload", "software")
    driver.wait(lambda: driver.sees("overview-why"))
    _open_reasons(driver)
    driver.wait(lambda: driver.sees("advice-software"))
    assert fake.asked("advice.get")[-1].workload == "software"


@pytest.mark.parametrize("need", ["encrypted", "travels", "needed_at_boot"])
def test_conditions_are_passed_to_the_advice(driver: Driver, fake: FakeHost, need: str) -> None:
    driver.open(page="Overview")
    _settled(driver)
    _unfold(driver, "used-for")
    check = driver.find(QCheckBox, need.replace("_", "-"))
    assert isinstance(check, QCheckBox)
    check.click()
    driver.wait(lambda: getattr(fake.asked("advice.get")[-1].conditions, need) is True)


@pytest.mark.parametrize(
    "name", ["server_sleeps", "firewall", "rdma", "kerberos", "alone", "no_waiting", "many_mounts"]
)
def test_rare_conditions_are_in_a_menu(driver: Driver, fake: FakeHost, name: str) -> None:
    driver.open(page="Overview")
    _settled(driver)
    _unfold(driver, "used-for")
    button = driver.find(QToolButton, "more-conditions")
    assert isinstance(button, QToolButton)
    menu = button.menu()
    assert menu is not None
    next(action for action in menu.actions() if action.objectName() == name.replace("_", "-")).trigger()
    driver.wait(lambda: getattr(fake.asked("advice.get")[-1].conditions, name) is True)
    assert button.text() == "More Conditions (1)"


def test_mtu_and_kernel_of_another_machine_are_passed_on(driver: Driver, fake: FakeHost) -> None:
    driver.open(page="Overview")
    _settled(driver)
    _unfold(driver, "other-machine")
    for name, text in (("mtu", "9000"), ("path-mtu", "1500"), ("kernel-release", "4.18")):
        line = driver.find(QLineEdit, name)
        assert isinstance(line, QLineEdit)
        line.setText(text)
    _choose(driver, "server-kind", "linux")
    driver.wait(lambda: fake.asked("advice.get")[-1].server == "linux")
    asked = fake.asked("advice.get")[-1]
    assert (asked.mtu, asked.path_mtu, asked.kernel) == (9000, 1500, "4.18")


def test_another_machine_is_described_by_hand(driver: Driver, fake: FakeHost) -> None:
    driver.open(page="Overview")
    _settled(driver)
    before = _title(driver)
    _unfold(driver, "other-machine")
    missing = "Choose the other machine's adapter, link or server."
    driver.wait(lambda: driver.text_of("other-machine-summary") == missing)
    for name, data in (("transport", "udp"), ("adapter", "3com-etherlink-iii")):
        _choose(driver, name, data)
    driver.wait(lambda: driver.sees("advice-card-3com"))
    driver.click("other-machine-expected")
    driver.wait(lambda: driver.sees("expected-plot"))
    area = driver.window._detail.overview.findChild(QScrollArea)
    assert area is not None
    page = area.widget()
    assert page is not None
    assert page.minimumSizeHint().width() < 680, "it has to fit a window of 1000 pixels"
    assert "Read size" in _labels(driver)
    # Nothing of it can be included or applied here, and the mount's own headline stays.
    assert driver.find(QWidget, "advice-card-3com").findChild(QCheckBox) is None
    assert _title(driver) == before


def test_system_warnings_come_first(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.001, duplex="half")
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    driver.open(page="Overview")
    _open_reasons(driver)
    driver.wait(lambda: driver.sees("attention"))
    driver.wait(lambda: "half duplex" in _labels(driver))


def test_the_expected_curve_is_drawn_when_it_is_unfolded(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.04)
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    fake.mounts = [mounted()]
    driver.open(page="Overview")
    driver.wait(lambda: driver.window._detail.overview._result is not None)
    assert driver.window.findChild(QWidget, "expected-plot") is None
    _unfold(driver, "expected-speed")
    driver.wait(lambda: driver.sees("expected-plot"))
    plot = driver.find(QWidget, "expected-plot")
    assert "Readahead" in plot.accessibleName()
    style.apply_appearance(app(), theme.Appearance.DARK)
    style.apply_appearance(app(), theme.Appearance.LIGHT)
    _unfold(driver, "server-and-link")
    driver.click("refresh-facts")
    driver.wait(lambda: driver.sees("expected-plot") and driver.find(QWidget, "expected-plot") is not plot)


def test_a_flat_curve_is_not_drawn(driver: Driver, fake: FakeHost) -> None:
    link = LinkFacts(kind="ethernet", rate_bps=1e8, rtt_s=0.0004)
    fake.known = Facts(client=ClientFacts(), link=link, server=SERVER)
    fake.mounts = [mounted()]
    driver.open(page="Overview")
    driver.wait(lambda: driver.window._detail.overview._result is not None)
    result = driver.window._detail.overview._result
    assert result is not None
    assert result.curve is not None
    assert is_flat(result.curve)
    _unfold(driver, "expected-speed")
    driver.wait(lambda: "Reading (" in _labels(driver))
    assert driver.window.findChild(QWidget, "expected-plot") is None


def app() -> QApplication:
    found = QApplication.instance()
    assert isinstance(found, QApplication)
    return found


def test_an_undecided_test_does_not_replace_a_finding(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [mounted()]
    driver.open(page="Overview")
    panel = driver.window._detail.overview
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


def test_the_speeds_follow_the_unit(driver: Driver, fake: FakeHost) -> None:
    fake.mounts = [HOME]
    offered(driver, fake)
    _unfold(driver, "expected-speed")
    driver.wait(lambda: driver.sees("expected-plot"))
    try:
        SPEED_UNITS.choose(SpeedUnit.BITS)
        page = driver.window._detail.overview
        driver.wait(lambda: any(
            plot.isVisible() and "bit/s" in plot.axis("left").title()
            for plot in page.findChildren(ExpectedPlot)
        ))  # fmt: skip
        headline = driver.find(QWidget, "overview-headline")
        driver.wait(lambda: any("Mbit/s" in label.text() for label in headline.findChildren(QLabel)))
    finally:
        SPEED_UNITS.choose(SpeedUnit.BYTES)
