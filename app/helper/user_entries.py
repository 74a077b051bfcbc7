"""Record of the fstab entries that this program wrote for ordinary users.

An entry that root wrote permits ordinary users to mount its share at its mount point
(:func:`app.helper.mount_permission.permit_mount`). An entry that the helper wrote for an ordinary user, with
an administrator's approval, only takes effect at boot. Each such entry has one file, whose name is a hash, in
a directory that only root can list. A file has no effect once its entry has left fstab.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os

FOLDER = "/var/lib/mountwright/declared"


def _name(share: str, target: str) -> str:
    key = json.dumps([share, target]).encode("ascii")
    return f"{FOLDER}/{hashlib.sha256(key).hexdigest()}"


def add(share: str, target: str, uid: int) -> None:
    """Record an entry durably, before it is written to fstab.

    Args:
        share: server:/export.
        target: mount point.
        uid: user for whom the entry is written.

    Raises:
        OSError: if the record cannot be written; the entry must not be written then.
    """
    from app.helper import files  # only the persist role needs and loads it

    new = f".new-{os.getpid()}"  # a name of its own for each process
    os.makedirs(FOLDER, 0o711, exist_ok=True)  # noqa: PTH103
    folder = os.open(FOLDER, files.FOLDER)
    try:
        os.fchmod(folder, 0o711)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new, dir_fd=folder)
        data = json.dumps({"share": share, "target": target, "uid": uid}).encode("ascii")
        files.Files(files.FileCalls()).create(folder, new, data)
        os.rename(new, _name(share, target), src_dir_fd=folder)
        os.fsync(folder)
    finally:
        os.close(folder)


def remove(share: str, target: str) -> None:
    """Delete the record of an entry that has left fstab; errors are ignored: a stale record is harmless."""
    with contextlib.suppress(OSError):
        os.unlink(_name(share, target))  # noqa: PTH108


def contains(share: str, target: str) -> bool:
    """Whether an entry was written for an ordinary user; every user may call this."""
    return os.path.lexists(_name(share, target))
