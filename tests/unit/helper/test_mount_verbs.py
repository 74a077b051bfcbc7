"""Mounting with a replacement of mount.nfs in a mount namespace, and children that hang, flood or stay."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import DEADLINE_S, source_of

from app.helper import children, mount_nfs, mountinfo
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, load

ROOT = Path(__file__).parents[3]
SH = "/bin/sh"


class Patient:
    """Waiter that is cancelled at its first wait, or never."""

    def __init__(self, *, cancelled=False):
        self.cancelled = cancelled

    def wait(self, fds, timeout_s):
        import select

        return set(select.select(list(fds), [], [], 0 if self.cancelled else timeout_s)[0])


def test_a_child_s_text_and_code():
    ended = children.run([SH, "-c", "echo out; echo err >&2; exit 32"], 20, Patient())
    assert ended == children.ProcessResult(32, "out\nerr\n", False)


def test_a_child_s_environment_is_ours_alone(monkeypatch):
    monkeypatch.setenv("KRB5CCNAME", "/tmp/evil")
    ended = children.run(["/usr/bin/env"], 20, Patient())
    names = {line.partition("=")[0] for line in ended.text.split()}
    assert names - {"PWD", "SHLVL", "_"} == set(children.ENVIRONMENT)


def test_a_hanging_child_and_its_children_are_killed_at_the_deadline(tmp_path):
    ended = children.run([SH, "-c", f"sleep 100 & echo $! > {tmp_path}/pid; wait"], 0.5, Patient())
    assert ended.code is None
    assert not ended.cancelled
    pid = (tmp_path / "pid").read_text().strip()
    # It is killed with its parent, but may end a moment later.
    _wait_for(lambda: not Path(f"/proc/{pid}").exists() or "State:\tZ" in _status(pid))


def test_a_cancelled_child_is_killed():
    ended = children.run([SH, "-c", "exec sleep 100"], 60, Patient(cancelled=True))
    assert (ended.code, ended.cancelled) == (None, True)


def test_what_a_child_leaves_running_does_not_hold_us():
    """mount.nfs may start rpc.statd, which keeps the pipe open."""
    ended = children.run([SH, "-c", "sleep 3 & echo done"], 60, Patient())
    assert ended == children.ProcessResult(0, "done\n", False)


def test_a_flood_is_capped():
    ended = children.run([SH, "-c", "yes | head -c 5000000"], 60, Patient())
    assert ended.code == 0
    assert len(ended.text) <= children.MAX_OUTPUT + 4096


def test_control_bytes_are_shown_not_sent():
    ended = children.run([SH, "-c", r"printf 'a\033[31m\007\377\n'"], 20, Patient())
    assert ended.text == "a\\x1b[31m\\x07\\xff\n"


DISPOSE = """
import os, sys
sys.path.append(sys.argv[1])
from app.helper.children import wait_quietly
from app.helper.abandonable_child import AbandonableChild
hung = AbandonableChild(lambda: len(os.read(os.pipe()[0], 1)))
assert hung.status() is None
hung.dispose()
quick = AbandonableChild(lambda: 16)
assert wait_quietly(quick.pidfd, 20)
assert quick.status() == 16
quick.dispose()
broken = AbandonableChild(lambda: 1 // 0)
assert wait_quietly(broken.pidfd, 20)
assert broken.status() == 255
broken.dispose()
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("none left")
"""


def test_a_disposable_child_that_hangs_is_disposed_of():
    done = subprocess.run(
        [sys.executable, "-c", DISPOSE, str(ROOT)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "none left\n", done.stderr


def test_the_words_for_mount_nfs():
    built, notes = mount_nfs.build_options(load(), ["vers=4.2", "bg", "_netdev", "noac"])
    assert built == ("vers=4.2", "noac", "retry=0", *ALWAYS)
    assert notes == ["foreground"]
    built, notes = mount_nfs.build_options(load(), ["retry=1", "nosuid"])
    assert built == ("retry=1", *ALWAYS)
    assert notes == []


@pytest.mark.parametrize("value", [0, 499, 150_001, True, "1000", None, 1.5])
def test_a_time_limit_is_in_range(value):
    with pytest.raises(Refusal):
        mount_nfs.deadline_s(value)


def row(mount_id, options, fstype="nfs4"):
    return mountinfo.MountRow(mount_id, 1, "0:50", "/mnt/x", options, fstype, "nas:/x", "rw")


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ([], "nothing is mounted"),
        ([row(9, ("rw", "nodev"))], "nosuid"),
        ([row(9, ("rw", "nosuid"))], "nosuid"),
        ([row(9, ("rw", "nosuid", "nodev"), "tmpfs")], "nosuid"),
        ([row(5, ("rw", "nosuid", "nodev"))], "nothing is mounted"),
    ],
)
def test_a_mount_that_is_not_what_was_asked_for_is_refused(monkeypatch, after, message):
    monkeypatch.setattr(mountinfo, "read", lambda: after)
    ended = children.ProcessResult(0, "", False)
    with pytest.raises(Refusal, match=message):
        mount_nfs._verify(ended, [row(5, ("rw",))], "/mnt/x")


def test_a_mount_that_is_what_was_asked_for(monkeypatch):
    wanted = row(9, ("rw", "nosuid", "nodev"))
    monkeypatch.setattr(mountinfo, "read", lambda: [row(5, ("rw",)), wanted])
    assert mount_nfs._verify(children.ProcessResult(0, "", False), [row(5, ("rw",))], "/mnt/x") == wanted


#: Number in the command lines of this run's processes; other runs have other numbers.
OURS = os.getpid()

STAND_IN = f"""#!/bin/sh
case "$1" in
*:/good) exec mount -t tmpfs -o nosuid,nodev tmpfs "$2";;
*:/loose) exec mount -t tmpfs tmpfs "$2";;
*:/late) mount -t tmpfs -o nosuid,nodev tmpfs "$2"; exec sleep 100;;
*:/lie) exit 0;;
*:/hang) exec sleep 100;;
*:/killed) mount -t tmpfs -o nosuid,nodev tmpfs "$2"; echo > "$(dirname "$0")/begun"; exec sleep 88.{OURS};;
*:/daemon) setsid sleep 77.{OURS} & echo $! > "$(dirname "$0")/daemon"
    exec mount -t tmpfs -o nosuid,nodev tmpfs "$2";;
