"""Permission for fstab entries and units in the persist and units roles, checked before they are written."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from app.helper import entry_permission, fstab_writer, mount_permission, mountinfo, policy, user_entries
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.fstab_verbs import FstabVerbs
from app.helper.fstab_writer import FstabWriter
from app.helper.unit_verbs import UnitVerbs
from app.helper.unit_writer import UnitWriter

USER = Caller(1000, 1000, home="/home/ann")
APPROVED = USER._replace(system=True)
ROOT = Caller(0, 0)
ROOT_S_OWN = b"nas:/h /home nfs ro 0 0\nUUID=1 / ext4 rw 0 1\nnas:/m /mnt/m nfs rw 0 0\n"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may be the owner of these files")


class Waiter:
    cancelled = False

    def wait(self, fds, timeout_s):
        import select

        return set(select.select(list(fds), [], [], timeout_s)[0])


@pytest.fixture
def world(plain_path, monkeypatch):
    """Directories of the test for fstab, units and backups, in place of those of the machine."""
    for name in ("etc", "units"):
        (plain_path / name).mkdir()
    fstab = plain_path / "etc" / "fstab"
    fstab.write_bytes(ROOT_S_OWN)
    fstab.chmod(0o644)
    monkeypatch.setattr(policy, "FSTAB", str(fstab))
    for function in (policy.read_fstab, policy.fstab_entries):
        monkeypatch.setattr(function, "__defaults__", (str(fstab),))
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(plain_path / "none"),))
    monkeypatch.setattr(user_entries, "FOLDER", str(plain_path / "declared"))
    monkeypatch.setattr(fstab_writer, "BACKUPS", str(plain_path / "copies"))
    return plain_path


def verbs(world, caller):
    fstab = FstabVerbs(caller, FstabWriter(str(world / "etc"), str(world / "copies")))
    units = UnitVerbs(caller, UnitWriter(str(world / "units"), str(world / "unit-copies")))
    return {"add": fstab.add, "change": fstab.change, "remove": fstab.remove, "restore": fstab.restore,
            "unit-write": units.write, "unit-remove": units.remove}  # fmt: skip


def sha256(world):
    return hashlib.sha256((world / "etc" / "fstab").read_bytes()).hexdigest()


def ask(world, caller, verb, **args):
    whole = {"fstype": "nfs", "options": ["rw"], "sha256": sha256(world), **args}
    return verbs(world, caller)[verb](whole, Waiter())


def refusal(world, caller, verb, **args):
    before = (world / "etc" / "fstab").read_bytes()
    with pytest.raises(Refusal) as caught:
        ask(world, caller, verb, **args)
    assert (world / "etc" / "fstab").read_bytes() == before
    return caught.value.code


def lines(world):
    return (world / "etc" / "fstab").read_text().splitlines()


HOME = {"share": "nas:/h", "target": "/home"}


def test_users_declare_below_the_directories_for_mounts(world):
    ask(world, USER, "add", share="nas:/x", target="/mnt/x")
    assert lines(world)[-1].split()[:2] == ["nas:/x", "/mnt/x"]
    old = {"old_share": "nas:/x", "old_target": "/mnt/x"}
    ask(world, USER, "change", **old, share="nas:/y", target="/srv/y")
    ask(world, USER, "remove", share="nas:/y", target="/srv/y")
    assert (world / "etc" / "fstab").read_bytes() == ROOT_S_OWN
    assert not (world / "declared").exists()


@pytest.mark.parametrize("target", ["/usr/local/sbin", "/root/.ssh", "/var/spool/cron/crontabs", "/usr/bin"])
@pytest.mark.parametrize("caller", [USER, APPROVED, ROOT])
def test_nobody_declares_over_the_system(world, caller, target):
    args = {"share": "evil:/x", "target": target}
    assert refusal(world, caller, "add", **args) == "mount-point-system"
    old = {"old_share": "nas:/m", "old_target": "/mnt/m"}
    assert refusal(world, caller, "change", **old, **args) == "mount-point-system"
    units = {"automount": False, "idle_s": -1}
    assert refusal(world, caller, "unit-write", **args, **units) == "mount-point-system"
    assert list((world / "units").iterdir()) == []


def test_other_places_need_an_approval(world):
    args = {"share": "nas:/d", "target": "/data"}
    units = {"automount": False, "idle_s": -1}
    assert refusal(world, USER, "add", **args) == "mount-point-restricted"
    assert refusal(world, USER, "unit-write", **args, **units) == "mount-point-restricted"
    assert refusal(world, USER, "remove", **HOME) == "mount-point-restricted"
    same = {"old_share": "nas:/h", "old_target": "/home", **HOME}
    assert refusal(world, USER, "change", **same) == "mount-point-restricted"
    moved = {"old_share": "nas:/h", "old_target": "/home", "share": "nas:/h", "target": "/mnt/h"}
    assert refusal(world, USER, "change", **moved) == "mount-point-restricted"
    ask(
        world,
        APPROVED,
        "unit-write",
        share="nas:/d",
        target="/data",
        options=["nofail"],
        **units | {"sha256": ""},
    )
    assert (world / "units" / "data.mount").exists()
    answer = ask(world, APPROVED, "change", **same)
    assert answer["line"].split()[1] == "/home"
    ask(world, ROOT, "add", share="nas:/o", target="/opt")


def test_what_an_administrator_approved_is_not_what_root_wrote(world):
    ask(world, APPROVED, "add", share="nas:/d", target="/data")
    with pytest.raises(Refusal) as caught:
        mount_permission.permit_mount(USER, "nas:/d", "/data")
    assert caught.value.code == "mount-point-restricted"
    # A change of the options does not change the author of root's entry.
    ask(world, APPROVED, "change", old_share="nas:/h", old_target="/home", **HOME)
    mount_permission.permit_mount(USER, "nas:/h", "/home")
    # A refused request leaves no record of the entry.
    assert refusal(world, APPROVED, "add", **HOME) == "mount-point-busy"
    mount_permission.permit_mount(USER, "nas:/h", "/home")
    ask(world, APPROVED, "change", old_share="nas:/d", old_target="/data", share="nas:/e", target="/data")
    ask(world, APPROVED, "remove", share="nas:/e", target="/data")
    assert list((world / "declared").iterdir()) == []
    ask(world, APPROVED, "add", share="nas:/d", target="/data")
    ask(world, ROOT, "remove", share="nas:/d", target="/data")
    ask(world, ROOT, "add", share="nas:/d", target="/data")
    mount_permission.permit_mount(USER, "nas:/d", "/data")


def test_only_entries_of_the_caller_s_are_brought_back(world):
    added = ask(world, APPROVED, "add", share="nas:/d", target="/data")
    args = {"backup": added["backup"]}
    assert refusal(world, USER, "restore", **args) == "mount-point-restricted"
    assert refusal(world, USER, "restore", backup="/etc/passwd") == "fstab-refused"
    assert refusal(world, USER, "restore", backup=added["backup"] + "/../x") == "fstab-refused"
    ask(world, APPROVED, "restore", **args)
    assert (world / "etc" / "fstab").read_bytes() == ROOT_S_OWN
    added = ask(world, USER, "add", share="nas:/x", target="/mnt/x")
    ask(world, USER, "restore", backup=added["backup"])
    assert (world / "etc" / "fstab").read_bytes() == ROOT_S_OWN


def test_the_directories_above_are_root_s_when_a_user_declares(world):
    """At boot mount(8) would follow a link that a user made in such a directory."""
    base = Path("/srv") / f"mountwright-{os.getpid()}"
    base.mkdir()
    try:
        os.chown(base, 1000, 1000)
        (base / "link").symlink_to("/etc")
        for name in ("x", "link", "link/x", "new/x"):
            args = {"share": "evil:/x", "target": f"{base}/{name}"}
            for caller in (USER, APPROVED):
                assert refusal(world, caller, "add", **args) == "mount-point-system"
        os.chown(base, 0, 0)
        assert refusal(world, USER, "add", share="evil:/x", target=f"{base}/link/x") == "mount-point-invalid"
        ask(world, USER, "add", share="nas:/x", target=f"{base}/new/x")
        assert not (base / "new").exists()
    finally:
        shutil.rmtree(base)


def test_what_may_be_declared_is_decided_before_anything_is_written(monkeypatch):
    """Only entry_permission decides here; the writers have rules of their own."""
    rows = [mountinfo.MountRow(9, 1, "8:1", "/mnt/disk", ("rw", "nosuid"), "ext4", "/dev/sda1", "rw"),
            mountinfo.MountRow(10, 1, "0:9", "/mnt/there", ("rw",), "nfs4", "nas:/x", "rw")]  # fmt: skip
    asked = []
    monkeypatch.setattr(mountinfo, "read", lambda: rows)
    monkeypatch.setattr(policy.read_roots, "__defaults__", ("/no-roots",))
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", ("/no-fstab",))
    monkeypatch.setattr(
        entry_permission.safe_path,
        "check_ancestors",
        lambda _who, path, mounted: asked.append((path, mounted)),
    )

    def code(caller, share, target):
        try:
            entry_permission.permit_new_entry(caller, {"share": share, "target": target})
        except Refusal as refusal:
            return refusal.code
        return ""

    assert code(USER, "no share", "/mnt/x") == "share-invalid"
    assert code(USER, "nas:/x", "mnt/x") == "mount-point-invalid"
    assert code(USER, "nas:/x", "/mnt/disk/x") == "mount-point-system"
    assert code(USER, "nas:/x", "/mnt/there/x") == "mount-point-invalid"
    assert asked == []
    assert [code(caller, "nas:/x", f"/mnt/{name}") for caller in (USER, USER._replace(uid=1), APPROVED)
            for name in ("new", "there")] == [""] * 6  # fmt: skip
    assert asked == [("/mnt/new", False), ("/mnt/there", True)] * 3
    # Root may name any path.
    assert [code(ROOT, "nas:/x", path) for path in ("/mnt/disk/x", "/mnt/new")] == ["", ""]
    assert len(asked) == 6


def test_whose_an_entry_is_to_change():
    for path in ("/mnt/x", "/run/mountwright/1000/x"):
        entry_permission.permit_entry_change(USER, path)
    for path in ("/data", "/mnt", "data", "/mnt/../data"):
        for caller in (APPROVED, ROOT):
            entry_permission.permit_entry_change(caller, path)
        with pytest.raises(Refusal) as caught:
            entry_permission.permit_entry_change(USER, path)
        assert (caught.value.code, caught.value.data) == ("mount-point-restricted", {"home": ""})


def test_nothing_is_declared_below_a_mount_of_a_server(world, monkeypatch):
    """A server can replace its directories by links. A dead server must not be contacted."""
    row = mountinfo.MountRow(9, 1, "0:9", "/mnt/nas", ("rw",), "nfs4", "nas:/x", "rw")
    monkeypatch.setattr(mountinfo, "read", lambda: [row])
    monkeypatch.setattr(
        entry_permission.safe_path, "check_ancestors", lambda *_a, **_k: pytest.fail("touched")
    )
    args = {"share": "nas:/x", "target": "/mnt/nas/below"}
    assert refusal(world, USER, "add", **args) == "mount-point-invalid"
