"""The verbs of the mount role: mount a share, change a mount in use, say who holds it, unmount it.

A mount belongs to the user it was made for (:mod:`app.helper.mount_record`), and any other to the system.
Its owner may unmount it and change it, root may, and a user whose request an administrator approved. What
fstab lets users unmount (mount(8), ``user`` and ``users``) they may unmount here, too.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, cast

from app.helper import (
    directories,
    mount_nfs,
    mount_permission,
    mount_record,
    mount_users,
    mountinfo,
    policy,
    remounting,
    unmounting,
    utab,
    validate,
)
from app.helper.errors import Refusal
from app.helper.options import load

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.options import Catalogue
    from app.helper.session import Handler


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the verbs of the role with what carries them out, for one caller."""
    verbs = MountVerbs(caller)
    return {
        "mount": verbs.mount,
        "unmount": verbs.unmount,
        "holders": verbs.holders,
        "remount": verbs.remount,
    }


class MountVerbs:
    """Carries out the verbs for one caller. The handlers take validated argument types, not values."""

    def __init__(self, caller: Caller, catalogue: Catalogue | None = None) -> None:
        self._caller = caller
        self._catalogue = catalogue
        #: Whose the mounts made here are: what an administrator approved is the system's, unless it takes the
        #: place of somebody's mount in the same plan.
        self._owner = 0 if caller.administers else caller.uid

    def mount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Mount ``share`` at ``target`` with ``options`` (a list of words); see the session's schema.

        With ``hide``, a directory outside those for mounts may have entries, which the mount hides.

        Raises:
            Refusal: nothing is mounted then, and no directory is left.
        """
        share = validate.share(str(args["share"]))
        path = validate.target(str(args["target"]))
        words = list(cast("list[str]", args["options"]))
        free = mount_permission.uncatalogued_options(self._caller, words, share, path)
        options, notes = mount_nfs.build_options(self._catalogue or load(), words, free)
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        argv = mount_nfs.command(share, path, options)
        mount_permission.permit_mount(self._caller, share, path)
        before = mountinfo.read()
        mount_permission.check_table(before, path)
        if self._caller.uid != 0:
            policy.check_disks(before, path)
        hide = args["hide"] is True and policy.place_of(path) is policy.Place.RESTRICTED
        prepared = directories.prepare(self._caller, path, create=args["create"] is True, hide=hide)
        try:
            row, text = mount_nfs.run(argv, path, before, deadline_s, waiter)
        except BaseException:
            prepared.undo()
            raise
        mount_record.add(row, self._owner, prepared.made)
        return {
            "mount_id": row.mount_id, "device": row.device, "source": row.source, "fstype": row.fstype,
            "created": bool(prepared.made), "command": argv, "text": text, "notes": notes,
        }  # fmt: skip

    def remount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Change ``options`` of the NFS mount at ``target`` while it is in use.

        Raises:
            Refusal: nothing is changed then, or the message says otherwise.
        """
        row = self._permitted(args)
        words = list(cast("list[str]", args["options"]))
        wanted = remounting.NewFlags.read(words, self._catalogue or load())
        if remounting.is_of_superblock(row, wanted):
            self._permit_others_of(row)
        try:
            return remounting.change(row, wanted, mount_nfs.deadline_s(args["timeout_ms"]), waiter)
        finally:
            # Also when it was changed in part.
            mount_record.update(row, mountinfo.topmost(mountinfo.read(), row.mount_point))

    def unmount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Unmount the topmost NFS mount at ``target``, with ``force`` or ``lazy`` if asked.

        The table of mounts decides what happened, not the call: with a dead server the call may never
        return although the mount is gone.

        Raises:
            Refusal: the mount is still there then.
        """
        row = self._permitted(args, to_unmount=True)
        if args["force"] is True:
            self._permit_others_of(row)
        path = row.mount_point
        owner = mount_record.owner(row)
        flags = unmounting.MNT_FORCE * (args["force"] is True) | unmounting.MNT_DETACH * (
            args["lazy"] is True
        )
        unmounting.unmount(row, flags, mount_nfs.deadline_s(args["timeout_ms"]), waiter)
        if self._caller.system:
            self._owner = owner
        rows = mountinfo.read()
        if mountinfo.topmost(rows, path) is None:
            utab.remove_entries(path)
        removed = False
        with contextlib.suppress(Refusal):
            mount_permission.check_table(rows, path)
            removed = mount_record.remove_directories(path)
        mount_record.remove(path, mountinfo.topmost(rows, path))
        return {"removed_directory": removed, "still_mounted": mountinfo.topmost(rows, path) is not None}

    def holders(self, args: dict[str, object], _waiter: Waiter) -> dict[str, object]:
        """Return the ``holders`` of the NFS mount at ``target``: see :mod:`app.helper.mount_users`.

        Raises:
            Refusal: if there is no such mount, or the caller may not unmount it.
        """
        return {"holders": mount_users.find_users(self._permitted(args, to_unmount=True).mount_point)}

    def _permit_others_of(self, row: mountinfo.MountRow) -> None:
        """Check that all mounts that share the superblock are the caller's to change: it is done to all."""
        for other in mountinfo.read():
            if other.device == row.device:
                mount_record.permit_change(self._caller, other, to_unmount=False)

    def _permitted(self, args: dict[str, object], *, to_unmount: bool = False) -> mountinfo.MountRow:
        """Return the topmost mount at ``target``, if it is NFS and the caller may change it."""
        path = validate.target(str(args["target"]))
        row = mountinfo.topmost(mountinfo.read(), path)
        if row is None or row.fstype not in mountinfo.NFS_TYPES:
            raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
        mount_record.permit_change(self._caller, row, to_unmount=to_unmount)
        return row
