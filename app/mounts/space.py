"""Used and free space of a mount: statvfs(3) in a child that can be killed, at most once a minute.

The child opens the mount point with O_PATH, which triggers no automount (open(2)). It calls statvfs only if
the descriptor belongs to the expected mount (mnt_id of /proc/PID/fdinfo, proc(5)).
"""

from __future__ import annotations

import errno
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from app import process
from app.errors import printable
from app.kernel import mountinfo
from app.kernel.mountstats import parse_one, read_text
from app.mounts.model import Space, SpaceShortage
from app.mounts.probe_exclusion import ProbeExclusion
from app.text.units import format_size
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.kernel.mountinfo import MountRow
    from app.tasks import CancelToken

#: How long a result is reused, seconds; a server is queried at most this often.
MAX_AGE_S = 60.0
#: Longest wait for an answer, seconds: enough for a server with a full write queue behind a slow link.
ANSWER_TIMEOUT_S = 10.0
#: A file system is "nearly full" if its available space is below both LOW_PART (fraction of the total) and
#: LOW_BYTES. The fraction alone would report 5 TB of 100 TB, the number alone every small export. A client
#: may buffer 20 % of its memory (vm.dirty_ratio) before a write fails with ENOSPC: about 10 GiB of 64 GiB.
LOW_PART = 0.05
LOW_BYTES = 10 * 2**30
#: Inodes are nearly used up below both this number and LOW_PART; one source archive needs that many.
LOW_FILES = 10_000
#: How long the state "no-answer" is reused, seconds: the next query waits as long again.
SILENT_S = ANSWER_TIMEOUT_S
#: Largest number of children at the same time, when the space of all mounts is read.
_MAX_CHILDREN = 8
#: How long a killed child may take to end, seconds.
_KILL_S = 1.0
#: Prints the results of statvfs(3) for path argv[1] if it belongs to mount id argv[2], {} if it belongs to
#: another mount, or the errno.
_STATVFS_SCRIPT = """
import json, os, sys
try:
    fd = os.open(os.fsencode(sys.argv[1]), os.O_PATH | os.O_CLOEXEC)
    with open(f"/proc/self/fdinfo/{fd}") as lines:
        found = dict(line.split(":", 1) for line in lines)
    if int(found["mnt_id"]) != int(sys.argv[2]):
        print("{}")
    else:
        f = os.fstatvfs(fd)
        unit = f.f_frsize or f.f_bsize
        numbers = [f.f_blocks * unit, f.f_bfree * unit, f.f_bavail * unit, f.f_files, f.f_favail]
        print(json.dumps({"numbers": numbers}))
except OSError as error:
    print(json.dumps({"errno": error.errno}))
"""

#: Key of a mount: id, device and share. The kernel reuses ids and devices, so the age is checked too.
_Key = tuple[int, str, str]


class SpaceText(NamedTuple):
    """Text for the person about the space of a mount.

    Attributes:
        line: short text without a full stop.
        warning: full sentences, "" for no warning.
    """

    line: str
    warning: str = ""


class SpaceReader:
    """Reads the space of mounts. Methods may be called by any thread.

    Args:
        root: directory that contains proc; tests use a temporary one.
        clock: monotonic clock, seconds.
        answer_s: longest wait for the server, seconds.
        command: command of the child; the mount point and the mount id are appended; for tests.
        questions: excludes mounts that are being unmounted.
    """

    def __init__(
        self,
        root: str = "/",
        *,
        clock: Callable[[], float] = time.monotonic,
        answer_s: float = ANSWER_TIMEOUT_S,
        command: Sequence[str] = (),
        questions: ProbeExclusion | None = None,
    ) -> None:
        self._root = root
        self._questions = questions or ProbeExclusion()
        self._clock = clock
        self._answer_s = answer_s
        self._command = list(command) or [sys.executable, "-I", "-S", "-c", _STATVFS_SCRIPT]
        self._child_slots = threading.BoundedSemaphore(_MAX_CHILDREN)
        self._lock = threading.Lock()
        self._query_locks: dict[_Key, threading.Lock] = {}
        self._results: dict[_Key, tuple[float, Space]] = {}
        #: Children that SIGKILL has not ended yet; no further child is started for their mounts.
        self._stuck: dict[_Key, process.Child] = {}

    def ask(self, mount_point: str, token: CancelToken) -> Space:
        """Return the space of a mount, at most MAX_AGE_S old.

        Raises:
            CancelledError: if the token is set.
        """
        row = self._row(mount_point)
        if row is None:
            return Space(mount_point=mount_point, state="not-mounted")
        key = (row.mount_id, row.device, row.source)
        with self._lock:
            query_lock = self._query_locks.setdefault(key, threading.Lock())
        while not query_lock.acquire(timeout=0.1):  # another thread queries the same mount
            token.check()
        try:
            result = self._results.get(key)
            if result is not None and result[1].mount_point == mount_point:
                age_s = self._clock() - result[0]
                fresh_s = SILENT_S if result[1].state == "no-answer" else MAX_AGE_S
                if age_s < fresh_s and age_s <= self._mounted_s(row):
                    return msgspec.structs.replace(result[1], age_s=age_s)
            while not self._questions.begin(mount_point):  # it is being unmounted
                token.wait(0.1)
            try:
                space = self._ask_child(mount_point, row, token)
            finally:
                self._questions.end(mount_point)
            token.check()
            with self._lock:
                self._drop_expired()
                self._results[key] = (self._clock(), space)
            return space
        finally:
            query_lock.release()

    def _row(self, mount_point: str) -> MountRow | None:
        try:
            info = mountinfo.read(self._root)
        except OSError:
            return None
        rows = [row for row in info.nfs_rows() if printable(row.mount_point) == mount_point]
        return next((row for row in rows if info.is_visible(row)), None)

    def _mounted_s(self, row: MountRow) -> float:
        """Return the age of a mount in whole seconds; infinity if unknown."""
        try:
            stats = parse_one(read_text(self._root), row.mount_point)
        except OSError:
            return math.inf
        return stats.age_s if stats is not None else math.inf

    def _drop_expired(self) -> None:
        now = self._clock()
        self._results = {key: result for key, result in self._results.items() if now - result[0] < MAX_AGE_S}
        self._stuck = {key: child for key, child in self._stuck.items() if _runs(child)}
        for key in [
            key
            for key, query_lock in self._query_locks.items()
            if key not in self._results and not query_lock.locked()
        ]:
            del self._query_locks[key]

    def _ask_child(self, mount_point: str, row: MountRow, token: CancelToken) -> Space:
        key = (row.mount_id, row.device, row.source)
        stuck = self._stuck.get(key)
        if stuck is not None and _runs(stuck):
            return Space(mount_point=mount_point, state="no-answer")
        while not self._child_slots.acquire(timeout=0.1):
            token.check()
        try:
            child = process.start(
                [*self._command, row.mount_point, str(row.mount_id)],
                stdin=process.DEVNULL, stderr=process.DEVNULL, cwd="/",
            )  # fmt: skip
            with token.on_cancel(lambda: process.kill_group(child)):
                try:
                    output, _ = child.communicate(timeout=self._answer_s)
                except process.TimeoutExpired:
                    process.kill_group(child)
                    if process.wait(child, _KILL_S) is None:
                        self._stuck[key] = child
                    elif child.stdout is not None:
                        child.stdout.close()
                    return Space(mount_point=mount_point, state="no-answer")
        finally:
            self._child_slots.release()
        return _read(mount_point, output)


