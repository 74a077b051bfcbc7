"""Verbs of the persist role: add, change, remove and restore entries of fstab."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from app.helper import callers, fstab_text, fstab_writer, policy, user_entries
from app.helper.entry_permission import permit_entry_change, permit_new_entry
from app.helper.errors import Refusal
from app.helper.fstab_writer import FstabWriter

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.session import Handler

    Args = dict[str, object]
    Answer = dict[str, object]


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the handlers of the role ``persist``, by verb, for one caller."""
    verbs = FstabVerbs(caller)
    return {"add": verbs.add, "change": verbs.change, "remove": verbs.remove, "restore": verbs.restore}


class FstabVerbs:
    """Handlers of the persist verbs: check the caller's permission, then let FstabWriter write.

    Args:
        caller: user that asks for the changes.
        writer: writer of fstab; None for the one of /etc/fstab.
    """

    def __init__(self, caller: Caller, writer: FstabWriter | None = None) -> None:
        self._caller = caller
        self._fstab = writer or FstabWriter(free=caller.administers)

    def add(self, args: Args, waiter: Waiter) -> Answer:
        """Add an entry for ``share`` at ``target`` to fstab.

        Raises:
            Refusal: if the entry is not written; fstab is unchanged.
        """
        permit_new_entry(self._caller, args)
        with self._recorded_author(args):
            return self._fstab.add(args, waiter)

    def change(self, args: Args, waiter: Waiter) -> Answer:
        """Replace the entry of ``old_share`` at ``old_target``.

        Raises:
            Refusal: if the entry is not replaced; fstab is unchanged.
        """
        old = str(args["old_share"]), str(args["old_target"])
        permit_entry_change(self._caller, old[1])
        if old == (args["share"], args["target"]):
            # With the same share and mount point, the entry keeps its author, so no record is needed.
            return self._fstab.change(args, waiter)
        permit_new_entry(self._caller, args)
        with self._recorded_author(args):
            answer = self._fstab.change(args, waiter)
        user_entries.remove(*old)
        return answer

    def remove(self, args: Args, waiter: Waiter) -> Answer:
        """Remove the entry of ``share`` at ``target`` from fstab.

        Raises:
            Refusal: if the entry is not removed; fstab is unchanged.
        """
        share, path = str(args["share"]), str(args["target"])
        permit_entry_change(self._caller, path)
        answer = self._fstab.remove(args, waiter)
        user_entries.remove(share, path)
        return answer

    def restore(self, args: Args, waiter: Waiter) -> Answer:
        """Restore the newest backup of fstab, if it differs only in entries that the caller may change.

        Raises:
            Refusal: if the backup is not restored; fstab is unchanged.
        """
        backup = str(args["backup"])
        if not self._caller.administers:
            if os.path.dirname(backup) != fstab_writer.BACKUPS:  # noqa: PTH120
                raise Refusal("fstab-refused", "There is no such copy of fstab.")
            now, then = (_entries(path) for path in (policy.FSTAB, backup))
            for entry in now ^ then:
                permit_entry_change(self._caller, entry.target)
        return self._fstab.restore(args, waiter)

    @contextlib.contextmanager
    def _recorded_author(self, args: Args) -> Generator[None]:
        """Record the author of an entry that is written in this context.

        For an ordinary user's entry in a RESTRICTED place the record is added before the entry is written.
        For root's entry an existing record is removed afterwards.
        """
        share, path = str(args["share"]), str(args["target"])
        fresh = self._caller.uid != 0 and not user_entries.contains(share, path)
        if fresh and policy.place_of(path) is policy.Place.RESTRICTED:
            user_entries.add(share, path, self._caller.uid)
        try:
            yield
        except BaseException:
            if fresh:
                user_entries.remove(share, path)
            raise
        if self._caller.uid == 0:
            user_entries.remove(share, path)


def _entries(path: str) -> set[fstab_text.FstabEntry]:
    """Return the entries of a file of root, of any file system type, without their line numbers."""
    return {entry._replace(number=0) for entry in fstab_text.entries(callers.read_small(path))}
