"""Messages between a test's processes (worker, cleaner) and the agent: one JSON object a line."""

from __future__ import annotations

from typing import Literal

import msgspec

from app.kernel.mount_of_path import MountOfPath  # noqa: TC001 - msgspec reads it at run time
from app.speedtest.model import (
    CacheReport,  # noqa: TC001 - msgspec reads it at run time
    GridCell,  # noqa: TC001 - msgspec reads the annotations at run time
    TestEvent,  # noqa: TC001 - msgspec reads it at run time
    TestSpec,  # noqa: TC001 - msgspec reads it at run time
    Transfer,  # noqa: TC001 - msgspec reads it at run time
)

#: What a worker does of a test: all of it; only look at the directory; or write (timed if asked for) and keep
#: the file; or read a kept file and remove it. Between the last two the file system is mounted afresh.
Stage = Literal["whole", "look", "keep", "kept"]


class WorkerJob(msgspec.Struct, frozen=True, kw_only=True):
    """The worker's one line of input.

    Attributes:
        spec: the test.
        run: name of the run, from which the name of its directory and the contents of its file come.
        stage: of the test.
        owner: process that answers for files that are kept for the next stage.
        round_trip: time the network alone before the copying, as well.
    """

    spec: TestSpec
    run: str
    stage: Stage = "whole"
    owner: int = 0
    round_trip: bool = True


class RepeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one repeat measured.

    Attributes:
        write: figures to the server, or None.
        read: figures from it, or None.
        cache: how the read was kept honest; the link's rate is not looked at here.
        rates: operations a second by name.
        small_read: figures of reading the file once more with small calls, or None.
    """

    write: Transfer | None = None
    read: Transfer | None = None
    small_read: Transfer | None = None
    cache: CacheReport | None = None
    rates: dict[str, float] = {}


class UserFilesSize(msgspec.Struct, frozen=True, kw_only=True):
    """How much a person's own files are.

    Attributes:
        files: number of those that can be copied.
        bytes: all of them together.
        skipped: what is left out, for a person; "" for nothing.
    """

    files: int
    bytes: int
    skipped: str = ""


class WorkerResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured.

    Attributes:
        path: the directory, resolved.
        where: the mount that it is on, None if the kernel does not tell.
        rounds: the repeats that count.
        spec: the test as they were done; None if nothing was.
        notes: sentences for a person.
        free: bytes that the file system has free, None if it does not tell.
        own: how much the person's own files are, if they are what is copied.
        grid: the cells of a grid.
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
    """An AppError; much like the agent's, whose module is too slow to import for a worker.

    Attributes:
        kind: as in AppError, and so on.
        message: likewise.
        hint: likewise.
        detail: likewise.
        left: whether the worker could not remove its files.
    """

    kind: str
    message: str
    hint: str = ""
    detail: str = ""
    left: bool = False


class WorkerMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line from the worker; exactly one field is set.

    Attributes:
        path: the directory, resolved: sent first.
        event: for whoever watches the test.
        alive: something moved although no event shows it: the connection is being used.
        ok: the last line of a finished test.
        error: the last line of a failed one.
    """

    path: str | None = None
    event: TestEvent | None = None
    alive: bool = False
    ok: WorkerResult | None = None
    error: WorkerError | None = None


class CleanupJob(msgspec.Struct, frozen=True, kw_only=True):
    """The cleaner's one line of input.

    Attributes:
        path: the directory that was tested.
        run: name of the run whose files are to go.
        grace_s: after the end of its input it goes on for so long.
        share: the mount that the directory must be on, "" for any.
    """

    path: str
    run: str
    grace_s: int
    share: str = ""
