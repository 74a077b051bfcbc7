"""Client of the root helper: starts it on demand, sends requests, and explains its refusals."""

from __future__ import annotations

import contextlib
import os
import pwd
import queue
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from app import process
from app.errors import AppError, CancelledError, ErrorKind
from app.helper.approval_gate import digest
from app.helper.options import split
from app.helper.session import PROTOCOL
from app.helper.verbs import ACTIONS, role_of
from app.helper_client import MOUNT_TIMEOUT_S
from app.helper_client.mount_errors import MountAttempt, diagnose_mount
from app.helper_client.polkit import explain_pkexec, helper_command, install_command
from app.tasks import run_in_thread
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tasks import CancelToken

#: Longest wait for a helper started directly, seconds; Python's imports are slow in the lab's guest.
_START_S = 30.0
#: Longest wait for a helper started by pkexec, seconds; a person may look for a password.
_AUTHORIZE_S = 600.0
#: Longest wait for a cancelled request, seconds: the helper kills child processes and removes directories.
_STOP_S = 10.0
#: Longest wait for the end of a helper that is then left to end alone, seconds.
_ABANDON_S = 1.0
#: Largest part of the helper's standard error to store, bytes.
_MAX_STDERR = 64 * 1024
#: Largest first message of the helper, bytes.
_MAX_START = 4096
#: Verbs of a test session, which ends with its helper; a new helper could not continue it.
_SESSION_VERBS = frozenset({"run", "abort", "close"})
_FOREGROUND = (
    "The option bg concerns mounting at start-up; this time the share was mounted in the foreground."
)
_HINTS = {
    ErrorKind.SHARE_INVALID: "Write it as server:/export, for example nas01:/export/home "
    "or [2001:db8::7]:/data.",
    ErrorKind.OPTION_INVALID: "Correct or remove this option.",
    ErrorKind.OPTION_RESERVED: "Leave it out, or have an administrator approve it.",
    ErrorKind.MOUNT_POINT_INVALID: "Name a local directory by its plain absolute path, for example /mnt/nas.",
    ErrorKind.MOUNT_POINT_MISSING: "Make the directory first, or choose another one.",
    ErrorKind.MOUNT_POINT_IS_FILE: "Choose a directory, or a name that does not exist yet.",
    ErrorKind.MOUNT_POINT_NOT_EMPTY: "Choose an empty directory: its files would be hidden by the mount.",
    ErrorKind.MOUNT_POINT_SYSTEM: "Choose a directory below /mnt, /media or /srv, for example /mnt/nas.",
    ErrorKind.MOUNT_POINT_RESTRICTED: "Choose a directory below /mnt, /media or /srv, for example /mnt/nas. "
    "An administrator can add directories in /etc/mountwright/roots.conf, or approve this mount point alone.",
    ErrorKind.MOUNT_POINT_UNREACHABLE: "Choose a directory below /mnt, /media or /srv, for example /mnt/nas.",
    ErrorKind.MOUNT_NOT_YOURS: "An administrator can approve the change of this mount alone.",
    ErrorKind.MOUNT_POINT_BUSY: "Unmount what is there first, or choose another directory.",
    ErrorKind.MOUNT_NFS_MISSING: "Install the package nfs-common (Debian, Ubuntu) or nfs-utils "
    "(Fedora, openSUSE, Arch).",
    ErrorKind.NOT_MOUNTED: "It may have been unmounted meanwhile. The list shows what is mounted now.",
    ErrorKind.BUSY: "Close the programs named in the details, or leave the directory in terminals, and "
    "try again. Detaching (lazy) hides the mount at once and lets them finish.",
    ErrorKind.FSTAB_CHANGED: "Look at the change again and repeat it: it is then made to what is there now.",
    ErrorKind.FSTAB_REFUSED: "Nothing was changed. Change it in the way this system is managed.",
    ErrorKind.FSTAB_FAILED: "What was there is as it was, unless the message says otherwise. Look at the "
    "free space and the health of the disk.",
    ErrorKind.OPTION_REJECTED: "Unmount it and mount it again with the new options.",
    ErrorKind.UNAVAILABLE: "The kernel or a container's limits do not allow it.",
    ErrorKind.NOT_RESPONDING: "The server does not answer. Force the unmount: what was not written yet "
    "is lost.",
}


