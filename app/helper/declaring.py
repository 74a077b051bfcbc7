"""The verbs of the persist role for one caller: whose places they are, before fstab or units are written.

The writers know what an entry may say; here it is decided where it may stand, by the same classes as for
mounting (:mod:`app.helper.places`). At boot nobody looks again, so the directories above a mount point must
be root's alone already when an ordinary user declares it.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
from typing import TYPE_CHECKING

from app.helper import declarations, directories, fstab_text, fstab_writer, places, table, targets, validate
from app.helper.errors import Refusal
from app.helper.fstab_writer import FstabWriter
from app.helper.unit_writer import UnitWriter

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.helper.children import Waiter
    from app.helper.targets import Caller

    Args = dict[str, object]
    Answer = dict[str, object]


class Declaring:
    """Carries out the verbs for one caller.

    Args:
        caller: who asks.
        fstab: writes fstab; tests have their own.
        units: writes units.
    """

    def __init__(
        self, caller: Caller, fstab: FstabWriter | None = None, units: UnitWriter | None = None
    ) -> None:
        self._caller = caller
        self._fstab = fstab or FstabWriter()
        self._units = units or UnitWriter()

    def add(self, args: Args, waiter: Waiter) -> Answer:
        """Write a new entry to fstab: ``share`` at ``target``.

        Raises:
            Refusal: fstab is as it was then.
        """
        self._permit_new(args)
        with self._noted(args):
            return self._fstab.add(args, waiter)

    def change(self, args: Args, waiter: Waiter) -> Answer:
        """Replace the entry of ``old_share`` at ``old_target``.

        Raises:
            Refusal: fstab is as it was then.
        """
        old = str(args["old_share"]), str(args["old_target"])
        self._permit_old(old[1])
        if old == (args["share"], args["target"]):
            # An entry that root wrote stays root's while share and place are the same.
            return self._fstab.change(args, waiter)
        self._permit_new(args)
        with self._noted(args):
            answer = self._fstab.change(args, waiter)
        declarations.forget(*old)
        return answer

    def remove(self, args: Args, waiter: Waiter) -> Answer:
        """Take the entry of ``share`` at ``target`` out of fstab.

        Raises:
            Refusal: fstab is as it was then.
        """
        share, path = str(args["share"]), str(args["target"])
        self._permit_old(path)
        answer = self._fstab.remove(args, waiter)
        declarations.forget(share, path)
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
            now, then = (_entries(path) for path in (places.FSTAB, backup))
            for entry in now ^ then:
                self._permit_old(entry.target)
        return self._fstab.restore(args, waiter)

    def write_units(self, args: Args, waiter: Waiter) -> Answer:
        """Write the units of ``target``.

        Raises:
            Refusal: the units are as they were then, unless the message says otherwise.
        """
        self._permit_new(args)
        return self._units.write(args, waiter)

    def remove_units(self, args: Args, waiter: Waiter) -> Answer:
        """Remove the units of ``target``.

        Raises:
            Refusal: the units are as they were then, unless the message says otherwise.
        """
        self._permit_old(validate.target(str(args["target"])))
        return self._units.remove(args, waiter)

    def _permit_new(self, args: Args) -> None:
        validate.share(str(args["share"]))
        path = validate.target(str(args["target"]))
        places.permit_place(self._caller, path)
        if self._caller.uid != 0:
            places.check_walk(table.read(), path)
            directories.check_ancestors(self._caller, path)

    def _permit_old(self, path: str) -> None:
        """Check that an entry there is the caller's to change, whoever wrote it."""
        if self._caller.administers:
            return
        place = places.place_of(posixpath.normpath(path)) if path.startswith("/") else places.Place.RESTRICTED
        if place not in {places.Place.ROOTS, places.Place.OWN}:
            raise Refusal(
                "mount-point-restricted",
                f"“{path}” is outside the directories for mounts, so its entry stays as it is.",
                data={"home": ""},
            )

    @contextlib.contextmanager
    def _noted(self, args: Args) -> Generator[None]:
        """Note before an entry is written that root did not write it, or after it that root did."""
        share, path = str(args["share"]), str(args["target"])
        fresh = self._caller.uid != 0 and not declarations.has(share, path)
        if fresh and places.place_of(path) is places.Place.RESTRICTED:
            declarations.note(share, path, self._caller.uid)
        try:
            yield
        except BaseException:
            if fresh:
                declarations.forget(share, path)
            raise
        if self._caller.uid == 0:
            declarations.forget(share, path)


def _entries(path: str) -> set[fstab_text.Entry]:
    """Return what a file that root wrote mounts, of any type, wherever its lines stand."""
    return {entry._replace(number=0) for entry in fstab_text.entries(targets.read_small(path))}
