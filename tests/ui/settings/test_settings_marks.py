"""The settings form: search, values in use, recommended values, findings, and keyboard navigation."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec
from fake_host import configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QToolButton,
    QWidget,
)
from settings_steps import found, keys, part, raw, row, seen, show_all
from waiting import DEADLINE_MS

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
    assert (
        part(panel, QLabel, "option-hits").text() == f"{len(seen(panel)) + 1} settings found"
    )  # and the readahead
    field.setText("mountport")
    assert seen(panel) == {"mountport"}
    assert part(panel, QLabel, "option-hits").text() == "1 setting found"
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
    assert label.isVisible()
    try:
        for appearance, colors in ((Appearance.DARK, theme.DARK), (Appearance.LIGHT, theme.LIGHT)):
            style.apply_appearance(qapp, appearance)
            qapp.processEvents()
            assert label.palette().color(label.foregroundRole()).name() == colors.muted
    finally:
        style.apply_appearance(qapp, Appearance.LIGHT)


def test_a_value_in_use_is_shown_where_it_differs(panel: SettingsPanel) -> None:
    panel.show_mount(mounted(requested="rsize=1048576,local_lock=all,nconnect=4"), keep_edits=False)
    show_all(panel)
    assert row(panel, "rsize").cells.note() == "≠ In use: 262144 (256 KiB). The server limited it to 262144."
    assert row(panel, "local_lock").cells.note() == "⊘ Ignored: Has no effect on version 4.2."
    assert row(panel, "wsize").cells.texts() == ["In use: 262144 (256 KiB)"]
    assert row(panel, "timeo").cells.texts() == []  # the default is in use
    panel.show_mount(configured(), keep_edits=False)
    show_all(panel)
    assert row(panel, "rsize").cells.texts() == []
    assert row(panel, "wsize").cells.texts() == []


def test_a_default_depends_on_the_transport(panel: SettingsPanel) -> None:
    show_all(panel)
    panel.load_entry("", "", "vers=3,udp")
    assert row(panel, "timeo").editor.field.text() == "Default: 1.1 s (timeo=11)"
    panel.load_entry("", "", "vers=3")
    assert row(panel, "timeo").editor.field.text() == "Default: 60 s (timeo=600)"


@dataclass(frozen=True)
class Advice:
    option: str
    proposed: str | None
    reason: str


def test_recommended_values_are_shown_and_accepted_by_a_click(panel: SettingsPanel) -> None:
    assert "rsize" not in seen(panel)
    advice = [Advice("rsize", "1048576", "The link is fast."), Advice("hard", None, "Data is at risk."),
              Advice("read_ahead_kb", "1024", "The server is far.")]  # fmt: skip
    panel.show_recommended({item.option: item for item in advice})
    cells = row(panel, "rsize").cells
    assert cells.texts() == ["Recommended"]
    assert cells._use.text() == "Use 1 MiB"
    assert cells._use.toolTip() == "Recommended\nThe link is fast."
    cells._use.click()
    assert cells.texts() == ["✓ Recommended"]
    assert not cells._use.isVisible()
    row(panel, "hard").cells._use.click()
    assert panel.request().options == "nconnect=4,wat,,timeo=70,timeo=80,rsize=1048576"
    panel._grid.readahead.cells._use.click()
    assert panel.request().read_ahead_kb == 1024
    panel.show_recommended({})
    assert cells.texts() == []
    panel.revert_all()
    panel.show_mount(configured(options="ro"), keep_edits=False)
    assert "rsize" not in seen(panel)


def test_a_narrow_form_has_the_recommended_value_in_the_button(panel: SettingsPanel) -> None:
    panel.show_recommended({"rsize": Advice("rsize", "1048576", "The link is fast.")})
    cells = row(panel, "rsize").cells
    assert cells.texts() == ["Recommended"]
    panel.resize(600, 700)
    QApplication.processEvents()
    assert cells.texts() == []
    assert cells._use.text() == "Use 1 MiB"


def test_recommended_settings_are_scrolled_to_and_marked(panel: SettingsPanel, qtbot: QtBot) -> None:
    show_all(panel)
    panel.load_entry("", "", panel.request().options + ",noacl", 1024)
    readahead = panel._grid.readahead
    assert readahead.combo.hasFocus()
    assert readahead.cells._band.isVisible()
    assert panel._area.verticalScrollBar().value() == 0
    panel.load_entry("", "", panel.request().options + ",lazytime", 1024)
    field = row(panel, "lazytime").editor.field
    assert field.hasFocus()
    assert row(panel, "lazytime").cells._band.isVisible()
    top = field.mapTo(panel, field.rect().topLeft()).y()
    assert 0 < top < panel.height()


def test_settings_changed_on_another_page_are_scrolled_to_later(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.hide()
    panel.load_entry("", "", panel.request().options + ",lazytime")
    panel.show()
    field = row(panel, "lazytime").editor.field
    qtbot.waitUntil(lambda: panel.window().focusWidget() is field, timeout=DEADLINE_MS)


def test_a_fix_is_an_undo_step(panel: SettingsPanel) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.objectName().startswith("fix-"))
    before = panel.request().options
    assert row(panel, "hard").cells.findings()
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
        return set(found(panel))

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
    assert found(panel) == []
    qtbot.waitUntil(lambda: found(panel) != [], timeout=DEADLINE_MS)


# Keyboard


def test_tab_follows_the_page_from_top_to_bottom(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.show_draft("nas:/a", "/mnt/a")
    show_all(panel)
    panel.load_entry("nas:/a", "/mnt/a", "soft,vers=4.2")
    raw(panel)
    part(panel, QLineEdit, "option-search").setFocus()
    visited: list[QWidget] = []
    widget = QApplication.focusWidget()
    while widget is not None and widget not in visited:
        visited.append(widget)
        qtbot.keyClick(widget, Qt.Key.Key_Tab)
        widget = QApplication.focusWidget()
    visited = [widget for widget in visited if not isinstance(widget, QScrollArea)]
    rows = [panel._area.widget().mapFromGlobal(w.mapToGlobal(w.rect().center())).y() for w in visited]
    tops = [widget.objectName() or repr(widget) for widget in visited]
    assert "options" in tops
    assert "share" in tops
    assert "option-vers" in tops
    line = panel.fontMetrics().height()
    assert all(here <= after + line for here, after in itertools.pairwise(rows)), list(
        zip(tops, rows, strict=True)
    )


def test_the_focused_row_shows_its_help_and_stays_in_place(panel: SettingsPanel) -> None:
    show_all(panel)
    row(panel, "rsize").editor.setFocus()
    help_label = row(panel, "rsize").cells._help
    assert help_label is not None
    assert help_label.isVisible()
    assert help_label.text().startswith("rsize: ")
    assert "unmount" in help_label.text()
    below = row(panel, "sec").editor
    QApplication.processEvents()
    panel._area.ensureWidgetVisible(below)
    place = below.mapTo(panel, below.rect().topLeft()).y()
    below.setFocus()
    assert not help_label.isVisible()
    assert below.mapTo(panel, below.rect().topLeft()).y() == place


def test_the_window_passes_facts_to_the_form(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    panel = driver.window._detail.settings
    driver.wait(lambda: panel._facts is not None)
    assert [mount.mount_point for mount in panel._mounts] == ["/home", "/media"]
    driver.window._on_new()
    fake.set_mounts([configured()])
    driver.wait(lambda: len(panel._mounts) == 1)
