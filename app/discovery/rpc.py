"""ONC RPC client (RFC 5531) over TCP and UDP, with the few XDR types (RFC 4506) that NFS queries need.

It uses unprivileged ports and needs no root. Whatever a server sends and however slow it is, each call ends
by its deadline with the body of the reply or an AppError. Several queries can run at once.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Literal, TypeVar, overload

from app.errors import AppError, ErrorKind
from app.tasks import run_in_thread
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from concurrent.futures import Future

Item = TypeVar("Item")


class XdrError(ValueError):
    """Malformed XDR data; the message is the end of a sentence that gives the reason."""


def u32(*values: int) -> bytes:
    """Encode unsigned 32-bit integers."""
    return struct.pack(f">{len(values)}I", *values)


def u64(value: int) -> bytes:
    """Encode an unsigned 64-bit integer."""
    return struct.pack(">Q", value)


def opaque(data: bytes) -> bytes:
    """Encode variable-length opaque data: the length, then the bytes padded to a multiple of four."""
    return u32(len(data)) + data + bytes(-len(data) % 4)


class Unpacker:
    """XDR decoder; each method reads the next value and raises XdrError at the end of the data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def u32(self) -> int:
        """Decode an unsigned 32-bit integer."""
        return int.from_bytes(self.fixed(4), "big")

    def u64(self) -> int:
        """Decode an unsigned 64-bit integer."""
        return int.from_bytes(self.fixed(8), "big")

    def boolean(self) -> bool:
        """Decode a boolean, 0 or 1; raise XdrError for any other value."""
        value = self.u32()
        if value > 1:
            raise XdrError(f"{value} stands where only 0 or 1 may.")
        return value == 1

    def fixed(self, size: int) -> bytes:
        """Decode fixed-length opaque data of ``size`` bytes and skip the padding to a multiple of four."""
        end = self._at + size
        if end + (-size % 4) > len(self._data):
            raise XdrError("it ends too early.")
        found = self._data[self._at : end]
        self._at = end + (-size % 4)
        return found

    def opaque(self, limit: int) -> bytes:
        """Decode variable-length opaque data of at most ``limit`` bytes."""
        size = self.u32()
        if size > limit:
            raise XdrError(f"a field of {size} bytes, where at most {limit} are allowed.")
        return self.fixed(size)

    def words(self, limit: int) -> list[int]:
        """Decode a variable-length array of at most ``limit`` unsigned 32-bit integers."""
        count = self.u32()
        if count > limit:
            raise XdrError(f"a list of {count} numbers, where at most {limit} are allowed.")
        return [self.u32() for _ in range(count)]

    def chain(self, read: Callable[[Unpacker], Item], limit: int) -> list[Item]:
        """Decode a linked list (RFC 4506 §4.19), in which a boolean precedes each entry.

        Args:
            read: decodes one entry.
            limit: largest number of entries.
        """
        found: list[Item] = []
        while self.boolean():
            if len(found) == limit:
                raise XdrError(f"a list with more than {limit} entries.")
            found.append(read(self))
        return found

    def rest(self) -> bytes:
        """Return the bytes not decoded yet."""
        return self._data[self._at :]


def readable(raw: bytes) -> str:
    r"""Decode a name sent by a server into text that is safe to display.

    Invalid UTF-8 and control characters become ``\xNN``, because a terminal would interpret them.
    """
    text = raw.decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


T = TypeVar("T")
Transport = Literal["tcp", "udp"]

#: Longest reply accepted, bytes; a list of some thousand exports is shorter.
MAX_REPLY = 4 * 2**20
_MAX_FRAGMENTS = 4096
_MAX_DATAGRAM = 65536
_LAST_FRAGMENT = 0x8000_0000
_MAX_AUTH = 400
#: Time until the first retransmission of a datagram, s; it doubles each time.
_RESEND_S = 0.25

NULL_PROCEDURE = 0
AUTH_NONE = u32(0, 0)

_REPLY, _ACCEPTED, _DENIED = 1, 0, 1
_SUCCESS, _PROGRAM_MISSING, _VERSION_MISMATCH, _PROCEDURE_MISSING = 0, 1, 2, 3
_OTHER_ACCEPTED = {4: "it could not read the arguments", 5: "it has an internal failure"}
#: enum auth_stat of RFC 5531.
_AUTH = {1: "bad credential", 2: "rejected credential", 5: "authentication too weak"}


class VersionMismatchError(AppError):
    """The server offers the program in other versions only (PROG_MISMATCH).

    Attributes:
        lowest: lowest version offered.
        highest: highest version offered.
    """

    def __init__(self, program: int, version: int, lowest: int, highest: int) -> None:
        super().__init__(
            ErrorKind.VERSION_UNSUPPORTED,
            f"The server does not offer version {version}: it says that it has {lowest} to {highest}.",
            detail=f"RPC program {program}: PROG_MISMATCH {lowest} {highest}",
        )
        self.lowest = lowest
        self.highest = highest


