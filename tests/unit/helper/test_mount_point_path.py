"""Mount points: policy, path resolution, and a thread that exchanges directories of the path."""

import ctypes
import os
import runpy
import shutil
import stat
import threading
from pathlib import Path

import pytest

from app.helper import (
    callers,
    directories,
    mount_permission,
    mount_record,
    mountinfo,
    policy,
    safe_path,
    user_entries,
    utab,
)
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.policy import Place

ROOT = Caller(0, 0)
USER = Caller(1000, 1000, home="/home/ann")
#: The same user in a system action, which an administrator approved.
APPROVED = USER._replace(system=True)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may be the owner of these directories")


@pytest.fixture(autouse=True)
def own_fstab(monkeypatch, tmp_path):
    """Use an empty fstab and roots.conf instead of those of the machine."""
    monkeypatch.setattr(policy, "FSTAB", str(tmp_path / "no-fstab"))
    monkeypatch.setattr(policy, "ROOTS_FILE", str(tmp_path / "no-roots"))
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(tmp_path / "no-fstab"),))
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(tmp_path / "no-fstab"),))
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(tmp_path / "no-roots"),))


def code_of(check, *args, **options):
    try:
        check(*args, **options)
    except Refusal as refusal:
        return refusal.code
    return ""


@pytest.fixture(autouse=True)
def own_declarations(monkeypatch, tmp_path):
    monkeypatch.setattr(user_entries, "FOLDER", str(tmp_path / "no-declarations"))


SYSTEM = [
    "/",
    "/bin",
    "/etc",
    "/etc/x",
    "/usr",
    "/usr/x",
    "/usr/local/sbin",
    "/usr/local/lib/systemd",
    "/usr/share/polkit-1",
    "/lib",
    "/lib/x",
    "/lib64/x",
    "/proc/1",
    "/sys",
    "/dev/shm",
    "/boot/efi",
    "/root",
    "/root/x",
    "/root/.ssh",
    "/run",
    "/run/x",
    "/run/user/1000",
    "/run/mountwright",
    "/run/mountwright/1000",
    "/run/mountwright/mounts",
    "/run/mountwright/mounts/x",
    "/tmp",
    "/tmp/x",
    "/var",
    "/var/lib",
    "/var/lib/dpkg/info",
    "/var/lib/mountwright",
    "/var/spool/cron/crontabs",
    "/var/tmp/x",
    "/sbin/x",
    "/nix/store",
]
RESTRICTED = ["/home", "/home/ann", "/opt", "/usr/local", "/usr/local/data", "/data", "/var/lib/x", "/mnt",
              "/library/x"]  # fmt: skip
HOMES = ["/home/ann/nfs", "/home/ann/a/b"]


@pytest.mark.parametrize("path", SYSTEM)
@pytest.mark.parametrize("caller", [ROOT, USER, APPROVED])
def test_the_system_s_directories_are_refused_to_everybody(caller, path):
    assert policy.place_of(path) is Place.FORBIDDEN
    assert code_of(mount_permission.permit_mount, caller, "nas:/x", path) == "mount-point-system"
    assert code_of(policy.permit_place, caller, path) == "mount-point-system"
    assert code_of(policy.permit_entry, path) == "mount-point-system"


@pytest.mark.parametrize("path", [*RESTRICTED, *HOMES])
def test_root_and_who_has_an_approval_may_mount_elsewhere(path):
    assert policy.place_of(path) is Place.RESTRICTED
    for caller in (ROOT, APPROVED):
        assert code_of(mount_permission.permit_mount, caller, "nas:/x", path) == ""
        assert code_of(policy.permit_place, caller, path) == ""
    assert code_of(mount_permission.permit_mount, USER, "nas:/x", path) == "mount-point-restricted"
    assert code_of(policy.permit_place, USER, path) == "mount-point-restricted"
    assert code_of(policy.permit_entry, path) == ""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/mnt/a", True),
        ("/media/a/b", True),
        ("/srv/a", True),
        ("/run/mountwright/1000/a", True),
        ("/mnt", False),
        ("/run/mountwright/1000", False),
        ("/run/mountwright/1001/a", False),
        ("/run/mountwright/01000/a", False),
        ("/mntx/a", False),
        ("/data", False),
        ("/home/ann/nfs", False),
    ],
)
def test_users_may_mount_below_the_folders_for_mounts(path, allowed):
    assert (code_of(mount_permission.permit_mount, USER, "nas:/x", path) == "") is allowed
    assert (code_of(policy.permit_place, USER, path) == "") is allowed