*) echo "mount.nfs: access denied by server while mounting $1"; exit 32;;
esac
"""

SCRIPT = """
import json, os, subprocess, sys
sys.path.append(sys.argv[1])
from app.helper import mount_nfs, mount_record, mount_verbs, policy, mountinfo, callers, try_verbs, utab
from app.helper.errors import Refusal
utab.remove_entries = lambda path: False
base = sys.argv[2]
mountinfo.NFS_TYPES = frozenset({"tmpfs"})
mount_nfs.MOUNT_NFS = (base + "/mount.nfs",)
callers.OWN_ROOT, mount_record.FOLDER = base + "/own", base + "/own/mounts"
policy.FORBIDDEN = ()
class Waiter:
    cancelled = False
    def wait(self, fds, timeout_s):
        import select
        return set(select.select(list(fds), [], [], timeout_s)[0])
helper, trial = mount_verbs.MountVerbs(callers.Caller(0, 0)), try_verbs.TryVerbs(callers.Caller(0, 0))
point = base + "/mnt/point"
told = {}
def ask(name, verb, **args):
    try:
        told[name] = sorted(verb(args, Waiter()))
    except Refusal as refusal:
        told[name] = [refusal.code, refusal.message, refusal.detail]
    told[name + " left"] = [os.path.lexists(point), any(row.mount_point == point for row in mountinfo.read())]
