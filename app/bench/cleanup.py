"""The agent's side of cleaning up: children that remove the files of killed runs, and waiting for them."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from app.bench.messages import CleanJob
from app.process import DEVNULL, kill_group, start, wait

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger("bench")

_DEADLINE_S = 60
#: A file over a slow line: one round trip, sent again once.
_FILE_S = 0.2
_GRACE_S = 5.0

_lock = threading.Lock()
_running: set[threading.Thread] = set()


def in_background(name: str, work: Callable[[], None]) -> None:
    """Do clean-up work on a daemon thread that :func:`wait_for_cleanups` knows of."""

    def body() -> None:
        try:
            work()
        finally:
            with _lock:
                _running.discard(thread)

    thread = threading.Thread(target=body, name=name, daemon=True)
    with _lock:
        _running.add(thread)
    thread.start()


def clean(path: str, run: str, files: int = 1) -> None:
    """Remove a run's files in a child and wait for it; a child that hangs is killed at its deadline.

    Args:
        path: the directory that was tested.
        run: name of the run.
        files: how many it may have.
    """
    deadline_s = _DEADLINE_S + int(files * _FILE_S)
    child = start([sys.executable, "-P", "-m", "app.bench.cleaner"], stdout=DEVNULL)
    if child.stdin is None:
        raise AssertionError("started with a pipe")
    with contextlib.suppress(BrokenPipeError), child.stdin:  # one that died at once shows in its status
        child.stdin.write(msgspec.json.encode(CleanJob(path=path, run=run, deadline_s=deadline_s)) + b"\n")
    code = wait(child, deadline_s + _GRACE_S)
    kill_group(child)
    if code != 0:
        log.warning("the test files of a killed run could not be removed from %s", path)


def wait_for_cleanups(timeout: float) -> bool:
    """Wait for the files of cancelled tests to be gone; call it before unmounting and before exit.

    Args:
        timeout: seconds.

    Returns:
        Whether nothing is left to wait for.
    """
    end = time.monotonic() + timeout
    with _lock:
        threads = list(_running)
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return not any(thread.is_alive() for thread in threads)
