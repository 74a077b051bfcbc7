"""Guest report: console, kernel messages and process states of a guest, for a bug report."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import struct
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from app.errors import AppError
from app.files.state_files import remove_old_state_files, write_state_file
from app.files.user_directories import state_directory
from app.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_KEPT_REPORTS = 10
_CONSOLE_BYTES = 200_000
#: Commands to the guest's kernel (uml_mconsole(1), Documentation/admin-guide/sysrq.rst).
_CONSOLE_COMMANDS = ("version", "proc loadavg", "proc mounts", "sysrq m")
#: Additional commands for a dead guest: raise the console log level, then list the blocked processes.
#: User-Mode Linux 6.1 panics if one of these is a kernel worker, and always at the list of all processes
#: (SysRq t).
_LAST_CONSOLE_COMMANDS = ("sysrq 8", "sysrq w")
#: Timeout of one reply of the guest's kernel, s.
_KERNEL_TIMEOUT_S = 1.0
#: struct mconsole_request and mconsole_reply, linux/arch/um/drivers/mconsole.h.
_REQUEST = struct.Struct("=III512s")
_REPLY = struct.Struct("=III")
_MAGIC, _VERSION = 0xCAFEBABE, 2
#: Files of /proc/PID with the state of a process, the kernel function it waits in, its times and its stack.
_PROCESS_FILES = ("stat", "wchan", "schedstat", "stack")


def guest_processes(supervisor: int) -> list[int]:
    """Return the process IDs of the supervisor and all its descendants (proc(5), task/TID/children)."""
    found: list[int] = []
    waiting = [supervisor]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        # Each lookup fails if the process or thread has just ended.
        with contextlib.suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - one failure must not hide the others
            for thread in threads:
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                    waiting.extend(int(child) for child in text.split())
    return found


def console_text(console: BinaryIO, size: int = _CONSOLE_BYTES) -> str:
    """Return the last ``size`` bytes of the console output as text.

    Args:
        console: file with the output of the guest's kernel and init.
        size: number of bytes.
    """
    end = os.fstat(console.fileno()).st_size
    data = os.pread(console.fileno(), size, max(0, end - size))
    return data.decode(errors="replace").replace("\r\n", "\n")


def write_report(supervisor: int, link: str, console: BinaryIO, reason: str, *, dead: bool) -> Path:
    """Write a report into the user's state directory and return its path; keep the newest ten reports.

    Args:
        supervisor: process ID of the guest's supervisor.
        link: name of the link that the guest was booted with.
        console: file with the output of the guest's kernel and init.
        reason: reason for the report, as a sentence.
        dead: whether the guest is dead, so that commands that may crash it are sent too.

    Raises:
        AppError: if the file cannot be written.
    """
    now = datetime.now(UTC)
    path = state_directory() / "lab-reports" / f"lab-{now:%Y%m%dT%H%M%S.%fZ}.txt"
    parts = [
        f"Mountwright {VERSION}, lab report of {now:%Y-%m-%d %H:%M:%S} UTC\n",
        f"{reason}\nLink: {link}\nThis computer's kernel: {' '.join(os.uname())}\n",
        *_process_states(supervisor),
        *_kernel_answers(supervisor, dead=dead),
        f"\n== Console\n{console_text(console)}",
    ]
    write_state_file(path, "The lab report", "".join(parts).encode(errors="replace"))
    with contextlib.suppress(AppError):  # old reports that remain do no harm
        remove_old_state_files(path.parent, _KEPT_REPORTS)
    return path


def _process_states(supervisor: int) -> Iterator[str]:
    yield "\n== Processes of the guest on this computer\n"
    for pid in guest_processes(supervisor):
        for name in _PROCESS_FILES:
            try:
                text = Path(f"/proc/{pid}/{name}").read_text(errors="replace").strip()
            except OSError as error:
                text = str(error.strerror)
            yield f"{pid} {name}: {text}\n"


def _kernel_answers(supervisor: int, *, dead: bool) -> Iterator[str]:
    """Query the guest's kernel over its management console (uml_mconsole(1)); it may not answer."""
    yield "\n== Answers of the guest's kernel\n"
    # The supervisor starts the kernel in the guest's private directory, which contains its socket.
    kernels = guest_processes(supervisor)[1:]
    try:
        if not kernels:
            raise ProcessLookupError(errno.ESRCH, "The guest's kernel has ended")
        # The path by descriptor fits the length limit of socket names.
        directory = os.open(f"/proc/{kernels[0]}/cwd/guest", os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        yield f"{error}\n"
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as kernel:
            kernel.bind("")  # an automatic name, so that the guest's kernel can reply
            kernel.settimeout(_KERNEL_TIMEOUT_S)
            kernel.connect(f"/proc/self/fd/{directory}/mconsole")
            for command in (*_CONSOLE_COMMANDS, *(_LAST_CONSOLE_COMMANDS if dead else ())):
                yield f"-- {command}\n{_query_kernel(kernel, command)}\n"
    except OSError as error:
        yield f"no answer: {error}\n"
    finally:
        os.close(directory)


def _query_kernel(kernel: socket.socket, command: str) -> str:
    text = command.encode()
    kernel.send(_REQUEST.pack(_MAGIC, _VERSION, len(text), text))
    answer = b""
    more = 1
    while more:
        reply = kernel.recv(4096)
        _error, more, length = _REPLY.unpack_from(reply)
        answer += reply[_REPLY.size : _REPLY.size + length].rstrip(b"\0")
    return answer.decode(errors="replace").strip()
