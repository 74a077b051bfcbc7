"""Child processes: started from argument lists in a fixed environment, with a process group and a deadline.

Only this module starts processes. ``mount`` forks ``mount.nfs`` and does not forward signals (measured), so a
child leads its own session, and the whole process group is killed to end it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: PATH of all child processes: on Debian, that of an ordinary user lacks the sbin directories.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


#: Values for the standard streams of :func:`start`: discard the output, or create a pipe.
DEVNULL = subprocess.DEVNULL
PIPE = subprocess.PIPE
TimeoutExpired = subprocess.TimeoutExpired


class Child(Protocol):
    """A child process that leads its own process group; a stream without a pipe is None."""

    pid: int

    @property
    def stdin(self) -> Any:
        """Binary pipe to the child's standard input."""

    @property
    def stdout(self) -> Any:
        """Binary pipe from the child's standard output."""

    @property
    def stderr(self) -> Any:
        """Binary pipe from the child's standard error."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; raise TimeoutExpired after ``timeout`` seconds."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """Exit status and output of a child that has ended.

    Attributes:
        argv: program and arguments.
        code: exit status, negative for a signal, None if the deadline ended the child.
        stdout: standard output, decoded with surrogateescape.
        stderr: standard error, decoded with surrogateescape.
    """

    argv: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether the exit status is 0."""
        return self.code == 0

    @property
    def timed_out(self) -> bool:
        """Whether the deadline ended the child."""
        return self.code is None


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of child processes: fixed PATH, C locale, and the variables of the session."""
    inherited = ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
                 "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR")  # fmt: skip
    env = {name: os.environ[name] for name in inherited if name in os.environ}
    env.update(PATH=SYSTEM_PATH, LC_ALL="C.UTF-8", LANGUAGE="C")
    env.update(extra or {})
    return env


def find_program(name: str) -> str | None:
    """Return the absolute path of a program on the system path, or None."""
    return shutil.which(name, path=SYSTEM_PATH)


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    pass_fds: Sequence[int] = (),
    stdin: int = subprocess.PIPE,
    stdout: int = subprocess.PIPE,
    stderr: int | None = None,
    own_session: bool = True,
) -> subprocess.Popen[bytes]:
    """Start a long-lived child with binary pipes, in its own session.

    Args:
        argv: program (an absolute path) and arguments.
        env: variables to add to :func:`child_environment`.
        cwd: working directory; None inherits it.
        pass_fds: file descriptors that the child inherits.
        stdin: standard input, as in ``subprocess.Popen``.
        stdout: standard output, as in ``subprocess.Popen``.
        stderr: standard error, as in ``subprocess.Popen``; None inherits it.
        own_session: False leaves the child in the caller's process group, so that a signal to it ends both.

    Raises:
        OSError: if the child cannot be started.
    """
    return subprocess.Popen(
        list(argv), stdin=stdin, stdout=stdout, stderr=stderr, env=child_environment(env), cwd=cwd,
        pass_fds=pass_fds, start_new_session=own_session, bufsize=0,
    )  # fmt: skip


def start_connected(argv: Sequence[str], *, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Start a long-lived child that answers requests, with sockets in place of pipes.

    Any process of the same user can reopen a pipe through /proc/PID/fd (proc(5)) and could send requests to
    an agent or an authorized helper. It cannot reopen a socket (ENXIO). Each direction has its own pair of
    sockets, so that closing ``stdin`` ends only the child's input.

    Args:
        argv: program (an absolute path) and arguments.
        stderr: standard error, as in ``subprocess.Popen``; None inherits it.

    Raises:
        OSError: if the child cannot be started.
    """
    requests, child_input = socket.socketpair()
    answers, child_output = socket.socketpair()
    with requests, child_input, answers, child_output:
        child = start(argv, stdin=child_input.fileno(), stdout=child_output.fileno(), stderr=stderr)
        child.stdin = os.fdopen(requests.detach(), "wb", buffering=0)
        child.stdout = os.fdopen(answers.detach(), "rb", buffering=0)
    return child


def kill_group(child: Child, signal_number: int = signal.SIGKILL) -> None:
    """Send a signal to the child's process group; do nothing if the group has ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal_number)


def wait(child: Child, timeout: float) -> int | None:
    """Wait for a child's end; return its exit status, or None if it still runs after ``timeout`` seconds."""
    try:
        return child.wait(timeout)
    except subprocess.TimeoutExpired:
        return None


def run(
    argv: Sequence[str],
    *,
    timeout: float,
    input_text: str = "",
    input_data: bytes = b"",
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> ProcessOutcome:
    """Run a child to its end, or kill its process group at the deadline.

    Args:
        argv: program (an absolute path) and arguments.
        timeout: time until the deadline, seconds.
        input_text: standard input of the child, as text.
        input_data: standard input of the child, as bytes; it takes precedence over ``input_text``.
        env: variables to add to :func:`child_environment`.
        cwd: working directory; None inherits it.

    Raises:
        OSError: if the child cannot be started.
    """
    child = start(argv, env=env, cwd=cwd, stderr=subprocess.PIPE)
    try:
        out, err = child.communicate(input_data or input_text.encode(), timeout=timeout)
        code: int | None = child.returncode
    except subprocess.TimeoutExpired:
        kill_group(child)
        try:
            # A child in an uninterruptible system call is abandoned, so that it cannot block this process.
            out, err = child.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            out, err = b"", b""
        code = None
    return ProcessOutcome(
        tuple(argv), code, out.decode(errors="surrogateescape"), err.decode(errors="surrogateescape")
    )
