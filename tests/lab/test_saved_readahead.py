"""A readahead that is saved is back whenever the share is mounted, on a real mount and with a real udevd."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.helper import readahead_rule

pytestmark = pytest.mark.lab

#: Where packaging/system_packages.py unpacks udev.
UNPACKED = Path(readahead_rule.__file__).parents[2] / ".cache" / "lab" / "udev"
#: Other read sizes: else the kernel lets them share one superblock, which has one readahead.
POINTS = {
    "/mnt/three": ["vers=3,rsize=65536", 776],
    "/mnt/four": ["vers=4.2,rsize=65536", 1024],
    "/mnt/other": ["vers=4.2,rsize=32768", 0],
    "/mnt/with space \"quoted\" 'too' $x %k \\ Bücher 字": ["vers=4.2,rsize=16384", 4096],
}


@pytest.fixture(scope="module")
def udevadm() -> str:
    unpacked = [path for path in (UNPACKED / "usr/bin/udevadm", UNPACKED / "bin/udevadm") if path.exists()]
    path = shutil.which("udevadm", path="/usr/bin:/bin:/sbin") or (str(unpacked[0]) if unpacked else "")
    assert path or os.environ.get("CI") != "true", "the package udev was not unpacked"
    return path or pytest.skip("udevd is not here: ./test unpacks the package udev for the lab on Debian")


@pytest.fixture(scope="module")
def found(guest_job: Callable[[dict[str, Any]], dict[str, Any]], udevadm: str) -> dict[str, Any]:
    return guest_job({"saved-readahead": {"udevadm": udevadm, "points": POINTS}})


WANTED = {point: kb for point, (_options, kb) in POINTS.items()}
DEFAULT = dict.fromkeys(POINTS, 128)


def test_it_is_back_after_each_mount(found: dict[str, Any]) -> None:
    assert found["at first"] == DEFAULT
    assert found["live"] == DEFAULT
    assert found["again"] == [WANTED, WANTED]
    assert all(answer["warnings"] == [] for answer in found["saved"])


def test_it_is_the_kernel_s_own_again_once_it_is_removed(found: dict[str, Any]) -> None:
    assert found["removed"] == DEFAULT
    assert found["left"] == []
