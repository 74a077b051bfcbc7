"""Clean-up after tests: children that remove the files of killed runs, and waiting for them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from app.errors import AppError
from app.process import kill_group
from app.speedtest.cleaner import DONE_LINE
from app.speedtest.messages import CleanupJob
from app.speedtest.processes import start_program
from app.speedtest.testdir import PREFIX
from app.tasks import CancelledError

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.process import Child
    from app.speedtest.processes import PrivateMountHandle
    from app.tasks import CancelToken

T = TypeVar("T")

log = logging.getLogger("bench")

#: Within this time a cancelled test answers and a program that is closed ends, whatever the server does.
CANCEL_TIMEOUT_S = 5.0
#: Of that, for the files to be removed before the answer names them.
REMOVAL_WAIT_S = 1.5
#: A cleaner outlives its agent by this: the last data of a test over a slow link takes minutes.
_ORPHAN_GRACE_S = 300

_lock = threading.Lock()


class _CleanupTask(NamedTuple):
    """Clean-up work under way.

    Attributes:
        path: the directory that it works for, "" if it is none that somebody may want to unmount.
        owner: see :class:`app.speedtest.processes.PrivateMountHandle`.
    """

    path: str
    owner: object


_running: dict[threading.Thread, _CleanupTask] = {}
#: The cleaners, each with its directory.
_cleaners: dict[int, tuple[Child, str]] = {}


def run_in_background(
    name: str, work: Callable[[], None], path: str = "", owner: object = None
) -> threading.Thread:
    """Do clean-up work on a daemon thread that :func:`wait_for_cleanups` knows of; return the thread.

    Args:
        name: of the thread.
        work: what it does.
        path: the directory that it holds meanwhile.
        owner: whose work it is.
    """

    def body() -> None:
        try:
            work()
        finally:
            with _lock:
                del _running[thread]

    thread = threading.Thread(target=body, name=name, daemon=True)
    with _lock:
        _running[thread] = _CleanupTask(path, owner)
    thread.start()
    return thread


def wait_unless_cancelled(work: Callable[[], T], token: CancelToken, owner: object = None) -> T:
    """Do clean-up work and return its result; at a cancellation it goes on in the background.

    Args:
        work: what is done.
        token: of the request that waits for it.
        owner: whose work it is.

    Raises:
        CancelledError: if it was not done when the token was set.
        AppError: as the work.
    """
    result: Future[T] = Future()
    over = threading.Event()

    def body() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # noqa: BLE001 - it travels to whoever waits
            result.set_exception(error)
        over.set()

    run_in_background("bench-close", body, owner=owner)
    with token.on_cancel(over.set):
        over.wait()
    if not result.done():
        raise CancelledError
    return result.result()


def cleanup_owners() -> list[object]:
    """Return whose clean-up work is under way, each as often as it has some."""
    with _lock:
        return [work.owner for work in _running.values() if work.owner is not None]


def has_pending_cleanup(mount_point: str) -> bool:
    """Return whether clean-up work holds a directory at or below a mount point."""
    with _lock:
        paths = [work.path for work in _running.values()]
    return any(_is_below(path, mount_point) for path in paths)


def end_cleaners(mount_point: str) -> None:
    """End the cleaners at or below a mount point, so that they do not keep it from being unmounted."""
    with _lock:
        children = [child for child, path in _cleaners.values() if _is_below(path, mount_point)]
    for child in children:
        kill_group(child)


def _is_below(path: str, mount_point: str) -> bool:
    return bool(path) and (path + "/").startswith(mount_point.rstrip("/") + "/")


def remove_run_files(path: str, run: str, place: PrivateMountHandle | None = None, share: str = "") -> bool:
    """Remove a run's files in a child, and wait for it as long as that takes; return whether they are gone.

    Args:
        path: the directory that was tested.
        run: name of the run.
        place: where the directory is seen; None for everywhere.
        share: the mount that the directory must be on, "" for any.
    """
    try:
        child = start_program("cleaner", place)
    except (AppError, OSError) as error:
        _log_failure(path, run, str(error))
        return False
    with _lock:
        _cleaners[child.pid] = child, path
    job = CleanupJob(path=path, run=run, grace_s=_ORPHAN_GRACE_S, share=share)
    try:
        with contextlib.suppress(BrokenPipeError):  # one that died at once shows in its words
            child.stdin.write(msgspec.json.encode(job) + b"\n")
        child.wait()
    finally:
        with _lock:
            del _cleaners[child.pid]
    with contextlib.suppress(BrokenPipeError):
        child.stdin.close()
    if child.stderr is not None:
        child.stderr.close()
    with child.stdout as output:
        os.set_blocking(output.fileno(), False)  # one that hangs holds it open
        removed = DONE_LINE in (output.read(len(DONE_LINE)) or b"")
    if not removed:
        _log_failure(path, run, "")
    return removed


def _log_failure(path: str, run: str, why: str) -> None:
    log.warning("the test files of a killed run could not be removed: %s%s in %s %s", PREFIX, run, path, why)


def wait_for_cleanups(timeout: float, owner: object = None) -> bool:
    """Wait for the files of cancelled tests to be gone; call it before unmounting.

    Args:
        timeout: seconds.
        owner: waits for its clean-ups alone; None for all.

    Returns:
        Whether nothing is left to wait for.
    """
    end = time.monotonic() + timeout
    with _lock:
        # Work of its own may wait for the others.
        threads = [
            thread
            for thread, work in _running.items()
            if thread is not threading.current_thread() and (owner is None or work.owner is owner)
        ]
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return not any(thread.is_alive() for thread in threads)
