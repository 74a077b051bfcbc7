"""Durable writing of system files, with backups and a lock, for fstab, systemd units and udev rules.

Sources: renameat2(2), fcntl(2), flock(2), fsync(2), ioctl_iflags(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import stat
import struct
import time
from typing import TYPE_CHECKING, NamedTuple

from app.helper import children
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.helper.children import Waiter

#: Number of backups that are kept; older ones are deleted.
MAX_BACKUPS = 20
_LOCK = "lock"
#: Largest file that is read, bytes.
MAX_BYTES = 1 << 20
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: Flags of open(2) for a directory.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: Exists if systemd is process 1 (sd_booted(3)).
SYSTEMD = "/run/systemd/system"
_SYSTEMCTL = ("/usr/bin/systemctl", "/bin/systemctl")
_RELOAD_S = 15.0
# linux/fs.h
_FS_IOC_GETFLAGS, _IMMUTABLE, _APPEND_ONLY = 0x80086601, 0x10, 0x20
_RENAME_EXCHANGE = 2
#: Extended attributes that the kernel computes from the contents, so they are not copied to a new file.
_CONTENT_ATTRIBUTES = frozenset({"security.ima", "security.evm"})


class FileCalls:
    """System calls on files, one method each, so that a test can make any of them fail or end the process."""

    open = staticmethod(os.open)
    read = staticmethod(os.read)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    fchown = staticmethod(os.fchown)
    fchmod = staticmethod(os.fchmod)
    listxattr = staticmethod(os.listxattr)
    getxattr = staticmethod(os.getxattr)
    setxattr = staticmethod(os.setxattr)
    rename = staticmethod(os.rename)
    unlink = staticmethod(os.unlink)
    symlink = staticmethod(os.symlink)
    mkdir = staticmethod(os.mkdir)

    @staticmethod
    def exchange(first: str, second: str, folder: int) -> None:
        """Exchange two directory entries atomically (renameat2(2), RENAME_EXCHANGE).

        Args:
            first: name in the directory.
            second: other name in the directory.
            folder: descriptor of the directory.

        Raises:
            OSError: EINVAL or ENOSYS if the file system or the kernel does not support it.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        names = (os.fsencode(first), os.fsencode(second))
        if libc.renameat2(folder, names[0], folder, names[1], _RENAME_EXCHANGE) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    @staticmethod
    def lease(fd: int) -> None:
        """Take a read lease: programs that open the file for writing wait until ``fd`` is closed.

        See fcntl(2), F_SETLEASE.

        Raises:
            OSError: EAGAIN if the file is open for writing; another errno if leases are not supported.
        """
        # The default signal of a broken lease, SIGIO, would end the process. SIGURG is ignored by default.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)

    @staticmethod
    def leased(fd: int) -> bool:
        """Whether the read lease is unbroken: no program has tried to open the file for writing."""
        return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK


class FileInfo(NamedTuple):
    """Owner, mode and extended attributes (access list, security label) of a file.

    Attributes:
        uid: owner.
        gid: group.
        mode: permission bits.
        xattrs: extended attributes by name, without _CONTENT_ATTRIBUTES.
    """

    uid: int
    gid: int
    mode: int
    xattrs: dict[str, bytes]


class Files:
    """Reading, creating and backing up of files.

    Args:
        system: system calls to use.
    """

    def __init__(self, system: FileCalls) -> None:
        self.sys = system

    def read_all(self, fd: int) -> bytes:
        """Return the contents of an open file.

        Raises:
            Refusal: code fstab-refused if the file is larger than MAX_BYTES.
        """
        chunks: list[bytes] = []
        while chunk := self.sys.read(fd, MAX_BYTES + 1):
            chunks.append(chunk)
        data = b"".join(chunks)
        if len(data) > MAX_BYTES:
            raise Refusal("fstab-refused", "The file is larger than 1 MiB.")
        return data

    def look(self, fd: int, status: os.stat_result) -> FileInfo:
        """Return owner, mode and extended attributes of an open file; ``status`` is its fstat(2) result."""
        try:
            names = self.sys.listxattr(fd)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            names = []
        xattrs = {name: self.sys.getxattr(fd, name) for name in names if name not in _CONTENT_ATTRIBUTES}
        return FileInfo(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode), xattrs)

    def create(self, folder: int, name: str, data: bytes, look: FileInfo | None = None) -> None:
        """Create a new file and flush it to disk.

        Args:
            folder: descriptor of the directory.
            name: file name; must not exist.
            data: contents.
            look: owner, mode and attributes; None for mode 0600, owned by root.

        Raises:
            OSError: if a system call fails.
        """
        fd = self.sys.open(name, _CREATE, 0o600, dir_fd=folder)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self.sys.write(fd, rest) :]
            if look is not None:
                self.sys.fchown(fd, look.uid, look.gid)
                self.sys.fchmod(fd, look.mode)
                for attribute, value in look.xattrs.items():
                    self.sys.setxattr(fd, attribute, value)
            self.sys.fsync(fd)
        finally:
            os.close(fd)

    def back_up(self, path: str, prefix: str, data: bytes, result: str = "") -> str:
        """Write a backup with a dated name, flush it to disk, and delete the oldest backups.

        Args:
            path: directory of the backups; it is created if it is missing.
            prefix: first part of the file name.
            data: contents to back up.
            result: checksum of the contents that will replace ``data``, "" for none. It is the last part of
                the file name.

        Returns:
            the path of the backup.
        """
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103
        folder = self.sys.open(path, FOLDER)
        try:
            now = time.time_ns()
            name = f"{prefix}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now // 10**9))}.{now % 10**9:09d}Z"
            last = max(backups(folder, prefix), default="")
            last = last.removesuffix(f".{checksum_of(last)}")
            if last >= name:
                # The clock was set back. Names must still sort by age, and "~" sorts after ".".
                name = f"{last}~"
            name = f"{name}.{result}" if result else name
            self.create(folder, name, data)
            self.sys.fsync(folder)
            for old in backups(folder, prefix)[:-MAX_BACKUPS]:
                self.sys.unlink(old, dir_fd=folder)
            return f"{path}/{name}"
        finally:
            os.close(folder)


