"""Races of a request with a path that its caller swaps for another one, and what is asked of a mount."""

import contextlib
import subprocess
import time

from rig import NOBODY

EVIL = "evil.example:/x"
#: Of each race (a path that is swapped for another one), and requests that the swaps come between.
SWAPS, ATTEMPTS = 10_000, 600
#: A race that loads of other programs slow down ends here; what it has shown by then counts.
_RACE_S = 60.0

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


#: Lets two names change places until its input ends, then tells how often: renameat2(2), RENAME_EXCHANGE.
SWAP = """
import ctypes, itertools, os, select, sys, time
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:3])
count = 0
print("ready", flush=True)
for number in itertools.count():
    # An odd number of times, or an even one, and so often that a request meets several.
    for _ in range(number % 5 + 1):
        count += libc.renameat2(-100, first, -100, second, 2) == 0
    if select.select([0], [], [], 0.00005)[0]:
        break
print(count)
"""


@contextlib.contextmanager
def swapping(rig, first, second):
    """Let two names of the caller's change places all the time; the value is how often, at the end."""
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


def race(rig, base, request, is_won, least=ATTEMPTS):
    """Ask again and again while the path is swapped; return the swaps and the requests until it was won.

    Args:
        rig: with a directory ``way`` of the caller's in the base, and a link beside it.
        base: a directory of the caller's.
        request: makes one request.
        is_won: whether what the attack wants has come about.
        least: requests.
    """
    attempts, swaps, end = 0, 0, time.monotonic() + _RACE_S
    while (attempts < least or swaps < SWAPS) and not is_won() and time.monotonic() < end:
        with swapping(rig, f"{base}/way", f"{base}/link") as count:
            for _ in range(least // 3):
                request()
                attempts += 1
                if is_won():
                    break
        swaps += count[0]
    return swaps, attempts


def renewed_sessions(rig):
    """Yield a session for each attempt; each serves 50, as a helper serves a thousand requests."""
    while True:
        session = rig.session("mount").hello()
        for _ in range(50):
            yield session
        session.end()


#: A directory of the caller's where a directory with a mount in it can become a link to /opt/v. In a home,
#: root has declared and made that mount; below the roots, the caller has, before owning the directory.
BASES = ["/home/nobody", "/srv/mine"]


@contextlib.contextmanager
def crossroads(rig, base):
    """Lay out such a place, and keep the mount in use: a request that misses the victim changes nothing."""
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
