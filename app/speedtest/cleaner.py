"""Cleaner process: removes the files of one run after its worker was killed.

It may hang like the worker, and can be killed. It retries until the removal succeeds: a killed worker keeps
its file open until all written data has been sent, and a server may come back. After its agent has ended, it
stops when the grace period is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading

from app.kernel.mount_of_path import mount_of_directory
from app.speedtest.messages import CleanupJob
from app.speedtest.testdir import remove_run
from resources.decoding import from_json

#: Interval between attempts, s: doubled from the first to the second value.
_RETRY_S, _MAX_RETRY_S = 0.05, 5.0
#: Last line of output after success.
DONE_LINE = b"removed\n"


def main() -> int:
    """Remove the files named by the job on standard input; return 0 if they are gone, 1 without the share."""
    # The end of a private mount sends SIGTERM first and SIGKILL later: until then the removal continues.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    job = from_json(sys.stdin.buffer.readline(), CleanupJob)
    threading.Thread(target=_watch_input, args=(job.grace_s,), name="cleaner-input", daemon=True).start()
    pause, pause_s = threading.Event(), _RETRY_S
    while True:
        try:
            path = os.path.realpath(job.path)
            if job.share and not _is_on_share(path, job.share):
                return 1
            remove_run(path, job.run)
        except OSError:
            pause.wait(pause_s)
            pause_s = min(2 * pause_s, _MAX_RETRY_S)
        else:
            # The agent reads this line, as it cannot see the exit status of a process in a private mount. The
            # pipe is broken if the agent has ended.
            with contextlib.suppress(BrokenPipeError):
                os.write(1, DONE_LINE)
            return 0


def _watch_input(grace_s: int) -> None:
    while os.read(0, 65536):
        pass
    signal.alarm(grace_s)  # SIGALRM ends the process by default, also in a killable wait of the kernel


def _is_on_share(path: str, share: str) -> bool:
    """Return whether a directory is on a mount of the share; if it is gone, whether its parent is."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _is_on_share(os.path.dirname(path), share)  # noqa: PTH120 - the root is its own parent, and exists
    try:
        mount = mount_of_directory(fd)
    finally:
        os.close(fd)
    return mount is not None and mount.share == share


if __name__ == "__main__":
    raise SystemExit(main())
