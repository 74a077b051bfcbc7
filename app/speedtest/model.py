"""Data of a speed test: what is tested, its progress, its plan, its result, and the limits of its sizes.

A grid is a set of fio runs, its cells: access pattern, record size, queue depth and number of jobs. The field
names are those of the JSON output and of the history's database.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from advisor.bottleneck import (  # noqa: TC001 - msgspec reads it at run time
    Bottleneck,
    TransferDirection,
    TransferLoad,
)
from advisor.facts import LinkFacts  # noqa: TC001 - msgspec reads the annotations at run time
from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE
from app.units import format_size

TestPhase = Literal[
    "prepare",
    "write",
    "fsync",
    "close",
    "drop-cache",
    "read",
    "small-read",
    "compare",
    "stat",
    "delete",
    "clean-up",
]
CacheMethod = Literal["fadvise", "direct", "fresh-mount"]
Direction = Literal["both", "write", "read"]
#: One file, many small ones, one file whose blocks are in random order, several files at once, the
#: person's own ones, or a grid of fio runs.
WorkloadKind = Literal["file", "files", "random", "streams", "own", "grid"]
#: What a test is made to last about: 15 seconds, one minute, four minutes.
Preset = Literal["quick", "normal", "thorough"]

DEFAULT_SIZE = 64 * 2**20
DEFAULT_SMALL_SIZE = 4096
SAMPLE_INTERVAL_S = 0.05
#: Name of the figure of reading the file once more with calls of advisor.transfer_sizes.SMALL_READ_SIZE.
SMALL_READS = "small-read"
#: Names of the figures that are bytes a second.
SPEED_FIGURES = ("write", "read", SMALL_READS)


class TestSpec(msgspec.Struct, kw_only=True, frozen=True):
    """One copy test.

    Attributes:
        path: the directory whose file system is tested; it need not be NFS. With a share it is one below the
            share's root, "" for the root.
        direction: to the server (write), from it (read), or both.
        size: bytes of the file, or of each of the files.
        block_size: bytes of each read or write call, AS_COPY for those of cp on this mount.
        cache: how the client's cache is kept out of the read.
        sync: open the file with O_SYNC.
        workload: one file, many small ones, one in random order, several at once, the own ones, or a grid.
        count: number of the files; 1 for one file.
        repeats: how often it is done. More than one are preceded by a warm-up, which is not counted.
        share: a share (server:/export) to be mounted for the test alone, where nobody else sees it.
        options: mount options of the share, as after ``mount -o``.
        seconds: no further repeat begins that would probably end later than this; None for no limit.
        source: the person's own file or folder, for the workload "own"; it is only read. Number and size of
            the files are those found in it.
        grid: the cells of the workload "grid", which fio measures in one file of this size.
        passes: how often one file is read through in each repeat, each time from the server: where the way
            from it is the quicker one, once would be over before it had begun.
        network_alone: afterwards measure what one TCP stream to an iperf3 server there carries.
        server_memory: bytes of the server's memory, as the person says, 0 if that is not known. A preset
            makes the file larger than it, so that not all of it can be kept there.
        small_reads: one file is read once more with calls of advisor.transfer_sizes.SMALL_READ_SIZE, which is
            a figure of its own.
    """

    __test__ = False  # not a pytest class

    path: str
    direction: Direction = "both"
    size: int = DEFAULT_SIZE
    block_size: int = CP_CALL_SIZE
    cache: CacheMethod = "fadvise"
    sync: bool = False
    workload: WorkloadKind = "file"
    count: int = 1
    repeats: int = 1
    seconds: float | None = None
    share: str = ""
    options: str = ""
    source: str = ""
    grid: Grid | None = None
    passes: int = 1
    network_alone: bool = False
    server_memory: int = 0
    small_reads: bool = False

    @property
    def reads_again(self) -> bool:
        """Whether the figure "small reads" is measured: of one file that is read with larger calls."""
        asked = self.small_reads and self.workload == "file" and self.direction != "write"
        return asked and (self.block_size == CP_CALL_SIZE or self.block_size > SMALL_READ_SIZE)

    @property
    def total(self) -> int:
        """Bytes of all its files."""
        return self.size * self.count

    @property
    def rounds(self) -> int:
        """Repeats and warm-up together."""
        return self.repeats + 1 if self.repeats > 1 else 1


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One moment of a running transfer; counters run from 0 at the start of the direction.

    Attributes:
        t_s: seconds since the transfer began.
        bytes: bytes that read or write calls have returned for.
        server_bytes: bytes that the client exchanged with the server (mountstats serverread or
            serverwritten); equal to ``bytes`` where the path is not NFS.
        timeouts: RPC major time-outs.
        retransmissions: TCP segments, or requests of a mount that is not over TCP, that were sent again.
        rtt_s: mean RPC round trip of the requests since the last sample, or None.
    """

    t_s: float
    bytes: int
    server_bytes: int
    timeouts: int = 0
    retransmissions: int = 0
    rtt_s: float | None = None


class TestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What a running test says: a new phase of a direction, or a sample of it.

    Attributes:
        direction: to the server or from it.
        phase: what it does.
        sample: one moment of the transfer, or None.
        round: which repeat it is, from 0; of several the first is the warm-up.
        total: bytes that the transfer which begins will move, else 0.
    """

    __test__ = False

    direction: Literal["write", "read"]
    phase: TestPhase
    sample: Sample | None = None
    round: int = 0
    total: int = 0


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one direction.

    Attributes:
        bytes: file bytes moved: of a read that went through the file several times, all of them.
        bytes_per_s: bytes over the whole time: transfer, fsync and close.
        transfer_s: the read or write calls.
        fsync_s: fsync alone; 0 for a read.
        close_s: close alone.
        timeouts: RPC major time-outs (mountstats, time-outs column).
        retransmissions: what this computer sent again, by ``retransmissions_from``. What the server sent
            again is not among it: of a read it shows as disorder (``load``).
        retransmissions_from: "tcp_info" (over TCP: segments retransmitted on the mount's connections),
            "mountstats" (over UDP or RDMA: transmissions minus operations) or "none" (not NFS).
        rpc_retransmissions: mountstats figure in both cases, None if not NFS.
        tcp_retransmissions: TCP_INFO figure, None if not NFS or not over TCP.
        server_bytes: bytes exchanged with the server, None if not NFS.
        mean_rtt_s: mean RPC round trip of the READ and READ_PLUS, or WRITE, requests; None if none.
        cached: the client's cache answered part of a read, or it was faster than the link can be.
        samples: 20 a second.
        load: what it did to the way, the server and this computer, None if not NFS.
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
    load: TransferLoad | None = None

    @property
    def disorder(self) -> float | None:
        """Part of the TCP segments received that came out of order, None if unknown."""
        if self.load is None or not self.load.received:
            return None
        return self.load.disordered / self.load.received


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


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over the repeats that count, the warm-up not among them.

    Attributes:
        values: of each repeat, in their order.
        median: their median.
        low: lower end of the median's interval.
        high: its upper end.
        confidence: what the interval covers: 0.95 or more, less for fewer than six repeats
            (advisor.experiment.intervals.confidence_interval says how it is made).
        wide: the spread is too wide to conclude from the median.
        timeouts: RPC major time-outs of all repeats; 0 for a rate of operations.
        retransmissions: likewise.
    """

    values: list[float]
    median: float
    low: float
    high: float
    confidence: float
    wide: bool
    timeouts: int = 0
    retransmissions: int = 0


class NetworkThroughput(msgspec.Struct, frozen=True, kw_only=True):
    """What one TCP stream carries, in bytes a second; None where it was not measured.

    Attributes:
        write: to the server.
        read: from it.
        problem: why it could not be measured, and what to do, "" if it was.
    """

    write: float | None = None
    read: float | None = None
    problem: str = ""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """The host that ran a test, its link and its server; what is not known is None.

    Attributes:
        host: name of the host that ran the test.
        system: the distribution, as os-release names it.
        kernel: release, as uname says it.
        nfs_utils: version of mount.nfs.
        program: version of this program.
        memory_bytes: of the host.
        interface: network interface that leads to the server.
        adapter: vendor and model of the network card.
        driver: its kernel driver.
        rate_bps: line rate towards the host, bits per second.
        duplex: full or half.
        mtu: bytes.
        rtt_s: median round trip to the server, measured after the test.
        emulated_link: name of the lab's link, None on a real one.
        server: its name, as the share spells it.
        server_address: in use.
        server_kind: an id of resources/servers.toml.
        server_implementation: what an NFS 4.1 server calls itself.
        nfs_version: in use.
        read_ahead_kb: of the mount.
    """

    host: str | None = None
    system: str | None = None
    kernel: str | None = None
    nfs_utils: str | None = None
    program: str | None = None
    memory_bytes: int | None = None
    interface: str | None = None
    adapter: str | None = None
    driver: str | None = None
    rate_bps: float | None = None
    duplex: str | None = None
    mtu: int | None = None
    rtt_s: float | None = None
    emulated_link: str | None = None
    server: str | None = None
    server_address: str | None = None
    server_kind: str | None = None
    server_implementation: str | None = None
    nfs_version: str | None = None
    read_ahead_kb: int | None = None