def mount(name, export, **more):
    ask(name, helper.mount, **{"share": "nas:/" + export, "target": point, "options": [], "create": True,
                               "hide": False, "timeout_ms": 20000, **more})
def unmount(name):
    ask(name, helper.unmount, target=point, force=False, lazy=False, timeout_ms=20000)
for export in ("denied", "loose", "lie"):
    mount(export, export)
mount("late", "late", timeout_ms=1500)
mount("good", "good")
mount("again", "good")
holder = subprocess.Popen(["sleep", "100"], cwd=point)
unmount("busy")
def remount(name, *words):
    ask(name, helper.remount, target=point, options=list(words), timeout_ms=20000)
    told[name + " shown"] = sorted(mountinfo.topmost(mountinfo.read(), point).options)
remount("remounted", "ro", "noexec", "noatime")
remount("remounted back", "rw", "exec", "relatime")
remount("sync", "sync", "nodiratime")
told["sync shown"] += mountinfo.topmost(mountinfo.read(), point).super_options.split(",")
remount("async", "async", "diratime", "strictatime")
told["async shown"] += mountinfo.topmost(mountinfo.read(), point).super_options.split(",")
words = ("rsize=1024", "suid", "dev", "hard", "remount", "bind", "", "ro,suid", "nolock")
for number, word in enumerate(words):
    remount(f"bad {number}", word)
with open(point + "/open", "w"):
    remount("written", "ro")
rows = mountinfo.read()
def attempt(name, export, waiter=None, **more):
    try:
        args = {"share": "nas:/" + export, "options": ["vers=4.2"], "timeout_ms": 20000, **more}
        told[name] = trial.attempt(args, waiter or Waiter())
    except Refusal as refusal:
        told[name] = [refusal.code, refusal.message, refusal.detail]
    told[name + " left"] = mountinfo.read() != rows or sorted(os.listdir(base + "/own")) != ["mounts"]
class Cancelled(Waiter):
    cancelled = True
    def wait(self, fds, timeout_s):
        return set()
for export in ("denied", "loose", "lie", "good", "daemon"):
    attempt("try " + export, export)
attempt("try late", "late", timeout_ms=1500)
attempt("try hang", "hang", timeout_ms=500)
attempt("try cancelled", "hang", Cancelled())
attempt("try bad share", "x y:z")
attempt("try bad option", "good", options=["suid"])
with open("/proc/self/task/%d/children" % os.getpid()) as file:
    told["children"] = len(file.read().split())
