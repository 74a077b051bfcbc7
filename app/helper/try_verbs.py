"""The verb of the try role: a share is mounted in a private namespace, inspected, and unmounted."""

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

#: Entries of a root directory that are looked at; a pseudo root has a few.
_MAX_NAMES = 500


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the verbs of the role with what carries them out, for one caller."""
    return {"try": TryVerbs(caller).attempt}


class TryVerbs:
    """Carries out the verb for one caller."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._catalogue = load()

    def attempt(self, args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        """Carry out ``try``: mount ``share`` where nobody sees it, look at it, and unmount it.

        With ``names``, the directories in its root are listed as the caller sees them.

        Raises:
            Refusal: with the codes of mounting, or unavailable without the right to make namespaces.
        """
        share = validate.share(str(args["share"]))
        words = list(cast("list[str]", args["options"]))
        free = mount_permission.uncatalogued_options(self._caller, words, share)
        options, notes = mount_nfs.build_options(self._catalogue, words, free)
        deadline_s = mount_nfs.deadline_s(args["timeout_ms"])
        # Without a note in /run/mount/utab, which all namespaces share.
        argv = [*mount_nfs.command(share, callers.OWN_ROOT, options), "-n"]
        reader = self._caller if args.get("names") is True else None
        return {**mount_once(argv, deadline_s, waiter, reader), "command": argv, "notes": notes}


def mount_once(
    argv: Sequence[str], deadline_s: float, waiter: Waiter, reader: Caller | None = None
) -> dict[str, object]:
    """Run a command that mounts at targets.OWN_ROOT, and return what became of it.

    Returns:
        ``fstype``, ``source``, ``options`` (of the superblock), ``mount_options``, ``version``, ``nconnect``
        (connections of the mount), ``read_ahead_kb`` (None if unknown), ``shared`` (another mount had this
        superblock before, and with it its values) and ``text``, what was printed. With a ``reader``:
        ``names`` of the directories in the root as that user sees them, ``names_whole`` (not cut off) and
        ``names_error``, why there are none.

    Raises:
        Refusal: with the codes of mounting, or unavailable without the right to make namespaces.
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
    """List the directories at the root with the rights of the one who asks, who sees no more by a mount."""
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
