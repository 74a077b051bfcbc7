"""Asking the server itself for a file's attributes: statx(2) with AT_STATX_FORCE_SYNC.

An ordinary stat is answered from the client's attribute cache for seconds (nfs(5), acregmin), which measures
memory. Python has no call for it, so the C library's is used (glibc 2.28, musl 1.2.5 and later).
"""

from __future__ import annotations

import ctypes
import os

_AT_SYMLINK_NOFOLLOW = 0x100
_AT_STATX_FORCE_SYNC = 0x2000
_STATX_BASIC_STATS = 0x7FF
_BUFFER_BYTES = 256  # struct statx of linux/stat.h


class ServerStat:
    """Asks for attributes, of the server where the C library can."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        self._statx = getattr(library, "statx", None)
        self._buffer = ctypes.create_string_buffer(_BUFFER_BYTES)

    def __call__(self, directory_fd: int, name: str) -> None:
        """Ask for the attributes of a file in a directory.

        Raises:
            OSError: as stat(2).
        """
        if self._statx is None:
            os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            return
        flags = _AT_SYMLINK_NOFOLLOW | _AT_STATX_FORCE_SYNC
        failed = self._statx(directory_fd, os.fsencode(name), flags, _STATX_BASIC_STATS, self._buffer)
        if failed:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), name)
