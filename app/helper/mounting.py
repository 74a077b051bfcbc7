"""The verbs of the mount role: mount a share, unmount one."""

from __future__ import annotations

import ctypes
import errno
import os
import select
import time
from typing import TYPE_CHECKING, cast

from app.helper import children, holders, made, table, targets, utab, validate
from app.helper.errors import Refusal
from app.helper.options import ALWAYS, Catalogue, load

if TYPE_CHECKING:
    from app.helper.children import Waiter
    from app.helper.targets import Caller

#: mount.nfs is run itself, not mount(8): one process instead of two, and its own text and exit code.
MOUNT_NFS = ("/usr/sbin/mount.nfs", "/sbin/mount.nfs")
MIN_DEADLINE_MS, MAX_DEADLINE_MS = 500, 150_000
# umount2(2)
_MNT_FORCE, _MNT_DETACH, _UMOUNT_NOFOLLOW = 1, 2, 8
#: After the mount has left the table: how long the kernel may take to say goodbye to the server.
_FAREWELL_S = 5.0
_POLL_S = 0.05


class Mounting:
    """Carries out the verbs for one caller. The handlers take validated argument types, not values."""

    def __init__(self, caller: Caller, catalogue: Catalogue | None = None) -> None:
        self._caller = caller
        self._catalogue = catalogue

    def mount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Mount ``share`` at ``target`` with ``options`` (a list of words); see the session's schema.

        Raises:
            Refusal: nothing is mounted then, and no directory is left.
        """
        share = validate.share(str(args["share"]))
        path = validate.target(str(args["target"]))
        words = list(cast("list[str]", args["options"]))
        options, notes = self._options(words)
        deadline_s = _deadline(args["timeout_ms"])
        program = next((p for p in MOUNT_NFS if os.access(p, os.X_OK)), None)
        if program is None:
            raise Refusal("mount-nfs-missing", "The program mount.nfs is not installed.")
        targets.permit_mount(self._caller, share, path)
        before = table.read()
        targets.check_table(before, path)
        prepared = targets.prepare(self._caller, path, create=args["create"] is True)
        argv = [program, share, path, "-o", ",".join(options)]
        try:
            ended = children.run(argv, deadline_s, waiter)
            row = _verify(ended, before, path)
        except BaseException:
            _withdraw(before, path)
            prepared.undo()
            raise
        made.note(path, prepared)
        return {
            "mount_id": row.mount_id, "device": row.device, "source": row.source, "fstype": row.fstype,
            "created": bool(prepared.made), "command": argv, "text": ended.text, "notes": notes,
        }  # fmt: skip

    def _options(self, words: list[str]) -> tuple[tuple[str, ...], list[str]]:
        notes: list[str] = []
        if "bg" in words:
            # A mount.nfs in the background would outlive its deadline and mount at any later time.
            words = [word for word in words if word != "bg"]
            notes.append("foreground")
        if self._catalogue is None:
            self._catalogue = load()
        built = self._catalogue.build(words)
        if not any(word.startswith("retry=") for word in built):
            # By default mount.nfs tries for two minutes and says why only at their end.
            built = (*built, "retry=0")
        return (*built, *ALWAYS), notes

    def unmount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Unmount the topmost NFS mount at ``target``, with ``force`` or ``lazy`` if asked.

        The table of mounts decides what happened, not the call: with a dead server the call may never
        return although the mount is gone.

        Raises:
            Refusal: the mount is still there then.
        """
        row = self._own_row(args)
        path = row.mount_point
        flags = (_MNT_FORCE if args["force"] is True else 0) | (_MNT_DETACH if args["lazy"] is True else 0)
        _remove(row, flags, _deadline(args["timeout_ms"]), waiter)
        rows = table.read()
        if table.at(rows, path) is None:
            utab.forget(path)
        removed = _is_free(rows, path) and made.remove(path)
        return {"removed_directory": removed, "still_mounted": table.at(rows, path) is not None}

    def holders(self, args: dict[str, object], _waiter: Waiter) -> dict[str, object]:
        """Return the ``holders`` of the NFS mount at ``target``: see :mod:`app.helper.holders`.

        Raises:
            Refusal: if there is no such mount, or the caller may not unmount it.
        """
        return {"holders": holders.find(self._own_row(args).mount_point)}

    def _own_row(self, args: dict[str, object]) -> table.Row:
        """Return the topmost mount at ``target``, if it is NFS and the caller may change it."""
        path = validate.target(str(args["target"]))
        row = table.at(table.read(), path)
        if row is None or row.fstype not in table.NFS_TYPES:
            raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
        targets.permit_unmount(self._caller, path)
        return row


