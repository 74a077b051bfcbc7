"""Programs that use a mount: who they are, and ending those that the person may end.

They are found by links under /proc; the mount itself is never touched.
"""

from __future__ import annotations

import os
import pwd
from typing import TYPE_CHECKING, Any

from app.helper import holders as links
from app.mounts.change import Holder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def find_holders(path: str) -> list[Holder]:
    """Return the processes that use something at or below the path, as far as this user may see them."""
    return as_holders(links.find(path))


def as_holders(found: Iterable[Mapping[str, Any]]) -> list[Holder]:
    """Return the helper's answer as it is shown; ``own`` are those that this user may end."""
    untouchable = ancestors()
    return [
        Holder(
            pid=int(one["pid"]),
            command=str(one["command"]),
            user=_user(int(one["uid"])),
            use=str(one["use"]),
            own=int(one["uid"]) == os.getuid() and int(one["pid"]) not in untouchable,
        )
        for one in found
    ]


def ancestors() -> set[int]:
    """Return this process, those that it descends from, and process 1: they are never ended."""
    found = {1}
    pid = os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = _parent(pid)
    return found


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            # The name may contain blanks and parentheses; the parent comes second behind it.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
