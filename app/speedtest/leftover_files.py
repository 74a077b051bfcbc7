"""Leftover test files: recorded if they could not be removed in time, and removed when their server answers.

Each run has a record of its own in the user's state directory, so that several programs can record at once.
It is written when the run begins, so that it is there however the program ends, and removed with the test
files.
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

#: How far a first try to remove files is.
RemovalState = Literal["under way", "failed", "done"]

#: So often the table of mounts is looked at while files remain.
_POLL_INTERVAL_S = 5.0
_MAX_BYTES = 1 << 20
_RECORD_LABEL = "The record of test files"


class LeftoverFiles(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one run.

    Attributes:
        run: name of the run, which names its directory.
        host: the machine that they were made on.
        share: server:/export, "" on another file system than NFS.
        path: the directory that was tested; "" in a private mount.
        below: the same below the share's root, "" for the root.
    """

    run: str
    host: str
    share: str = ""
    path: str = ""
    below: str = ""

    @property
    def name(self) -> str:
        """The directory of the files, for a person: a path, or server:/export/path."""
        return posixpath.join(self.path or posixpath.join(self.share, self.below), PREFIX + self.run)


_lock = threading.RLock()
_known: dict[str, LeftoverFiles] = {}
#: Runs whose files are being removed.
_busy: set[str] = set()
#: Runs with a record that this process wrote.
_recorded: set[str] = set()
#: Whether the records of earlier programs are known; and whether somebody looks after what is known.
_loaded = _watching = False
#: The private mounts that are open.
_open_mounts: list[PrivateMountHandle] = []


def records_directory() -> Path:
    """Return where the runs are recorded."""
    return state_directory() / "test-files"


def _record_path(name: str) -> Path:
    return records_directory() / f"{name}.json"


def leftover_of_run(path: str, name: str, place: PrivateMountHandle | None) -> LeftoverFiles:
    """Return what a run left.

    Args:
        path: the directory that was tested, as its worker saw it.
        name: of the run.
        place: where it was seen; None for everywhere.
    """
    host = host_hash()
    if place is not None:
        below = posixpath.relpath(path, place.root)
        return LeftoverFiles(run=name, host=host, share=place.share, below="" if below == "." else below)
    row = _mount_of(path)
    if row is None or row.fstype not in mountinfo.NFS_TYPES:
        return LeftoverFiles(run=name, host=host, path=path)
    below = posixpath.relpath(path, row.mount_point)
    return LeftoverFiles(
        run=name, host=host, share=row.source, path=path, below="" if below == "." else below
    )


def record_run(found: LeftoverFiles) -> None:
    """Record a run that begins, before it makes files; its end calls erase_record or record_leftover."""
    with _lock:
        _write_record(found)


def erase_record(name: str) -> None:
    """Remove the record of a run that removed its files itself."""
    with _lock:
        _delete_record(name)


def _write_record(found: LeftoverFiles) -> None:
    if found.run in _recorded:
        return
    try:
        write_state_file(_record_path(found.run), _RECORD_LABEL, msgspec.json.encode(found) + b"\n")
    except (AppError, OSError) as error:
        log.warning("the test files %s are not recorded: %s", printable(found.name), error)
    else:
        _recorded.add(found.run)


def _delete_record(name: str) -> None:
    if name not in _recorded and name not in _known:
        return
    try:
        remove_state_file(_record_path(name), _RECORD_LABEL)
    except (AppError, OSError) as error:
        log.warning("the record of removed test files stays: %s", error)
    else:
        _recorded.discard(name)


def record_leftover(found: LeftoverFiles, removal: Callable[[], RemovalState]) -> bool:
    """Record a run whose files are to be removed; return whether they remain.

    Waits for the state directory for some seconds at most; a record that cannot be written is logged.

    Args:
        found: the run.
        removal: tells how far the first try is. It calls :func:`finish_removal` when it ends.
    """
    with _lock:
        state = removal()
        if state == "done":
            return False
        _known[found.run] = found
        if state == "under way":
            _busy.add(found.run)
        _write_record(found)
    if state == "failed":
        _retry_removal(found)
    return True


