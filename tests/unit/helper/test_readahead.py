"""Readahead of an active NFS mount: it is set within its range, and nothing else is written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.helper import mountinfo, readahead
from app.helper.errors import Refusal


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Files in place of sysfs, with an NFS mount at /mnt/x and a local mount at /mnt/y."""
    for device in ("0:50", "0:51"):
        (tmp_path / device).mkdir()
        (tmp_path / device / "read_ahead_kb").write_text("7\n")
    monkeypatch.setattr(readahead, "BDI", str(tmp_path))
    rows = [
        mountinfo.MountRow(1, 0, "0:50", "/mnt/x", ("rw",), "nfs4", "nas:/x", "rw"),
        mountinfo.MountRow(2, 0, "0:51", "/mnt/y", ("rw",), "ext4", "/dev/x", "rw"),
    ]
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    return tmp_path


def tune(target="/mnt/x", read_ahead_kb=1):
    return readahead.set_readahead({"target": target, "read_ahead_kb": read_ahead_kb}, None)


@pytest.mark.parametrize("number", [0, 1, 15360, readahead.MAX_READ_AHEAD_KB])
def test_the_number_is_written_and_told(kernel, number):
    assert tune(read_ahead_kb=number) == {
        "before": {"read_ahead_kb": 7},
        "after": {"read_ahead_kb": number},
    }
    assert (kernel / "0:50" / "read_ahead_kb").read_text() == f"{number}\n"
    assert (kernel / "0:51" / "read_ahead_kb").read_text() == "7\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"read_ahead_kb": -1}, "option-invalid"),
        ({"read_ahead_kb": readahead.MAX_READ_AHEAD_KB + 1}, "option-invalid"),
        ({"read_ahead_kb": True}, "option-invalid"),
        ({"read_ahead_kb": "16"}, "option-invalid"),
        ({"read_ahead_kb": None}, "option-invalid"),
        ({"target": "/mnt/y"}, "not-mounted"),
        ({"target": "/mnt/z"}, "not-mounted"),
        ({"target": "mnt/../x"}, "mount-point-invalid"),
        ({"target": ""}, "mount-point-invalid"),
    ],
)
def test_everything_else_is_refused_and_nothing_is_written(kernel, arguments, code):
    with pytest.raises(Refusal) as caught:
        tune(**arguments)
    assert caught.value.code == code
    assert {path.read_text() for path in kernel.rglob("read_ahead_kb")} == {"7\n"}


@given(st.integers() | st.text(max_size=3) | st.none() | st.booleans())
def test_no_number_out_of_range_is_written(value):
    if type(value) is int and 0 <= value <= 262144:
        return
    with pytest.raises(Refusal) as caught:
        readahead.set_readahead({"target": "/", "read_ahead_kb": value}, None)
    assert caught.value.code == "option-invalid"


def test_a_number_that_the_kernel_refuses_is_told(kernel, monkeypatch):
    def refuse(_file, _number):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(readahead, "write", refuse)
    with pytest.raises(Refusal) as caught:
        tune()
    assert (caught.value.code, caught.value.detail) == ("unavailable", "Invalid argument")


def test_without_this_file_it_says_so(kernel):
    (kernel / "0:50" / "read_ahead_kb").unlink()
    with pytest.raises(Refusal) as caught:
        tune()
    assert caught.value.code == "unavailable"
