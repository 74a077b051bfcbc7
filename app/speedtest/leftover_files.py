"""Leftover test files: recorded if they cannot be removed in time, and removed when their server answers.

Each run has its own record in the user's state directory, so that several programs can record concurrently.
The record is written when the run begins, so that it survives a crash, and deleted with the test files.
"""

from __future__ import annotations

import logging
import posixpath
import threading
from typing import TYPE_CHECKING, Literal

import msgspec

from app.errors import AppError, printable
from app.files.state_files import read_state_folder, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from app.helper.mountinfo import NFS_TYPES
from app.kernel import mountinfo
from app.process_identity import host_hash
from app.speedtest.cleanup import remove_run_files, run_in_background
from app.speedtest.testdir import PREFIX, maker_is_alive
from app.tasks import run_in_thread
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from app.speedtest.processes import PrivateMountHandle

log = logging.getLogger("bench")

#: State of the first attempt to remove files.
RemovalState = Literal["running", "failed", "done"]

#: Interval of polling the mount table while leftover files exist, s.
_POLL_INTERVAL_S = 5.0
_MAX_BYTES = 1 << 20
_RECORD_LABEL = "The record of test files"


class LeftoverFiles(msgspec.Struct, frozen=True, kw_only=True):
    """Test files of one run.

    Attributes:
        run: name of the run, part of the name of its directory.
        host: host that created the files.
        share: server:/export, "" if the file system is not NFS.
        path: the directory tested; "" in a private mount.
        below: path of the directory below the share's root, "" for the root.
    """

    run: str
    host: str
    share: str = ""
    path: str = ""
    below: str = ""

    @property
    def name(self) -> str:
        """Directory of the files for display: a path, or server:/export/path."""
        return posixpath.join(self.path or posixpath.join(self.share, self.below), PREFIX + self.run)


_lock = threading.RLock()
_leftovers: dict[str, LeftoverFiles] = {}
#: Runs whose files are being removed.
_in_removal: set[str] = set()
#: Runs whose record was written by this process.
_recorded: set[str] = set()
#: Whether the records of earlier programs were loaded, and whether the watching thread runs.
_loaded = _watching = False
#: Private mounts that are open.
_open_mounts: list[PrivateMountHandle] = []


def records_directory() -> Path:
    """Return the directory of the records."""
    return state_directory() / "test-files"


def _record_path(name: str) -> Path:
    return records_directory() / f"{name}.json"


def leftover_of_run(path: str, name: str, handle: PrivateMountHandle | None) -> LeftoverFiles:
    """Return the description of a run's test files.

    Args:
        path: the directory tested, as its worker saw it.
        name: name of the run.
        handle: handle of the private mount that contains the directory; None without a private mount.
    """
    host = host_hash()
    if handle is not None:
        below = posixpath.relpath(path, handle.root)
        return LeftoverFiles(run=name, host=host, share=handle.share, below="" if below == "." else below)
    row = _mount_of(path)
    if row is None or row.fstype not in NFS_TYPES:
        return LeftoverFiles(run=name, host=host, path=path)
    below = posixpath.relpath(path, row.mount_point)
    return LeftoverFiles(
        run=name, host=host, share=row.source, path=path, below="" if below == "." else below
    )


def record_run(leftover: LeftoverFiles) -> None:
    """Record a run before it creates files; its end calls erase_record or record_leftover."""
    with _lock:
        _write_record(leftover)


def erase_record(name: str) -> None:
    """Delete the record of a run that removed its files itself."""
    with _lock:
        _delete_record(name)


def _write_record(leftover: LeftoverFiles) -> None:
    if leftover.run in _recorded:
        return
    try:
        write_state_file(_record_path(leftover.run), _RECORD_LABEL, msgspec.json.encode(leftover) + b"\n")
    except (AppError, OSError) as error:
        log.warning("the test files %s are not recorded: %s", printable(leftover.name), error)
    else:
        _recorded.add(leftover.run)


def _delete_record(name: str) -> None:
    if name not in _recorded and name not in _leftovers:
        return
    try:
        remove_state_file(_record_path(name), _RECORD_LABEL)
    except (AppError, OSError) as error:
        log.warning("the record of removed test files stays: %s", error)
    else:
        _recorded.discard(name)


def record_leftover(leftover: LeftoverFiles, removal: Callable[[], RemovalState]) -> bool:
    """Record a run whose files still have to be removed; return whether they remain.

    Waiting for the state directory is limited to some seconds. A failure to write the record is logged.

    Args:
        leftover: test files of the run.
        removal: returns the state of the first attempt, which calls :func:`finish_removal` at its end.
    """
    with _lock:
        state = removal()
        if state == "done":
            return False
        _leftovers[leftover.run] = leftover
        if state == "running":
            _in_removal.add(leftover.run)
        _write_record(leftover)
    if state == "failed":
        _retry_removal(leftover)
    return True