told["holders"] = helper.holders({"target": point}, Waiter())["holders"]
told["pid"] = holder.pid
holder.kill(); holder.wait()
unmount("gone")
unmount("twice")
ask("holders of nothing", helper.holders, target=point)
told["left"] = os.listdir(base + "/own/mounts")
print(json.dumps(told))
"""


def check_remounts(told):
    shown = {name: set(told[f"{name} shown"]) for name in ("remounted", "remounted back", "sync", "async")}
    assert shown["remounted"] == {"ro", "nosuid", "nodev", "noexec", "noatime"}
    assert shown["remounted back"] == {"rw", "nosuid", "nodev", "relatime"}
    assert {"sync", "nodiratime", "relatime", "nosuid"} <= shown["sync"]
    assert {"rw", "nosuid", "nodev"} <= shown["async"]
    assert not {"sync", "nodiratime", "relatime", "noatime"} & shown["async"]
    for number in range(9):
        assert told[f"bad {number}"][0] == "option-invalid"
        assert told[f"bad {number} shown"] == ["nodev", "nosuid", "rw"]
    assert told["written"][0] == "busy"
    assert told["written shown"] == ["nodev", "nosuid", "rw"]


def check_attempts(told, folder):
    good = told["try good"]
    assert good["fstype"] == "tmpfs"
    assert good["mount_options"].startswith("rw,nosuid,nodev")
    assert (good["nconnect"], good["shared"], good["notes"]) == (0, False, [])
    assert good["command"][-3:] == ["-o", "vers=4.2,retry=0,nosuid,nodev", "-n"]
    assert told["try daemon"]["fstype"] == "tmpfs"
    assert not _running(rf"^sleep 77\.{OURS}$"), (folder / "daemon").read_text()
    assert told["try denied"][0] == "mount-failed"
    assert "access denied" in told["try denied"][2]
    assert "nosuid" in told["try loose"][1]
    assert "nothing is mounted" in told["try lie"][1]
    for name in ("late", "hang"):
        assert "in time" in told[f"try {name}"][1]
    assert told["try cancelled"][0] == "cancelled"
    assert told["try bad share"][0] == "share-invalid"
    assert told["try bad option"][0] == "option-invalid"
    assert not any(left for name, left in told.items() if name.startswith("try ") and name.endswith(" left"))
    assert told["children"] == 1  # the holder


@pytest.mark.usefixtures("mount_point_at_root")
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare")
def test_mounts_come_and_go(plain_path):
    stand_in = plain_path / "mount.nfs"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    done = subprocess.run(
        [
            "unshare",
            "--mount",
            "--propagation",
            "private",
            sys.executable,
            "-c",
            SCRIPT,
            str(ROOT),
            str(plain_path),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    if "unshare failed" in done.stderr:
        pytest.skip("no namespaces here")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    nothing, mounted = [False, False], [True, True]
    assert told["denied"][0] == "mount-failed"
    assert "access denied" in told["denied"][2]
    assert told["denied left"] == nothing
    assert "nosuid" in told["loose"][1]
    assert told["loose left"] == nothing
    assert "nothing is mounted" in told["lie"][1]
    assert told["lie left"] == nothing
    assert "in time" in told["late"][1]
    assert told["late left"] == nothing
    assert "mount_id" in told["good"]
    assert told["good left"] == mounted
    assert told["again"][0] == "mount-point-busy"
    assert told["busy"][0] == "busy"
    assert "sleep" in told["busy"][2]
    assert "working directory" in told["busy"][2]
    assert told["busy left"] == mounted
    assert told["holders"] == [{"pid": told["pid"], "uid": 0, "command": "sleep", "use": "working directory"}]
    assert told["holders of nothing"][0] == "not-mounted"
    assert "removed_directory" in told["gone"]
    assert told["gone left"] == nothing
    assert told["twice"][0] == "not-mounted"
    check_remounts(told)
    check_attempts(told, plain_path)
    assert told["left"] == []
    assert not (plain_path / "mnt").exists()


KILLED = (
    SCRIPT.partition("def ask(")[0]
    + """
trial.attempt({"share": "nas:/killed", "options": [], "timeout_ms": 100000}, Waiter())
"""
)


@pytest.mark.usefixtures("mount_point_at_root")
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare")
def test_a_killed_helper_leaves_nothing_of_a_try(tmp_path):
    stand_in = tmp_path / "mount.nfs"
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode:
        pytest.skip("no namespaces here")
    with subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", sys.executable, "-c", KILLED, ROOT, tmp_path]
    ) as helper:
        _wait_for((tmp_path / "begun").exists)
        # The replacement program prints this shortly before it executes sleep.
        _wait_for(lambda: _running(rf"^sleep 88\.{OURS}$"))
        helper.kill()
    _wait_for(lambda: not _running(rf"^sleep 88\.{OURS}$"))
    _wait_for(lambda: not _running(str(tmp_path)))
    assert list((tmp_path / "own").iterdir()) == []


def _status(pid):
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return "State:\tZ"


def _wait_for(done):
    end = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < end, f"waited {DEADLINE_S:.0f} s for {source_of(done)}"
        time.sleep(0.1)


def _running(pattern):
    """Return the processes whose command line matches a pattern, without pgrep(1)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_text(errors="replace").rstrip("\0").replace("\0", " ")
            if re.search(pattern, words):
                found.append(int(folder.name))
    return found
