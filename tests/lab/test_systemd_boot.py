"""A computer with a dead server in its fstab, or in units of ours, boots, and nobody waits for the mount.

A real systemd boots a guest. What counts is the moment at which logins are let in, after remote-fs.target: an
entry with nofail is still being mounted then, one on demand was not tried, and one that the computer is to
have waits no longer than its timeout.
"""

from collections.abc import Callable
from typing import Any

import pytest
from systemd_boot import SYSTEMD

from advisor.dialects.entry import set_mount_time
from advisor.options import MountOptions
from app.mounts.entry_options import DEFAULT_OPTIONS

#: In fstab and in units of systemd.
STEMS = ("mnt-fstab", "mnt-unit")
Boot = Callable[[str, Any], dict[str, Any]]


@pytest.fixture(scope="module")
def boot(guest_job: Callable[..., dict[str, Any]]) -> Boot:
    """Boots with both kinds of entry; returns what systemd says when logins are let in."""
    if not SYSTEMD.exists():
        pytest.skip("systemd is not installed")

    def do(words: str, when: Any) -> dict[str, Any]:
        made = MountOptions.parse(words)
        set_mount_time(made, when)
        found = guest_job(
            {"systemd-boot": {"entries": {"/mnt/fstab": str(made)}, "units": {"/mnt/unit": str(made)}}}
        )
        print(found)  # for those who look (-rP)
        assert found["mounted"] == [] or when == "on-demand"
        assert found["units"]["local-fs.target"]["ActiveState"] == "active"
        return found

    return do


def test_nobody_waits_for_the_entry_that_is_written_by_default(boot: Boot) -> None:
    units = boot(DEFAULT_OPTIONS, "start-up")["units"]
    assert units["remote-fs.target"]["ActiveState"] == "active"
    for stem in STEMS:
        said = units[f"{stem}.mount"]
        # Begun, and not over when remote-fs.target was there: on a slow machine it may be over by now.
        assert said["InactiveExitTimestampMonotonic"] != "0"
        assert said["ActiveEnterTimestampMonotonic"] == "0"
        if said["ActiveState"] != "activating":
            over = int(said["InactiveEnterTimestampMonotonic"])
            assert over > int(units["remote-fs.target"]["ActiveEnterTimestampMonotonic"])
        assert "remote-fs.target" not in said["Before"] + said["RequiredBy"]
        assert "local-fs.target" not in said["Before"] + said["RequiredBy"] + said["WantedBy"]
        assert "network-online.target" in said["After"]


def test_on_demand_the_server_is_not_asked_at_all(boot: Boot) -> None:
    units = boot(DEFAULT_OPTIONS, "on-demand")["units"]
    assert units["remote-fs.target"]["ActiveState"] == "active"
    for stem in STEMS:
        assert units[f"{stem}.automount"]["SubState"] == "waiting"
        assert units[f"{stem}.mount"]["ActiveState"] == "inactive"
        assert units[f"{stem}.mount"]["InactiveExitTimestampMonotonic"] == "0"


def test_one_that_the_computer_is_to_have_is_waited_for_as_long_as_its_timeout(boot: Boot) -> None:
    units = boot("_netdev,x-systemd.mount-timeout=5s", "start-up")["units"]
    for stem in STEMS:
        said = units[f"{stem}.mount"]
        assert said["TimeoutUSec"] == "5s"
        assert (said["ActiveState"], said["Result"]) == ("failed", "timeout")
        assert "remote-fs.target" in said["RequiredBy"]