def data_of(check, *args):
    with pytest.raises(Refusal) as caught:
        check(*args)
    return caught.value.data


def test_a_home_is_told(monkeypatch):
    assert data_of(policy.permit_place, USER, "/home/ann/nas") == {"home": "/home/ann"}
    assert data_of(policy.permit_place, USER, "/home/ann") == {"home": ""}
    elsewhere = USER._replace(home="/srv/people/ann")
    assert data_of(policy.permit_place, elsewhere, "/srv/people/ann/nas") == {"home": "/srv/people/ann"}
    assert code_of(policy.permit_place, elsewhere, "/srv/people/ann") == ""
    for home in ("", "/", "/srv", "/home"):  # homes of service accounts
        assert code_of(policy.permit_place, USER._replace(home=home), "/srv/x") == ""
    monkeypatch.setattr(policy, "read_roots", lambda: ("/home/shared",))
    assert code_of(policy.permit_place, USER, "/home/shared/nas") == ""


@as_root
def test_what_root_declared_in_fstab_may_be_mounted_exactly(tmp_path, monkeypatch):
    fstab = tmp_path / "fstab"
    fstab.write_text(
        "# nas:/c /data nfs\nnas:/h /home nfs4 ro 0 0\nnas:/w /var/www\\040x nfs\nnas:/e /etc nfs\n"
        "nas:/s /srv/s nfs\nnas:/m /usr/local/bin nfs\n"
    )
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(fstab),))
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(fstab),))
    assert code_of(mount_permission.permit_mount, USER, "nas:/h", "/home") == ""
    assert code_of(mount_permission.permit_mount, USER, "NAS:/h/", "/home") == ""
    assert code_of(mount_permission.permit_mount, USER, "nas:/w", "/var/www x") == ""
    assert code_of(mount_permission.permit_mount, USER, "nas:/other", "/home") == "mount-point-restricted"
    assert code_of(mount_permission.permit_mount, USER, "nas:/c", "/data") == "mount-point-restricted"
    for caller in (USER, ROOT, APPROVED):
        assert code_of(mount_permission.permit_mount, caller, "nas:/e", "/etc") == "mount-point-system"
        assert (
            code_of(mount_permission.permit_mount, caller, "nas:/m", "/usr/local/bin") == "mount-point-system"
        )
    # A mount point with an fstab entry accepts no other share.
    assert code_of(mount_permission.permit_mount, USER, "nas:/s", "/srv/s") == ""
    assert code_of(mount_permission.permit_mount, USER, "evil:/x", "/srv/s") == "mount-point-restricted"
    assert code_of(mount_permission.permit_mount, APPROVED, "nas:/other", "/srv/s") == ""
    fstab.chmod(0o666)
    assert code_of(mount_permission.permit_mount, USER, "nas:/h", "/home") == "mount-point-restricted"


@as_root
def test_what_this_program_declared_for_a_user_opens_no_place(tmp_path, monkeypatch):
    fstab = tmp_path / "fstab"
    fstab.write_text("nas:/h /home nfs4\n")
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(fstab),))
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(fstab),))
    user_entries.add("nas:/h", "/home", 1000)
    assert code_of(mount_permission.permit_mount, USER, "nas:/h", "/home") == "mount-point-restricted"
    user_entries.remove("nas:/h", "/home")
    user_entries.remove("nas:/h", "/home")
    assert code_of(mount_permission.permit_mount, USER, "nas:/h", "/home") == ""


