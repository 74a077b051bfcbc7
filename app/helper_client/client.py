"""Client of the root helper: starts it when it is needed, sends requests, and explains its refusals."""

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
from app.errors import AppError, ErrorKind
from app.helper.approval_gate import digest
from app.helper.options import split
from app.helper.session import PROTOCOL
from app.helper.verbs import ACTIONS, role_of
from app.helper_client.mount_errors import MountAttempt, diagnose_mount
from app.helper_client.polkit import explain_pkexec, helper_command, install_command
from app.tasks import CancelledError, run_in_thread
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.tasks import CancelToken

#: How long mount.nfs may take, in seconds; of its own it tries a server that drops packets for 72 s and more.
MOUNT_TIMEOUT_S = 15.0
#: Direct start: Python and its imports, slow in the lab's guest.
_HELLO_S = 30.0
#: Through pkexec: a person looks for the administrator's password.
_AUTHORIZE_S = 600.0
#: After asking the helper to cancel or to stop: it has children to kill and directories to remove.
_STOP_S = 10.0
#: For one that is left alone to end at once, as it mostly does.
_LEAVE_S = 1.0
_MAX_STDERR = 64 * 1024
_MAX_START = 4096
#: What these verbs are about ends with the helper: a new one would only ask for a password.
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
    """What an administrator is asked to approve: a share, a mount point, and the requests that may follow.

    Args:
        share: that comes to the mount point, or goes.
        target: mount point.
        requests: verb and arguments, as for :meth:`HelperClient.call`.
    """

    def __init__(self, share: str, target: str, requests: Sequence[tuple[str, dict[str, Any]]]) -> None:
        self._share, self._target = share, target
        self.requests: list[dict[str, object]] = [
            {"verb": verb, "args": _wire_arguments(verb, args, MOUNT_TIMEOUT_S)} for verb, args in requests
        ]

    def words(self) -> list[str]:
        """Return the arguments of the helper behind the role."""
        return [self._share, self._target, digest(self.requests)]


