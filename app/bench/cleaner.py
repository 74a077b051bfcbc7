"""Removes the files of one run after its worker was killed: a disposable child, as it may hang like that one.

It tries again until the file system lets it (a killed worker may still hold the file for a moment, and a
server may come back), and ends itself at its deadline, even if the agent that started it is gone.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from app.bench.files import remove_run
from app.bench.messages import CleanJob
from resources.decoding import from_json

_RETRY_S = 0.05
#: The last line of one that succeeded.
DONE = b"removed\n"


def main() -> int:
    """Remove what the job on standard input names; return 0 if it is gone."""
    job = from_json(sys.stdin.buffer.readline(), CleanJob)
    signal.alarm(job.deadline_s)  # its default action ends the process, also inside a killable wait
    end = time.monotonic() + job.deadline_s
    pause = threading.Event()
    while time.monotonic() < end:
        try:
            remove_run(os.path.realpath(job.path), job.run)
        except OSError:
            pause.wait(_RETRY_S)
        else:
            # Said, as the status of a process in a private mount is not seen by who waits for it.
            os.write(1, DONE)
            return 0
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