class ApprovedPlan:
    """Plan for a system action, to be approved by an administrator: share, mount point and allowed requests.

    Args:
        share: share to mount or to unmount, server:/export.
        target: mount point.
        requests: allowed requests: verb and arguments, as for :meth:`HelperClient.call`.
    """

    def __init__(self, share: str, target: str, requests: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self._share, self._target = share, target
        self.requests: list[dict[str, object]] = [
            {"verb": verb, "args": _wire_arguments(verb, args, MOUNT_TIMEOUT_S)} for verb, args in requests
        ]

    def words(self) -> list[str]:
        """Return the helper's arguments after the action: share, mount point and digest of the requests."""
        return [self._share, self._target, digest(self.requests)]


class HelperClient:
    """Client of the helper for one action; starts the helper again after its end. Thread-safe.

    An idle helper ends, and so does one that has reached a limit of its authorization
    (:class:`app.helper.session.Limits`). The next request then starts another helper, for which polkit may
    ask again. No request is lost.

    Args:
        action: the action to authorize, one of app.helper.verbs.ACTIONS.
        command: command to start instead of the helper, for tests.
        stop_s: longest wait for a cancelled request and for the helper's end, seconds; None waits without
            limit. A helper that takes longer cleans up alone.
        plan: the plan to approve, for a system action.
    """

    def __init__(
        self,
        action: str,
        *,
        command: Sequence[str] | None = None,
        stop_s: float | None = None,
        plan: ApprovedPlan | None = None,
    ) -> None:
        self._action = action
        self._plan = plan
        self._command = command
        self._stop_s = stop_s
        self._lock = threading.Lock()
        self._connection: _Connection | None = None

    @property
    def running(self) -> bool:
        """Whether the helper of the last call is still running."""
        connection = self._connection
        return connection is not None and connection.alive

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        """Send a request to the helper and return its answer.

        Args:
            verb: a verb of one of the roles of the action.
            args: arguments of the verb; ``options`` is an option string, ``timeout_s`` the helper's time
                limit, seconds.
            token: cancels the request; the helper undoes an incomplete change.
            timeout_s: longest wait for the answer after the authorization, seconds.

        Returns:
            the helper's answer. Answers to ``mount``, ``try`` and ``open`` also have ``output``, the lines to
            show. Each process in an answer to ``holders`` also has ``user``, its user name.

        Raises:
            AppError: if the helper refused the request, failed or did not answer.
        """
        wire = _wire_arguments(verb, args, timeout_s)
        try:
            msgspec.json.encode(wire)  # before the helper is started, which may ask for a password
        except UnicodeEncodeError:
            raise AppError(ErrorCode.NAME_NOT_UTF8_FOR_HELPER) from None
        while not self._lock.acquire(timeout=0.1):
            token.check()
        try:
            # Two attempts: the helper's session may have ended before it read the request.
            for _attempt in range(2):
                answer = self._connected(token).ask(self._role_of(verb), verb, wire, token, timeout_s)
                if "event" not in answer:
                    return _read(verb, wire, answer, token)
                self._close_connection()
                if verb in _SESSION_VERBS:
                    raise _session_ended_error()
            raise _helper_error(ErrorCode.HELPER_ENDED_TWICE)
        finally:
            if self._connection is not None and not self._connection.usable:
                self._close_connection()
            self._lock.release()

    def close(self) -> None:
        """End the helper; it undoes a running request."""
        connection = self._connection
        if connection is not None:
            connection.disconnect()
        if self._lock.acquire(timeout=-1 if self._stop_s is None else _ABANDON_S):
            try:
                self._close_connection()
            finally:
                self._lock.release()

    def _role_of(self, verb: str) -> str:
        return role_of(self._action, verb) or ACTIONS[self._action][0]

    def _connected(self, token: CancelToken) -> _Connection:
        """Return a connection to a started helper whose roles have received the plan, if there is one."""
        if self._connection is None:
            token.check()
            words = self._plan.words() if self._plan is not None else []
            command = helper_command(self._action, *words) if self._command is None else list(self._command)
            self._connection = connection = _Connection(command, self._action, self._stop_s or _STOP_S)
            connection.wait_for_roles(token)
            if self._plan is not None:
                # All roles receive the plan first: each checks it against the state before the first request.
                wire = {"requests": self._plan.requests}
                for role in ACTIONS[self._action]:
                    _read("plan", {}, connection.ask(role, "plan", wire, token, _START_S), token)
        return self._connection

    def _close_connection(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.disconnect()
        ended = run_in_thread("helper-end", connection.close)
        with contextlib.suppress(TimeoutError):
            ended.result(None if self._stop_s is None else _ABANDON_S)


class _RoleChannel:
    """Socket to one role of the helper; a thread reads the answers."""

    def __init__(self, role: str, line: socket.socket) -> None:
        self._socket = line
        #: Answers in order; None marks the end of the connection.
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.reader = run_in_thread(f"helper-{role}", self._read)

    def send(self, request_id: str, verb: str, args: dict[str, Any]) -> None:
        """Send a request. If the helper has ended, next() returns None."""
        with contextlib.suppress(OSError):
            self._socket.sendall(msgspec.json.encode({"id": request_id, "verb": verb, "args": args}) + b"\n")

    def next(self, timeout_s: float) -> dict[str, Any] | None:
        """Return the next answer, None at the end of the connection.

        Raises:
            queue.Empty: if no answer arrives within ``timeout_s``.
        """
        return self._answers.get(timeout=max(0.0, timeout_s))

    def put(self, answer: dict[str, Any]) -> None:
        """Append an answer to the queue, as if the helper had sent it."""
        self._answers.put(answer)

    def disconnect(self) -> None:
        """Close the sending side, which ends the role."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def _read(self) -> None:
        with self._socket as line, line.makefile("rb") as answers, contextlib.suppress(OSError):
            for text in answers:
                with contextlib.suppress(msgspec.DecodeError):
                    self._answers.put(from_json(text, dict[str, Any]))
        self._answers.put(None)


class _Connection:
    """A running helper process and the sockets to its roles.

    Attributes:
        usable: whether the helper can take another request.
    """

    def __init__(self, command: list[str], action: str, stop_s: float) -> None:
        self._action = action
        self._stop_s = stop_s
        try:
            self._child = process.start_connected(command, stderr=process.PIPE)
        except OSError as error:
            raise _helper_error(ErrorCode.HELPER_NOT_STARTED, str(error)) from error
        self._through_pkexec = Path(command[0]).name == "pkexec"
        self._channels: dict[str, _RoleChannel] = {}
        self.usable = True
        self._stderr = b""
        self._started: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._readers = [
            run_in_thread("helper-start", self._read_start), run_in_thread("helper-errors", self._read_errors)
        ]  # fmt: skip

    def wait_for_roles(self, token: CancelToken) -> None:
        """Wait until the helper has started its roles, which may need an authorization by polkit.

        Raises:
            AppError: if the helper did not start them, or if the token is set.
        """
        give_up: dict[str, Any] = {}
        with token.on_cancel(lambda: self._started.put(give_up)):
            try:
                first_message = self._started.get(timeout=_AUTHORIZE_S if self._through_pkexec else _START_S)
            except queue.Empty:
                first_message = give_up
        if first_message is None or first_message is give_up:
            self.usable = False
            raise self._ended_error(token) if first_message is None else self._timeout_error(token)
        if first_message != {"protocol": PROTOCOL, "roles": list(ACTIONS[self._action])}:
            self.usable = False
            raise _helper_error(ErrorCode.HELPER_VERSION_DIFFERS, str(first_message)[:1000])

    def ask(
        self, role: str, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float
    ) -> dict[str, Any]:
        """Send a request to a role; return its answer, or an event if the role ended without reading it.

        Raises:
            AppError: if the helper ended or did not answer in time.
        """
        channel, request_id = self._channels[role], secrets.token_hex(16)
        give_up: dict[str, Any] = {"give-up": request_id}
        channel.send(request_id, verb, args)
        with token.on_cancel(lambda: channel.put(give_up)):
            end = time.monotonic() + timeout_s
            stopping = False
            while True:
                try:
                    answer = channel.next(end - time.monotonic())
                except queue.Empty:
                    answer = give_up
                if answer is None:
                    self.usable = False
                    raise self._ended_error(token)
                if answer.get("id") == request_id or "event" in answer:
                    return answer
                if answer is give_up:
                    if stopping:
                        self.usable = False
                        raise self._timeout_error(token)
                    stopping = True
                    end = time.monotonic() + self._stop_s
                    channel.send(secrets.token_hex(16), "cancel", {"id": request_id})

    @property
    def alive(self) -> bool:
        """Whether the helper process is running."""
        return self._child.poll() is None

    def disconnect(self) -> None:
        """Disconnect all roles, which ends them; a pkexec that still waits for a password is killed."""
        self.usable = False
        channels = [*self._channels.values()]
        if not channels:
            process.kill_group(self._child)
        for channel in channels:
            channel.disconnect()
        with contextlib.suppress(OSError):
            if self._child.stdin is not None:
                self._child.stdin.close()

    def close(self) -> None:
        """Disconnect and wait for the helper's end; an ordinary user cannot kill a process of root."""
        self.disconnect()
        try:
            self._child.wait(_STOP_S)
        except process.TimeoutExpired:
            process.kill_group(self._child)
            with contextlib.suppress(process.TimeoutExpired):
                self._child.wait(1.0)
        for reader in (*self._readers, *(channel.reader for channel in self._channels.values())):
            with contextlib.suppress(TimeoutError):
                reader.result(1.0)

    def _read_start(self) -> None:
        """Receive the sockets of the roles, which the helper sends after it has started them."""
        first_message: dict[str, Any] | None = None
        roles = ACTIONS[self._action]
        if self._child.stdout is not None:
            with self._child.stdout as output, contextlib.suppress(OSError, msgspec.DecodeError):
                with socket.socket(fileno=os.dup(output.fileno())) as line:
                    data, fds, _flags, _address = socket.recv_fds(line, _MAX_START, len(roles))
                ends = [socket.socket(fileno=fd) for fd in fds]
                self._channels = {
                    role: _RoleChannel(role, end) for role, end in zip(roles, ends, strict=False)
                }
                first_message = from_json(data, dict[str, Any])
        self._started.put(first_message)

    def _read_errors(self) -> None:
        if self._child.stderr is not None:
            with self._child.stderr as pipe, contextlib.suppress(OSError, ValueError):
                while chunk := pipe.read(4096):
                    self._stderr = (self._stderr + chunk)[:_MAX_STDERR]
        # An idle helper that has ended must not remain a zombie until the next request.
        with contextlib.suppress(process.TimeoutExpired):
            self._child.wait(_STOP_S)

    def _timeout_error(self, token: CancelToken) -> AppError:
        process.kill_group(self._child)
        if token.cancelled:
            return CancelledError()
        return _helper_error(ErrorCode.HELPER_TIMEOUT, self._stderr_text())

    def _ended_error(self, token: CancelToken) -> AppError:
        code: int | None = None
        for channel in self._channels.values():  # end the other roles, too
            channel.disconnect()
        with contextlib.suppress(process.TimeoutExpired):
            code = self._child.wait(2.0)
        with contextlib.suppress(TimeoutError):
            self._readers[1].result(1.0)
        if token.cancelled:
            return CancelledError()
        if self._through_pkexec and not self._channels:
            return explain_pkexec(code, self._stderr_text(), self._action)
        return _helper_error(ErrorCode.HELPER_ENDED, f"exit status {code}\n{self._stderr_text()}")

    def _stderr_text(self) -> str:
        return self._stderr.decode(errors="backslashreplace").strip()


def _wire_arguments(verb: str, args: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Return the arguments in the form of the protocol: a list of options, times in whole milliseconds."""
    wire = dict(args)
    if verb in {"mount", "unmount", "try", "remount", "open", "close"}:
        limit_s = float(wire.pop("timeout_s", min(MOUNT_TIMEOUT_S, timeout_s)))
        wire["timeout_ms"] = min(150_000, max(500, int(limit_s * 1000)))
    if isinstance(wire.get("options"), str):
        wire["options"] = split(wire["options"])
    return wire


def _read(verb: str, wire: dict[str, Any], answer: dict[str, Any], token: CancelToken) -> dict[str, Any]:
    """Return the result in an answer, with the additions that HelperClient.call describes.

    Raises:
        AppError: if the answer is an error or malformed.
    """
    error, result = answer.get("error"), answer.get("ok")
    if isinstance(error, dict):
        raise _explain(wire, cast("dict[str, Any]", error), token)
    if not isinstance(result, dict):
        raise _helper_error(ErrorCode.HELPER_ANSWER_NOT_READ, str(answer)[:1000])
    values = cast("dict[str, Any]", result)
    if verb in {"mount", "try", "open"}:
        notes = [_FOREGROUND] if "foreground" in values.get("notes", []) else []
        values["output"] = "\n".join([str(values.get("text", "")).strip(), *notes]).strip()
    if verb == "holders":
        for holder in cast("list[dict[str, Any]]", values.get("holders", [])):
            holder["user"] = _user_name(int(holder.get("uid", 0)))
    return values


def _user_name(uid: int) -> str:
    """Return the name of a user, or the uid if it has none. The helper must not do this lookup as root."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _explain(wire: dict[str, Any], error: dict[str, Any], token: CancelToken) -> AppError:
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    detail, data = str(error.get("detail", "")), error.get("data")
    if code == "cancelled":
        return CancelledError() if token.cancelled else _helper_error(ErrorCode.HELPER_CANCEL_TIMEOUT)
    if code == "mount-failed":
        facts: dict[str, Any] = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        return diagnose_mount(
            MountAttempt(
                share=str(wire.get("share", "")),
                mount_point=str(wire.get("target", "")),
                options=tuple(wire.get("options", ())),
                text=detail or message,
                exit_code=facts.get("exit_code"),
                timed_out=facts.get("timed_out") is True,
                timeout_s=wire.get("timeout_ms", 0) / 1000,
            )
        )
    if code in {"busy-helper", "protocol", "usage", "internal"} or code not in set(ErrorKind):
        return _helper_error(ErrorCode.HELPER_REFUSED, f"{code}: {detail}", reason=message)
    return explain_refusal(code, message, detail)


def explain_refusal(code: str, message: str, detail: str = "") -> AppError:
    """Return a refusal of the helper as an AppError with a hint.

    Args:
        code: code of the refusal, an ErrorKind value.
        message: message of the helper.
        detail: raw text for the details.
    """
    kind = ErrorKind(code)
    # The installation command depends on where this program is installed.
    install = f"Run “{install_command()}” once in a terminal." if kind is ErrorKind.HELPER_MISSING else ""
    return AppError(kind, message, hint=install or _HINTS.get(kind, ""), detail=detail)


def _session_ended_error() -> AppError:
    return AppError(ErrorCode.TEST_MOUNT_GONE)


def _helper_error(code: ErrorCode, detail: str = "", **params: Any) -> AppError:
    return AppError(code, detail=detail, command=install_command(), **params)
