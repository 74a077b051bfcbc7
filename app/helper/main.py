"""Main program of the helper: resets inherited state, identifies the caller, starts the action's roles.

polkit authorizes one action. Each role of the action runs in its own process, which loads only the code of
that role and serves one socket. The first process serves no verbs. It sends the other ends of the sockets to
the client and waits for the role processes to end.

The order of the steps matters: the caller's limits, terminal and timers apply until
:func:`app.helper.inheritance.reset_inherited` has run.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import pwd
import resource
import signal
import socket
import stat
import sys
import syslog
from typing import TYPE_CHECKING, Any

from app.helper import inheritance
from app.helper.callers import Caller
from app.helper.session import PROTOCOL, Session
from app.helper.verbs import ACTIONS, SYSTEM_ACTIONS

if TYPE_CHECKING:
    from app.helper.approval_gate import ApprovedMount
    from app.helper.session import Handler

_MODULES = {
    "mount": "mount_verbs", "try": "try_verbs", "persist": "fstab_verbs", "units": "unit_verbs",
    "bench": "bench_verbs", "tune": "tune_verbs",
}  # fmt: skip
#: Signals that end a role process. The first process, which may have the caller's terminal, handles SIGTERM.
_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# sysexits.h
EX_USAGE, EX_NOPERM, EX_OSERR = 64, 77, 71
_USAGE = """usage: mountwright-helper {mount|persist|bench|tune|apply}
       mountwright-helper {mount-system|persist-system|apply-system} SHARE MOUNT_POINT SHA256"""


def main(argv: list[str]) -> int:
    """Run the helper for the action ``argv[1]``; return the exit status of this process.

    It returns in the first process, and in the process of the role “bench”.
    """
    # UTF-8 mode is required: otherwise the caller's locale would choose the bytes of paths.
    if not (sys.flags.isolated and sys.flags.no_site and sys.flags.utf8_mode):
        return _stop(EX_USAGE, "it must be started with python3 -IBSXutf8")
    try:
        subject = _subject(argv)
    except ValueError:
        return _stop(EX_USAGE, _USAGE)
    if os.geteuid() != 0:
        return _stop(EX_NOPERM, "it must run as root")
    try:
        limits = tuple((limit, resource.getrlimit(limit)) for limit in inheritance.LIMITS)
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        inheritance.reset_inherited()
        caller = _caller(os.environ.get("PKEXEC_UID"))._replace(limits=limits, nice=nice)
        os.environ.clear()
        client = _client()
    except (OSError, ValueError, KeyError) as error:
        return _stop(EX_OSERR, f"cannot start: {error}")
    return _start_roles(argv[1], caller, subject, client)


def _subject(argv: list[str]) -> ApprovedMount | None:
    """Parse the command line: return the approved mount of a system action, None for an ordinary action.

    Raises:
        ValueError: if the action is unknown or its arguments are malformed.
    """
    action = argv[1] if len(argv) > 1 else ""
    if action in SYSTEM_ACTIONS:
        from app.helper.approval_gate import read_approved_mount

        return read_approved_mount(argv[2:])
    if action not in ACTIONS or len(argv) != 2:
        raise ValueError("not an action")
    return None


def _stop(status: int, reason: str) -> int:
    with contextlib.suppress(OSError):
        os.write(2, f"mountwright-helper: {reason}\n".encode())
    return status


def _catch_signals() -> int:
    """Handle the signals of _END; return a descriptor that becomes readable when one of them arrives."""
    readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in _END:
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)
    return readable


def _caller(pkexec_uid: str | None) -> Caller:
    """Return the caller: the real user of the parent process.

    pkexec executes the helper in its own process, so the helper's parent is the process that called pkexec.

    Args:
        pkexec_uid: environment variable PKEXEC_UID, None if it is not set.

    Raises:
        ValueError: if PKEXEC_UID differs from the parent's user, or is missing and the parent is not root.
        KeyError: if the user is not in the password database.
    """
    parent, groups = inheritance.real_user(os.getppid())
    if pkexec_uid is None:
        if parent != 0:
            raise ValueError("the caller is neither root nor known through pkexec")
        return Caller(0, 0, groups)
    if not pkexec_uid.isascii() or not pkexec_uid.isdigit() or int(pkexec_uid) != parent:
        raise ValueError("the caller is not the one that pkexec names")
    user = pwd.getpwuid(parent)
    return Caller(user.pw_uid, user.pw_gid, groups, home=user.pw_dir)


def _client() -> socket.socket:
    """Return the socket to the client, a duplicate of standard output.

    Raises:
        OSError: if standard input, output or error is closed.
        ValueError: if standard input or output is not a socket.
    """
    if not all(stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in (0, 1)):
        raise ValueError("its input and output must be sockets; it is started by the program")
    os.fstat(2)
    return socket.socket(fileno=os.dup(1))


def _start_roles(action: str, caller: Caller, subject: ApprovedMount | None, client: socket.socket) -> int:
    roles, pids = ACTIONS[action], list[int]()
    # Blocked until each process has installed its handlers.
    signal.pthread_sigmask(signal.SIG_BLOCK, _END)
    gc.freeze()  # otherwise each role's garbage collector would copy the pages of what is loaded by now
    with contextlib.ExitStack() as theirs:
        lines: list[socket.socket] = []
        for role in roles:
            line, other = socket.socketpair()
            if not (pid := os.fork()):
                os.setsid()  # no key at the caller's terminal reaches a role
                theirs.close()
                for connection in (other, client):
                    connection.close()
                null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
                for standard in (0, 1):
                    os.dup2(null, standard)
                if role == "bench":  # it unmounts in an exit handler
                    return _serve(action, role, caller, subject, line)
                # Python's shutdown would copy each page that the role shares with the first process.
                os._exit(_serve(action, role, caller, subject, line))
            line.close()
            lines.append(theirs.enter_context(other))
            pids.append(pid)
        announcement = json.dumps({"protocol": PROTOCOL, "roles": roles}).encode()
        # Errors are ignored: if the client has gone, each role sees the end of its socket and exits.
        with contextlib.suppress(OSError):
            numbers = [line.fileno() for line in lines]
            socket.send_fds(client, [announcement], numbers, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    return _wait_for(pids)


def _wait_for(pids: list[int]) -> int:
    """Wait for the role processes to end, forwarding SIGTERM to them; return the worst exit status."""

    def forward(number: int, _frame: object) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    signal.signal(signal.SIGTERM, forward)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)
    status = 0
    while pids:
        pid, ended = os.wait()
        pids.remove(pid)
        status = max(status, abs(os.waitstatus_to_exitcode(ended)))
    return status


def _serve(action: str, role: str, caller: Caller, subject: ApprovedMount | None, line: socket.socket) -> int:
    def log(text: str) -> None:
        syslog.syslog(syslog.LOG_NOTICE, f"uid={caller.uid} {text}")

    wakeup = _catch_signals()
    syslog.openlog("mountwright-helper", syslog.LOG_PID, syslog.LOG_AUTHPRIV)
    handlers = _handlers(action, role, caller, subject)
    handlers["hello"] = lambda _args, _session: {"role": role, "uid": caller.uid}
    status = Session(line, role, handlers, action=action, wakeup=wakeup, log=log).run()
    # A signal during Python's shutdown must not change the exit status.
    signal.pthread_sigmask(signal.SIG_BLOCK, _END)
    return status


def _handlers(action: str, role: str, caller: Caller, subject: ApprovedMount | None) -> dict[str, Handler]:
    if subject is None:
        return load_handlers(role, caller)
    from app.helper.approval_gate import ApprovalGate

    return ApprovalGate(action, subject).handlers(load_handlers(role, caller._replace(system=True)))


def load_handlers(role: str, caller: Caller) -> dict[str, Handler]:
    """Import the module of a role; return the handler of each of its verbs."""
    module: Any = importlib.import_module(f"app.helper.{_MODULES[role]}")
    handlers: dict[str, Handler] = module.handlers(caller)
    return handlers
