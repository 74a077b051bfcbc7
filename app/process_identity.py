"""Process identity: which process on which machine made something, also when its number is used again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

#: Indices of the flags and the start time after the process name; its state is 0.
_STAT_FLAGS, _STAT_START = 6, 19
#: PF_EXITING of the kernel's include/linux/sched.h.
_EXITING = 0x4


def host_name() -> str:
    """Return what tells this machine, and last its set of process numbers, from others."""
    # Two containers may share name and machine id; their process numbers then mean nothing to each other.
    # Each has a /proc of its own. A worker in a private mount has the one of its host, and with it the
    # host's numbers, whatever set of process numbers it is in itself.
    machine = _read_line("/etc/machine-id")
    try:
        numbers = Path("/proc").stat().st_dev
    except OSError:
        numbers = 0
    return f"{os.uname().nodename} {machine} {numbers}"


def host_hash() -> str:
    """Return what tells this machine, and its set of process numbers, from others."""
    return hashlib.sha256(host_name().encode(errors="replace")).hexdigest()[:8]


def proc_pid() -> int:
    """Return the number of this process as /proc has it."""
    try:
        return int(Path("/proc/self").readlink().name)
    except OSError:
        return os.getpid()


def boot_id() -> str:
    """Return the kernel's identity of this boot (random(4)), "" where it has none."""
    return _read_line("/proc/sys/kernel/random/boot_id")


def _read_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """Return when a process began, or None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return began(text)


def began(stat: str) -> int | None:
    """Return field 22 of /proc/PID/stat (proc(5)): when the process began; None of one that makes no more.

    A killed worker whose server is away stays for a while, as what it wrote is sent when its file is closed.
    """
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    if len(fields) <= _STAT_START or fields[0] in "ZX" or int(fields[_STAT_FLAGS]) & _EXITING:
        return None
    return int(fields[_STAT_START])
