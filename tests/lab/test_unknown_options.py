"""What this program does not know stays as root wrote it, and units go again: as root, in a guest."""

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.lab

ENTRY = "server:/export /mnt/f nfs4 futureopt=7,vers=4.1,comment=hi 1 2 # tail"
#: Each by itself. ``posix`` is not given to every user, and stands for an option of a kernel that is newer
#: than the catalogue.
COMMANDS = {
    "write": f"mkdir -p /mnt/f && echo '{ENTRY}' >> /etc/fstab",
    "lint": "mw lint --no-facts /etc/fstab",
    "apply": "mw apply -o futureopt=7,vers=4.1,comment=hi,rsize=65536 --keep-in fstab "
    "--busy next-boot server:/export /mnt/f",
    "after apply": "grep /mnt/f /etc/fstab",
    "persist": "mw persist --yes other:/export2 /mnt/f",
    "after persist": "grep /mnt/f /etc/fstab",
    "forget entry": "mw forget --yes /mnt/f; grep /mnt/f /etc/fstab",
    "typo": "mw mount -o vers=4.2,nosuchoption=1 $S /mnt/typo",
    "foreign": "mkdir -p /mnt/live && mount -t nfs -o vers=3,posix,acregmin=9 $S /mnt/live",
    "change": "mw apply -o vers=3,posix,acregmin=8,futureopt=7 --preview $S /mnt/live",
    "live": "mw apply -o vers=3,posix,acregmin=8 --yes $S /mnt/live; grep /mnt/live /proc/mounts",
    "units": "mw apply -o vers=3,nofail --keep-in systemd $S /mnt/d && ls /etc/systemd/system",
    "shown": "mw forget --dry-run /mnt/d",
    "forgotten": "mw forget --yes /mnt/d; ls -R /etc/systemd/system | grep mnt-d; grep /mnt/d /proc/mounts",
    "again": "mw forget --yes /mnt/d",
    "on demand": "mw apply -o vers=4.2,x-systemd.automount,x-systemd.idle-timeout=60 --keep-in systemd "
    "--busy next-boot $S /mnt/e && ls /etc/systemd/system",
    "on demand, forgotten": "mw forget --yes /mnt/e",
    "rest": "ls -R /etc/systemd/system",
}


@pytest.fixture(scope="module")
def said(answers_of: Callable[[dict[str, str]], dict[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    return answers_of(COMMANDS)


def test_an_option_that_nobody_knows_is_a_warning(said: dict[str, dict[str, Any]]) -> None:
    assert "warning" in said["lint"]["out"]
    assert "“futureopt” is not known to this program" in said["lint"]["out"]
    assert said["lint"]["ok"]


def test_it_stays_in_the_entry_word_by_word(said: dict[str, dict[str, Any]]) -> None:
    assert said["apply"]["ok"], said["apply"]["err"]
    line = said["after apply"]["out"].strip()
    assert line.startswith("server:/export /mnt/f nfs")
    assert " futureopt=7,vers=4.1,comment=hi,rsize=65536 " in line
    assert line.endswith(" 1 2 # tail")
    assert said["persist"]["ok"], said["persist"]["err"]
    assert "other:/export2 /mnt/f " in said["after persist"]["out"]
    assert "futureopt=7,vers=4.1,comment=hi" in said["after persist"]["out"]
    assert said["forget entry"]["out"].count("/mnt/f") == 0


def test_root_may_ask_the_kernel_for_it(said: dict[str, dict[str, Any]]) -> None:
    assert not said["typo"]["ok"]
    assert "The kernel refused the options" in said["typo"]["err"]
    assert "“nosuchoption”" in said["typo"]["err"]


def test_a_live_mount_keeps_a_word_that_no_user_may_give(said: dict[str, dict[str, Any]]) -> None:
    assert said["foreign"]["ok"], said["foreign"]["err"]
    assert said["change"]["ok"], said["change"]["err"]
    assert "futureopt=7" in said["change"]["out"]
    assert said["live"]["ok"], said["live"]["err"]
    assert ",posix" in said["live"]["out"]
    assert "acregmin=8" in said["live"]["out"]


def test_units_are_taken_out_again(said: dict[str, dict[str, Any]]) -> None:
    assert "mnt-d.mount" in said["units"]["out"], said["units"]["err"]
    assert "-Options=vers=3,nofail,_netdev,nosuid,nodev" in said["shown"]["out"]
    # It stays mounted, and nothing of its unit is left.
    assert "mnt-d.mount" not in said["forgotten"]["out"]
    assert ":/export /mnt/d nfs" in said["forgotten"]["out"]
    assert "Removed the saved mount" in said["forgotten"]["out"]
    assert not said["again"]["ok"]
    assert "mnt-e.automount" in said["on demand"]["out"]
    assert said["on demand, forgotten"]["ok"], said["on demand, forgotten"]["err"]
    assert "mnt-" not in said["rest"]["out"]