class HelperClient:
    """A helper for one action, started again when it has gone. All methods may be called by any thread.

    A helper ends between two requests when it has nothing to do, or has served for as long or as often as one
    authorization allows (:class:`app.helper.session.Limits`). The next request then starts another one, for
    which polkit may ask again; no request is lost.

    Args:
        action: what an administrator authorizes, one of app.helper.verbs.ACTIONS.
        command: what to start instead of the helper, for tests.
        stop_s: None waits until the helper has ended what was cancelled, or has ended itself. Otherwise it is
            left alone after so many seconds, and clears up by itself.
        plan: what an administrator is asked to approve, for a system action.
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
        """Whether the helper of the last call still runs."""
        connection = self._connection
        return connection is not None and connection.alive

    def call(self, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float) -> dict[str, Any]:
        """Have the helper carry out a verb.

        Args:
            verb: of a role of the client's action.
            args: ``options`` is an option string, ``timeout_s`` (seconds) the helper's own limit.
            token: cancels the request; what was begun is undone by the helper.
            timeout_s: how long to wait for the answer, authorisation not counted.

        Returns:
            the helper's answer; for ``mount``, ``try`` and ``open`` with ``output``, the lines to show a
            person; for ``holders`` with the ``user`` of each.

        Raises:
            AppError: with a message for a person.
        """
        wire = _wire_arguments(verb, args, timeout_s)
        try:
            msgspec.json.encode(wire)  # before the helper is started, which may ask for a password
        except UnicodeEncodeError:
            raise AppError(
                ErrorKind.USAGE,
                "A name in the request is not UTF-8, so it cannot be told to the helper.",
                hint="Use mount and umount in a terminal for this one.",
            ) from None
        while not self._lock.acquire(timeout=0.1):
            token.check()
        try:
            # Twice: its session may have ended just as we asked, the request unread.
            for _attempt in range(2):
                answer = self._ready(token).ask(self._role_of(verb), verb, wire, token, timeout_s)
                if "event" not in answer:
                    return _read(verb, wire, answer, token)
                self._drop()
                if verb in _SESSION_VERBS:
                    raise _session_over()
            raise _failed("The helper ended twice without an answer.")
        finally:
            if self._connection is not None and not self._connection.usable:
                self._drop()
            self._lock.release()

    def close(self) -> None:
        """End the helper; a request under way is undone by it."""
        connection = self._connection
        if connection is not None:
            connection.hang_up()
        if self._lock.acquire(timeout=-1 if self._stop_s is None else _LEAVE_S):
            try:
                self._drop()
            finally:
                self._lock.release()

    def _role_of(self, verb: str) -> str:
        return role_of(self._action, verb) or ACTIONS[self._action][0]

    def _ready(self, token: CancelToken) -> _Connection:
        """Return a connection whose roles have been started, and have the plan if there is one."""
        if self._connection is None:
            token.check()
            words = self._plan.words() if self._plan is not None else []
            command = helper_command(self._action, *words) if self._command is None else list(self._command)
            self._connection = connection = _Connection(command, self._action, self._stop_s or _STOP_S)
            connection.wait_for_roles(token)
            if self._plan is not None:
                # Each role looks at what is there now; what the first one does would change that.
                wire = {"requests": self._plan.requests}
                for role in ACTIONS[self._action]:
                    _read("plan", {}, connection.ask(role, "plan", wire, token, _HELLO_S), token)
        return self._connection

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.hang_up()
        ended = run_in_thread("helper-end", connection.close)
        with contextlib.suppress(TimeoutError):
            ended.result(None if self._stop_s is None else _LEAVE_S)


class _RoleChannel:
    """The line to one role: requests go out, and a thread collects what comes."""

    def __init__(self, role: str, line: socket.socket) -> None:
        self._line = line
        #: None is the end of the line.
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self.reader = run_in_thread(f"helper-{role}", self._read)

    def send(self, request_id: str, verb: str, args: dict[str, Any]) -> None:
        """Send a request. If the helper is gone, the end of its answers says so."""
        with contextlib.suppress(OSError):
            self._line.sendall(msgspec.json.encode({"id": request_id, "verb": verb, "args": args}) + b"\n")

    def next(self, timeout_s: float) -> dict[str, Any] | None:
        """Return what comes next, None for the end.

        Raises:
            queue.Empty: if nothing comes in this time.
        """
        return self._answers.get(timeout=max(0.0, timeout_s))

    def put(self, answer: dict[str, Any]) -> None:
        """Let this come next, as if the helper had sent it."""
        self._answers.put(answer)

    def hang_up(self) -> None:
        """End what the role gets, which ends it."""
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def _read(self) -> None:
        with self._line as line, line.makefile("rb") as answers, contextlib.suppress(OSError):
            for text in answers:
                with contextlib.suppress(msgspec.DecodeError):
                    self._answers.put(from_json(text, dict[str, Any]))
        self._answers.put(None)


class _Connection:
    """A running helper, and the lines to its roles.

    Attributes:
        usable: whether it can be asked again.
    """

    def __init__(self, command: list[str], action: str, stop_s: float) -> None:
        self._action = action
        self._stop_s = stop_s
        try:
            self._child = process.start_connected(command, stderr=process.PIPE)
        except OSError as error:
            raise _failed("The helper cannot be started.", str(error)) from error
        self._through_pkexec = Path(command[0]).name == "pkexec"
        self._lines: dict[str, _RoleChannel] = {}
        self.usable = True
        self._stderr = b""
        self._started: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._readers = [
            run_in_thread("helper-start", self._read_start), run_in_thread("helper-errors", self._read_errors)
        ]  # fmt: skip

    def wait_for_roles(self, token: CancelToken) -> None:
        """Wait until the helper has started its roles, which a person may have to authorize.

        Raises:
            AppError: if it has not.
        """
        give_up: dict[str, Any] = {}
        with token.on_cancel(lambda: self._started.put(give_up)):
            try:
                told = self._started.get(timeout=_AUTHORIZE_S if self._through_pkexec else _HELLO_S)
            except queue.Empty:
                told = give_up
        if told is None or told is give_up:
            self.usable = False
            raise self._ended(token) if told is None else self._timeout_error(token)
        if told != {"protocol": PROTOCOL, "roles": list(ACTIONS[self._action])}:
            self.usable = False
            raise _failed("The helper is of another version than this program.", str(told)[:1000])

    def ask(
        self, role: str, verb: str, args: dict[str, Any], token: CancelToken, timeout_s: float
    ) -> dict[str, Any]:
        """Send a request to a role and return its answer, or the event that says that it was not read."""
        line, request_id = self._lines[role], secrets.token_hex(16)
        give_up: dict[str, Any] = {"give-up": request_id}
        line.send(request_id, verb, args)
        with token.on_cancel(lambda: line.put(give_up)):
            end = time.monotonic() + timeout_s
            stopping = False
            while True:
                try:
                    answer = line.next(end - time.monotonic())
                except queue.Empty:
                    answer = give_up
                if answer is None:
                    self.usable = False
                    raise self._ended(token)
                if answer.get("id") == request_id or "event" in answer:
                    return answer
                if answer is give_up:
                    if stopping:
                        self.usable = False
                        raise self._timeout_error(token)
                    stopping = True
                    end = time.monotonic() + self._stop_s
                    line.send(secrets.token_hex(16), "cancel", {"id": request_id})

    @property
    def alive(self) -> bool:
        """Whether the process has not ended."""
        return self._child.poll() is None

    def hang_up(self) -> None:
        """End the lines to the roles, which ends them; a pkexec that still waits is ended itself."""
        self.usable = False
        lines = [*self._lines.values()]
        if not lines:
            process.kill_group(self._child)
        for line in lines:
            line.hang_up()
        with contextlib.suppress(OSError):
            if self._child.stdin is not None:
                self._child.stdin.close()

    def close(self) -> None:
        """End the helper and wait for it. One that runs as root cannot be killed by a user."""
        self.hang_up()
        try:
            self._child.wait(_STOP_S)
        except process.TimeoutExpired:
            process.kill_group(self._child)
            with contextlib.suppress(process.TimeoutExpired):
                self._child.wait(1.0)
        for reader in (*self._readers, *(line.reader for line in self._lines.values())):
            with contextlib.suppress(TimeoutError):
                reader.result(1.0)

    def _read_start(self) -> None:
        """Take the lines to the roles, which the helper sends when it has started them."""
        told: dict[str, Any] | None = None
        roles = ACTIONS[self._action]
        if self._child.stdout is not None:
            with self._child.stdout as output, contextlib.suppress(OSError, msgspec.DecodeError):
                with socket.socket(fileno=os.dup(output.fileno())) as line:
                    data, fds, _flags, _address = socket.recv_fds(line, _MAX_START, len(roles))
                ends = [socket.socket(fileno=fd) for fd in fds]
                self._lines = {role: _RoleChannel(role, end) for role, end in zip(roles, ends, strict=False)}
                told = from_json(data, dict[str, Any])
        self._started.put(told)

    def _read_errors(self) -> None:
        if self._child.stderr is not None:
            with self._child.stderr as pipe, contextlib.suppress(OSError, ValueError):
                while chunk := pipe.read(4096):
                    self._stderr = (self._stderr + chunk)[:_MAX_STDERR]
        # One that ended for having nothing to do is not to stay as a zombie until it is needed again.
        with contextlib.suppress(process.TimeoutExpired):
            self._child.wait(_STOP_S)

    def _timeout_error(self, token: CancelToken) -> AppError:
        process.kill_group(self._child)
        if token.cancelled:
            return CancelledError()
        return _failed("The helper did not answer in time.", self._stderr_text())

    def _ended(self, token: CancelToken) -> AppError:
        code: int | None = None
        for line in self._lines.values():  # the other roles have nothing more to do
            line.hang_up()
        with contextlib.suppress(process.TimeoutExpired):
            code = self._child.wait(2.0)
        with contextlib.suppress(TimeoutError):
            self._readers[1].result(1.0)
        if token.cancelled:
            return CancelledError()
        if self._through_pkexec and not self._lines:
            return explain_pkexec(code, self._stderr_text(), self._action)
        return _failed("The helper ended without an answer.", f"exit status {code}\n{self._stderr_text()}")

    def _stderr_text(self) -> str:
        return self._stderr.decode(errors="backslashreplace").strip()


def _wire_arguments(verb: str, args: dict[str, Any], timeout_s: float) -> dict[str, Any]:
    """Return the arguments as the helper's protocol has them: words for options, whole milliseconds."""
    wire = dict(args)
    if verb in {"mount", "unmount", "try", "remount", "open", "close"}:
        limit_s = float(wire.pop("timeout_s", min(MOUNT_TIMEOUT_S, timeout_s)))
        wire["timeout_ms"] = min(150_000, max(500, int(limit_s * 1000)))
    if isinstance(wire.get("options"), str):
        wire["options"] = split(wire["options"])
    return wire


