"""Attacks on mounts of others: taken away, replaced, changed, and reached through a path that turns round."""

import contextlib
import subprocess
import time

import pytest
from rig import ANN, NOBODY

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


@pytest.mark.parametrize("options", ["ro,noexec,nosymfollow,nosuid,nodev", "rw,nosuid,nodev", "ro"])
def test_a_mount_that_root_made_is_root_s(rig, options):
    mine = rig.mount_as_root("prod:/data", "/srv/data", options)
    session = rig.session("mount").hello()
    for attack, attempt in ATTACKS.items():
        attempt(session, "/srv/data")
        assert rig.mounts() == [mine], attack
    assert "code" in session.ask("holders", target="/srv/data")


@pytest.mark.parametrize("options", ["defaults", "nofail,ro,noexec", "noauto,ro"])
def test_a_mount_of_an_entry_that_root_wrote_is_root_s(rig, options):
    rig.write("/etc/fstab", f"prod:/data /srv/data nfs {options} 0 0\n")
    mine = rig.mount_as_root("prod:/data", "/srv/data", "ro,noexec,nosuid,nodev")
    session = rig.session("mount").hello()
    for attack, attempt in ATTACKS.items():
        attempt(session, "/srv/data")
        assert rig.mounts() == [mine], attack


def test_a_mount_of_another_user_is_that_user_s(rig):
    ann, session = rig.session("mount", uid=ANN).hello(), rig.session("mount").hello()
    ann.mount("nas:/ann", "/mnt/ann", "ro", "noexec")
    ann.mount("nas:/own", f"/run/mountwright/{ANN}/own", "ro", "noexec")
    hers = rig.mounts()
    assert len(hers) == 2
    for place in ("/mnt/ann", f"/run/mountwright/{ANN}/own"):
        for attack, attempt in ATTACKS.items():
            attempt(session, place)
            assert rig.mounts() == hers, attack
        assert "code" in session.ask("holders", target=place)
    # Hers it stays, in another session too, and after a remount of her own.
    ann.end()
    again = rig.session("mount", uid=ANN).hello()
    again.remount("/mnt/ann", "rw")
    assert "rw" in rig.mounts_at("/mnt/ann")[0].options
    session.unmount("/mnt/ann", lazy=True)
    assert rig.mounts_at("/mnt/ann")
    again.unmount("/mnt/ann")
    assert not rig.mounts_at("/mnt/ann")


def test_who_has_mounted_once_does_not_own_what_root_mounts_later(rig):
    """The kernel gives the number of a mount again, and that of its device."""
    session = rig.session("mount").hello()
    session.mount("nas:/x", "/mnt/x")
    (own,) = rig.mounts()
    for share in ("prod:/data", "nas:/x"):
        for _ in range(20):
            rig.run("umount", "-n", "/mnt/x")
            mine = rig.mount_as_root(share, "/mnt/x", "ro,noexec,nosuid,nodev")
            if mine.mount_id == own.mount_id:  # others on this machine take numbers, too
                break
        for attack, attempt in ATTACKS.items():
            attempt(session, "/mnt/x")
            assert rig.mounts() == [mine], (share, attack)


def test_who_has_mounted_does_not_own_what_lies_over_it(rig):
    session = rig.session("mount").hello()
    session.mount("nas:/x", "/mnt/x")
    rig.mount_as_root("prod:/data", "/mnt/x", "ro,noexec,nosuid,nodev")
    both = rig.mounts()
    assert len(both) == 2
    for attack, attempt in ATTACKS.items():
        attempt(session, "/mnt/x")
        assert rig.mounts() == both, attack


def test_what_is_not_nfs_is_nobody_s(rig):
    rig.make("/srv/local", "/mnt/mine")
    rig.run("mount", "-n", "-t", "tmpfs", "-o", "ro,noexec", "local", "/srv/local")
    before = rig.run("cat", "/proc/self/mounts").stdout
    session = rig.session("mount").hello()
    for place in ("/srv/local", "/", "/proc", "/etc", "/run", "/dev/shm"):
        for attack, attempt in ATTACKS.items():
            attempt(session, place)
            assert rig.run("cat", "/proc/self/mounts").stdout == before, attack


