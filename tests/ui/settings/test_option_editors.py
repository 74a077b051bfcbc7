"""Option editors: conversion between fields and option string without loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import msgspec
import pytest
from fake_host import active
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox
from waiting import DEADLINE_MS

from advisor.dialects.entry import MountTime, mount_time_of
from advisor.options import MountOptions, catalogue
from app.mounts.findings import connections_by_version
from app.mounts.model import Mount
from ui.common.inputs import make_editor
from ui.common.option_search import find_options
from ui.common.option_text import default_text, help_text, value_text
from ui.settings.form_state import with_mount_time, with_value

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

BASIC = [option for option in catalogue() if option.basic]
CASES = [
    ("vers", "4.2"), ("ro", "ro"), ("bg", "bg"), ("rsize", "262144"), ("rsize", "12345"),
    ("wsize", "1048576"),
    ("timeo", "600"), ("timeo", "7"), ("retrans", "0"), ("hard", "softerr"), ("acregmin", "0"),
    ("acdirmax", "3600"), ("ac", "no"), ("ac", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_value_survives_a_round_trip(qtbot: QtBot, name: str, value: str) -> None:
    editor = make_editor(catalogue()[name])
    qtbot.addWidget(editor)
    assert editor.value() is None
    editor.set_value(value)
    assert editor.value() == value
    assert editor.problem() == ""
    editor.set_value(None)
    assert editor.value() is None


@pytest.mark.parametrize("option", BASIC, ids=lambda option: option.name)
def test_every_basic_option_has_an_editor_a_default_and_help(qtbot: QtBot, option: object) -> None:
    editor = make_editor(option)  # type: ignore[arg-type]
    qtbot.addWidget(editor)
    assert default_text(option)  # type: ignore[arg-type]
    assert option.help in help_text(option)  # type: ignore[attr-defined, arg-type]


@pytest.mark.parametrize("name", ["timeo", "rsize", "vers"])
def test_a_value_that_an_editor_cannot_show_is_kept(qtbot: QtBot, name: str) -> None:
    editor = make_editor(catalogue()[name])
    qtbot.addWidget(editor)
    editor.set_value("odd")
    assert editor.value() == "odd"


def test_an_invalid_value_is_a_problem(qtbot: QtBot) -> None:
    for name in ("timeo", "rsize"):
        editor = make_editor(catalogue()[name])
        qtbot.addWidget(editor)
        editor.set_value("odd")
        assert "odd" in editor.problem()


@pytest.mark.parametrize(
    ("typed", "value"), [("256k", "262144"), ("1M", "1048576"), ("8192", "8192"), ("", None)]
)
def test_sizes_accept_units(qtbot: QtBot, typed: str, value: str | None) -> None:
    editor = make_editor(catalogue()["rsize"])
    qtbot.addWidget(editor)
    combo = editor.findChild(QComboBox)
    assert combo is not None
    with qtbot.waitSignal(editor.changed, timeout=DEADLINE_MS):
        combo.setEditText(typed or " ")
    assert editor.value() == value


def test_timeo_is_edited_in_seconds_and_written_in_deciseconds(qtbot: QtBot) -> None:
    editor = make_editor(catalogue()["timeo"])
    qtbot.addWidget(editor)
    box = editor.findChild(QDoubleSpinBox)
    assert box is not None
    assert box.text() == "Default"
    box.stepUp()
    assert box.value() == 60.0
    assert editor.value() == "600"
    box.setValue(0.7)
    assert editor.value() == "7"
    box.setValue(box.minimum())
    assert editor.value() is None


def test_texts_of_values() -> None:
    assert value_text(catalogue()["rsize"], "1048576") == "1048576 (1 MiB)"
    assert value_text(catalogue()["timeo"], "600") == "60 s (timeo=600)"
    assert value_text(catalogue()["hard"], "soft").endswith("(soft)")
    assert value_text(catalogue()["ac"], "no") == "no"


items = st.sampled_from(["rw", "ro", "soft", "rsize=8192", "timeo=7", "nconnect=4", "x-odd=a", "noac", "",
                         "wat", "noauto", "nofail", "x-systemd.automount", "rsize=",
                         "nfsvers=4.1", 'context="u:o,c1"', "actimeo=9", "rsize=1"])  # fmt: skip


@settings(deadline=None)
@given(st.lists(items, max_size=8), st.sampled_from(["65536", None]))
def test_an_edit_keeps_all_other_options(parts: list[str], value: str | None) -> None:
    text = ",".join(parts)
    edited = with_value(text, "wsize", value)
    assert MountOptions.parse(edited).get("wsize") == value
    assert [item for item in MountOptions.parse(edited) if item] == [item for item in parts if item] + (
        [f"wsize={value}"] if value else []
    )


@settings(deadline=None)
@given(st.lists(items, max_size=8))
def test_setting_the_same_value_changes_nothing(parts: list[str]) -> None:
    text = ",".join(parts)
    for option in catalogue():
        value = MountOptions.parse(text).get(option.name)
        if value is not None:
            assert with_value(text, option.name, value) == text


def test_a_trailing_comma_is_used() -> None:
    assert with_value("soft,", "rsize", "4096") == "soft,rsize=4096"
    assert with_value("soft,,", "hard", "hard") == "hard,,"


def test_a_value_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        with_value("soft", "context", "a,b")
    with pytest.raises(ValueError, match="cannot be written"):
        with_value('context="a', "rsize", "4096")
    with pytest.raises(ValueError, match="quotation mark"):
        with_mount_time('context="a', "by-hand")


@settings(deadline=None)
@given(st.lists(items, max_size=6), st.sampled_from(get_args(MountTime)))
def test_the_mount_time_sets_several_options(parts: list[str], when: MountTime) -> None:
    text = with_mount_time(",".join(parts), when)
    options = MountOptions.parse(text)
    assert mount_time_of(options) == when
    own = {"noauto", "nofail", "_netdev", "x-systemd.automount", ""}
    assert [item for item in options if item not in own] == [part for part in parts if part not in own]
    assert with_mount_time(text, when) == text
    if when == "start-up":
        assert {"nofail", "_netdev"} <= set(options)


def test_options_are_found_by_common_words() -> None:
    assert {"acregmin", "acregmax", "acdirmin", "acdirmax", "actimeo", "ac"} <= find_options("cache")
    assert find_options("rsize") == {"rsize"}
    assert find_options("nfsvers") == {"vers"}
    assert "ac" in find_options("noac")
    assert "sec" in find_options("Kerberos")
    assert {"auto", "x-systemd.automount"} <= find_options("start-up")
    assert find_options("directory least") == {"acdirmin"}
    assert find_options("xyzzy") == frozenset()
    assert len(find_options("")) == len(catalogue())


def test_connections_fixed_by_other_mounts() -> None:
    def live(share: str, point: str, version: str, count: int) -> Mount:
        there = msgspec.structs.replace(active(share, f"rw,vers={version}"), nconnect=count)
        return Mount(mount_point=point, share=share, state="mounted", active=there)

    mounts = [live("nas:/a", "/a", "4.2", 4), live("nas:/b", "/b", "3", 2), live("zeus:/a", "/z", "4.1", 8)]
    assert connections_by_version(mounts, "nas:/new", "/new") == {"4.2": 4, "3": 2}
    assert connections_by_version(mounts, "nas:/a", "/a") == {"3": 2}
    assert connections_by_version(mounts, "half typ", "") == {}
