"""The verbs of the persist role: /etc/fstab is replaced as a whole, or left alone.

A temporary file beside it gets the new bytes, the owner, mode, access list and security label of the old
one, is flushed, and changes places with it. What came out of that exchange must be the very file that was
read: otherwise somebody wrote meanwhile, and the exchange is undone. Killed at any moment, the file is the
old one or the new one.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import hashlib
import os
import stat
import struct
import time
from typing import TYPE_CHECKING, NamedTuple, cast

from app.helper import children, fstab_text, table
from app.helper.errors import Refusal
from app.helper.options import Catalogue, load

if TYPE_CHECKING:
    from app.helper.children import Waiter

FOLDER, NAME = "/etc", "fstab"
BACKUPS = "/var/lib/mountwright/fstab"
KEEP = 20
MAX_BYTES = 1 << 20
TEMPORARY = ".fstab.mountwright"
_FINDMNT = ("/usr/bin/findmnt", "/bin/findmnt")
_SYSTEMCTL = ("/usr/bin/systemctl", "/bin/systemctl")
_VERIFY_S, _RELOAD_S = 5.0, 15.0
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# linux/fs.h
_FS_IOC_GETFLAGS, _IMMUTABLE, _APPEND_ONLY = 0x80086601, 0x10, 0x20
_RENAME_EXCHANGE = 2


class System:
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


class _Read(NamedTuple):
    """The file as it was read."""

    data: bytes
    status: os.stat_result
    xattrs: dict[str, bytes]


class FstabWriter:
    """Carries out ``add``, ``change``, ``remove`` and ``restore``.

    Args:
        folder: where fstab stands; tests have their own.
        backups: where the old contents are kept, the newest KEEP.
        system: the calls that are used.
        catalogue: of the options; None loads it.
    """

    def __init__(
        self,
        folder: str = FOLDER,
        backups: str = BACKUPS,
        system: System | None = None,
        catalogue: Catalogue | None = None,
    ) -> None:
        self._folder = folder
        self._backups = backups
        self._sys = system or System()
        self._catalogue = catalogue

    def add(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Write a new entry at the end; see the session's schema.

        Raises:
            Refusal: fstab is as it was then.
        """
        return self._carry_out(fstab_text.Edit(None, _wanted(args)), str(args["sha256"]), waiter)

    def change(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Replace the entry of ``old_share`` at ``old_target`` where it stands.

        Raises:
            Refusal: fstab is as it was then.
        """
        old = str(args["old_share"]), str(args["old_target"])
        return self._carry_out(fstab_text.Edit(old, _wanted(args)), str(args["sha256"]), waiter)

    def remove(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Take out the line of the entry of ``share`` at ``target``.

        Raises:
            Refusal: fstab is as it was then.
        """
        old = str(args["share"]), str(args["target"])
        return self._carry_out(fstab_text.Edit(old, None), str(args["sha256"]), waiter)

    def restore(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Take the last change back: every byte is again as the newest backup has it.

        An older backup is refused: it would take other people's changes back too.

        Raises:
            Refusal: fstab is as it was then.
        """
        return self._carry_out(str(args["backup"]), str(args["sha256"]), waiter)

    def _carry_out(self, edit: fstab_text.Edit | str, sha256: str, waiter: Waiter) -> dict[str, object]:
        if self._catalogue is None:
            self._catalogue = load()
        try:
            folder = self._sys.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(error) from error
        try:
            return self._locked(folder, edit, sha256, waiter)
        except OSError as error:
            raise _failed(error) from error
        finally:
            os.close(folder)

    def _edited(self, before: bytes, edit: fstab_text.Edit | str) -> fstab_text.Edited:
        """Return the file after an edit, or as the backup of that path has it."""
        if not isinstance(edit, str):
            return fstab_text.apply(before, edit, cast("Catalogue", self._catalogue))
        try:
            folder = self._sys.open(self._backups, _FOLDER)
        except FileNotFoundError:
            raise Refusal("fstab-refused", "There is no copy of fstab to go back to.") from None
        try:
            names = self._kept(folder)
            if not names or edit != f"{self._backups}/{names[-1]}":
                raise Refusal("fstab-refused", "This copy of fstab is not the newest one.", detail=edit)
            fd = self._sys.open(names[-1], _READ, dir_fd=folder)
            try:
                return fstab_text.Edited(self._read_all(fd), "")
            finally:
                os.close(fd)
        finally:
            os.close(folder)

    @staticmethod
    def _kept(folder: int) -> list[str]:
        """Return the names of the backups, the oldest first."""
        return sorted(name for name in os.listdir(folder) if name.startswith("fstab-"))

    def _locked(
        self, folder: int, edit: fstab_text.Edit | str, sha256: str, waiter: Waiter
    ) -> dict[str, object]:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal("fstab-changed", "Another program is writing fstab right now.") from None
        before = self._read(folder)
        if hashlib.sha256(before.data).hexdigest() != sha256:
            raise Refusal("fstab-changed", "fstab was changed since it was read.")
        edited = self._edited(before.data, edit)
        backup = self._back_up(before.data)
        try:
            self._prepare(folder, before, edited.data)
            warnings = self._verify(waiter)
            self._swap(folder, before)
        except BaseException as error:
            if not (isinstance(error, Refusal) and "kept" in error.data):
                self._discard(folder)
            raise
        self._discard(folder)
        # Only now: the new file is in its place, whatever the disk says of the folder.
        with contextlib.suppress(OSError):
            self._sys.fsync(folder)
        warnings += self._reload(waiter)
        return {"line": edited.line, "backup": backup, "warnings": warnings}

    def _discard(self, folder: int) -> None:
        with contextlib.suppress(OSError):
            self._sys.unlink(TEMPORARY, dir_fd=folder)

    def _read(self, folder: int) -> _Read:
        path = f"{self._folder}/{NAME}"
        if table.at(table.read(), path) is not None:
            raise Refusal("fstab-refused", f"“{path}” is itself a mount, as in a container.")
        try:
            fd = self._sys.open(NAME, _READ, dir_fd=folder)
        except FileNotFoundError:
            raise Refusal("fstab-refused", f"There is no file “{path}”.") from None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise Refusal(
                    "fstab-refused", f"“{path}” is a symbolic link; the system makes it from elsewhere."
                ) from None
            raise
        try:
            status = os.fstat(fd)
            _check_file(path, fd, status)
            xattrs = {name: self._sys.getxattr(fd, name) for name in self._list(fd)}
            return _Read(self._read_all(fd), status, xattrs)
        finally:
            os.close(fd)

    def _list(self, fd: int) -> list[str]:
        try:
            return self._sys.listxattr(fd)
        except OSError as error:
            if error.errno == errno.ENOTSUP:
                return []
            raise

    def _read_all(self, fd: int) -> bytes:
        chunks: list[bytes] = []
        while chunk := self._sys.read(fd, MAX_BYTES + 1):
            chunks.append(chunk)
        data = b"".join(chunks)
        if len(data) > MAX_BYTES:
            raise Refusal("fstab-refused", "fstab is larger than 1 MiB.")
        return data

    def _back_up(self, data: bytes) -> str:
        """Keep the old contents under a dated name, durable before anything is changed."""
        os.makedirs(self._backups, mode=0o700, exist_ok=True)  # noqa: PTH103
        folder = self._sys.open(self._backups, _FOLDER)
        try:
            # The nanoseconds keep two of one second apart, and their order.
            name = time.strftime("fstab-%Y%m%dT%H%M%S", time.gmtime()) + f".{time.time_ns() % 10**9:09d}Z"
            self._create(folder, name, data, None)
            self._sys.fsync(folder)
            for old in self._kept(folder)[:-KEEP]:
                self._sys.unlink(old, dir_fd=folder)
            return f"{self._backups}/{name}"
        finally:
            os.close(folder)

    def _prepare(self, folder: int, before: _Read, data: bytes) -> None:
        """Write the new file beside the old one and read it back."""
        with contextlib.suppress(FileNotFoundError):
            self._sys.unlink(TEMPORARY, dir_fd=folder)  # of a helper that was killed
        self._create(folder, TEMPORARY, data, before)
        fd = self._sys.open(TEMPORARY, _READ, dir_fd=folder)
        try:
            if self._read_all(fd) != data:
                raise Refusal("fstab-failed", "The new file was not read back as it was written.")
        finally:
            os.close(fd)

    def _create(self, folder: int, name: str, data: bytes, like: _Read | None) -> None:
        fd = self._sys.open(name, _CREATE, 0o600, dir_fd=folder)
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._sys.write(fd, rest) :]
            if like is not None:
                self._sys.fchown(fd, like.status.st_uid, like.status.st_gid)
                self._sys.fchmod(fd, stat.S_IMODE(like.status.st_mode))
                for attribute, value in like.xattrs.items():
                    self._sys.setxattr(fd, attribute, value)
            self._sys.fsync(fd)
        finally:
            os.close(fd)

    def _swap(self, folder: int, before: _Read) -> None:
        try:
            self._sys.exchange(TEMPORARY, NAME, folder)
        except OSError as error:
            if error.errno not in {errno.EINVAL, errno.ENOSYS}:
                raise
            self._check_same(folder, NAME, before)
            self._sys.rename(TEMPORARY, NAME, src_dir_fd=folder, dst_dir_fd=folder)
            return
        try:
            self._check_same(folder, TEMPORARY, before)
        except (Refusal, OSError):
            # Somebody else's newer file came out: it goes back to its place.
            self._put_back(folder)
            raise

    def _put_back(self, folder: int) -> None:
        try:
            self._sys.exchange(TEMPORARY, NAME, folder)
        except OSError as error:
            kept = f"{self._folder}/{TEMPORARY}"
            raise Refusal(
                "fstab-failed", f"fstab was exchanged and could not be put back; what it was is in “{kept}”.",
                detail=str(error), data={"kept": kept},
            ) from error  # fmt: skip

    def _check_same(self, folder: int, name: str, before: _Read) -> None:
        fd = self._sys.open(name, _READ, dir_fd=folder)
        try:
            now = os.fstat(fd)
            same = (now.st_dev, now.st_ino) == (before.status.st_dev, before.status.st_ino)
            if not same or self._read_all(fd) != before.data:
                raise Refusal("fstab-changed", "fstab was changed by somebody else at this moment.")
        finally:
            os.close(fd)

    def _verify(self, waiter: Waiter) -> list[str]:
        """Let findmnt(8) judge both files; a new parse error stops, other new complaints are handed on.

        Its other errors are no reason to stop: it calls every missing mount point one, and systemd makes it.
        """
        old = _complaints(f"{self._folder}/{NAME}", waiter)
        new = _complaints(f"{self._folder}/{TEMPORARY}", waiter)
        if waiter.cancelled:
            raise Refusal("cancelled", "Cancelled.")
        if old is None or new is None:
            return ["The new fstab was not checked by findmnt, which is missing or did not answer in time."]
        fresh = [line for line in new if new.count(line) > old.count(line)]
        if "parse error" in fresh:
            raise Refusal("fstab-refused", "findmnt cannot read the new file.", detail="\n".join(fresh))
        return [f"findmnt says of the new fstab: {line}" for line in dict.fromkeys(fresh)]

    def _reload(self, waiter: Waiter) -> list[str]:
        if self._folder != FOLDER or not os.path.isdir("/run/systemd/system"):  # noqa: PTH112
            return []
        program = next((path for path in _SYSTEMCTL if os.access(path, os.X_OK)), None)
        with contextlib.suppress(OSError):
            if program and children.run([program, "daemon-reload"], _RELOAD_S, waiter).code == 0:
                return []
        return ["systemd did not read fstab again; “systemctl daemon-reload” as root does it."]


def _wanted(args: dict[str, object]) -> fstab_text.Wanted:
    words = tuple(cast("list[str]", args["options"]))
    return fstab_text.Wanted(str(args["share"]), str(args["target"]), str(args["fstype"]), words)


def _check_file(path: str, fd: int, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise Refusal("fstab-refused", f"“{path}” is not a plain file with one name.")
    if status.st_uid != os.geteuid():
        raise Refusal("fstab-refused", f"“{path}” does not belong to root.")
    flags = 0
    with contextlib.suppress(OSError):
        flags = struct.unpack("l", fcntl.ioctl(fd, _FS_IOC_GETFLAGS, struct.pack("l", 0)))[0]
    if flags & (_IMMUTABLE | _APPEND_ONLY):
        raise Refusal("fstab-refused", f"“{path}” is locked against changes (chattr).")


def _complaints(path: str, waiter: Waiter) -> list[str] | None:
    """Return what findmnt says of a file, each line with the mount point it is about; None if nothing."""
    program = next((path for path in _FINDMNT if os.access(path, os.X_OK)), None)
    if program is None:
        return None
    try:
        # It looks at the mount points, and never comes back from one on a dead server.
        ended = children.run([program, "--verify", "--tab-file", path], _VERIFY_S, waiter)
    except OSError:
        return None
    if ended.code is None:
        return None
    found: list[str] = []
    about = ""
    for line in ended.text.splitlines():
        if "parse error at line" in line:
            # Neither the file's name nor the line's number is the same in both files.
            found.append("parse error")
        elif "[E]" in line or "[W]" in line:
            found.append(f"{about}: {line.strip()}")
        else:
            about = line.strip()
    return found


def _failed(error: OSError) -> Refusal:
    return Refusal("fstab-failed", "fstab could not be written.", detail=os.strerror(error.errno or 0))
