"""Requested options of a mount, from mountinfo, utab, the program's record, the entry and nfsmount.conf."""

from typing import Any

import msgspec
import pytest

from advisor.nfsmount_conf import parse_conf
from advisor.options import MountOptions
from app.mounts.model import Active, Configured, ConfiguredBy, Mount
from app.mounts.option_changes import option_changes
from app.mounts.option_comparison import configuration_differences
from app.mounts.requested_options import command_options, live_options, with_requested_options

#: Superblock options as Linux 6.12 shows them.
V42 = (
    "rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,"
    "clientaddr=10.9.0.2,local_lock=none,addr=10.9.0.1"
)
V3 = (
    "rw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,"
    "mountaddr=10.9.0.1,mountvers=3,mountport=51370,mountproto=udp,local_lock=none,addr=10.9.0.1"
)


def row(
    options: str | None,
    recorded: str | None = None,
    entry: str | None = None,
    *,
    nconnect: int = 1,
    settings: str = "",
    keeper: ConfiguredBy = "fstab",
    **configured: Any,
) -> Mount:
    """Return a mount with these options in use (None: not mounted) and this entry (None: saved nowhere)."""
    live = None
    if options is not None:
        live = Active(
            mount_id=1, device="0:1", share="nas:/a", fstype="nfs4", options=options, recorded=recorded,
            nconnect=nconnect,
        )  # fmt: skip
    kept = None
    if entry is not None:
        kept = Configured(
            origin="/etc/fstab", line=1, share="nas:/a", fstype="nfs", options=entry, keeper=keeper
        )
        kept = msgspec.structs.replace(kept, **configured)
    sentences = configuration_differences(kept, live) if kept is not None and live is not None else []
    state = "not-mounted" if live is None else "differs" if sentences else "mounted"
    mount = Mount(
        mount_point="/mnt/a", share="nas:/a", state=state, configured=kept, active=live, differences=sentences
    )
    return with_requested_options(mount, tuple(parse_conf(settings, "/etc/nfsmount.conf")))


@pytest.mark.parametrize(
    ("options", "recorded", "requested"),
    [
        # libmount writes none of the flags to utab: mountinfo has them.
        ("ro,noexec,relatime," + V42[3:], "vers=4.2,acregmin=9", "vers=4.2,acregmin=9,ro,noexec"),
        ("rw,sync,noatime,nodiratime," + V3[3:], "vers=3", "vers=3,sync,noatime,nodiratime"),
        ("rw,nosymfollow," + V3[3:], "vers=3", "vers=3,nosymfollow,strictatime"),
        # noac implies synchronous writes.
        ("rw,relatime,sync,noac," + V3[3:], "vers=3,noac", "vers=3,noac"),
        # A remount does not change the record.
        ("rw,relatime," + V42[3:], "vers=4.2,ro,noexec", "vers=4.2"),
        ("ro,relatime," + V42[3:], "rw,vers=4.2", "ro,vers=4.2"),
        # Options that this program adds are not requested; another value of retry is.
        ("rw,nosuid,nodev,relatime," + V42[3:], "vers=4.2,retry=0", "vers=4.2"),
        ("rw,nosuid,nodev,relatime," + V42[3:], "vers=4.2,nosuid,nodev", "vers=4.2"),
        ("rw,relatime," + V42[3:], "vers=4.2,retry=5", "vers=4.2,retry=5"),
        # mount.nfs records the derived version in addition to “vers=4,minorversion=1”.
        ("rw,relatime," + V42[3:], "vers=4,soft,vers=4.2", "soft,vers=4.2"),
        ("rw,relatime," + V42[3:], "nfsvers=4,minorversion=2,vers=4.2,a=1,a=2",
         "minorversion=2,vers=4.2,a=1,a=2"),
        # Without a saved entry, fstab-only options have no meaning.
        ("rw,relatime," + V42[3:], "vers=4.2,_netdev,nofail,x-gvfs-show", "vers=4.2"),
    ],
)  # fmt: skip
def test_a_live_mount(options: str, recorded: str, requested: str) -> None:
    mount = row(options, recorded)
    assert mount.requested == requested
    assert option_changes(mount, MountOptions.parse(requested), None) == []


def test_options_in_use_replace_a_missing_record() -> None:
    text = "ro,noexec,relatime,seclabel,vers=4.2,rsize=262144,namlen=255,soft,proto=tcp,timeo=50,retrans=2"
    assert (
        row(f"{text},addr=::1", nconnect=4).requested
        == "ro,noexec,vers=4.2,rsize=262144,soft,timeo=50,nconnect=4"
    )


