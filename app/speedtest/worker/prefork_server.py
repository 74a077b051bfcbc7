"""Prefork server: starts a process for each test of a private mount at once, as a copy of itself.

Starting Python and importing what a worker needs takes longer than a small test. So this process starts
once, imports everything, and forks for the programs of tests that the agent asks for; each copy can be
killed like any other process. A copy whose test came to its end takes the next one, as its memory is its own
by then, which in a slow guest takes longer than the fork. Between tests neither holds a file of a mount, and
so they stay while mounts come and go.

Started as ``python -P -m app.speedtest.worker.prefork_server``. On standard input, a Unix socket, it gets a
line with the program's name and three descriptors: for the program's input and output, for its errors, and
for more tests. The answer is a line with the number of the process. On the third a copy says with a byte that
it has done a test, gets a byte with the first two descriptors of the next, and answers with a byte that it
has taken them. This process and its copies end with their sockets.
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

from advisor.transfer_sizes import CP_CALL_SIZE, call_size
from app.process_identity import proc_pid
from app.speedtest import cleaner
from app.speedtest.messages import CleanupJob, WorkerJob
from app.speedtest.model import TestSpec
from app.speedtest.worker import worker_process, workload
from resources.decoding import from_json

if TYPE_CHECKING:
    from app.speedtest.processes import TestProgram

_MAX_NAME_BYTES = 64


def main() -> int:
    """Serve until the end of standard input; return the exit status."""
    control = socket.socket(fileno=os.dup(0))
    # Nobody waits for the copies here; the kernel buries them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _preload()
    while True:
        name, descriptors, _flags, _address = socket.recv_fds(control, _MAX_NAME_BYTES, 3)
        if not name:
            break
        if os.fork() == 0:
            _become(cast("TestProgram", name.decode("ascii").strip()), control, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)  # comes back when all have ended
    return 0


def _preload() -> None:
    """Have done once what each copy would do for the first time, and leave that memory to all of them."""
    workload.preload_random_bytes(call_size(CP_CALL_SIZE, {}))
    job = WorkerJob(spec=TestSpec(path=""), run="")
    from_json(msgspec.json.encode(job), WorkerJob)
    from_json(msgspec.json.encode(CleanupJob(path="", run="", grace_s=1)), CleanupJob)
    proc_pid()
    gc.collect()
    gc.freeze()


def _become(program: TestProgram, control: socket.socket, descriptors: list[int]) -> NoReturn:
    """Be a program of a test from now on."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _redirect_streams(descriptors)
        more = socket.socket(fileno=os.dup(descriptors[2]))
        control.sendall(b"%d\n" % proc_pid())
        os.closerange(3, more.fileno())
        os.closerange(more.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        _run_program(program, more)
        status = 0
    except BaseException:  # noqa: BLE001 - told on its standard error, as the interpreter would
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(status)


def _run_program(program: TestProgram, more: socket.socket) -> None:
    if program == "cleaner":
        cleaner.main()
        return
    while worker_process.run_job() == "done" and _wait_for_next_test(more):
        pass


def _wait_for_next_test(more: socket.socket) -> bool:
    """Wait for another test, and return whether there is one."""
    while os.read(0, 65536):
        pass  # until the agent has hung up: nobody reads there any more then
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDWR)
    _redirect_streams([nothing, nothing])
    os.close(nothing)
    more.sendall(b".")
    byte, descriptors, _flags, _address = socket.recv_fds(more, 1, 2)
    if not byte:
        return False
    _redirect_streams(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    more.sendall(b".")
    return True


def _redirect_streams(descriptors: list[int]) -> None:
    """Make the first of them standard input and output, and the second standard error."""
    for standard, descriptor in enumerate((descriptors[0], descriptors[0], descriptors[1])):
        os.dup2(descriptor, standard)


if __name__ == "__main__":
    raise SystemExit(main())
