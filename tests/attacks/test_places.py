"""Attacks by mount point: an NFS server over root's programs, over others' files, or outside the roots."""

from rig import ANN, NOBODY

EVIL = "evil.example:/x"
#: Directories that an ordinary user must not cover: programs of root, its configuration, or files of other
#: users. The list is independent of the helper's own.
PLACES = [
    "/", "/boot", "/dev/shm", "/etc/cron.d", "/proc/sys", "/sbin", "/sys/fs",
    "/usr", "/usr/bin", "/usr/lib/systemd/system", "/usr/libexec/mountwright", "/usr/share/polkit-1/actions",
    "/usr/local", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib",
    "/root", "/root/.ssh", "/root/.config/autostart",
    "/var", "/var/lib/dpkg", "/var/lib/mountwright", "/var/spool/cron/crontabs", "/var/tmp/x",
    "/run", "/run/dbus", "/run/systemd/system", "/run/user/1000",
    "/run/mountwright", f"/run/mountwright/{ANN}", f"/run/mountwright/{ANN}/x", "/run/mountwright/made",
    "/tmp", "/tmp/x", "/opt", "/opt/x", "/data", "/nix/store", "/snap/x",
    "/home", "/home/ann", "/home/ann/.ssh", "/home/nobody", "/home/nobody/x",
    "/mnt", "/media", "/srv",
]  # fmt: skip


def everything(rig, path):
    """Return all names below a directory."""
    return sorted(str(each.relative_to(rig.path(path))) for each in rig.path(path).rglob("*"))


def test_no_place_outside_the_roots_is_declared_in_fstab(rig):
    session = rig.session("persist").hello()
    before = rig.read("/etc/fstab")
    taken = []
    for place in PLACES:
        session.add(EVIL, place, "nofail")
        if rig.read("/etc/fstab") != before:
            taken.append(place)
            rig.write("/etc/fstab", before)
    assert taken == []
    session.add(EVIL, "/mnt/x", "nofail")
    assert EVIL in rig.read("/etc/fstab")


def test_an_entry_is_not_moved_out_of_the_roots(rig):
    session = rig.session("persist").hello()
    session.add(EVIL, "/mnt/x", "nofail")
    before = rig.read("/etc/fstab")
    assert EVIL in before
    taken = []
    for place in PLACES:
        session.change((EVIL, "/mnt/x"), EVIL, place, "nofail")
        if rig.read("/etc/fstab") != before:
            taken.append(place)
            rig.write("/etc/fstab", before)
    assert taken == []


def test_no_place_outside_the_roots_has_units_written(rig):
    session = rig.session("persist").hello()
    taken = []
    for place in PLACES:
        session.write_unit(EVIL, place, "nofail")
        if rig.units():
            taken.append(place)
            for name in rig.units():
                (rig.path("/etc/systemd/system") / name).unlink()
    assert taken == []
    session.write_unit(EVIL, "/mnt/x", "nofail")
    assert any(EVIL in text for text in rig.units().values())


def test_nothing_is_mounted_outside_the_roots_declared_or_not(rig):
    session, persist = rig.session("mount").hello(), rig.session("persist").hello()
    before = {place: everything(rig, place) for place in ("/root", "/home", "/opt", "/usr/local", "/tmp")}
    taken = []
    for place in PLACES:
        for create in (False, True):
            session.mount(EVIL, place, create=create)
        persist.add(EVIL, place, "nofail")
        for create in (False, True):
            session.mount(EVIL, place, create=create)
        taken += [mount.point for mount in rig.mounts()]
        for mount in rig.mounts():
            rig.run("umount", "-n", "-l", mount.point)
    assert taken == []
    # No directories are created either.
    assert before == {place: everything(rig, place) for place in before}
    session.mount(EVIL, "/mnt/x")
    assert rig.mounts_at("/mnt/x")


def test_an_entry_opens_a_place_for_its_own_share_alone(rig):
    rig.write(
        "/etc/fstab", "prod:/d /opt/declared nfs defaults 0 0\nprod:/e /srv/declared nfs defaults 0 0\n"
    )
    rig.make("/opt/declared", "/srv/declared")
    session = rig.session("mount").hello()
    for place in ("/opt/declared", "/srv/declared"):
        session.mount(EVIL, place)
        session.mount(EVIL, place, create=False)
    assert rig.mounts() == []
    session.mount("prod:/d", "/opt/declared", create=False)
    assert [mount.source for mount in rig.mounts_at("/opt/declared")] == ["prod:/d"]


