"""The agent's side of cleaning up: children that remove the files of killed runs, and waiting for them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

import msgspec

from app.bench.cleaner import DONE
from app.bench.files import PREFIX
from app.bench.messages import CleanJob
from app.bench.programs import start_program
from app.errors import AppError
from app.process import kill_group, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.process import Child

log = logging.getLogger("bench")

_DEADLINE_S = 60
#: A file over a slow line: one round trip, sent again once.
_FILE_S = 0.2
_GRACE_S = 5.0

_lock = threading.Lock()
#: The directory that each works for, "" if it is none that somebody may want to unmount.
_running: dict[threading.Thread, str] = {}


def in_background(name: str, work: Callable[[], None], path: str = "") -> None:
    """Do clean-up work on a daemon thread that :func:`wait_for_cleanups` knows of.

    Args:
        name: of the thread.
        work: what it does.
        path: the directory that it holds meanwhile.
    """

    def body() -> None:
        try:
            work()
        finally:
            with _lock:
                del _running[thread]

    thread = threading.Thread(target=body, name=name, daemon=True)
    with _lock:
        _running[thread] = path
    thread.start()


def pending(mount_point: str) -> bool:
    """Return whether clean-up work holds a directory at or below a mount point."""
    with _lock:
        paths = list(_running.values())
    below = mount_point.rstrip("/") + "/"
    return any((path + "/").startswith(below) for path in paths if path)


def clean(path: str, run: str, files: int = 1, launch: Callable[..., Child] | None = None) -> None:
    """Remove a run's files in a child and wait for it; a child that hangs is killed at its deadline.

    Args:
        path: the directory that was tested.
        run: name of the run.
        files: how many it may have.
        launch: starts the child, where the directory is seen; by default as any.
    """
    deadline_s = _DEADLINE_S + int(files * _FILE_S)
    try:
        child = (launch or start_program)("cleaner")
    except (AppError, OSError) as error:
        _warn(path, run, str(error))
        return
    # One that died at once shows in its words.
    with contextlib.suppress(BrokenPipeError), contextlib.closing(child.stdin) as pipe:
        pipe.write(msgspec.json.encode(CleanJob(path=path, run=run, deadline_s=deadline_s)) + b"\n")
    wait(child, deadline_s + _GRACE_S)
    kill_group(child)
    if child.stderr is not None:
        child.stderr.close()
    with child.stdout as output:
        os.set_blocking(output.fileno(), False)  # one that hangs holds it open
        if DONE not in (output.read(len(DONE)) or b""):
            _warn(path, run, "")


def _warn(path: str, run: str, why: str) -> None:
    log.warning("the test files of a killed run could not be removed: %s%s in %s %s", PREFIX, run, path, why)


def wait_for_cleanups(timeout: float) -> bool:
    """Wait for the files of cancelled tests to be gone; call it before unmounting and before exit.

    Args:
        timeout: seconds.

    Returns:
        Whether nothing is left to wait for.
    """
    end = time.monotonic() + timeout
    with _lock:
        # Work of its own may wait for the others.
        threads = [thread for thread in _running if thread is not threading.current_thread()]
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return not any(thread.is_alive() for thread in threads)
