"""Writing of fstab: it is the old or the new file after any error and any kill of the writer."""

import contextlib
import errno
import hashlib
import os
import shutil
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from app.helper import files, fstab_writer
from app.helper.errors import Refusal
from app.helper.files import MAX_BACKUPS, FileCalls, Files
from app.helper.fstab_writer import FstabWriter
from app.helper.options import load

OLD = b"# head\n/dev/sda1 / ext4 ro 0 1\nbroken\n\n\tnas:/a\t/mnt/a  nfs ro 0 0"
CATALOGUE = load()
IN_PART = "findmnt crashed and checked only a part of the new fstab."


class Quiet:
    """Waiter for calls that start no child."""

    cancelled = False


class Seam(FileCalls):
    """FileCalls that counts the calls, and replaces one of them by an action of the test."""

    def __init__(self, instead=None, at=-1, *, forever=False):
        self.calls, self.instead, self.at, self.forever = [], instead, at, forever

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in vars(FileCalls) or name.startswith("_"):
            return found

        def call(*args, **kwargs):
            number = len(self.calls)
            self.calls.append(name)
            if number == self.at or (self.forever and number > self.at >= 0):
                self.instead()
            return found(*args, **kwargs)

        return call


@pytest.fixture(autouse=True)
def no_findmnt(request, monkeypatch):
    if "findmnt" not in request.node.name:
        monkeypatch.setattr(fstab_writer, "_FINDMNT", ())


def make(tmp_path, system=None, data=OLD):
    folder = tmp_path / "etc"
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "fstab").write_bytes(data)
    (folder / "fstab").chmod(0o640)
    return FstabWriter(str(folder), str(tmp_path / "state" / "fstab"), system, CATALOGUE)


def names(folder):
    return [path.name for path in folder.iterdir()]


def add(writer):
    """Add an entry; return the code of the refusal, "" for none."""
    try:
        writer.add(request(), Quiet())
    except Refusal as refusal:
        return refusal.code
    return ""


def request(data=OLD, **changes):
    plain = {
        "share": "nas:/b c",
        "target": "/mnt/b c",
        "fstype": "nfs",
        "options": ["nofail"],
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    return {**plain, **changes}


NEW = OLD + b"\nnas:/b\\040c\t/mnt/b\\040c\tnfs\tnofail,nosuid,nodev\t0\t0"


def test_it_writes_and_keeps_a_backup_mode_and_owner(tmp_path):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    with_xattr = True
    try:
        os.setxattr(path, "user.mountwright-test", b"label")
    except OSError:
        with_xattr = False
    answer = writer.add(request(), Quiet())
    assert path.read_bytes() == NEW
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert not with_xattr or os.getxattr(path, "user.mountwright-test") == b"label"
    backup = Path(answer["backup"])
    assert backup.read_bytes() == OLD
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert names(path.parent) == ["fstab"]
    writer.remove(request(NEW), Quiet())
    assert path.read_bytes() == OLD + b"\n"


def test_the_last_change_is_taken_back_byte_for_byte(tmp_path):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    first = writer.add(request(), Quiet())["backup"]

    def restore(backup, now=NEW):
        sha256 = hashlib.sha256(now).hexdigest()
        writer.restore({"backup": backup, "sha256": sha256}, Quiet())

    for backup in ("", "/etc/passwd", first + "/../x", first.replace("fstab-", "fstab-0")):
        with pytest.raises(Refusal, match="not the newest"):
            restore(backup)
    with pytest.raises(Refusal, match="changed"):
        restore(first, OLD)
    assert path.read_bytes() == NEW
    restore(first)
    assert path.read_bytes() == OLD
    # A restore makes a backup of its own, so the earlier backup is no longer the newest.
    with pytest.raises(Refusal, match="not the newest"):
        restore(first, OLD)
    with pytest.raises(Refusal, match="no copy"):
        make(tmp_path / "other").restore({"backup": "x", "sha256": hashlib.sha256(OLD).hexdigest()}, Quiet())


def theirs(path, data):
    """Write fstab like another program, either in place or by replacing the file."""
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    "now",
    [
        NEW + b"\n# theirs\n",
        NEW.replace(b"ext4 ro", b"ext4 rw"),
        NEW.replace(b"nofail", b"nofail,ro"),
        OLD,
        b"",
    ],
)
def test_what_others_changed_since_is_not_taken_back(tmp_path, now):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    backup = writer.add(request(), Quiet())["backup"]
    sha256 = theirs(path, now)
    with pytest.raises(Refusal, match="no longer") as caught:
        writer.restore({"backup": backup, "sha256": sha256}, Quiet())
    assert caught.value.code == "fstab-changed"
    assert path.read_bytes() == now
    # With the contents that the change left, it can be restored.
    writer.restore({"backup": backup, "sha256": theirs(path, NEW)}, Quiet())
    assert path.read_bytes() == OLD


