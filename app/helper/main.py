"""The helper's entry: reset what was inherited, find out who asked, serve the role.

The order below is deliberate: until :mod:`app.helper.inheritance` has done its work, the caller's limits,
terminal and timers hold.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import resource
import signal
import stat
import sys
import syslog
from typing import TYPE_CHECKING

from app.helper import inheritance
from app.helper.session import PROTOCOL, Session
from app.helper.targets import Caller
from app.helper.verbs import ROLES, SYSTEM_ROLES

if TYPE_CHECKING:
    from app.helper.approved import Subject
    from app.helper.session import Handler

# sysexits.h
EX_USAGE, EX_NOPERM, EX_OSERR = 64, 77, 71
_USAGE = """usage: mountwright-helper {mount|persist|bench|tune}
       mountwright-helper {mount-system|persist-system} SHARE MOUNT_POINT SHA256"""


def main(argv: list[str]) -> int:
    """Run the helper; ``argv[1]`` is the role. Return the exit status."""
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
        inheritance.reset()
        wakeup = _catch_signals()
        caller = _caller(os.environ.get("PKEXEC_UID"))._replace(limits=limits, nice=nice)
        os.environ.clear()
        _check_pipes()
    except (OSError, ValueError, KeyError) as error:
        return _stop(EX_OSERR, f"cannot start: {error}")
    return _serve(argv[1], caller, wakeup, subject)


def _subject(argv: list[str]) -> Subject | None:
    """Return what a system role is to serve, None for an ordinary role.

    Raises:
        ValueError: if the arguments are not those of a role.
    """
    role = argv[1] if len(argv) > 1 else ""
    if role in SYSTEM_ROLES:
        from app.helper.approved import read_subject

        return read_subject(argv[2:])
    if role not in ROLES or len(argv) != 2:
        raise ValueError("not a role")
    return None


def _stop(status: int, reason: str) -> int:
    with contextlib.suppress(OSError):
        os.write(2, f"mountwright-helper: {reason}\n".encode())
    return status


def _catch_signals() -> int:
    """Return a descriptor that becomes readable when a signal asks the helper to end."""
    readable, writable = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
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


def _check_pipes() -> None:
    for fd in (0, 1):
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise ValueError("its input and output must be pipes; it is started by the program")
    os.fstat(2)


def _serve(role: str, caller: Caller, wakeup: int, subject: Subject | None) -> int:
    def hello(_args: dict[str, object], _session: Session) -> dict[str, object]:
        return {"protocol": PROTOCOL, "role": role, "uid": caller.uid}

    syslog.openlog("mountwright-helper", syslog.LOG_PID, syslog.LOG_AUTHPRIV)

    def log(line: str) -> None:
        syslog.syslog(syslog.LOG_NOTICE, f"uid={caller.uid} {line}")

    handlers = {"hello": hello, **_handlers(role, caller, subject)}
    return Session(0, 1, role, handlers, wakeup=wakeup, log=log).run()


def _handlers(role: str, caller: Caller, subject: Subject | None) -> dict[str, Handler]:
    if subject is None:
        return _HANDLERS[role](caller)
    from app.helper.approved import Approved

    approved = Approved(role, subject)
    return approved.handlers(_HANDLERS[SYSTEM_ROLES[role]](caller._replace(system=True)))


# Each role loads its own code and no more.
def _mount_role(caller: Caller) -> dict[str, Handler]:
    from app.helper.mounting import Mounting

    mounting = Mounting(caller)
    return {
        "mount": mounting.mount, "unmount": mounting.unmount, "holders": mounting.holders,
        "try": mounting.attempt, "remount": mounting.remount,
    }  # fmt: skip


def _persist_role(caller: Caller) -> dict[str, Handler]:
    from app.helper.declaring import Declaring

    entries = Declaring(caller)
    return {
        "add": entries.add, "change": entries.change, "remove": entries.remove, "restore": entries.restore,
        "unit-write": entries.write_units, "unit-remove": entries.remove_units,
    }  # fmt: skip


def _tune_role(_caller: Caller) -> dict[str, Handler]:
    from app.helper.tuning import tune

    return {"tune": tune}


def _bench_role(caller: Caller) -> dict[str, Handler]:
    from app.helper.bench import Bench

    bench = Bench(caller)
    return {"open": bench.open, "run": bench.run, "abort": bench.abort, "close": bench.close}


_HANDLERS = {"mount": _mount_role, "persist": _persist_role, "bench": _bench_role, "tune": _tune_role}
