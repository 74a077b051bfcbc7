"""Child processes: argument lists, a fixed environment, a group of their own, a deadline.

Processes are started here alone. ``mount`` forks ``mount.nfs`` and does not pass signals on (measured), so a
child always leads a session of its own and is ended by killing the whole group.
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

#: What every child gets as PATH: the sbin folders are missing from an ordinary user's on Debian.
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


#: For ``stdout`` of :func:`start`: what the child prints goes nowhere.
DEVNULL = subprocess.DEVNULL
PIPE = subprocess.PIPE
TimeoutExpired = subprocess.TimeoutExpired


class Child(Protocol):
    """A process that leads a group of its own; its pipes are None where it has none."""

    pid: int

    @property
    def stdin(self) -> Any:
        """Takes bytes."""

    @property
    def stdout(self) -> Any:
        """Gives bytes."""

    @property
    def stderr(self) -> Any:
        """Gives bytes."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; raise TimeoutExpired if it still runs after so many seconds."""
        ...


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """How a child ended.

    Attributes:
        argv: the command.
        code: its exit status, negative for a signal, None if the deadline ended it.
        stdout: what it printed, decoded with surrogateescape.
        stderr: likewise.
    """

    argv: tuple[str, ...]
    code: int | None
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Whether it exited with 0."""
        return self.code == 0

    @property
    def timed_out(self) -> bool:
        """Whether the deadline ended it."""
        return self.code is None


def child_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of children: a fixed PATH, the C locale, the session's own variables."""
    kept = ("HOME", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY",
            "XDG_STATE_HOME", "DBUS_SESSION_BUS_ADDRESS", "TMPDIR")  # fmt: skip
    env = {name: os.environ[name] for name in kept if name in os.environ}
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
    """Start a long-lived child with binary pipes, in a session of its own.

    Args:
        argv: program (an absolute path) and arguments.
        env: added to :func:`child_environment`.
        cwd: its working directory.
        pass_fds: descriptors that it inherits.
        stdin: as in ``subprocess.Popen``.
        stdout: likewise.
        stderr: likewise; None inherits.
        own_session: False leaves it in the caller's group, so that whoever ends that ends both.

    Raises:
        OSError: if it cannot be started.
    """
    return subprocess.Popen(
        list(argv), stdin=stdin, stdout=stdout, stderr=stderr, env=child_environment(env), cwd=cwd,
        pass_fds=pass_fds, start_new_session=own_session, bufsize=0,
    )  # fmt: skip


def start_connected(argv: Sequence[str], *, stderr: int | None = None) -> subprocess.Popen[bytes]:
    """Start a long-lived child that takes requests and answers them, as :func:`start`, but over sockets.

    Any process of the same user can open a pipe again through /proc/PID/fd (proc(5)), and so write requests
    of its own to an agent, or to a helper that the person has authorized. It cannot open a socket (ENXIO).
    There are two pairs of them, so that closing ``stdin`` is the end of the child's input and no more, as
    with pipes.

    Raises:
        OSError: if it cannot be started.
    """
    requests, its_input = socket.socketpair()
    answers, its_output = socket.socketpair()
    with requests, its_input, answers, its_output:
        child = start(argv, stdin=its_input.fileno(), stdout=its_output.fileno(), stderr=stderr)
        child.stdin = os.fdopen(requests.detach(), "wb", buffering=0)
        child.stdout = os.fdopen(answers.detach(), "rb", buffering=0)
    return child


def kill_group(child: Child, signal_number: int = signal.SIGKILL) -> None:
    """Send a signal to the child's whole group; a group that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal_number)


def wait(child: Child, timeout: float) -> int | None:
    """Wait for a child to end; return its exit status, or None if it still runs after this many seconds."""
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
    """Run a child to its end, or kill its group at the deadline.

    Args:
        argv: program (an absolute path) and arguments.
        timeout: seconds.
        input_text: what it reads from its standard input.
        input_data: the same as bytes.
        env: added to :func:`child_environment`.
        cwd: its working directory.

    Raises:
        OSError: if it cannot be started.
    """
    child = start(argv, env=env, cwd=cwd, stderr=subprocess.PIPE)
    try:
        out, err = child.communicate(input_data or input_text.encode(), timeout=timeout)
        code: int | None = child.returncode
    except subprocess.TimeoutExpired:
        kill_group(child)
        try:
            # A child that sits in an uninterruptible call is left to the kernel: it must not hold us.
            out, err = child.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            out, err = b"", b""
        code = None
    return ProcessOutcome(
        tuple(argv), code, out.decode(errors="surrogateescape"), err.decode(errors="surrogateescape")
    )