@pytest.mark.parametrize(
    "damaged", [b"", OLD[:20], OLD.replace(b"ext4 ro", b"ext4 rw"), OLD[40:], OLD + b"\nx\ny\n"]
)
def test_a_damaged_copy_is_not_taken_back(tmp_path, damaged):
    writer = make(tmp_path)
    backup = writer.add(request(), Quiet())["backup"]
    Path(backup).write_bytes(damaged)
    with pytest.raises(Refusal, match="more than one NFS entry") as caught:
        writer.restore({"backup": backup, "sha256": hashlib.sha256(NEW).hexdigest()}, Quiet())
    assert caught.value.code == "fstab-refused"
    assert (tmp_path / "etc" / "fstab").read_bytes() == NEW


def test_a_copy_that_does_not_say_what_the_change_left_is_not_taken_back(tmp_path):
    """Old backups have no checksum; the backup of a failed change has one that fstab never had."""
    writer = make(tmp_path)
    backup = Path(writer.add(request(), Quiet())["backup"])
    old = backup.rename(backup.with_name("fstab-20260101T000000.000000000Z"))
    with pytest.raises(Refusal, match="no longer"):
        writer.restore({"backup": str(old), "sha256": hashlib.sha256(NEW).hexdigest()}, Quiet())
    assert (tmp_path / "etc" / "fstab").read_bytes() == NEW


def test_it_changes_in_place(tmp_path):
    writer = make(tmp_path)
    args = request(old_share="nas:/a", old_target="/mnt/a", share="nas:/a", target="/mnt/a")
    writer.change(args, Quiet())
    assert (tmp_path / "etc" / "fstab").read_bytes() == OLD.replace(b"nfs ro", b"nfs nofail")


def test_the_newest_copy_is_the_last_one_whatever_the_clock_does(tmp_path, monkeypatch):
    second = 10**9
    # The clock at the end of a second, then set back and stopped, then set ahead.
    clock = iter([100 * second - 1, 90 * second, 90 * second, 90 * second, 200 * second])
    monkeypatch.setattr(files.time, "time_ns", lambda: next(clock))
    # The order of the checksums differs from that of the backups.
    results = [hashlib.sha256(word).hexdigest() for word in (b"3", b"1", b"2", b"4", b"5")]
    assert results != sorted(results)
    made = [Files(FileCalls()).back_up(str(tmp_path), "fstab", b"x", result) for result in results]
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert [f"{tmp_path}/{name}" for name in files.backups(folder, "fstab")] == made
    finally:
        os.close(folder)
    assert made[4].endswith(f"fstab-19700101T000320.000000000Z.{results[4]}")
    assert len(Path(made[3]).name) == len(Path(made[4]).name) + 3


def test_it_keeps_twenty_backups(tmp_path):
    for _number in range(MAX_BACKUPS + 3):
        make(tmp_path).add(request(), Quiet())
    assert len(list((tmp_path / "state" / "fstab").iterdir())) == MAX_BACKUPS


def calls(tmp_path):
    seam = Seam()
    make(tmp_path, seam).add(request(), Quiet())
    return seam.calls


