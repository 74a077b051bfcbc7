"""The verb of the tune role: numbers that the kernel takes while it runs, each of a closed list, in a range.

Writing them touches no server. They last until the next start; readahead until the mount goes.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from app.helper import table, validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.children import Waiter

#: KiB. The kernel takes any; more than this a file at a time is memory taken from everybody.
MAX_READ_AHEAD_KB = 256 << 10
#: net/sunrpc/xprtsock.c, the limits of the kernel itself.
SUNRPC = {
    "tcp_slot_table_entries": (2, 128),
    "udp_slot_table_entries": (2, 128),
    "tcp_max_slot_table_entries": (2, 65536),
}
BDI, SYSCTL = "/sys/class/bdi", "/proc/sys/sunrpc"


def tune(args: dict[str, object], _waiter: Waiter) -> dict[str, object]:
    """Set ``read_ahead_kb`` (-1 leaves it) of the NFS mount at ``target``, and what ``sunrpc`` names.

    Returns:
        ``before`` and ``after``: the numbers by name, ``read_ahead_kb`` among them.

    Raises:
        Refusal: nothing is changed then; option-invalid, not-mounted or unavailable.
    """
    wanted = _sunrpc(cast("dict[str, object]", args["sunrpc"]))
    kilobytes = cast("int", args["read_ahead_kb"])
    if kilobytes != -1:
        check("read_ahead_kb", kilobytes, 0, MAX_READ_AHEAD_KB)
        path = validate.target(str(args["target"]))
        row = table.at(table.read(), path)
        if row is None or row.fstype not in table.NFS_TYPES:
            raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
        wanted[f"{BDI}/{row.device}/read_ahead_kb"] = kilobytes
    if not wanted:
        raise Refusal("usage", "Nothing is to be tuned.")
    before = {file: _get(file) for file in wanted}
    try:
        for file, number in wanted.items():
            put(file, number)
    except OSError as error:
        _put_back(before)
        raise _unavailable(error) from error
    after = {file: _get(file) for file in wanted}
    return {"before": _by_name(before), "after": _by_name(after)}


def _sunrpc(numbers: dict[str, object]) -> dict[str, int]:
    for name, number in numbers.items():
        if name not in SUNRPC:
            raise Refusal("option-invalid", "There is no such number to tune.")
        check(name, number, *SUNRPC[name])
    return {f"{SYSCTL}/{name}": cast("int", number) for name, number in numbers.items()}


def check(name: str, number: object, minimum: int, maximum: int) -> None:
    """Check that it is a number in the range.

    Raises:
        Refusal: with code option-invalid.
    """
    if type(number) is not int or not minimum <= number <= maximum:
        raise Refusal("option-invalid", f"“{name}” takes a number from {minimum} to {maximum}.")


def _get(file: str) -> int:
    try:
        with open(file, "rb") as opened:  # noqa: PTH123
            return int(opened.read(32))
    except OSError as error:
        raise _unavailable(error) from error


def put(file: str, number: int) -> None:
    """Write a number to a file of the kernel's.

    Raises:
        OSError: if it refuses.
    """
    fd = os.open(file, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, b"%d\n" % number)
    finally:
        os.close(fd)


def _put_back(before: dict[str, int]) -> None:
    for file, number in before.items():
        try:
            put(file, number)
        except OSError:
            continue


def _by_name(numbers: dict[str, int]) -> dict[str, int]:
    return {file.rpartition("/")[2]: number for file, number in numbers.items()}


def _unavailable(error: OSError) -> Refusal:
    why = os.strerror(error.errno or 0)
    return Refusal("unavailable", "The kernel does not let these numbers be changed here.", detail=why)