@as_root
def test_words_of_root_s_entry_are_for_its_own_share(tmp_path, monkeypatch):
    fstab = tmp_path / "fstab"
    fstab.write_text('nas:/a /mnt/a nfs4 futureopt=7,context="a,b"\nnas:/a /mnt/b nfs other=1\n')
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(fstab),))
    free = mount_permission.uncatalogued_options
    assert free(USER, ["x=1"], "nas://a/", "/mnt/a") == ["futureopt=7", 'context="a,b"']
    assert free(USER, ["x=1"], "nas:/a") == ["futureopt=7", 'context="a,b"', "other=1"]
    assert free(USER, ["x=1"], "nas:/a", "/mnt/c") == []
    assert free(USER, ["x=1"], "evil:/a", "/mnt/a") == []
    for caller in (USER._replace(system=True), Caller(0, 0)):
        assert free(caller, ["x=1"], "evil:/a", "/mnt/a") == ["x=1"]
    user_entries.add("nas:/a", "/mnt/a", 1000)
    try:
        assert free(USER, ["x=1"], "nas:/a", "/mnt/a") == []
    finally:
        user_entries.remove("nas:/a", "/mnt/a")


@as_root
def test_the_administrator_adds_folders(tmp_path, monkeypatch):
    roots = tmp_path / "roots.conf"
    roots.write_text("# more\n/data/nfs\n/etc\nrelative\n/\n/usr/x\n/var/lib\n")
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(roots),))
    assert policy.read_roots() == ("/data/nfs",)
    assert code_of(mount_permission.permit_mount, USER, "nas:/x", "/data/nfs/a") == ""
    link = tmp_path / "link"
    link.symlink_to(roots)
    assert policy.read_roots(str(link)) == ()


def row(mount_point, fstype="ext4"):
    return mountinfo.MountRow(1, 0, "0:1", mount_point, ("rw",), fstype, "src", "rw")


def test_the_table_is_asked_before_the_path_is_touched():
    rows = [
        row("/"),
        row("/mnt/nas", "nfs4"),
        row("/mnt/fuse", "fuse.sshfs"),
        row("/srv"),
        row("/auto", "autofs"),
    ]
    assert code_of(mount_permission.check_table, rows, "/mnt/nas") == "mount-point-busy"
    assert code_of(mount_permission.check_table, rows, "/mnt") == "mount-point-busy"
    assert code_of(mount_permission.check_table, rows, "/mnt/nas/below") == "mount-point-invalid"
    assert code_of(mount_permission.check_table, rows, "/mnt/fuse/below") == "mount-point-invalid"
    assert code_of(mount_permission.check_table, rows, "/auto/x") == "mount-point-invalid"
    assert code_of(mount_permission.check_table, rows, "/srv/x") == ""
    assert code_of(mount_permission.check_table, rows, "/mnt/nas2") == ""
    assert code_of(mount_permission.check_table, [row("/", "nfs4")], "/mnt/x") == ""


@pytest.mark.parametrize(
    "fstype",
    ["nfs", "nfs4", "autofs", "9p", "cifs", "smb3", "ceph", "afs", "fuse", "fuseblk", "fuse.sshfs", "fuse.x"],
)
def test_no_walk_enters_a_file_system_of_others(fstype):
    assert code_of(policy.check_walk, [row("/mnt/a", fstype)], "/mnt/a/b") == "mount-point-invalid"
    for path in ("/mnt/a", "/mnt/ab", "/mnt"):
        assert code_of(policy.check_walk, [row("/mnt/a", fstype)], path) == ""
    assert code_of(policy.check_walk, [row("/mnt/a", "ext4")], "/mnt/a/b") == ""


@pytest.mark.parametrize(
    ("own", "path", "home"),
    [
        ("/home/ann", "/home/ann/x", "/home/ann"),
        ("/home/ann", "/home/ann/a/b", "/home/ann"),
        ("/home/ann", "/home/ann", ""),
        ("/home/ann", "/home/bob/x", "/home/bob"),
        ("/home/ann", "/home/bob", ""),
        ("/home/ann", "/home", ""),
        ("/home/ann", "/data/x/y", ""),
        ("/home/ann", "/homes/ann/x", ""),
        ("/users/ann", "/users/ann/x", "/users/ann"),
        ("/users/ann", "/users/ann", ""),
        ("/users/ann", "/users/bob/x", ""),
        ("/users/ann", "/home/bob/x", "/home/bob"),
        ("/home", "/home/x", ""),
        ("/", "/data/x", ""),
        ("/mnt", "/mnt/x", ""),
        ("", "/data/x", ""),
        ("", "/home/bob/x/y", "/home/bob"),
    ],
)
def test_the_home_that_a_path_lies_in(own, path, home):
    assert policy.home_of(USER._replace(home=own), path) == home