def test_the_caller_s_own_mounts_are_at_the_caller_s_disposal(rig):
    """So that the tests above show refusals, not broken verbs."""
    rig.session("mount").hello().mount("nas:/x", "/mnt/x", "ro", "noexec")
    session = rig.session("mount").hello()
    session.remount("/mnt/x", "rw", "exec")
    (own,) = rig.mounts_at("/mnt/x")
    assert "rw" in own.options
    assert "noexec" not in own.options
    assert session.ask("holders", target="/mnt/x") == {"holders": []}
    session.unmount("/mnt/x")
    assert rig.mounts() == []


#: Lets two names change places until its input ends, then tells how often: renameat2(2), RENAME_EXCHANGE.
SWAP = """
import ctypes, os, select, sys
libc = ctypes.CDLL(None, use_errno=True)
first, second = (os.fsencode(name) for name in sys.argv[1:3])
count = 0
print("ready", flush=True)
while not select.select([0], [], [], 0)[0]:
    for _ in range(50):
        count += libc.renameat2(-100, first, -100, second, 2) == 0
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


def race(rig, base, request, is_won):
    """Ask again and again while the path is swapped; return the swaps and the requests until it was won.

    Args:
        rig: with a directory ``way`` of the caller's in the base, and a link beside it.
        base: a directory of the caller's.
        request: makes one request.
        is_won: whether what the attack wants has come about.
    """
    attempts, swaps, end = 0, 0, time.monotonic() + _RACE_S
    while (attempts < ATTEMPTS or swaps < SWAPS) and not is_won() and time.monotonic() < end:
        with swapping(rig, f"{base}/way", f"{base}/link") as count:
            for _ in range(ATTEMPTS // 3):
                request()
                attempts += 1
                if is_won():
                    break
        swaps += count[0]
    return swaps, attempts


#: A directory of the caller's where a directory with a mount in it can become a link to /opt/v. In a home, root
#: has declared and made that mount; below the roots, the caller has made it before the directory was the caller's.
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


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ["unmount", "all at once"])
def test_a_swapped_path_leads_to_no_mount_of_another(rig, base, attack):
    with crossroads(rig, base) as own:
        victims, owned = rig.mounts_at("/opt/v/nfs"), len(rig.mounts())
        session = rig.session("mount").hello()

        def is_won():
            return rig.mounts_at("/opt/v/nfs") != victims

        def request():
            ATTACKS[attack](session, own)
            if len(rig.mounts()) < owned and not is_won():  # detached, as the caller may
                rig.run("mount", "-n", "-t", "tmpfs", "nas:/own", f"{base}/way/nfs", check=False)

        swaps, attempts = race(rig, base, request, is_won)
        assert rig.mounts_at("/opt/v/nfs") == victims, f"after {attempts} requests"
        assert swaps >= SWAPS
        assert attempts >= ATTEMPTS


@pytest.mark.parametrize("base", BASES)
def test_a_swapped_path_leads_no_mount_astray(rig, base):
    rig.make(base, f"{base}/way", f"{base}/way/point", uid=NOBODY)
    rig.make("/opt/v/point")
    rig.write("/etc/fstab", f"{EVIL} {base}/way/point nfs users,noauto 0 0\n")
    rig.run("ln", "-s", "/opt/v", f"{base}/link", uid=NOBODY)
    session = rig.session("mount").hello()

    def request():
        session.mount(EVIL, f"{base}/way/point", create=False)
        session.mount(EVIL, f"{base}/way/new", create=True)
        for mount in rig.mounts():
            session.unmount(mount.point)

    def is_won():
        return len(list(rig.path("/opt/v").iterdir())) > 1 or bool(
            [mount for mount in rig.mounts() if mount.point.startswith("/opt")]
        )

    swaps, attempts = race(rig, base, request, is_won)
    assert not is_won(), f"after {attempts} requests"
    assert swaps >= SWAPS
    assert attempts >= ATTEMPTS
