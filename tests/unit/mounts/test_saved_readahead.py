"""Saved readaheads: their state, and the rules that a change writes."""

from pathlib import Path
from typing import Any

import pytest

from app.errors import AppError, ErrorKind
from app.helper import readahead_rule
from app.mounts.saved_readahead import (
    ReadaheadRule,
    ReadaheadStore,
    read_nfsrahead,
    read_rule,
    read_saved_readaheads,
    readahead_state,
    rule_diff,
    same_readahead,
)
from app.tasks import CancelToken

POINT = '/mnt/with "space" ü'


def write(root: Path, point: str = POINT, kb: int = 1024, more: bytes = b"") -> Path:
    file = Path(root, readahead_rule.FOLDER.lstrip("/"), readahead_rule.name(point))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(readahead_rule.text(point, kb) + more)
    return file


def test_saved_readaheads_are_read(tmp_path: Path) -> None:
    assert read_saved_readaheads(str(tmp_path)) == {}
    write(tmp_path)
    write(tmp_path, "/mnt/b", 0)
    write(tmp_path, "/mnt/changed", 7, b'RUN+="x"\n')
    write(tmp_path, "/mnt/c").rename(tmp_path / "etc/udev/rules.d" / readahead_rule.name("/mnt/d"))
    (tmp_path / "etc/udev/rules.d/99-other.rules").write_text("x")
    assert read_saved_readaheads(str(tmp_path)) == {POINT: 1024, "/mnt/b": 0}
    assert read_rule(POINT, str(tmp_path)).read_ahead_kb == 1024
    assert read_rule("/mnt/none", str(tmp_path)).data is None


@pytest.mark.parametrize(
    ("now", "saved", "by_version", "state"),
    [
        (None, 1024, {}, ""),
        (128, None, {}, "default"),
        (1024, None, {}, "until-unmounted"),
        (1024, 1024, {}, "saved"),
        (776, 777, {}, "saved"),  # in whole pages
        (1024, 512, {}, "until-unmounted"),
        (128, 1024, {}, "until-unmounted"),
        (512, None, {"": 512}, "nfs.conf"),
        (512, None, {"": 64, "nfs4": 512}, "nfs.conf"),
        (512, None, {"": 512, "nfs": 64, "nfs4": 64}, "until-unmounted"),
        (128, None, {"": 512}, "until-unmounted"),
    ],
)
def test_what_becomes_of_it(now: Any, saved: Any, by_version: dict[str, int], state: str) -> None:
    assert readahead_state(now, saved, "nfs4", by_version) == state


def test_the_kernel_counts_in_pages() -> None:
    assert same_readahead(777, 776)
    assert not same_readahead(4096, 4096 + 64)


def test_nfs_conf_is_read_where_nfs_utils_heeds_it(tmp_path: Path) -> None:
    (tmp_path / "etc/nfs.conf.d").mkdir(parents=True)
    (tmp_path / "etc/nfs.conf").write_text(
        "[nfsd]\nnfs=9\n[ nfsrahead ]\n# nfs4=1\ndefault = 512\nnfs=64\n[x]\nnfs4=5\n"
    )
    (tmp_path / "etc/nfs.conf.d/a.conf").write_text("[nfsrahead]\nnfs4=2048\nnfs=word\n")
    assert read_nfsrahead(str(tmp_path)) == {}
    (tmp_path / "usr/lib/udev/rules.d").mkdir(parents=True)
    (tmp_path / "usr/lib/udev/rules.d/99-nfs.rules").touch()
    assert read_nfsrahead(str(tmp_path)) == {"": 512, "nfs": 64, "nfs4": 2048}


class Helper:
    """A helper that writes the rules in a temporary directory."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def call(self, verb: str, wire: dict[str, Any], _token: CancelToken, _timeout_s: float) -> dict[str, Any]:
        self.calls.append((verb, wire))
        if verb == "readahead-remove":
            Path(self.root, read_rule(wire["target"]).path[1:]).unlink()
            return {"sha256": "", "warnings": []}
        write(self.root, wire["target"], wire["read_ahead_kb"])
        return {"sha256": read_rule(wire["target"], str(self.root)).sha256, "warnings": ["Told."]}


@pytest.fixture
def helper(tmp_path: Path) -> Any:
    return Helper(tmp_path)


def test_it_is_shown_saved_and_taken_back(helper: Any) -> None:
    rules = ReadaheadStore(helper, lambda point: read_rule(point, str(helper.root)))
    shown = rules.change(POINT, 2048, None, preview=True, token=CancelToken())
    assert helper.calls == []
    assert '+SUBSYSTEM=="bdi"' in shown.diff
    assert 'ATTR{read_ahead_kb}="2048"' in shown.diff
    assert (shown.before, shown.after, shown.sha256, shown.written) == (None, 2048, "", False)
    done = rules.change(POINT, 2048, shown.sha256, preview=False, token=CancelToken())
    assert (done.written, done.warnings, done.diff) == (True, ["Told."], shown.diff)
    assert read_saved_readaheads(str(helper.root)) == {POINT: 2048}
    assert rules.change(POINT, 2048, None, preview=False, token=CancelToken()).diff == ""
    again = rules.change(POINT, 64, done.written_sha256, preview=False, token=CancelToken())
    assert (again.before, len(helper.calls)) == (2048, 2)
    rules.undo(again)
    rules.undo(again)
    assert (read_saved_readaheads(str(helper.root)), len(helper.calls)) == ({POINT: 2048}, 3)
    rules.undo(done)
    assert (read_saved_readaheads(str(helper.root)), helper.calls[-1][0]) == ({}, "readahead-remove")


def test_one_that_changed_since_it_was_shown_is_left_alone(helper: Any) -> None:
    rules = ReadaheadStore(helper, lambda point: read_rule(point, str(helper.root)))
    write(helper.root)
    with pytest.raises(AppError) as caught:
        rules.change(POINT, 1, "", preview=False, token=CancelToken())
    assert caught.value.kind is ErrorKind.FSTAB_CHANGED
    assert helper.calls == []


def test_a_file_changed_by_another_program_is_named() -> None:
    rule = ReadaheadRule("/etc/udev/rules.d/x.rules", readahead_rule.text(POINT, 1) + b"# more\n")
    with pytest.raises(AppError) as caught:
        rule_diff(rule, POINT, None)
    assert caught.value.kind is ErrorKind.FSTAB_REFUSED
    assert rule.path in caught.value.message
