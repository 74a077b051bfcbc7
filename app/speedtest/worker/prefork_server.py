"""Prefork server: starts the processes of a private mount's tests without delay, as copies of itself.

Starting Python and importing a worker's modules takes longer than a small test: 93 ms of processor time on a
computer, 3 s in the lab's guest; a fork takes 1.5 ms and 115 ms. This process does both once and forks a copy
for each program that the agent requests. A copy can be killed like any other process. A copy
that finished a test is reused for the next one, which in a slow guest saves the time of the fork. Between
tests neither the server nor an idle copy holds a file of a mount, so mounts can come and go.

Started as ``python -P -m app.speedtest.worker.prefork_server``. Standard input is a Unix socket. A request is
a line with the program's name and three descriptors: the program's input and output, its errors, and a socket
for its reuse. The reply is a line with the process id. On the reuse socket, a copy sends a byte when it has
finished a test, receives a byte with the first two descriptors of the next test, and confirms with a byte.
The server and its copies end when their sockets are closed.
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
    # The server does not wait for its copies: with SIG_IGN the kernel reaps them (sigaction(2)).
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _preload()
    while True:
        name, descriptors, _flags, _address = socket.recv_fds(control, _MAX_NAME_BYTES, 3)
        if not name:
            break
        if os.fork() == 0:
            _run_as(cast("TestProgram", name.decode("ascii").strip()), control, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)  # with SIG_IGN it returns when all children have ended
    return 0


def _preload() -> None:
    """Initialize everything that each copy would otherwise do at first use, in shared memory."""
    workload.preload_random_bytes(call_size(CP_CALL_SIZE, {}))
    job = WorkerJob(spec=TestSpec(path=""), run="")
    from_json(msgspec.json.encode(job), WorkerJob)
    from_json(msgspec.json.encode(CleanupJob(path="", run="", grace_s=1)), CleanupJob)
    proc_pid()
    gc.collect()
    gc.freeze()


def _run_as(program: TestProgram, control: socket.socket, descriptors: list[int]) -> NoReturn:
    """Run a program of a test in this forked process, and exit."""
    status = 1
    try:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _redirect_streams(descriptors)
        reuse = socket.socket(fileno=os.dup(descriptors[2]))
        control.sendall(b"%d\n" % proc_pid())
        os.closerange(3, reuse.fileno())
        os.closerange(reuse.fileno() + 1, os.sysconf("SC_OPEN_MAX"))
        _run_program(program, reuse)
        status = 0
    except BaseException:  # noqa: BLE001 - printed to standard error, as the interpreter would do
        traceback.print_exc()
        sys.stderr.flush()
    os._exit(status)


def _run_program(program: TestProgram, reuse: socket.socket) -> None:
    if program == "cleaner":
        cleaner.main()
        return
    while worker_process.run_job() == "done" and _wait_for_next_test(reuse):
        pass


def _wait_for_next_test(reuse: socket.socket) -> bool:
    """Wait for another test; return whether there is one."""
    while os.read(0, 65536):
        pass  # until the agent closes its end: then it no longer reads
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    null_device = os.open(os.devnull, os.O_RDWR)
    _redirect_streams([null_device, null_device])
    os.close(null_device)
    reuse.sendall(b".")
    byte, descriptors, _flags, _address = socket.recv_fds(reuse, 1, 2)
    if not byte:
        return False
    _redirect_streams(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    reuse.sendall(b".")
    return True


def _redirect_streams(descriptors: list[int]) -> None:
    """Duplicate the first descriptor to standard input and output, the second to standard error."""
    for standard, descriptor in enumerate((descriptors[0], descriptors[0], descriptors[1])):
        os.dup2(descriptor, standard)


if __name__ == "__main__":
    raise SystemExit(main())