def test_nothing_is_declared_in_a_directory_that_the_caller_can_change(rig):
    # mount -a would follow a link in place of the directory.
    rig.make("/srv/shared", uid=NOBODY)
    rig.make("/srv/sticky", mode=0o1777)
    persist, session = rig.session("persist").hello(), rig.session("mount").hello()
    before = rig.read("/etc/fstab")
    for link in ("/srv/shared/x", "/srv/sticky/x"):
        rig.run("ln", "-s", "/usr/local/sbin", link, uid=NOBODY)
        for place in (link, f"{link}/y"):
            persist.add(EVIL, place, "nofail")
            persist.write_unit(EVIL, place, "nofail")
            session.mount(EVIL, place)
    assert rig.read("/etc/fstab") == before
    assert rig.units() == {}
    assert rig.mounts() == []


def test_what_root_keeps_to_itself_is_not_found_out(rig):
    """All paths in a directory that the caller may not search get the same answer."""
    names = make_private(rig)
    before = everything(rig, "/srv")
    session = rig.session("mount").hello()
    for create in (False, True):
        found = {
            name: told(session.mount(EVIL, f"/srv/private/{name}", create=create), name) for name in names
        }
        assert len(set(found.values())) == 1, found
    assert rig.mounts() == []
    assert everything(rig, "/srv") == before


def test_declaring_finds_out_nothing_either(rig):
    """findmnt examines mount points as root; its complaints must not reveal them to the caller."""
    names = make_private(rig)
    session = rig.session("persist").hello()
    before = rig.read("/etc/fstab")
    found = {}
    for name in names:
        answer = session.add(EVIL, f"/srv/private/{name}", "nofail")
        found[name] = told({key: answer.get(key) for key in ("code", "message", "detail", "warnings")}, name)
        rig.write("/etc/fstab", before)
    assert len(set(found.values())) == 1, found


def make_private(rig):
    """Create a private directory of root with one entry of each kind; return their names and ""."""
    rig.make("/srv/private", mode=0o700)
    rig.make("/srv/private/empty", "/srv/private/full/x")
    rig.write("/srv/private/file", "")
    rig.path("/srv/private/link").symlink_to("/nowhere")
    return ("empty", "full", "file", "link", "nothing", "nothing/below", "file/below", "empty/below")


def told(answer, name):
    """Return an answer without the requested path."""
    text = repr(sorted(answer.items()))
    for place in (f"/srv/private/{name}", f"/srv/private/{name.split('/')[0]}"):
        text = text.replace(place, "PLACE")
    return text


def test_the_owner_of_a_directory_of_mounts_is_not_its_maker(rig):
    """A directory of the caller below the roots must not lead to a mount of root."""
    rig.make("/srv/mine", uid=NOBODY)
    rig.path("/srv/mine/away").symlink_to("/root")
    session = rig.session("mount").hello()
    for place in ("/srv/mine/away", "/srv/mine/away/.ssh", "/srv/mine/x"):
        session.mount(EVIL, place)
    assert rig.mounts() == []
    assert everything(rig, "/root") == [".ssh"]


def test_a_link_of_root_s_is_no_place_to_declare(rig):
    """The boot would follow the link and mount the share over root's programs."""
    rig.make("/usr/local/sbin", "/srv/real")
    session = rig.session("persist").hello()
    for goal in ("/usr/local/sbin", "/nowhere", "/srv/real"):
        rig.path("/srv/tools").unlink(missing_ok=True)
        rig.path("/srv/tools").symlink_to(goal)
        session.add(EVIL, "/srv/tools", "nofail")
        session.write_unit(EVIL, "/srv/tools", "nofail")
        assert (rig.read("/etc/fstab"), rig.units()) == ("", {}), goal
    session.add(EVIL, "/srv/real", "nofail")
    assert EVIL in rig.read("/etc/fstab")


def test_a_disk_that_its_user_can_take_away_is_no_way_to_a_mount_point(rig):
    """The disk is mounted as by udisks: the user could insert another one with a link at the mount point."""
    rig.make("/media/nobody/disk")
    rig.run("mount", "-n", "-t", "tmpfs", "-o", "mode=755,nosuid,nodev", "/dev/loop7", "/media/nobody/disk")
    rig.make("/media/nobody/disk/x")
    session, persist = rig.session("mount").hello(), rig.session("persist").hello()
    for words in ("", "/dev/loop7 /media/nobody/disk ext4 users,noauto 0 0\n"):
        rig.write("/etc/fstab", words)
        session.mount(EVIL, "/media/nobody/disk/x", create=False)
        session.mount(EVIL, "/media/nobody/disk/new")
        persist.add(EVIL, "/media/nobody/disk/x", "nofail")
        persist.write_unit(EVIL, "/media/nobody/disk/x", "nofail")
        assert (rig.mounts(), rig.read("/etc/fstab"), rig.units()) == ([], words, {})
    # Only root can unmount a disk that root's fstab mounts there.
    rig.write("/etc/fstab", "/dev/loop7 /media/nobody/disk ext4 nosuid,nodev 0 2\n")
    session.mount(EVIL, "/media/nobody/disk/x", create=False)
    assert len(rig.mounts()) == 1