def check_whole(tmp_path, *, answered):
    """Check that fstab is the old file unless the request succeeded, and that a new file has a backup."""
    path = tmp_path / "etc" / "fstab"
    now = path.read_bytes()
    assert now == NEW if answered else now in {OLD, NEW}
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    if now == NEW:
        assert OLD in {file.read_bytes() for file in (tmp_path / "state" / "fstab").iterdir()}


@pytest.mark.parametrize("forever", [False, True])
@pytest.mark.parametrize("name", ["EIO", "ENOSPC", "EPERM", "EINTR", "EROFS", "EDQUOT", "ENOSYS", "EINVAL"])
def test_any_call_may_fail(tmp_path, name, forever):
    (tmp_path / "count").mkdir()
    total = len(calls(tmp_path / "count"))
    number = getattr(errno, name)

    def fail():
        raise OSError(number, os.strerror(number))

    for at in range(total):
        folder = tmp_path / str(at)
        folder.mkdir()
        code = add(make(folder, Seam(fail, at, forever=forever)))
        assert code in {"", "fstab-failed", "fstab-refused", "fstab-changed"}
        check_whole(folder, answered=not code)
        if not forever:
            assert names(folder / "etc") == ["fstab"] or at >= total - 2
        # A leftover temporary file does not prevent the next attempt.
        make(folder).add(request(), Quiet())
        check_whole(folder, answered=True)


KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1].split(":")
import test_fstab_writer as t
from pathlib import Path
t.fstab_writer._FINDMNT = ()
for at in range(int(sys.argv[3])):
    folder = Path(sys.argv[2], str(at))
    folder.mkdir()
    child = os.fork()
    if child == 0:
        t.make(folder, t.Seam(lambda: os.kill(os.getpid(), signal.SIGKILL), at)).add(t.request(), t.Quiet())
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
"""


def test_it_may_be_killed_before_any_call(tmp_path):
    (tmp_path / "count").mkdir()
    total = len(calls(tmp_path / "count"))
    assert total >= 15
    here = Path(__file__)
    path = f"{here.parent}:{here.parents[3]}"
    subprocess.run([sys.executable, "-c", KILLED, path, tmp_path, str(total)], check=True, timeout=100)
    for at in range(total):
        check_whole(tmp_path / str(at), answered=False)
        make(tmp_path / str(at)).add(request(), Quiet())
        check_whole(tmp_path / str(at), answered=True)


def test_a_change_since_it_was_read_is_refused(tmp_path):
    writer = make(tmp_path, data=OLD + b"\n")
    with pytest.raises(Refusal) as caught:
        writer.add(request(), Quiet())
    assert caught.value.code == "fstab-changed"
    assert (tmp_path / "etc" / "fstab").read_bytes() == OLD + b"\n"


@pytest.mark.parametrize("replace", [True, False])
def test_another_editor_at_any_moment_loses_nothing(tmp_path, replace):
    (tmp_path / "count").mkdir()
    total = len(calls(tmp_path / "count"))
    for at in range(total):
        folder = tmp_path / str(at)
        folder.mkdir()
        path = folder / "etc" / "fstab"

        def edit(path=path):
            theirs = path.read_bytes() + b"\n# theirs\n"
            if replace:
                other = path.with_name("theirs")
                other.write_bytes(theirs)
                other.replace(path)
            else:
                path.write_bytes(theirs)

        editors = []

        def edit_beside(edit=edit, editors=editors):
            # open(2) for writing may block until the writer gives up its lease.
            editors.append(threading.Thread(target=edit))
            editors[0].start()
            editors[0].join(0.05)

        code = add(make(folder, Seam(edit_beside, at)))
        editors[0].join()
        assert code in {"", "fstab-changed"}
        assert path.read_bytes() == (OLD if code else NEW) + b"\n# theirs\n"


def test_a_file_that_is_open_for_writing_is_left_alone(tmp_path):
    writer = make(tmp_path)
    with (tmp_path / "etc" / "fstab").open("ab") as file:
        assert add(writer) == "fstab-changed"
        file.write(b"\n# theirs\n")
    assert (tmp_path / "etc" / "fstab").read_bytes() == OLD + b"\n# theirs\n"


def test_a_file_system_without_leases_is_served_too(tmp_path):
    def cannot():
        raise OSError(errno.EINVAL, "Invalid argument")

    (tmp_path / "count").mkdir()
    at = calls(tmp_path / "count").index("lease")
    make(tmp_path, Seam(cannot, at)).add(request(), Quiet())
    check_whole(tmp_path, answered=True)


def test_a_file_system_without_exchange_is_served_too(tmp_path):
    def cannot():
        raise OSError(errno.EINVAL, "Invalid argument")

    (tmp_path / "count").mkdir()
    at = calls(tmp_path / "count").index("exchange")
    make(tmp_path, Seam(cannot, at)).add(request(), Quiet())
    check_whole(tmp_path, answered=True)


@pytest.mark.parametrize("kind", ["link", "hard", "folder", "fifo", "missing", "large"])
def test_what_is_no_plain_file_is_refused(tmp_path, kind):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    before = path.read_bytes()
    if kind == "hard":
        os.link(path, tmp_path / "other")
    elif kind == "large":
        path.write_bytes(b"#" * (files.MAX_BYTES + 1))
        before = path.read_bytes()
    else:
        path.rename(tmp_path / "real")
        make_it = {"link": lambda: path.symlink_to(tmp_path / "real"), "folder": path.mkdir,
                   "fifo": lambda: os.mkfifo(path), "missing": lambda: None}  # fmt: skip
        make_it[kind]()
    with pytest.raises(Refusal) as caught:
        writer.add(request(before), Quiet())
    assert caught.value.code == "fstab-refused"
    if kind in {"link", "hard", "large"}:
        assert path.read_bytes() == before


class Waits(Quiet):
    """Waiter that waits for its descriptors."""

    def wait(self, fds, timeout_s):
        import select

        return set(select.select(list(fds), [], [], timeout_s)[0])


@pytest.mark.skipif(not Path("/usr/bin/findmnt").exists(), reason="needs util-linux")
def test_findmnt_is_asked_and_its_new_complaints_are_told(tmp_path):
    readable = OLD.replace(b"broken\n", b"")
    answer = make(tmp_path, data=readable).add(request(readable, options=["ro"]), Waits())
    new = NEW.replace(b"broken\n", b"").replace(b"nofail", b"ro")
    assert (tmp_path / "etc" / "fstab").read_bytes() == new
    assert all("/mnt/b c" in text for text in answer["warnings"])
    # Complaints about other entries existed before.
    assert not any("sda1" in text for text in answer["warnings"])


@pytest.mark.skipif(not Path("/usr/bin/findmnt").exists(), reason="needs util-linux")
def test_findmnt_does_not_tell_of_a_broken_line_that_was_there_before(tmp_path):
    (tmp_path / "broken").write_bytes(OLD)
    command = ["/usr/bin/findmnt", "--verify", "--tab-file", tmp_path / "broken"]
    crashes = subprocess.run(command, check=False, capture_output=True).returncode < 0
    answer = make(tmp_path).add(request(options=["ro"]), Waits())
    assert (tmp_path / "etc" / "fstab").read_bytes() == NEW.replace(b"nofail", b"ro")
    assert (answer["warnings"] == [IN_PART]) == crashes
    assert crashes or all("/mnt/b c" in text for text in answer["warnings"])


@pytest.mark.skipif(not Path("/usr/bin/findmnt").exists(), reason="needs util-linux")
@pytest.mark.parametrize("booted", [True, False])
def test_findmnt_is_not_believed_where_systemd_makes_the_mount_point(tmp_path, monkeypatch, booted):
    systemd = tmp_path / "systemd"
    if booted:
        systemd.mkdir()
    monkeypatch.setattr(fstab_writer, "_SYSTEMD", str(systemd))
    readable = OLD.replace(b"broken\n", b"")
    answer = make(tmp_path, data=readable).add(request(readable, target="/nowhere/at/all"), Waits())
    told = [text for text in answer["warnings"] if "/nowhere/at/all" in text]
    assert bool(told) != booted


@pytest.mark.parametrize("crashes", [True, False])
def test_findmnt_that_crashes_has_not_checked_the_file(tmp_path, monkeypatch, crashes):
    """findmnt of util-linux 2.41.5 ends by SIGSEGV at the first malformed line."""
    program = tmp_path / "findmnt"
    program.write_text(
        '#!/bin/sh\necho "findmnt: $3: parse error at line 3 -- ignored"\n' + ("kill -SEGV $$\n" * crashes)
    )
    program.chmod(0o755)
    monkeypatch.setattr(fstab_writer, "_FINDMNT", (str(program),))
    answer = make(tmp_path).add(request(), Waits())
    assert (tmp_path / "etc" / "fstab").read_bytes() == NEW
    assert answer["warnings"] == ([IN_PART] if crashes else [])


def test_cancelled_before_the_exchange_nothing_is_written(tmp_path):
    waiter = Quiet()
    waiter.cancelled = True
    with pytest.raises(Refusal) as caught:
        make(tmp_path).add(request(), waiter)
    assert caught.value.code == "cancelled"
    check_whole(tmp_path, answered=False)
    assert (tmp_path / "etc" / "fstab").read_bytes() == OLD


def test_access_lists_and_labels_are_kept(tmp_path):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    # acl(5) as the kernel keeps it: version 2; owner rw, user 65534 r, group r, mask r, others none.
    entries = [(1, 6, -1), (2, 4, 65534), (4, 4, -1), (16, 4, -1), (32, 0, -1)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    wanted = {"system.posix_acl_access": acl, "trusted.mountwright": b"t", "user.mountwright": b"u",
              "security.selinux": b"system_u:object_r:etc_t:s0\0"}  # fmt: skip
    kept = {}
    for name, value in wanted.items():
        with contextlib.suppress(OSError):  # not every file system and user supports it
            os.setxattr(path, name, value)
            kept[name] = os.getxattr(path, name)
    mode = path.stat().st_mode
    writer.add(request(), Quiet())
    assert path.read_bytes() == NEW
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == kept
    assert path.stat().st_mode == mode


def test_what_the_kernel_makes_of_the_contents_is_not_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(FileCalls, "listxattr", staticmethod(lambda fd: ["security.ima", "security.evm"]))
    make(tmp_path).add(request(), Quiet())
    check_whole(tmp_path, answered=True)


@pytest.mark.parametrize(("flag", "letter"), [(0x10, "i"), (0x20, "a")])
def test_a_locked_file_is_refused_with_the_way_to_unlock_it(tmp_path, monkeypatch, flag, letter):
    writer = make(tmp_path)
    path = tmp_path / "etc" / "fstab"
    really = (
        shutil.which("chattr")
        and not subprocess.run(["chattr", f"+{letter}", path], check=False, capture_output=True).returncode
    )
    if not really:
        monkeypatch.setattr(files.fcntl, "ioctl", lambda *_args: struct.pack("l", flag))
    try:
        with pytest.raises(Refusal, match=f"chattr -{letter}") as caught:
            writer.add(request(), Quiet())
    finally:
        if really:
            subprocess.run(["chattr", f"-{letter}", path], check=True)
    assert caught.value.code == "fstab-refused"
    assert path.read_bytes() == OLD


@pytest.mark.parametrize(("code", "warnings"), [(0, 0), (1, 1), (None, 0)])
def test_systemd_is_told_where_it_runs(tmp_path, monkeypatch, code, warnings):
    program = tmp_path / "systemctl"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/told\nexit {code or 0}\n')
    program.chmod(0o755)
    monkeypatch.setattr(files, "_SYSTEMCTL", (str(program),))
    monkeypatch.setattr(files, "SYSTEMD", str(tmp_path if code is not None else tmp_path / "none"))
    writer = make(tmp_path)
    monkeypatch.setattr(fstab_writer, "FOLDER", str(tmp_path / "etc"))
    answer = writer.add(request(), Waits())
    assert (tmp_path / "told").exists() == (code is not None)
    assert code is None or (tmp_path / "told").read_text() == "daemon-reload\n"
    assert len([text for text in answer["warnings"] if "systemctl daemon-reload" in text]) == warnings