def finish_removal(name: str, *, removed: bool) -> None:
    """Handle the end of an attempt to remove a run's files; delete the record if they are gone.

    If files remain, removal is retried in an open private mount of their share, or when the share is mounted.
    """
    with _lock:
        _in_removal.discard(name)
        leftover = _leftovers.get(name)
        if removed:
            _delete_record(name)
            _leftovers.pop(name, None)
    if leftover is not None and not removed:
        _retry_removal(leftover)


def _retry_removal(leftover: LeftoverFiles) -> None:
    """Retry removal in an open private mount of the share, and whenever the share is mounted."""
    with _lock:
        handle = next((handle for handle in reversed(_open_mounts) if handle.share == leftover.share), None)
    if handle is not None:
        start_removal(leftover, posixpath.join(handle.root, leftover.below).rstrip("/"), handle)
    watch_mounts()


def has_leftovers() -> bool:
    """Return whether recorded files exist that are not removed yet."""
    with _lock:
        return bool(_leftovers)


def leftovers_on_share(share: str) -> list[LeftoverFiles]:
    """Return the known runs with files on a share whose removal is not in progress."""
    with _lock:
        return [
            leftover
            for name, leftover in _leftovers.items()
            if leftover.share == share and name not in _in_removal
        ]


def register_mount(handle: PrivateMountHandle) -> None:
    """Remove leftover files of a private mount's share, now and while the mount is open."""
    with _lock:
        _open_mounts.append(handle)
        waiting = leftovers_on_share(handle.share)
    for leftover in waiting:
        start_removal(leftover, posixpath.join(handle.root, leftover.below).rstrip("/"), handle)


def unregister_mount(handle: PrivateMountHandle) -> None:
    """Stop using a private mount for the removal of leftover files."""
    with _lock:
        if handle in _open_mounts:
            _open_mounts.remove(handle)


def watch_mounts() -> None:
    """Remove recorded files when their share is mounted and answers; return at once."""
    global _watching  # noqa: PLW0603 - one for the whole process, as the records are
    with _lock:
        if _watching:
            return
        _watching = True
    run_in_thread("bench-leftovers", _watch_loop)


def _watch_loop() -> None:
    global _loaded, _watching  # noqa: PLW0603
    if not _loaded:
        _load_records()
        _loaded = True
    pause = threading.Event()
    while True:
        with _lock:
            if not _leftovers:
                _watching = False
                return
            waiting = [leftover for name, leftover in _leftovers.items() if name not in _in_removal]
        for leftover in waiting:
            path = _current_path(leftover)
            if path:
                start_removal(leftover, path)
        # The pause also applies between two cleaners, so that the share can be unmounted in between.
        pause.wait(_POLL_INTERVAL_S)


def start_removal(leftover: LeftoverFiles, path: str, handle: PrivateMountHandle | None = None) -> None:
    """Remove the files of a recorded run in the background.

    Args:
        leftover: test files of the run.
        path: the directory tested, by its present path.
        handle: handle of the private mount that contains the directory; None without a private mount.
    """
    with _lock:
        if leftover.run in _in_removal:
            return
        _in_removal.add(leftover.run)

    def work() -> None:
        removed = False
        try:
            # The kernel may show the share of a private mount by another name than the requested one.
            removed = remove_run_files(
                path, leftover.run, handle, "" if handle is not None else leftover.share
            )
        finally:
            with _lock:
                _in_removal.discard(leftover.run)
            if removed:
                finish_removal(leftover.run, removed=True)

    run_in_background("bench-leftover", work, path, handle.owner if handle is not None else None)


def _current_path(leftover: LeftoverFiles) -> str:
    """Return the present path of the directory, "" if its share is not mounted."""
    if not leftover.share:
        return leftover.path
    row = _mount_of(leftover.path) if leftover.path else None
    if row is not None and row.source == leftover.share:
        return leftover.path
    try:
        rows = mountinfo.read().rows
    except OSError:
        return ""
    points = [row.mount_point for row in rows if row.source == leftover.share]
    return posixpath.join(points[-1], leftover.below).rstrip("/") if points else ""


def _mount_of(path: str) -> mountinfo.MountRow | None:
    try:
        return mountinfo.read().mount_of_path(path)
    except OSError:
        return None


def _load_records() -> None:
    try:
        text = read_state_folder(records_directory(), _RECORD_LABEL, _MAX_BYTES)
    except (AppError, OSError) as error:
        log.warning("the record of test files cannot be read: %s", error)
        return
    host = host_hash()
    for line in text.splitlines():
        try:
            leftover = from_json(line, LeftoverFiles)
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
        # The run of another program may be in progress; that program removes its files itself.
        if leftover.host == host and not maker_is_alive(leftover.run):
            with _lock:
                _leftovers.setdefault(leftover.run, leftover)
