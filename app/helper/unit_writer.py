"""Writer of systemd units: a mount unit, its automount unit and the links that enable them.

Each file is replaced atomically by a flushed temporary file of the same directory, so it is the old or the
new file at any moment. After an error the changes made so far are undone. Files that do not begin with
unit_text.MARKER are never changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING, cast

from app.helper import callers, files, policy, unit_text, validate
from app.helper.errors import Refusal
from app.helper.options import load

if TYPE_CHECKING:
    from app.helper.children import Waiter
    from app.helper.options import Catalogue

FOLDER = "/etc/systemd/system"
BACKUPS = "/var/lib/mountwright/units"
#: Directories of units that this program does not write; a unit of the same name there is a conflict.
OTHERS = ("/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
          "/lib/systemd/system")  # fmt: skip
TEMPORARY = ".mountwright.tmp"

#: Files and links by name: contents of a file, target of a link, or None for a missing one.
State = dict[str, bytes | str | None]


class UnitWriter:
    """Carries out ``unit-write`` and ``unit-remove``.

    Args:
        folder: directory of the units.
        backups: directory of the backups; the lock file is in its parent directory.
        system: system calls to use; None for the real ones.
        catalogue: options that every user may set; None loads the helper's catalogue.
        free: whether option words may be written that only root may write.
    """

    def __init__(
        self, folder: str = FOLDER, backups: str = BACKUPS, system: files.FileCalls | None = None,
        catalogue: Catalogue | None = None, *, free: bool = False,
    ) -> None:  # fmt: skip
        self._free = free
        #: Option words of the units found by this process, by (share, mount point); they may be rewritten.
        self._found: dict[tuple[str, str], set[str]] = {}
        self._folder = folder
        self._backups = backups
        self._state = os.path.dirname(backups)  # noqa: PTH120
        self._sys = system or files.FileCalls()
        self._files = files.Files(self._sys)
        self._catalogue = catalogue

    def write(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Write and enable the units of ``target``; existing units of this program are replaced.

        Returns:
            ``mount`` and ``automount``, the texts of the units; ``sha256``, their checksum; ``backup``, path
            of the backup, "" for none; ``warnings``.

        Raises:
            Refusal: if they are not written; the old units are restored, unless the message says otherwise.
        """
        words = tuple(cast("list[str]", args["options"]))
        share, target = str(args["share"]), str(args["target"])
        wanted = unit_text.NewUnits(
            share, target, words, args["automount"] is True, cast("int", args["idle_s"])
        )
        self._remember_words(target)
        free = words if self._free else self._found.get((share, target), set())
        units = unit_text.build(wanted, self._catalogue or load(), free)
        new: State = dict.fromkeys(unit_text.unit_paths(target))
        new[unit_text.name(target)] = units.mount.encode()
        new[unit_text.name(target, "automount")] = units.automount.encode() or None
        for link in units.links:
            new[link] = f"{self._folder}/{os.path.basename(link)}"  # noqa: PTH119
        with files.locked(self._state):
            done = self._carry_out(target, new, str(args["sha256"]), waiter)
        if any(point == target for _share, point in policy.read_fstab()):
            warning = f"fstab has an entry for “{target}” too; systemd goes by the unit, mount by the entry."
            cast("list[str]", done["warnings"]).append(warning)
        return {**done, "mount": units.mount, "automount": units.automount}

    def remove(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Disable and remove the units of ``target``; returns ``sha256`` (""), ``backup`` and ``warnings``.

        Raises:
            Refusal: if they are not removed; the old units are restored, unless the message says otherwise.
        """
        target = validate.target(str(args["target"]))
        self._remember_words(target)
        gone: State = dict.fromkeys(unit_text.unit_paths(target))
        with files.locked(self._state):
            return self._carry_out(target, gone, str(args["sha256"]), waiter)

    def _remember_words(self, target: str) -> None:
        """Remember the option words of the existing unit of a mount point."""
        path = f"{self._folder}/{unit_text.name(target)}"
        share, words = unit_text.read(os.fsdecode(callers.read_small(path)))
        self._found.setdefault((share, target), set()).update(words)

    def _carry_out(self, target: str, new: State, sha256: str, waiter: Waiter) -> dict[str, object]:
        try:
            folder = self._sys.open(self._folder, files.FOLDER)
        except FileNotFoundError:
            raise Refusal(
                "unavailable", f"There is no folder “{self._folder}”: systemd is not used here."
            ) from None
        except OSError as error:
            raise _failed(error) from error
        try:
            old: State = {name: self._read(folder, name) for name in new}
            self._check(target, old, new, sha256)
            backup = self._back_up(old)
            if waiter.cancelled:
                raise Refusal("cancelled", "Cancelled.")
            for place in {os.path.dirname(name) for name in new}:  # noqa: PTH120
                with contextlib.suppress(FileNotFoundError):  # left by a killed helper
                    self._sys.unlink(os.path.join(place, TEMPORARY), dir_fd=folder)  # noqa: PTH118
            self._change(folder, old, new)
            self._flush(folder, new)
        except OSError as error:
            raise _failed(error) from error
        finally:
            os.close(folder)
        pair = [cast("bytes | None", new[name]) for name in unit_text.unit_paths(target)[:2]]
        warnings = files.reload_systemd("its units", waiter) if self._folder == FOLDER else []
        return {"sha256": unit_text.pair_sha256(pair[0], pair[1]), "backup": backup, "warnings": warnings}

    def _read(self, folder: int, name: str) -> bytes | str | None:
        """Return the state of a name: contents of a unit, target of an enabling link, None if missing.

        Raises:
            Refusal: if a unit is not a regular file, or an enabling name is not a link.
        """
        path = f"{self._folder}/{name}"
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if "/" in name and stat.S_ISLNK(found.st_mode):
            return os.readlink(name, dir_fd=folder)
        if "/" in name or not stat.S_ISREG(found.st_mode):
            raise Refusal("fstab-refused", f"“{path}” was not made by this program.")
        fd = self._sys.open(name, files.READ, dir_fd=folder)
        try:
            files.check(path, fd, os.fstat(fd))
            return self._files.read_all(fd)
        finally:
            os.close(fd)

    def _check(self, target: str, old: State, new: State, sha256: str) -> None:
        for name in unit_text.unit_paths(target)[:2]:
            data = cast("bytes | None", old[name])
            if data is not None and data.partition(b"\n")[0] != unit_text.MARKER.encode():
                raise Refusal("fstab-refused", f"“{self._folder}/{name}” was not made by this program.")
            other = next((f for f in OTHERS if os.path.lexists(f"{f}/{name}")), "") if new[name] else ""
            if other:
                raise Refusal("fstab-refused", f"There is a unit “{other}/{name}” of somebody else.")
        pair = [cast("bytes | None", old[name]) for name in unit_text.unit_paths(target)[:2]]
        if unit_text.pair_sha256(pair[0], pair[1]) != sha256:
            raise Refusal("fstab-changed", "The units were changed since they were read.")
        if pair == [None, None] and not any(new.values()):
            raise Refusal("not-mounted", f"There are no units of this program for “{target}”.")

    def _back_up(self, old: State) -> str:
        kept = [
            f"# {self._folder}/{name}\n".encode() + data
            for name, data in old.items()
            if isinstance(data, bytes)
        ]
        return self._files.back_up(self._backups, "units", b"\n".join(kept)) if kept else ""

    def _change(self, folder: int, old: State, new: State) -> None:
        """Bring every name from its old to its new state; after an error, restore the old states.

        Raises:
            Refusal: code fstab-failed if an old state cannot be restored.
        """
        begun: list[str] = []
        try:
            # Links are created last and removed first, so that no link is ever dangling.
            for name in sorted(new, key=lambda name: ("/" in name) != (new[name] is None)):
                if old[name] != new[name]:
                    self._check_same(folder, name, old[name])
                    begun.append(name)
                    self._put(folder, name, new[name])
        except BaseException as error:
            lost = [name for name in reversed(begun) if not self._put_back(folder, name, old[name])]
            if lost:
                where = ", ".join(f"“{self._folder}/{name}”" for name in lost)
                raise Refusal(
                    "fstab-failed", f"These could not be put back: {where}.", detail=str(error)
                ) from error
            raise

    def _check_same(self, folder: int, name: str, state: bytes | str | None) -> None:
        if self._read(folder, name) != state:
            raise Refusal("fstab-changed", "The units were changed by somebody else at this moment.")

    def _put_back(self, folder: int, name: str, state: bytes | str | None) -> bool:
        try:
            self._put(folder, name, state)
        except OSError:
            return False
        return True

    def _put(self, folder: int, name: str, state: bytes | str | None) -> None:
        """Atomically write a file (bytes), make a link (str) or remove the name (None)."""
        place = os.path.dirname(name)  # noqa: PTH120
        if state is None:
            with contextlib.suppress(FileNotFoundError):
                self._sys.unlink(name, dir_fd=folder)
            return
        if place:
            previous = os.umask(0o022)
            try:
                with contextlib.suppress(FileExistsError):
                    self._sys.mkdir(place, 0o755, dir_fd=folder)
            finally:
                os.umask(previous)
        temporary = os.path.join(place, TEMPORARY)  # noqa: PTH118
        try:
            if isinstance(state, str):
                self._sys.symlink(state, temporary, dir_fd=folder)
            else:
                self._files.create(
                    folder, temporary, state, files.FileInfo(os.geteuid(), os.getegid(), 0o644, {})
                )
            self._sys.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                self._sys.unlink(temporary, dir_fd=folder)
            raise

    def _flush(self, folder: int, new: State) -> None:
        # The files have been replaced; an error of fsync on a directory does not undo that.
        with contextlib.suppress(OSError):
            self._sys.fsync(folder)
        for place in sorted({os.path.dirname(name) for name in new} - {""}):  # noqa: PTH120
            with contextlib.suppress(OSError):
                fd = self._sys.open(place, files.FOLDER, dir_fd=folder)
                try:
                    self._sys.fsync(fd)
                finally:
                    os.close(fd)


def _failed(error: OSError) -> Refusal:
    return Refusal("fstab-failed", "The units could not be written.", detail=os.strerror(error.errno or 0))
