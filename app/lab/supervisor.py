"""Supervisor of one guest: ends it and removes what it leaves, however its parent ends.

Run as ``python -P -m app.lab.supervisor LINK MEMORY``.
Standard input and output are the guest's serial line. The parent holds the other end of the input; when
that end is closed, which the kernel does even for a parent that was killed, the guest powers itself off, and
what has not ended after a grace period is killed. The guest's files are in a private directory that lives as
long as this process.
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

#: Parts of the kernel that only measure how fast parities of a RAID are computed: a sixth of the boot.
_NOT_NEEDED = "raid6_select_algo,register_xor_blocks,calibrate_xor_blocks"
#: From the end of the input to the kill.
_GRACE_S = 6.0
#: Indices of the session and the processor after the process name in /proc/PID/stat (proc(5)).
_STAT_SESSION, _STAT_PROCESSOR = 3, 36
#: Directories that the guest covers before its init has read the launcher, or that belong to the kernel.
_HIDDEN_FOLDERS = ("/run", "/dev", "/proc", "/sys")


def main() -> int:
    """Run the guest to its end and return its exit status."""
    link, memory = sys.argv[1:]
    # Told through a pipe: an exception out of a signal handler could cut the clearing up short.
    stop, told = os.pipe()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: os.write(told, b"."))
    folder = Path(tempfile.mkdtemp(prefix="mountwright-lab-", dir=_temporary_folder()))
    try:
        return _run(folder, link, memory, stop)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _temporary_folder() -> str:
    """Return where the directory goes: a path that a kernel's command line and LD_PRELOAD can carry."""
    folder = tempfile.gettempdir()
    unfit = any(character.isspace() or character == ":" for character in folder) or f"{folder}/".startswith(
        tuple(f"{covered}/" for covered in _HIDDEN_FOLDERS)
    )
    return "/tmp" if unfit else folder  # noqa: S108 - mkdtemp makes a private directory in it


def _run(folder: Path, link: str, memory: str, stop: int) -> int:
    launcher = folder / "init"
    launcher.write_text(_init_script(link))
    launcher.chmod(0o700)
    child = start(
        _command(folder, launcher, memory),
        env={"HOME": str(folder), **xstate.environment(folder)},
        cwd=str(folder),
        stdin=0,
        stdout=1,
    )
    try:
        # Ours would keep the parent from seeing the end of the guest's output.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        _wait(child, stop)
    finally:
        kill_group(child)
        status = wait(child, _GRACE_S)
    return 1 if status is None else abs(status)


def _init_script(link: str) -> str:
    """Return the guest's init: the kernel takes no interpreter with a space in its path, a shell does."""
    home = Path(__file__).resolve().parents[2]
    command = shlex.join([sys.executable, "-P", "-m", "app.lab.init", link])
    return f"#!/bin/sh\nPYTHONPATH={shlex.quote(str(home))} exec {command}\n"


def _command(folder: Path, launcher: Path, memory: str) -> list[str]:
    setpriv = find_program("setpriv") or "setpriv"
    taskset = find_program("taskset") or "taskset"
    linux = find_program("linux.uml") or "linux.uml"
    return [
        taskset, "--cpu-list", str(_processor()),
        # Should this process be killed, too, the guest does not stay.
        setpriv, "--pdeathsig", "TERM", linux,
        f"mem={memory}", "rootfstype=hostfs", "root=/dev/root", "ro", f"init={launcher}",
        f"uml_dir={folder}", "umid=guest",
        "con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1", f"initcall_blacklist={_NOT_NEEDED}",
    ]  # fmt: skip


def _processor() -> int:
    """Return the processor for a guest: one that the fewest guests have, among equals this process's own.

    The guest's kernel follows each of its processes with ptrace(2), and only one of them runs at a time. On
    one processor a page fault is a few switches. On several, each switch wakes another processor, and a guest
    that starts programs takes a fifth more processor time.
    """
    allowed = os.sched_getaffinity(0)
    taken: Counter[int] = Counter()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            name, words = _parse_stat(file)
            # A guest's processes have its kernel's name and session.
            if name == "linux.uml" and words[_STAT_SESSION] == file.parent.name:
                own = os.sched_getaffinity(int(file.parent.name))
                taken.update(own if len(own) == 1 else ())
    _name, words = _parse_stat(Path("/proc/self/stat"))
    here = int(words[_STAT_PROCESSOR])
    return min(allowed, key=lambda number: (taken[number], number != here))


def _parse_stat(file: Path) -> tuple[str, list[str]]:
    """Return the process name of a stat file, and the words after it."""
    name, _, words = file.read_text(errors="replace").partition("(")[2].rpartition(")")
    return name, words.split()


def _wait(child: Popen[bytes], stop: int) -> None:
    """Return when the guest has ended, a byte came from stop, or the input has ended a grace period ago."""
    process = os.pidfd_open(child.pid)
    poll = select.poll()
    poll.register(process, select.POLLIN)
    poll.register(stop, select.POLLIN)
    poll.register(0, 0)  # only for POLLHUP: the bytes are the guest's
    ready = poll.poll()
    if [fd for fd, _event in ready] == [0]:
        poll.unregister(0)
        poll.poll(_GRACE_S * 1000)
    os.close(process)


if __name__ == "__main__":
    sys.exit(main())