def _read(verb: str, wire: dict[str, Any], answer: dict[str, Any], token: CancelToken) -> dict[str, Any]:
    """Return the result in an answer.

    Raises:
        AppError: for an error, or for something else than an answer.
    """
    error, result = answer.get("error"), answer.get("ok")
    if isinstance(error, dict):
        raise _explain(wire, cast("dict[str, Any]", error), token)
    if not isinstance(result, dict):
        raise _failed("The helper gave an answer that cannot be read.", str(answer)[:1000])
    found = cast("dict[str, Any]", result)
    if verb in {"mount", "try", "open"}:
        notes = [_FOREGROUND] if "foreground" in found.get("notes", []) else []
        found["output"] = "\n".join([str(found.get("text", "")).strip(), *notes]).strip()
    if verb == "holders":
        for holder in cast("list[dict[str, Any]]", found.get("holders", [])):
            holder["user"] = _user_name(int(holder.get("uid", 0)))
    return found


def _user_name(uid: int) -> str:
    """Return the name, or the number where it has none. Not asked as root: names may come by network."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return str(uid)


def _explain(wire: dict[str, Any], error: dict[str, Any], token: CancelToken) -> AppError:
    code, message = str(error.get("code", "")), str(error.get("message", ""))
    detail, data = str(error.get("detail", "")), error.get("data")
    if code == "cancelled":
        return CancelledError() if token.cancelled else _failed("The helper did not end in time.")
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
        return _failed(message or "The helper refused the request.", f"{code}: {detail}")
    return explain_refusal(code, message, detail)


def explain_refusal(code: str, message: str, detail: str = "") -> AppError:
    """Return one of the helper's refusals as an error for a person, with what to do about it."""
    kind = ErrorKind(code)
    # A part of it is: the command depends on where this program is.
    install = f"Run “{install_command()}” once in a terminal." if kind is ErrorKind.HELPER_MISSING else ""
    return AppError(kind, message, hint=install or _HINTS.get(kind, ""), detail=detail)


def _session_over() -> AppError:
    return AppError(
        ErrorKind.NOT_MOUNTED,
        "The test mount is gone: the time that one authorization allows for tests is over.",
        hint="Start the test again.",
    )


def _failed(message: str, detail: str = "") -> AppError:
    return AppError(
        ErrorKind.HELPER_FAILED,
        message,
        hint=f"Try again. If it happens again, reinstall the helper with “{install_command()}”.",
        detail=detail,
    )
