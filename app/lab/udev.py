"""udev in the guest: applies saved readahead values, as on a real computer.

The rules of the host are not used. Without udev on the host, the guest runs without it.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

from app.helper import readahead_rule
from app.lab import syscalls
from app.process import find_program, start

#: Directory into which ``packaging/system_packages.py`` unpacks udev for the tests.
_UNPACKED = Path(__file__).parents[2] / ".cache" / "lab" / "udev"
#: Directory of packaging files, which exists only in a checkout; a package has installed its contents.
_PACKAGING = Path(__file__).parents[2] / "packaging"
_RULES = Path("/usr/lib/udev/rules.d")
_CONTROL = Path("/run/udev/control")
#: udevadm acts as udevd when it is called by this name (systemd, src/udev/udevadm.c).
_DAEMON = Path("/run/systemd-udevd")
#: Time for udevd to start, s.
_DEADLINE_S = 30.0


def find_udevadm() -> Path | None:
    """Return the path of udevadm, from the system or unpacked; None if it is missing."""
    found = find_program("udevadm")
    places = [Path(found)] if found is not None else []
    places += [_UNPACKED / "usr/bin/udevadm", _UNPACKED / "bin/udevadm"]
    return next((path for path in places if path.exists()), None)


def start_udev() -> bool:
    """Install the readahead program called by the rules and start udevd; return whether it started."""
    udevadm = find_udevadm()
    installed = Path(readahead_rule.PROGRAM)
    program = _PACKAGING / installed.name
    if udevadm is None or not (program.exists() or installed.exists()):
        return False
    for directory in (_RULES, Path(readahead_rule.FOLDER)):
        directory.mkdir(parents=True, exist_ok=True)
        syscalls.mount("tmpfs", str(directory), "tmpfs", data="mode=755,size=1m")
    if program.exists():
        installed.parent.mkdir(parents=True, exist_ok=True)
        installed.unlink(missing_ok=True)
        shutil.copy(program, installed)
        installed.chmod(0o755)
    if find_program("udevadm") is None:
        Path("/usr/bin/udevadm").symlink_to(udevadm)
    _DAEMON.symlink_to(udevadm)
    null = os.open(os.devnull, os.O_RDWR)
    daemon = start([str(_DAEMON)], stdin=null, stdout=null, stderr=null)
    os.close(null)
    end = time.monotonic() + _DEADLINE_S
    while not _CONTROL.exists() and daemon.poll() is None and time.monotonic() < end:
        threading.Event().wait(0.02)
    return _CONTROL.exists()