def _runs(child: process.Child) -> bool:
    return process.wait(child, 0) is None


class _ChildAnswer(msgspec.Struct):
    """Output of the child: results of statvfs(3) or an errno; neither if the mount is another one."""

    numbers: tuple[int, int, int, int, int] | None = None
    errno: int = 0


def _read(mount_point: str, printed: bytes) -> Space:
    try:
        answer = from_json(printed, _ChildAnswer)
    except msgspec.DecodeError:  # the child was killed or could not start
        return Space(mount_point=mount_point, state="failed", error="EIO")
    if answer.errno == errno.ETIMEDOUT:  # the timeout of a soft mount
        return Space(mount_point=mount_point, state="no-answer")
    if answer.errno not in {0, errno.ENOENT}:
        name = errno.errorcode.get(answer.errno, str(answer.errno))
        return Space(mount_point=mount_point, state="failed", error=name)
    if answer.numbers is None:
        return Space(mount_point=mount_point, state="not-mounted")
    total, free, available, files, free_files = answer.numbers
    if total <= 0:  # the server reports no sizes
        return Space(mount_point=mount_point, state="failed", error="ENOSYS")
    return Space(
        mount_point=mount_point,
        state="known",
        total_bytes=total,
        free_bytes=free,
        available_bytes=available,
        total_files=files,
        available_files=free_files,
        short=find_shortage(total, available, files, free_files),
    )


def find_shortage(
    total_bytes: int, available_bytes: int, total_files: int, available_files: int
) -> list[SpaceShortage]:
    """Return the resources that are nearly used up, by LOW_PART, LOW_BYTES and LOW_FILES."""
    short: list[SpaceShortage] = []
    if available_bytes < min(LOW_PART * total_bytes, LOW_BYTES):
        short.append("bytes")
    if total_files > 0 and available_files < min(LOW_PART * total_files, LOW_FILES):
        short.append("files")
    return short


def space_text(space: Space) -> SpaceText:
    """Return the text for the person about the space of a mount."""
    if space.state == "no-answer":
        return SpaceText("Free space unknown: the server does not answer")
    if space.state == "not-mounted":
        return SpaceText("Free space unknown: not mounted")
    if space.state == "failed":
        return SpaceText(f"Free space unknown: {_reason(space.error)}")
    percent = 100 * space.available_bytes / space.total_bytes
    part = f"{percent:.0f}%" if percent >= 1 or not space.available_bytes else "less than 1%"
    room = f"{format_size(space.available_bytes)} of {format_size(space.total_bytes)} free ({part})"
    word = "Nearly full" if space.available_bytes else "Full"
    warnings: list[str] = []
    if "bytes" in space.short:
        warnings.append(
            f"{word}: {room}. When no space is left, writes fail with “No space left on device”, often only "
            "at fsync or close. A quota on the server can end them earlier. The command "
            f"“quota -f {space.mount_point}” shows it."
        )
        room = f"{word}: {room}"
    if "files" in space.short:
        files = f"{space.available_files:,} of {space.total_files:,} inodes free"
        warnings.append(f"Nearly out of inodes: {files}. Without one, no new file can be created.")
        room += f", {files}"
    return SpaceText(room, " ".join(warnings))


def _reason(name: str) -> str:
    if name == "ENOSYS":
        return "the server does not tell it"
    if name == "EACCES":
        return "you may not enter the directory"
    if name == "ESTALE":
        return "the server no longer knows this directory (stale file handle)"
    number = getattr(errno, name, None)
    return f"{os.strerror(number)} ({name})" if isinstance(number, int) else name
