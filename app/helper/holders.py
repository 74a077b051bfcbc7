"""Which processes hold a mount: links under /proc are read, the mount itself is never touched."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from app.helper.errors import printable
from app.helper.table import is_within

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_HOLDERS = 32


def find(path: str) -> list[dict[str, object]]:
    """Return the processes that use something at or below the path.

    Each has ``pid``, ``command`` and ``use`` ("working directory", "root", "program" or "open file").
    Reading these links needs no answer from the server.
    """
    found: list[dict[str, object]] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - strings, and no stat of the entries
        if name.isdigit() and int(name) != os.getpid() and len(found) < MAX_HOLDERS:
            use = _use(name, path)
            if use:
                found.append({"pid": int(name), "command": _command(name), "use": use})
    return found


def _use(pid: str, path: str) -> str:
    for link, use in _links(pid):
        with contextlib.suppress(OSError):
            if is_within(os.readlink(link), path):  # noqa: PTH115
                return use
    return ""


def _links(pid: str) -> Iterator[tuple[str, str]]:
    base = f"/proc/{pid}"
    yield f"{base}/cwd", "working directory"
    yield f"{base}/root", "root"
    yield f"{base}/exe", "program"
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"{base}/fd"):  # noqa: PTH208
            yield f"{base}/fd/{fd}", "open file"


def _command(pid: str) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:  # noqa: PTH123
        return printable(file.read(64).strip())
    return "?"
