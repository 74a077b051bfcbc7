"""The helper's channel to its peer: bytes in and out, neither of which ever blocks the helper.

That a descriptor does not block is a property of the open file, which the peer may share and change
(fcntl(2), F_SETFL). A pipe is therefore opened anew, and a socket asked for each call alone.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_READ_BYTES = 1 << 16


def poll(readers: Collection[int], writers: Collection[int], timeout_s: float) -> tuple[set[int], set[int]]:
    """Return the descriptors that can be read and written, waiting until one can or the time is over."""
    readable, writable, _ = select.select([*readers], [*writers], [], max(0.0, timeout_s))
    return set(readable), set(writable)


class Channel:
    """Two descriptors, or one socket twice; what cannot be sent at once waits here.

    Args:
        reader: descriptor to read from.
        writer: descriptor to write to.
        now: gives the time in seconds.

    Attributes:
        unsent: bytes that wait.
        lost: whether the peer takes nothing any more.
    """

    def __init__(self, reader: int, writer: int, now: Callable[[], float]) -> None:
        self._reader, self._writer, self._now = reader, writer, now
        self._in, self._out = _prepare(reader, os.O_RDONLY), _prepare(writer, os.O_WRONLY)
        self.unsent, self.lost, self._progress = b"", False, 0.0

    def close(self) -> None:
        """Close what this object opened; the descriptors stay."""
        for connection in filter(None, (self._in, self._out)):
            connection.close()

    def receive(self) -> bytes | None:
        """Return what has come: b"" if the input has ended, None if nothing has come."""
        try:
            if self._in is not None:
                return self._in.recv(_READ_BYTES, socket.MSG_DONTWAIT)
            return os.read(self._reader, _READ_BYTES)
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
                if self._out is not None:
                    sent = self._out.send(self.unsent, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
                else:
                    sent = os.write(self._writer, self.unsent)
                self.unsent, self._progress = self.unsent[sent:], self._now()
        except BlockingIOError:
            return
        except OSError:
            self.unsent, self.lost = b"", True

    def stalled_s(self) -> float:
        """Return for how many seconds the peer has taken nothing of what waits; 0 if nothing waits."""
        return self._now() - self._progress if self.unsent else 0.0


def _prepare(fd: int, access: int) -> socket.socket | None:
    """Return the socket behind a descriptor; of anything else make it one that does not block."""
    if stat.S_ISSOCK(os.fstat(fd).st_mode):
        return socket.socket(fileno=os.dup(fd))
    try:
        own = os.open(f"/proc/self/fd/{fd}", access | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        # No /proc, or a pipe of another user namespace's: the one that is shared has to do.
        os.set_blocking(fd, False)
        return None
    os.dup2(own, fd)
    os.close(own)
    return None
