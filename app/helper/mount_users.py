"""Processes that use a mount, found by the links in /proc (proc(5)) without touching the mount."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from app.helper.errors import printable
from app.helper.inheritance import real_user
from app.helper.mountinfo import is_within

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Most processes that are listed.
MAX_USERS = 32


def find_users(path: str) -> list[dict[str, object]]:
    """Return at most MAX_USERS processes that use a file or directory at or below the path.

    Each has ``pid``, ``uid``, ``command`` (its name) and ``use``: "working directory", "root", "program" or
    "open file". The links below /proc/PID are read with readlink(2),
    which does not wait for the server.
    """
    found: list[dict[str, object]] = []
    names = os.listdir("/proc")  # noqa: PTH208 - strings, and no stat of the entries
    for pid in sorted(int(name) for name in names if name.isdigit()):
        use = _use(pid, path) if pid != os.getpid() and len(found) < MAX_USERS else ""
        # An error means that the process has ended meanwhile.
        with contextlib.suppress(OSError, ValueError):
            if use:
                found.append({"pid": pid, "uid": real_user(pid)[0], "command": _command(pid), "use": use})
    return found


def _use(pid: int, path: str) -> str:
    for link, use in _links(pid):
        with contextlib.suppress(OSError):
            if is_within(os.readlink(link), path):  # noqa: PTH115
                return use
    return ""


def _links(pid: int) -> Iterator[tuple[str, str]]:
    base = f"/proc/{pid}"
    yield f"{base}/cwd", "working directory"
    yield f"{base}/root", "root"
    yield f"{base}/exe", "program"
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"{base}/fd"):  # noqa: PTH208
            yield f"{base}/fd/{fd}", "open file"


def _command(pid: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:  # noqa: PTH123
        return printable(file.read(64).strip())
    return "?"
