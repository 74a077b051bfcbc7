"""Tuning writes the numbers of a closed list, each in its range, and all of them or none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.helper import table, tuning
from app.helper.errors import Refusal


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Stands for the kernel's files; there is one NFS mount at /mnt/x and a local one at /mnt/y."""
    (tmp_path / "0:50").mkdir()
    for name in ("0:50/read_ahead_kb", *tuning.SUNRPC):
        (tmp_path / name).write_text("100\n")
    monkeypatch.setattr(tuning, "BDI", str(tmp_path))
    monkeypatch.setattr(tuning, "SYSCTL", str(tmp_path))
    rows = [
        table.Row(1, 0, "0:50", "/mnt/x", ("rw",), "nfs4", "nas:/x", "rw"),
        table.Row(2, 0, "0:51", "/mnt/y", ("rw",), "ext4", "/dev/x", "rw"),
    ]
    monkeypatch.setattr(table, "read", lambda: rows)
    return tmp_path


def tune(target="/mnt/x", read_ahead_kb=-1, **sunrpc):
    return tuning.tune({"target": target, "read_ahead_kb": read_ahead_kb, "sunrpc": sunrpc}, None)


def test_numbers_are_written_and_told(kernel):
    found = tune(read_ahead_kb=15360, tcp_slot_table_entries=64)
    assert found == {
        "before": {"read_ahead_kb": 100, "tcp_slot_table_entries": 100},
        "after": {"read_ahead_kb": 15360, "tcp_slot_table_entries": 64},
    }
    assert (kernel / "0:50" / "read_ahead_kb").read_text() == "15360\n"
    assert (kernel / "udp_slot_table_entries").read_text() == "100\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "usage"),
        ({"read_ahead_kb": -2}, "option-invalid"),
        ({"read_ahead_kb": tuning.MAX_READ_AHEAD_KB + 1}, "option-invalid"),
        ({"read_ahead_kb": 1, "target": "/mnt/y"}, "not-mounted"),
        ({"read_ahead_kb": 1, "target": "/mnt/z"}, "not-mounted"),
        ({"read_ahead_kb": 1, "target": "mnt/../x"}, "mount-point-invalid"),
        ({"read_ahead_kb": 1, "target": ""}, "mount-point-invalid"),
        ({"tcp_slot_table_entries": 1}, "option-invalid"),
        ({"tcp_slot_table_entries": 129}, "option-invalid"),
        ({"udp_slot_table_entries": 0}, "option-invalid"),
        ({"tcp_max_slot_table_entries": 65537}, "option-invalid"),
        ({"tcp_slot_table_entries": True}, "option-invalid"),
        ({"tcp_slot_table_entries": "16"}, "option-invalid"),
        ({"tcp_slot_table_entries": None}, "option-invalid"),
        ({"tcp_slot_table_entries": [16]}, "option-invalid"),
        ({"nfs_debug": 1}, "option-invalid"),
        ({"../kernel/panic": 1}, "option-invalid"),
        ({"tcp_slot_table_entries": 64, "max_resvport": 1023}, "option-invalid"),
    ],
)
def test_everything_else_is_refused_and_nothing_is_written(kernel, arguments, code):
    with pytest.raises(Refusal) as caught:
        tune(**arguments)
    assert caught.value.code == code
    assert {path.read_text() for path in kernel.rglob("*") if path.is_file()} == {"100\n"}


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=3) | st.none(), min_size=1))
def test_no_name_from_outside_reaches_a_path(numbers):
    with pytest.raises(Refusal) as caught:
        tuning.tune({"target": "", "read_ahead_kb": -1, "sunrpc": numbers}, None)
    assert caught.value.code == "option-invalid"


def test_a_number_that_the_kernel_refuses_takes_the_others_back(kernel, monkeypatch):
    real = tuning.put

    def refuse(file, number):
        if file.endswith("tcp_max_slot_table_entries") and number == 7:
            raise OSError(22, "Invalid argument")
        real(file, number)

    monkeypatch.setattr(tuning, "put", refuse)
    with pytest.raises(Refusal) as caught:
        tune(tcp_slot_table_entries=64, tcp_max_slot_table_entries=7)
    assert caught.value.code == "unavailable"
    assert (kernel / "tcp_slot_table_entries").read_text() == "100\n"


def test_without_these_files_it_says_so(kernel):
    (kernel / "tcp_slot_table_entries").unlink()
    with pytest.raises(Refusal) as caught:
        tune(read_ahead_kb=1, tcp_slot_table_entries=64)
    assert caught.value.code == "unavailable"
    assert (kernel / "0:50" / "read_ahead_kb").read_text() == "100\n"
