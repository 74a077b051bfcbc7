"""Socket to the peer of a session: non-blocking reads and writes, with a buffer for unsent bytes.

O_NONBLOCK is a property of the open file description, which the peer may share and change (fcntl(2),
F_SETFL). Each call therefore passes MSG_DONTWAIT (send(2), recv(2)).
"""

from __future__ import annotations

import select
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

#: Most bytes of one read.
_READ_BYTES = 1 << 16


def poll(readers: Collection[int], writers: Collection[int], timeout_s: float) -> tuple[set[int], set[int]]:
    """Wait with select(2) until a descriptor is ready or the timeout expires.

    Args:
        readers: descriptors to watch for reading.
        writers: descriptors to watch for writing.
        timeout_s: longest wait, s.

    Returns:
        the descriptors that can be read, and those that can be written.
    """
    readable, writable, _ = select.select([*readers], [*writers], [], max(0.0, timeout_s))
    return set(readable), set(writable)


class PeerSocket:
    """Connected socket that never blocks; bytes that cannot be sent at once are buffered.

    Args:
        line: connected socket.
        now: monotonic clock, s.

    Attributes:
        unsent: buffered bytes that still have to be sent.
        lost: whether sending has failed, so that the peer gets nothing more.
    """

    def __init__(self, line: socket.socket, now: Callable[[], float]) -> None:
        self._line, self._now = line, now
        self.unsent, self.lost, self._progress = b"", False, 0.0

    def receive(self) -> bytes | None:
        """Return received bytes: b"" at the end of the input, None if none are available."""
        try:
            return self._line.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def send(self, data: bytes = b"") -> None:
        """Append bytes to the buffer, and send as much of the buffer as the socket accepts now."""
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
        """Return the time since the socket last accepted bytes, s; 0 if the buffer is empty."""
        return self._now() - self._progress if self.unsent else 0.0
