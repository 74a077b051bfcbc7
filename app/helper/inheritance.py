"""Inherited process state: resets what execve(2) passes on from the caller to known values.

pkexec cleans the environment and the working directory only. The caller chooses the rest: limits, signal
masks, file mode mask, priorities, timers, timer slack, personality, session and terminal.

Sources: execve(2), setsid(2), prctl(2), ioprio_set(2), keyctl(2), getrlimit(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import sys

#: Options of prctl(2) and their values (linux/prctl.h): PR_SET_DUMPABLE off; PR_SET_TIMERSLACK, ns, the
#: kernel's default (init/init_task.c), since a slack of seconds would delay every deadline;
#: PR_SET_CHILD_SUBREAPER off.
_PRCTL = {4: 0, 29: 50_000, 36: 0}
# linux/ioprio.h: the process itself, class best-effort, level 4 of 0 to 7, which is the default.
_IOPRIO_WHO_PROCESS, _IOPRIO = 1, 2 << 13 | 4
_KEYCTL_JOIN_SESSION_KEYRING = 1
#: System call numbers of ioprio_set(2) and keyctl(2) by machine (arch/*/syscall.tbl); glibc has no wrappers.
_SYSTEM_CALLS = {
    "x86_64": (251, 250), "i686": (289, 288), "ppc64le": (273, 271), "ppc64": (273, 271), "s390x": (282, 280),
    **dict.fromkeys(("aarch64", "riscv64", "loongarch64"), (30, 219)),
    **dict.fromkeys(("armv6l", "armv7l", "armv8l"), (314, 311)),
}  # fmt: skip
#: Machine of a 32-bit program on a 64-bit kernel, for which uname(2) returns the kernel's machine.
_NARROW = {"x86_64": "i686", "aarch64": "armv7l"}
#: Signals ignored from the start. The caller's terminal can send the last six, which end or stop a process.
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP,
           signal.SIGTTIN, signal.SIGTTOU)  # fmt: skip
#: Limits that must be infinite: reaching one would end the helper in the middle of a write.
_NO_SIGNAL_LIMITS = (resource.RLIMIT_FSIZE, resource.RLIMIT_CPU)
_OTHER_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_RSS, resource.RLIMIT_NPROC)
#: Value (soft, hard) of each resource limit of the helper; sizes in bytes.
LIMITS = {
    **dict.fromkeys((*_NO_SIGNAL_LIMITS, *_OTHER_LIMITS), (resource.RLIM_INFINITY, resource.RLIM_INFINITY)),
    resource.RLIMIT_STACK: (8 << 20, resource.RLIM_INFINITY),
    resource.RLIMIT_MEMLOCK: (8 << 20, 8 << 20),
    resource.RLIMIT_NOFILE: (1024, 4096),
    resource.RLIMIT_CORE: (0, 0),
}


def reset_inherited() -> None:
    """Reset all inherited process state to known values. It must run before any slow operation.

    Raises:
        OSError: if a value cannot be set.
        ValueError: if file size or processor time remain limited.
    """
    libc = ctypes.CDLL(None)
    # First, because the personality changes uname(2) and so the system call numbers below.
    libc.personality(ctypes.c_ulong(0))
    os.umask(0o077)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_IGN if number in IGNORED else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for option, value in _PRCTL.items():
        libc.prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))
    os.setpriority(os.PRIO_PROCESS, 0, 0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    if (numbers := _system_calls()) is not None:
        libc.syscall(*map(ctypes.c_long, (numbers[0], _IOPRIO_WHO_PROCESS, 0, _IOPRIO)))
    for limit, values in LIMITS.items():
        set_limit(limit, values)
        if limit in _NO_SIGNAL_LIMITS and resource.getrlimit(limit)[0] != resource.RLIM_INFINITY:
            raise ValueError("file size or processor time is limited")
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)
    os.chdir("/")
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)  # noqa: PTH208
    # The caller may have raised its OOM score, so that the kernel kills it first when memory is short.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb", buffering=0) as file:  # noqa: PTH123
        file.write(b"0")


def set_limit(limit: int, values: tuple[int, int]) -> None:
    """Set a resource limit, or the nearest value that is allowed.

    Root in a container may lack CAP_SYS_RESOURCE and then cannot raise a hard limit.

    Args:
        limit: RLIMIT constant.
        values: (soft, hard).

    Raises:
        OSError: if the kernel has no such limit.
    """
    try:
        resource.setrlimit(limit, values)
    except ValueError:
        hard = resource.getrlimit(limit)[1]
        # RLIM_INFINITY is -1 in Python; modulo 2^64 it is the largest value, as in the kernel.
        soft, hard = (min(value, hard, key=lambda number: number % (1 << 64)) for value in values)
        resource.setrlimit(limit, (soft, hard))


def join_new_session_keyring() -> None:
    """Replace the inherited session keyring by a new, empty one (keyctl(2)).

    Raises:
        OSError: if that fails. The process must end then, because it could read the old keyring's keys.
    """
    numbers = _system_calls()
    if numbers is None:
        raise OSError(errno.ENOTSUP, "the number of keyctl(2) is not known on this machine")
    libc = ctypes.CDLL(None, use_errno=True)
    # ENOSYS: the kernel has no keyrings, so there are no keys to protect.
    if (
        libc.syscall(*map(ctypes.c_long, (numbers[1], _KEYCTL_JOIN_SESSION_KEYRING, 0))) == -1
        and (number := ctypes.get_errno()) != errno.ENOSYS
    ):
        raise OSError(number, os.strerror(number))


def _system_calls() -> tuple[int, int] | None:
    """Return the system call numbers of ioprio_set(2) and keyctl(2), None on an unknown machine."""
    machine = os.uname().machine
    return _SYSTEM_CALLS.get(machine if sys.maxsize > 1 << 32 else _NARROW.get(machine, machine))


def real_user(pid: int) -> tuple[int, tuple[int, ...]]:
    """Return the real user id and the supplementary groups of a process (proc(5), status).

    Raises:
        OSError: if the process does not exist.
        ValueError: if the process ended while its status was read.
    """
    with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123
        fields = {line.partition(b":")[0]: line.split()[1:] for line in file}
    if b"Uid" not in fields:
        raise ValueError("the process is gone")
    return int(fields[b"Uid"][0]), tuple(map(int, fields.get(b"Groups", [])))
