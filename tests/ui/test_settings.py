"""The settings form: text and rows in step, undo, search, what is edited and what is not in force."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pytest
from fake_host import configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QComboBox, QLabel, QLineEdit, QPushButton, QToolButton, QWidget

from advisor.catalogue import catalogue
from advisor.options import MountOptions
from ui.mounting import Wish
from ui.panels.settings import SettingsPanel
from ui.widgets.option_when import WHEN_OPTIONS

if TYPE_CHECKING:
    from driver import Driver
    from fake_host import FakeHost
    from pytestqt.qtbot import QtBot

    from ui.widgets.option_row import OptionRow

T = TypeVar("T", bound=QWidget)


@pytest.fixture
def panel(qtbot: QtBot) -> SettingsPanel:
    made = SettingsPanel(lambda _verb, _args: pytest.fail("Nothing is to be asked."))
    qtbot.addWidget(made)
    made.resize(1000, 700)
    made.show()
    made.show_mount(configured(options="soft,nconnect=4,wat,,timeo=70,timeo=80"), keep_edits=False)
    return made


def part(panel: SettingsPanel, kind: type[T], name: str) -> T:
    found = panel.findChild(kind, name)
    assert found is not None, name
    return found


def raw(panel: SettingsPanel) -> QLineEdit:
    return part(panel, QLineEdit, "options")


def row(panel: SettingsPanel, name: str) -> OptionRow:
    return panel._rows[name]


def seen(panel: SettingsPanel) -> set[str]:
    return {name for name, one in panel._rows.items() if one.editor.isVisible()}


def keys(qtbot: QtBot, panel: SettingsPanel, sequence: str) -> None:
    """Press keys as the window gets them: in the widget that has the focus."""
    focus = panel.window().focusWidget() or panel
    qtbot.keySequence(focus, QKeySequence(sequence))


# Rows


def test_every_option_of_the_catalogue_has_its_row(panel: SettingsPanel) -> None:
    for section in panel._grid._sections:
        if not section.is_open:
            section.button.click()
    shown = {option.name for option in catalogue()} - WHEN_OPTIONS - {"x-systemd.idle-timeout"}
    assert seen(panel) == shown


def test_what_is_not_basic_is_behind_a_click_unless_it_has_a_value(panel: SettingsPanel) -> None:
    assert {"nconnect", "sec"} <= seen(panel)
    assert "port" not in seen(panel)
    assert "mountport" not in panel._rows
    button = part(panel, QToolButton, "more-advanced")
    button.click()
    assert "mountport" in seen(panel)
    button.click()
    assert "mountport" not in seen(panel)
    panel.show_mount(configured(options="mountport=2050"), keep_edits=False)
    assert "mountport" in seen(panel)
    assert "port" not in seen(panel)
    assert "1 set" in part(panel, QToolButton, "more-advanced").text()


def test_a_new_entry_is_gentle_and_nothing_is_open(panel: SettingsPanel) -> None:
    panel.show_draft("", "")
    assert panel.wish().options == "_netdev,nofail"
    first = {"nconnect", "proto", "sec", "xprtsec"}
    assert seen(panel) == {option.name for option in catalogue() if option.basic} | first
    assert not panel.dirty


# The option string and the rows


def test_the_text_is_followed_by_the_rows_and_keeps_its_caret(panel: SettingsPanel, qtbot: QtBot) -> None:
    field = raw(panel)
    assert field.text() == "soft,nconnect=4,wat,,timeo=70,timeo=80"
    field.setFocus()
    field.setCursorPosition(len("soft,nconnect="))
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, "16")
    assert field.cursorPosition() == len("soft,nconnect=16")
    assert row(panel, "nconnect").editor.value() == "16"
    assert panel.wish().options == "soft,nconnect=16,wat,,timeo=70,timeo=80"


@pytest.mark.parametrize("text", ["rsi", "rsize=", 'context="a,b', "soft,,", "a\\,b,", "timeo=x,acregmin=-1"])
def test_half_typed_text_is_kept_as_it_is(panel: SettingsPanel, qtbot: QtBot, text: str) -> None:
    field = raw(panel)
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    assert field.text() == text
    assert panel.wish().options == text
    panel.show_mount(configured(options="soft"), keep_edits=True)
    assert field.text() == text


@pytest.mark.parametrize("value", ["²", "9" * 400, "9" * 5000, "0x10", "-1", "", "1e9", "nan", "inf"])
def test_any_value_is_shown_or_kept(panel: SettingsPanel, value: str) -> None:
    for option in catalogue():
        text = f"{option.name}={value}"
        panel.load_entry("", "", text)
        assert panel.wish().options == text
    panel.load_entry("", "", "soft")
    assert panel.problem() is None


def test_a_row_changes_its_own_item_only(panel: SettingsPanel) -> None:
    row(panel, "hard").editor.set_value("softerr")
    row(panel, "rsize").editor.set_value("65536")
    assert raw(panel).text() == "softerr,nconnect=4,wat,,timeo=70,timeo=80,rsize=65536"


def test_what_cannot_be_written_is_said_beside_it_and_kept(panel: SettingsPanel, qtbot: QtBot) -> None:
    part(panel, QToolButton, "more-security").click()
    field = row(panel, "context").editor.field
    field.setFocus()
    qtbot.keyClicks(field, '"a,')
    assert isinstance(field, QLineEdit)
    assert field.text() == '"a,'
    assert "✖" in row(panel, "context").cells._note.text()
    problem = panel.problem()
    assert problem is not None
    assert "cannot be written" in problem.message
    panel.show_mount(configured(options=panel.wish().options), keep_edits=True)
    qtbot.keyClicks(field, 'b"')
    assert panel.problem() is None
    assert panel.wish().options.endswith(',context="a,b"')


def test_what_cannot_be_written_can_be_taken_back(panel: SettingsPanel, qtbot: QtBot) -> None:
    part(panel, QToolButton, "more-security").click()
    field = row(panel, "context").editor.field
    assert isinstance(field, QLineEdit)
    qtbot.keyClicks(field, "a,b")
    assert panel.problem() is not None
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    assert panel.problem() is None
    assert row(panel, "context").cells._note.text() == ""


# Undo


def test_typing_in_one_field_is_one_step(panel: SettingsPanel, qtbot: QtBot) -> None:
    before = panel.wish().options
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ",ro,sync")
    assert row(panel, "ro").editor.value() == "ro"
    row(panel, "hard").editor.set_value("hard")
    keys(qtbot, panel, "Ctrl+Z")
    assert panel.wish().options == f"{before},ro,sync"
    keys(qtbot, panel, "Ctrl+Z")
    assert panel.wish().options == before
    assert not panel.dirty
    assert row(panel, "ro").editor.value() is None
    keys(qtbot, panel, "Ctrl+Shift+Z")
    assert panel.wish().options == f"{before},ro,sync"
    assert raw(panel).text() == f"{before},ro,sync"


def test_the_place_and_a_pasted_entry_are_steps_too(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.show_draft("", "")
    point = part(panel, QLineEdit, "mount-point")
    point.setFocus()
    qtbot.keyClicks(point, "/mnt/a")
    panel.load_entry("zeus:/z", "/z", "ro")
    assert panel.wish() == Wish("zeus:/z", "/z", "ro")
    undo = part(panel, QToolButton, "undo")
    undo.click()
    assert panel.wish() == Wish("", "/mnt/a", "_netdev,nofail")
    undo.click()
    assert point.text() == ""
    assert not undo.isEnabled()


def test_another_mount_begins_without_steps(panel: SettingsPanel) -> None:
    row(panel, "hard").editor.set_value("hard")
    panel.show_mount(configured(options="ro"), keep_edits=False)
    assert not part(panel, QToolButton, "undo").isEnabled()
    assert panel.wish().options == "ro"


def test_nothing_is_undone_while_something_runs(panel: SettingsPanel, qtbot: QtBot) -> None:
    row(panel, "hard").editor.set_value("hard")
    panel.set_busy(busy=True)
    panel._history.go_back()
    assert panel.dirty
    assert not part(panel, QToolButton, "undo").isEnabled()
    panel.set_busy(busy=False)
    panel._history.go_back()
    assert not panel.dirty


def test_any_walk_through_the_form_leads_back(panel: SettingsPanel) -> None:
    """Edits of rows, text and choice, undone and redone in any order, keep text and rows in step."""
    chance = random.Random(7)
    items = [
        "rsize=1",
        "soft",
        'context="a,b"',
        "x-y=z",
        "wat",
        "",
        "timeo=7",
        "noauto",
        "x-systemd.automount",
    ]
    before = panel.wish().options
    for _ in range(200):
        act = chance.randrange(5)
        if act == 0:
            text = ",".join(chance.choices(items, k=4))
            text = text[: chance.randrange(len(text) + 1)]
            raw(panel).setText(text)
            raw(panel).textEdited.emit(text)
            assert panel.wish().options == text
        elif act == 1:
            name = chance.choice(list(panel._rows))
            row(panel, name).editor.set_value(chance.choice([None, "1", "4096", "a,b", '"q', "no", "x"]))
        elif act == 2:
            part(panel, QComboBox, "option-when").setCurrentIndex(chance.randrange(3))
        else:
            chance.choice([panel._history.go_back, panel._history.go_on])()
        assert raw(panel).text() == panel.wish().options
        values = MountOptions.parse(panel.wish().options).values()
        for name, one in panel._rows.items():
            assert one.problem() or (one.editor.value() or "") == (values.get(name) or "")
    while panel._history.canUndo():
        panel._history.go_back()
    assert panel.wish().options == before


# What is edited


def test_an_edited_row_is_marked_and_goes_back(panel: SettingsPanel) -> None:
    edited = row(panel, "hard")
    assert not edited.cells._changed.isVisible()
    edited.editor.set_value("hard")
    assert edited.cells._changed.isVisible()
    assert "soft" in edited.cells._changed.toolTip()
    edited.cells._revert.click()
    assert not edited.cells._changed.isVisible()
    assert not panel.dirty
    edited.cells._leave_out.click()
    assert "hard" not in panel.wish().options
    assert edited.editor.value() is None


def test_all_edits_are_taken_back_as_one_step(panel: SettingsPanel) -> None:
    before = panel.wish().options
    button = part(panel, QPushButton, "revert-all")
    assert not button.isEnabled()
    row(panel, "hard").editor.set_value("hard")
    row(panel, "rsize").editor.set_value("65536")
    assert "(2)" in button.text()
    button.click()
    assert panel.wish().options == before
    part(panel, QToolButton, "undo").click()
    assert panel.wish().options == "hard,nconnect=4,wat,,timeo=70,timeo=80,rsize=65536"


# When to mount


def test_when_to_mount(panel: SettingsPanel) -> None:
    panel.show_draft("nas:/a", "/a")
    choice = part(panel, QComboBox, "option-when")
    assert choice.currentData() == "start-up"
    choice.setCurrentIndex(choice.findData("on demand"))
    assert panel.wish().options == "_netdev,nofail,x-systemd.automount"
    idle = row(panel, "x-systemd.idle-timeout")
    assert idle.editor.isVisible()
    idle.editor.set_value("10min")
    choice.setCurrentIndex(choice.findData("by hand"))
    assert panel.wish().options == "_netdev,nofail,noauto"
    assert not idle.editor.isVisible()
    raw(panel).setText("")
    panel.load_entry("", "", "x-systemd.automount")
    assert choice.currentData() == "on demand"
    choice.setCurrentIndex(choice.findData("start-up"))
    assert panel.wish().options == "_netdev,nofail"


# Search


def test_search(panel: SettingsPanel, qtbot: QtBot) -> None:
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


def test_a_search_for_when_finds_the_choice(panel: SettingsPanel) -> None:
    part(panel, QLineEdit, "option-search").setText("automount")
    assert part(panel, QComboBox, "option-when").isVisible()


# In use, advised, found


def test_what_is_not_in_force_has_a_sign_a_word_and_the_reason(panel: SettingsPanel) -> None:
    panel.show_mount(mounted(requested="rsize=1048576,local_lock=all,nconnect=4"), keep_edits=False)
    assert row(panel, "rsize").cells._note.text() == "≠ Not as asked for: Limited by the server to 262144."
    assert row(panel, "local_lock").cells._note.text() == "⊘ Ignored: Has no effect on version 4.2."
    assert row(panel, "wsize").cells._note.text() == ""
    assert row(panel, "wsize").cells._used.text() == "262144 (256 KiB)"
    panel.show_mount(configured(), keep_edits=False)
    assert row(panel, "rsize").cells._note.text() == ""
    assert row(panel, "wsize").cells._used.text() == ""


def test_a_default_depends_on_the_transport(panel: SettingsPanel) -> None:
    panel.load_entry("", "", "vers=3,udp")
    assert row(panel, "timeo").cells._default.text() == "1.1 s"
    panel.load_entry("", "", "vers=3")
    assert row(panel, "timeo").cells._default.text() == "60.0 s"


@dataclass(frozen=True)
class Advice:
    option: str
    proposed: str | None
    reason: str


def test_advised_values_stand_beside_the_others_and_are_taken_by_a_click(panel: SettingsPanel) -> None:
    heading = next(label for label in panel.findChildren(QLabel) if label.text() == "Advised")
    assert not heading.isVisible()
    advice = [Advice("rsize", "1048576", "The link is fast."), Advice("hard", None, "Data is at risk.")]
    panel.show_advised({one.option: one for one in advice})
    assert heading.isVisible()
    button = row(panel, "rsize").cells._advised
    assert button.text() == "1 MiB"
    assert button.toolTip() == "The link is fast."
    button.click()
    row(panel, "hard").cells._advised.click()
    assert panel.wish().options == "nconnect=4,wat,,timeo=70,timeo=80,rsize=1048576"
    panel.show_advised({})
    assert not heading.isVisible()
    assert not button.isVisible()


def test_a_fix_is_a_step(panel: SettingsPanel) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.objectName().startswith("fix-"))
    before = panel.wish().options
    assert row(panel, "hard").cells._finding.isVisible()
    button.click()
    assert panel.wish().options != before
    part(panel, QToolButton, "undo").click()
    assert panel.wish().options == before


def test_a_fix_of_an_older_text_does_no_harm(panel: SettingsPanel, qtbot: QtBot) -> None:
    button = next(b for b in panel.findChildren(QPushButton) if b.objectName() == "fix-no-nofail")
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ',context="a')
    typed = panel.wish().options
    button.click()
    assert panel.wish().options == typed


def test_connections_of_other_mounts_are_reckoned_with(panel: SettingsPanel) -> None:
    def rules() -> set[str]:
        return {finding.rule for finding in panel._foot._findings._findings}

    panel.show_mount(configured(share="nas:/a", options="vers=4.2,nconnect=8,nofail"), keep_edits=False)
    before = rules()
    live = mounted("nas:/b", "/b")
    assert live.active is not None
    live = msgspec.structs.replace(live, active=msgspec.structs.replace(live.active, nconnect=1))
    panel.set_mounts([live])
    assert rules() - before
    panel.set_mounts([])
    assert rules() == before


def test_half_a_word_is_no_mistake_until_typing_pauses(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.load_entry("", "", "_netdev,nofail")
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ",sof")
    assert panel._foot._findings.isHidden()
    qtbot.waitUntil(panel._foot._findings.isVisible, timeout=5000)


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


def test_the_row_with_the_focus_explains_itself(panel: SettingsPanel) -> None:
    row(panel, "rsize").editor.setFocus()
    text = part(panel, QLabel, "option-help").text()
    assert text.startswith("rsize: ")
    assert "unmount" in text


def test_the_window_tells_what_is_known_of_the_way_to_the_server(driver: Driver, fake: FakeHost) -> None:
    driver.open()
    panel = driver.window._detail.settings
    driver.wait(lambda: panel._facts is not None)
    assert [mount.mount_point for mount in panel._mounts] == ["/home", "/media"]
    driver.window._on_new()
    fake.set_mounts([configured()])
    driver.wait(lambda: len(panel._mounts) == 1)
