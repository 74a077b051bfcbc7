"""Probe exclusion: prevents the agent's own probes of a mount during its unmount.

A child process of the agent queries the free space of a mount, or whether it is stale. Meanwhile it uses the
mount like any other program: umount2(2) fails with EBUSY, and a list of processes that use it has the child.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

#: Longest wait for the end of a probe before an unmount, seconds; the server may not answer at all.
_PROBE_END_TIMEOUT_S = 3.0


class ProbeExclusion:
    """Counts running probes and unmounts by mount point. Methods may be called by any thread."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._probes: Counter[str] = Counter()
        self._exclusions: Counter[str] = Counter()

    def begin(self, mount_point: str) -> bool:
        """Return whether a probe of this mount may start; if so, :meth:`end` has to follow."""
        with self._changed:
            if self._exclusions[mount_point]:
                return False
            self._probes[mount_point] += 1
            return True

    def end(self, mount_point: str) -> None:
        """End a probe, after its answer or its timeout."""
        with self._changed:
            self._probes[mount_point] -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def without_probes(self, mount_point: str) -> Generator[None]:
        """Exclude new probes of this mount within the context; wait briefly for a running probe first."""
        with self._changed:
            self._exclusions[mount_point] += 1
            self._changed.wait_for(lambda: not self._probes[mount_point], _PROBE_END_TIMEOUT_S)
        try:
            yield
        finally:
            with self._changed:
                self._exclusions[mount_point] -= 1
