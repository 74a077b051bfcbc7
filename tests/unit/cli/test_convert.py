"""Command "convert", from its arguments to the exit code."""

import io
import json
import sys

import pytest

from advisor.dialects import DIALECTS
from app.cli.main import main


def test_one_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["convert", "--to", "fstab", "mount", "-t", "nfs", "-o", "ro", "nas:/a b", "/m"])
    out, err = capsys.readouterr()
    assert code == 0
    assert out == "nas:/a\\040b /m nfs ro 0 0\n"
    assert "a mount command" in err


def test_all_dialects(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "nas:/a", "/m", "nfs", "ro", "0", "0"]) == 0
    out, err = capsys.readouterr()
    for dialect in DIALECTS.values():
        assert f"# {dialect.label}" in out
    assert "the options" in out
    assert "OpenBSD" in out
    assert "Kubernetes" in err


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"nas:/a /m nfs ro 0 0\n")))
    assert main(["convert", "--to", "command", "-"]) == 0
    assert capsys.readouterr().out == "mount -t nfs -o ro nas:/a /m\n"


def test_json_after_the_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "mount_nfs -T -r 32768 nas:/a /m", "--to", "openbsd", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["options"] == "tcp,rsize=32768"
    assert list(answer["written"]) == ["openbsd"]
    assert answer["written"]["openbsd"]["text"] == "mount_nfs -r 32768 -T nas:/a /m\n"


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(DIALECTS)


def test_unreadable(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "what is this"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "not an fstab line: No line has nfs" in err


def test_a_dialect_that_cannot_express_the_mount(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "systemd-mount", "nas:/a /m/../n nfs"]) == 1
    assert "“..”" in capsys.readouterr().err


def test_bytes_that_are_not_utf_8(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"nas:/a /\xff nfs\n")))
    assert main(["convert"]) == 1
    assert "not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--to", "klingon"], ["--lab", "gigabit"]])
def test_wrong_usage(flags: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["convert", *flags, "nas:/a /m nfs"])
    assert caught.value.code == 2


def test_a_path_that_openbsds_fstab_cannot_hold_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "openbsd-fstab", "mount", "nas:/a b", "/m"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "cannot hold a blank" in err


def test_a_share_without_a_slash(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "fstab", "mount", "192.168.122.76:s_test", "/m"]) == 0
    assert capsys.readouterr().out == "192.168.122.76:s_test /m nfs defaults 0 0\n"


def test_the_keys_of_an_indirect_map_are_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["convert", "--to", "fstab", "data -fstype=nfs4 h:/d"]) == 1
    assert "“data” is a key" in capsys.readouterr().err
    assert main(["convert", "--to", "fstab", "/nfs auto.nfs\ndata -fstype=nfs4 h:/d"]) == 0
    assert capsys.readouterr().out == "h:/d /nfs/data nfs vers=4,x-systemd.automount 0 0\n"
