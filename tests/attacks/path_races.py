"""Path races: requests to the helper while the caller exchanges a directory of the path with a link."""

import contextlib
import subprocess
from typing import NamedTuple

from rig import NOBODY

EVIL = "evil.example:/x"


class Least(NamedTuple):
    """Least numbers of exchanges, and of requests, of a race."""

    swaps: int
    attempts: int


#: A helper that checked the mount and, directly after that, unmounted by the path lost within 24 requests in
#: each of ten tries, after 7 on average. The chance that 150 requests miss such a helper is 1e-10.
QUICK, LONG = Least(2_000, 150), Least(10_000, 600)

ATTACKS = {
    "unmount": lambda session, place: session.unmount(place),
    "detach": lambda session, place: session.unmount(place, lazy=True),
    "force": lambda session, place: session.unmount(place, force=True),
    "replace": lambda session, place: session.mount(EVIL, place, create=False),
    "cover": lambda session, place: session.mount(EVIL, f"{place}/below"),
    "cover the parent": lambda session, place: session.mount(EVIL, place.rpartition("/")[0]),
    "let programs run": lambda session, place: session.remount(place, "exec"),
    "let writes in": lambda session, place: session.remount(place, "rw"),
    "follow links": lambda session, place: session.remount(place, "symfollow"),
    "keep writes out": lambda session, place: session.remount(place, "ro"),
    "all at once": lambda session, place: session.remount(place, "rw", "exec", "symfollow", "atime"),
}


#: Program that exchanges two names until its input ends, then prints the number of exchanges (renameat2(2)).
SWAP = """
import ctypes, itertools, os, select, sys, time
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:3])
count = 0
print("ready", flush=True)
for number in itertools.count():
    # One to five exchanges, so that a request meets odd and even numbers of them.
    for _ in range(number % 5 + 1):
        count += libc.renameat2(-100, first, -100, second, 2) == 0
    if select.select([0], [], [], 0.00005)[0]:
        break
print(count)
"""


@contextlib.contextmanager
def swapping(rig, first, second):
    """Exchange two names continuously within this context; afterwards the yielded list has the number."""
    count = []
    with rig.start(
        "/usr/bin/python3", "-I", "-S", "-c", SWAP, first, second, uid=NOBODY,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as swapper:  # fmt: skip
        assert swapper.stdout.readline() == b"ready\n"
        try:
            yield count
        finally:
            count.append(int(swapper.communicate(b"end")[0]))


def race(rig, base, request, is_won, least):
    """Repeat a request while the path is exchanged, until the attack has succeeded or has been tried enough.

    Args:
        rig: rig in which ``base`` contains a directory ``way`` and a symbolic link ``link``.
        base: directory that belongs to the caller.
        request: function that sends one request.
        is_won: function that tells whether the attack has succeeded.
        least: least numbers of exchanges and requests.

    Returns:
        the number of requests.
    """
    attempts = swaps = 0
    while (attempts < least.attempts or swaps < least.swaps) and not is_won():
        with swapping(rig, f"{base}/way", f"{base}/link") as count:
            for _ in range(least.attempts // 3):
                request()
                attempts += 1
                if is_won():
                    break
        swaps += count[0]
    return attempts


def renewed_sessions(rig):
    """Yield a session for each attempt; a session serves 50 attempts, because its requests are limited."""
    while True:
        session = rig.session("mount").hello()
        for _ in range(50):
            yield session
        session.end()


#: Directories of the caller, in which a directory with a mount is exchanged with a link to /opt/v. At home,
#: root made the mount by an fstab entry. Below /srv, the caller made it and then got the directory.
BASES = ["/home/nobody", "/srv/mine"]


@contextlib.contextmanager
def crossroads(rig, base):
    """Create the directories and mounts of a race; a process keeps the caller's own mount in use."""
    own = f"{base}/way/nfs"
    if base == "/srv/mine":
        rig.make(base)
        session = rig.session("mount").hello()
        session.mount("nas:/own", own)
        session.end()
        assert rig.mounts_at(own)
        rig.make(base, uid=NOBODY)
    else:
        rig.write("/etc/fstab", f"nas:/own {own} nfs users,noauto 0 0\n")
        rig.mount_as_root("nas:/own", own, "rw,nosuid,nodev")
    rig.make(f"{base}/way", uid=NOBODY)
    rig.run("ln", "-s", "/opt/v", f"{base}/link", uid=NOBODY)
    rig.mount_as_root("prod:/data", "/opt/v/nfs", "ro,noexec,nosymfollow,nosuid,nodev")
    stay = 'cd "$1" && echo there && exec sleep 600'
    with rig.start("sh", "-c", stay, "sh", own, uid=NOBODY, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"there\n"
        try:
            yield own
        finally:
            holder.kill()
