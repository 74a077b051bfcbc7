"""Socket pair of a session and its peer, for tests that run both in one thread."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Any


class PeerLine:
    """Socket pair: the session gets ``theirs``; bytes that do not fit into the socket are buffered here.

    Args:
        reads: whether the peer reads what the session sends.
        ends: whether the session's input ends after the buffered bytes.

    Attributes:
        reads: whether the peer reads what the session sends.
        data: bytes received from the session.
    """

    def __init__(self, *, reads: bool = True, ends: bool = True) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.reads, self._ends = reads, ends
        self._to_send, self.data = b"", b""

    def send(self, data: bytes) -> None:
        """Send as much as the socket accepts; :meth:`pump` sends the rest."""
        self._to_send += data
        self.pump()

    def pump(self) -> None:
        """Receive available bytes, and send buffered ones."""
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
        """Fill the buffer of the session's output, so that it cannot send."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self.theirs.send(b"\n" * 4096, socket.MSG_DONTWAIT)

    def take(self) -> list[Any]:
        """Return the decoded answers since the last call."""
        self.pump()
        data, self.data = self.data, b""
        return [json.loads(text) for text in data.splitlines() if text]

    def close(self) -> None:
        """Close both ends."""
        self.ours.close()
        self.theirs.close()
