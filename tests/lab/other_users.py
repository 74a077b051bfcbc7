"""Guest job: attacks of one user on the NFS mounts of other users through the helper.

They are those of tests/attacks, but with a real NFS server. The helper is started as by pkexec, without
polkit.
"""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from helper_line import start_helper

from app.lab.server import SHARE
from app.lab.syscalls import unmount
from app.process import find_program, run

HELPER = Path(__file__).parents[2] / "app" / "helper" / "__main__.py"
NOBODY, ANN = 65534, 60011
#: Timeout of an answer, s.
PATIENCE_S = 120.0
SWAPS, ATTEMPTS = 10_000, 100

#: Program that starts the helper as pkexec does: the parent is a process of the user, the child runs as root.
LIKE_PKEXEC = """
import os, sys
uid = int(sys.argv[1])
os.setgroups([])
os.setresgid(uid, 0, 0)
os.setresuid(uid, 0, 0)
child = os.fork()
if child == 0:
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    os.execve(sys.argv[2], sys.argv[2:], {"PKEXEC_UID": str(uid)})
os.close(0)
os.close(1)
os.waitpid(child, 0)
"""

SWAP = """
import ctypes, os, select, sys
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:3])
count = 0
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    before = count
    for _ in range(20):
        count += libc.renameat2(-100, first, -100, second, 2) == 0
    if before < int(sys.argv[3]) <= count:
        print("enough", flush=True)
    os.sched_yield()
print(count)
"""


class Helper:
    """Client of a helper of the role mount, started by a user."""

    def __init__(self, uid: int) -> None:
        command = [
            sys.executable,
            "-I",
            "-c",
            LIKE_PKEXEC,
            str(uid),
            sys.executable,
            "-IBSXutf8",
            str(HELPER),
        ]
        self._process = start_helper(command, "mount")
        assert self.ask("hello")["uid"] == uid

    def ask(self, verb: str, **args: object) -> dict[str, Any]:
        """Send a request; return its result or its error."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"id": "a", "verb": verb, "args": args}).encode() + b"\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], PATIENCE_S)[0], f"no answer to {verb}"
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        found: dict[str, Any] = answer["ok"] if "ok" in answer else answer["error"]
        return found

    def mount(self, target: str, *words: str) -> dict[str, Any]:
        return self.ask(
            "mount", share=SHARE, target=target, options=["vers=4.2", *words], create=True, timeout_ms=60_000
        )

    def unmount(self, target: str, **flags: bool) -> dict[str, Any]:
        return self.ask("unmount", target=target, timeout_ms=60_000, **flags)

    def remount(self, target: str, *words: str) -> dict[str, Any]:
        return self.ask("remount", target=target, options=list(words), timeout_ms=60_000)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        assert self._process.stdout is not None
        self._process.stdout.close()


def carry_out() -> dict[str, Any]:
    """Run all attacks; return the result of each by name."""
    with Path("/etc/passwd").open("a") as file:
        file.write(f"ann:x:{ANN}:{ANN}::/:/bin/sh\n")
    nobody, ann = Helper(NOBODY), Helper(ANN)
    try:
        return {
            "another user's": attack_a_mount_of_another_user(nobody, ann),
            "root's": attack_a_mount_of_root(nobody),
            "own": use_an_own_mount(nobody),
            "shared": attack_what_is_shared(nobody),
            **{f"swapped, {verb}": swap_the_path(nobody, verb) for verb in ("unmount", "remount")},
        }
    finally:
        nobody.close()
        ann.close()


def attack_a_mount_of_another_user(nobody: Helper, ann: Helper) -> dict[str, Any]:
    point = "/mnt/ann"
    ann.mount(point, "ro", "noexec")
    found = attack(nobody, point)
    ann.remount(point, "rw")
    found["after her remount"] = rows_at(point)
    found |= {"again " + name: rows for name, rows in attack(nobody, point).items()}
    ann.unmount(point)
    found["after her unmount"] = rows_at(point)
    return found


def attack_a_mount_of_root(nobody: Helper) -> dict[str, Any]:
    point = "/srv/data"
    mount_as_root(point)
    found = attack(nobody, point)
    with contextlib.suppress(OSError):
        unmount(point)
    return found


def use_an_own_mount(nobody: Helper) -> dict[str, Any]:
    """Mount, remount and unmount as the owner, to show that the other results are refusals and not errors."""
    point = "/mnt/own"
    nobody.mount(point, "ro", "noexec")
    nobody.remount(point, "rw", "exec")
    found = {"remounted": rows_at(point)}
    nobody.unmount(point)
    return {**found, "unmounted": rows_at(point)}


def attack_what_is_shared(nobody: Helper) -> dict[str, Any]:
    """Attack root's mount through a mount of the user that shares its superblock."""
    theirs, own = "/srv/shared", "/mnt/own"
    mount_as_root(theirs, "sync")
    nobody.mount(own, "sync")
    found: dict[str, Any] = {"before": devices_at(theirs), "own": devices_at(own)}
    found["codes"] = [
        nobody.remount(own, "async").get("code"), nobody.unmount(own, force=True).get("code"),
        nobody.remount(own, "noexec").get("code"),
    ]  # fmt: skip
    found["after"], found["own after"] = devices_at(theirs), devices_at(own)
    found["unmount"] = nobody.unmount(own).get("code")
    with contextlib.suppress(OSError):
        unmount(theirs)
    return found


