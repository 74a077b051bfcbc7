"""Used and free space of a mount: statvfs(3) in a child that can be killed, at most once a minute.

The child opens the mount point with O_PATH, which wakes no automount (open(2)), and asks only if that is the
mount that was meant (mnt_id of /proc/PID/fdinfo, proc(5)).
"""

from __future__ import annotations

import errno
import math
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from app import process
from app.errors import printable
from app.kernel import mountinfo
from app.kernel.mountstats import parse_one, read_text
from app.mounts.probe_exclusion import ProbeExclusion
from app.units import format_size
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from app.kernel.mountinfo import MountRow
    from app.tasks import CancelToken

#: How long an answer is taken for true, seconds: nobody asks a server more often.
MAX_AGE_S = 60.0
#: A server that is busy with a full queue of writes over a slow link answers within this, seconds.
ANSWER_TIMEOUT_S = 10.0
#: "Nearly full" is less than this part of the file system, and less than the number below. A part alone calls
#: 5 TB of a 100 TB server full. A number alone calls every small export full. A client may buffer 20 % of its
#: memory (vm.dirty_ratio) before it hears of ENOSPC, which is about 10 GiB on a computer with 64 GiB.
LOW_PART = 0.05
LOW_BYTES = 10 * 2**30
#: Likewise of inodes, which an extracted archive of sources uses up.
LOW_FILES = 10_000
#: How long a silence is taken for true, seconds: the child that waited was the question.
SILENT_S = ANSWER_TIMEOUT_S
#: Children at once, where somebody asks for all mounts.
_MAX_CHILDREN = 8
_KILL_S = 1.0
#: Prints the numbers of statvfs(3) of argv[1] if its mount has the number argv[2], nothing of another one, or
#: the number of the error.
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

#: known; the server gave no answer in time; nothing of NFS is mounted there, or something else by now; an
#: error of the file system.
SpaceState = Literal["known", "no-answer", "not-mounted", "failed"]
#: Number, device and share of a mount. The kernel hands the first two out again, so its age counts too.
_Key = tuple[int, str, str]
#: What runs out: bytes, or inodes.
SpaceShortage = Literal["bytes", "files"]


class SpaceArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.space``: of the mount at this mount point."""

    mount_point: str


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """What a server says of the room in a share.

    Attributes:
        mount_point: absolute path.
        state: whether the numbers are known; they are 0 otherwise.
        total_bytes: size of the file system.
        free_bytes: free blocks, those reserved for root included.
        available_bytes: what an ordinary user can still write, if no quota says less.
        total_files: inodes, 0 where the file system has no fixed number of them.
        available_files: free ones.
        short: what is nearly used up.
        error: with "failed": name of the error, such as ESTALE.
        age_s: seconds since the server was asked.
    """

    mount_point: str
    state: SpaceState
    total_bytes: int = 0
    free_bytes: int = 0
    available_bytes: int = 0
    total_files: int = 0
    available_files: int = 0
    short: list[SpaceShortage] = []
    error: str = ""
    age_s: float = 0.0


class SpaceText(NamedTuple):
    """The same for a person.

    Attributes:
        line: a few words.
        warning: sentences, "" if there is nothing to warn of.
    """

    line: str
    warning: str = ""


class SpaceReader:
    """Asks for the space of mounts; of any thread.

    Args:
        root: where proc is looked for; tests give a folder of files.
        clock: seconds that never go back.
        answer_s: how long a server may take.
        command: what the child runs, before the mount point and the number of the mount; for tests.
        questions: which mounts may be asked.
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
        self._places = threading.BoundedSemaphore(_MAX_CHILDREN)
        self._lock = threading.Lock()
        self._turns: dict[_Key, threading.Lock] = {}
        self._told: dict[_Key, tuple[float, Space]] = {}
        #: Children that even SIGKILL has not ended yet: they get no company.
        self._stuck: dict[_Key, process.Child] = {}

    def ask(self, mount_point: str, token: CancelToken) -> Space:
        """Return the space of a mount, as it was at most a minute ago.

        Raises:
            CancelledError: if the token is set.
        """
        row = self._row(mount_point)
        if row is None:
            return Space(mount_point=mount_point, state="not-mounted")
        key = (row.mount_id, row.device, row.source)
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        while not turn.acquire(timeout=0.1):  # another thread asks the same
            token.check()
        try:
            told = self._told.get(key)
            if told is not None and told[1].mount_point == mount_point:
                age_s = self._clock() - told[0]
                fresh_s = SILENT_S if told[1].state == "no-answer" else MAX_AGE_S
                if age_s < fresh_s and age_s <= self._mounted_s(row):
                    return msgspec.structs.replace(told[1], age_s=age_s)
            while not self._questions.begin(mount_point):  # it is being unmounted
                token.wait(0.1)
            try:
                space = self._ask_child(mount_point, row, token)
            finally:
                self._questions.end(mount_point)
            token.check()
            with self._lock:
                self._drop_expired()
                self._told[key] = (self._clock(), space)
            return space
        finally:
            turn.release()

    def _row(self, mount_point: str) -> MountRow | None:
        try:
            info = mountinfo.read(self._root)
        except OSError:
            return None
        rows = [row for row in info.nfs_rows() if printable(row.mount_point) == mount_point]
        return next((row for row in rows if info.is_visible(row)), None)

    def _mounted_s(self, row: MountRow) -> float:
        """Return for how long it has been mounted, in whole seconds; infinity if that is not known."""
        try:
            stats = parse_one(read_text(self._root), row.mount_point)
        except OSError:
            return math.inf
        return stats.age_s if stats is not None else math.inf

    def _drop_expired(self) -> None:
        now = self._clock()
        self._told = {key: told for key, told in self._told.items() if now - told[0] < MAX_AGE_S}
        self._stuck = {key: child for key, child in self._stuck.items() if _runs(child)}
        for key in [key for key, turn in self._turns.items() if key not in self._told and not turn.locked()]:
            del self._turns[key]

    def _ask_child(self, mount_point: str, row: MountRow, token: CancelToken) -> Space:
        key = (row.mount_id, row.device, row.source)
        stuck = self._stuck.get(key)
        if stuck is not None and _runs(stuck):
            return Space(mount_point=mount_point, state="no-answer")
        while not self._places.acquire(timeout=0.1):
            token.check()
        try:
            child = process.start(
                [*self._command, row.mount_point, str(row.mount_id)],
                stdin=process.DEVNULL, stderr=process.DEVNULL, cwd="/",
            )  # fmt: skip
            with token.on_cancel(lambda: process.kill_group(child)):
                try:
                    said, _ = child.communicate(timeout=self._answer_s)
                except process.TimeoutExpired:
                    process.kill_group(child)
                    if process.wait(child, _KILL_S) is None:
                        self._stuck[key] = child
                    elif child.stdout is not None:
                        child.stdout.close()
                    return Space(mount_point=mount_point, state="no-answer")
        finally:
            self._places.release()
        return _read(mount_point, said)


def _runs(child: process.Child) -> bool:
    return process.wait(child, 0) is None


class _ChildAnswer(msgspec.Struct):
    """What the child prints; neither, if the mount is another one."""

    numbers: tuple[int, int, int, int, int] | None = None
    errno: int = 0


def _read(mount_point: str, printed: bytes) -> Space:
    try:
        said = from_json(printed, _ChildAnswer)
    except msgspec.DecodeError:  # it was killed, or could not begin
        return Space(mount_point=mount_point, state="failed", error="EIO")
    if said.errno == errno.ETIMEDOUT:  # a soft mount gave up
        return Space(mount_point=mount_point, state="no-answer")
    if said.errno not in {0, errno.ENOENT}:
        name = errno.errorcode.get(said.errno, str(said.errno))
        return Space(mount_point=mount_point, state="failed", error=name)
    if said.numbers is None:
        return Space(mount_point=mount_point, state="not-mounted")
    total, free, available, files, free_files = said.numbers
    if total <= 0:  # some servers do not tell
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
    """Return what is nearly used up: see LOW_PART, LOW_BYTES and LOW_FILES."""
    short: list[SpaceShortage] = []
    if available_bytes < min(LOW_PART * total_bytes, LOW_BYTES):
        short.append("bytes")
    if total_files > 0 and available_files < min(LOW_PART * total_files, LOW_FILES):
        short.append("files")
    return short


def space_text(space: Space) -> SpaceText:
    """Return what a person reads of it."""
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