def checksum_of(name: str) -> str:
    """Return the checksum at the end of a backup's name, "" if it has none."""
    return name.rpartition("Z")[2].lstrip("+~").removeprefix(".")


def backups(folder: int, prefix: str) -> list[str]:
    """Return the file names of the backups with this prefix, oldest first."""
    return sorted(name for name in os.listdir(folder) if name.startswith(f"{prefix}-"))


@contextlib.contextmanager
def locked(state: str) -> Generator[None]:
    """Hold the lock that allows one helper at a time to change fstab, units or udev rules.

    Only root can open the lock file. Any user who can open a file could lock it (flock(2)).

    Args:
        state: directory of the lock file; it is created if it is missing.

    Raises:
        Refusal: code fstab-changed if another helper holds the lock; fstab-refused or fstab-failed if the
            directory is unsuitable.
    """
    try:
        held = _open_lock(state)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Refusal("fstab-failed", f"The lock in “{state}” cannot be opened.", detail=reason) from error
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal("fstab-changed", "Another change of fstab or of units is under way.") from None
        yield
    finally:
        os.close(held)


def _open_lock(state: str) -> int:
    os.makedirs(state, mode=0o711, exist_ok=True)  # noqa: PTH103
    folder = os.open(state, FOLDER)
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise Refusal("fstab-refused", f"Users other than root can change “{state}”.")
        # Search permission for all users: a preview can test for a known name in user_entries, but not list.
        os.fchmod(folder, 0o711)
        return os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)


def check(path: str, fd: int, status: os.stat_result) -> None:
    """Check that an open file may be replaced: a regular file of root with one name, not immutable.

    Args:
        path: path of the file, for messages.
        fd: descriptor of the file.
        status: its fstat(2) result.

    Raises:
        Refusal: code fstab-refused; fstab-changed if the file has been replaced since it was opened.
    """
    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
        raise Refusal("fstab-changed", f"“{path}” was replaced by somebody else at this moment.")
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise Refusal("fstab-refused", f"“{path}” is not a plain file with one name.")
    if status.st_uid != os.geteuid():
        raise Refusal("fstab-refused", f"“{path}” does not belong to root.")
    flags = 0
    with contextlib.suppress(OSError):
        flags = struct.unpack("l", fcntl.ioctl(fd, _FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
    for flag, word, letter in ((_IMMUTABLE, "immutable", "i"), (_APPEND_ONLY, "append-only", "a")):
        if flags & flag:
            raise Refusal(
                "fstab-refused", f"“{path}” is marked {word}; “chattr -{letter} {path}” as root ends that."
            )


def reload_systemd(what: str, waiter: Waiter) -> list[str]:
    """Run ``systemctl daemon-reload`` if systemd is process 1.

    Args:
        what: name of the changed configuration, for the warning.
        waiter: waits for the program.

    Returns:
        a list with a warning if the reload failed, else an empty list.
    """
    if not os.path.isdir(SYSTEMD):  # noqa: PTH112
        return []
    program = next((path for path in _SYSTEMCTL if os.access(path, os.X_OK)), None)
    with contextlib.suppress(OSError):
        if program and children.run([program, "daemon-reload"], _RELOAD_S, waiter).code == 0:
            return []
    return [f"systemd did not read {what} again; “systemctl daemon-reload” as root does it."]
