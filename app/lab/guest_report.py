"""The report on a guest that stopped: console, kernel messages and process states, for a bug report."""

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
#: Questions to the guest's kernel (uml_mconsole(1), Documentation/admin-guide/sysrq.rst).
_CONSOLE_COMMANDS = ("version", "proc loadavg", "proc mounts", "sysrq m")
#: The same of a dead guest: have everything printed, then the blocked processes. User-Mode Linux 6.1 panics
#: if one of these is a kernel worker, and always at the list of all processes (SysRq t).
_LAST_CONSOLE_COMMANDS = ("sysrq 8", "sysrq w")
_KERNEL_TIMEOUT_S = 1.0
#: struct mconsole_request and mconsole_reply, linux/arch/um/drivers/mconsole.h.
_REQUEST = struct.Struct("=III512s")
_REPLY = struct.Struct("=III")
_MAGIC, _VERSION = 0xCAFEBABE, 2
#: What of /proc/PID tells how a process of this computer is: its state, what it waits in, its times.
_PROCESS_FILES = ("stat", "wchan", "schedstat", "stack")


def guest_processes(supervisor: int) -> list[int]:
    """Return the supervisor and all processes below it, by the kernel's lists of children (proc(5))."""
    found: list[int] = []
    waiting = [supervisor]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        # Each look-up fails where a process or its thread has just ended.
        with contextlib.suppress(OSError):
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - one failure must not hide the others
            for thread in threads:
                with contextlib.suppress(OSError):
                    text = Path(f"/proc/{pid}/task/{thread}/children").read_text()
                    waiting.extend(int(child) for child in text.split())
    return found


def console_text(console: BinaryIO, size: int = _CONSOLE_BYTES) -> str:
    """Return the end of what the guest's kernel and init have printed into this file."""
    end = os.fstat(console.fileno()).st_size
    data = os.pread(console.fileno(), size, max(0, end - size))
    return data.decode(errors="replace").replace("\r\n", "\n")


def write_report(supervisor: int, link: str, console: BinaryIO, reason: str, *, dead: bool) -> Path:
    """Write a report into the person's state folder and return its path; only the newest ten are kept.

    Args:
        supervisor: process of this computer that the guest runs below.
        link: name of the link that the guest was booted with.
        console: what it has printed.
        reason: a sentence.
        dead: whether nobody needs the guest any more; questions that may end it are asked then, too.

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
    with contextlib.suppress(AppError):  # the report itself is there
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
    """Ask the guest's kernel over its management console (uml_mconsole(1)); it may not answer any more."""
    yield "\n== Answers of the guest's kernel\n"
    # The supervisor starts the kernel in the guest's private folder, where its socket is.
    kernels = guest_processes(supervisor)[1:]
    try:
        if not kernels:
            raise ProcessLookupError(errno.ESRCH, "The guest's kernel has ended")
        # A descriptor makes the socket's name short, whatever the folder.
        folder = os.open(f"/proc/{kernels[0]}/cwd/guest", os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        yield f"{error}\n"
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as kernel:
            kernel.bind("")  # the kernel chooses a name to answer to
            kernel.settimeout(_KERNEL_TIMEOUT_S)
            kernel.connect(f"/proc/self/fd/{folder}/mconsole")
            for question in (*_CONSOLE_COMMANDS, *(_LAST_CONSOLE_COMMANDS if dead else ())):
                yield f"-- {question}\n{_ask_kernel(kernel, question)}\n"
    except OSError as error:
        yield f"no answer: {error}\n"
    finally:
        os.close(folder)


def _ask_kernel(kernel: socket.socket, question: str) -> str:
    text = question.encode()
    kernel.send(_REQUEST.pack(_MAGIC, _VERSION, len(text), text))
    answer = b""
    more = 1
    while more:
        reply = kernel.recv(4096)
        _error, more, length = _REPLY.unpack_from(reply)
        answer += reply[_REPLY.size : _REPLY.size + length].rstrip(b"\0")
    return answer.decode(errors="replace").strip()
