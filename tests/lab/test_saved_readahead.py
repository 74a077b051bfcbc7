"""A readahead that is saved is back whenever the share is mounted, on a real mount and with a real udevd."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from app.lab.udev import find_udevadm

pytestmark = pytest.mark.lab

#: Other read sizes: else the kernel lets them share one superblock, which has one readahead.
POINTS = {
    "/mnt/three": ["vers=3,rsize=65536,nosuid,nodev", 776],
    "/mnt/four": ["vers=4.2,rsize=65536,nosuid,nodev", 1024],
    "/mnt/other": ["vers=4.2,rsize=32768,nosuid,nodev", 0],
    "/mnt/with space \"quoted\" 'too' $x %k \\ Bücher 字": ["vers=4.2,rsize=16384,nosuid,nodev", 4096],
}
FIRST = "/mnt/three"


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    if find_udevadm() is None:
        assert os.environ.get("CI") != "true", "the package udev was not unpacked"
        pytest.skip("udevd is not here: ./test unpacks the package udev for the lab on Debian")
    return guest_job({"saved-readahead": {"points": POINTS}})


def every(state: str, kb: int | None = None) -> dict[str, list[Any]]:
    return {point: [one if kb is None else kb, state] for point, (_options, one) in POINTS.items()}


def test_until_it_is_saved_that_is_said(found: dict[str, Any]) -> None:
    assert found["applied"] == every("until-unmounted") | {FIRST: [776, "saved"]}
    assert found["steps"] == [["save"]] * 3
    assert 'ATTR{read_ahead_kb}="1024"' in found["preview"]
    assert '# Mount point: "/mnt/four"' in found["preview"]


def test_it_is_back_after_each_mount(found: dict[str, Any]) -> None:
    assert found["saved"] == every("saved")
    assert found["again"] == [every("saved"), every("saved")]


def test_it_is_the_kernel_s_own_again_once_it_is_forgotten(found: dict[str, Any]) -> None:
    assert '-# Mount point: "/mnt/three"' in found["dry run"]
    assert all("The saved readahead is removed" in text for text in found["forgotten"])
    assert found["left"] == []
    assert found["forgotten, live"] == every("until-unmounted")
    assert found["removed"] == every("default", 128)
