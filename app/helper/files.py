"""Durable writing of system files, with backups and a lock: for the writers of fstab and of units."""

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

#: How many backups are kept.
MAX_BACKUPS = 20
_LOCK = "lock"
MAX_BYTES = 1 << 20
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SYSTEMD = "/run/systemd/system"
_SYSTEMCTL = ("/usr/bin/systemctl", "/bin/systemctl")
_RELOAD_S = 15.0
# linux/fs.h
_FS_IOC_GETFLAGS, _IMMUTABLE, _APPEND_ONLY = 0x80086601, 0x10, 0x20
_RENAME_EXCHANGE = 2
#: Made by the kernel of what the file holds; copied, they would belong to the old contents.
_CONTENT_ATTRIBUTES = frozenset({"security.ima", "security.evm"})


class FileCalls:
    """The calls that change files, one method each, so that a test can fail or end the process at any."""

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
        """Let two names change places in one step (renameat2(2)).

        Raises:
            OSError: EINVAL or ENOSYS where the file system or the kernel cannot.
        """
        libc = ctypes.CDLL(None, use_errno=True)
        names = (os.fsencode(first), os.fsencode(second))
        if libc.renameat2(folder, names[0], folder, names[1], _RENAME_EXCHANGE) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    @staticmethod
    def lease(fd: int) -> None:
        """Let others wait who open this file for writing, until it is closed here (fcntl(2), F_SETLEASE).

        Raises:
            OSError: EAGAIN if somebody has it open for writing; others where there are no leases.
        """
        # The signal tells nothing that is needed, and SIGIO, which it would be, ends a process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)

    @staticmethod
    def leased(fd: int) -> bool:
        """Whether nobody has come to wait since."""
        return fcntl.fcntl(fd, fcntl.F_GETLEASE) == fcntl.F_RDLCK


class FileInfo(NamedTuple):
    """What a new file is to have of the old one: owner, mode, access list, security label."""

    uid: int
    gid: int
    mode: int
    xattrs: dict[str, bytes]


class Files:
    """Reads, makes and keeps files through a System."""

    def __init__(self, system: FileCalls) -> None:
        self.sys = system

    def read_all(self, fd: int) -> bytes:
        """Return a file's bytes.

        Raises:
            Refusal: if there are too many.
        """
        chunks: list[bytes] = []
        while chunk := self.sys.read(fd, MAX_BYTES + 1):
            chunks.append(chunk)
        data = b"".join(chunks)
        if len(data) > MAX_BYTES:
            raise Refusal("fstab-refused", "The file is larger than 1 MiB.")
        return data

    def look(self, fd: int, status: os.stat_result) -> FileInfo:
        """Return what an open file has beside its bytes."""
        try:
            names = self.sys.listxattr(fd)
        except OSError as error:
            if error.errno != errno.ENOTSUP:
                raise
            names = []
        xattrs = {name: self.sys.getxattr(fd, name) for name in names if name not in _CONTENT_ATTRIBUTES}
        return FileInfo(status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode), xattrs)

    def create(self, folder: int, name: str, data: bytes, look: FileInfo | None = None) -> None:
        """Make a new file, durable when this returns; without a look it is for root alone."""
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
        """Keep bytes in a folder under a dated name, durable when this returns; return the file's path.

        Args:
            path: of the folder, which is made if it is missing.
            prefix: of the name.
            data: what to keep.
            result: checksum of what takes the place of these bytes. It becomes the end of the name, so
                that it lasts exactly as long as the copy.
        """
        os.makedirs(path, mode=0o700, exist_ok=True)  # noqa: PTH103
        folder = self.sys.open(path, FOLDER)
        try:
            now = time.time_ns()
            name = f"{prefix}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now // 10**9))}.{now % 10**9:09d}Z"
            last = max(backups(folder, prefix), default="")
            last = last.removesuffix(f".{checksum_of(last)}")
            if last >= name:
                # The clock was set back; what is written last is the newest all the same. "~" is after ".".
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
    """Return the names of the backups, the oldest first."""
    return sorted(name for name in os.listdir(folder) if name.startswith(f"{prefix}-"))


@contextlib.contextmanager
def locked(state: str) -> Generator[None]:
    """Lock fstab and units against another helper, by a file that only root can open.

    A lock on a file that others can open could be held by anybody (flock(2)).

    Args:
        state: the directory; it is made if it is missing.

    Raises:
        Refusal: if another helper holds the lock, or the directory is not as it must be.
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
        # Others may enter, and see nothing but names that they know: whose an entry of fstab is.
        os.fchmod(folder, 0o711)
        return os.open(_LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    finally:
        os.close(folder)


def check(path: str, fd: int, status: os.stat_result) -> None:
    """Check that an open file may be replaced by another one.

    Raises:
        Refusal: with code fstab-refused.
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
    """Have systemd, where it runs, read its configuration again; return a warning if it did not."""
    if not os.path.isdir(SYSTEMD):  # noqa: PTH112
        return []
    program = next((path for path in _SYSTEMCTL if os.access(path, os.X_OK)), None)
    with contextlib.suppress(OSError):
        if program and children.run([program, "daemon-reload"], _RELOAD_S, waiter).code == 0:
            return []
    return [f"systemd did not read {what} again; “systemctl daemon-reload” as root does it."]
