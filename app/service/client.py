"""Client of an agent: one thread writes requests, one reads answers and completes their futures.

It works over any transport. Sending a request does not wait for the write, because a long request takes
seconds on the lab's serial line.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from app.errors import AppError
from app.service.protocol import VERBS, Answer, CancelArgs, Empty, Request
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.service.transport import Transport

log = logging.getLogger("agent")

#: Time that close() allows for queued requests to be written, s.
_WRITE_TIMEOUT_S = 10.0
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Call:
    """A running request.

    Attributes:
        id: number of the request on its connection.
        verb: name of the verb.
        future: completes with the verb's result, or fails with an AppError.
    """

    def __init__(self, call_id: int, verb: str, on_event: Callable[[Any], None] | None) -> None:
        self.id = call_id
        self.verb = verb
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()
        self._on_event = on_event
        #: Exception raised by the event listener.
        self._listener_error: Exception | None = None
        self._cancel: Callable[[], None] = _ignore

    def cancel(self) -> None:
        """Cancel the request; the future fails with kind "cancelled" unless it completed before."""
        self._cancel()

    def bind(self, cancel: Callable[[], None]) -> None:
        """Set the function that cancels the request; called by the host."""
        self._cancel = cancel

    def tell(self, event: Any) -> None:
        """Pass an event to the listener; called by the host.

        If the listener raises, its request is cancelled (which rolls back a change) and fails with that
        exception. The calling thread does not see the exception, because it serves other requests too.
        """
        if self._on_event is None or self._listener_error is not None:
            return
        try:
            self._on_event(event)
        except Exception as error:  # noqa: BLE001 - raised again by result()
            self._listener_error = error
            self.cancel()

    def succeed(self, result: Any) -> None:
        """Complete the request with a result; called by the host."""
        if self._listener_error is not None:
            self.future.set_exception(self._listener_error)
        else:
            self.future.set_result(result)

    def fail(self, error: BaseException) -> None:
        """Complete the request with an error; called by the host."""
        self.future.set_exception(self._listener_error or error)

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the result.

        Args:
            timeout: longest wait, s; None to wait without limit.

        Raises:
            AppError: the error that the host answered with.
            TimeoutError: after ``timeout`` seconds.
        """
        return self.future.result(timeout)


class Host(Protocol):
    """Interface of a host: a local agent, the lab's guest, or this process itself."""

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        """Start a request and return its call.

        Args:
            verb: name of the verb.
            args: argument struct of the verb, None for no arguments.
            on_event: called with each event on another thread.
        """
        ...

    def close(self) -> None:
        """Cancel running requests and end the connection."""
        ...


def _ignore() -> None:
    """Do nothing."""


class AgentClient:
    """A connection to an agent.

    Args:
        transport: carries lines to the agent and from it.
        on_close: runs once when the agent's output ends, on the reader thread.
    """

    def __init__(self, transport: Transport, *, on_close: Callable[[], None] = _ignore) -> None:
        self._transport = transport
        self._on_close = on_close
        self._ids = itertools.count(1)
        self._calls: dict[int, Call] = {}
        self._lock = threading.Lock()
        self._closed = False
        #: Lines to write, in the order of their requests; None ends the queue.
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="agent-client-sender", daemon=True)
        self._thread = threading.Thread(target=self._read, name="agent-client", daemon=True)
        self._writer.start()
        self._thread.start()

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        """Send a request and return its call. A dead connection fails the call's future, not this method.

        Args:
            verb: name of the verb.
            args: argument struct of the verb, None for no arguments.
            on_event: called with each event on the reader thread.
        """
        call = Call(next(self._ids), verb, on_event)
        call.bind(lambda: self._send_cancel(call))
        try:
            raw = msgspec.Raw(msgspec.json.encode(Empty() if args is None else args))
        except UnicodeEncodeError:
            call.fail(_request_failed())
            return call
        line = msgspec.json.encode(Request(id=call.id, verb=verb, args=raw)) + b"\n"
        with self._lock:
            closed = self._closed
            if not closed:
                self._calls[call.id] = call
                self._lines.put(line)
        if closed:
            call.fail(self._end_reason())
        return call

    def close(self) -> None:
        """Close the agent's input, which ends the agent, and fail the running requests.

        Queued requests are written first, unless the agent has stopped reading.
        """
        self._lines.put(None)
        self._writer.join(_WRITE_TIMEOUT_S)
        self._transport.close()
        self._end()

    def join(self, timeout: float) -> bool:
        """Wait for the reader thread to end; return whether it did."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _send_cancel(self, call: Call) -> None:
        if not call.future.done():
            self.submit("cancel", CancelArgs(id=call.id))

    def _write(self) -> None:
        try:
            while line := self._lines.get():
                self._transport.write(line)
        except (OSError, ValueError):
            log.debug("the agent's input broke off")
        finally:
            self._end()

    def _read(self) -> None:
        try:
            while line := self._transport.readline():
                self._handle_line(line)
        except (OSError, ValueError):
            log.debug("the agent's output broke off")
        finally:
            # No answer can arrive any more, so the running requests fail here.
            self._end()
            self._on_close()

    def _handle_line(self, line: bytes) -> None:
        try:
            answer = from_json(line, Answer)
        except _UNREADABLE:
            # A serial line also carries messages of the guest's kernel.
            log.debug("not an answer: %r", line[:200])
            return
        if answer.id is None:
            log.warning("the agent refused a line: %s", answer.error)
            return
        with self._lock:
            call = self._calls.get(answer.id)
            if call is not None and answer.event is msgspec.UNSET:
                del self._calls[answer.id]
        if call is None:
            return
        if not isinstance(answer.event, msgspec.Raw):
            _finish(call, answer)
            return
        kind = VERBS[call.verb].event
        if kind is None:
            return
        try:
            event = from_json(answer.event, kind)
        except _UNREADABLE as error:
            call.cancel()  # the client cannot follow its progress any more
            with self._lock:
                known = self._calls.pop(call.id, None)
            if known is not None:
                call.fail(_unreadable(error))
        else:
            call.tell(event)

    def _end(self) -> None:
        with self._lock:
            self._closed = True
            calls, self._calls = list(self._calls.values()), {}
        self._lines.put(None)
        for call in calls:
            call.fail(self._end_reason())

    def _end_reason(self) -> AppError:
        return self._transport.failure or _agent_gone()


def _agent_gone() -> AppError:
    return AppError(ErrorCode.AGENT_ENDED)


def _request_failed() -> AppError:
    return AppError(ErrorCode.NAME_NOT_UTF8_FOR_AGENT)


def _unreadable(error: Exception) -> AppError:
    return AppError(ErrorCode.AGENT_ANSWER_NOT_READ, detail=str(error))


def _finish(call: Call, answer: Answer) -> None:
    try:
        if isinstance(answer.ok, msgspec.Raw):
            call.succeed(from_json(answer.ok, VERBS[call.verb].result))
        elif answer.error is not msgspec.UNSET:
            call.fail(answer.error.error())
        else:
            call.fail(AppError(ErrorCode.AGENT_ANSWER_EMPTY))
    except _UNREADABLE as error:
        call.fail(_unreadable(error))
