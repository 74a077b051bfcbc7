"""The helper's entry: reset what was inherited, find out who asked, start the roles of the action.

An action is what one authorization is for. Each of its roles is a process of its own, with the code of that
role alone, and serves a socket. The first process has no verbs: it sends the client the other ends of these
sockets and waits for the roles to end.

The order below is deliberate: until :mod:`app.helper.inheritance` has done its work, the caller's limits,
terminal and timers hold.
"""

from __future__ import annotations

import contextlib
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
#: Signals that ask a role to end. The first process heeds SIGTERM alone: it may have the caller's terminal.
_END = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# sysexits.h
EX_USAGE, EX_NOPERM, EX_OSERR = 64, 77, 71
_USAGE = """usage: mountwright-helper {mount|persist|bench|tune|apply}
       mountwright-helper {mount-system|persist-system|apply-system} SHARE MOUNT_POINT SHA256"""


def main(argv: list[str]) -> int:
    """Run the helper; ``argv[1]`` is the action. Return the exit status, in a role's process its own."""
    # In UTF-8 mode paths are written as UTF-8; otherwise the caller's locale would choose their bytes.
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
    """Return what a system action is for, None for an ordinary one.

    Raises:
        ValueError: if the arguments are not those of an action.
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
    """Return a descriptor that becomes readable when a signal asks this process to end."""
    readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in _END:
        signal.signal(number, lambda _number, _frame: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _END)
    return readable


def _caller(pkexec_uid: str | None) -> Caller:
    """Return who asked. pkexec replaced itself with us, so our parent is the process that called it.

    Raises:
        ValueError: if what the launcher says and the parent do not agree.
        KeyError: if there is no such user.
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
    """Return the socket to the client, which is the output.

    Raises:
        OSError: if there is no input, output or error output.
        ValueError: if the output is something else.
    """
    if not all(stat.S_ISSOCK(os.fstat(fd).st_mode) for fd in (0, 1)):
        raise ValueError("its input and output must be sockets; it is started by the program")
    os.fstat(2)
    return socket.socket(fileno=os.dup(1))


def _start_roles(action: str, caller: Caller, subject: ApprovedMount | None, client: socket.socket) -> int:
    roles, pids = ACTIONS[action], list[int]()
    # Until each process knows what to do when it is asked to end.
    signal.pthread_sigmask(signal.SIG_BLOCK, _END)
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
                return _serve(action, role, caller, subject, line)
            line.close()
            lines.append(theirs.enter_context(other))
            pids.append(pid)
        told = json.dumps({"protocol": PROTOCOL, "roles": roles}).encode()
        # A client that has gone, or takes nothing, has no use of it; the roles see the end of their lines.
        with contextlib.suppress(OSError):
            numbers = [line.fileno() for line in lines]
            socket.send_fds(client, [told], numbers, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
    return _wait_for(pids)


def _wait_for(pids: list[int]) -> int:
    """Wait for the roles to end; hand on what asks this process to end."""

    def hand_on(number: int, _frame: object) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    signal.signal(signal.SIGTERM, hand_on)
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
    # A signal that comes while Python clears up is not to make a failure of it.
    signal.pthread_sigmask(signal.SIG_BLOCK, _END)
    return status


def _handlers(action: str, role: str, caller: Caller, subject: ApprovedMount | None) -> dict[str, Handler]:
    if subject is None:
        return load_handlers(role, caller)
    from app.helper.approval_gate import ApprovalGate

    return ApprovalGate(action, subject).handlers(load_handlers(role, caller._replace(system=True)))


def load_handlers(role: str, caller: Caller) -> dict[str, Handler]:
    """Load the code of a role, which no other role needs; return its verbs with what carries them out."""
    module: Any = importlib.import_module(f"app.helper.{_MODULES[role]}")
    handlers: dict[str, Handler] = module.handlers(caller)
    return handlers