@as_root
def test_entries_are_those_of_nfs_or_all_the_others(tmp_path):
    file = tmp_path / "fstab"
    file.write_text(
        "# nas:/c /c nfs rw\n#nas:/d /d nfs rw\nnas:/a /a nfs\n nas:/b\t/b  nfs4 ro 0 0\n"
        "UUID=1 / ext4 rw 0 1\nnas:/short /short\ntmpfs /t tmpfs\n\n"
    )
    assert policy.fstab_entries(str(file)) == [("nas:/a", "/a", ""), ("nas:/b", "/b", "ro")]
    assert policy.fstab_entries(str(file), nfs=False) == [("UUID=1", "/", "rw"), ("tmpfs", "/t", "")]


def test_a_directory_of_a_user_is_that_user_s_and_root_s():
    assert code_of(policy.permit_place, ROOT, "/run/mountwright/1001/x") == ""
    assert code_of(policy.permit_place, USER, "/run/mountwright/1000/x") == ""
    for caller in (USER, APPROVED, USER._replace(uid=1)):
        assert code_of(policy.permit_place, caller, "/run/mountwright/1001/x") == "mount-point-system"
        assert (
            code_of(mount_permission.permit_mount, caller, "nas:/x", "/run/mountwright/1001/x")
            == "mount-point-system"
        )


def test_the_files_of_the_system_are_those_of_the_manual_pages():
    fresh = runpy.run_path(policy.__file__)  # a fresh module, because other tests replace these constants
    assert (fresh["FSTAB"], fresh["ROOTS_FILE"]) == ("/etc/fstab", "/etc/mountwright/roots.conf")
    assert fresh["ROOTS"] == ("/mnt", "/media", "/srv")


@as_root
def test_a_refusal_says_what_is_in_the_way(tmp_path, monkeypatch):
    with pytest.raises(Refusal) as caught:
        mount_permission.check_table([row("/mnt/nas", "nfs4")], "/mnt/nas")
    assert (caught.value.detail, "already" in caught.value.message) == ("src", True)
    with pytest.raises(Refusal) as caught:
        mount_permission.check_table([row("/mnt/nas", "nfs4")], "/mnt")
    assert (caught.value.detail, "below" in caught.value.message) == ("/mnt/nas", True)
    fstab = tmp_path / "fstab"
    fstab.write_text("nas:/kept /srv/s nfs rw 0 0\n")
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(fstab),))
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(fstab),))
    with pytest.raises(Refusal) as caught:
        mount_permission.permit_mount(USER, "evil:/x", "/srv/s")
    assert (caught.value.code, caught.value.data) == ("mount-point-restricted", {"home": ""})
    assert "nas:/kept" in caught.value.message


def disk(mount_point, *options, source="/dev/sda1"):
    return mountinfo.MountRow(1, 0, "8:1", mount_point, ("rw", *options), "ext4", source, "rw")


@as_root
@pytest.mark.parametrize(
    ("row", "fstab", "refused"),
    [
        (disk("/media/ann/disk", "nosuid", "nodev"), "", True),
        (disk("/media/ann/disk", "nosuid"), "", True),
        (disk("/media/ann/disk", "nodev"), "/dev/sda1 /media/ann/disk ext4 user,noauto 0 0\n", True),
        (disk("/media/ann/disk", "nodev"), "/dev/sda1 /media/ann/disk ext4 noauto,users 0 0\n", True),
        (disk("/media/ann/disk", "nodev"), "/dev/sda1 /media/ann/disk ext4 owner 0 0\n", True),
        (disk("/media/ann/disk", "nodev"), "/dev/sda1 /media/ann/disk ext4 group 0 0\n", True),
        (disk("/media/ann/disk", "nodev"), "nas:/x /media/ann/disk nfs nodev 0 0\n", True),
        (disk("/media/ann/disk", "nodev"), "/dev/sda1 /media/ann/disk ext4 nodev 0 0\n", False),
        (disk("/media/ann/disk"), "", False),
        (disk("/media/ann/disk", "nosuid", "nodev", source="tmpfs"), "", False),
        (disk("/media/ann/disk/x", "nosuid", "nodev"), "", False),
        (disk("/media/ann/other", "nosuid", "nodev"), "", False),
        (disk("/", "nosuid", "nodev"), "", False),
    ],
)
def test_a_disk_that_users_can_take_away_is_no_way(tmp_path, monkeypatch, row, fstab, refused):
    file = tmp_path / "fstab"
    file.write_text(fstab)
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(file),))
    code = code_of(policy.check_disks, [row], "/media/ann/disk/x")
    assert code == ("mount-point-system" if refused else "")


