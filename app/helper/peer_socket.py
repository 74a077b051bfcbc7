"""The socket to the helper's peer: bytes in and out, neither of which ever blocks the helper.

That a descriptor does not block is a property of the open file, which the peer may share and change
(fcntl(2), F_SETFL), so each call asks for it by itself.
"""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_READ_BYTES = 1 << 16


def poll(readers: Collection[int], writers: Collection[int], timeout_s: float) -> tuple[set[int], set[int]]:
    """Return the descriptors that can be read and written, waiting until one can or the time is over."""
    readable, writable, _ = select.select([*readers], [*writers], [], max(0.0, timeout_s))
    return set(readable), set(writable)


class PeerSocket:
    """A connected socket; what cannot be sent at once waits here.

    Args:
        line: the socket.
        now: gives the time in seconds.

    Attributes:
        unsent: bytes that wait.
        lost: whether the peer takes nothing any more.
    """

    def __init__(self, line: socket.socket, now: Callable[[], float]) -> None:
        self._line, self._now = line, now
        self.unsent, self.lost, self._progress = b"", False, 0.0

    def receive(self) -> bytes | None:
        """Return what has come: b"" if the input has ended, None if nothing has come."""
        try:
            return self._line.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def send(self, data: bytes = b"") -> None:
        """Send these bytes after those that wait, or as many as the peer takes now; the others wait."""
        if not self.unsent:
            self._progress = self._now()
        self.unsent += data
        try:
            while self.unsent:
                sent = self._line.send(self.unsent, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                self.unsent, self._progress = self.unsent[sent:], self._now()
        except BlockingIOError:
            return
        except OSError:
            self.unsent, self.lost = b"", True

    def stalled_s(self) -> float:
        """Return for how many seconds the peer has taken nothing of what waits; 0 if nothing waits."""
        return self._now() - self._progress if self.unsent else 0.0
