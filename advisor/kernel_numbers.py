"""How the kernel reads the numbers of mount options, and what it makes of transfer sizes.

The rounding rules are those of fs/nfs/internal.h (nfs_io_size, nfs_block_bits) and were compared with what
mounts on Linux 6.1, 6.12 and 7.2 show.
"""

from __future__ import annotations

import re

#: NFS_MAX_FILE_IO_SIZE, bytes.
MAX_IO_SIZE = 2**20
_PAGE = 4096
_MIN_IO_SIZE = 1024  # NFS_MIN_FILE_IO_SIZE
_DEFAULT_IO_SIZE = 4096  # NFS_DEF_FILE_IO_SIZE


def kernel_number(text: str) -> int | None:
    """Return the number that the kernel reads: octal after a leading 0, hexadecimal after 0x; or None."""
    if len(text) > 20 or not re.fullmatch(r"0[0-7]*|[1-9][0-9]*|0[xX][0-9a-fA-F]+", text):
        return None
    if text[:2] in {"0x", "0X"}:
        return int(text, 16)
    return int(text, 8 if text.startswith("0") else 10)


def rounded_io_size(size: int, proto: str = "tcp") -> int:
    """Return what the kernel makes of an rsize or wsize, before the server limits it; 0 stays 0.

    1000 becomes 4096, 1500 becomes 1024, 5000 becomes 4096, 12345 becomes 12288, 100000 becomes 98304.
    """
    if size == 0:
        return 0
    if size < _MIN_IO_SIZE:
        return _DEFAULT_IO_SIZE
    if size >= MAX_IO_SIZE:
        return MAX_IO_SIZE
    if proto.startswith("udp") or size < _PAGE:
        return 1 << (size.bit_length() - 1)
    return size - size % _PAGE
