"""The standing worker: starts a process for each test of a private mount in no time, by a copy of itself.

To start Python and what a worker imports takes longer than a small test with all that belongs to it. So this
is started once, imports everything, and forks for every program of a test that the agent asks for; each copy
can be killed like any other process. It holds no file of a mount, and so stays while mounts come and go.

Started as ``python -P -m app.bench.standing``. On standard input, a Unix socket, it gets a line with the
program's name and two descriptors, for the program's input and output and for its errors; the answer is a
line with the number of the process. At the end of its input it ends as soon as its copies have.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import traceback
from typing import TYPE_CHECKING, NoReturn, cast

import msgspec

from app.bench import cleaner, worker
from app.bench.files import own_pid
from app.bench.messages import CleanJob, WorkerJob
from app.bench.result import TestSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.bench.programs import Program

PROGRAMS: dict[Program, Callable[[], int]] = {"worker": worker.main, "cleaner": cleaner.main}
_MAX_NAME = 64


def main() -> int:
    """Serve until the end of standard input; return the exit status."""
    control = socket.socket(fileno=os.dup(0))
    # Nobody waits for the copies here; the kernel buries them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _warm_up()
    while True:
        name, descriptors, _flags, _address = socket.recv_fds(control, _MAX_NAME, 2)
        if not name:
            break
        if os.fork() == 0:
            _be(PROGRAMS[cast("Program", name.decode("ascii").strip())], control, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)  # comes back when all have ended
    return 0


def _warm_up() -> None:
    """Have done once what each copy would do for the first time, and leave that memory to all of them."""
    job = WorkerJob(spec=TestSpec(path=""), run="")
    msgspec.json.decode(msgspec.json.encode(job), type=WorkerJob)
    msgspec.json.decode(msgspec.json.encode(CleanJob(path="", run="", deadline_s=1)), type=CleanJob)
    own_pid()
    gc.collect()
    gc.freeze()


def _be(program: Callable[[], int], control: socket.socket, descriptors: list[int]) -> NoReturn:
    """Be a program of a test from now on."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for standard, descriptor in enumerate((descriptors[0], *descriptors)):
            os.dup2(descriptor, standard)
        control.sendall(b"%d\n" % own_pid())
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        status = program()
    except BaseException:  # noqa: BLE001 - told on its standard error, as the interpreter would
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    raise SystemExit(main())
