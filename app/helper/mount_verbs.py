"""Verbs of the mount role: mount a share, remount it, list the processes that use it, unmount it.

A mount belongs to the user that mounted it through the helper (:mod:`app.helper.mount_record`). Every other
mount belongs to root. The owner, root, and system actions may change and unmount it. Users may also unmount a
mount if root's fstab entry permits it (mount(8), ``user`` and ``users``).
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
    """Return the handlers of the role ``mount``, by verb, for one caller."""
    verbs = MountVerbs(caller)
    return {
        "mount": verbs.mount,
        "unmount": verbs.unmount,
        "holders": verbs.holders,
        "remount": verbs.remount,
    }


class MountVerbs:
    """Handlers of the mount verbs for one caller; the types of the arguments are checked before, values here.

    Args:
        caller: user that asks.
        catalogue: options that every user may set; None loads the helper's catalogue.
    """

    def __init__(self, caller: Caller, catalogue: Catalogue | None = None) -> None:
        self._caller = caller
        self._catalogue = catalogue
        #: User id that owns new mounts. In a system action it is root, unless the same plan has unmounted a
        #: user's mount, which the new one replaces.
        self._owner = 0 if caller.administers else caller.uid

    def mount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Mount ``share`` at ``target`` with ``options``, a list of words.

        ``create`` permits to create missing directories. ``hide`` permits a non-empty directory in a
        RESTRICTED place; the mount hides its entries.

        Returns:
            ``mount_id``, ``device``, ``source`` and ``fstype`` from the mount table; ``created``, whether
            directories were created; ``command`` and ``text``, mount.nfs's command and output; ``notes``.

        Raises:
            Refusal: if the mount fails; nothing is mounted then, and created directories are removed.
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
        """Change ``options`` of the NFS mount at ``target`` while it is mounted; see app.helper.remounting.

        Raises:
            Refusal: if the mount was not changed as requested.
        """
        row = self._permitted_row(args)
        words = list(cast("list[str]", args["options"]))
        wanted = remounting.NewFlags.read(words, self._catalogue or load())
        if remounting.is_of_superblock(row, wanted):
            self._permit_superblock(row)
        try:
            return remounting.change(row, wanted, mount_nfs.deadline_s(args["timeout_ms"]), waiter)
        finally:
            # An error may leave the mount partly changed; its record must match it then, too.
            mount_record.update(row, mountinfo.topmost(mountinfo.read(), row.mount_point))

    def unmount(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Unmount the topmost NFS mount at ``target``; ``force`` and ``lazy`` as in umount(8).

        The mount table decides whether it succeeded. With a dead server, umount2(2) may never return although
        the mount is gone.

        Returns:
            ``removed_directory``, whether the directory created for the mount was removed;
            ``still_mounted``, whether another mount is at the mount point.

        Raises:
            Refusal: if the mount is still there.
        """
        row = self._permitted_row(args, to_unmount=True)
        if args["force"] is True:
            self._permit_superblock(row)
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
        """Return the processes that use the NFS mount at ``target``; see :mod:`app.helper.mount_users`.

        Raises:
            Refusal: code not-mounted without an NFS mount; mount-not-yours if the caller may not unmount it.
        """
        return {"holders": mount_users.find_users(self._permitted_row(args, to_unmount=True).mount_point)}

    def _permit_superblock(self, row: mountinfo.MountRow) -> None:
        """Check that the caller may change every mount of the superblock, because all are affected."""
        for other in mountinfo.read():
            if other.device == row.device:
                mount_record.permit_change(self._caller, other, to_unmount=False)

    def _permitted_row(self, args: dict[str, object], *, to_unmount: bool = False) -> mountinfo.MountRow:
        """Return the topmost mount at ``target`` if it is NFS and the caller may change or unmount it."""
        path = validate.target(str(args["target"]))
        row = mountinfo.topmost(mountinfo.read(), path)
        if row is None or row.fstype not in mountinfo.NFS_TYPES:
            raise Refusal("not-mounted", f"No NFS mount is at “{path}”.")
        mount_record.permit_change(self._caller, row, to_unmount=to_unmount)
        return row
