"""Interrupted changes of mounts: recorded before a change begins, reported at the next start.

Each change has a record in the person's state directory, with the mounts before the change. The record is
removed when the change is complete or rolled back. The record of a program that has ended is compared with
the present mounts. Nothing is repeated or undone automatically, and nothing asks for a password.
"""

from __future__ import annotations

import logging
import os
import shlex
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects.linux import mount_command
from app.errors import AppError
from app.files.state_files import read_state_folder, remove_state_file, write_state_file
from app.files.user_directories import state_directory
from app.helper import fstab_writer, unit_text, unit_writer
from app.mounts.model import InterruptedChange, Mount
from app.mounts.requested_options import command_options
from app.process_identity import boot_id, host_name, proc_pid, start_ticks
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.mounts.model import Active, Configured

log = logging.getLogger("mounts")

#: Longest time in which a helper completes or undoes a change after its agent was killed, seconds.
_HELPER_S = 30.0
_MAX_BYTES = 1 << 20
_WHAT = "The record of changes"
_UNIT_FOLDERS = frozenset(Path(unit_writer.FOLDER, name).parent for name in unit_text.unit_paths("/mnt"))
#: Temporary files that a helper leaves if it is killed during a write. Its next change removes them.
TEMPORARIES = (
    f"{fstab_writer.FOLDER}/{fstab_writer.TEMPORARY}",
    *sorted(f"{folder}/{unit_writer.TEMPORARY}" for folder in _UNIT_FOLDERS),
)


class ChangeRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Record of a change that has begun and is not complete.

    Attributes:
        id: identifier of the change.
        host: identity of the computer and its process namespace, see app.process_identity.host_name.
        boot: the kernel's boot id.
        pid: id of the process that makes the change.
        started: start time of that process, clock ticks since boot.
        began_s: start of the change, Unix time, seconds.
        points: mount points of the change, the requested one first.
        before: the mounts at these mount points before the change.
    """

    id: str
    host: str
    boot: str
    pid: int
    started: int
    began_s: float
    points: list[str]
    before: list[Mount]


class ChangeRecords:
    """Records of changes: those of this process, and those left by ended ones. Thread-safe.

    Args:
        temporaries: paths of temporary files that a killed helper may leave.
    """

    def __init__(self, temporaries: Sequence[str] = TEMPORARIES) -> None:
        self._temporaries = temporaries
        self._lock = threading.Lock()
        self._interrupted: dict[str, ChangeRecord] | None = None
        self._loaded_s = 0.0

    def begin(self, points: list[str], rows: list[Mount]) -> ChangeRecord:
        """Write the record of a change and return it; a write error is only logged.

        Args:
            points: mount points of the change.
            rows: the mounts before the change.
        """
        pid = proc_pid()
        record = ChangeRecord(
            id=os.urandom(8).hex(),
            host=host_name(),
            boot=boot_id(),
            pid=pid,
            started=start_ticks(pid) or 0,
            began_s=time.time(),
            points=points,
            before=[row for row in rows if row.mount_point in points],
        )
        try:
            write_state_file(_path(record.id), _WHAT, msgspec.json.encode(record) + b"\n")
        except (AppError, OSError, UnicodeEncodeError) as error:
            log.warning("the change of %s is not recorded: %s", " ".join(points), error)
        return record

    def end(self, record: ChangeRecord, *, complete: bool) -> None:
        """Remove the record of a change that is complete or rolled back.

        A complete change also removes the records of interrupted changes at the same mount points.
        """
        _remove(record.id)
        if complete:
            with self._lock:
                interrupted = self._load()
                done = [old.id for old in interrupted.values() if set(old.points) & set(record.points)]
                for name in done:
                    del interrupted[name]
            for name in done:
                _remove(name)

    def tell(self, rows: list[Mount]) -> list[InterruptedChange]:
        """Return the interrupted changes of earlier runs whose effects remain in the present mounts.

        Waits a few seconds at most for the state directory.
        """
        with self._lock:
            records = list(self._load().values())
            settled = time.monotonic() - self._loaded_s >= _HELPER_S
        reports: list[InterruptedChange] = []
        for record in records:
            sentences = _sentences(record, rows) + self.temporaries()
            if sentences:
                reports.append(_report(record, sentences))
            elif settled:
                self.dismiss(record.id)
        return reports

    def dismiss(self, name: str) -> None:
        """Stop reporting an interrupted change, and remove its record."""
        with self._lock:
            if self._load().pop(name, None) is None:
                return
        _remove(name)

    def temporaries(self) -> list[str]:
        """Return one sentence for each temporary file that a killed helper left."""
        return [f"The temporary file {path} remains." for path in self._temporaries if os.path.lexists(path)]

    def _load(self) -> dict[str, ChangeRecord]:
        """Return the records of ended processes of this computer; the directory is read only once."""
        if self._interrupted is not None:
            return self._interrupted
        self._interrupted, self._loaded_s = {}, time.monotonic()
        try:
            text = read_state_folder(_folder(), _WHAT, _MAX_BYTES)
        except (AppError, OSError) as error:
            log.warning("interrupted changes cannot be read: %s", error)
            return self._interrupted
        for line in text.splitlines():
            try:
                record = from_json(line, ChangeRecord)
            except (msgspec.DecodeError, UnicodeEncodeError):
                continue
            if _has_ended(record):
                self._interrupted[record.id] = record
        return self._interrupted


def _folder() -> Path:
    return state_directory() / "changes"


def _path(name: str) -> Path:
    return _folder() / f"{name}.json"


def _remove(name: str) -> None:
    try:
        remove_state_file(_path(name), _WHAT)
    except (AppError, OSError) as error:
        log.warning("the record of a change stays: %s", error)


def _has_ended(record: ChangeRecord) -> bool:
    """Return whether the change was made on this computer by a process that has ended."""
    if record.boot != boot_id():
        # The last word identifies the process namespace, which changes at each boot.
        return record.host.rpartition(" ")[0] == host_name().rpartition(" ")[0]
    return record.host == host_name() and start_ticks(record.pid) != record.started


def _sentences(record: ChangeRecord, rows: list[Mount]) -> list[str]:
    """Return one or two sentences for each difference from the state before the change."""
    same_boot = record.boot == boot_id()
    found: list[str] = []
    for point in record.points:
        if same_boot:  # a boot makes every mount again
            found += _live_sentences(point, _active(record.before, point), _active(rows, point))
        found += _saved_sentences(point, _configured(record.before, point), _configured(rows, point))
        if _saved(record.before, point) != _saved(rows, point):
            found.append(f"The readahead saved for {point} is not what it was before the change.")
    return found


def _active(rows: list[Mount], point: str) -> Active | None:
    return next((row.active for row in rows if row.mount_point == point and row.active is not None), None)


def _saved(rows: list[Mount], point: str) -> int | None:
    return next((row.saved_read_ahead_kb for row in rows if row.mount_point == point), None)


def _configured(rows: list[Mount], point: str) -> dict[str, Configured]:
    """Return the saved entries of a mount point by file, without line numbers, which may change."""
    return {
        row.configured.origin: msgspec.structs.replace(row.configured, line=0)
        for row in rows
        if row.mount_point == point and row.configured is not None
    }


def _live_sentences(point: str, was: Active | None, now: Active | None) -> list[str]:
    if now is None or was is None:
        return _mounted_or_not_sentences(point, was, now)
    if was.share != now.share:
        return [f"{now.share} is mounted at {point}. Before the change, it was {was.share}."]
    if (was.fstype, was.options, was.nconnect) != (now.fstype, now.options, now.nconnect):
        return [f"{now.share} is mounted at {point} with other options than before the change."]
    if was.read_ahead_kb != now.read_ahead_kb:
        values = f"is {now.read_ahead_kb} KiB. Before the change, it was {was.read_ahead_kb} KiB."
        return [f"The readahead of {point} {values}"]
    return []


def _mounted_or_not_sentences(point: str, was: Active | None, now: Active | None) -> list[str]:
    if was is not None:
        return [f"Nothing is mounted at {point}. Before the change, {was.share} was mounted there."]
    if now is not None:
        return [f"{now.share} is mounted at {point}. Before the change, nothing was mounted there."]
    return []


def _saved_sentences(point: str, was: dict[str, Configured], now: dict[str, Configured]) -> list[str]:
    found: list[str] = []
    for origin in sorted({*was, *now}):
        if origin not in was:
            found.append(f"The entry for {point} in {origin} is new.")
        elif origin not in now:
            found.append(f"The entry for {point} is no longer in {origin}.")
        elif was[origin] != now[origin]:
            found.append(f"The entry for {point} in {origin} is different.")
    return found


def _report(record: ChangeRecord, sentences: list[str]) -> InterruptedChange:
    points = " and ".join(record.points)
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(record.began_s))
    cause = "because the program or its privileged helper ended in the middle of it"
    begun = f"A change of {points} was interrupted on {when}, {cause}."
    hint = "Apply the settings that you want for {}. This completes the change or undoes it."
    before = [line for row in record.before for line in _state_before(row)]
    return InterruptedChange(
        id=record.id,
        message=" ".join([begun, *sentences]),
        hint=hint.format(record.points[0]),
        detail="\n".join(["Before the change:", *(before or ["neither mounted nor configured"])]),
    )


def _state_before(row: Mount) -> list[str]:
    """Return the command that recreates a live mount, and its saved entry."""
    lines: list[str] = []
    if row.active is not None:
        lines.append(mount_command(row.active.share, row.mount_point, command_options(row)))
    if row.configured is not None:
        saved = row.configured
        entry = shlex.join([saved.share, row.mount_point, saved.fstype, saved.options])
        lines.append(f"{saved.origin}: {entry}")
    return lines
