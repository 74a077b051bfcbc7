"""Server of the agent protocol: reads requests, runs each on its own thread, writes the answers."""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING, Any

import msgspec

from app.errors import AppError, internal_error
from app.service.protocol import MAX_LINE, VERBS, Answer, CancelArgs, CancelResult, Request
from app.tasks import CancelToken, run_in_thread
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from app.service.transport import Transport

    #: A handler takes the verb's arguments and a Context, and returns the verb's result.
    Handler = Callable[[Any, "Context"], Any]

log = logging.getLogger("agent")

_FIRST_ID = re.compile(rb'\s*\{\s*"id"\s*:\s*(\d{1,18})\s*,')


class _RequestId(msgspec.Struct):
    """The id of a line that is not a valid request."""

    id: int | None = None


class Context:
    """Context of a request, passed to its handler.

    Attributes:
        token: set when the request is cancelled.
        emit: sends an event to the client.
        request_id: id of the request.
    """

    def __init__(self, token: CancelToken, emit: Callable[[Any], None], request_id: int = 0) -> None:
        self.token = token
        self.emit = emit
        self.request_id = request_id


class AgentServer:
    """Serves one connection. The verb ``cancel`` is answered without waiting for the cancelled request."""

    def __init__(self, transport: Transport, handlers: Mapping[str, Handler]) -> None:
        self._transport = transport
        self._handlers = dict(handlers)
        self._write_lock = threading.Lock()
        self._running_lock = threading.Lock()
        self._running: dict[int, CancelToken] = {}

    def serve(self) -> None:
        """Answer requests until the input ends, then cancel the running requests."""
        try:
            while line := self._transport.readline(MAX_LINE + 1):
                if len(line) > MAX_LINE:
                    self._fail(_id_of_truncated(line), _line_too_long())
                    while not line.endswith(b"\n") and (line := self._transport.readline(MAX_LINE)):
                        pass
                elif line.strip():
                    self._accept(line)
        finally:
            self.cancel_all()

    def cancel_all(self) -> None:
        """Set the token of every running request."""
        with self._running_lock:
            tokens = list(self._running.values())
        for token in tokens:
            token.cancel()

    def _accept(self, line: bytes) -> None:
        try:
            request = from_json(line, Request)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
            self._fail(_id_of(line), AppError(ErrorCode.NOT_A_REQUEST, problem=str(error)))
            return
        try:
            args = self._decode_args(request)
            if isinstance(args, CancelArgs):
                self._send(Answer(id=request.id, ok=_encode_raw(self._cancel(args.id))))
            else:
                self._start(request, args)
        except AppError as error:
            self._fail(request.id, error)
        except Exception as error:
            # For example, no thread could be started; other requests continue.
            log.exception("request %s did not begin", request.verb)
            self._fail(request.id, internal_error(error))

    def _decode_args(self, request: Request) -> Any:
        verb = VERBS.get(request.verb)
        if verb is None or (request.verb not in self._handlers and request.verb != "cancel"):
            if verb is not None:
                raise AppError(ErrorCode.VERB_NOT_ON_HOST, verb=request.verb)
            raise AppError(ErrorCode.VERB_UNKNOWN, verb=request.verb)
        try:
            return from_json(request.args, verb.args)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise AppError(ErrorCode.ARGUMENTS_WRONG, verb=request.verb, problem=str(error)) from error

    def _start(self, request: Request, args: Any) -> None:
        token = CancelToken()
        with self._running_lock:
            if request.id in self._running:
                raise AppError(ErrorCode.REQUEST_ID_IN_USE, number=request.id)
            self._running[request.id] = token
        handler = self._handlers[request.verb]

        def emit(event: Any) -> None:
            self._send(Answer(id=request.id, event=_encode_raw(event)))

        def work() -> None:
            answer: Answer
            try:
                answer = Answer(
                    id=request.id, ok=_encode_raw(handler(args, Context(token, emit, request.id)))
                )
            except AppError as error:
                answer = Answer(id=request.id, error=error.data())
            except Exception as error:
                log.exception("request %s failed", request.verb)
                answer = Answer(id=request.id, error=internal_error(error).data())
            # Removed before the answer is sent, so that the client may reuse the id at once.
            with self._running_lock:
                del self._running[request.id]
            self._send(answer)

        try:
            run_in_thread(f"agent-{request.verb}", work)
        except BaseException:
            with self._running_lock:
                del self._running[request.id]
            raise

    def _cancel(self, request_id: int) -> CancelResult:
        with self._running_lock:
            token = self._running.get(request_id)
        if token is not None:
            # Cancellation may wait for killed child processes, so it runs off the reading thread.
            run_in_thread("agent-cancel", token.cancel)
        return CancelResult(found=token is not None)

    def _fail(self, request_id: int | None, error: AppError) -> None:
        self._send(Answer(id=request_id, error=error.data()))

    def _send(self, answer: Answer) -> None:
        line = msgspec.json.encode(answer) + b"\n"
        try:
            with self._write_lock:
                self._transport.write(line)
        except (OSError, ValueError):
            # The client is gone; serve() ends when it reads the end of the input.
            log.debug("an answer had no reader")


def _encode_raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def _line_too_long() -> AppError:
    return AppError(ErrorCode.REQUEST_TOO_LONG, limit=MAX_LINE >> 20)


def _id_of_truncated(line: bytes) -> int | None:
    """Return the id of a truncated line, None unless it is the first member, as AgentClient writes it."""
    found = _FIRST_ID.match(line)
    return int(found[1]) if found is not None else None


def _id_of(line: bytes) -> int | None:
    """Return the id of an invalid request, None if it has none."""
    try:
        return from_json(line, _RequestId).id
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        return None
