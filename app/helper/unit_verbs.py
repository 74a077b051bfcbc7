"""Verbs of the units role: write and remove the systemd units of a mount."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper import validate
from app.helper.entry_permission import permit_entry_change, permit_new_entry
from app.helper.unit_writer import UnitWriter

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.session import Handler

    Args = dict[str, object]
    Answer = dict[str, object]


def handlers(caller: Caller) -> dict[str, Handler]:
    """Return the handlers of the role ``units``, by verb, for one caller."""
    verbs = UnitVerbs(caller)
    return {"unit-write": verbs.write, "unit-remove": verbs.remove}


class UnitVerbs:
    """Handlers of the unit verbs: check the caller's permission, then let UnitWriter write.

    Args:
        caller: user that asks for the changes.
        writer: writer of the units; None for the one of /etc/systemd/system.
    """

    def __init__(self, caller: Caller, writer: UnitWriter | None = None) -> None:
        self._caller = caller
        self._units = writer or UnitWriter(free=caller.administers)

    def write(self, args: Args, waiter: Waiter) -> Answer:
        """Write and enable the units of ``target``.

        Raises:
            Refusal: if they are not written; the old units are restored, unless the message says otherwise.
        """
        permit_new_entry(self._caller, args)
        return self._units.write(args, waiter)

    def remove(self, args: Args, waiter: Waiter) -> Answer:
        """Disable and remove the units of ``target``.

        Raises:
            Refusal: if they are not removed; the old units are restored, unless the message says otherwise.
        """
        permit_entry_change(self._caller, validate.target(str(args["target"])))
        return self._units.remove(args, waiter)
