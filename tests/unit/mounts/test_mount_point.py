"""Early check of a mount point: the same errors as the helper's, before the server is contacted."""

import os

import pytest

from app.helper import mountinfo, policy
from app.mounts import mount_point
from app.mounts.mount_point import check_mount_point


def kind_of(path, *, create=True):
    error = check_mount_point("nas:/x", str(path), create=create)
    return None if error is None else error.kind.value


@pytest.fixture(autouse=True)
def few_system_directories(monkeypatch):
    # The tests' own folder lies in /tmp.
    trees = tuple(tree for tree in policy.FORBIDDEN if tree != "/tmp")
    monkeypatch.setattr(policy, "FORBIDDEN", trees)


def test_a_relative_path_and_an_odd_one():
    assert kind_of("mnt/x") == "mount-point-invalid"
    assert kind_of("/mnt/../etc") == "mount-point-invalid"
    assert kind_of("/mnt/a\nb") == "mount-point-invalid"
    assert kind_of("/mnt/a\u202eb") == "mount-point-invalid"


def test_a_share_that_the_helper_would_refuse(plain_path):
    for share in ("nas:/a\x9bb", "nas:/a\u00a0b", "nas:a"):
        assert check_mount_point(share, str(plain_path / "new"), create=True).kind.value == "share-invalid"


def test_files_links_and_full_directories(plain_path):
    (plain_path / "file").touch()
    (plain_path / "empty").mkdir()
    (plain_path / "link").symlink_to(plain_path / "empty")
    assert kind_of(plain_path) == "mount-point-not-empty"
    assert kind_of(plain_path / "file") == "mount-point-is-file"
    assert kind_of(plain_path / "file" / "below") == "mount-point-is-file"
    assert kind_of(plain_path / "link") == "mount-point-is-file"
    assert kind_of(plain_path / "none", create=False) == "mount-point-missing"


@pytest.mark.skipif(os.geteuid() != 0, reason="others may mount below /mnt only")
def test_good_ones(plain_path):
    (plain_path / "empty").mkdir()
    assert kind_of(plain_path / "empty") is None
    assert kind_of(plain_path / "new" / "deep") is None
    assert not (plain_path / "new").exists()


def test_the_system_s_directories():
    for path in ("/", "/usr", "/proc", "/etc", "/dev/shm"):
        assert kind_of(path) == "mount-point-system"
    assert kind_of("/usr/no-such-directory", create=False) == "mount-point-system"
    assert kind_of("/usr/no-such-directory") == "mount-point-system"


def test_a_mount_is_found_by_the_table_alone(monkeypatch):
    rows = [mountinfo.MountRow(1, 0, "0:1", "/mnt/dead", ("rw",), "nfs4", "nas:/x", "rw")]
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    monkeypatch.setattr(
        mount_point, "_inspect_directory", lambda *_a, **_k: pytest.fail("a dead mount was touched")
    )
    assert kind_of("/mnt/dead") == "mount-point-busy"
    assert kind_of("/mnt/dead/below") == "mount-point-invalid"


def test_each_says_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    for path in ("mnt", "/usr/no-such-directory", str(tmp_path / "file"), str(tmp_path)):
        error = check_mount_point("nas:/x", path, create=True)
        assert error is not None
        assert error.message.endswith(".")
        assert error.hint.endswith(".")
