"""Findings in the settings form: shown while typing, mended by a click, never in the way of sane options."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QPushButton
from waiting import DEADLINE_MS

from advisor.lint import LintContext, lint
from advisor.options import MountOptions
from ui.panels.settings import SettingsPanel
from ui.widgets.findings import FindingsPanel


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


def test_soft_is_warned_of_and_mended_by_a_click(panel: SettingsPanel, qtbot) -> None:
    panel._rows["hard"].editor.set_value("soft")
    assert findings(panel).isVisible()
    assert "soft" in texts(panel).lower()
    assert panel.wish().options == "_netdev,nofail,soft"
    button = findings(panel).findChild(QPushButton)
    assert button is not None
    with qtbot.waitSignal(panel.edited, timeout=DEADLINE_MS):
        button.click()
    remaining = [f.rule for f in lint(MountOptions.parse(panel.wish().options), context=LintContext())]
    assert "soft" not in panel.wish().options.split(",")
    assert remaining == [] or button.objectName() not in {f"fix-{rule}" for rule in remaining}


def test_findings_go_when_the_reason_goes(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "_netdev,nofail,intr")
    assert findings(panel).isVisible()
    panel.load_entry("", "", "_netdev,nofail")
    assert findings(panel).isHidden()


def test_severity_is_a_sign_a_word_and_a_colour(panel: SettingsPanel) -> None:
    panel._rows["hard"].editor.set_value("soft")
    shown = texts(panel)
    assert any(word in shown for word in ("✖ Error", "⚠ Warning"))


def test_many_findings_scroll_and_leave_room_for_the_form(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "intr,posix,udp,noac,nolock,rsize=1000,sloppy,acregmin=90,timeo=7")
    assert findings(panel).height() < panel.height() / 3
    assert findings(panel).widget().height() >= findings(panel).viewport().height()
