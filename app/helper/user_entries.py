"""Record of the fstab entries that this program wrote for an ordinary user: root did not write those.

An entry that root wrote says that root trusts this share at this place, so an ordinary user may mount
it there (:func:`app.helper.mount_permission.permit_mount`). An entry that an administrator approved was
approved for the next boot. One file an entry, its name a hash, in a directory that only root can list;
what has left fstab is without effect.
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
    """Remember, durably, for whom an entry is written. It comes before the entry.

    Raises:
        OSError: the entry is not to be written then.
    """
    from app.helper import files  # of the persist role, which alone writes

    new = f".new-{os.getpid()}"  # each process has its own
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
    """Forget an entry that has left fstab; one that cannot be forgotten does no harm."""
    with contextlib.suppress(OSError):
        os.unlink(_name(share, target))  # noqa: PTH108


def contains(share: str, target: str) -> bool:
    """Whether the entry was written for an ordinary user; everybody may know."""
    return os.path.lexists(_name(share, target))
