"""Transports of the agent protocol: the interface, and its implementation for pipes and sockets."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from app.errors import AppError


class Transport(Protocol):
    """A reliable, ordered byte stream in both directions.

    At most one thread reads and one thread writes at a time.

    Attributes:
        failure: reason why the connection ended, None if the transport knows none.
    """

    @property
    def failure(self) -> AppError | None:
        """Reason why the connection ended, None if the transport knows none."""
        ...

    def readline(self, limit: int = -1, /) -> bytes:
        """Return the next line, cut to ``limit`` bytes; b"" at the end of the input.

        Raises:
            OSError: if the connection broke.
            ValueError: if it was closed.
        """
        ...

    def write(self, data: bytes, /) -> None:
        """Send all bytes; block while the peer's buffer is full.

        Raises:
            OSError: if the peer is gone.
            ValueError: if the transport was closed.
        """
        ...

    def close(self) -> None:
        """Close the sending side, which ends the agent at the other end."""
        ...


class PipeTransport:
    """Transport over two binary files: the sockets to a local agent, or its standard streams.

    Args:
        reader: buffered file; a raw file would read lines byte by byte.
        writer: buffered or raw file.
    """

    failure: AppError | None = None

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def readline(self, limit: int = -1, /) -> bytes:
        """Return the next line, cut to ``limit`` bytes; b"" at the end of the input."""
        return self._reader.readline(limit)

    def write(self, data: bytes, /) -> None:
        """Send all bytes; block while the peer's buffer is full."""
        view = memoryview(data)
        while view:  # a raw stream may take only a part
            view = view[self._writer.write(view) or 0 :]
        self._writer.flush()

    def close(self) -> None:
        """Close the writer, which ends the agent at the other end."""
        with contextlib.suppress(OSError):  # buffered data cannot be flushed to a peer that is gone
            self._writer.close()