def attack(nobody: Helper, point: str) -> dict[str, Any]:
    """Return the rows of the mount table at the mount point before and after each attack."""
    attacks: dict[str, Callable[[], object]] = {
        "remount": lambda: nobody.remount(point, "rw", "exec"),
        "read-only": lambda: nobody.remount(point, "ro"),
        "cover": lambda: nobody.mount(point),
        "unmount": lambda: nobody.unmount(point),
        "force": lambda: nobody.unmount(point, force=True),
        "detach": lambda: nobody.unmount(point, lazy=True),
    }
    found = {"before": rows_at(point)}
    for name, attempt in attacks.items():
        attempt()
        found[name] = rows_at(point)
    return found


def swap_the_path(nobody: Helper, verb: str) -> dict[str, Any]:
    """Send requests while a directory of the own mount's path is exchanged with a link."""
    base, own = "/srv/mine", "/srv/mine/way/nfs"
    Path(base).mkdir(mode=0o755, parents=True)
    nobody.mount(own)
    assert rows_at(own), "the own mount is not there"
    for path in (base, f"{base}/way"):
        os.chown(path, NOBODY, NOBODY)
    Path(base, "link").symlink_to("/opt/v")
    mount_as_root("/opt/v/nfs")
    before = rows_at("/opt/v/nfs")
    attempts = 0
    with user_of(own), swapping(f"{base}/way", f"{base}/link") as swapper:
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end and rows_at("/opt/v/nfs") == before:
            if verb == "unmount":
                nobody.unmount(own)
            else:
                nobody.remount(own, "rw", "exec")
            attempts += 1
            if attempts >= ATTEMPTS and select.select([swapper.stdout], [], [], 0)[0]:
                break
        swaps = int(swapper.communicate(b"end", timeout=PATIENCE_S)[0].split()[-1])
    found = {"before": before, "after": rows_at("/opt/v/nfs"), "attempts": attempts, "swaps": swaps}
    for point in ("/opt/v/nfs", *[row.split()[4] for row in table() if row.split()[4].startswith(base)]):
        with contextlib.suppress(OSError):
            unmount(point)
    run(["/bin/rm", "-rf", "--one-file-system", base, "/opt/v"], timeout=PATIENCE_S)
    return found


@contextlib.contextmanager
def user_of(point: str) -> Iterator[None]:
    """Start a process that keeps a mount in use, so that a request for it is refused as busy."""
    child = subprocess.Popen(["/bin/sleep", "3600"], cwd=point)
    try:
        yield
    finally:
        child.kill()
        child.wait()


@contextlib.contextmanager
def swapping(first: str, second: str) -> Iterator[subprocess.Popen[bytes]]:
    """Let two names change places; the process says "enough" after SWAPS, and at its end how often it was."""
    command = [sys.executable, "-I", "-S", "-c", SWAP, first, second, str(SWAPS)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield swapper
        finally:
            swapper.kill()


def mount_as_root(point: str, words: str = "ro,noexec,nosharecache") -> None:
    Path(point).mkdir(parents=True)
    program = find_program("mount.nfs")
    assert program is not None
    outcome = run([program, SHARE, point, "-o", f"vers=4.2,{words}"], timeout=PATIENCE_S)
    assert outcome.ok, outcome.stderr


def table() -> list[str]:
    return Path("/proc/self/mountinfo").read_text().splitlines()


def devices_at(point: str) -> list[list[str]]:
    """Return device and superblock options of each mount at a path."""
    return [[row.split()[2], row.split()[-1]] for row in table() if f" {point} " in row]


def rows_at(point: str) -> list[str]:
    """Return mount id, options and share of each NFS mount at a path."""
    found = [row.split() for row in table() if " - nfs" in row]
    return [f"{row[0]} {row[5]} {row[-2]}" for row in found if row[4] == point]
