"""What one run of one workload on one option set measured, as engine, history and analysis share it."""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

#: The values in use were as planned; or they were not; or there is no result; or it was given up on the way,
#: since it could not win any more.
State = Literal["ok", "mismatch", "failed", "skipped"]

#: Figures of an outcome. Speeds in bytes a second, until the data is on the server or with the program.
WRITE, READ = "write", "read"
#: File bytes that were moved in each direction.
WRITE_BYTES, READ_BYTES = "write_bytes", "read_bytes"
#: Seconds of the calls alone: what a copy program sees that does not wait for the server.
WRITE_S, READ_S = "write_s", "read_s"
#: Seconds of fsync and close after writing.
WRITE_SYNC_S = "write_sync_s"
#: Seconds of the whole trial: mount, test, sync, unmount, and what lies between.
TRIAL_S = "trial_s"
#: Bytes a second that a trial would have come to that was given up, by what it had reached until then.
REACHED = "reached"
#: Seconds to mount; to sync the file system when all is done; to unmount.
MOUNT_S, SYNC_S, UNMOUNT_S = "mount_s", "sync_s", "unmount_s"
#: Of small files: operations a second.
CREATE, STAT, DELETE = "create", "stat", "delete"
#: RPC major time-outs of each direction; mean round trip of its requests, seconds.
WRITE_TIMEOUTS, READ_TIMEOUTS = "write_timeouts", "read_timeouts"
WRITE_RTT_S, READ_RTT_S = "write_rtt_s", "read_rtt_s"
#: Made of the others by advisor.experiment_values: seconds until all is on the server, or with the program;
#: bytes a second of the write calls alone.
WRITE_TOTAL_S, READ_TOTAL_S, WRITE_CALLS = "write_total_s", "read_total_s", "write_calls"
#: Of the whole trial, beside its figures.
TIMEOUTS, RETRANSMISSIONS = "timeouts", "retransmissions"

Unit = Literal["bytes/s", "bytes", "s", "1/s", ""]


class Quantity(NamedTuple):
    """What a figure is.

    Attributes:
        label: for people.
        unit: of its values; "" for a count.
        lower_is_better: as times and time-outs are.
    """

    label: str
    unit: Unit
    lower_is_better: bool


QUANTITIES: dict[str, Quantity] = {
    WRITE: Quantity("speed to the server", "bytes/s", lower_is_better=False),
    READ: Quantity("speed from the server", "bytes/s", lower_is_better=False),
    WRITE_CALLS: Quantity("speed of the write calls alone", "bytes/s", lower_is_better=False),
    WRITE_TOTAL_S: Quantity("time to the server", "s", lower_is_better=True),
    READ_TOTAL_S: Quantity("time from the server", "s", lower_is_better=True),
    WRITE_S: Quantity("time of the write calls alone", "s", lower_is_better=True),
    READ_S: Quantity("time of the read calls alone", "s", lower_is_better=True),
    WRITE_SYNC_S: Quantity("time of fsync and close", "s", lower_is_better=True),
    WRITE_BYTES: Quantity("bytes written", "bytes", lower_is_better=False),
    READ_BYTES: Quantity("bytes read", "bytes", lower_is_better=False),
    CREATE: Quantity("files made a second", "1/s", lower_is_better=False),
    STAT: Quantity("files looked at a second", "1/s", lower_is_better=False),
    DELETE: Quantity("files deleted a second", "1/s", lower_is_better=False),
    TRIAL_S: Quantity("time of the whole trial", "s", lower_is_better=True),
    REACHED: Quantity("speed that it would have come to", "bytes/s", lower_is_better=False),
    MOUNT_S: Quantity("time to mount", "s", lower_is_better=True),
    SYNC_S: Quantity("time to sync", "s", lower_is_better=True),
    UNMOUNT_S: Quantity("time to unmount", "s", lower_is_better=True),
    WRITE_RTT_S: Quantity("round trip of a write request", "s", lower_is_better=True),
    READ_RTT_S: Quantity("round trip of a read request", "s", lower_is_better=True),
    WRITE_TIMEOUTS: Quantity("time-outs when writing", "", lower_is_better=True),
    READ_TIMEOUTS: Quantity("time-outs when reading", "", lower_is_better=True),
    TIMEOUTS: Quantity("time-outs", "", lower_is_better=True),
    RETRANSMISSIONS: Quantity("retransmissions", "", lower_is_better=True),
}


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
        state: ok, mismatch (other values in use than planned), failed, or skipped (given up on the way).
        note: why not ok, or what else a reader must know; one or two sentences.
        effective: option name to value as in use.
        started_at: UTC, ISO 8601.
        left_s: of a search, seconds of its time that are left after this trial, 0 when it has come to its end
            with it; None of an experiment.
        retest: of a search, a trial of its winner or of the present setting that was run after the end, to
            compare the two; it is no part of the search.
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
    left_s: float | None = None
    retest: bool = False
