"""Cleaner process: removes the files of one run after its worker was killed.

It may hang like the worker, and can be killed too. It tries again until the file system lets it: a killed
worker holds its file until all that it wrote has been sent, and a server may come back. It ends itself some
time after the end of its input, when the agent that started it has gone.
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

#: Between two tries: soon at first, then so that a server is not bothered.
_RETRY_S, _MAX_RETRY_S = 0.05, 5.0
#: The last line of one that succeeded.
DONE_LINE = b"removed\n"


def main() -> int:
    """Remove what the job on standard input names; return 0 if it is gone, 1 if the share is not there."""
    # The end of a private mount asks its processes to end, and kills them later: until then it goes on.
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
            # Said, as the status of a process in a private mount is not seen by who waits for it. Where a
            # server came back late, the agent that waited has gone.
            with contextlib.suppress(BrokenPipeError):
                os.write(1, DONE_LINE)
            return 0


def _watch_input(grace_s: int) -> None:
    while os.read(0, 65536):
        pass
    signal.alarm(grace_s)  # its default action ends the process, also inside a killable wait


def _is_on_share(path: str, share: str) -> bool:
    """Whether a directory is, or was, on a mount of the share: others have no files of the run."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return _is_on_share(os.path.dirname(path), share)  # noqa: PTH120 - the root is its own parent, and exists
    try:
        where = mount_of_directory(fd)
    finally:
        os.close(fd)
    return where is not None and where.share == share


if __name__ == "__main__":
    raise SystemExit(main())
