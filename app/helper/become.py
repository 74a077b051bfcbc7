"""The step from the helper to the caller: what a worker is before it is executed.

See :mod:`app.helper.bench` for why this is no way to more rights.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from app.helper.targets import Caller

# linux/prctl.h
_PR_SET_NO_NEW_PRIVS = 38


def worker(caller: Caller, argv: list[str], path: str) -> NoReturn:
    """Turn this process, a fork of the helper, into a program of the caller's.

    Args:
        caller: whom it is to run as.
        argv: the program by its absolute path, and its arguments.
        path: the socket that becomes its input and output, and by a second connection its errors.

    Raises:
        OSError: if any step fails; the process must end then.
    """
    os.setsid()
    # What is ignored stays so in the program; handlers do not.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    # The helper has raised its limits and its priority; that is not for the caller.
    for limit, values in caller.limits:
        resource.setrlimit(limit, values)
    os.setpriority(os.PRIO_PROCESS, 0, caller.nice)
    os.setgroups(caller.groups)
    os.setresgid(caller.gid, caller.gid, caller.gid)
    os.setresuid(caller.uid, caller.uid, caller.uid)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or os.getresuid() != (caller.uid,) * 3:
        raise PermissionError
    talk, errors = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
    for connection in (talk, errors):
        connection.connect(path)
    for standard, connection in enumerate((talk, talk, errors)):
        os.dup2(connection.fileno(), standard)
    os.closerange(3, 4096)
    os.execve(argv[0], argv, {})  # noqa: S606 - as the caller, see above
