"""Verb of the try role: mounts a share in a private namespace, inspects it and unmounts it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from app.helper import callers, mount_nfs, mount_permission, mountinfo, private_mount, unmounting, validate
from app.helper.errors import Refusal, body, printable
from app.helper.options import load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.session import Handler

#: Most entries of the root directory that are read; the pseudo root of an NFS 4 server has only a few.
_MAX_NAMES = 500


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the handlers of the role ``try``, by verb, for one caller."""
    return {"try": TryVerbs(caller).attempt}


class TryVerbs:
    """Handler of the verb ``try`` for one caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._catalogue = load()

    def attempt(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Carry out ``try``: mount ``share`` in a private namespace, inspect it, and unmount it.

        With ``names``, the directories in its root are listed with the caller's permissions.

        Returns:
            the values of :func:`mount_once`, ``command`` and ``notes``.

        Raises:
            Refusal: if the mount fails; code unavailable if namespaces cannot be created.
        """
        share = validate.share(str(args["share"]))
        words = list(cast("list[str]", args["options"]))
        free = mount_permission.uncatalogued_options(self._caller, words, share)
        options, notes = mount_nfs.build_options(self._catalogue, words, free)
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        # -n: no entry in /run/mount/utab, which all mount namespaces share.
        argv = [*mount_nfs.command(share, callers.OWN_ROOT, options), "-n"]
        reader = self._caller if args.get("names") is True else None
        return {**mount_once(argv, deadline_s, waiter, reader), "command": argv, "notes": notes}


def mount_once(
    argv: Sequence[str], deadline_s: float, waiter: Waiter, reader: Caller | None = None
) -> dict[str, object]:
    """Run a mount command for callers.OWN_ROOT in a private namespace, and inspect the mount.

    Args:
        argv: command of mount.nfs.
        deadline_s: time limit, s.
        waiter: waits for the child and reports a cancellation.
        reader: user with whose permissions the root directory is listed; None for no list.

    Returns:
        ``fstype``, ``source``, ``options`` (of the superblock), ``mount_options``, ``version``, ``nconnect``
        (number of connections), ``read_ahead_kb`` (None if unknown), ``shared`` (whether another mount had
        this superblock before, so that its option values hold) and ``text``, the output of the command. With
        a ``reader``: ``names`` of the directories in the root, ``names_whole`` (whether the list is complete)
        and ``names_error``, the error if the root cannot be listed.

    Raises:
        Refusal: if the mount fails; code unavailable if namespaces cannot be created.
    """
    child = private_mount.NamespaceChild(
        lambda line: private_mount.write_message(
            line, _attempt(argv, deadline_s, private_mount.PipeWaiter(line), reader)
        )
    )
    try:
        answer = child.hear(deadline_s, waiter)
    finally:
        child.end()
    if answer is None:
        raise Refusal("mount-failed", "The test mount broke off.", data={"exit_code": None})
    return answer


def _attempt(
    argv: Sequence[str], deadline_s: float, waiter: private_mount.PipeWaiter, reader: Caller | None
) -> dict[str, object]:
    before = mountinfo.read()
    try:
        row, text = mount_nfs.run(argv, callers.OWN_ROOT, before, deadline_s, waiter)
        try:
            found = private_mount.inspect(row, before)
            if reader is not None:
                found |= _names(reader)
        finally:
            unmounting.unmount(row, 0, unmounting.TIMEOUT_S, unmounting.NeverCancelled())
    except Refusal as refusal:
        return {"error": body(refusal)}
    return {"ok": {**found, "text": text}}


def _names(reader: Caller) -> dict[str, object]:
    """List the directories in the root of the mount, with the user's own permissions and no other groups."""
    names: list[str] = []
    whole, problem = True, ""
    os.setgroups([])
    os.setegid(reader.gid)
    os.seteuid(reader.uid)
    try:
        with os.scandir(os.fsencode(callers.OWN_ROOT)) as entries:
            for count, entry in enumerate(entries):
                if count == _MAX_NAMES:
                    whole = False
                    break
                if entry.is_dir(follow_symlinks=False):
                    names.append(printable(entry.name))
    except OSError as error:
        problem = os.strerror(error.errno or 0)
    finally:
        os.seteuid(0)
        os.setegid(0)
    return {"names": sorted(names), "names_whole": whole, "names_error": problem}
