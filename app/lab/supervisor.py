"""Supervisor of one guest: ends it and removes its files, however its parent ends.

Run as ``python -P -m app.lab.supervisor LINK MEMORY INIT…``, INIT being the
arguments with which Python runs the guest's init. Its standard input and output are the serial line.
When the parent closes the input, or is killed, the guest powers itself off. After a grace period its
remaining processes are killed. The guest's files are in a private directory that is removed at the end.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from app.lab import xstate
from app.process import find_program, kill_group, start, wait

if TYPE_CHECKING:
    from subprocess import Popen  # noqa: TID251 - for annotations

#: Kernel initcalls that only benchmark RAID parity functions and take a sixth of the boot time.
_NOT_NEEDED = "raid6_select_algo,register_xor_blocks,calibrate_xor_blocks"
#: Time from the end of the input until the guest is killed, s.
_GRACE_S = 6.0
#: Indices of session and processor among the fields after the process name in /proc/PID/stat (proc(5)).
_STAT_SESSION, _STAT_PROCESSOR = 3, 36
#: Directories that the guest hides before its init reads the launcher, or that are virtual.
_HIDDEN_DIRECTORIES = ("/run", "/dev", "/proc", "/sys")


def main() -> int:
    """Run the guest to its end and return its exit status."""
    link, memory, *init = sys.argv[1:]
    # The handler writes to a pipe, because an exception from it could interrupt the cleanup.
    stop, stop_writing = os.pipe()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: os.write(stop_writing, b"."))
    directory = Path(tempfile.mkdtemp(prefix="mountwright-lab-", dir=_temporary_directory()))
    try:
        return _run(directory, _init_script(link, init), memory, stop)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _temporary_directory() -> str:
    """Return a parent directory whose path may appear on a kernel command line and in LD_PRELOAD."""
    directory = tempfile.gettempdir()
    unfit = any(
        character.isspace() or character == ":" for character in directory
    ) or f"{directory}/".startswith(tuple(f"{covered}/" for covered in _HIDDEN_DIRECTORIES))
    return "/tmp" if unfit else directory  # noqa: S108 - mkdtemp makes a private directory in it


def _run(directory: Path, script: str, memory: str, stop: int) -> int:
    launcher = directory / "init"
    launcher.write_text(script)
    launcher.chmod(0o700)
    child = start(
        _command(directory, launcher, memory),
        env={"HOME": str(directory), **xstate.environment(directory)},
        cwd=str(directory),
        stdin=0,
        stdout=1,
    )
    try:
        # Close this process's copy, so that the parent sees the end of the guest's output.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        _wait(child, stop)
    finally:
        kill_group(child)
        status = wait(child, _GRACE_S)
    return 1 if status is None else abs(status)


def _init_script(link: str, init: list[str]) -> str:
    """Return a shell script that runs the guest's init, because a path in #! must not contain spaces."""
    home = Path(__file__).resolve().parents[2]
    command = shlex.join([sys.executable, "-P", *init, link])
    return f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(home))} exec {command}\n"


def _command(directory: Path, launcher: Path, memory: str) -> list[str]:
    setpriv = find_program("setpriv") or "setpriv"
    taskset = find_program("taskset") or "taskset"
    linux = find_program("linux.uml") or "linux.uml"
    return [
        taskset, "--cpu-list", str(_processor()),
        # The guest ends even if this process is killed.
        setpriv, "--pdeathsig", "TERM", linux,
        f"mem={memory}", "rootfstype=hostfs", "root=/dev/root", "ro", f"init={launcher}",
        f"uml_dir={directory}", "umid=guest",
        "con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1", f"initcall_blacklist={_NOT_NEEDED}",
    ]  # fmt: skip


def _processor() -> int:
    """Return the processor for a guest: the one with the fewest guests, preferably this process's own.

    The guest's kernel controls its processes with ptrace(2), and only one of them runs at a time. On one
    processor, a page fault costs a few context switches. On several, each switch wakes another processor, and
    starting programs in the guest takes a fifth more processor time.
    """
    allowed = os.sched_getaffinity(0)
    guests_by_processor: Counter[int] = Counter()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has just ended
            name, fields = _parse_stat(file)
            # The guest's kernel is the linux.uml process that leads its session.
            if name == "linux.uml" and fields[_STAT_SESSION] == file.parent.name:
                affinity = os.sched_getaffinity(int(file.parent.name))
                guests_by_processor.update(affinity if len(affinity) == 1 else ())
    _name, fields = _parse_stat(Path("/proc/self/stat"))
    own_processor = int(fields[_STAT_PROCESSOR])
    return min(allowed, key=lambda number: (guests_by_processor[number], number != own_processor))


def _parse_stat(file: Path) -> tuple[str, list[str]]:
    """Return the process name in a /proc/PID/stat file, and the fields after it."""
    name, _, fields = file.read_text(errors="replace").partition("(")[2].rpartition(")")
    return name, fields.split()


def _wait(child: Popen[bytes], stop: int) -> None:
    """Wait until the guest ends, ``stop`` becomes readable, or standard input is closed for _GRACE_S."""
    process = os.pidfd_open(child.pid)
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.register(stop, select.POLLIN)
    poll.register(0, 0)  # only for POLLHUP; the guest reads the bytes
    ready = poll.poll()
    if [fd for fd, _event in ready] == [0]:
        poll.unregister(0)
        poll.poll(_GRACE_S * 1000)
    os.close(process)


if __name__ == "__main__":
    sys.exit(main())
