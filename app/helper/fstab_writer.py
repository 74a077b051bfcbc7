"""Writer of /etc/fstab: replaces the file atomically, or leaves it unchanged.

A temporary file in the same directory gets the new contents, and the owner, mode, access list and security
label of the old file. It is flushed to disk and then exchanged with fstab (renameat2(2), RENAME_EXCHANGE).
The file that comes out of the exchange must be the one that was read. Otherwise another program has written
meanwhile, and the exchange is undone. At any moment, even after a kill, fstab is the old or the new file.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from typing import TYPE_CHECKING, NamedTuple, cast

from app.helper import children, files, fstab_text, mountinfo
from app.helper.errors import Refusal
from app.helper.files import READ, FileCalls, FileInfo, Files, backups, check, locked, reload_systemd
from app.helper.options import load

if TYPE_CHECKING:
    from app.helper.children import Waiter
    from app.helper.options import Catalogue

FOLDER, NAME = "/etc", "fstab"
BACKUPS = "/var/lib/mountwright/fstab"
TEMPORARY = ".fstab.mountwright"
_FINDMNT = ("/usr/bin/findmnt", "/bin/findmnt")
#: Exists if systemd is process 1 (sd_booted(3)).
_SYSTEMD = "/run/systemd/system"
#: Timeout for one run of findmnt, s.
_VERIFY_S = 5.0


class _FstabFile(NamedTuple):
    """Contents, fstat(2) result and attributes of fstab when it was read."""

    data: bytes
    status: os.stat_result
    look: FileInfo


class FstabWriter:
    """Carries out ``add``, ``change``, ``remove`` and ``restore`` on fstab.

    Args:
        folder: directory of fstab.
        backups: directory of the backups (files.MAX_BACKUPS); the lock file is in its parent directory.
        system: system calls to use; None for the real ones.
        catalogue: options that every user may set; None loads the helper's catalogue.
        free: whether option words may be written that only root may write.
    """

    def __init__(
        self, folder: str = FOLDER, backups: str = BACKUPS, system: FileCalls | None = None,
        catalogue: Catalogue | None = None, *, free: bool = False,
    ) -> None:  # fmt: skip
        self._free = free
        self._folder = folder
        self._backups = backups
        self._sys = system or FileCalls()
        self._files = Files(self._sys)
        self._catalogue = catalogue

    def add(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Append a new entry to fstab.

        Args:
            args: arguments of the verb, as in app.helper.verbs.SCHEMAS.
            waiter: waits for findmnt and systemctl.

        Returns:
            ``line``, the line that was written; ``backup``, path of the backup; ``warnings``.

        Raises:
            Refusal: if the entry is not written; fstab is unchanged.
        """
        return self._carry_out(fstab_text.EntryEdit(None, _new_entry(args)), str(args["sha256"]), waiter)

    def change(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Replace the entry of ``old_share`` at ``old_target`` in its line; returns the same keys as ``add``.

        Raises:
            Refusal: if the entry is not replaced; fstab is unchanged.
        """
        old = str(args["old_share"]), str(args["old_target"])
        return self._carry_out(fstab_text.EntryEdit(old, _new_entry(args)), str(args["sha256"]), waiter)

    def remove(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Remove the line of the entry of ``share`` at ``target``; ``line`` of the result is "".

        Raises:
            Refusal: if the entry is not removed; fstab is unchanged.
        """
        old = str(args["share"]), str(args["target"])
        return self._carry_out(fstab_text.EntryEdit(old, None), str(args["sha256"]), waiter)

    def restore(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Undo the last change: replace the contents of fstab by those of the newest backup.

        An older backup is refused. The newest backup is refused if fstab has changed since, because restoring
        it would undo changes of others too.

        Raises:
            Refusal: if the backup is not restored; fstab is unchanged.
        """
        return self._carry_out(str(args["backup"]), str(args["sha256"]), waiter)

    def _carry_out(self, edit: fstab_text.EntryEdit | str, sha256: str, waiter: Waiter) -> dict[str, object]:
        try:
            folder = self._sys.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise _failed(error) from error
        try:
            with locked(os.path.dirname(self._backups)):  # noqa: PTH120
                return self._locked(folder, edit, sha256, waiter)
        except OSError as error:
            raise _failed(error) from error
        finally:
            os.close(folder)

    def _edited(self, before: bytes, edit: fstab_text.EntryEdit | str) -> fstab_text.NewFstab:
        """Return fstab after an edit, or the contents of a backup if ``edit`` is its path."""
        if not isinstance(edit, str):
            return fstab_text.apply(before, edit, self._catalogue or load(), free=self._free)
        try:
            folder = self._sys.open(self._backups, files.FOLDER)
        except FileNotFoundError:
            raise Refusal("fstab-refused", "There is no copy of fstab to go back to.") from None
        try:
            names = backups(folder, "fstab")
            if not names or edit != f"{self._backups}/{names[-1]}":
                raise Refusal("fstab-refused", "This copy of fstab is not the newest one.", detail=edit)
            if files.checksum_of(names[-1]) != _sha256(before):
                raise Refusal(
                    "fstab-changed",
                    "fstab is no longer as the last change left it, so that change was not taken back.",
                )
            fd = self._sys.open(names[-1], READ, dir_fd=folder)
            try:
                copy = self._files.read_all(fd)
            finally:
                os.close(fd)
            fstab_text.check_copy(before, copy)
            return fstab_text.NewFstab(copy, "")
        finally:
            os.close(folder)

    def _locked(
        self, folder: int, edit: fstab_text.EntryEdit | str, sha256: str, waiter: Waiter
    ) -> dict[str, object]:
        before = self._read(folder)
        if _sha256(before.data) != sha256:
            raise Refusal("fstab-changed", "fstab was changed since it was read.")
        edited = self._edited(before.data, edit)
        backup = self._files.back_up(self._backups, "fstab", before.data, _sha256(edited.data))
        try:
            self._prepare(folder, before, edited.data)
            warnings = self._verify(waiter)
            self._swap(folder, before)
        except BaseException as error:
            if not (isinstance(error, Refusal) and "kept" in error.data):
                self._discard(folder)
            raise
        self._discard(folder)
        if self._folder == FOLDER:
            warnings += reload_systemd("fstab", waiter)
        return {"line": edited.line, "backup": backup, "warnings": warnings}

    def _discard(self, folder: int) -> None:
        with contextlib.suppress(OSError):
            self._sys.unlink(TEMPORARY, dir_fd=folder)

    def _read(self, folder: int) -> _FstabFile:
        path = f"{self._folder}/{NAME}"
        if mountinfo.topmost(mountinfo.read(), path) is not None:
            raise Refusal("fstab-refused", f"“{path}” is itself a mount, as in a container.")
        try:
            fd = self._sys.open(NAME, READ, dir_fd=folder)
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
            check(path, fd, status)
            return _FstabFile(self._files.read_all(fd), status, self._files.look(fd, status))
        finally:
            os.close(fd)

    def _prepare(self, folder: int, before: _FstabFile, data: bytes) -> None:
        """Write the new contents to the temporary file and verify them by reading it back."""
        with contextlib.suppress(FileNotFoundError):
            self._sys.unlink(TEMPORARY, dir_fd=folder)  # left by a killed helper
        self._files.create(folder, TEMPORARY, data, before.look)
        fd = self._sys.open(TEMPORARY, READ, dir_fd=folder)
        try:
            if self._files.read_all(fd) != data:
                raise Refusal("fstab-failed", "The new file was not read back as it was written.")
        finally:
            os.close(fd)

    def _swap(self, folder: int, before: _FstabFile) -> None:
        """Exchange the temporary file with fstab, unless another program is writing to fstab."""
        held = self._sys.open(NAME, READ, dir_fd=folder)
        try:
            leased = self._lease(held)
            try:
                self._sys.exchange(TEMPORARY, NAME, folder)
            except OSError as error:
                if error.errno not in {errno.EINVAL, errno.ENOSYS}:
                    raise
                self._check_same(folder, NAME, before)
                self._sys.rename(TEMPORARY, NAME, src_dir_fd=folder, dst_dir_fd=folder)
                leased = False
            else:
                self._check_exchanged(folder, before)
            # The exchange has happened; an error of fsync on the directory does not undo it.
            with contextlib.suppress(OSError):
                self._sys.fsync(folder)
            # A program that opened the old file for writing before the exchange waits on the lease now.
            if leased and not self._sys.leased(held):
                self._put_back(folder)
                raise Refusal(
                    "fstab-changed", "fstab was opened for writing by somebody else at this moment."
                )
        finally:
            os.close(held)

    def _lease(self, held: int) -> bool:
        try:
            self._sys.lease(held)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                raise Refusal("fstab-changed", "Another program has fstab open for writing.") from None
            return False  # the file system has no leases; only the comparisons detect another writer
        return True

    def _check_exchanged(self, folder: int, before: _FstabFile) -> None:
        try:
            self._check_same(folder, TEMPORARY, before)
        except (Refusal, OSError):
            # The file that came out was written by another program meanwhile, so the exchange is undone.
            self._put_back(folder)
            raise

    def _put_back(self, folder: int) -> None:
        try:
            self._sys.exchange(TEMPORARY, NAME, folder)
            with contextlib.suppress(OSError):
                self._sys.fsync(folder)
        except OSError as error:
            kept = f"{self._folder}/{TEMPORARY}"
            raise Refusal(
                "fstab-failed", f"fstab was exchanged and could not be put back; what it was is in “{kept}”.",
                detail=str(error), data={"kept": kept},
            ) from error  # fmt: skip

    def _check_same(self, folder: int, name: str, before: _FstabFile) -> None:
        fd = self._sys.open(name, READ, dir_fd=folder)
        try:
            now = os.fstat(fd)
            same = (now.st_dev, now.st_ino) == (before.status.st_dev, before.status.st_ino)
            if not same or self._files.read_all(fd) != before.data:
                raise Refusal("fstab-changed", "fstab was changed by somebody else at this moment.")
        finally:
            os.close(fd)

    def _verify(self, waiter: Waiter) -> list[str]:
        """Compare findmnt(8)'s complaints about the old and the new fstab.

        Returns:
            the complaints that only the new file has, as warnings.

        Raises:
            Refusal: code fstab-refused for a new parse error; cancelled.
        """
        old = _complaints(f"{self._folder}/{NAME}", waiter)
        new = _complaints(f"{self._folder}/{TEMPORARY}", waiter)
        if waiter.cancelled:
            raise Refusal("cancelled", "Cancelled.")
        if old is None or new is None:
            return ["The new fstab was not checked by findmnt, which is missing or did not answer in time."]
        # End of the complaint about a missing mount point, which systemd creates (systemd.mount(5), Where=).
        made = f": {os.strerror(errno.ENOENT)}" if os.access(_SYSTEMD, os.F_OK) else "\n"
        fresh = [line for line in new if new.count(line) > old.count(line) and not line.endswith(made)]
        if "parse error" in fresh:
            raise Refusal("fstab-refused", "findmnt cannot read the new file.", detail="\n".join(fresh))
        if "crashed" in [*old, *new]:
            return ["findmnt crashed and checked only a part of the new fstab."]
        # Other complaints are only warnings: findmnt reports even a missing mount point as an error.
        return [f"findmnt says of the new fstab: {line}" for line in dict.fromkeys(fresh)]


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _new_entry(args: dict[str, object]) -> fstab_text.NewEntry:
    words = tuple(cast("list[str]", args["options"]))
    return fstab_text.NewEntry(str(args["share"]), str(args["target"]), str(args["fstype"]), words)


def _complaints(path: str, waiter: Waiter) -> list[str] | None:
    """Return findmnt's complaints about a file, each with its mount point.

    Returns:
        the complaints; None if findmnt is missing or did not end in time.
    """
    program = next((path for path in _FINDMNT if os.access(path, os.X_OK)), None)
    if program is None:
        return None
    try:
        # findmnt examines the mount points, and blocks for ever at one of a dead server.
        ended = children.run([program, "--verify", "--tab-file", path], _VERIFY_S, waiter)
    except OSError:
        return None
    if ended.code is None:
        return None
    found: list[str] = []
    about = ""
    for line in ended.text.splitlines():
        if "parse error at line" in line:
            found.append("parse error")  # without file name and line number, which differ between the files
        elif "[E]" in line or "[W]" in line:
            found.append(f"{about}: {line.strip()}")
        else:
            about = line.strip()
    return [*found, "crashed"] if ended.code < 0 else found  # util-linux 2.41 crashes at a malformed line


def _failed(error: OSError) -> Refusal:
    return Refusal("fstab-failed", "fstab could not be written.", detail=os.strerror(error.errno or 0))
