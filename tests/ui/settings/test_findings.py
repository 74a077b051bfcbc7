"""Findings in the settings form: shown while typing, and fixed by a click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from settings_steps import found, part, row
from waiting import DEADLINE_MS

from ui.common.icons import IconLabel
from ui.settings.panel import SettingsPanel

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost


@pytest.fixture
def panel(qtbot):
    made = SettingsPanel(lambda _verb, _args: pytest.fail("Nothing is to be asked."))
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    made.show_draft("nas01:/export", "/mnt/nas")
    return made


def texts(panel: SettingsPanel) -> str:
    labels = [label for label in panel.findChildren(QLabel) if label.isVisible()]
    return "\n".join(text for label in labels for text in (label.text(), label.accessibleName()))


def press(panel: SettingsPanel, name: str) -> None:
    button = panel.findChild(QPushButton, name)
    assert button is not None, name
    assert button.isVisible()
    button.click()


def test_a_draft_without_options_has_none(panel: SettingsPanel) -> None:
    assert found(panel) == []
    assert not part(panel, QPushButton, "option-findings").isVisible()


def test_a_warning_stands_below_its_row_and_is_fixed_by_a_click(panel: SettingsPanel, qtbot) -> None:
    row(panel, "hard").editor.set_value("soft")
    assert "soft" in texts(panel).lower()
    assert panel.request().options == "_netdev,nofail,soft"
    (finding,) = row(panel, "hard").cells.findings()
    assert part(panel, QPushButton, "option-findings").isVisible()
    with qtbot.waitSignal(panel.edited, timeout=DEADLINE_MS):
        press(panel, f"fix-{finding.rule}")
    assert "soft" not in panel.request().options.split(",")
    assert finding.rule not in found(panel)


def test_the_reason_is_shown_on_request(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,soft")
    (finding,) = row(panel, "hard").cells.findings()
    assert finding.why not in texts(panel)
    press(panel, f"why-{finding.rule}")
    assert finding.why in texts(panel)
    press(panel, f"why-{finding.rule}")
    assert finding.why not in texts(panel)


def test_an_option_without_a_value_is_shown_for_its_finding(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,noac")
    assert "ac" in {name for name, one in panel._rows.items() if one.cells.is_visible}
    assert row(panel, "ac").cells.findings()


def test_findings_disappear_with_their_cause(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,intr")
    assert found(panel) != []
    panel.load_entry("", "", "_netdev,nofail")
    assert found(panel) == []


def test_severity_has_a_symbol_a_word_and_a_color(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,soft")
    (finding,) = row(panel, "hard").cells.findings()
    sign = next(
        label for label in panel.findChildren(IconLabel)
        if label.isVisible() and label.accessibleName() in {"Error", "Warning"}
    )  # fmt: skip
    assert finding.severity == sign.icon_name()


def test_the_counter_leads_from_finding_to_finding(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,soft,noac,timeo=7")
    visited: set[QWidget | None] = set()
    for _ in range(4):
        press(panel, "option-findings")
        visited.add(panel.window().focusWidget())
    assert {row(panel, name).editor.field for name in ("hard", "ac", "timeo")} <= visited


def new_form(driver: Driver) -> SettingsPanel:
    driver.open()
    driver.window._on_new()
    driver.wait(lambda: driver.sees("share"))
    panel = driver.window.findChild(SettingsPanel)
    assert panel is not None
    return panel


def test_the_form_of_a_new_mount_shows_missing_programs(driver: Driver, fake: FakeHost) -> None:
    fake.rdma = False
    panel = new_form(driver)
    panel.load_entry("nas01:/a", "/mnt/a", "_netdev,nofail,rdma")
    driver.wait(lambda: "This computer has no RDMA device." in texts(panel))
    (rule,) = [rule for rule in found(panel) if "rdma" in rule]
    press(panel, f"why-{rule}")
    assert "dnf install rdma-core  # Fedora" in texts(panel)


def test_no_server_is_contacted_while_a_new_mount_is_typed(driver: Driver, fake: FakeHost) -> None:
    panel = new_form(driver)
    driver.wait(lambda: panel._facts is not None and panel._facts.server is None)
    fake.rdma = False
    asked = len(fake.asked("facts.get"))
    for letters in ("nas01", "nas01:/a"):
        panel.load_entry(letters, "/mnt/a", "_netdev,nofail")
    for options in ("_netdev,nofail,r", "_netdev,nofail,rd", "_netdev,nofail,rdma"):
        panel.load_entry("nas01:/a", "/mnt/a", options)
    driver.wait(lambda: "This computer has no RDMA device." in texts(panel))
    assert [args.share for args in fake.asked("facts.get")[asked:]] == [""]  # one request after typing paused


def test_missing_programs_are_checked_again_after_an_edit(driver: Driver, fake: FakeHost) -> None:
    fake.rdma = False
    panel = new_form(driver)
    panel.load_entry("nas01:/a", "/mnt/a", "_netdev,nofail,rdma")
    driver.wait(lambda: "This computer has no RDMA device." in texts(panel))
    fake.rdma = True
    panel.load_entry("nas01:/a", "/mnt/a", "_netdev,nofail,rdma,ro")
    driver.wait(lambda: "This computer has no RDMA device." not in texts(panel))
