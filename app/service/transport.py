"""Transports of the agent's protocol: one interface for sockets, the lab's serial line and others."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, BinaryIO, Protocol

if TYPE_CHECKING:
    from app.errors import AppError


class Transport(Protocol):
    """A connection that carries bytes both ways, in order and whole.

    One thread reads and one writes at a time; they may be two.

    Attributes:
        failure: why the connection ended, where the transport knows more than that it did.
    """

    @property
    def failure(self) -> AppError | None:
        """See the class."""
        ...

    def readline(self, limit: int = -1, /) -> bytes:
        """Return the next line, its first ``limit`` bytes if it is longer, or b"" at the end.

        Raises:
            OSError: if the connection broke.
            ValueError: if it was closed.
        """
        ...

    def write(self, data: bytes, /) -> None:
        """Send all of it; wait while the other side takes no more.

        Raises:
            OSError: if the other side is gone.
            ValueError: if it was closed.
        """
        ...

    def close(self) -> None:
        """End the sending side, which ends the agent at the other end."""
        ...


class PipeTransport:
    """Two binary files as a transport: the sockets to a local agent, or its standard streams.

    Args:
        reader: buffered; a raw one would read lines byte by byte.
        writer: may be raw.
    """

    failure: AppError | None = None

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def readline(self, limit: int = -1, /) -> bytes:
        """See :class:`Transport`."""
        return self._reader.readline(limit)

    def write(self, data: bytes, /) -> None:
        """See :class:`Transport`."""
        view = memoryview(data)
        while view:  # a raw stream may take only a part
            view = view[self._writer.write(view) or 0 :]
        self._writer.flush()

    def close(self) -> None:
        """See :class:`Transport`."""
        with contextlib.suppress(OSError):  # the other side was gone before it was told
            self._writer.close()
