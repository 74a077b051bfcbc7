"""The record of directories made for mounts, so that unmounting can take them away again.

One file a mount point under /run/mountwright/made, which only root can enter; gone with the next boot.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os

from app.helper import directories, targets

FOLDER = f"{targets.OWN_ROOT}/made"


def _name(path: str) -> str:
    return f"{FOLDER}/{hashlib.sha256(os.fsencode(path)).hexdigest()}"


def note(path: str, prepared: directories.Prepared) -> None:
    """Remember what was made for the mount at this path. Failing to is no reason to fail the mount."""
    if not prepared.made:
        return
    with contextlib.suppress(OSError):
        targets.make_own_root()
        with contextlib.suppress(FileExistsError):
            os.mkdir(FOLDER, 0o700)  # noqa: PTH102
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(_name(path), flags, 0o600)
        with open(fd, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            json.dump(prepared.made, file)


def remove(path: str) -> bool:
    """Remove what was made for the mount that was at this path; return whether the mount point went."""
    try:
        with open(_name(path), encoding="utf-8") as file:  # noqa: PTH123
            made = [(str(p), int(device), int(inode)) for p, device, inode in json.load(file)]
        os.unlink(_name(path))  # noqa: PTH108
    except (OSError, ValueError):
        return False
    gone = [
        name for name, device, inode in reversed(made) if directories.remove_directory(name, device, inode)
    ]
    return path in gone
