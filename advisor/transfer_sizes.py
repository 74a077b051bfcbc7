"""Transfer sizes: rounding of rsize and wsize by the kernel, and the bytes of each read or write call.

The rounding rules are those of fs/nfs/internal.h (nfs_io_size, nfs_block_bits), verified with mounts on Linux
6.1, 6.12 and 7.2. Every test, search and prediction takes its call size from here. docs/call-sizes.md lists
the call sizes of common programs, and explains the choice of these two sizes.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Special call size: the size that cp(1) uses on the mount.
CP_CALL_SIZE = 0
#: Least buffer of cp, cat, mv and install, bytes (coreutils 8.23 to 9.4, src/ioblksize.h: IO_BUFSIZE; it was
#: 32 KiB from 7.2 on and 64 KiB from 8.17 on, and is 256 KiB from 9.5 on). It is fixed, so that results from
#: computers with different versions are comparable.
CP_BUFFER = 128 * 1024
#: Call size of the figure "small reads", bytes. It is below the kernel's default readahead, so that only the
#: readahead determines the size of the requests.
SMALL_READ_SIZE = 64 * 1024
#: Default wsize of a server with 4 GiB of memory or more, bytes (fs/nfsd).
_DEFAULT_WSIZE = 2**20


def cp_call_size(block_size: int) -> int:
    """Return the bytes of each read and write call of cp(1).

    The buffer of coreutils' copy.c is the least common multiple of io_blksize (src/ioblksize.h) of source and
    destination: MAX (IO_BUFSIZE, st_blksize). A local file system's st_blksize, 4 KiB, divides it.

    Args:
        block_size: st_blksize of the files on the mount, which statvfs(3) calls f_bsize.
    """
    return max(CP_BUFFER, block_size)


def file_block_size(wsize: int) -> int:
    """Return st_blksize of the files of an NFS mount: wsize, rounded down to a power of two.

    rsize has no influence on it. Source: fs/nfs/super.c (nfs_fill_super, nfs_block_bits).
    """
    return 1 << (wsize.bit_length() - 1)


def call_size(asked: int, values: Mapping[str, str]) -> int:
    """Return the bytes of each call on a mount with these options, before it is mounted.

    Args:
        asked: a size in bytes, or CP_CALL_SIZE for that of cp.
        values: canonical option name to value; without wsize the usual default of a server applies.
    """
    if asked != CP_CALL_SIZE:
        return asked
    wsize = values.get("wsize", "")
    size = rounded_io_size(int(wsize)) if wsize.isdigit() else 0  # 0 leaves it to the server, too
    return cp_call_size(file_block_size(min(size or _DEFAULT_WSIZE, _DEFAULT_WSIZE)))


#: NFS_MAX_FILE_IO_SIZE, bytes.
MAX_IO_SIZE = 2**20
_PAGE_SIZE = 4096
_MIN_IO_SIZE = 1024  # NFS_MIN_FILE_IO_SIZE
_DEFAULT_IO_SIZE = 4096  # NFS_DEF_FILE_IO_SIZE


def kernel_number(text: str) -> int | None:
    """Return a number as the kernel parses it, octal after a leading 0, hexadecimal after 0x; or None."""
    if len(text) > 20 or not re.fullmatch(r"0[0-7]*|[1-9][0-9]*|0[xX][0-9a-fA-F]+", text):
        return None
    if text[:2] in {"0x", "0X"}:
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def rounded_io_size(size: int, proto: str = "tcp") -> int:
    """Return an rsize or wsize as rounded by the kernel, before the server limits it; 0 stays 0.

    Over TCP 1000 becomes 4096, 1500 becomes 1024, 5000 becomes 4096, 12345 becomes 12288, 100000 becomes
    98304.

    Args:
        size: requested size, bytes.
        proto: transport; over UDP sizes are rounded down to powers of two.
    """
    if size == 0:
        return 0
    if size < _MIN_IO_SIZE:
        return _DEFAULT_IO_SIZE
    if size >= MAX_IO_SIZE:
        return MAX_IO_SIZE
    if proto.startswith("udp") or size < _PAGE_SIZE:
        return 1 << (size.bit_length() - 1)
    return size - size % _PAGE_SIZE
