"""Call sizes: how many bytes a program asks for in one read or write call on an NFS mount.

Every test, search and expectation takes its call size from here. docs/call-sizes.md has what programs were
seen to ask for, and why these two sizes were chosen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.kernel_numbers import rounded_io_size

if TYPE_CHECKING:
    from collections.abc import Mapping

#: In the place of a call size: the one that cp(1) takes on the mount.
AS_COPY = 0
#: Least buffer of cp, cat, mv and install, bytes (coreutils 8.23 to 9.4, src/ioblksize.h: IO_BUFSIZE; it was
#: 32 KiB from 7.2 on and 64 KiB from 8.17 on, and is 256 KiB from 9.5 on). One version's is taken, so that
#: figures of computers with several versions can be compared.
COPY_BUFFER = 128 * 1024
#: Of the figure "small reads", bytes. Programs with a smaller buffer of their own read with calls that do
#: not exceed the kernel's usual readahead: the readahead alone decides how much is asked for at once.
SMALL_READ = 64 * 1024
#: wsize when nothing is asked for, of a server with 4 GiB or more (fs/nfsd).
_NEGOTIATED_SIZE = 2**20


def copy_call_size(block_size: int) -> int:
    """Return the bytes of each read and write call of cp(1).

    The buffer of coreutils' copy.c is the least common multiple of io_blksize (src/ioblksize.h) of source and
    destination: MAX (IO_BUFSIZE, st_blksize). A local file system's st_blksize, 4 KiB, divides it.

    Args:
        block_size: st_blksize of the files on the mount, which statvfs(3) calls f_bsize.
    """
    return max(COPY_BUFFER, block_size)


def file_block_size(wsize: int) -> int:
    """Return st_blksize of the files of an NFS mount: wsize, rounded down to a power of two.

    fs/nfs/super.c (nfs_fill_super, nfs_block_bits). It holds for reading, too: rsize does not count.
    """
    return 1 << (wsize.bit_length() - 1)


def call_size(asked: int, values: Mapping[str, str]) -> int:
    """Return the bytes of each call on a mount with these options, before it is mounted.

    Args:
        asked: a size, or AS_COPY for that of cp.
        values: of the mount's options, by name; without wsize a server's usual largest one is taken.
    """
    if asked != AS_COPY:
        return asked
    wsize = values.get("wsize", "")
    size = rounded_io_size(int(wsize)) if wsize.isdigit() else 0  # 0 leaves it to the server, too
    return copy_call_size(file_block_size(min(size or _NEGOTIATED_SIZE, _NEGOTIATED_SIZE)))
