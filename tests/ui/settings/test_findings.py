"""Findings in the settings form: shown while typing, and fixed by a click."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from waiting import DEADLINE_MS

from advisor.lint import LintContext, lint
from advisor.options import MountOptions
from ui.actions import Command
from ui.settings.findings import FindingsPanel
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


def findings(panel: SettingsPanel) -> FindingsPanel:
    found = panel.findChild(FindingsPanel, "findings")
    assert found is not None
    return found


def texts(panel: SettingsPanel) -> str:
    return "\n".join(label.text() for label in findings(panel).findChildren(QLabel))


def test_a_draft_without_options_has_none(panel: SettingsPanel) -> None:
    assert findings(panel).isHidden()


def test_the_warning_about_soft_is_fixed_by_a_click(panel: SettingsPanel, qtbot) -> None:
    panel._rows["hard"].editor.set_value("soft")
    assert findings(panel).isVisible()
    assert "soft" in texts(panel).lower()
    assert panel.request().options == "_netdev,nofail,soft"
    button = findings(panel).findChild(QPushButton)
    assert button is not None
    with qtbot.waitSignal(panel.edited, timeout=DEADLINE_MS):
        button.click()
    remaining = [f.rule for f in lint(MountOptions.parse(panel.request().options), context=LintContext())]
    assert "soft" not in panel.request().options.split(",")
    assert remaining == [] or button.objectName() not in {f"fix-{rule}" for rule in remaining}


def test_findings_disappear_with_their_cause(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,intr")
    assert findings(panel).isVisible()
    panel.load_entry("", "", "_netdev,nofail")
    assert findings(panel).isHidden()


def test_severity_has_a_symbol_a_word_and_a_color(panel: SettingsPanel) -> None:
    panel._rows["hard"].editor.set_value("soft")
    shown = texts(panel)
    assert any(word in shown for word in ("✖ Error", "⚠ Warning"))


def test_many_findings_scroll(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "intr,posix,udp,noac,nolock,rsize=1000,sloppy,acregmin=90,timeo=7")
    assert findings(panel).height() < panel.height() / 3
    assert findings(panel).widget().height() >= findings(panel).viewport().height()


def new_form(driver: Driver) -> SettingsPanel:
    driver.open()
    driver.window._actions[Command.NEW].trigger()
    driver.wait(lambda: driver.sees("share"))
    panel = driver.window.findChild(SettingsPanel)
    assert panel is not None
    return panel


def test_the_form_of_a_new_mount_shows_missing_programs(driver: Driver, fake: FakeHost) -> None:
    fake.rdma = False
    panel = new_form(driver)
    panel.load_entry("nas01:/a", "/mnt/a", "_netdev,nofail,rdma")
    driver.wait(lambda: "This computer has no RDMA device." in texts(panel))
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
