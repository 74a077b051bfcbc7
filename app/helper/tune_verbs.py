"""Verbs of the tune role: set the readahead of an active NFS mount, save it, or remove the saved value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper.readahead import MAX_READ_AHEAD_KB, check, set_readahead
from app.helper.readahead_writer import ReadaheadWriter

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.session import Handler


def handlers(caller: Caller, writer: ReadaheadWriter | None = None) -> dict[str, Handler]:
    """Return the handlers of the role ``tune``, by verb, for one caller.

    Args:
        caller: user that asks.
        writer: writer of the udev rules; None for the one of /etc/udev/rules.d.
    """
    # "tune" does not depend on the caller: the role may set the readahead of every active NFS mount.
    rules = writer or ReadaheadWriter(caller)

    def save(args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        check("read_ahead_kb", args["read_ahead_kb"], 0, MAX_READ_AHEAD_KB)
        return rules.save(args, waiter)

    return {"tune": set_readahead, "readahead-save": save, "readahead-remove": rules.remove}