def finish_removal(name: str, *, removed: bool) -> None:
    """Note that a run's files are not being removed any more; if they are gone, its record goes, too.

    Files that remain on a share of which a private mount is open are removed there.
    """
    with _lock:
        _busy.discard(name)
        found = _known.get(name)
        if removed:
            _delete_record(name)
            _known.pop(name, None)
    if found is not None and not removed:
        _retry_removal(found)


def _retry_removal(found: LeftoverFiles) -> None:
    """Remove files that a first try left, in a private mount if one is open, or as soon as they are seen."""
    with _lock:
        place = next((place for place in reversed(_open_mounts) if place.share == found.share), None)
    if place is not None:
        start_removal(found, posixpath.join(place.root, found.below).rstrip("/"), place)
    watch_mounts()


def has_leftovers() -> bool:
    """Whether recorded files are known that are not removed yet."""
    with _lock:
        return bool(_known)


def leftovers_on_share(share: str) -> list[LeftoverFiles]:
    """Return the known runs with files on a share that nobody removes at this moment."""
    with _lock:
        return [found for name, found in _known.items() if found.share == share and name not in _busy]


def register_mount(place: PrivateMountHandle) -> None:
    """Remove what is recorded of the share of a private mount, also what is recorded while it is open."""
    with _lock:
        _open_mounts.append(place)
        waiting = leftovers_on_share(place.share)
    for found in waiting:
        start_removal(found, posixpath.join(place.root, found.below).rstrip("/"), place)


def unregister_mount(place: PrivateMountHandle) -> None:
    """Remove nothing in a private mount any more."""
    with _lock:
        if place in _open_mounts:
            _open_mounts.remove(place)


def watch_mounts() -> None:
    """Remove recorded files as soon as their share is mounted and answers; return at once."""
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
            if not _known:
                _watching = False
                return
            waiting = [found for name, found in _known.items() if name not in _busy]
        for found in waiting:
            path = _current_path(found)
            if path:
                start_removal(found, path)
        # Also between the end of one cleaner and the next: somebody may unmount meanwhile.
        pause.wait(_POLL_INTERVAL_S)


def start_removal(found: LeftoverFiles, path: str, place: PrivateMountHandle | None = None) -> None:
    """Have a recorded run's files removed in the background.

    Args:
        found: the record.
        path: the directory that was tested, as it is seen now.
        place: where it is seen; None for everywhere.
    """
    with _lock:
        if found.run in _busy:
            return
        _busy.add(found.run)

    def work() -> None:
        removed = False
        try:
            # What the kernel shows of a private mount's share need not be what was asked for.
            removed = remove_run_files(path, found.run, place, "" if place is not None else found.share)
        finally:
            with _lock:
                _busy.discard(found.run)
            if removed:
                finish_removal(found.run, removed=True)

    run_in_background("bench-leftover", work, path, place.owner if place is not None else None)


def _current_path(found: LeftoverFiles) -> str:
    """Return where the directory is seen now, "" if its share is not mounted."""
    if not found.share:
        return found.path
    row = _mount_of(found.path) if found.path else None
    if row is not None and row.source == found.share:
        return found.path
    try:
        rows = mountinfo.read().rows
    except OSError:
        return ""
    points = [row.mount_point for row in rows if row.source == found.share]
    return posixpath.join(points[-1], found.below).rstrip("/") if points else ""


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
            found = from_json(line, LeftoverFiles)
        except (msgspec.DecodeError, UnicodeEncodeError):
            continue
        # Another program's test may be running: it removes its files itself.
        if found.host == host and not maker_is_alive(found.run):
            with _lock:
                _known.setdefault(found.run, found)
