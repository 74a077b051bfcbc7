"""Session of the helper: serves requests on one socket, one JSON object a line, one request at a time.

A request is ``{"id", "verb", "args"}``. The answer is ``{"id", "ok"}`` or ``{"id", "error": {"code",
"message", "detail", "data"}}``. While a request runs, only ``cancel`` is served. At the end of the input the
session stops the running request, undoes it, and exits.

A session has limits on time and number of requests. They are checked between two requests. When one is
exceeded, the session sends ``{"event": "session-end", "reason"}`` and ends. It has not read requests that
arrived after its last answer.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from typing import TYPE_CHECKING, NamedTuple, NoReturn, cast

from app.helper import audit, peer_socket
from app.helper.errors import Refusal, body
from app.helper.verbs import check_args

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Collection, Mapping

    #: Carries out a verb: gets the complete, type-checked arguments and the session, which it may wait with.
    Handler = Callable[[dict[str, object], "Session"], dict[str, object]]
    Poll = Callable[[Collection[int], Collection[int], float], tuple[set[int], set[int]]]

#: Version of the protocol.
PROTOCOL = 2
#: Longest line, bytes.
MAX_LINE = 64 * 1024
#: Deepest nesting of a line: request, args, list of a plan, its request, args of that, list of words.
MAX_DEPTH = 6
#: Time within which the end of a started line must arrive, s.
LINE_S = 5.0
#: Protocol errors (malformed lines, requests while one runs) after which the session ends.
MAX_FAULTS = 100
#: Time without progress after which sending is given up, s; the same after the end of the session; and the
#: total time for sending after the end of the session.
STALL_S, LAST_STALL_S, LAST_S = 5.0, 1.0, 5.0
#: Limits of the input and output buffers, bytes. Beyond them no more input is read or served.
_MAX_UNREAD, _MAX_UNSENT = 2 * MAX_LINE, MAX_LINE
#: Interval at which the limits are checked while no request arrives, s.
_POLL_S = 1.0
#: Tolerance for rounding errors of the credit (see Limits.rate).
_ROUNDING = 1e-6
_EX_DATAERR = 65  # sysexits.h
_ID = re.compile(r"[0-9a-f]{1,32}\Z")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Limits(NamedTuple):
    """Limits of a session, which one authorization opens.

    Attributes:
        age_s: time from the start after which no request is started, s.
        requests: most requests of the session.
        idle_s: time without a request after which the session ends, s, unless a test mount or plan is open.
        finish_s: time added to ``age_s`` while a test mount or plan is open, s.
        rate: average requests per second; further requests are delayed (token bucket).
        burst: requests that may be served at once without a delay.
    """

    age_s: float = 600.0
    requests: float = 1000
    idle_s: float = 30.0
    finish_s: float = 0.0
    rate: float = 100.0
    burst: float = 1000


#: Limits of actions that need others than the defaults. "bench": the largest recipe has 2,304 combinations,
#: each a test mount with about four requests, over hours, so the number of requests is unlimited. A test
#: mount takes at least tenths of a second, so 20 requests per second and 200 at once delay no experiment. The
#: user may read the plan of an experiment before it starts. "apply": the user may take time to decide whether
#: to keep a change.
LIMITS = {
    "bench": Limits(12 * 3600.0, float("inf"), idle_s=600.0, finish_s=3600.0, rate=20.0, burst=200),
    "apply": Limits(idle_s=Limits().age_s),
}


class Request(NamedTuple):
    """Parsed request whose arguments have not been checked yet.

    Attributes:
        id: 1 to 32 hexadecimal digits, chosen by the client.
        verb: name of the verb.
        args: arguments by name.
    """

    id: str
    verb: str
    args: dict[str, object]


class Session:
    """Serves the requests of one peer until its input ends or a limit is exceeded.

    Args:
        line: connected socket for requests and answers.
        role: one of ROLES.
        handlers: handler of each verb of the role, without ``cancel``.
        action: one of ACTIONS; "" for the action with the role's name.
        wakeup: descriptor that becomes readable when the process is to end, or -1.
        limits: limits of the session; None for those of the action.
        now: monotonic clock, s. It stops while the computer sleeps, and so do the limits.
        poll: waits for descriptors, like :func:`app.helper.peer_socket.poll`.
        log: writes one line to the system log; :mod:`app.helper.audit` builds the lines.

    Attributes:
        holds: set by a handler while a test mount or a plan is open, to suspend the idle limit.
    """

    def __init__(
        self, line: socket.socket, role: str, handlers: Mapping[str, Handler], *,
        action: str = "", wakeup: int = -1, limits: Limits | None = None,
        now: Callable[[], float] = time.monotonic, poll: Poll = peer_socket.poll,
        log: Callable[[str], None] = lambda _line: None,
    ) -> None:  # fmt: skip
        self._line, self._wakeup = line, wakeup
        self._action, self._role, self._handlers = action or role, role, dict(handlers)
        self._limits = limits or LIMITS.get(self._action, Limits())
        self._now, self._wait_for, self._log = now, poll, log
        self._channel = peer_socket.PeerSocket(line, now)
        self._buffer, self._skipping, self._line_began = b"", False, 0.0
        self._running, self._cancelled = "", False
        self._ended, self._status = False, 0
        self._faults = self._requests = 0
        self._began = self._idle_since = self._credit_at = now()
        self._credit = self._limits.burst
        self.holds = False

    @property
    def cancelled(self) -> bool:
        """Whether the running request is to stop."""
        return self._cancelled or self._ended

    def run(self) -> int:
        """Serve requests until the session ends; return the exit status of the process."""
        while not self._ended:
            self._step()
        # Buffered answers are sent for a short time.
        end = self._now() + LAST_S
        while (left_s := min(end - self._now(), LAST_STALL_S - self._channel.stalled_s())) > 0:
            if not self._channel.unsent:
                break
            if self._wait_for((), [self._line.fileno()], left_s)[1]:
                self._channel.send()
        return self._status

    def wait(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait for descriptors on behalf of the running request, and serve ``cancel`` meanwhile.

        Args:
            fds: descriptors to watch for reading.
            timeout_s: longest wait, s.

        Returns:
            the descriptors that are readable.
        """
        self._serve_while_running()
        ready = self._poll(fds, 0.0 if self.cancelled else timeout_s)
        self._serve_while_running()
        return ready

    def _step(self) -> None:
        """Carry out the next request, or wait for input, while no request is running."""
        if reason := self._reason_to_end():
            # The peer may just have sent a request; the event tells it that the request was not read.
            self._channel.send(_encoded({"event": "session-end", "reason": reason}))
            self._end(reason, 0)
            return
        wait_s = self._delay_s()
        if not self._channel.unsent and not wait_s and (line := self._next_line()) is not None:
            self._accept(line)
            self._idle_since = self._now()
            return
        self._poll((), min(wait_s or _POLL_S, _POLL_S))
        begun = (self._buffer or self._skipping) and b"\n" not in self._buffer
        if begun and self._now() - self._line_began > LINE_S:
            self._refuse(None, Refusal("protocol", "A line has no end."))
            self._end("protocol", _EX_DATAERR)

    def _reason_to_end(self) -> str:
        """Return the name of the limit that is exceeded, "" for none."""
        now, limits = self._now(), self._limits
        if now - self._began > limits.age_s + (limits.finish_s if self.holds else 0.0):
            return "age"
        if self._requests >= limits.requests:
            return "requests"
        busy = self.holds or self._buffer or self._channel.unsent
        return "idle" if not busy and now - self._idle_since > limits.idle_s else ""

    def _delay_s(self) -> float:
        """Return the time until the rate limit permits the next request, s; 0 for now (token bucket)."""
        now, rate = self._now(), self._limits.rate
        self._credit = min(self._limits.burst, self._credit + (now - self._credit_at) * rate)
        self._credit_at = now
        missing = 1.0 - self._credit
        return missing / rate if missing > _ROUNDING else 0.0

    def _serve_while_running(self) -> None:
        while len(self._channel.unsent) <= _MAX_UNSENT and (line := self._next_line()) is not None:
            self._accept_while_running(line)

    def _poll(self, fds: Collection[int], timeout_s: float) -> set[int]:
        """Wait for descriptors, and read input and send buffered answers meanwhile.

        Args:
            fds: descriptors to watch for reading, besides the session's own.
            timeout_s: longest wait, s.

        Returns:
            those of ``fds`` that are readable.
        """
        own = {self._wakeup} - {-1}
        if len(self._buffer) < _MAX_UNREAD:
            own.add(self._line.fileno())
        waiting = [self._line.fileno()] if self._channel.unsent else []
        if waiting:
            timeout_s = min(timeout_s, STALL_S - self._channel.stalled_s())
        readable, writable = self._wait_for([*fds, *(() if self._ended else own)], waiting, timeout_s)
        if self._wakeup in readable:
            self._ended = True
        elif self._line.fileno() in readable:
            self._fill()
        if writable:
            self._channel.send()
        if self._channel.lost or self._channel.stalled_s() >= STALL_S:
            self._channel.unsent, self._ended = b"", True
        return readable & set(fds)

    def _fill(self) -> None:
        chunk = self._channel.receive()
        if not self._buffer and not self._skipping:
            self._line_began = self._now()
        self._buffer += chunk or b""
        self._ended = self._ended or chunk == b""

    def _next_line(self) -> bytes | None:
        """Take the next complete line from the buffer, None if there is none.

        A line over MAX_LINE is skipped and answered with one error.
        """
        while not self._ended:
            line, newline, rest = self._buffer.partition(b"\n")
            too_long = len(line) > MAX_LINE
            if not newline and not too_long:
                return None
            self._buffer, skipped = rest, self._skipping
            self._skipping = not newline
            if newline:
                self._line_began = self._now()
            if too_long and not skipped:
                self._fault(None, Refusal("protocol", "A line is too long."))
            elif not too_long and not skipped:
                return line
        return None

    def _parse(self, line: bytes) -> Request | None:
        try:
            return parse(line)
        except Refusal as refusal:
            self._fault(None, refusal)
            return None

    def _accept(self, line: bytes) -> None:
        self._credit -= 1.0
        request = self._parse(line)
        if request is None:
            return
        self._requests += 1
        started = self._now()
        self._running, self._cancelled = request.id, False
        outcome, answer = "ok", dict[str, object](id=request.id)
        try:
            answer["ok"] = self._carry_out(request)
        except Exception as error:  # noqa: BLE001 - a bug must not end the session without an answer
            bug = Refusal("internal", f"The helper failed ({type(error).__name__}).")
            refusal = error if isinstance(error, Refusal) else bug
            outcome, answer["error"] = refusal.code, body(refusal)
        finally:
            self._running, self._cancelled = "", False
        spent_ms = int((self._now() - started) * 1000)
        self._write_log(lambda: audit.line(self._action, request.verb, request.args, outcome, spent_ms))
        self._channel.send(_encoded(answer))

    def _accept_while_running(self, line: bytes) -> None:
        request = self._parse(line)
        if request is None:
            return
        try:
            found = self._is_cancel(request)
        except Refusal as refusal:
            self._fault(request.id, refusal)
            return
        self._cancelled = self._cancelled or found
        self._channel.send(_encoded({"id": request.id, "ok": {"found": found}}))

    def _is_cancel(self, request: Request) -> bool:
        if request.verb != "cancel":
            raise Refusal("busy-helper", "Another request is under way.")
        return self._checked(request)["id"] == self._running

    def _carry_out(self, request: Request) -> dict[str, object]:
        args = self._checked(request)
        if request.verb == "cancel":
            return {"found": False}
        return self._handlers[request.verb](args, self)

    def _checked(self, request: Request) -> dict[str, object]:
        """Check the arguments of a request; return them with the defaults filled in.

        Raises:
            Refusal: code usage.
        """
        texts = json.dumps([request.verb, request.args], ensure_ascii=False).replace(r"\\", "")
        # File names cannot contain these characters, and some calls of Python fail on them.
        if r"\u0000" in texts or _LONE_SURROGATE.search(texts):
            raise Refusal("usage", "A text in the request has a null character or is not Unicode.")
        return check_args(self._action, self._role, request.verb, request.args)

    def _fault(self, request_id: str | None, refusal: Refusal) -> None:
        """Answer a protocol error; MAX_FAULTS of them end the session."""
        self._refuse(request_id, refusal)
        self._faults += 1
        if self._faults >= MAX_FAULTS:
            self._end("protocol", _EX_DATAERR)

    def _refuse(self, request_id: str | None, refusal: Refusal) -> None:
        self._channel.send(_encoded({"id": request_id, "error": body(refusal)}))

    def _end(self, reason: str, status: int) -> None:
        self._ended, self._status = True, status
        self._write_log(
            lambda: f"action={self._action} role={self._role} session-end={reason} requests={self._requests}"
        )

    def _write_log(self, line: Callable[[], str]) -> None:
        # An error of the log must not prevent the answer to a request that was carried out.
        with contextlib.suppress(Exception):
            self._log(line())


def _encoded(answer: dict[str, object]) -> bytes:
    # ASCII with escaped control characters: text from a server cannot leave its JSON string.
    return json.dumps(answer, ensure_ascii=True).encode("ascii") + b"\n"


def parse(line: bytes) -> Request:
    """Parse a line into a request.

    Raises:
        Refusal: code protocol if the line is malformed.
    """
    try:
        decoded: object = json.loads(
            line.decode("utf-8"), object_pairs_hook=_unique, parse_float=_no_number, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise Refusal("protocol", "A line is not a JSON object as agreed.") from None
    if not isinstance(decoded, dict) or set(request := cast("dict[str, object]", decoded)) != set(
        Request._fields
    ):
        raise Refusal("protocol", "A request has an id, a verb and args, and nothing else.")
    if not _is_shallow(request, MAX_DEPTH):
        raise Refusal("protocol", "A line is nested too deeply.")
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
