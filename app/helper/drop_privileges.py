"""The step from the helper to the caller: what a worker is before it is executed.

See :mod:`app.helper.bench_verbs` for why this is no way to more rights. Programs that run as root (mount.nfs,
findmnt, systemctl) keep the session keyring that the helper was started with: they are root's own, none is
chosen by the caller, and mounting with TLS may name a key that root keeps there. A worker is the caller's
program and gets an empty one.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from typing import TYPE_CHECKING, NoReturn

from app.helper import children, inheritance

if TYPE_CHECKING:
    from collections.abc import Generator

    from app.helper.callers import Caller

# linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38
#: Where the report of a worker that cannot start goes; the program itself has the three below alone.
_REPORT_FD = 3
#: For a new process to become the program. One that takes longer waits for a file system, which is not told.
_START_S = 5.0
_MAX_REPORT = 1024


def start_worker(caller: Caller, argv: list[str], path: str) -> tuple[int, str]:
    """Start a program as the caller, connected to the socket at the path.

    Args:
        caller: whom it is to run as.
        argv: the program by its absolute path, and its arguments.
        path: the socket that becomes its input and output, and by a second connection its errors.

    Returns:
        the process, and why it could not become the program, or "". A process that does not start ends.

    Raises:
        OSError: if no process can be made.
    """
    readable, writable = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
        if pid == 0:
            _start(caller, argv, path, writable)
    finally:
        os.close(writable)
    try:
        # The end of the pipe without a word: it was executed.
        said = os.read(readable, _MAX_REPORT) if children.wait_quietly(readable, _START_S) else b""
    finally:
        os.close(readable)
    return pid, said.decode("utf-8", "backslashreplace")


def _start(caller: Caller, argv: list[str], path: str, report: int) -> NoReturn:
    try:
        if report != _REPORT_FD:
            os.dup2(report, _REPORT_FD, inheritable=False)
        os.closerange(_REPORT_FD + 1, 4096)
        execute_as_caller(caller, argv, path)
    except BaseException as error:  # noqa: BLE001 - this copy of the helper must not go on
        with contextlib.suppress(OSError):
            reason = str(error) or type(error).__name__
            os.write(_REPORT_FD, reason.encode("utf-8", "backslashreplace")[:_MAX_REPORT])
    finally:
        os._exit(127)


def execute_as_caller(caller: Caller, argv: list[str], path: str) -> NoReturn:
    """Turn this process, a fork of the helper, into a program of the caller's.

    Descriptors above the third are closed when it is executed, or stay to the one who calls this.

    Raises:
        OSError: if any step fails, which its message names; the process must end then.
    """
    os.setsid()
    # What is ignored stays so in the program; handlers do not.
    for number in inheritance.IGNORED:
        signal.signal(number, signal.SIG_DFL)
    with _step("the limits of the caller"):
        # The helper has raised its limits and its priority; that is not for the caller.
        for limit, values in caller.limits:
            inheritance.set_limit(limit, values)
        os.setpriority(os.PRIO_PROCESS, 0, caller.nice)
    with _step("the user of the caller"):
        os.setgroups(caller.groups)
        os.setresgid(caller.gid, caller.gid, caller.gid)
        os.setresuid(caller.uid, caller.uid, caller.uid)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(_PR_SET_NO_NEW_PRIVS, *map(ctypes.c_ulong, (1, 0, 0, 0))) != 0:
            raise PermissionError
        if os.getresuid() != (caller.uid,) * 3:
            raise PermissionError
    with _step("a session keyring of its own"):
        inheritance.join_new_session_keyring()
    with _step("the connection"):
        talk, errors = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        for connection in (talk, errors):
            connection.connect(path)
        for standard, connection in enumerate((talk, talk, errors)):
            os.dup2(connection.fileno(), standard)
    with _step(argv[0]):
        os.execve(argv[0], argv, {})  # noqa: S606 - as the caller, see above


@contextlib.contextmanager
def _step(name: str) -> Generator[None]:
    """Name what failed; the text is for the caller, whose rights the failing step had or was to get."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise OSError(f"{name}: {why or type(error).__name__}") from error
