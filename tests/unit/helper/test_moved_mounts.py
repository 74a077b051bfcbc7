"""Remount and unmount while directories of the path are exchanged with links: no other mount changes.

tmpfs replaces NFS, in a mount namespace of the test.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SCRIPT = """
import ctypes, json, os, select, signal, subprocess, sys
sys.path.insert(0, sys.argv[1])
from app.helper import remounting, mountinfo, unmounting
from app.helper.errors import Refusal
from app.helper.options import load
mountinfo.NFS_TYPES = frozenset({"tmpfs"})
base, kind, attempts = sys.argv[2], sys.argv[3], int(sys.argv[4])
own, victim = base + "/user/dir/nfs", base + "/victim/nfs"
for path, options in ((own, "rw"), (victim, "ro,noexec,nosymfollow")):
    os.makedirs(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options + ",nosuid,nodev", "tmpfs", path], check=True)
os.symlink(base + "/victim", base + "/user/link")
rows = {row.mount_point: row for row in mountinfo.read()}
held = open(own + "/held", "w")  # keeps the right mount in use, so its unmount fails
libc = ctypes.CDLL(None, use_errno=True)
names = [os.fsencode(base + "/user/" + name) for name in ("dir", "link")]
def swap(told):
    over = []
    signal.signal(signal.SIGTERM, lambda *_: over.append(True))
    swaps = 0
    while not over:
        swaps += libc.renameat2(-100, names[0], -100, names[1], 2) == 0
    os.write(told, b"%d" % swaps)
class Waiter:
    cancelled = False
    def wait(self, fds, timeout_s):
        return set(select.select(list(fds), [], [], timeout_s)[0])
words = ["rw", "exec", "symfollow", "noatime"]
wanted = remounting.NewFlags.read(words, load())
def unmount():
    unmounting.unmount(rows[own], 0, 20.0, Waiter())
def remount():
    remounting.change(rows[own], wanted, 20.0, Waiter())
codes = {}
def attempt():
    try:
        {"unmount": unmount, "remount": remount}[kind]()
        code = "done"
    except Refusal as refusal:
        code = refusal.code
    codes[code] = codes.get(code, 0) + 1
# A process, because a busy thread would hold the interpreter lock for 5 ms at each call.
reading, writing = os.pipe()
swapper = os.fork()
if swapper == 0:
    swap(writing)
    os._exit(0)
os.close(writing)
try:
    for _ in range(attempts):
        attempt()
finally:
    os.kill(swapper, signal.SIGTERM)
    swaps = int(os.read(reading, 100))
    os.waitpid(swapper, 0)
now = {row.mount_point: row for row in mountinfo.read()}
print(json.dumps({
    "codes": codes, "swaps": swaps, "there": victim in now,
    "options": sorted(now[victim].options) if victim in now else [],
}))
"""


def run(folder, kind, attempts):
    words = [sys.executable, "-c", SCRIPT, str(ROOT), str(folder), kind, str(attempts)]
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    if "unshare failed" in done.stderr:
        pytest.skip("no namespaces here")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


pytestmark = [
    pytest.mark.usefixtures("mount_point_at_root"),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"),
]


@pytest.mark.parametrize("kind", ["unmount", "remount"])
@pytest.mark.parametrize("attempts", [150, pytest.param(10_000, marks=pytest.mark.long)])
def test_swapped_directories_lead_to_no_other_mount(plain_path, kind, attempts):
    told = run(plain_path, kind, attempts)
    assert told["there"]
    assert told["options"] == ["nodev", "noexec", "nosuid", "nosymfollow", "relatime", "ro"]
    # Both cases occurred: the path led to the mount, and it led elsewhere.
    found = {"unmount": "busy", "remount": "done"}[kind]
    assert {found, "not-mounted"} <= set(told["codes"]) <= {found, "not-mounted"}
    assert told["swaps"] > attempts