@pytest.mark.parametrize(
    ("entry", "recorded", "options", "requested"),
    [
        # A mount made from its entry: the text of the entry, without the negotiated version.
        ("_netdev,nofail", "vers=4.2", "rw,relatime,", "_netdev,nofail"),
        ("nofail,bg,retry=0,soft", "soft,bg,retry=0,vers=4.2", "rw,relatime,", "nofail,bg,retry=0,soft"),
        ("noexec,ro,nofail,nosuid,nodev", "vers=4.2", "ro,noexec,relatime,", "noexec,ro,nofail"),
        ("user,nofail", "vers=4.2,user", "rw,nosuid,nodev,noexec,relatime,", "user,nofail"),
        # In the middle of the options, a person wrote them.
        ("nosuid,nodev,nofail", "vers=4.2", "rw,nosuid,nodev,relatime,", "nosuid,nodev,nofail"),
        # Mounted with other options: the options in use, and those for the boot.
        ("noauto,bg,retry=7,timeo=50,x-gvfs-show", "vers=4.2,retry=0", "ro,relatime,",
         "vers=4.2,ro,bg,retry=7,noauto,x-gvfs-show"),
        # No record, and the mount agrees with its entry.
        ("hard,nofail", None, "rw,noatime,", "hard,nofail,noatime"),
    ],
)  # fmt: skip
def test_a_mount_with_an_entry(entry: str, recorded: str | None, options: str, requested: str) -> None:
    live = V42[3:].replace("hard", "soft") if "soft" in entry else V42[3:]
    mount = row(options + live, recorded, entry)
    options_now = MountOptions.parse(mount.requested)
    assert sorted(options_now) == sorted(MountOptions.parse(requested))
    assert option_changes(mount, options_now, None) == []


def test_an_entry_alone() -> None:
    assert row(None, entry="vers=4.2,wat,nofail,nosuid,nodev").requested == "vers=4.2,wat,nofail"
    unit = row(None, entry="vers=4.2,nosuid,nodev,noauto", keeper="unit", ours=True)
    assert unit.requested == "vers=4.2,noauto"
    theirs = row(None, entry="vers=4.2,nosuid,nodev,noauto", keeper="unit", ours=False)
    assert theirs.requested == "vers=4.2,nosuid,nodev,noauto"


def test_additions_of_nfsmount_conf_are_listed_and_not_requested() -> None:
    conf = "[ NFSMount_Global_Options ]\nSoft=True\nTimeo=50\n"
    conf += '[ Server "nas" ]\nacregmin=9\n[ Server "other" ]\nrsize=8k\n'
    live = "rw,relatime," + V42[3:].replace("hard", "acregmin=9,soft").replace("timeo=600", "timeo=50")
    mount = row(live, "vers=4.2,soft,timeo=50,acregmin=9", settings=conf)
    assert mount.requested == "vers=4.2"
    assert [(one.item, one.section, one.line) for one in mount.added] == [
        ("acregmin=9", 'Server "nas"', 5), ("soft", "NFSMount_Global_Options", 2),
        ("timeo=50", "NFSMount_Global_Options", 3),
    ]  # fmt: skip
    # Options in the entry itself are retained.
    mount = row(live, "soft,vers=4.2,timeo=50,acregmin=9", "soft,nofail", settings=conf)
    assert mount.requested == "soft,nofail"
    # The file was changed after the mount, so it added nothing.
    mount = row("rw,relatime," + V42[3:], "vers=4.2", settings="[ NFSMount_Global_Options ]\nSoft=True\n")
    assert (mount.requested, mount.added) == ("vers=4.2", [])


@pytest.mark.parametrize(
    ("mount", "after"),
    [
        (row("rw,relatime," + V42[3:], "vers=4.2"), "gone"),
        (row(None, entry="nofail"), "mounted"),
        (row(None, entry="noauto"), "by-hand"),
        (row(None, entry="x-systemd.automount,noauto"), "on-demand"),
        (row(None, entry="", keeper="autofs", automount=True), "on-demand"),
    ],
)
def test_what_becomes_of_it_at_the_next_boot(mount: Mount, after: str) -> None:
    assert mount.after_boot == after


def test_the_words_of_the_command_that_makes_it_again() -> None:
    mount = row("ro,nosuid,nodev,relatime," + V42[3:], "vers=4.2,retry=0", "bg,nofail,timeo=5")
    assert str(live_options(mount)) == "vers=4.2,ro"
    assert str(command_options(mount)) == "vers=4.2,ro,nosuid,nodev"
