"""Serial line transport of the lab: a thread moves bytes with the flow control of app.lab.serial_protocol.

The same class serves both ends: the guest's terminal, and the pipes of its supervisor on the host.
"""

from __future__ import annotations

import contextlib
import os
import select
import termios
import threading
import time
import tty
import zlib
from typing import Literal, Protocol

from app.errors import AppError
from app.lab.serial_protocol import Endpoint

#: First line of a guest whose agent runs; other guests send the reason of their failure instead.
READY = "ready"
_DEVICE = "/dev/ttyS0"
#: Credit that each end grants, bytes. The guest's terminal holds 4,096 bytes. Besides data, it must hold some
#: probes and a status of 17 bytes for each of the 34 frames granted by the host, whose pipe holds 64 KiB.
_GUEST_GRANT_BYTES, _HOST_GRANT_BYTES = 3072, 16384
_READ_BYTES = 65536
_COMPRESSION_LEVEL = 1
#: Longest interval between two frames from the guest, s.
HEARTBEAT_S = 1.0
#: Interval between checks for silence, s. Longer waits count as this much, so that a suspended computer or a
#: stopped program does not take its own pause for silence of the other end.
_POLL_INTERVAL_S = 1.0


def open_terminal() -> int:
    """Open the guest's terminal in raw mode; the protocol discards what it echoed before."""
    fd = os.open(_DEVICE, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(fd)
    return fd


class LineWatch(Protocol):
    """Interface of an observer of the other end, called on the line's thread."""

    def note_silence(self, silent_s: float) -> AppError | None:
        """Report the silence of the other end, about once a second.

        Args:
            silent_s: time since the last frame was received, s; 0 when a frame arrives again.

        Returns:
            An error to end the line with, None to continue.
        """
        ...

    def explain_end(self) -> AppError | None:
        """Return the reason why the other end has ended, None if that was expected."""
        ...


class SerialLine:
    """One end of the serial line, a :class:`app.service.transport.Transport`.

    Args:
        reading: descriptor to read from, owned by the line.
        writing: descriptor to write to, owned by the line.
        endpoint: flow control with this end's credit and heartbeat.
        watch: observer of silence and of the end, or None.

    Attributes:
        failure: reason why the line ended, None if the observer knows none.
    """

    def __init__(
        self,
        reading: int,
        writing: int,
        endpoint: Endpoint,
        watch: LineWatch | None = None,
    ) -> None:
        self.failure: AppError | None = None
        self._reading = reading
        self._writing = writing
        self._endpoint = endpoint
        self._watch = watch
        self._silent_s = 0.0
        #: Guards the endpoint and the attributes below; notified at each change of them.
        self._changed = threading.Condition()
        #: The streams are compressed, because the line is slow and JSON shrinks to a fifth.
        self._compressor = zlib.compressobj(_COMPRESSION_LEVEL)
        self._decompressor = zlib.decompressobj()
        self._received = bytearray()
        self._searched = 0
        self._ended = False
        self._closing = False
        self._wake_reading, self._wake_writing = os.pipe()
        os.set_blocking(self._wake_writing, False)
        self._thread = threading.Thread(target=self._run, name="serial-line", daemon=True)
        self._thread.start()

    @classmethod
    def open_guest_end(cls) -> SerialLine:
        """Open the end inside the guest."""
        fd = open_terminal()
        return cls(fd, os.dup(fd), Endpoint(_GUEST_GRANT_BYTES, HEARTBEAT_S))

    @classmethod
    def open_host_end(cls, reading: int, writing: int, watch: LineWatch | None = None) -> SerialLine:
        """Open the end on the host over two pipes, which the line then owns.

        Args:
            reading: descriptor to read from.
            writing: descriptor to write to.
            watch: observer of silence and of the end, or None.
        """
        return cls(reading, writing, Endpoint(_HOST_GRANT_BYTES), watch)

    def write_boot_report(self, text: str) -> None:
        """Write the guest's first line: READY, or the reason why there is no agent.

        Raises:
            BrokenPipeError: if the line has ended.
        """
        self.write(text.replace("\n", " ").encode(errors="replace") + b"\n")

    def readline(self, limit: int = -1, /, timeout_s: float | None = None) -> bytes:
        """Return the next line, cut to ``limit`` bytes; b"" at the end of the input.

        Raises:
            TimeoutError: if there is no line after ``timeout_s`` seconds.
        """
        with self._changed:
            while not (size := self._line_size(limit)) and not self._ended:
                if not self._changed.wait(timeout_s):
                    raise TimeoutError
            size = size or len(self._received)
            line = bytes(self._received[:size])
            del self._received[:size]
            self._searched = 0
        return line

    def write(self, data: bytes, /) -> None:
        """Send all bytes; wait until the last one is on the line.

        Raises:
            BrokenPipeError: if the line has ended.
        """
        with self._changed:
            self._endpoint.write(self._compressor.compress(data) + self._compressor.flush(zlib.Z_SYNC_FLUSH))
            self._wake()
            while self._endpoint.pending_bytes and not self._ended:
                self._changed.wait()
            if self._ended:
                raise BrokenPipeError

    def drain(self, timeout_s: float) -> bool:
        """Wait until the other end has acknowledged everything, or the timeout; return whether it has."""
        with self._changed:
            done = self._changed.wait_for(lambda: self._endpoint.acknowledged or self._ended, timeout_s)
            done = done and self._endpoint.acknowledged
            if done and not self._ended and os.isatty(self._writing):
                termios.tcdrain(self._writing)
        return done

    def close(self) -> None:
        """End the line and close its descriptors; the other end reads the end of its input."""
        with self._changed:
            self._closing = True
            self._wake()
        self._thread.join()

    def _line_size(self, limit: int) -> int:
        """Return the length of the first complete line, cut to ``limit``, 0 for none.

        The caller holds ``_changed``.
        """
        size = self._received.find(b"\n", self._searched) + 1
        self._searched = len(self._received)
        too_long = 0 <= limit < size if size else 0 <= limit <= len(self._received)
        return limit if too_long else size

    def _wake(self) -> None:
        """Wake the thread. The caller holds ``_changed``."""
        if not self._ended:
            with contextlib.suppress(BlockingIOError):  # a full pipe wakes it already
                os.write(self._wake_writing, b".")

    def _run(self) -> None:
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        poll.register(self._wake_reading, select.POLLIN)
        failure = None
        try:
            while (failure := self._step(poll)) is None:
                pass
        finally:
            with self._changed:
                self.failure = failure if isinstance(failure, AppError) else None
                self._ended = True
                self._changed.notify_all()
                for fd in (self._reading, self._writing, self._wake_reading, self._wake_writing):
                    os.close(fd)

    def _step(self, poll: select.poll) -> AppError | Literal["ended"] | None:
        """Send the due frames and receive once; return why the line ends, None to continue."""
        with self._changed:
            if self._closing:
                return "ended"
            out = self._endpoint.output(time.monotonic())
            if out and not self._endpoint.pending_bytes:
                self._changed.notify_all()
            next_s = self._endpoint.next_output_s()
        began_s = time.monotonic()
        ready: set[int] = set()
        wait_s = _POLL_INTERVAL_S if next_s is None else min(max(next_s - began_s, 0.0), _POLL_INTERVAL_S)
        try:
            _write_all(self._writing, out)
            ready = {fd for fd, _events in poll.poll(wait_s * 1000 + 1)}
            data = os.read(self._reading, _READ_BYTES) if self._reading in ready else None
        except OSError:  # the other end is gone: EIO for a terminal, EPIPE for a pipe
            data = b""
        if data == b"":
            failure = self._watch.explain_end() if self._watch is not None else None
            return failure or "ended"
        if self._wake_reading in ready:
            os.read(self._wake_reading, _READ_BYTES)
        if data is not None and self._receive(data):
            return self._note_silence(0.0)
        return self._note_silence(self._silent_s + min(time.monotonic() - began_s, _POLL_INTERVAL_S))

    def _receive(self, data: bytes) -> bool:
        """Process received bytes; return whether they completed a valid frame."""
        with self._changed:
            before = self._endpoint.frames_heard
            stream = self._endpoint.receive(data, time.monotonic())
            self._received += self._decompressor.decompress(stream)
            self._changed.notify_all()
            return self._endpoint.frames_heard > before

    def _note_silence(self, silent_s: float) -> AppError | None:
        if silent_s == self._silent_s == 0.0:
            return None
        self._silent_s = silent_s
        return self._watch.note_silence(silent_s) if self._watch is not None else None


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
