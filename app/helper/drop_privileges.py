"""Dropping of root's privileges: starts a worker with the identity of the caller.

:mod:`app.helper.bench_verbs` explains why a worker gains no privileges. Programs that run as root (mount.nfs,
findmnt, systemctl) use the session keyring that the helper inherited. The caller does not choose these
programs, and mounting with TLS may need a key from that keyring. A worker gets a new, empty keyring.

Sources: setresuid(2), prctl(2), keyctl(2), setsid(2).
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
#: Descriptor for the error of a worker that cannot start; it is closed when the program is executed.
_REPORT_FD = 3
#: Time for the execve(2) of a worker, s. A slower one waits for a file system and counts as started.
_START_S = 5.0
#: Longest error message of a worker that cannot start, bytes.
_MAX_REPORT = 1024


def start_worker(caller: Caller, argv: list[str], path: str) -> tuple[int, str]:
    """Start a program with the caller's identity, connected to the Unix socket at the path.

    Args:
        caller: user whose identity the program gets.
        argv: absolute path of the program and its arguments.
        path: socket to connect to twice: for standard input and output, and for standard error.

    Returns:
        the process id, and the error if the program could not be executed, else "". After an error the
        process ends by itself.

    Raises:
        OSError: if the process cannot be created.
    """
    readable, writable = os.pipe2(os.O_CLOEXEC)
    try:
        pid = os.fork()
        if pid == 0:
            _start(caller, argv, path, writable)
    finally:
        os.close(writable)
    try:
        # execve(2) closes the pipe: end of file without data means that the program was executed.
        report = os.read(readable, _MAX_REPORT) if children.wait_quietly(readable, _START_S) else b""
    finally:
        os.close(readable)
    return pid, report.decode("utf-8", "backslashreplace")


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
    """Drop all privileges of this process, a fork of the helper, and execute a program of the caller.

    Descriptors from 3 up must be close-on-exec, or are passed on to the program.

    Args:
        caller: user whose identity the program gets.
        argv: absolute path of the program and its arguments.
        path: socket that becomes standard input, output and error.

    Raises:
        OSError: if a step fails; the message names the step. The process must end then.
    """
    os.setsid()
    # execve(2) resets signal handlers but not ignored signals.
    for number in inheritance.IGNORED:
        signal.signal(number, signal.SIG_DFL)
    with _step("the limits of the caller"):
        # The helper raised its own limits and priority; the caller does not inherit that.
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
    """Prefix the message of an error with the name of the step that failed."""
    try:
        yield
    except (OSError, ValueError) as error:
        why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        raise OSError(f"{name}: {why or type(error).__name__}") from error
