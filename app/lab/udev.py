"""udev in the guest: it sets what is saved of readaheads, as on a real computer.

None of the rules of the person's computer are taken. Where udev is missing, the guest does without.
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

#: Where ``packaging/system_packages.py`` unpacks udev for the tests.
_UNPACKED = Path(__file__).parents[2] / ".cache" / "lab" / "udev"
#: Only a checkout has it; a package has installed what is in it.
_PACKAGING = Path(__file__).parents[2] / "packaging"
_RULES = Path("/usr/lib/udev/rules.d")
_CONTROL = Path("/run/udev/control")
#: udevadm is udevd by this name (systemd, src/udev/udevadm.c).
_DAEMON = Path("/run/systemd-udevd")
_DEADLINE_S = 30.0


def find_udevadm() -> Path | None:
    """Return udevadm, of the system or unpacked; None if there is none."""
    found = find_program("udevadm")
    places = [Path(found)] if found is not None else []
    places += [_UNPACKED / "usr/bin/udevadm", _UNPACKED / "bin/udevadm"]
    return next((path for path in places if path.exists()), None)


def start_udev() -> bool:
    """Start udevd with the program of the rules installed; return whether it works."""
    udevadm = find_udevadm()
    installed = Path(readahead_rule.PROGRAM)
    program = _PACKAGING / installed.name
    if udevadm is None or not (program.exists() or installed.exists()):
        return False
    for folder in (_RULES, Path(readahead_rule.FOLDER)):
        folder.mkdir(parents=True, exist_ok=True)
        syscalls.mount("tmpfs", str(folder), "tmpfs", data="mode=755,size=1m")
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
