"""Readahead of an active NFS mount: reads and sets read_ahead_kb in sysfs, class bdi (backing device info).

Writing it does not contact the server. The value lasts until the unmount.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from app.helper import mountinfo, validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.children import Waiter

#: Largest readahead, KiB. The kernel has no limit; a larger value per open file takes memory from all users.
MAX_READ_AHEAD_KB = 256 << 10
#: Directory with one entry per backing device (Documentation/ABI/testing/sysfs-class-bdi).
BDI = "/sys/class/bdi"


def set_readahead(args: dict[str, object], _waiter: Waiter) -> dict[str, object]:
    """Set ``read_ahead_kb`` of the NFS mount at ``target``.

    Returns:
        ``before`` and ``after``, each with ``read_ahead_kb`` in KiB.

    Raises:
        Refusal: code option-invalid, not-mounted or unavailable; the value is not changed then.
    """
    kilobytes = cast("int", args["read_ahead_kb"])
    check("read_ahead_kb", kilobytes, 0, MAX_READ_AHEAD_KB)
    path = validate.target(str(args["target"]))
    row = mountinfo.topmost(mountinfo.read(), path)
    if row is None or row.fstype not in mountinfo.NFS_TYPES:
        raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
    try:
        before = _read(row.device)
        write(row.device, kilobytes)
        after = _read(row.device)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise Refusal(
            "unavailable", "The kernel does not let the readahead be changed here.", detail=why
        ) from error
    return {"before": {"read_ahead_kb": before}, "after": {"read_ahead_kb": after}}


def check(name: str, number: object, minimum: int, maximum: int) -> None:
    """Check that an argument is an integer in a range.

    Args:
        name: name of the argument, for the message.
        number: value of the argument.
        minimum: smallest value allowed.
        maximum: largest value allowed.

    Raises:
        Refusal: code option-invalid.
    """
    if type(number) is not int or not minimum <= number <= maximum:
        raise Refusal("option-invalid", f"“{name}” takes a number from {minimum} to {maximum}.")


def read(device: str, root: str = "") -> int | None:
    """Return the readahead of a superblock, KiB; None if it cannot be read.

    Args:
        device: major:minor of the superblock.
        root: directory in place of /.
    """
    try:
        return _read(device, root)
    except (OSError, ValueError):
        return None


def write(device: str, kilobytes: int) -> None:
    """Set the readahead of a superblock, KiB.

    Args:
        device: major:minor of the superblock.
        kilobytes: readahead, KiB.

    Raises:
        OSError: if the kernel refuses it.
    """
    fd = os.open(_file(device), os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"%d\n" % kilobytes)
    finally:
        os.close(fd)


def _read(device: str, root: str = "") -> int:
    with open(root + _file(device), "rb") as opened:  # noqa: PTH123
        return int(opened.read(32))


def _file(device: str) -> str:
    return f"{BDI}/{device}/read_ahead_kb"
