"""The verbs of the persist role for one caller: entries of fstab."""

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
    """Return the verbs of the role with what carries them out, for one caller."""
    verbs = FstabVerbs(caller)
    return {"add": verbs.add, "change": verbs.change, "remove": verbs.remove, "restore": verbs.restore}


class FstabVerbs:
    """Carries out the verbs for one caller.

    Args:
        caller: who asks.
        writer: of fstab; tests have their own.
    """

    def __init__(self, caller: Caller, writer: FstabWriter | None = None) -> None:
        self._caller = caller
        self._fstab = writer or FstabWriter(free=caller.administers)

    def add(self, args: Args, waiter: Waiter) -> Answer:
        """Write a new entry to fstab: ``share`` at ``target``.

        Raises:
            Refusal: fstab is as it was then.
        """
        permit_new_entry(self._caller, args)
        with self._noted(args):
            return self._fstab.add(args, waiter)

    def change(self, args: Args, waiter: Waiter) -> Answer:
        """Replace the entry of ``old_share`` at ``old_target``.

        Raises:
            Refusal: fstab is as it was then.
        """
        old = str(args["old_share"]), str(args["old_target"])
        permit_entry_change(self._caller, old[1])
        if old == (args["share"], args["target"]):
            # An entry that root wrote stays root's while share and place are the same.
            return self._fstab.change(args, waiter)
        permit_new_entry(self._caller, args)
        with self._noted(args):
            answer = self._fstab.change(args, waiter)
        user_entries.remove(*old)
        return answer

    def remove(self, args: Args, waiter: Waiter) -> Answer:
        """Take the entry of ``share`` at ``target`` out of fstab.

        Raises:
            Refusal: fstab is as it was then.
        """
        share, path = str(args["share"]), str(args["target"])
        permit_entry_change(self._caller, path)
        answer = self._fstab.remove(args, waiter)
        user_entries.remove(share, path)
        return answer

    def restore(self, args: Args, waiter: Waiter) -> Answer:
        """Bring back the newest copy of fstab, if it differs only in entries that the caller may change.

        Raises:
            Refusal: fstab is as it was then.
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
    def _noted(self, args: Args) -> Generator[None]:
        """Note before an entry is written that root did not write it, or after it that root did."""
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
    """Return what a file that root wrote mounts, of any type, wherever its lines stand."""
    return {entry._replace(number=0) for entry in fstab_text.entries(callers.read_small(path))}
