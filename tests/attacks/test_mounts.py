"""Attacks on mounts of others: unmount, replace, remount, and path races."""

import pytest
from path_races import ATTACKS, BASES, EVIL, crossroads, race, renewed_sessions
from rig import ANN, NOBODY


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
    # The mount stays Ann's, in another session too, and after her own remount.
    ann.end()
    again = rig.session("mount", uid=ANN).hello()
    again.remount("/mnt/ann", "rw")
    assert "rw" in rig.mounts_at("/mnt/ann")[0].options
    session.unmount("/mnt/ann", lazy=True)
    assert rig.mounts_at("/mnt/ann")
    again.unmount("/mnt/ann")
    assert not rig.mounts_at("/mnt/ann")


def test_who_has_mounted_once_does_not_own_what_root_mounts_later(rig):
    """The kernel reuses mount ids and device numbers, so a record could match a later mount of root."""
    session = rig.session("mount").hello()
    session.mount("nas:/x", "/mnt/x")
    (own,) = rig.mounts()
    for share in ("prod:/data", "nas:/x"):
        for _ in range(20):
            rig.run("umount", "-n", "/mnt/x")
            mine = rig.mount_as_root(share, "/mnt/x", "ro,noexec,nosuid,nodev")
            if mine.mount_id == own.mount_id:  # other programs of the machine use mount ids, too
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
    """Counter-test: the verbs work on own mounts, so the tests above show refusals and not errors."""
    rig.session("mount").hello().mount("nas:/x", "/mnt/x", "ro", "noexec")
    session = rig.session("mount").hello()
    session.remount("/mnt/x", "rw", "exec")
    (own,) = rig.mounts_at("/mnt/x")
    assert "rw" in own.options
    assert "noexec" not in own.options
    assert session.ask("holders", target="/mnt/x") == {"holders": []}
    session.unmount("/mnt/x")
    assert rig.mounts() == []


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("attack", ["unmount", "all at once"])
def test_a_swapped_path_leads_to_no_mount_of_another(rig, least, base, attack):
    with crossroads(rig, base) as own:
        victims, owned = rig.mounts_at("/opt/v/nfs"), len(rig.mounts())
        sessions = renewed_sessions(rig)

        def is_won():
            return rig.mounts_at("/opt/v/nfs") != victims

        def request():
            ATTACKS[attack](next(sessions), own)
            if len(rig.mounts()) < owned and not is_won():  # an own mount was detached, which is permitted
                rig.run("mount", "-n", "-t", "tmpfs", "nas:/own", f"{base}/way/nfs", check=False)

        attempts = race(rig, base, request, is_won, least)
        assert rig.mounts_at("/opt/v/nfs") == victims, f"after {attempts} requests"


@pytest.mark.parametrize("base", BASES)
def test_a_swapped_path_leads_no_mount_astray(rig, least, base):
    rig.make(base, f"{base}/way", f"{base}/way/point", uid=NOBODY)
    rig.make("/opt/v/point")
    rig.write("/etc/fstab", f"{EVIL} {base}/way/point nfs users,noauto 0 0\n")
    rig.run("ln", "-s", "/opt/v", f"{base}/link", uid=NOBODY)
    sessions = renewed_sessions(rig)

    def request():
        session = next(sessions)
        session.mount(EVIL, f"{base}/way/point", create=False)
        session.mount(EVIL, f"{base}/way/new", create=True)
        for mount in rig.mounts():
            session.unmount(mount.point)

    def is_won():
        return len(list(rig.path("/opt/v").iterdir())) > 1 or bool(
            [mount for mount in rig.mounts() if mount.point.startswith("/opt")]
        )

    attempts = race(rig, base, request, is_won, least)
    assert not is_won(), f"after {attempts} requests"
