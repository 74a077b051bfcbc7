"""Client facts: kernel, nfs-utils, memory, kernel limits and nfsmount.conf of this computer."""

from __future__ import annotations

import platform
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from advisor.facts import ClientFacts
from app.kernel.build_config import udp_support
from app.kernel.nfsmount_conf import read_settings
from app.process import find_program, run

if TYPE_CHECKING:
    from advisor.nfsmount_conf import ConfSetting

_DEADLINE_S = 1.0
_VERSION = re.compile(r"nfs-utils ([0-9][0-9A-Za-z.~+-]*)")
#: File of each limit, by ClientFacts field, and the index of the number in it.
_LIMITS = {
    "tcp_slots": ("proc/sys/sunrpc/tcp_max_slot_table_entries", 0),
    "session_slots": ("sys/module/nfs/parameters/max_session_slots", 0),
    "tcp_window_bytes": ("proc/sys/net/ipv4/tcp_rmem", 2),
}


def client_facts(root: str = "/") -> ClientFacts:
    """Gather the facts about this computer; takes at most 1 s.

    Args:
        root: directory that contains proc, sys, etc and the kernel's configuration.
    """
    release = platform.release()
    program = find_program("mount.nfs")
    version, version_source = _nfs_utils(program)
    udp, udp_source = udp_support(release, root)
    limits = {name: _number(Path(root, path), index) for name, (path, index) in _LIMITS.items()}
    return ClientFacts(
        hostname=socket.gethostname(),
        kernel=release,
        nfs_utils=version,
        udp=udp,
        memory_bytes=psutil.virtual_memory().total,
        mount_nfs=program is not None,
        tcp_slots=limits["tcp_slots"],
        session_slots=limits["session_slots"],
        tcp_window_bytes=limits["tcp_window_bytes"],
        nfsmount_conf=tuple(
            f"{setting.item} ({setting.file}, line {setting.line}{_section(setting)})"
            for setting in read_settings(root)
        ),
        sources={
            "nfsmount_conf": "nfsmount.conf and its folders; options there are added to mounts",
            "hostname": "gethostname",
            "kernel": "uname",
            "nfs_utils": version_source,
            "udp": udp_source,
            "memory_bytes": "/proc/meminfo",
            "mount_nfs": f"found at {program}" if program else "not on the system path",
            **{
                name: f"/{_LIMITS[name][0]}" if limits[name] is not None else "its module is not loaded"
                for name in limits
            },
            "sharing": "no server was named",
        },
    )


def _section(setting: ConfSetting) -> str:
    return f", for {setting.subject}" if setting.subject else ""


def _number(path: Path, index: int) -> int | None:
    try:
        numbers = path.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(numbers[index]) if len(numbers) > index and numbers[index].isdecimal() else None


def _nfs_utils(program: str | None) -> tuple[str | None, str]:
    if program is None:
        return None, "mount.nfs is not installed"
    try:
        outcome = run([program, "-V"], timeout=_DEADLINE_S)
    except OSError as error:
        return None, f"mount.nfs cannot be started: {error.strerror}"
    if outcome.timed_out:
        return None, "mount.nfs -V did not answer"
    match = _VERSION.search(outcome.stdout + outcome.stderr)
    if match is None:
        return None, "mount.nfs -V says it in a way that is not understood"
    return match[1], "mount.nfs -V"
