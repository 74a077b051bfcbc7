"""The settings form: synchronization of text and rows, undo, marks of edited rows, and the mount time."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, TypeVar

import msgspec
import pytest
from fake_host import configured, mounted
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QPushButton, QToolButton, QWidget
from settings_steps import keys, part, raw, row, seen, show_all

from advisor.catalogue import catalogue
from advisor.options import MountOptions
from ui.common.mount_request import MountRequest
from ui.settings.option_rows import MOUNT_TIME_OPTIONS

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

    from app.mounts.model import Mount
    from ui.settings.panel import SettingsPanel

T = TypeVar("T", bound=QWidget)

# Rows


def test_every_option_of_the_catalogue_has_a_row(panel: SettingsPanel) -> None:
    show_all(panel)
    assert seen(panel) == {option.name for option in catalogue()} - MOUNT_TIME_OPTIONS


def test_only_what_is_set_is_shown_at_first(panel: SettingsPanel) -> None:
    assert {"hard", "nconnect", "timeo"} <= seen(panel)
    assert "rsize" not in seen(panel)
    panel.show_mount(configured(options="mountport=2050,nofail,_netdev"), keep_edits=False)
    assert seen(panel) == {"mountport"}  # the row of the mount time explains nofail
    panel.show_mount(mounted(requested=""), keep_edits=False)
    assert seen(panel) == set()
    assert part(panel, QLabel, "no-options").isVisible()
    assert part(panel, QComboBox, "option-readahead").isVisible()


def test_all_options_are_in_collapsed_groups_with_counts(panel: SettingsPanel) -> None:
    panel.show_mount(configured(options="mountport=2050,nofail,_netdev"), keep_edits=False)
    part(panel, QPushButton, "options-all").click()
    assert seen(panel) == set()
    button = part(panel, QToolButton, "more-advanced")
    assert "1 set" in button.text()
    assert button.accessibleDescription() == "Collapsed"
    button.click()
    assert "mountport" in seen(panel)
    assert "port" not in seen(panel)
    button.click()
    assert seen(panel) == set()
    part(panel, QPushButton, "options-set").click()
    assert seen(panel) == {"mountport"}


def test_the_way_from_an_empty_form_to_all_options(panel: SettingsPanel) -> None:
    panel.show_mount(mounted(requested=""), keep_edits=False)
    part(panel, QPushButton, "show-all-options").click()
    assert part(panel, QToolButton, "more-transfer").isVisible()
    assert not part(panel, QLabel, "no-options").isVisible()
    assert part(panel, QPushButton, "options-all").isChecked()


def test_a_row_stays_when_its_option_is_removed(panel: SettingsPanel) -> None:
    row(panel, "nconnect").cells._leave_out.click()
    assert "nconnect" not in panel.request().options
    assert "nconnect" in seen(panel)


def test_a_new_entry_has_the_boot_options(panel: SettingsPanel) -> None:
    panel.show_draft("", "")
    assert panel.request().options == "_netdev,nofail"
    assert seen(panel) == set()
    assert not panel.dirty


# Readahead


def with_readahead(kilobytes: int, state: str) -> Mount:
    mount = mounted()
    assert mount.active is not None
    active = msgspec.structs.replace(mount.active, read_ahead_kb=kilobytes, read_ahead_state=state)
    return msgspec.structs.replace(mount, active=active)


def test_the_readahead_is_edited_like_an_option(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.show_mount(with_readahead(128, "default"), keep_edits=False)
    combo = part(panel, QComboBox, "option-readahead")
    assert combo.currentText() == "128 KiB"
    combo.setFocus()
    combo.lineEdit().selectAll()
    qtbot.keyClicks(combo, "1M")
    assert panel.request().read_ahead_kb == 1024
    assert panel.dirty
    assert panel.changed_labels() == ["Readahead"]
    assert "Until unmounted" in panel._grid.readahead.cells.texts()
    keys(qtbot, panel, "Ctrl+Z")
    assert panel.request().read_ahead_kb is None
    assert combo.currentText() == "128 KiB"
    combo.setCurrentIndex(combo.findText("4 MiB"))
    assert panel.request().read_ahead_kb == 4096
    panel._grid.readahead.cells._revert.click()
    assert not panel.dirty


def test_an_invalid_readahead_is_reported_in_its_row(panel: SettingsPanel, qtbot: QtBot) -> None:
    combo = part(panel, QComboBox, "option-readahead")
    combo.setFocus()
    combo.lineEdit().selectAll()
    qtbot.keyClicks(combo, "much")
    problem = panel.problem()
    assert problem is not None
    assert problem.message == "Enter a size in whole KiB, such as 512k or 1M."
    assert panel.request().read_ahead_kb is None
    combo.setEditText("2 MiB")
    assert panel.problem() is None
    assert panel.request().read_ahead_kb == 2048


@pytest.mark.parametrize(
    ("state", "text"),
    [("until-unmounted", "Until unmounted"), ("saved", "At every mount"), ("default", None)],
)
def test_the_readahead_says_how_long_it_lasts(panel: SettingsPanel, state: str, text: str | None) -> None:
    panel.show_mount(with_readahead(1024, state), keep_edits=False)
    assert panel._grid.readahead.cells.texts() == ([text] if text else [])


# The option string and the rows


def test_rows_follow_the_text_which_keeps_its_cursor(panel: SettingsPanel, qtbot: QtBot) -> None:
    field = raw(panel)
    assert field.text() == "soft,nconnect=4,wat,,timeo=70,timeo=80"
    field.setFocus()
    field.setCursorPosition(len("soft,nconnect="))
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, "16")
    assert field.cursorPosition() == len("soft,nconnect=16")
    assert row(panel, "nconnect").editor.value() == "16"
    assert panel.request().options == "soft,nconnect=16,wat,,timeo=70,timeo=80"


@pytest.mark.parametrize("text", ["rsi", "rsize=", 'context="a,b', "soft,,", "a\\,b,", "timeo=x,acregmin=-1"])
def test_incomplete_text_is_kept(panel: SettingsPanel, qtbot: QtBot, text: str) -> None:
    field = raw(panel)
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)
    assert field.text() == text
    assert panel.request().options == text
    panel.show_mount(configured(options="soft"), keep_edits=True)
    assert field.text() == text


@pytest.mark.parametrize(
    "value",
    ["²", "9" * 400, "-1",
     *[pytest.param(text, marks=pytest.mark.long) for text in ("9" * 5000, "0x10", "", "1e9", "nan", "inf")]],
)  # fmt: skip
def test_any_value_is_shown_or_kept(panel: SettingsPanel, value: str) -> None:
    for option in catalogue():
        text = f"{option.name}={value}"
        panel.load_entry("", "", text)
        assert panel.request().options == text
    panel.load_entry("", "", "soft")
    assert panel.problem() is None


def test_a_row_changes_only_its_item(panel: SettingsPanel) -> None:
    row(panel, "hard").editor.set_value("softerr")
    row(panel, "rsize").editor.set_value("65536")
    assert raw(panel).text() == "softerr,nconnect=4,wat,,timeo=70,timeo=80,rsize=65536"


def test_invalid_input_is_reported_in_its_row_and_kept(panel: SettingsPanel, qtbot: QtBot) -> None:
    field = row(panel, "context").editor.field
    field.setFocus()
    qtbot.keyClicks(field, '"a,')
    assert isinstance(field, QLineEdit)
    assert field.text() == '"a,'
    assert "✖" in row(panel, "context").cells.note()
    problem = panel.problem()
    assert problem is not None
    assert "cannot be written" in problem.message
    panel.show_mount(configured(options=panel.request().options), keep_edits=True)
    qtbot.keyClicks(field, 'b"')
    assert panel.problem() is None
    assert panel.request().options.endswith(',context="a,b"')


def test_invalid_input_can_be_reverted(panel: SettingsPanel, qtbot: QtBot) -> None:
    field = row(panel, "context").editor.field
    assert isinstance(field, QLineEdit)
    qtbot.keyClicks(field, "a,b")
    assert panel.problem() is not None
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    assert panel.problem() is None
    assert row(panel, "context").cells.note() == ""


# Undo


def test_typing_in_one_field_is_one_step(panel: SettingsPanel, qtbot: QtBot) -> None:
    before = panel.request().options
    field = raw(panel)
    field.setFocus()
    field.end(False)
    qtbot.keyClicks(field, ",ro,sync")
    assert row(panel, "ro").editor.value() == "ro"
    row(panel, "hard").editor.set_value("hard")
    keys(qtbot, panel, "Ctrl+Z")
    assert panel.request().options == f"{before},ro,sync"
    keys(qtbot, panel, "Ctrl+Z")
    assert panel.request().options == before
    assert not panel.dirty
    assert row(panel, "ro").editor.value() is None
    keys(qtbot, panel, "Ctrl+Shift+Z")
    assert panel.request().options == f"{before},ro,sync"
    assert raw(panel).text() == f"{before},ro,sync"


def test_share_mount_point_and_paste_are_undo_steps(panel: SettingsPanel, qtbot: QtBot) -> None:
    panel.show_draft("", "")
    point = part(panel, QLineEdit, "mount-point")
    point.setFocus()
    qtbot.keyClicks(point, "/mnt/a")
    panel.load_entry("zeus:/z", "/z", "ro")
    assert panel.request() == MountRequest("zeus:/z", "/z", "ro")
    undo = part(panel, QToolButton, "undo")
    undo.click()
    assert panel.request() == MountRequest("", "/mnt/a", "_netdev,nofail")
    undo.click()
    assert point.text() == ""
    assert not undo.isEnabled()


def test_another_mount_has_no_undo_steps(panel: SettingsPanel) -> None:
    row(panel, "hard").editor.set_value("hard")
    panel.show_mount(configured(options="ro"), keep_edits=False)
    assert not part(panel, QToolButton, "undo").isEnabled()
    assert panel.request().options == "ro"


def test_nothing_is_undone_while_an_action_runs(panel: SettingsPanel, qtbot: QtBot) -> None:
    row(panel, "hard").editor.set_value("hard")
    panel.set_busy(busy=True)
    panel._history.undo_step()
    assert panel.dirty
    assert not part(panel, QToolButton, "undo").isEnabled()
    panel.set_busy(busy=False)
    panel._history.undo_step()
    assert not panel.dirty


def test_any_sequence_of_edits_can_be_undone(panel: SettingsPanel) -> None:
    """Edits of rows, text and mount time, undone and redone in any order, keep text and rows consistent."""
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
    before = panel.request().options
    for _ in range(200):
        act = chance.randrange(5)
        if act == 0:
            text = ",".join(chance.choices(items, k=4))
            text = text[: chance.randrange(len(text) + 1)]
            raw(panel).setText(text)
            raw(panel).textEdited.emit(text)
            assert panel.request().options == text
        elif act == 1:
            name = chance.choice(list(panel._rows))
            row(panel, name).editor.set_value(chance.choice([None, "1", "4096", "a,b", '"q', "no", "x"]))
        elif act == 2:
            part(panel, QComboBox, "option-when").setCurrentIndex(chance.randrange(3))
        else:
            chance.choice([panel._history.undo_step, panel._history.redo_step])()
        assert raw(panel).text() == panel.request().options
        values = MountOptions.parse(panel.request().options).values()
        for name, option_row in panel._rows.items():
            assert option_row.problem() or (option_row.editor.value() or "") == (values.get(name) or "")
    while panel._history.canUndo():
        panel._history.undo_step()
    assert panel.request().options == before


# What is edited


def test_an_edited_row_is_marked_and_can_be_reverted(panel: SettingsPanel) -> None:
    edited = row(panel, "hard")
    assert not edited.cells._changed.isVisible()
    edited.editor.set_value("hard")
    assert edited.cells._changed.isVisible()
    assert "soft" in edited.cells._changed.toolTip()
    edited.cells._revert.click()
    assert not edited.cells._changed.isVisible()
    assert not panel.dirty
    edited.cells._leave_out.click()
    assert "hard" not in panel.request().options
    assert edited.editor.value() is None


def test_all_edits_are_reverted_as_one_step(panel: SettingsPanel) -> None:
    before = panel.request().options
    row(panel, "hard").editor.set_value("hard")
    row(panel, "rsize").editor.set_value("65536")
    assert panel.changed_labels() == [catalogue()["rsize"].label, catalogue()["hard"].label]
    panel.revert_all()
    assert panel.request().options == before
    assert panel.changed_labels() == []
    part(panel, QToolButton, "undo").click()
    assert panel.request().options == "hard,nconnect=4,wat,,timeo=70,timeo=80,rsize=65536"


# When to mount


def test_the_mount_time_can_be_selected(panel: SettingsPanel) -> None:
    panel.show_draft("nas:/a", "/a")
    choice = part(panel, QComboBox, "option-when")
    assert choice.currentData() == "start-up"
    choice.setCurrentIndex(choice.findData("on-demand"))
    assert panel.request().options == "_netdev,nofail,x-systemd.automount"
    assert seen(panel) == {"x-systemd.idle-timeout"}
    idle = row(panel, "x-systemd.idle-timeout")
    idle.editor.set_value("10min")
    choice.setCurrentIndex(choice.findData("by-hand"))
    assert panel.request().options == "_netdev,nofail,noauto"
    assert not idle.editor.isVisible()
    raw(panel).setText("")
    panel.load_entry("", "", "x-systemd.automount")
    assert choice.currentData() == "on-demand"
    choice.setCurrentIndex(choice.findData("start-up"))
    assert panel.request().options == "_netdev,nofail"
