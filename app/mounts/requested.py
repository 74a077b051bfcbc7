"""Remembers with which options this program made a mount: utab may be absent, or speak of an earlier one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from app.kernel.nfsmount_conf import read_settings
from app.kernel.utab import plain_share
from app.mounts.requested_options import complete
from app.mounts.table import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.nfsmount_conf import Setting
    from app.mounts.model import Active, Mount, MountTable

#: The kernel hands the id of a mount out again (mnt_alloc_id, fs/namespace.c), so it is not enough alone.
_Key = tuple[int, str, str]


class Requested:
    """What was asked for, mount by mount; of any thread.

    Args:
        read: returns the mounts of this host.
    """

    def __init__(self, read: Callable[[], MountTable] = read_table) -> None:
        self._read = read
        # Held while the table is read: with an older table a mount that was just noted would seem gone.
        self._lock = threading.Lock()
        self._options: dict[_Key, str] = {}

    def note(self, mount_id: int, options: str) -> None:
        """Remember the options of a mount that is there now; one that is gone already is not noted."""
        with self._lock:
            for row in self._read().mounts:
                if row.active is not None and row.active.mount_id == mount_id:
                    self._options[_key(row.active)] = options

    def table(self) -> MountTable:
        """Return the mounts with what was asked for beside what is in use; forget those that are gone."""
        with self._lock:
            table = self._read()
            there = {_key(row.active) for row in table.mounts if row.active is not None}
            self._options = {key: text for key, text in self._options.items() if key in there}
            settings = tuple(read_settings()) if there else ()
            rows = [self._with_options(row, settings) for row in table.mounts]
            return msgspec.structs.replace(table, mounts=rows)

    def options(self, mount_id: int) -> str | None:
        """Return the options of a mount that was made here; None for one that somebody else made."""
        self.table()
        with self._lock:
            return next((text for key, text in self._options.items() if key[0] == mount_id), None)

    def _with_options(self, row: Mount, settings: tuple[Setting, ...]) -> Mount:
        options = self._options.get(_key(row.active)) if row.active is not None else None
        if row.active is None or options is None:
            return row
        active = msgspec.structs.replace(row.active, recorded=options)
        return complete(msgspec.structs.replace(row, active=active), settings)


def _key(active: Active) -> _Key:
    return active.mount_id, active.device, plain_share(active.share)