class TestPlanArgs(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be planned.

    Attributes:
        spec: the test.
        preset: how long it may take: its size (or the number of its small files) and repeats are chosen then,
            and of a grid all but the patterns. None only asks what the test as it is will take.
    """

    __test__ = False

    spec: TestSpec
    preset: Preset | None = None


class TestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a test will do, before it begins.

    Attributes:
        spec: the test, with sizes and repeats chosen.
        seconds: how long it will take, about; None if nothing is known of the link.
        bytes: what will cross the network in both directions together.
        free: bytes that the file system has free, None if it does not tell.
        note: why the sizes are as they are, in one sentence.
    """

    __test__ = False

    spec: TestSpec
    seconds: float | None
    bytes: int
    free: int | None
    note: str


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished test.

    Attributes:
        path: the directory tested; of a share mounted for the test, the one below its root.
        nfs: whether it is on NFS.
        share: server:/export, or None.
        started_at: UTC, ISO 8601.
        write: figures to the server, or None; of several repeats those of the one with the median speed.
        read: figures from it, likewise.
        cache: how the read was kept honest.
        requested: option name to value as asked for ({} if unknown or not NFS).
        effective: option name to value as in use.
        link: what is known of the link.
        block_size: bytes of each call.
        sync: O_SYNC.
        notes: sentences a reader must know: not NFS, flagged as cached, leftovers.
        workload: one file, or many small ones.
        count: number of the files.
        figures: over all repeats. "write", "read" and "small-read" in bytes a second; of many small files
            also "create" (the call that makes one, of the timed write), "stat" and "delete", in files a
            second.
        enough: what the speeds are enough for, a sentence for each use.
        environment: the host that ran it, its link and its server; None if nobody asked.
        source: the person's own file or folder that was copied, or "".
        grid: the cells that fio measured.
        network: what the network alone carried, None if it was not to be measured.
        server_memory: bytes of the server's memory, as the person said, 0 if that is not known.
        bottleneck: what held the slower direction back, None if not NFS. Its evidence ends with what held the
            other one back.
        as_copy: whether the block size is the one of cp on this mount. Tests of older versions were made with
            1 MiB unless another size was asked for, and do not say this.
        small_read: figures of the read with small calls, likewise of the median speed, without samples.
        small_bottleneck: what held the read with small calls back.
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
    workload: WorkloadKind = "file"
    count: int = 1
    figures: dict[str, Figure] = {}
    enough: list[str] = []
    source: str = ""
    grid: list[GridCell] = []
    network: NetworkThroughput | None = None
    server_memory: int = 0
    environment: Environment | None = None
    bottleneck: Bottleneck | None = None
    as_copy: bool = False
    small_read: Transfer | None = None
    small_bottleneck: Bottleneck | None = None


AccessPattern = Literal["seqread", "seqwrite", "randread", "randwrite"]
ACCESS_PATTERNS: tuple[AccessPattern, ...] = ("seqwrite", "seqread", "randwrite", "randread")
#: The bounds of each: fio takes more, a mount shows no more.
MIN_RECORD, MAX_RECORD = 512, 64 * 2**20
MAX_DEPTH, MAX_JOBS, MAX_CELLS = 256, 64, 1000


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured: every combination is a cell.

    Attributes:
        patterns: sequential or random, read or write.
        records: bytes of each request.
        depths: requests that a job has under way at once.
        jobs: jobs at once, each in a part of the file of its own.
        cell_s: seconds that a cell is measured for, after a warm-up of a quarter of that.
    """

    patterns: tuple[AccessPattern, ...] = ACCESS_PATTERNS
    records: tuple[int, ...] = (4096, 65536, 2**20)
    depths: tuple[int, ...] = (1, 16)
    jobs: tuple[int, ...] = (1,)
    cell_s: float = 2.0

    @property
    def warm_up_s(self) -> float:
        """Seconds that begin a cell and do not count."""
        return self.cell_s / 4

    def cells(self) -> list[GridCell]:
        """Return the cells without results, in the order that they are measured in."""
        return [
            GridCell(pattern=pattern, record=record, depth=depth, jobs=jobs)
            for pattern in self.patterns
            for record in self.records
            for jobs in self.jobs
            for depth in self.depths
        ]

    def problem(self, size: int) -> str:
        """Return why it cannot be run on a file of this size, "" if it can."""
        wrong = (
            (not all((self.patterns, self.records, self.depths, self.jobs)), "The grid has no cells."),
            (not _within(self.records, MIN_RECORD, MAX_RECORD), "A record must have 512 bytes to 64 MiB."),
            (not _within(self.depths, 1, MAX_DEPTH), f"A queue depth must be between 1 and {MAX_DEPTH}."),
            (not _within(self.jobs, 1, MAX_JOBS), f"The number of jobs must be between 1 and {MAX_JOBS}."),
            (not 0.2 <= self.cell_s <= 3600, "A cell must be measured for 0.2 seconds to an hour."),
            (len(self.cells()) > MAX_CELLS, f"The grid has more than {MAX_CELLS} cells."),
            (
                size < max(self.records, default=0) * max(self.jobs, default=0),
                "The file is too small: each job needs room for a record.",
            ),
        )
        return next((text for bad, text in wrong if bad), "")


def _within(values: tuple[int, ...], low: int, high: int) -> bool:
    return all(low <= value <= high for value in values)


class GridRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a cell, without its warm-up.

    Attributes:
        iops: requests answered a second.
        bytes_per_s: of them.
        latency_s: mean time of a request, from its submission to its end.
        p95_s: 95 of 100 took no longer, None if fio does not tell.
        p99_s: likewise 99 of 100.
        curve: seconds since the beginning of the run and bytes a second then (fio's bandwidth log).
        load: what it did to the way, the server and this computer, None if not NFS.
    """

    iops: float
    bytes_per_s: float
    latency_s: float
    p95_s: float | None = None
    p99_s: float | None = None
    curve: list[tuple[float, float]] = []
    load: TransferLoad | None = None


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell with its repeats.

    Attributes:
        pattern: sequential or random, read or write.
        record: bytes of each request.
        depth: requests under way at once, of each job.
        jobs: jobs at once.
        runs: what was measured, one for each repeat.
        bottleneck: what held it back, None if not NFS.
    """

    pattern: AccessPattern
    record: int
    depth: int
    jobs: int
    runs: list[GridRun] = []
    bottleneck: Bottleneck | None = None

    @property
    def name(self) -> str:
        """What tells it from the others of its grid, for a person."""
        jobs = f"{self.jobs} job" if self.jobs == 1 else f"{self.jobs} jobs"
        return f"{self.pattern} of {format_size(self.record)}, {jobs}, {self.depth} at once"

    @property
    def way(self) -> TransferDirection:
        """To the server (write) or from it (read)."""
        return "read" if self.pattern.endswith("read") else "write"

    @property
    def is_sequential(self) -> bool:
        """Whether each request begins where the one before ends."""
        return self.pattern.startswith("seq")

    @property
    def at_once(self) -> int:
        """Requests that all its jobs together have under way."""
        return self.depth * self.jobs

    @property
    def median_run(self) -> GridRun | None:
        """The run with the median number of requests a second, of two in the middle the slower, or None."""
        ordered = sorted(self.runs, key=lambda run: run.iops)
        return ordered[(len(ordered) - 1) // 2] if ordered else None


MIN_BLOCK_SIZE = 512
MAX_BLOCK_SIZE = 256 * 2**20
#: More files than this are not a quick test any more, and removing them after a kill takes too long.
MAX_FILES = 20_000
#: More threads than this say nothing about a mount.
MAX_STREAMS = 64
_MAX_COUNT = {"files": MAX_FILES, "streams": MAX_STREAMS, "own": MAX_FILES}


def block_size_problem(block_size: int) -> str:
    """Return why a call cannot have this size, "" if it can."""
    if MIN_BLOCK_SIZE <= block_size <= MAX_BLOCK_SIZE:
        return ""
    return "The block size must be between 512 bytes and 256 MiB."


def file_count_problem(workload: str, count: int) -> str:
    """Return why a test of this kind cannot have so many files, "" if it can."""
    most = _MAX_COUNT.get(workload, 1)
    if 1 <= count <= most:
        return ""
    if most == 1:
        return "This test is of one file, not of several."
    return f"The number of files must be between 1 and {most} for this test."