class ProgramMissingError(AppError):
    """The server offers no such program or procedure (PROG_UNAVAIL, PROC_UNAVAIL)."""


class Deadline:
    """Deadline for a sequence of operations.

    Args:
        seconds: time from now until the deadline, s.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the remaining time in seconds, 0 after the deadline."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> float:
        """Return the remaining time in seconds.

        Raises:
            AppError: SERVER_SILENT after the deadline.
        """
        left = self.left()
        if left <= 0:
            raise timeout_error(self.seconds)
        return left

    def within(self, seconds: float) -> Deadline:
        """Return a deadline ``seconds`` from now, but not later than this one."""
        return Deadline(min(seconds, self.left()))

    def pause(self, seconds: float) -> None:
        """Sleep for ``seconds``, but not beyond the deadline."""
        threading.Event().wait(min(seconds, self.left()))


def timeout_error(seconds: float) -> AppError:
    """Return the error for a server that did not answer within ``seconds``."""
    return AppError(ErrorCode.NO_ANSWER, seconds=seconds)


def unreadable_answer_error(why: str) -> AppError:
    """Return the error for a malformed reply; ``why`` becomes its detail."""
    return AppError(ErrorCode.ANSWER_GARBLED, detail=why)


def decode(body: bytes, read: Callable[[Unpacker], T]) -> T:
    """Decode the body of a reply with ``read``.

    Raises:
        AppError: SERVER_GARBLED if the body is malformed.
    """
    try:
        return read(Unpacker(body))
    except XdrError as error:
        raise unreadable_answer_error(str(error)) from error


def auth_sys() -> bytes:
    """Return the AUTH_SYS credential of this process's user (RFC 5531, appendix A)."""
    body = u32(0) + opaque(b"") + u32(os.getuid(), os.getgid(), 0)
    return u32(1) + opaque(body)


def socket_address(address: str, port: int) -> tuple[socket.AddressFamily, tuple[str | int | bytes, ...]]:
    """Return the address family and the socket address of a numeric address; IPv6 may have a zone.

    Raises:
        AppError: SERVER_UNKNOWN if the address is malformed, or its zone names no interface.
    """
    try:
        found = socket.getaddrinfo(
            address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
        )
    except (socket.gaierror, UnicodeError, OverflowError) as error:
        raise AppError(ErrorCode.ADDRESS_UNUSABLE, detail=str(error), address=address) from error
    family, _, _, _, socket_addr = found[0]
    return family, socket_addr


def connection_error(number: int, seconds: float) -> AppError:
    """Return the error for the errno of a socket call.

    Args:
        number: errno.
        seconds: timeout for the message, s.
    """
    if number == errno.ECONNREFUSED:
        return AppError(ErrorCode.CONNECTION_REFUSED)
    if number in {errno.ETIMEDOUT, errno.EAGAIN}:
        return timeout_error(seconds)
    if number in {errno.ECONNRESET, errno.EPIPE}:
        return AppError(ErrorCode.CONNECTION_CLOSED, detail=os.strerror(number))
    return AppError(ErrorCode.UNREACHABLE, detail=os.strerror(number))


