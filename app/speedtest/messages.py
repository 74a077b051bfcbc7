"""Messages between the agent and the processes of a test (worker, cleaner): one JSON object per line."""

from __future__ import annotations

from typing import Literal

import msgspec

from app.errors import ErrorData  # noqa: TC001 - msgspec reads it at run time
from app.kernel.mount_of_path import MountOfPath  # noqa: TC001 - msgspec reads it at run time
from app.speedtest.model import (
    CacheReport,  # noqa: TC001 - msgspec reads it at run time
    GridCell,  # noqa: TC001 - msgspec reads the annotations at run time
    TestEvent,  # noqa: TC001 - msgspec reads it at run time
    TestSpec,  # noqa: TC001 - msgspec reads it at run time
    Transfer,  # noqa: TC001 - msgspec reads it at run time
)

#: Part of a test that a worker does: "whole" test; "look" only inspects the directory; "keep" writes the file
#: and leaves it; "kept" reads and removes it. The file system is remounted between "keep" and "kept".
Stage = Literal["whole", "look", "keep", "kept"]


class WorkerJob(msgspec.Struct, frozen=True, kw_only=True):
    """Job of a worker, its only line of input.

    Attributes:
        spec: specification of the test.
        run: name of the run, which determines the directory's name and the file's contents.
        stage: part of the test to run.
        owner: process responsible for files that the stage "keep" leaves.
        round_trip: also measure the round-trip time of the network before the test.
    """

    spec: TestSpec
    run: str
    stage: Stage = "whole"
    owner: int = 0
    round_trip: bool = True


class RepeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of one repeat.

    Attributes:
        write: transfer to the server, or None.
        read: transfer from the server, or None.
        small_read: second read of the file, with small calls, or None.
        cache: whether the read came from the cache by the byte counter; the link's rate is not checked here.
        rates: operations per second, by name.
    """

    write: Transfer | None = None
    read: Transfer | None = None
    small_read: Transfer | None = None
    cache: CacheReport | None = None
    rates: dict[str, float] = {}


class UserFilesSize(msgspec.Struct, frozen=True, kw_only=True):
    """Number and size of the user's own files.

    Attributes:
        files: number of files that can be copied.
        bytes: total size of these files.
        skipped: description of the files left out; "" if there are none.
    """

    files: int
    bytes: int
    skipped: str = ""


class WorkerResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a worker.

    Attributes:
        path: resolved path of the directory.
        where: mount that contains the directory, None if unknown.
        rounds: measured repeats, without the warm-up.
        notes: sentences for display.
        free: free bytes of the file system, None if unknown.
        own: number and size of the user's own files, if they are copied.
        grid: cells of a grid.
        spec: specification of the repeats as they were run; None if none were.
    """

    path: str
    where: MountOfPath | None
    rounds: list[RepeatResult]
    notes: list[str]
    free: int | None = None
    own: UserFilesSize | None = None
    grid: list[GridCell] = []
    spec: TestSpec | None = None


class WorkerError(msgspec.Struct, frozen=True, kw_only=True):
    """An AppError in a message of the worker.

    Attributes:
        error: the error.
        left: whether the worker could not remove its files.
    """

    error: ErrorData
    left: bool = False


class WorkerMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line from the worker; exactly one field is set.

    Attributes:
        path: resolved path of the directory, sent first.
        event: progress of the test.
        alive: the mount's counters show activity although no event does.
        ok: last line of a successful test.
        error: last line of a failed test.
    """

    path: str | None = None
    event: TestEvent | None = None
    alive: bool = False
    ok: WorkerResult | None = None
    error: WorkerError | None = None


class CleanupJob(msgspec.Struct, frozen=True, kw_only=True):
    """Job of a cleaner, its only line of input.

    Attributes:
        path: the directory tested.
        run: name of the run whose files are to be removed.
        grace_s: time that the cleaner continues after its agent has ended, s.
        share: share that the directory must be on, "" for any.
    """

    path: str
    run: str
    grace_s: int
    share: str = ""