def test_mountinfo_escapes_are_read():
    raw = (
        rb"36 35 98:0 / /mnt/a\040b\134c rw,nosuid,nodev master:1 - nfs4 nas:/x\040y rw,vers=4.2"
        b"\nrubbish\n"
    )
    (only,) = mountinfo.parse(raw)
    assert (only.mount_point, only.source, only.fstype) == ("/mnt/a b\\c", "nas:/x y", "nfs4")
    assert only.options == ("rw", "nosuid", "nodev")


@as_root
def test_missing_directories_are_made_and_unmade(tmp_path):
    path = str(tmp_path / "a" / "b")
    assert code_of(directories.prepare, ROOT, path, create=False) == "mount-point-missing"
    previous = os.umask(0o077)
    try:
        prepared = directories.prepare(ROOT, path, create=True)
    finally:
        os.umask(previous)
    assert [entry[0] for entry in prepared.made] == [str(tmp_path / "a"), path]
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o755
    prepared.undo()
    assert not (tmp_path / "a").exists()


@as_root
def test_what_stands_in_the_way_has_its_own_code(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    (tmp_path / "link").symlink_to("/etc")
    (tmp_path / "loose").mkdir()
    (tmp_path / "loose").chmod(0o777)
    (tmp_path / "loose" / "x").mkdir()
    codes = {
        name: code_of(directories.prepare, ROOT, str(tmp_path / name), create=True)
        for name in ("file", "full", "link", "link/x", "file/x", "loose", "loose/x")
    }
    assert codes == {
        "file": "mount-point-is-file",
        "full": "mount-point-not-empty",
        "link": "mount-point-invalid",
        "link/x": "mount-point-invalid",
        "file/x": "mount-point-is-file",
        "loose": "mount-point-not-empty",
        "loose/x": "mount-point-system",
    }


@as_root
def test_a_failed_walk_leaves_nothing(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    assert (
        code_of(directories.prepare, ROOT, str(tmp_path / "a" / "b" / "c"), create=True)
        == "mount-point-system"
    )
    assert list((tmp_path / "a").iterdir()) == []


@as_root
def test_users_need_ancestors_that_only_root_can_change(tmp_path):
    # /tmp is writable by all users, so no path below it is accepted.
    (tmp_path / "x").mkdir()
    assert code_of(directories.prepare, USER, str(tmp_path / "x"), create=False) == "mount-point-system"


@as_root
def test_a_replaced_directory_is_left_alone(tmp_path):
    prepared = directories.prepare(ROOT, str(tmp_path / "a"), create=True)
    (tmp_path / "a").rename(tmp_path / "old")
    (tmp_path / "a").mkdir()
    prepared.undo()
    assert (tmp_path / "a").exists()


@as_root
def test_below_a_directory_that_the_caller_may_not_enter_all_looks_alike():
    """A caller who may not search a directory gets the same answer for existing and missing entries."""
    base = Path("/srv") / f"mountwright-{os.getpid()}"
    base.mkdir(mode=0o755)
    try:
        private = base / "private"
        (private / "full" / "x").mkdir(parents=True)
        (private / "file").touch()
        (private / "link").symlink_to("/etc")
        private.chmod(0o700)
        names = ("full", "file", "link", "missing", "full/x", "missing/x")
        for create in (False, True):
            told = {
                code_of(directories.prepare, USER, str(private / name), create=create) for name in names
            } | {
                code_of(safe_path.check_ancestors, USER, str(private / name), mounted=False) for name in names
            }
            assert told == {"mount-point-unreachable"}
        assert sorted(entry.name for entry in private.iterdir()) == ["file", "full", "link"]
        assert code_of(directories.prepare, APPROVED, str(private / "full"), create=False) != ""
        assert (
            code_of(directories.prepare, ROOT, str(private / "file"), create=False) == "mount-point-is-file"
        )
        # The group of the directory may search it, and so may its members.
        private.chmod(0o710)
        os.chown(private, 0, 4321)
        member = USER._replace(groups=(4321,))
        assert (
            code_of(directories.prepare, member, str(private / "file"), create=False) == "mount-point-is-file"
        )
        assert (
            code_of(directories.prepare, USER, str(private / "file"), create=False)
            == "mount-point-unreachable"
        )
        assert (os.geteuid(), os.getegid()) == (0, 0)
    finally:
        shutil.rmtree(base)


@as_root
def test_what_becomes_hidden_is_hidden_only_where_that_is_said(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    path = str(tmp_path / "full")
    assert code_of(directories.prepare, ROOT, path, create=False) == "mount-point-not-empty"
    assert directories.prepare(ROOT, path, create=False, hide=True).made == []


@pytest.fixture
def records(tmp_path, monkeypatch):
    monkeypatch.setattr(callers, "OWN_ROOT", str(tmp_path / "own"))
    monkeypatch.setattr(mount_record, "FOLDER", str(tmp_path / "own" / "mounts"))
    return tmp_path / "own" / "mounts"


def live(path, **changes):
    return mountinfo.MountRow(40, 1, "0:50", str(path), ("rw",), "nfs4", "nas:/x", "rw")._replace(**changes)


@as_root
def test_the_record_of_made_directories(tmp_path, records):
    path = str(tmp_path / "p" / "q")
    mount_record.add(live(path), 1000, directories.prepare(ROOT, path, create=True).made)
    # Unmounted by another program and mounted again on the same directory.
    mount_record.add(live(path, mount_id=41), 1000, directories.prepare(ROOT, path, create=True).made)
    assert mount_record.remove_directories(path) is True
    assert not (tmp_path / "p").exists()
    mount_record.remove(path, None)
    assert mount_record.remove_directories(path) is False
    assert list(records.iterdir()) == []


@as_root
def test_a_mount_is_its_user_s_while_it_is_that_very_mount(tmp_path, records, monkeypatch):
    previous = os.umask(0o077)
    try:
        mount_record.add(live("/mnt/a"), 1000, [])
    finally:
        os.umask(previous)
    assert mount_record.owner(live("/mnt/a")) == 1000
    assert mount_record.owner(live("/mnt/a", options=("ro",))) == 0  # root gave it other flags
    mount_record.update(live("/mnt/a"), live("/mnt/a", options=("ro",), super_options="ro"))
    assert mount_record.owner(live("/mnt/a", options=("ro",))) == 1000  # this program did
    mount_record.update(live("/mnt/a", options=("ro",)), live("/mnt/a"))
    mount_record.update(live("/mnt/a"), live("/mnt/a", mount_id=41))
    mount_record.update(live("/mnt/a", mount_id=41), live("/mnt/a", mount_id=41))
    mount_record.update(live("/mnt/a"), None)
    for change in ({"mount_id": 41}, {"device": "0:51"}, {"source": "nas:/y"}, {"mount_point": "/mnt/b"}):
        assert mount_record.owner(live("/mnt/a", **change)) == 0
    (record,) = records.iterdir()
    assert stat.S_IMODE(record.stat().st_mode) == 0o644
    assert stat.S_IMODE(records.stat().st_mode) == 0o755
    mount_record.remove("/mnt/a", live("/mnt/a"))  # a mount that was made meanwhile
    assert mount_record.owner(live("/mnt/a")) == 1000
    (tmp_path / "boot").write_text("another\n")
    with monkeypatch.context() as patch:
        patch.setattr(mount_record, "_BOOT_ID", str(tmp_path / "boot"))
        assert mount_record.owner(live("/mnt/a")) == 0
    record.chmod(0o666)
    assert mount_record.owner(live("/mnt/a")) == 0
    record.chmod(0o644)
    for text in ("", "[]", "{}", "null", "{"):
        record.write_text(text)
        assert mount_record.owner(live("/mnt/a")) == 0
    mount_record.remove("/mnt/a", None)
    assert list(records.iterdir()) == []


@as_root
@pytest.mark.parametrize(
    ("options", "noted", "may"),
    [
        ("defaults", "", False),
        ("noauto,users", "", True),
        ("noauto,users,nouser", "", False),
        ("noauto,user", "OPTS=rw,user=daemon", True),
        ("noauto,user", "OPTS=rw,user=bin", False),
        ("noauto,user", "OPTS=rw", False),
        ("noauto,user", "ID=41 OPTS=rw,user=daemon", False),
        ("noauto", "OPTS=rw,user=daemon", False),
    ],
)
@pytest.mark.usefixtures("records")
def test_what_fstab_lets_users_unmount_stays_theirs(tmp_path, monkeypatch, options, noted, may):
    fstab = tmp_path / "fstab"
    fstab.write_text(f"nas:/x /data nfs {options}\n")
    (tmp_path / "utab").write_text(f"SRC=nas:/x TARGET=/data {noted}\nSRC=a:/b TARGET=/c OPTS=user=daemon\n")
    monkeypatch.setattr(policy.fstab_entries, "__defaults__", (str(fstab),))
    monkeypatch.setattr(utab.mounted_by, "__defaults__", (str(tmp_path),))
    caller = Caller(1, 1)  # daemon
    assert (code_of(mount_record.permit_change, caller, live("/data"), to_unmount=True) == "") is may
    assert code_of(mount_record.permit_change, caller, live("/data"), to_unmount=False) == "mount-not-yours"
    other = live("/data", source="evil:/x")
    assert code_of(mount_record.permit_change, caller, other, to_unmount=True) == "mount-not-yours"
    user_entries.add("nas:/x", "/data", 1)
    assert code_of(mount_record.permit_change, caller, live("/data"), to_unmount=True) == "mount-not-yours"


@as_root
def test_another_s_mount_is_root_s_and_the_administrator_s_to_change(records):
    mount_record.add(live("/mnt/a"), 1000, [])
    for to_unmount in (True, False):
        for caller, path, code in [
            (USER, "/mnt/a", ""),
            (USER._replace(uid=1001), "/mnt/a", "mount-not-yours"),
            (USER, "/mnt/b", "mount-not-yours"),
            (ROOT, "/mnt/a", ""),
            (ROOT, "/mnt/b", ""),
            (APPROVED, "/mnt/b", ""),
        ]:
            assert code_of(mount_record.permit_change, caller, live(path), to_unmount=to_unmount) == code


@as_root
def test_a_racing_link_never_leads_outside(tmp_path):
    """A thread exchanges a directory with a link as fast as it can; no directory is made through the link."""
    base, outside = tmp_path / "base", tmp_path / "outside"
    (base / "real").mkdir(parents=True)
    outside.mkdir()
    (base / "link").symlink_to(outside)
    done = threading.Event()

    libc = ctypes.CDLL(None, use_errno=True)
    names = [os.fsencode(base / name) for name in ("real", "link")]

    def swap():
        while not done.is_set():
            # renameat2(2), RENAME_EXCHANGE
            libc.renameat2(-100, names[0], -100, names[1], 2)

    thread = threading.Thread(target=swap)
    thread.start()
    outcomes = set()
    try:
        for _ in range(3000):
            try:
                prepared = directories.prepare(ROOT, str(base / "real" / "new"), create=True)
                outcomes.add("made")
                prepared.undo()
            except Refusal as refusal:
                outcomes.add(refusal.code)
    finally:
        done.set()
        thread.join()
    assert list(outside.iterdir()) == []
    assert (
        {"made", "mount-point-invalid"}
        <= outcomes
        <= {"made", "mount-point-invalid", "mount-point-missing", "mount-point-is-file"}
    )


def test_paths_compare_by_parts():
    assert mountinfo.is_within("/a/b", "/a")
    assert mountinfo.is_within("/a", "/a")
    assert not mountinfo.is_within("/ab", "/a")
    assert mountinfo.is_within("/x", "/")
