"""The other end of a session's line, for one thread that is both the session and its peer."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any


class PeerLine:
    """A socket pair: the session gets ``theirs``, and what does not fit into it waits here.

    Args:
        reads: whether the peer takes what it is sent.
        ends: whether its input ends after what it sends.

    Attributes:
        reads: as above.
        data: what it has taken.
    """

    def __init__(self, *, reads: bool = True, ends: bool = True) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.reads, self._ends = reads, ends
        self._to_send, self.data = b"", b""

    def send(self, data: bytes) -> None:
        """Send as much as the line takes now, the rest with the next :meth:`pump`."""
        self._to_send += data
        self.pump()

    def pump(self) -> None:
        """Take and send what there is."""
        with contextlib.suppress(BlockingIOError):
            while self.reads and (chunk := self.ours.recv(1 << 20)):
                self.data += chunk
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._to_send:
                self._to_send = self._to_send[self.ours.send(self._to_send) :]
            if self._ends:
                self.end()

    def end(self) -> None:
        """End the session's input."""
        with contextlib.suppress(OSError):
            self.ours.shutdown(socket.SHUT_WR)

    def fill(self) -> None:
        """Fill the session's output."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.theirs.send(b"\n" * 4096, socket.MSG_DONTWAIT)

    def take(self) -> list[Any]:
        """Return what has been answered since, decoded."""
        self.pump()
        data, self.data = self.data, b""
        return [json.loads(text) for text in data.splitlines() if text]

    def close(self) -> None:
        """Close both ends."""
        self.ours.close()
        self.theirs.close()
