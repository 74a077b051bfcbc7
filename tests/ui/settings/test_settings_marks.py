"""The settings form: search, values in use, recommended values, findings, and keyboard navigation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec
from fake_host import configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton, QToolButton, QWidget
from settings_steps import keys, part, raw, row, seen
from waiting import DEADLINE_MS

from advisor.catalogue import catalogue
from ui.common import style, theme
from ui.common.theme import Appearance

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot

    from ui.settings.panel import SettingsPanel


T = TypeVar("T", bound=QWidget)

# Search


def test_search_shows_matching_options(panel: SettingsPanel, qtbot: QtBot) -> None:
    before = seen(panel)
    keys(qtbot, panel, "Ctrl+F")
    field = part(panel, QLineEdit, "option-search")
    assert field.hasFocus()
    qtbot.keyClicks(field, "cache")
    assert {"acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "lookupcache"} <= seen(panel)
    assert "rsize" not in seen(panel)
    assert part(panel, QLabel, "option-hits").text() == f"{len(seen(panel))} options"
    field.setText("mountport")
    assert seen(panel) == {"mountport"}
    assert part(panel, QLabel, "option-hits").text() == "1 option"
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert row(panel, "mountport").editor.field.hasFocus()
    field.setFocus()
    field.setText("xyzzy")
    assert seen(panel) == set()
    assert "xyzzy" in part(panel, QLabel, "no-options").text()
    assert part(panel, QLabel, "no-options").isVisible()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == ""
    assert seen(panel) == before


def test_a_search_finds_the_mount_time(panel: SettingsPanel) -> None:
    part(panel, QLineEdit, "option-search").setText("automount")
    assert part(panel, QComboBox, "option-when").isVisible()


# In use, advised, found


def test_values_in_use_are_legible_in_the_dark_theme(qapp: QApplication, panel: SettingsPanel) -> None:
    panel.show_mount(mounted(), keep_edits=False)
    label = row(panel, "rsize").cells._used
    try:
        for appearance, colors in ((Appearance.DARK, theme.DARK), (Appearance.LIGHT, theme.LIGHT)):
            style.apply_appearance(qapp, appearance)
            qapp.processEvents()
            assert label.palette().color(label.foregroundRole()).name() == colors.text
    finally:
        style.apply_appearance(qapp, Appearance.LIGHT)


def test_a_value_not_in_use_has_a_symbol_and_a_reason(panel: SettingsPanel) -> None:
    panel.show_mount(mounted(requested="rsize=1048576,local_lock=all,nconnect=4"), keep_edits=False)
    assert row(panel, "rsize").cells._note.text() == "≠ Not as asked for: The server limited it to 262144."
    assert row(panel, "local_lock").cells._note.text() == "⊘ Ignored: Has no effect on version 4.2."
    assert row(panel, "wsize").cells._note.text() == ""
    assert row(panel, "wsize").cells._used.text() == "262144 (256 KiB)"
    panel.show_mount(configured(), keep_edits=False)
    assert row(panel, "rsize").cells._note.text() == ""
    assert row(panel, "wsize").cells._used.text() == ""


def test_a_default_depends_on_the_transport(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "vers=3,udp")
    assert row(panel, "timeo").cells._default_label.text() == "1.1 s"
    panel.load_entry("", "", "vers=3")
    assert row(panel, "timeo").cells._default_label.text() == "60.0 s"


@dataclass(frozen=True)
class Advice:
    option: str
    proposed: str | None
    reason: str


def test_recommended_values_are_shown_and_accepted_by_a_click(panel: SettingsPanel) -> None:
    heading = next(label for label in panel.findChildren(QLabel) if label.text() == "Advised")
    assert not heading.isVisible()
    advice = [Advice("rsize", "1048576", "The link is fast."), Advice("hard", None, "Data is at risk.")]
    panel.show_recommended({item.option: item for item in advice})
    assert heading.isVisible()
    button = row(panel, "rsize").cells._recommended
    assert button.text() == "1 MiB"
    assert button.toolTip() == "The link is fast."
    button.click()
    row(panel, "hard").cells._recommended.click()
    assert panel.request().options == "nconnect=4,wat,,timeo=70,timeo=80,rsize=1048576"
    panel.show_recommended({})
    assert not heading.isVisible()
    assert not button.isVisible()


def test_a_fix_is_an_undo_step(panel: SettingsPanel) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.objectName().startswith("fix-"))
    before = panel.request().options
    assert row(panel, "hard").cells._finding.isVisible()
    button.click()
    assert panel.request().options != before
    part(panel, QToolButton, "undo").click()
    assert panel.request().options == before


def test_a_fix_of_an_outdated_finding_is_ignored(panel: SettingsPanel, qtbot: QtBot) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.objectName() == "fix-no-nofail")
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ',context="a')
    typed = panel.request().options
    button.click()
    assert panel.request().options == typed


def test_connections_of_other_mounts_are_considered(panel: SettingsPanel) -> None:
    def rules() -> set[str]:
        return {finding.rule for finding in panel._footer._findings._findings}

    panel.show_mount(configured(share="nas:/a", options="vers=4.2,nconnect=8,nofail"), keep_edits=False)
    before = rules()
    live = mounted("nas:/b", "/b")
    assert live.active is not None
    live = msgspec.structs.replace(live, active=msgspec.structs.replace(live.active, nconnect=1))
    panel.set_mounts([live])
    assert rules() - before
    panel.set_mounts([])
    assert rules() == before


def test_findings_wait_until_typing_pauses(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.load_entry("", "", "_netdev,nofail")
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ",sof")
    assert panel._footer._findings.isHidden()
    qtbot.waitUntil(panel._footer._findings.isVisible, timeout=DEADLINE_MS)


# Keyboard


def test_tab_goes_from_row_to_row(panel: SettingsPanel) -> None:
    row(panel, "vers").editor.setFocus()
    visited: list[str] = []
    for _ in range(12):
        widget = QApplication.focusWidget()
        assert widget is not None
        visited.append(widget.objectName())
        panel.focusNextChild()
    named = [name.removeprefix("option-") for name in visited if name.startswith("option-")]
    order = [option.name for option in catalogue() if option.name in panel._rows]
    assert named == order[: len(named)]
    assert len(named) >= 6


def test_the_focused_row_shows_its_help(panel: SettingsPanel) -> None:
    row(panel, "rsize").editor.setFocus()
    text = part(panel, QLabel, "option-help").text()
    assert text.startswith("rsize: ")
    assert "unmount" in text


def test_the_window_passes_facts_to_the_form(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    panel = driver.window._detail.settings
    driver.wait(lambda: panel._facts is not None)
    assert [mount.mount_point for mount in panel._mounts] == ["/home", "/media"]
    driver.window._on_new()
    fake.set_mounts([configured()])
    driver.wait(lambda: len(panel._mounts) == 1)
