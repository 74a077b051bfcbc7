"""Where something may be mounted: the rules, the walk, and a thread that swaps what is walked on."""

import ctypes
import os
import stat
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.helper import directories, made, table, targets
from app.helper.errors import Refusal
from app.helper.targets import Caller

ROOT = Caller(0, 0)
USER = Caller(1000, 1000)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may be the owner of these directories")


@pytest.fixture(autouse=True)
def own_fstab(monkeypatch, tmp_path):
    """No entry of this machine's fstab or roots.conf takes part."""
    monkeypatch.setattr(targets, "FSTAB", str(tmp_path / "no-fstab"))
    monkeypatch.setattr(targets, "ROOTS_FILE", str(tmp_path / "no-roots"))
    monkeypatch.setattr(targets.read_fstab, "__defaults__", (str(tmp_path / "no-fstab"),))
    monkeypatch.setattr(targets.read_roots, "__defaults__", (str(tmp_path / "no-roots"),))


def code_of(check, *args, **options):
    try:
        check(*args, **options)
    except Refusal as refusal:
        return refusal.code
    return ""


SYSTEM = [
    "/",
    "/bin",
    "/etc",
    "/etc/x",
    "/usr",
    "/usr/local/x",
    "/lib",
    "/lib/x",
    "/lib64/x",
    "/proc/1",
    "/sys",
    "/dev/shm",
    "/boot/efi",
    "/root",
    "/root/x",
    "/run",
    "/run/x",
    "/run/mountwright",
    "/run/mountwright/made/x",
    "/tmp",
    "/tmp/x",
    "/var",
    "/var/lib/x",
    "/sbin/x",
    "/home",
    "/opt",
]


@pytest.mark.parametrize("path", SYSTEM)
@pytest.mark.parametrize("caller", [ROOT, USER])
def test_the_system_s_directories_are_refused_to_everybody(caller, path):
    assert code_of(targets.permit_mount, caller, "nas:/x", path) == "mount-point-system"


@pytest.mark.parametrize(
    "path", ["/mnt", "/mnt/a", "/srv/a/b", "/data", "/home/ann/nfs", "/opt/x", "/library/x"]
)
def test_root_may_mount_elsewhere(path):
    assert code_of(targets.permit_mount, ROOT, "nas:/x", path) == ""


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
        ("/mntx/a", False),
        ("/data", False),
        ("/home/ann/nfs", False),
    ],
)
def test_users_may_mount_below_the_folders_for_mounts(path, allowed):
    assert (code_of(targets.permit_mount, USER, "nas:/x", path) == "") is allowed
    assert (code_of(targets.permit_unmount, USER, path) == "") is allowed


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["mnt", "srv", "media", "etc", "usr", "run", "mountwright", "1000", "a", "home"]),
        min_size=1,
        max_size=4,
    ).map(lambda parts: "/" + "/".join(parts))
)
def test_a_user_never_leaves_the_folders(path):
    inside = path.startswith(("/mnt/", "/srv/", "/media/", "/run/mountwright/1000/"))
    assert (code_of(targets.permit_mount, USER, "nas:/x", path) == "") is inside


@as_root
def test_what_root_declared_in_fstab_may_be_mounted_exactly(tmp_path, monkeypatch):
    fstab = tmp_path / "fstab"
    fstab.write_text(
        "# nas:/c /data nfs\nnas:/h /home nfs4 ro 0 0\nnas:/w /var/www\\040x nfs\nnas:/e /etc nfs\n"
    )
    monkeypatch.setattr(targets.read_fstab, "__defaults__", (str(fstab),))
    assert code_of(targets.permit_mount, USER, "nas:/h", "/home") == ""
    assert code_of(targets.permit_mount, USER, "nas:/w", "/var/www x") == ""
    assert code_of(targets.permit_mount, USER, "nas:/other", "/home") == "mount-point-system"
    assert code_of(targets.permit_mount, USER, "nas:/e", "/etc") == "mount-point-system"
    assert code_of(targets.permit_mount, USER, "nas:/c", "/data") == "mount-point-system"
    assert code_of(targets.permit_unmount, USER, "/home") == ""
    fstab.chmod(0o666)
    assert code_of(targets.permit_mount, USER, "nas:/h", "/home") == "mount-point-system"


@as_root
def test_the_administrator_adds_folders(tmp_path, monkeypatch):
    roots = tmp_path / "roots.conf"
    roots.write_text("# more\n/data/nfs\n/etc\nrelative\n/\n/usr/x\n")
    monkeypatch.setattr(targets.read_roots, "__defaults__", (str(roots),))
    assert targets.read_roots() == ("/data/nfs",)
    assert code_of(targets.permit_mount, USER, "nas:/x", "/data/nfs/a") == ""
    link = tmp_path / "link"
    link.symlink_to(roots)
    assert targets.read_roots(str(link)) == ()


def row(mount_point, fstype="ext4"):
    return table.Row(1, 0, "0:1", mount_point, ("rw",), fstype, "src", "rw")


def test_the_table_is_asked_before_the_path_is_touched():
    rows = [
        row("/"),
        row("/mnt/nas", "nfs4"),
        row("/mnt/fuse", "fuse.sshfs"),
        row("/srv"),
        row("/auto", "autofs"),
    ]
    assert code_of(targets.check_table, rows, "/mnt/nas") == "mount-point-busy"
    assert code_of(targets.check_table, rows, "/mnt") == "mount-point-busy"
    assert code_of(targets.check_table, rows, "/mnt/nas/below") == "mount-point-invalid"
    assert code_of(targets.check_table, rows, "/mnt/fuse/below") == "mount-point-invalid"
    assert code_of(targets.check_table, rows, "/auto/x") == "mount-point-invalid"
    assert code_of(targets.check_table, rows, "/srv/x") == ""
    assert code_of(targets.check_table, rows, "/mnt/nas2") == ""
    assert code_of(targets.check_table, [row("/", "nfs4")], "/mnt/x") == ""


def test_mountinfo_escapes_are_read():
    raw = (
        rb"36 35 98:0 / /mnt/a\040b\134c rw,nosuid,nodev master:1 - nfs4 nas:/x\040y rw,vers=4.2"
        b"\nrubbish\n"
    )
    (only,) = table.parse(raw)
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
    # /tmp is everybody's, so nothing below it will do.
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
def test_the_record_of_made_directories(tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "OWN_ROOT", str(tmp_path / "own"))
    monkeypatch.setattr(made, "FOLDER", str(tmp_path / "own" / "made"))
    path = str(tmp_path / "p" / "q")
    made.note(path, directories.prepare(ROOT, path, create=True))
    assert made.remove(path) is True
    assert not (tmp_path / "p").exists()
    assert made.remove(path) is False
    assert list((tmp_path / "own" / "made").iterdir()) == []


@as_root
def test_a_racing_link_never_leads_outside(tmp_path):
    """Someone swaps a directory for a link to another place as fast as possible; nothing is made there."""
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
    assert table.is_within("/a/b", "/a")
    assert table.is_within("/a", "/a")
    assert not table.is_within("/ab", "/a")
    assert table.is_within("/x", "/")
