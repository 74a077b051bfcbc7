"""Tunables: reading the present values, and the command that shows them."""

import json
from pathlib import Path

import pytest

from advisor.tunables import tunables
from app.cli.main import main
from app.facts.tunables import read_tunables


def test_values_are_read_and_missing_ones_have_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "sys/class/bdi/0:47"
    path.mkdir(parents=True)
    (path / "read_ahead_kb").write_text("1024\n", encoding="ascii")
    found = {now.name: now for now in read_tunables("0:47", str(tmp_path)).values}
    assert list(found) == list(tunables())
    assert found["read_ahead_kb"].value == "1024"
    assert found["read_ahead_kb"].path == "/sys/class/bdi/0:47/read_ahead_kb"
    slots = found["tcp_max_slot_table_entries"]
    assert slots.value is None
    assert "module" in slots.why


def test_without_a_mount_only_host_tunables_are_read(tmp_path: Path) -> None:
    names = [now.name for now in read_tunables(root=str(tmp_path)).values]
    assert names == [name for name, tunable in tunables().items() if tunable.scope == "host"]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tunables"]) == 0
    out = capsys.readouterr().out
    assert "Maximum TCP slot table size" in out
    assert "/etc/modprobe.d/mountwright.conf" in out
    assert main(["tunables", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"]


def test_a_missing_mount(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tunables", "/nowhere"]) == 1
    assert "/nowhere" in capsys.readouterr().err
