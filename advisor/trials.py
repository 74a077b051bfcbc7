"""Trials: what one run of one workload on one option set measured, as engine, history and analysis share it."""

from __future__ import annotations

from typing import Literal

import msgspec

#: The values in use were as planned; or they were not; or there is no result.
State = Literal["ok", "mismatch", "failed"]

#: Figures of an outcome. Speeds in bytes a second, until the data is on the server or with the program.
WRITE, READ = "write", "read"
#: File bytes that were moved in each direction.
WRITE_BYTES, READ_BYTES = "write_bytes", "read_bytes"
#: Seconds of the calls alone: what a copy program sees that does not wait for the server.
WRITE_S, READ_S = "write_s", "read_s"
#: Seconds of fsync and close after writing.
WRITE_SYNC_S = "write_sync_s"
#: Seconds to mount; to sync the file system when all is done; to unmount.
MOUNT_S, SYNC_S, UNMOUNT_S = "mount_s", "sync_s", "unmount_s"
#: Of small files: operations a second.
CREATE, STAT, DELETE = "create", "stat", "delete"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """One finished trial.

    Attributes:
        levels: factor to level of its option set.
        workload: its name in the experiment.
        block: which repeat, from 0.
        order: its place in the run, from 0; the plan of the run gives the rest by it.
        baseline: it only watches for drift, and is no repeat of the set for the ranking.
        figures: by the names above; those that the workload has.
        timeouts: RPC major time-outs.
        retransmissions: of requests (version 3) or TCP segments (version 4).
        state: ok, mismatch (other values in use than planned), or failed.
        note: why not ok, or what else a reader must know; one or two sentences.
        effective: option name to value as in use.
        started_at: UTC, ISO 8601.
    """

    levels: dict[str, str]
    workload: str
    block: int
    order: int
    baseline: bool = False
    figures: dict[str, float] = {}
    timeouts: int = 0
    retransmissions: int = 0
    state: State = "ok"
    note: str = ""
    effective: dict[str, str] = {}
    started_at: str = ""
