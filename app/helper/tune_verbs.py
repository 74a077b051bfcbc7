"""The verbs of the tune role for one caller: the readahead of an NFS mount, now and from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.helper.readahead import MAX_READ_AHEAD_KB, check, set_readahead
from app.helper.readahead_writer import ReadaheadWriter

if TYPE_CHECKING:
    from app.helper.callers import Caller
    from app.helper.children import Waiter
    from app.helper.session import Handler


def handlers(caller: Caller, writer: ReadaheadWriter | None = None) -> dict[str, Handler]:
    """Return the verbs of the role with what carries them out, for one caller; tests have a writer."""
    # The readahead of what is mounted is anybody's to set, who has this role.
    rules = writer or ReadaheadWriter(caller)

    def save(args: dict[str, object], waiter: Waiter) -> dict[str, object]:
        check("read_ahead_kb", args["read_ahead_kb"], 0, MAX_READ_AHEAD_KB)
        return rules.save(args, waiter)

    return {"tune": set_readahead, "readahead-save": save, "readahead-remove": rules.remove}
