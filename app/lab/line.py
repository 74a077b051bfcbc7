"""The guest's end of the serial line: the agent's protocol after one line that says how booting went."""

from __future__ import annotations

import os
import termios
import tty
from dataclasses import dataclass

_DEVICE = "/dev/ttyS0"
#: What the first line begins with; the supervisor's side is :meth:`app.lab.guest.Guest.boot`.
GREETING = "mountwright-lab "
READY = "ready"


@dataclass(frozen=True, slots=True)
class SerialLine:
    """An open serial line in raw mode."""

    fd: int

    @classmethod
    def open(cls) -> SerialLine:
        """Open the line; what it echoed before it was raw is for nobody, as nobody has written yet."""
        fd = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(fd)
        return cls(fd)

    def say(self, text: str) -> None:
        """Write the first line: READY, or why there will be no agent."""
        os.write(self.fd, (GREETING + text.replace("\n", " ") + "\n").encode())
        self.drain()

    def drain(self) -> None:
        """Wait until everything that was written has left the guest."""
        termios.tcdrain(self.fd)
