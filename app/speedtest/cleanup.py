"""Clean-up after tests: child processes that remove the files of killed runs, and waiting for them."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from app.errors import AppError, CancelledError
from app.process import kill_group
from app.speedtest.cleaner import DONE_LINE
from app.speedtest.messages import CleanupJob
from app.speedtest.processes import start_program
from app.speedtest.testdir import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.process import Child
    from app.speedtest.processes import PrivateMountHandle
    from app.tasks import CancelToken

T = TypeVar("T")

log = logging.getLogger("bench")

#: Maximum time until a cancelled test answers and a closing program ends, whatever the server does, s.
CANCEL_TIMEOUT_S = 5.0
#: Part of that time for removing the files before the reply lists the remaining ones, s.
REMOVAL_WAIT_S = 1.5
#: Time that a cleaner keeps trying after its agent has ended, s: data on a slow link takes minutes.
_ORPHAN_GRACE_S = 300

_lock = threading.Lock()


class _CleanupTask(NamedTuple):
    """Clean-up work in progress.

    Attributes:
        path: directory that the work keeps in use, "" if it prevents no unmount.
        owner: see :class:`app.speedtest.processes.PrivateMountHandle`.
    """

    path: str
    owner: object


_running: dict[threading.Thread, _CleanupTask] = {}
#: Running cleaners with their directories, by process id.
_cleaners: dict[int, tuple[Child, str]] = {}


def run_in_background(
    name: str, work: Callable[[], None], path: str = "", owner: object = None
) -> threading.Thread:
    """Do clean-up work on a daemon thread that :func:`wait_for_cleanups` waits for; return the thread.

    Args:
        name: name of the thread.
        work: function to call.
        path: directory that the work keeps in use.
        owner: object that cleanup_owners lists while the work is in progress, None for none.
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
    """Do clean-up work and return its result; after a cancellation it continues in the background.

    Args:
        work: function to call.
        token: cancels waiting.
        owner: object that cleanup_owners lists while the work is in progress, None for none.

    Raises:
        CancelledError: if the token was set before the work finished.
        AppError: error of the work.
    """
    result: Future[T] = Future()
    finished = threading.Event()

    def body() -> None:
        try:
            result.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            result.set_exception(error)
        finished.set()

    run_in_background("bench-close", body, owner=owner)
    with token.on_cancel(finished.set):
        finished.wait()
    if not result.done():
        raise CancelledError
    return result.result()


def cleanup_owners() -> list[object]:
    """Return the owner of each clean-up work in progress; an owner of several is repeated."""
    with _lock:
        return [work.owner for work in _running.values() if work.owner is not None]


def has_pending_cleanup(mount_point: str) -> bool:
    """Return whether clean-up work keeps a directory at or below a mount point in use."""
    with _lock:
        paths = [work.path for work in _running.values()]
    return any(_is_below(path, mount_point) for path in paths)


def end_cleaners(mount_point: str) -> None:
    """Kill the cleaners at or below a mount point, so that it can be unmounted."""
    with _lock:
        children = [child for child, path in _cleaners.values() if _is_below(path, mount_point)]
    for child in children:
        kill_group(child)


def _is_below(path: str, mount_point: str) -> bool:
    return bool(path) and (path + "/").startswith(mount_point.rstrip("/") + "/")


def remove_run_files(path: str, run: str, handle: PrivateMountHandle | None = None, share: str = "") -> bool:
    """Remove a run's files in a child process without a time limit; return whether they are gone.

    Args:
        path: the directory tested.
        run: name of the run.
        handle: handle of the private mount that contains the directory; None without a private mount.
        share: share that the directory must be on, "" for any.
    """
    try:
        child = start_program("cleaner", handle)
    except (AppError, OSError) as error:
        _log_failure(path, run, str(error))
        return False
    with _lock:
        _cleaners[child.pid] = child, path
    job = CleanupJob(path=path, run=run, grace_s=_ORPHAN_GRACE_S, share=share)
    try:
        with contextlib.suppress(BrokenPipeError):  # the missing last line shows that the child died
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
        os.set_blocking(output.fileno(), False)  # a hanging cleaner keeps the pipe open
        removed = DONE_LINE in (output.read(len(DONE_LINE)) or b"")
    if not removed:
        _log_failure(path, run, "")
    return removed


def _log_failure(path: str, run: str, reason: str) -> None:
    log.warning(
        "the test files of a killed run could not be removed: %s%s in %s %s", PREFIX, run, path, reason
    )


def wait_for_cleanups(timeout: float, owner: object = None) -> bool:
    """Wait until the files of cancelled tests are removed; to be called before unmounting.

    Args:
        timeout: maximum wait, s.
        owner: wait only for clean-ups of this owner; None for all.

    Returns:
        whether all of them have finished.
    """
    end = time.monotonic() + timeout
    with _lock:
        # This thread may itself do clean-up work that waits for the others.
        threads = [
            thread
            for thread, work in _running.items()
            if thread is not threading.current_thread() and (owner is None or work.owner is owner)
        ]
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0))
    return not any(thread.is_alive() for thread in threads)
