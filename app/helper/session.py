"""The helper's protocol: one JSON object a line, bytes in and bytes out, one request at a time.

Request ``{"id", "verb", "args"}``; answer ``{"id", "ok"}`` or ``{"id", "error": {"code", "message",
"detail", "data"}}``. While a request is under way only ``cancel`` is served. The end of the input means:
stop what is under way, undo it, and exit.
"""

from __future__ import annotations

import json
import os
import re
import select
import time
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

from app.helper.errors import Refusal, body
from app.helper.verbs import check_args

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    #: A handler gets the arguments, complete and of the right types, and what it may wait with.
    Handler = Callable[[dict[str, object], "Session"], dict[str, object]]

PROTOCOL = 1
MAX_LINE = 64 * 1024
#: A request, its args, the list of a plan, a request there, its args, a list of words.
MAX_DEPTH = 6
IDLE_S = 30.0
#: How long a begun line may stay without its end.
LINE_S = 5.0
_ID = re.compile(r"[0-9a-f]{1,32}\Z")


class Request(NamedTuple):
    """A line that is a request; its arguments are not looked at yet."""

    id: str
    verb: str
    args: dict[str, object]


class Session:
    """Serves one peer until its input ends.

    Args:
        reader: descriptor to read requests from.
        writer: descriptor to write answers to.
        role: one of ROLES.
        handlers: the verbs of this role, without ``cancel``.
        wakeup: a descriptor that becomes readable when the process is told to end, or -1.
        idle_s: with a peer that says it can restart us: how long to stay without a request.
        audit: gets one line a request.
    """

    def __init__(
        self,
        reader: int,
        writer: int,
        role: str,
        handlers: Mapping[str, Handler],
        *,
        wakeup: int = -1,
        idle_s: float = IDLE_S,
        audit: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._role = role
        self._handlers = dict(handlers)
        self._wakeup = wakeup
        self._idle_s = idle_s
        self._audit = audit
        self._buffer = b""
        self._skipping = False
        self._begun = 0.0
        self._running = ""
        self._cancelled = False
        self._ended = False
        self._restarts = False
        #: Set by a handler while something is open that must not end for want of requests.
        self.holds = False

    @property
    def cancelled(self) -> bool:
        """Whether the request under way is to stop."""
        return self._cancelled or self._ended

    def run(self) -> int:
        """Serve until the end; return the exit status."""
        idle_since = time.monotonic()
        while not self._ended:
            line = self._next_line()
            if line is not None:
                self._accept(line)
                idle_since = time.monotonic()
                continue
            self._poll((), 1.0)
            if self._buffer and time.monotonic() - self._begun > LINE_S:
                self._fail(None, Refusal("protocol", "A line has no end."))
                return 65
            if (
                self._restarts
                and not self.holds
                and not self._buffer
                and time.monotonic() - idle_since > self._idle_s
            ):
                # The peer may have sent a request this moment: this tells it that it was not read.
                self._send({"event": "idle-exit"})
                return 0
        return 0

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait for descriptors on behalf of the request under way, and serve ``cancel`` meanwhile."""
        self._serve_while_running()
        ready = self._poll(fds, 0.0 if self.cancelled else timeout_s)
        self._serve_while_running()
        return ready

    def _serve_while_running(self) -> None:
        while (line := self._next_line()) is not None:
            self._accept_while_running(line)

    def _poll(self, fds: Collection[int], timeout_s: float) -> set[int]:
        own = [] if self._ended else [fd for fd in (self._reader, self._wakeup) if fd >= 0]
        ready = set(select.select([*fds, *own], [], [], timeout_s)[0])
        if self._wakeup in ready:
            self._ended = True
        elif self._reader in ready and not self._ended:
            self._fill()
        return ready & set(fds)

    def _fill(self) -> None:
        try:
            chunk = os.read(self._reader, 1 << 16)
        except OSError:
            chunk = b""
        if not chunk:
            self._ended = True
        if not self._buffer:
            self._begun = time.monotonic()
        self._buffer += chunk

    def _next_line(self) -> bytes | None:
        line, newline, rest = self._buffer.partition(b"\n")
        too_long = len(line) > MAX_LINE
        if not newline:
            if too_long:
                self._buffer = b""
                self._begin_skipping()
            return None
        self._buffer = rest
        self._begun = time.monotonic()
        if self._skipping or too_long:
            if not self._skipping:
                self._begin_skipping()
            self._skipping = False
            return self._next_line()
        return line

    def _begin_skipping(self) -> None:
        if not self._skipping:
            self._fail(None, Refusal("protocol", "A line is too long."))
        self._skipping = True

    def _accept(self, line: bytes) -> None:
        try:
            request = parse(line)
        except Refusal as refusal:
            self._fail(None, refusal)
            return
        started = time.monotonic()
        self._running, self._cancelled = request.id, False
        outcome = "ok"
        try:
            answer: dict[str, object] = {"id": request.id, "ok": self._carry_out(request)}
        except Refusal as refusal:
            outcome = refusal.code
            answer = {"id": request.id, "error": body(refusal)}
        except Exception as error:  # noqa: BLE001 - a bug must not end the session without an answer
            outcome = "internal"
            name = type(error).__name__
            answer = {"id": request.id, "error": body(Refusal("internal", f"The helper failed ({name})."))}
        finally:
            self._running, self._cancelled = "", False
        spent = int((time.monotonic() - started) * 1000)
        self._audit(f"{self._role}/{request.verb} {json.dumps(request.args)[:2000]} {outcome} {spent}ms")
        self._send(answer)

    def _accept_while_running(self, line: bytes) -> None:
        try:
            request = parse(line)
        except Refusal as refusal:
            self._fail(None, refusal)
            return
        try:
            found = self._is_cancel(request)
        except Refusal as refusal:
            self._fail(request.id, refusal)
            return
        self._cancelled = self._cancelled or found
        self._send({"id": request.id, "ok": {"found": found}})

    def _is_cancel(self, request: Request) -> bool:
        if request.verb != "cancel":
            raise Refusal("busy-helper", "Another request is under way.")
        return check_args(self._role, request.verb, request.args)["id"] == self._running

    def _carry_out(self, request: Request) -> dict[str, object]:
        args = check_args(self._role, request.verb, request.args)
        if request.verb == "cancel":
            return {"found": False}
        if request.verb == "hello":
            self._restarts = args["restarts"] is True
        return self._handlers[request.verb](args, self)

    def _fail(self, request_id: str | None, refusal: Refusal) -> None:
        self._send({"id": request_id, "error": body(refusal)})

    def _send(self, answer: dict[str, object]) -> None:
        # ASCII, control characters escaped: whatever a server put into a text stays inside its string.
        data = json.dumps(answer, ensure_ascii=True).encode("ascii") + b"\n"
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except OSError:
            self._ended = True


def parse(line: bytes) -> Request:
    """Return the request of a line.

    Raises:
        Refusal: with code protocol.
    """
    try:
        decoded: object = json.loads(
            line.decode("utf-8"), object_pairs_hook=_unique, parse_float=_no_number, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise Refusal("protocol", "A line is not a JSON object as agreed.") from None
    if not isinstance(decoded, dict):
        raise Refusal("protocol", "A line is not a request.")
    request = cast("dict[str, object]", decoded)
    if not _is_shallow(request, MAX_DEPTH):
        raise Refusal("protocol", "A line is nested too deeply.")
    if set(request) != {"id", "verb", "args"}:
        raise Refusal("protocol", "A request has an id, a verb and args, and nothing else.")
    request_id, verb, args = request["id"], request["verb"], request["args"]
    if not isinstance(request_id, str) or not _ID.match(request_id):
        raise Refusal("protocol", "The id of a request is not as agreed.")
    if not isinstance(verb, str) or not isinstance(args, dict):
        raise Refusal("protocol", "A request's verb is a string and its args are an object.")
    return Request(request_id, verb, cast("dict[str, object]", args))


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _is_shallow(value: object, depth: int) -> bool:
    if isinstance(value, dict):
        inner: list[object] = list(cast("dict[str, object]", value).values())
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    else:
        return True
    return depth > 0 and all(_is_shallow(item, depth - 1) for item in inner)
