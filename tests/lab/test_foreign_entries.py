"""Entries of other programs, and manual mounts, are saved unchanged by this program."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.lab


def unit(point: str, options: str, more: str = "", wanted: str = "WantedBy=multi-user.target") -> str:
    name = point.strip("/").replace("/", "-")
    mount = f"[Mount]\\nWhat=$S\\nWhere={point}\\nType=nfs\\nOptions={options}\\n"
    return f'printf "[Unit]\\n{more}{mount}[Install]\\n{wanted}\\n" > /etc/systemd/system/{name}.mount'


COMMANDS = {
    "unit": unit("/mnt/c", "vers=4.1,ro"),
    "common": "mw import --yes /mnt/c; grep /mnt/c /etc/fstab; grep /mnt/c /proc/mounts",
    "difficult": unit("/mnt/u", "vers=3,hard,futureopt=7,users", more="Requires=wg0.service\\n"),
    "named": "mw import --yes /mnt/u",
    "left out": "mw import --yes --reserved leave-out /mnt/u; grep /mnt/u /etc/fstab",
    "take out": "mw forget --yes /mnt/u",
    "kept": "mw import --yes --reserved keep /mnt/u; grep /mnt/u /etc/fstab",
    "map": 'printf "/net/team /etc/auto.team --timeout=60\\n" > /etc/auto.master; '
    'printf "docs -fstype=nfs4,ro $S\\n* $S/&\\n" > /etc/auto.team',
    "map to fstab": "mw import --yes /net/team/docs; grep docs /etc/fstab",
    "map out": "mw forget --yes /net/team/docs",
    "map to units": "mw import --yes --keep-in systemd /net/team/docs; "
    "cat /etc/systemd/system/net-team-docs.*",
    "many": "mw import --yes '/net/team/*'",
    "none": "mw import --yes /mnt/none",
    "live": "mkdir -p /mnt/l && mount -t nfs -o vers=3,ro,posix,acregmin=9 $S /mnt/l",
    "live saved": "mw persist --yes $S /mnt/l; grep /mnt/l /etc/fstab",
    "live 4.2": "mkdir -p /mnt/k && mount -t nfs -o vers=4.2,noexec,acregmin=9 $S /mnt/k",
    "live 4.2 saved": "mw persist --yes $S /mnt/k; grep /mnt/k /etc/fstab",
    "elsewhere": "mw persist --yes --dry-run other:/x /mnt/k2; mw persist --dry-run other:/x /mnt/k3",
}


@pytest.fixture(scope="module")
def said(answers_of: Callable[[dict[str, str]], dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    return answers_of(COMMANDS)


def test_the_commonest_unit_is_imported(said: dict[str, dict[str, Any]]) -> None:
    assert "/mnt/c nfs vers=4.1,ro,nofail,_netdev,nosuid,nodev 0 0" in said["common"]["out"].replace(
        "\t", " "
    )
    assert "systemd goes by that. Remove the unit." in said["common"]["out"]
    assert "nfs4 ro" not in said["common"]["out"]  # nothing was mounted


def test_what_cannot_be_written_is_named_with_a_choice(said: dict[str, dict[str, Any]]) -> None:
    assert not said["named"]["ok"]
    for word in ("“futureopt”", "“x-systemd.requires”", "--reserved leave-out", "--reserved keep"):
        assert word in said["named"]["err"]
    left = said["left out"]["out"]
    assert "“users” cannot be used here. It is left out." in left
    assert "vers=3,hard,nofail,_netdev,nosuid,nodev" in left
    assert "futureopt=7" not in left
    assert "futureopt=7" in said["kept"]["out"]
    assert "x-systemd.requires=wg0.service" in said["kept"]["out"]


def test_entries_of_autofs_are_imported(said: dict[str, dict[str, Any]]) -> None:
    saved = said["map to fstab"]["out"]
    assert "nfs4\tro,x-systemd.automount,x-systemd.idle-timeout=60" in saved
    assert "Take it out of the map." in saved
    units = said["map to units"]["out"]
    assert "TimeoutIdleSec=60" in units
    assert "Options=ro," in units
    assert "more than one mount" in said["many"]["err"]
    assert not said["none"]["ok"]


def test_a_live_mount_is_saved_with_what_it_has(said: dict[str, dict[str, Any]]) -> None:
    words = said["live saved"]["out"].splitlines()[-1].split()[3].split(",")
    assert {"vers=3", "ro", "posix", "acregmin=9", "_netdev", "nofail", "nosuid", "nodev"} <= set(words)
    assert "retry=0" not in words
    words = said["live 4.2 saved"]["out"].splitlines()[-1].split()[3].split(",")
    assert {"vers=4.2", "noexec", "acregmin=9", "_netdev", "nofail"} <= set(words)
    assert "_netdev,nofail" in said["elsewhere"]["out"]
