"""Identity of a process: host, boot, process id and start time; unique even if the id is reused (proc(5))."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

#: Indices of the flags and the start time in /proc/PID/stat, counted from the state, which follows the name.
_STAT_FLAGS, _STAT_START = 6, 19
#: PF_EXITING of the kernel's include/linux/sched.h.
_EXITING = 0x4


def host_name() -> str:
    """Return host name, machine id (machine-id(5)) and device number of /proc, separated by blanks."""
    # Two containers may share host name and machine id, but not the meaning of process ids. Each has its own
    # /proc, so the device number tells them apart. A worker with a private mount sees the /proc of the host
    # and so uses the host's process ids, whatever PID namespace it is in.
    machine = _read_line("/etc/machine-id")
    try:
        numbers = Path("/proc").stat().st_dev
    except OSError:
        numbers = 0
    return f"{os.uname().nodename} {machine} {numbers}"


def host_hash() -> str:
    """Return eight hexadecimal digits of the SHA-256 of :func:`host_name`."""
    return hashlib.sha256(host_name().encode(errors="replace")).hexdigest()[:8]


def proc_pid() -> int:
    """Return the process id of this process in the PID namespace of /proc."""
    try:
        return int(Path("/proc/self").readlink().name)
    except OSError:
        return os.getpid()


def boot_id() -> str:
    """Return the kernel's boot id (random(4)), "" if it cannot be read."""
    return _read_line("/proc/sys/kernel/random/boot_id")


def _read_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def start_ticks(pid: int) -> int | None:
    """Return the start time of a process in clock ticks since boot, None if it has ended or is ending."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    return began(text)


def began(stat: str) -> int | None:
    """Return the start time in a text of /proc/PID/stat: field 22, clock ticks since boot (proc(5)).

    None means that the process is a zombie, dead or exiting. A killed worker may exit slowly: closing its
    file waits for the server to take the written data.
    """
    fields = stat.rpartition(")")[2].split()  # the name before it may contain any character
    if len(fields) <= _STAT_START or fields[0] in "ZX" or int(fields[_STAT_FLAGS]) & _EXITING:
        return None
    return int(fields[_STAT_START])
