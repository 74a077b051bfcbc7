"""Probe exclusion: keeps the agent's own probes of a mount apart from its unmount.

A child of the agent asks a mount for its free space, or whether it is stale. For that moment it uses the
mount as any other program does: umount2(2) fails with EBUSY, and whoever looks for programs in the way finds
it.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

#: For an answer that is under way. A silent server is not waited for longer: its mount is to be unmounted.
_ANSWER_S = 3.0


class ProbeExclusion:
    """Which mounts are being probed, and which are to be left alone; of any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._asked: Counter[str] = Counter()
        self._left_alone: Counter[str] = Counter()

    def begin(self, mount_point: str) -> bool:
        """Return whether this mount may be asked now; :meth:`end` has to follow if it may."""
        with self._changed:
            if self._left_alone[mount_point]:
                return False
            self._asked[mount_point] += 1
            return True

    def end(self, mount_point: str) -> None:
        """The mount has answered, or is not waited for any more."""
        with self._changed:
            self._asked[mount_point] -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def without_probes(self, mount_point: str) -> Generator[None]:
        """Wait for an answer that is under way, for a moment, and let nobody ask this mount meanwhile."""
        with self._changed:
            self._left_alone[mount_point] += 1
            self._changed.wait_for(lambda: not self._asked[mount_point], _ANSWER_S)
        try:
            yield
        finally:
            with self._changed:
                self._left_alone[mount_point] -= 1
