"""Guest monitor: decides whether a guest answers, is slow, or is dead, and explains the end of its line."""

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

#: Silence after which a guest counts as slow, s; a guest sends something every second.
SLOW_S = 5.0
#: Silence after which a guest counts as dead, s.
DEAD_S = 15.0
#: Silence after which a guest counts as dead if it mostly waited for a processor of this computer, s.
STARVED_DEAD_S = 30.0
#: Fraction of the silence spent waiting for a processor from which on the guest counts as starved.
_STARVED_FRACTION = 0.5


class GuestState(StrEnum):
    """State of a guest: answering, slow (silent for SLOW_S), or dead."""

    ANSWERING = "answering"
    SLOW = "slow"
    DEAD = "dead"


class GuestMonitor:
    """Monitors one guest, as the :class:`app.lab.serial_line.LineWatch` of its serial line.

    Args:
        pid: process ID of the guest's supervisor.
        link: name of the link that the guest was booted with.
        console: file with the output of the guest's kernel and init.
    """

    def __init__(self, pid: int, link: str, console: BinaryIO) -> None:
        self._pid = pid
        self._link = link
        self._console = console
        self._lock = threading.Lock()
        self._state = GuestState.ANSWERING
        self._listeners: list[Callable[[GuestState], None]] = []
        #: Whether silence counts; it does not during boot and power-off.
        self._watching = False
        self._processor_wait_before_s = 0.0

    @property
    def state(self) -> GuestState:
        """Present state of the guest."""
        return self._state

    def start(self) -> None:
        """Start monitoring, after the guest has booted."""
        self._watching = True

    def stop(self) -> None:
        """Stop monitoring, before the guest is powered off."""
        self._watching = False

    def listen(self, listener: Callable[[GuestState], None]) -> None:
        """Call ``listener`` with each new state on the line's thread, and at once unless ANSWERING."""
        with self._lock:
            self._listeners.append(listener)
            state = self._state
        if state is not GuestState.ANSWERING:
            listener(state)

    def note_silence(self, silent_s: float) -> AppError | None:
        """Update the state from the silence of the line; return an error if the guest is dead.

        Args:
            silent_s: time since the last frame was received, s.
        """
        if not self._watching:
            return None
        if silent_s < SLOW_S:
            self._processor_wait_before_s = _processor_wait_s(self._pid)
            self._change(GuestState.ANSWERING)
            return None
        if silent_s >= STARVED_DEAD_S or (silent_s >= DEAD_S and not self._is_starved(silent_s)):
            return self._declare_dead(f"The lab's guest has not answered for {silent_s:.0f} s.")
        self._change(GuestState.SLOW)
        return None

    def explain_end(self) -> AppError | None:
        """Return an error for an unexpected end of the line, None if the guest was to be powered off."""
        if not self._watching:
            return None
        return self._declare_dead("The lab's guest ended unexpectedly.")

    def write_report(self, reason: str) -> Path:
        """Write a bug report about the guest to a file and return its path.

        Raises:
            AppError: if the file cannot be written.
        """
        return self._write_report(reason, dead=False)

    def _write_report(self, reason: str, *, dead: bool) -> Path:
        return guest_report.write_report(self._pid, self._link, self._console, reason, dead=dead)

    def _is_starved(self, silent_s: float) -> bool:
        return _processor_wait_s(self._pid) - self._processor_wait_before_s >= _STARVED_FRACTION * (
            silent_s - SLOW_S
        )

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
    """Return the time that the guest's processes waited for a processor, in total, s.

    Source: second number of /proc/PID/schedstat, in ns (Documentation/scheduler/sched-stats.rst).
    """
    total_ns = 0
    for pid in guest_report.guest_processes(supervisor):
        try:
            total_ns += int(Path(f"/proc/{pid}/schedstat").read_text().split()[1])
        except (OSError, IndexError):
            continue  # the process has just ended, or this kernel keeps no statistics
    return total_ns / 1e9
