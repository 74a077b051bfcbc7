"""Tunables: complete descriptions, valid ranges, and instructions to save them."""

from typing import Any

import pytest

from advisor.tunables import tunables


@pytest.mark.parametrize("tunable", list(tunables().values()), ids=lambda tunable: tunable.name)
def test_every_tunable_is_described(tunable: Any) -> None:
    assert tunable.label[0].isupper()
    assert tunable.help.endswith(".")
    assert tunable.keywords
    assert tunable.path.startswith(("/proc/sys/", "/sys/"))
    assert bool(tunable.values) != bool(tunable.unit)
    assert bool(tunable.keep) == ("{value}" in tunable.line)
    assert tunable.default is not None or tunable.default_note
    assert ("{device}" in tunable.path) == (tunable.scope == "mount")
    for value in tunable.values or [str(number) for number in (tunable.min, tunable.max)]:
        assert tunable.problem(value) == ""
    if tunable.default is not None:
        assert tunable.problem(str(tunable.default)) == ""


@pytest.mark.parametrize("value", ["-1", "1k", "", "٣", "99999999999", "0x10"])
def test_a_wrong_value_is_told_with_the_range(value: str) -> None:
    assert "0 to 4194304 (KiB)" in tunables()["read_ahead_kb"].problem(value)


def test_where_a_value_stands_and_lasts() -> None:
    ahead = tunables()["read_ahead_kb"]
    assert ahead.path_for("0:45") == "/sys/class/bdi/0:45/read_ahead_kb"
    assert ahead.persistent_line("1024") == "[nfsrahead]\ndefault=1024"
    assert tunables()["max_ratio"].persistent_line("50") == ""
    assert "Y or N" in tunables()["nfs4_disable_idmapping"].problem("yes")
