"""Writer of the udev rules that save a readahead: writes or removes one rule atomically, under the lock.

:mod:`app.helper.readahead_rule` builds the rule from a mount point and a number. An undo is another request
with the earlier number, or a removal. A file that differs from what this program wrote is never changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING, cast

from app.helper import children, files, mountinfo, policy, readahead_rule, validate
from app.helper.errors import Refusal

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.children import Waiter

#: Directory of the lock file.
STATE = "/var/lib/mountwright"
_TEMPORARY = ".mountwright.tmp"
#: Most rules of this program. udev reads every file at its start, so users must not fill the directory.
MAX_RULES = 256
#: Exists while udevd runs (systemd, src/udev/udev-ctrl.c).
_UDEVD = "/run/udev/control"
_UDEVADM = ("/usr/bin/udevadm", "/bin/udevadm", "/usr/sbin/udevadm", "/sbin/udevadm")
#: Timeout for udevadm, s.
_RELOAD_S = 10.0


class ReadaheadWriter:
    """Carries out ``readahead-save`` and ``readahead-remove`` for one caller.

    Args:
        caller: user that asks for the change.
        folder: directory of the rules.
        state: directory of the lock file.
        system: system calls to use; None for the real ones.
        program: program that the rules run.
    """

    def __init__(
        self, caller: Caller, folder: str = readahead_rule.FOLDER, state: str = STATE,
        system: files.FileCalls | None = None, program: str = readahead_rule.PROGRAM,
    ) -> None:  # fmt: skip
        self._caller = caller
        self._folder = folder
        self._state = state
        self._sys = system or files.FileCalls()
        self._files = files.Files(self._sys)
        self._program = program

    def save(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Write the rule that gives ``target`` the readahead ``read_ahead_kb`` at each mount.

        Returns:
            ``file``, path of the rule; ``sha256``, its checksum; ``warnings``.

        Raises:
            Refusal: if the rule is not written; an existing rule is unchanged.
        """
        target = validate.target(str(args["target"]))
        row = mountinfo.topmost(mountinfo.read(), target)
        if row is None or row.fstype not in mountinfo.NFS_TYPES:
            # The role may tune every active NFS mount. Without one, the mount point must be a place where the
            # caller may configure a mount.
            policy.permit_place(self._caller, target)
        if not os.access(self._program, os.X_OK):
            raise Refusal("helper-missing", f"“{self._program}”, which the rule runs, is not installed.")
        new = readahead_rule.text(target, cast("int", args["read_ahead_kb"]))
        return self._carry_out(target, new, str(args["sha256"]), waiter)

    def remove(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Remove the rule of ``target``; its next mount gets the default readahead.

        Raises:
            Refusal: code not-mounted if there is no rule; with any code, the rule is unchanged.
        """
        return self._carry_out(validate.target(str(args["target"])), None, str(args["sha256"]), waiter)

    def _carry_out(self, target: str, new: bytes | None, sha256: str, waiter: Waiter) -> dict[str, object]:
        name = readahead_rule.name(target)
        with files.locked(self._state):
            try:
                folder = self._open_folder(new)
                try:
                    old = self._read(folder, name)
                    self._check(folder, name, old, new, sha256)
                    if waiter.cancelled:
                        raise Refusal("cancelled", "Cancelled.")
                    self._put(folder, name, old, new)
                finally:
                    os.close(folder)
            except OSError as error:
                why = os.strerror(error.errno or 0)
                raise Refusal("fstab-failed", "The udev rule could not be written.", detail=why) from error
        return {
            "file": f"{self._folder}/{name}",
            "sha256": hashlib.sha256(new).hexdigest() if new is not None else "",
            "warnings": self._reload(waiter),
        }

    def _open_folder(self, new: bytes | None) -> int:
        try:
            folder = self._sys.open(self._folder, files.FOLDER)
        except FileNotFoundError:
            if new is None:
                raise _not_saved() from None
            raise Refusal("unavailable", f"There is no “{self._folder}”: udev is not used here.") from None
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            os.close(folder)
            raise Refusal("fstab-refused", f"Users other than root can change “{self._folder}”.")
        return folder

    def _read(self, folder: int, name: str) -> bytes | None:
        try:
            fd = self._sys.open(name, files.READ, dir_fd=folder)
        except FileNotFoundError:
            return None
        try:
            files.check(f"{self._folder}/{name}", fd, os.fstat(fd))
            return self._files.read_all(fd)
        finally:
            os.close(fd)

    def _check(self, folder: int, name: str, old: bytes | None, new: bytes | None, sha256: str) -> None:
        if old is None and new is None:
            raise _not_saved()
        if old is not None and readahead_rule.read(old) is None:
            raise Refusal(
                "fstab-refused",
                f"“{self._folder}/{name}” is not as this program wrote it: whoever changed it removes it.",
            )
        if (hashlib.sha256(old).hexdigest() if old is not None else "") != sha256:
            raise Refusal("fstab-changed", "The saved readahead was changed since it was read.")
        if (
            old is None
            and len([one for one in os.listdir(folder) if readahead_rule.is_name(one)]) >= MAX_RULES
        ):
            raise Refusal("fstab-refused", f"The readahead of {MAX_RULES} mount points is saved already.")

    def _put(self, folder: int, name: str, old: bytes | None, new: bytes | None) -> None:
        with contextlib.suppress(FileNotFoundError):  # left by a killed helper
            self._sys.unlink(_TEMPORARY, dir_fd=folder)
        if new is None:
            self._sys.unlink(name, dir_fd=folder)
        else:
            try:
                look = files.FileInfo(os.geteuid(), os.getegid(), 0o644, {})
                self._files.create(folder, _TEMPORARY, new, look)
                self._check_same(folder, name, old)
                self._sys.rename(_TEMPORARY, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._sys.unlink(_TEMPORARY, dir_fd=folder)
                raise
        with contextlib.suppress(OSError):  # the change has been made; a failed fsync does not undo it
            self._sys.fsync(folder)

    def _check_same(self, folder: int, name: str, old: bytes | None) -> None:
        if self._read(folder, name) != old:
            raise Refusal("fstab-changed", "The udev rule was changed by somebody else at this moment.")

    def _reload(self, waiter: Waiter) -> list[str]:
        """Run ``udevadm control --reload`` if udevd runs; return a list with a warning if that failed."""
        if self._folder != readahead_rule.FOLDER or not os.path.exists(_UDEVD):  # noqa: PTH110
            return []
        program = next((path for path in _UDEVADM if os.access(path, os.X_OK)), None)
        with contextlib.suppress(OSError):
            if program and children.run([program, "control", "--reload"], _RELOAD_S, waiter).code == 0:
                return []
        return ["udev did not read its rules again. “udevadm control --reload” as root does it."]


def _not_saved() -> Refusal:
    return Refusal("not-mounted", "No readahead is saved for this mount point.")
