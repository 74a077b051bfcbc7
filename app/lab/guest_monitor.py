"""Monitor of one guest: whether it answers, is slow, or is dead, and why its line ended."""

from __future__ import annotations

import threading
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.lab import guest_report

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

#: The guest sends something every second. From this silence on it is shown as slow.
SLOW_S = 5.0
#: A guest that is silent for so long is dead.
DEAD_S = 15.0
#: The same for a guest that waits for a processor of this computer most of that time.
STARVED_DEAD_S = 30.0
#: From this part of the silence on, waiting for a processor explains it.
_STARVED_PART = 0.5


class GuestState(StrEnum):
    """How a guest behaves."""

    ANSWERING = "answering"
    SLOW = "slow"
    DEAD = "dead"


class GuestMonitor:
    """The :class:`app.lab.serial_line.LineWatch` of a guest.

    Args:
        pid: of the guest's supervisor.
        link: name of the link that it was booted with.
        console: what its kernel and init print.
    """

    def __init__(self, pid: int, link: str, console: BinaryIO) -> None:
        self._pid = pid
        self._link = link
        self._console = console
        self._lock = threading.Lock()
        self._state = GuestState.ANSWERING
        self._listeners: list[Callable[[GuestState], None]] = []
        #: Whether its silence counts: not while it boots or is told to end.
        self._watching = False
        self._waited_before_s = 0.0

    @property
    def state(self) -> GuestState:
        """How the guest behaves now."""
        return self._state

    def start(self) -> None:
        """Watch from now on; the guest has booted."""
        self._watching = True

    def stop(self) -> None:
        """Take the guest's silence and end as expected from now on."""
        self._watching = False

    def listen(self, listener: Callable[[GuestState], None]) -> None:
        """Call this with each new state, on the line's thread; at once if the state is not ANSWERING."""
        with self._lock:
            self._listeners.append(listener)
            state = self._state
        if state is not GuestState.ANSWERING:
            listener(state)

    def note_silence(self, silent_s: float) -> AppError | None:
        """See :class:`app.lab.serial_line.LineWatch`."""
        if not self._watching:
            return None
        if silent_s < SLOW_S:
            self._waited_before_s = _processor_wait_s(self._pid)
            self._change(GuestState.ANSWERING)
            return None
        if silent_s >= STARVED_DEAD_S or (silent_s >= DEAD_S and not self._is_starved(silent_s)):
            return self._declare_dead(f"The lab's guest has not answered for {silent_s:.0f} s.")
        self._change(GuestState.SLOW)
        return None

    def explain_end(self) -> AppError | None:
        """See :class:`app.lab.serial_line.LineWatch`."""
        if not self._watching:
            return None
        return self._declare_dead("The lab's guest ended unexpectedly.")

    def write_report(self, reason: str) -> Path:
        """Write what a bug report needs about the guest to a file and return its path.

        Raises:
            AppError: if the file cannot be written.
        """
        return self._write_report(reason, dead=False)

    def _write_report(self, reason: str, *, dead: bool) -> Path:
        return guest_report.write_report(self._pid, self._link, self._console, reason, dead=dead)

    def _is_starved(self, silent_s: float) -> bool:
        return _processor_wait_s(self._pid) - self._waited_before_s >= _STARVED_PART * (silent_s - SLOW_S)

    def _declare_dead(self, message: str) -> AppError:
        hint = "Restart the lab."
        try:
            hint += f" {self._write_report(message, dead=True)} has the details for a bug report."
        except AppError as error:
            hint += f" Its details could not be saved: {error.message}"
        self._change(GuestState.DEAD)
        return AppError(ErrorKind.LAB_STOPPED, message, hint=hint)

    def _change(self, state: GuestState) -> None:
        with self._lock:
            if state is self._state:
                return
            self._state = state
            listeners = list(self._listeners)
        for listener in listeners:
            listener(state)


def _processor_wait_s(supervisor: int) -> float:
    """Return how long the guest's processes were ready to run and had no processor, summed up.

    The second figure of /proc/PID/schedstat (Documentation/scheduler/sched-stats.rst), nanoseconds.
    """
    total_ns = 0
    for pid in guest_report.guest_processes(supervisor):
        try:
            total_ns += int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
        except (OSError, IndexError):
            continue  # it has just ended, or this kernel does not count
    return total_ns / 1e9