class RpcConnection:
    """RPC connection to one port of a server; a context manager that closes the socket.

    Args:
        address: numeric address, IPv6 without brackets.
        port: port number.
        transport: tcp or udp.
        deadline: deadline for the connection and all calls together.

    Raises:
        AppError: if the connection fails.
    """

    def __init__(self, address: str, port: int, transport: Transport, deadline: Deadline) -> None:
        self._deadline = deadline
        self._transport = transport
        self._xids = itertools.count(int.from_bytes(os.urandom(4), "big"))
        family, socket_addr = socket_address(address, port)
        kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
        with self._failures():
            self._socket = socket.socket(family, kind)
        try:
            with self._failures():
                self._socket.settimeout(deadline.check())
                self._socket.connect(socket_addr)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> RpcConnection:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._socket.close()

    def call(
        self,
        program: int,
        version: int,
        procedure: int,
        arguments: bytes = b"",
        credential: bytes = AUTH_NONE,
    ) -> bytes:
        """Call a procedure and return the body of its reply.

        Args:
            program: RPC program number.
            version: version of the program.
            procedure: procedure number.
            arguments: encoded arguments.
            credential: encoded credential, AUTH_NONE by default.

        Raises:
            VersionMismatchError: the server offers the program in other versions only.
            ProgramMissingError: the server offers no such program or procedure.
            AppError: SERVER_SILENT, SERVER_REFUSED, SERVER_GARBLED or ACCESS_DENIED.
        """
        xid = next(self._xids) & 0xFFFF_FFFF
        message = u32(xid, 0, 2, program, version, procedure) + credential + AUTH_NONE + arguments
        with self._failures():
            reply = self._over_tcp(message) if self._transport == "tcp" else self._over_udp(message, xid)
        try:
            return _reply_body(Unpacker(reply), xid, program, version)
        except XdrError as error:
            raise unreadable_answer_error(str(error)) from error

    def _over_tcp(self, message: bytes) -> bytes:
        """Send one record and return the next record received (record marking, RFC 5531 §11)."""
        self._socket.settimeout(self._deadline.check())
        self._socket.sendall(u32(_LAST_FRAGMENT | len(message)) + message)
        record = bytearray()
        for _ in range(_MAX_FRAGMENTS):
            mark = int.from_bytes(self._receive(4), "big")
            size = mark & ~_LAST_FRAGMENT
            if len(record) + size > MAX_REPLY:
                raise unreadable_answer_error(f"A reply of more than {MAX_REPLY} bytes.")
            record += self._receive(size)
            if mark & _LAST_FRAGMENT:
                return bytes(record)
        raise unreadable_answer_error(f"A reply in more than {_MAX_FRAGMENTS} fragments.")

    def _receive(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            self._socket.settimeout(self._deadline.check())
            data = self._socket.recv(min(size - len(found), 65536))
            if not data:
                raise AppError(ErrorCode.CLOSED_WITHOUT_ANSWER)
            found += data
        return bytes(found)

    def _over_udp(self, message: bytes, xid: int) -> bytes:
        """Send a datagram, with retransmissions, until a reply with the same xid arrives."""
        wait_s = _RESEND_S
        while True:
            self._deadline.check()
            self._socket.send(message)
            resend_at = self._deadline.within(wait_s)
            wait_s *= 2
            while left := resend_at.left():
                self._socket.settimeout(left)
                try:
                    reply = self._socket.recv(_MAX_DATAGRAM)
                except TimeoutError:
                    break
                if reply[:4] == u32(xid):
                    return reply

    @contextlib.contextmanager
    def _failures(self) -> Generator[None]:
        try:
            yield
        except TimeoutError as error:
            raise timeout_error(self._deadline.seconds) from error
        except OSError as error:
            raise connection_error(error.errno or errno.EIO, self._deadline.seconds) from error


def _reply_body(reply: Unpacker, xid: int, program: int, version: int) -> bytes:
    """Return the body of an accepted, successful reply; raise the error that any other reply reports."""
    if reply.u32() != xid:
        raise XdrError("it carries the number of another call.")
    if reply.u32() != _REPLY:
        raise XdrError("it is not a reply.")
    state = reply.u32()
    if state == _DENIED:
        raise _denial_error(reply)
    if state != _ACCEPTED:
        raise XdrError(f"it has the unknown state {state}.")
    reply.u32()  # the flavour of the verifier
    reply.opaque(_MAX_AUTH)
    state = reply.u32()
    if state == _SUCCESS:
        return reply.rest()
    if state == _VERSION_MISMATCH:
        raise VersionMismatchError(program, version, reply.u32(), reply.u32())
    if state in {_PROGRAM_MISSING, _PROCEDURE_MISSING}:
        raise ProgramMissingError(
            ErrorKind.VERSION_UNSUPPORTED,
            "The server does not offer this service there.",
            detail=f"RPC program {program}, version {version}: "
            f"{'PROG_UNAVAIL' if state == _PROGRAM_MISSING else 'PROC_UNAVAIL'}",
        )
    if state in _OTHER_ACCEPTED:
        raise unreadable_answer_error(f"The server says that {_OTHER_ACCEPTED[state]}.")
    raise XdrError(f"it has the unknown state {state}.")


def _denial_error(reply: Unpacker) -> AppError:
    if reply.u32() == 0:
        return unreadable_answer_error(
            f"The server speaks version {reply.u32()} to {reply.u32()} of RPC, not 2."
        )
    reason = reply.u32()
    return AppError(
        ErrorCode.AUTHENTICATION_REQUIRED,
        detail=f"RPC: authentication error {reason} {_AUTH.get(reason, '')}".rstrip(),
    )


A = TypeVar("A")
B = TypeVar("B")

#: Time beyond the deadline for threads that the system scheduled late, s; the parts observe the deadline.
_GRACE_S = 0.2


@overload
def run_parts(
    deadline: Deadline, first: Callable[[], A], second: Callable[[], B], /
) -> tuple[A | AppError, B | AppError]: ...


@overload
def run_parts(deadline: Deadline, /, *parts: Callable[[], A]) -> tuple[A | AppError, ...]: ...


def run_parts(deadline: Deadline, /, *parts: Callable[[], object]) -> tuple[object, ...]:
    """Run each part on its own thread and return the results in order.

    The result of a part is its return value, the AppError that it raised, or a timeout error after the
    deadline.
    """
    futures = [run_in_thread(f"discover-{number}", part) for number, part in enumerate(parts)]
    return tuple(_outcome(future, deadline) for future in futures)


def run_all(deadline: Deadline, parts: Sequence[Callable[[], A]]) -> list[A | AppError]:
    """Run a sequence of parts of one type like :func:`run_parts` and return the list of results."""
    return list(run_parts(deadline, *parts))


def _outcome(future: Future[object], deadline: Deadline) -> object:
    try:
        return future.result(deadline.left() + _GRACE_S)
    except AppError as error:
        return error
    except TimeoutError:
        return timeout_error(deadline.seconds)
