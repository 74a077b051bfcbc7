"""Editors and the form: fields to option string and back, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_host import active
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QComboBox, QDoubleSpinBox

from advisor.options import MountOptions, catalogue
from app.mounts.model import Configured, Mount
from ui.models.option_form import OptionForm, asked_options
from ui.option_text import default_text, help_text, value_text
from ui.widgets.option_editor import make_editor

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
def test_a_value_comes_back(qtbot: QtBot, name: str, value: str) -> None:
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
def test_a_value_that_the_field_cannot_show_is_kept(qtbot: QtBot, name: str) -> None:
    editor = make_editor(catalogue()[name])
    qtbot.addWidget(editor)
    editor.set_value("odd")
    assert editor.value() == "odd"


def test_a_value_that_is_none_is_a_problem(qtbot: QtBot) -> None:
    for name in ("timeo", "rsize"):
        editor = make_editor(catalogue()[name])
        qtbot.addWidget(editor)
        editor.set_value("odd")
        assert "odd" in editor.problem()


@pytest.mark.parametrize(
    ("typed", "value"), [("256k", "262144"), ("1M", "1048576"), ("8192", "8192"), ("", None)]
)
def test_sizes_are_typed_as_people_write_them(qtbot: QtBot, typed: str, value: str | None) -> None:
    editor = make_editor(catalogue()["rsize"])
    qtbot.addWidget(editor)
    combo = editor.findChild(QComboBox)
    assert combo is not None
    with qtbot.waitSignal(editor.changed, timeout=5000):
        combo.setEditText(typed or " ")
    assert editor.value() == value


def test_time_out_is_edited_in_seconds_and_written_in_tenths(qtbot: QtBot) -> None:
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


def test_values_in_words() -> None:
    assert value_text(catalogue()["rsize"], "1048576") == "1048576 (1 MiB)"
    assert value_text(catalogue()["timeo"], "600") == "60.0 s"
    assert value_text(catalogue()["hard"], "soft").endswith("(soft)")
    assert value_text(catalogue()["ac"], "no") == "no"


def form(text: str) -> OptionForm:
    made = OptionForm(option.name for option in BASIC)
    made.load(text)
    return made


def fields(made: OptionForm) -> dict[str, str | None]:
    return {option.name: made.value(option.name) for option in BASIC}


@pytest.mark.parametrize("text", [
    "", "rw", "soft,nconnect=4", "nfsvers=3,x-odd=1,,timeo=7", 'context="a,b",ro',
    "noauto,x-systemd.automount,bg",
    "rsize=1,rsize=2", "mystery", "noac,actimeo=3",
])  # fmt: skip
def test_an_untouched_form_changes_nothing(text: str) -> None:
    made = form(text)
    assert str(made.build(fields(made), made.others())) == text


items = st.sampled_from(["rw", "ro", "soft", "rsize=8192", "timeo=7", "nconnect=4", "x-odd=a", "noac", "",
                         "wat",
                         "nfsvers=4.1", 'context="u:o,c1"', "actimeo=9", "rsize=1"])  # fmt: skip


@settings(deadline=None)
@given(st.lists(items, max_size=8))
def test_any_untouched_form_changes_nothing(parts: list[str]) -> None:
    text = ",".join(parts)
    made = form(text)
    assert str(made.build(fields(made), made.others())) == text


@settings(deadline=None)
@given(st.lists(items, max_size=8))
def test_an_edited_field_leaves_all_others(parts: list[str]) -> None:
    made = form(",".join(parts))
    before = made.others()
    built = made.build(fields(made) | {"wsize": "65536"}, before)
    assert built.get("wsize") == "65536"
    again = form(str(built))
    assert again.others() == before
    assert fields(again) == fields(made) | {"wsize": "65536"}


def test_the_rest_can_be_edited() -> None:
    made = form("soft,nconnect=4,rsize=8192")
    assert made.others() == "nconnect=4"
    assert str(made.build(fields(made), "nconnect=8,wat")) == "soft,rsize=8192,nconnect=8,wat"


def test_a_field_typed_among_the_rest_counts() -> None:
    made = form("soft")
    built = made.build(fields(made), "rsize=4096")
    assert built.get("rsize") == "4096"
    assert form(str(built)).others() == ""


def test_asked_options_as_far_as_they_are_known() -> None:
    entry = Configured(origin="/etc/fstab", line=1, share="a:/b", fstype="nfs", options="soft,wat")
    live = active("a:/b", requested="ro")
    assert (
        asked_options(Mount(mount_point="/m", share="a:/b", state="differs", configured=entry, active=live))
        == "ro"
    )
    assert (
        asked_options(Mount(mount_point="/m", share="a:/b", state="not-mounted", configured=entry))
        == "soft,wat"
    )
    assert asked_options(Mount(mount_point="/m", share="a:/b", state="not-mounted")) == ""


def test_what_is_in_use_stands_in_for_what_nobody_recorded() -> None:
    live = active("a:/b", "rw,relatime,vers=4.2,rsize=262144,wsize=262144,namlen=255,soft,proto=tcp,timeo=50,"
                          "retrans=2,sec=sys,clientaddr=10.0.0.2,local_lock=none,addr=10.0.0.1")  # fmt: skip
    text = asked_options(Mount(mount_point="/m", share="a:/b", state="mounted", active=live))
    options = MountOptions.parse(text)
    assert options.get("hard") == "soft"
    assert options.get("timeo") == "50"
    assert options.get("rsize") == "262144"
    assert options.get("retrans") is None
    assert "addr" not in text