def _deadline(value: object) -> float:
    if not isinstance(value, int) or not MIN_DEADLINE_MS <= value <= MAX_DEADLINE_MS:
        raise Refusal("usage", "The time limit is out of range.")
    return value / 1000


def _verify(ended: children.Ended, before: list[table.Row], path: str) -> table.Row:
    """Return the new row of the table if it is the mount that was wanted.

    The source is not compared: a 4.1 server reached by another address shows the first one (trunking),
    and a referral shows another server. The row is new, stands at a path that only root can change, and
    is NFS.

    Raises:
        Refusal: otherwise.
    """
    if ended.cancelled:
        raise Refusal("cancelled", "Cancelled.")
    if ended.code is None:
        raise _failed("mount.nfs did not end in time.", ended, timed_out=True)
    if ended.code != 0:
        raise _failed("mount.nfs failed.", ended)
    row = _new_row(before, path)
    if row is None:
        raise _failed("mount.nfs ended without an error, but nothing is mounted.", ended)
    if row.fstype not in table.NFS_TYPES or not {"nosuid", "nodev"} <= set(row.options):
        raise _failed("The mount came out without “nosuid,nodev” and was removed.", ended)
    return row


def _failed(message: str, ended: children.Ended, *, timed_out: bool = False) -> Refusal:
    data: dict[str, object] = {"exit_code": ended.code, "timed_out": timed_out}
    return Refusal("mount-failed", message, detail=ended.text.strip(), data=data)


def _new_row(before: list[table.Row], path: str) -> table.Row | None:
    known = {row.mount_id for row in before}
    return table.at([row for row in table.read() if row.mount_id not in known], path)


def _withdraw(before: list[table.Row], path: str) -> None:
    """Take away what a failed or killed mount.nfs left at the path after all."""
    row = _new_row(before, path)
    if row is not None and row.fstype in table.NFS_TYPES:
        try:
            _remove(row, _MNT_DETACH, _FAREWELL_S, _Deaf())
        except Refusal:
            return


class _Deaf:
    """A Waiter for clearing up: nothing interrupts it."""

    cancelled = False

    def wait(self, fds: object, timeout_s: float) -> set[int]:
        """Wait for the time alone."""
        select.select([], [], [], timeout_s)
        return set()


def _remove(row: table.Row, flags: int, deadline_s: float, waiter: Waiter) -> None:
    """Unmount the row's mount in a disposable child and wait until the table says that it is gone."""
    path = os.fsencode(row.mount_point)
    child = children.Disposable(lambda: _umount2(path, flags | _UMOUNT_NOFOLLOW))
    end = time.monotonic() + deadline_s
    status: int | None = None
    try:
        while _is_there(row):
            status = child.status() if status is None else status
            if status is not None and _is_there(row):
                raise _not_removed(row, status)
            if waiter.cancelled:
                raise Refusal("cancelled", "Cancelled.")
            if time.monotonic() >= end:
                raise Refusal(
                    "not-responding", f"The mount at “{row.mount_point}” could not be removed in time."
                )
            waiter.wait({child.pidfd}, _POLL_S)
        # What was written is flushed after the mount has left the table: a live server gets its time.
        if status is None:
            children.wait_quietly(child.pidfd, 0.5 if flags else _FAREWELL_S)
    finally:
        child.dispose()


def _is_there(row: table.Row) -> bool:
    return any(now.mount_id == row.mount_id and now.device == row.device for now in table.read())


def _is_free(rows: list[table.Row], path: str) -> bool:
    try:
        targets.check_table(rows, path)
    except Refusal:
        return False
    return True


def _not_removed(row: table.Row, status: int) -> Refusal:
    path = row.mount_point
    if status == errno.EBUSY:
        found = holders.find(path)
        below = [
            r.mount_point
            for r in table.read()
            if r.mount_point != path and table.is_within(r.mount_point, path)
        ]
        detail = [f"{h['command']} (process {h['pid']}): {h['use']}" for h in found]
        detail += [f"mounted below: {name}" for name in below]
        return Refusal(
            "busy", f"The mount at “{path}” is in use.", detail="\n".join(detail), data={"holders": found}
        )
    text = os.strerror(status) if status < 255 else "the call broke off"
    return Refusal("not-responding", f"The mount at “{path}” could not be removed.", detail=f"umount: {text}")


def _umount2(path: bytes, flags: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return 0 if libc.umount2(path, flags) == 0 else ctypes.get_errno()
