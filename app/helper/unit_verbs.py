"""The verbs of the units role for one caller: units of systemd."""

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
    """Return the verbs of the role with what carries them out, for one caller."""
    verbs = UnitVerbs(caller)
    return {"unit-write": verbs.write, "unit-remove": verbs.remove}


class UnitVerbs:
    """Carries out the verbs for one caller.

    Args:
        caller: who asks.
        writer: of units; tests have their own.
    """

    def __init__(self, caller: Caller, writer: UnitWriter | None = None) -> None:
        self._caller = caller
        self._units = writer or UnitWriter(free=caller.administers)

    def write(self, args: Args, waiter: Waiter) -> Answer:
        """Write the units of ``target``.

        Raises:
            Refusal: the units are as they were then, unless the message says otherwise.
        """
        permit_new_entry(self._caller, args)
        return self._units.write(args, waiter)

    def remove(self, args: Args, waiter: Waiter) -> Answer:
        """Remove the units of ``target``.

        Raises:
            Refusal: the units are as they were then, unless the message says otherwise.
        """
        permit_entry_change(self._caller, validate.target(str(args["target"])))
        return self._units.remove(args, waiter)
