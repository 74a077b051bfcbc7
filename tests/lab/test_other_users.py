"""Attacks on real NFS mounts of others through the helper: tests/attacks/test_mounts.py has more."""

from collections.abc import Callable
from typing import Any

import pytest
from other_users import ATTEMPTS, SWAPS

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What the attacks found."""
    return guest_job({"other-users": True})


def test_a_mount_of_another_user_is_that_user_s(found: dict[str, Any]) -> None:
    rows = found["another user's"]
    (before,) = rows["before"]
    assert "ro," in before
    assert {name for name, each in rows.items() if each != [before]} == {
        "after her remount", "after her unmount", *(name for name in rows if name.startswith("again ")),
    }  # fmt: skip
    (after,) = rows["after her remount"]
    assert "rw," in after
    assert all(each == [after] for name, each in rows.items() if name.startswith("again "))
    assert rows["after her unmount"] == []


def test_a_mount_of_root_is_root_s(found: dict[str, Any]) -> None:
    rows = found["root's"]
    assert len(rows["before"]) == 1
    assert all(each == rows["before"] for each in rows.values()), rows


def test_what_is_shared_with_a_mount_of_root_is_root_s(found: dict[str, Any]) -> None:
    shared = found["shared"]
    assert [device for device, _options in shared["own"]] == [device for device, _ in shared["before"]]
    assert "sync" in shared["before"][0][1].split(",")
    assert shared["codes"] == ["mount-not-yours", "mount-not-yours", None]
    assert (shared["after"], shared["own after"]) == (shared["before"], shared["own"])
    assert shared["unmount"] is None


def test_the_own_mount_is_at_the_user_s_disposal(found: dict[str, Any]) -> None:
    (row,) = found["own"]["remounted"]
    assert "rw," in row
    assert "noexec" not in row
    assert found["own"]["unmounted"] == []


@pytest.mark.parametrize("verb", ["unmount", "remount"])
def test_a_swapped_path_leads_to_no_mount_of_another(found: dict[str, Any], verb: str) -> None:
    race = found[f"swapped, {verb}"]
    assert len(race["before"]) == 1
    assert race["after"] == race["before"], race
    assert race["attempts"] >= ATTEMPTS
    assert race["swaps"] >= SWAPS
