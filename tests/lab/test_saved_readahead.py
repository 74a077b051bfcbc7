"""A saved readahead is set at each mount, with a real mount and a real udevd."""

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
}
#: Beside these in the long version. tests/unit/helper/test_readahead_rule.py has the names of mount points.
MORE = {
    "/mnt/other": ["vers=4.2,rsize=32768,nosuid,nodev", 0],
    "/mnt/with space \"quoted\" 'too' $x %k \\ Bücher 字": ["vers=4.2,rsize=16384,nosuid,nodev", 4096],
}
FIRST = "/mnt/three"


Found = tuple[dict[str, list[Any]], int, dict[str, Any]]


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]], request: pytest.FixtureRequest) -> Found:
    """The mounts, how often they were mounted again, and what came of it."""
    if find_udevadm() is None:
        assert os.environ.get("CI") != "true", "the package udev was not unpacked"
        pytest.skip("udevd is not here: ./test unpacks the package udev for the lab on Debian")
    points, times = (POINTS | MORE, 2) if request.config.getoption("--long") else (POINTS, 1)
    return points, times, guest_job({"saved-readahead": {"points": points, "times": times}})


def every(points: dict[str, list[Any]], state: str, kb: int | None = None) -> dict[str, list[Any]]:
    return {point: [one if kb is None else kb, state] for point, (_options, one) in points.items()}


def test_until_it_is_saved_that_is_said(found: Found) -> None:
    points, _times, told = found
    assert told["applied"] == every(points, "until-unmounted") | {FIRST: [776, "saved"]}
    assert told["steps"] == [["save"]] * (len(points) - 1)
    assert 'ATTR{read_ahead_kb}="1024"' in told["preview"]
    assert '# Mount point: "/mnt/four"' in told["preview"]


def test_it_is_back_after_each_mount(found: Found) -> None:
    points, times, told = found
    assert told["saved"] == every(points, "saved")
    assert told["again"] == [every(points, "saved")] * times


def test_it_is_the_kernel_s_own_again_once_it_is_forgotten(found: Found) -> None:
    points, _times, told = found
    assert '-# Mount point: "/mnt/three"' in told["dry run"]
    assert all("Removed the saved readahead" in text for text in told["forgotten"])
    assert told["left"] == []
    assert told["forgotten, live"] == every(points, "until-unmounted")
    assert told["removed"] == every(points, "default", 128)
