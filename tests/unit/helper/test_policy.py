"""Policy of mount points, checked by independent rules: which places are forbidden, and to whom.

The rules do not use the program's tables. They have a list of files that root runs or reads as configuration
on
real systems, and refuse every directory that contains one of them.
"""

import random
import re

import pytest

from app.helper import entry_permission, fstab_text, mount_permission, policy, unit_text, user_entries
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.fstab_verbs import FstabVerbs
from app.helper.options import load
from app.helper.unit_verbs import UnitVerbs

QUICK, LONG = 20_000, 1_000_000
CATALOGUE = load()
USER = Caller(1000, 1000, home="/home/ann")
ROOT = Caller(0, 0)
APPROVED = USER._replace(system=True)

#: Files that root runs or reads: programs, libraries, data and configuration.
PRECIOUS = re.findall(
    r"\S+",
    """
    /bin/sh /sbin/init /lib/systemd/systemd /lib64/ld-linux-x86-64.so.2 /lib32/libc.so.6
    /libx32/libc.so.6 /libexec/x /boot/grub/grub.cfg /efi/EFI/x /dev/sda
    /proc/sys/kernel/core_pattern /sys/kernel/uevent_helper /lost+found/x /etc/passwd /etc/cron.d/x
    /etc/mountwright/roots.conf /etc/systemd/system/x.service /usr/bin/sudo /usr/sbin/sshd
    /usr/lib/systemd/system/x.service /usr/lib64/x.so /usr/libexec/mountwright/x
    /usr/share/polkit-1/actions/x.policy /usr/share/dbus-1/system-services/x.service /usr/include/x
    /usr/src/x /usr/local/bin/x /usr/local/sbin/x /usr/local/lib/systemd/system/x.service
    /usr/local/lib64/x.so /usr/local/libexec/x /usr/local/etc/x
    /usr/local/share/polkit-1/actions/x.policy /usr/local/share/dbus-1/system-services/x.service
    /root/.ssh/authorized_keys /root/.bashrc /root/.config/autostart/x /run/systemd/system/x.service
    /run/user/1000/bus /run/dbus/system_bus_socket /run/mountwright/mounts/x /run/sudo/ts/x /tmp/x
    /var/tmp/x /var/run/x /var/lock/x /var/spool/cron/crontabs/root /var/spool/anacron/x
    /var/spool/at/x /var/spool/cron/root /var/lib/dpkg/info/x.postinst /var/lib/rpm/Packages
    /var/lib/pacman/local/x /var/lib/apt/lists/x /var/lib/polkit-1/localauthority/x
    /var/lib/systemd/linger/x /var/lib/snapd/seed/x /var/lib/flatpak/exports/x
    /var/lib/mountwright/fstab/x /var/lib/alternatives/x /var/lib/NetworkManager/x
    /var/lib/AccountsService/users/x /var/db/sudo/ts/x /var/cache/ldconfig/aux-cache
    /nix/store/x/bin/sh /gnu/store/x/bin/sh /snap/core/current/bin/sh /ostree/deploy/x
    /sysroot/ostree/x /var/lib/pam/x /var/spool/atjobs/x /usr/local/games/x /usr/local/lib32/x
    /var/lib/dbus/machine-id /var/lib/sudo/lectured/x
    """,
)
#: Directories that the administrator may cover as a whole.
LAID_OUT = {"/usr/local", "/usr/local/share"}
PARTS = [
    *sorted({part for path in PRECIOUS for part in path.split("/") if part}),
    "mnt", "media", "srv", "home", "opt", "data", "ann", "bob", "1000", "1001", "0", "01000", "x", "a b", "é",
    "Etc", "etcx", "www", "nas", "mountwright", "local", "share", "games", "sub", "mntx", "-o", "#x", "a,b",
]  # fmt: skip
LONGER = [*PRECIOUS, "/mnt/nas", "/srv/data", "/home/ann/nas", "/opt/x", "/data", "/run/mountwright/1000/x",
          "/run/mountwright/1001/x", "/var/www/html", "/var/lib/x", "/var/log/x"]  # fmt: skip


def some_path(chance):
    if chance.random() < 0.5:
        parts = chance.choice(LONGER).split("/")[1:]
        parts = parts[: chance.randint(1, len(parts))]
        if chance.random() < 0.4:
            parts += chance.choices(PARTS, k=chance.randint(1, 2))
    else:
        parts = chance.choices(PARTS, k=chance.randint(1, 4))
    return "/" if chance.random() < 0.002 else "/" + "/".join(parts)


