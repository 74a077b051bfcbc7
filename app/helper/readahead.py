"""The readahead of an NFS mount as it is now, set within a range.

Writing it touches no server. It lasts until the mount goes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from app.helper import mountinfo, validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.children import Waiter

#: KiB. The kernel takes any; more than this a file at a time is memory taken from everybody.
MAX_READ_AHEAD_KB = 256 << 10
BDI = "/sys/class/bdi"


def set_readahead(args: dict[str, object], _waiter: Waiter) -> dict[str, object]:
    """Set ``read_ahead_kb`` of the NFS mount at ``target``.

    Returns:
        ``before`` and ``after``, each with ``read_ahead_kb``.

    Raises:
        Refusal: nothing is changed then; option-invalid, not-mounted or unavailable.
    """
    kilobytes = cast("int", args["read_ahead_kb"])
    check("read_ahead_kb", kilobytes, 0, MAX_READ_AHEAD_KB)
    path = validate.target(str(args["target"]))
    row = mountinfo.topmost(mountinfo.read(), path)
    if row is None or row.fstype not in mountinfo.NFS_TYPES:
        raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
    file = f"{BDI}/{row.device}/read_ahead_kb"
    try:
        before = _read_number(file)
        write_number(file, kilobytes)
        after = _read_number(file)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise Refusal(
            "unavailable", "The kernel does not let the readahead be changed here.", detail=why
        ) from error
    return {"before": {"read_ahead_kb": before}, "after": {"read_ahead_kb": after}}


def check(name: str, number: object, minimum: int, maximum: int) -> None:
    """Check that it is a number in the range.

    Raises:
        Refusal: with code option-invalid.
    """
    if type(number) is not int or not minimum <= number <= maximum:
        raise Refusal("option-invalid", f"“{name}” takes a number from {minimum} to {maximum}.")


def _read_number(file: str) -> int:
    with open(file, "rb") as opened:  # noqa: PTH123
        return int(opened.read(32))


def write_number(file: str, number: int) -> None:
    """Write a number to a file of the kernel's.

    Raises:
        OSError: if it refuses.
    """
    fd = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"%d\n" % number)
    finally:
        os.close(fd)
