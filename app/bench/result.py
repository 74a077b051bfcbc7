"""What a test was asked to do, what it says while it runs, and its result."""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.facts import LinkFacts  # noqa: TC001 - msgspec reads the annotations at run time

Phase = Literal["prepare", "write", "fsync", "close", "drop-cache", "read", "clean-up"]
CacheMethod = Literal["fadvise", "direct", "fresh-mount"]
Direction = Literal["both", "write", "read"]

DEFAULT_SIZE = 64 * 2**20
DEFAULT_BLOCK_SIZE = 2**20
SAMPLE_INTERVAL_S = 0.05


class TestSpec(msgspec.Struct, kw_only=True, frozen=True):
    """One copy test.

    Attributes:
        path: the directory whose file system is tested; it need not be NFS.
        direction: to the server (write), from it (read), or both.
        size: bytes of the file.
        block_size: bytes of each read or write call.
        cache: how the client's cache is kept out of the read.
        sync: open the file with O_SYNC.
    """

    __test__ = False  # not a pytest class

    path: str
    direction: Direction = "both"
    size: int = DEFAULT_SIZE
    block_size: int = DEFAULT_BLOCK_SIZE
    cache: CacheMethod = "fadvise"
    sync: bool = False


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One moment of a running transfer; counters run from 0 at the start of the direction.

    Attributes:
        t_s: seconds since the transfer began.
        bytes: bytes that read or write calls have returned for.
        server_bytes: bytes that the client exchanged with the server (mountstats serverread or
            serverwritten); equal to ``bytes`` where the path is not NFS.
        timeouts: RPC major time-outs.
        retransmissions: RPC (v3) or TCP segment (v4) retransmissions.
        rtt_s: mean RPC round trip of the requests since the last sample, or None.
    """

    t_s: float
    bytes: int
    server_bytes: int
    timeouts: int = 0
    retransmissions: int = 0
    rtt_s: float | None = None


class TestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a running test says: a new phase of a direction, or a sample of it."""

    __test__ = False

    direction: Literal["write", "read"]
    phase: Phase
    sample: Sample | None = None


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one direction.

    Attributes:
        bytes: file bytes moved.
        bytes_per_s: bytes over the whole time: transfer, fsync and close.
        transfer_s: the read or write calls.
        fsync_s: fsync alone; 0 for a read.
        close_s: close alone.
        timeouts: RPC major time-outs (mountstats, time-outs column).
        retransmissions: by ``retransmissions_from``.
        retransmissions_from: "mountstats" (v3: transmissions minus operations), "tcp_info" (v4: segments
            retransmitted on the mount's connections) or "none" (not NFS).
        rpc_retransmissions: mountstats figure in both cases, None if not NFS.
        tcp_retransmissions: TCP_INFO figure in both cases, None if not NFS or not TCP.
        server_bytes: bytes exchanged with the server, None if not NFS.
        mean_rtt_s: mean RPC round trip of the READ and READ_PLUS, or WRITE, requests; None if none.
        cached: the client's cache answered part of a read, or it was faster than the link can be.
        samples: 20 a second.
    """

    bytes: int
    bytes_per_s: float
    transfer_s: float
    fsync_s: float
    close_s: float
    timeouts: int
    retransmissions: int
    retransmissions_from: Literal["mountstats", "tcp_info", "none"]
    rpc_retransmissions: int | None
    tcp_retransmissions: int | None
    server_bytes: int | None
    mean_rtt_s: float | None
    cached: bool
    samples: list[Sample]


class CacheReport(msgspec.Struct, frozen=True, kw_only=True):
    """How the cache was kept out of the read, and whether that can be believed.

    Attributes:
        method: what was done.
        checked: whether the server's counter was there to check it.
        cached: the read came at least partly from the client's cache.
        note: the same in one sentence for a person.
    """

    method: CacheMethod
    checked: bool
    cached: bool
    note: str


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished test.

    Attributes:
        path: the directory tested.
        nfs: whether it is on NFS.
        share: server:/export, or None.
        started_at: UTC, ISO 8601.
        write: figures to the server, or None.
        read: figures from it, or None.
        cache: how the read was kept honest.
        requested: option name to value as asked for ({} if unknown or not NFS).
        effective: option name to value as in use.
        link: what is known of the link.
        block_size: bytes.
        sync: O_SYNC.
        notes: sentences a reader must know: not NFS, flagged as cached, leftovers.
    """

    __test__ = False

    path: str
    nfs: bool
    share: str | None
    started_at: str
    write: Transfer | None
    read: Transfer | None
    cache: CacheReport | None
    requested: dict[str, str]
    effective: dict[str, str]
    link: LinkFacts | None
    block_size: int
    sync: bool
    notes: list[str]