def holds_something_precious(path):
    """Whether the path has, or is in a directory with, files that root runs or reads as configuration."""
    if path in LAID_OUT:
        return False
    below = path.rstrip("/") + "/"
    if any(file.startswith(below) or file == path for file in PRECIOUS):
        return True
    # A directory with such a file is refused as a whole, because new files in it are read, too.
    return bool(
        re.match(
            r"/(bin|boot|dev|efi|etc|gnu|lib(|32|64|x32|exec)|lost\+found|nix|ostree|proc|root|s?bin|snap"
            r"|sys|sysroot|tmp|run(?!/mountwright/(0|[1-9][0-9]*)/)|usr(?!/local(/|$))"
            r"|usr/local/(s?bin|etc|games|lib(|32|64|x32|exec))"
            r"|usr/local/share/(polkit-1|dbus-1)|var/(tmp|run|lock|db|cache/ldconfig|spool/(cron|at|atjobs|anacron))"
            r"|var/lib/(dpkg|rpm|pacman|apt|polkit-1|systemd|snapd|flatpak|mountwright|alternatives|NetworkManager"
            r"|AccountsService|dbus|pam|sudo))(/|$)",
            path,
        )
    )


def is_for_ordinary_users(path):
    return bool(re.match(r"/((mnt|media|srv)|run/mountwright/1000)/.", path))


@pytest.fixture(autouse=True)
def nothing_declared(monkeypatch, tmp_path):
    monkeypatch.setattr(policy.read_fstab, "__defaults__", (str(tmp_path / "none"),))
    monkeypatch.setattr(policy.read_roots, "__defaults__", (str(tmp_path / "none"),))
    monkeypatch.setattr(user_entries, "FOLDER", str(tmp_path / "none"))
    # The owners of the directories above are not tested here, as few of them exist on this machine.
    monkeypatch.setattr(entry_permission.safe_path, "check_ancestors", lambda _caller, _path, mounted: None)
    monkeypatch.setattr(entry_permission.mountinfo, "read", list)


class Writer:
    """Writer that accepts every request."""

    def add(self, _args, _waiter):
        return {"line": "", "backup": "", "warnings": []}

    change = remove = restore = write = add


def is_accepted(check, *args):
    code = ""
    try:
        check(*args)
    except Refusal as refusal:
        code = refusal.code
    assert code in {"", "mount-point-system", "mount-point-restricted"}
    return not code


def judge(path, declare):
    mounts = {
        caller: is_accepted(mount_permission.permit_mount, caller, "evil:/x", path) for caller in declare
    }
    args = {"share": "evil:/x", "target": path, "old_share": "nas:/y", "old_target": "/mnt/y"}
    for caller, verbs in declare.items():
        assert {is_accepted(verb, args, None) for verb in verbs} == {mounts[caller]}, path
    assert mounts[ROOT] == mounts[APPROVED] or path.startswith("/run/mountwright/"), path
    assert not (mounts[USER] and not mounts[APPROVED]), path
    if holds_something_precious(path):
        assert not any(mounts.values()), path
    assert mounts[USER] == is_for_ordinary_users(path), path
    return mounts[APPROVED]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("count", [QUICK, pytest.param(LONG, marks=pytest.mark.long)])
def test_no_place_outside_the_judge_s_is_accepted(count, monkeypatch):
    monkeypatch.setattr(user_entries, "add", lambda *_args: None)
    chance = random.Random(9)
    declare = {}
    for caller in (USER, APPROVED, ROOT):
        entries, units = FstabVerbs(caller, Writer()), UnitVerbs(caller, Writer())
        declare[caller] = (entries.add, entries.change, units.write)
    accepted = 0
    seen = set()
    for _ in range(count):
        path = some_path(chance)
        if path not in seen:
            seen.add(path)
            accepted += judge(path, declare)
    assert len(seen) > QUICK / 4
    assert accepted > len(seen) / 20


@pytest.mark.parametrize("path", PRECIOUS)
def test_neither_fstab_nor_a_unit_ever_covers_what_root_obeys(path):
    """The text functions refuse it for every caller, because a preview uses them without a policy check."""
    while path != "/":
        if path not in LAID_OUT:
            wanted = fstab_text.NewEntry("evil:/x", path, "nfs", ())
            with pytest.raises(Refusal, match="directory of the system"):
                fstab_text.apply(b"", fstab_text.EntryEdit(None, wanted), CATALOGUE)
            with pytest.raises(Refusal, match="directory of the system"):
                unit_text.build(unit_text.NewUnits("evil:/x", path, (), False), CATALOGUE)
        path = path.rpartition("/")[0] or "/"
