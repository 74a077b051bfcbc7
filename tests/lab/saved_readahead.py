"""A job in a guest of its own, with the installed helper and a real udevd: a saved readahead comes back.

Only rules of nfs-utils and of this program are there: what else the host has is no part of this.
"""

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from app.helper import readahead_rule
from app.lab import syscalls
from app.lab.server import SHARE
from app.mounts.table import read_table
from app.privileged import HelperClient
from app.process import find_program, run, start
from app.tasks import CancelToken

ROOT = Path(__file__).absolute().parents[2]
_RULES = Path("/usr/lib/udev/rules.d")
_PATIENCE_S = 60.0


def carry_out(udevadm: str, points: dict[str, list[Any]]) -> dict[str, Any]:
    """Save the readahead of each mount, unmount all, mount all, remove the rules, and mount all again.

    Args:
        udevadm: the program, which is udevd too by another name.
        points: mount point to options and readahead.
    """
    program(sys.executable, str(ROOT / "packaging" / "install_helper.py"))
    _start_udevd(udevadm)
    helper = HelperClient("tune")
    answer: dict[str, Any] = {}
    mount_all(points)
    answer["at first"] = read_aheads()
    for point, (_options, kb) in points.items():
        wire = {"target": point, "read_ahead_kb": kb, "sha256": ""}
        answer.setdefault("saved", []).append(helper.call("readahead-save", wire, CancelToken(), 30.0))
    answer["live"] = read_aheads()
    for _ in range(2):
        unmount_all(points)
        mount_all(points)
        answer.setdefault("again", []).append(read_aheads())
    for point in points:
        file = Path(readahead_rule.FOLDER, readahead_rule.name(point))
        sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
        helper.call("readahead-remove", {"target": point, "sha256": sha256}, CancelToken(), 30.0)
    unmount_all(points)
    mount_all(points)
    answer["removed"] = read_aheads()
    answer["left"] = sorted(path.name for path in Path(readahead_rule.FOLDER).iterdir())
    helper.close()
    return answer


def _start_udevd(udevadm: str) -> None:
    kept = [path.read_bytes() for path in _RULES.glob("99-nfs.rules")]
    _RULES.mkdir(parents=True, exist_ok=True)
    syscalls.mount("tmpfs", str(_RULES), "tmpfs", data="mode=755")
    for text in kept:
        (_RULES / "99-nfs.rules").write_bytes(text)
    folder = Path(readahead_rule.FOLDER)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not os.path.lexists("/usr/bin/udevadm"):
        Path("/usr/bin/udevadm").symlink_to(udevadm)
    Path("/run/systemd-udevd").symlink_to(udevadm)
    log = os.open("/run/udevd.log", os.O_WRONLY | os.O_CREAT)
    daemon = start(["/run/systemd-udevd", "--debug"], stdout=log, stderr=log)
    deadline = time.monotonic() + _PATIENCE_S
    while not Path("/run/udev/control").exists():
        assert daemon.poll() is None, Path("/run/udevd.log").read_text()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def mount_all(points: dict[str, list[Any]]) -> None:
    for point, (options, _kb) in points.items():
        Path(point).mkdir(parents=True, exist_ok=True)
        program("mount", "-t", "nfs", "-o", options, SHARE, point)


def unmount_all(points: dict[str, list[Any]]) -> None:
    for point in points:
        program("umount", point)


def read_aheads() -> dict[str, int | None]:
    """Return mount point to readahead, once udev has done its part."""
    program("udevadm", "settle", "--timeout=60")
    return {
        mount.mount_point: mount.active.read_ahead_kb
        for mount in read_table().mounts
        if mount.active is not None
    }


def program(name: str, *words: str) -> None:
    path = name if name.startswith("/") else find_program(name)
    assert path is not None, name
    outcome = run([path, *words], timeout=_PATIENCE_S)
    assert outcome.ok, outcome.stderr
