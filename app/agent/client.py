"""The other side of the protocol: a reader thread that completes futures. The same for every agent."""

from __future__ import annotations

import itertools
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import msgspec

from app.agent.protocol import VERBS, Answer, CancelArgs, Empty, Request, from_body
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("agent")


class Call:
    """A request under way.

    Attributes:
        id: its number on this connection.
        future: completes with the verb's result, or fails with an AppError.
    """

    def __init__(self, call_id: int, verb: str, on_event: Callable[[Any], None] | None) -> None:
        self.id = call_id
        self.verb = verb
        self.on_event = on_event
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()
        self._cancel: Callable[[], None] = _nothing

    def cancel(self) -> None:
        """Ask the agent to end it; the future then fails with kind "cancelled" (or was done before)."""
        self._cancel()

    def bind(self, cancel: Callable[[], None]) -> None:
        """Give the call its way to cancel; for the host that made it."""
        self._cancel = cancel

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result.

        Raises:
            AppError: as answered.
            TimeoutError: after this many seconds.
        """
        return self.future.result(timeout)


class Host(Protocol):
    """Something that answers the agent's verbs: a local agent, the lab's guest, or this process itself."""

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        """Start a request; ``args`` is the verb's argument struct. Events arrive on another thread."""
        ...

    def close(self) -> None:
        """End the connection; what still runs is cancelled."""
        ...


def _nothing() -> None:
    """Do nothing."""


class Writer(Protocol):
    """Where a client writes its lines; a binary file is one."""

    def write(self, data: memoryview, /) -> int | None:
        """Write the beginning of some data; return how many bytes that was."""
        ...

    def flush(self) -> object:
        """Send what was held back."""
        ...

    def close(self) -> object:
        """End the connection."""
        ...


class AgentClient:
    """A connection to an agent.

    Args:
        reader: lines from the agent.
        writer: lines to it.
        on_close: runs once when the agent's output ends, on the reader thread.
    """

    def __init__(self, reader: BinaryIO, writer: Writer, *, on_close: Callable[[], None] = _nothing) -> None:
        self._reader = reader
        self._writer = writer
        self._on_close = on_close
        self._ids = itertools.count(1)
        self._calls: dict[int, Call] = {}
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._read, name="agent-client", daemon=True)
        self._thread.start()

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        """Send a request; see :class:`Host`. A dead connection fails the future, not this call."""
        call = Call(next(self._ids), verb, on_event)
        call.bind(lambda: self._send_cancel(call))
        with self._lock:
            closed = self._closed
            if not closed:
                self._calls[call.id] = call
        if closed:
            call.future.set_exception(_gone())
            return call
        raw = msgspec.Raw(msgspec.json.encode(Empty() if args is None else args))
        self._write(Request(id=call.id, verb=verb, args=raw))
        return call

    def close(self) -> None:
        """Close the agent's input, which ends the agent, and fail what still runs."""
        with self._write_lock:
            try:
                self._writer.close()
            except OSError:
                log.debug("the agent was gone before it was told")
        self._end()

    def join(self, timeout: float) -> bool:
        """Wait for the reader thread to end; return whether it did."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _send_cancel(self, call: Call) -> None:
        if not call.future.done():
            self.submit("cancel", CancelArgs(id=call.id))

    def _write(self, request: Request) -> None:
        line = msgspec.json.encode(request) + b"\n"
        try:
            with self._write_lock:
                view = memoryview(line)
                while view:
                    view = view[self._writer.write(view) or 0 :]
                self._writer.flush()
        except (OSError, ValueError):
            self._end()

    def _read(self) -> None:
        try:
            while line := self._reader.readline():
                self._take(line)
        except (OSError, ValueError):
            log.debug("the agent's output broke off")
        self._end()
        self._on_close()

    def _take(self, line: bytes) -> None:
        try:
            answer = msgspec.json.decode(line, type=Answer)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            # A serial line also carries what the guest's kernel prints.
            log.debug("not an answer: %r", line[:200])
            return
        if answer.id is None:
            log.warning("the agent refused a line: %s", answer.error)
            return
        with self._lock:
            call = self._calls.get(answer.id)
            if call is not None and answer.event is msgspec.UNSET:
                del self._calls[answer.id]
        if call is not None:
            _deliver(call, answer)

    def _end(self) -> None:
        with self._lock:
            self._closed = True
            calls, self._calls = list(self._calls.values()), {}
        for call in calls:
            call.future.set_exception(_gone())


def _gone() -> AppError:
    return AppError(
        ErrorKind.PROTOCOL,
        "The agent ended before it answered.",
        hint="Try again; restart the program if it happens again.",
    )


def _deliver(call: Call, answer: Answer) -> None:
    verb = VERBS[call.verb]
    try:
        if isinstance(answer.event, msgspec.Raw):
            if call.on_event is not None and verb.event is not None:
                _tell(call.on_event, msgspec.json.decode(answer.event, type=verb.event))
        elif isinstance(answer.ok, msgspec.Raw):
            call.future.set_result(msgspec.json.decode(answer.ok, type=verb.result))
        elif answer.error is not msgspec.UNSET:
            call.future.set_exception(from_body(answer.error))
        else:
            call.future.set_exception(AppError(ErrorKind.PROTOCOL, "The agent gave an empty answer."))
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        call.future.set_exception(
            AppError(ErrorKind.PROTOCOL, "The agent's answer could not be read.", detail=str(error))
        )


def _tell(on_event: Callable[[Any], None], event: Any) -> None:
    try:
        on_event(event)
    except Exception:
        # The listener's bug must not end the thread that every other request depends on.
        log.exception("a listener failed")
