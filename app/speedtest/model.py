"""Data of a speed test: specification, progress events, plan, result, and limits of its sizes.

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
from app.text.units import format_size

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
#: One file, many small files, one file with blocks in random order, several files in parallel, the user's
#: own files, or a grid of fio runs.
WorkloadKind = Literal["file", "files", "random", "streams", "own", "grid"]
#: Approximate duration of a test: 15 seconds, one minute, four minutes.
Preset = Literal["quick", "normal", "thorough"]

DEFAULT_SIZE = 64 * 2**20
DEFAULT_SMALL_SIZE = 4096
SAMPLE_INTERVAL_S = 0.05
#: Name of the figure for the second read of the file, with calls of SMALL_READ_SIZE bytes.
SMALL_READS = "small-read"
#: Names of the figures in bytes per second.
SPEED_FIGURES = ("write", "read", SMALL_READS)


class TestSpec(msgspec.Struct, kw_only=True, frozen=True):
    """Specification of one speed test.

    Attributes:
        path: directory whose file system is tested, NFS or not. With a share it is a directory below the root
            of the share, "" for the root itself.
        direction: to the server (write), from the server (read), or both.
        size: bytes of the file, or of each file.
        block_size: bytes of each read or write call; CP_CALL_SIZE for the call size of cp on this mount.
        cache: method that prevents reads from the client's cache.
        sync: open the file with O_SYNC.
        workload: kind of the test.
        count: number of files; 1 for one file.
        repeats: number of measured repeats. Two or more follow an unmeasured warm-up.
        share: share (server:/export) to mount privately for the test, "" to test an existing directory.
        options: mount options of the share, as after ``mount -o``.
        seconds: time limit, s: no repeat begins that would probably exceed it; None for no limit.
        source: the user's own file or directory for the workload "own"; it is only read. Size and count are
            taken from its files.
        grid: cells of the workload "grid", which fio measures in one file of `size` bytes.
        passes: number of reads of one file in each repeat, each from the server. A fast server-to-client
            direction needs several for a measurable duration.
        network_alone: afterwards measure one TCP stream's throughput to an iperf3 server on the NFS server.
        server_memory: memory of the server in bytes as entered by the user, 0 if unknown. A preset makes the
            file larger, so that the server cannot cache all of it.
        small_reads: read one file a second time with calls of advisor.transfer_sizes.SMALL_READ_SIZE bytes,
            as a separate figure.
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
        """Whether the figure "small-read" is measured: for one file whose other reads use larger calls."""
        requested = self.small_reads and self.workload == "file" and self.direction != "write"
        return requested and (self.block_size == CP_CALL_SIZE or self.block_size > SMALL_READ_SIZE)

    @property
    def total(self) -> int:
        """Total bytes of all files."""
        return self.size * self.count

    @property
    def rounds(self) -> int:
        """Number of repeats including the warm-up."""
        return self.repeats + 1 if self.repeats > 1 else 1


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """Counters of a running transfer at one moment; they start at 0 with each direction.

    Attributes:
        t_s: time since the transfer began, s.
        bytes: bytes for which read or write calls have returned.
        server_bytes: bytes exchanged with the server (mountstats serverread or serverwritten); equal to
            ``bytes`` if the path is not on NFS.
        timeouts: number of RPC major timeouts.
        retransmissions: number of retransmitted TCP segments, or of retransmitted requests without TCP.
        rtt_s: mean RPC round-trip time of the requests since the previous sample, s; None without requests.
    """

    t_s: float
    bytes: int
    server_bytes: int
    timeouts: int = 0
    retransmissions: int = 0
    rtt_s: float | None = None


class TestEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Progress event of a running test: the beginning of a phase, or a sample.

    Attributes:
        direction: to the server (write) or from it (read).
        phase: current phase.
        sample: counters of the transfer, None at the beginning of a phase.
        round: number of the repeat, from 0; with several repeats 0 is the warm-up.
        total: bytes that the beginning transfer will move, 0 if unknown or if none begins.
    """

    __test__ = False

    direction: Literal["write", "read"]
    phase: TestPhase
    sample: Sample | None = None
    round: int = 0
    total: int = 0


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the transfer in one direction.

    Attributes:
        bytes: file bytes moved, summed over all passes of a read.
        bytes_per_s: bytes divided by the total time of transfer, fsync and close.
        transfer_s: time of the read or write calls, s.
        fsync_s: time of fsync, s; 0 for a read.
        close_s: time of close, s.
        timeouts: number of RPC major timeouts (mountstats, timeouts column).
        retransmissions: number of retransmissions by the client, counted as ``retransmissions_from`` says.
            Retransmissions by the server appear as out-of-order segments of a read (``load``).
        retransmissions_from: "tcp_info" (over TCP: segments retransmitted on the mount's connections),
            "mountstats" (over UDP or RDMA: transmissions minus operations) or "none" (not NFS).
        rpc_retransmissions: number of retransmitted requests by mountstats, None if not NFS.
        tcp_retransmissions: number of retransmitted segments by TCP_INFO, None if not NFS or not over TCP.
        server_bytes: bytes exchanged with the server, None if not NFS.
        mean_rtt_s: mean RPC round-trip time of READ and READ_PLUS, or WRITE, requests, s; None without any.
        cached: whether the client's cache answered part of a read, or the speed exceeded the link rate.
        samples: samples, 20 per second.
        load: load on network, server and client during the transfer, None if not NFS.
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
        """Fraction of received TCP segments that arrived out of order, None if unknown."""
        if self.load is None or not self.load.received:
            return None
        return self.load.disordered / self.load.received


class CacheReport(msgspec.Struct, frozen=True, kw_only=True):
    """Method that prevented reads from the client's cache, and whether it worked.

    Attributes:
        method: method used.
        checked: whether the server's byte counter was available for the check.
        cached: whether the read came at least partly from the client's cache.
        note: the result as a sentence.
    """

    method: CacheMethod
    checked: bool
    cached: bool
    note: str


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Median and confidence interval of one figure over the measured repeats, without the warm-up.

    Attributes:
        values: value of each repeat, in order of time.
        median: median of the values.
        low: lower end of the median's confidence interval.
        high: upper end of the median's confidence interval.
        confidence: coverage of the interval: 0.95 or more, less for fewer than six repeats
            (advisor.experiment.intervals.confidence_interval).
        wide: whether the spread is too wide to draw conclusions from the median.
        timeouts: RPC major timeouts of all repeats; 0 for a rate of operations.
        retransmissions: retransmissions of all repeats; 0 for a rate of operations.
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
    """Throughput of one TCP stream, in bytes per second; None if not measured.

    Attributes:
        write: throughput to the server.
        read: throughput from the server.
        problem: why it could not be measured and what to do, "" if it was measured.
    """

    write: float | None = None
    read: float | None = None
    problem: str = ""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Host, link and server of a test; unknown values are None.

    Attributes:
        host: name of the host that ran the test.
        system: distribution, by os-release.
        kernel: kernel release, by uname.
        nfs_utils: version of mount.nfs.
        program: version of this program.
        memory_bytes: memory of the host.
        interface: network interface that leads to the server.
        adapter: vendor and model of the network card.
        driver: kernel driver of the network card.
        rate_bps: line rate towards the host, bits per second.
        duplex: full or half.
        mtu: maximum transmission unit, bytes.
        rtt_s: median round-trip time to the server after the test, s.
        emulated_link: name of the lab's link, None on a real link.
        server: name of the server, as in the share.
        server_address: address of the server in use.
        server_kind: id of the server in resources/servers.toml.
        server_implementation: implementation name that an NFS 4.1 server reports.
        nfs_version: NFS version in use.
        read_ahead_kb: readahead of the mount, KiB.
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
    """Request to plan a test.

    Attributes:
        spec: specification of the test.
        preset: duration for which size or file count, repeats and grid (except its patterns) are chosen. None
            only estimates the duration of the test as specified.
    """

    __test__ = False

    spec: TestSpec
    preset: Preset | None = None


class TestPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a test: its sizes, the bytes to transfer and the estimated duration.

    Attributes:
        spec: specification with chosen sizes and repeats.
        seconds: estimated duration, s; None if the link is unknown.
        bytes: bytes that will cross the network in both directions.
        free: free bytes of the file system, None if unknown.
        note: why the sizes were chosen, in one sentence.
    """

    __test__ = False

    spec: TestSpec
    seconds: float | None
    bytes: int
    free: int | None
    note: str


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of a finished test.

    Attributes:
        path: directory tested, below the share's root if a share was mounted for the test.
        nfs: whether the directory is on NFS.
        share: server:/export, or None.
        started_at: time of the start, UTC, ISO 8601.
        write: transfer to the server in the repeat with the median speed, or None.
        read: transfer from the server in the repeat with the median speed, or None.
        cache: whether reads from the client's cache were prevented.
        requested: requested option values by name ({} if unknown or not NFS).
        effective: option values in use by name.
        link: facts on the link.
        block_size: bytes of each read or write call.
        sync: whether the file was opened with O_SYNC.
        notes: sentences a reader must know: not NFS, flagged as cached, leftover files.
        workload: kind of the test.
        count: number of files.
        figures: figures over all repeats, by name. "write", "read" and "small-read" are in bytes per second.
            Many small files also have "create" (open calls in the timed write), "stat" and "delete", in files
            per second.
        enough: use cases for which the speeds suffice, a sentence for each.
        environment: host, link and server of the test, None if not recorded.
        source: the user's own file or directory that was copied, or "".
        grid: cells that fio measured.
        network: throughput of the network alone, None if it was not requested.
        server_memory: memory of the server in bytes as entered by the user, 0 if unknown.
        bottleneck: bottleneck of the slower direction, None if not NFS. Its evidence ends with the bottleneck
            of the other direction.
        as_copy: whether the block size is the call size of cp on this mount. Results of older versions, which
            used 1 MiB by default, do not record this.
        small_read: read with small calls in the repeat with the median speed, without samples.
        small_bottleneck: bottleneck of the read with small calls.
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
#: Limits of each value of a grid; fio accepts more, but larger values reveal nothing about a mount.
MIN_RECORD, MAX_RECORD = 512, 64 * 2**20
MAX_DEPTH, MAX_JOBS, MAX_CELLS = 256, 64, 1000


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """Grid of fio measurements: every combination of its values is a cell.

    Attributes:
        patterns: access patterns: sequential or random, read or write.
        records: record sizes: bytes of each request.
        depths: queue depths: requests that a job has under way at once.
        jobs: numbers of parallel jobs, each in its own part of the file.
        cell_s: measured time of a cell, s, after a warm-up of a quarter of it.
    """

    patterns: tuple[AccessPattern, ...] = ACCESS_PATTERNS
    records: tuple[int, ...] = (4096, 65536, 2**20)
    depths: tuple[int, ...] = (1, 16)
    jobs: tuple[int, ...] = (1,)
    cell_s: float = 2.0

    @property
    def warm_up_s(self) -> float:
        """Unmeasured warm-up at the start of a cell, s."""
        return self.cell_s / 4

    def cells(self) -> list[GridCell]:
        """Return the cells without results, in measuring order."""
        return [
            GridCell(pattern=pattern, record=record, depth=depth, jobs=jobs)
            for pattern in self.patterns
            for record in self.records
            for jobs in self.jobs
            for depth in self.depths
        ]

    def problem(self, size: int) -> str:
        """Return why the grid cannot run on a file of this many bytes, "" if it can."""
        checks = (
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
        return next((text for failed, text in checks if failed), "")


def _within(values: tuple[int, ...], low: int, high: int) -> bool:
    return all(low <= value <= high for value in values)


class GridRun(msgspec.Struct, frozen=True, kw_only=True):
    """One fio run of a cell, without its warm-up.

    Attributes:
        iops: requests completed per second.
        bytes_per_s: throughput of the requests.
        latency_s: mean latency of a request, from submission to completion, s.
        p95_s: 95th percentile of the latency, s; None if fio does not report it.
        p99_s: 99th percentile of the latency, s; None if fio does not report it.
        curve: pairs of time since the start of the run, s, and bytes per second (fio's bandwidth log).
        load: load on network, server and client during the run, None if not NFS.
    """

    iops: float
    bytes_per_s: float
    latency_s: float
    p95_s: float | None = None
    p99_s: float | None = None
    curve: list[tuple[float, float]] = []
    load: TransferLoad | None = None


class GridCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of a grid with its repeats.

    Attributes:
        pattern: access pattern: sequential or random, read or write.
        record: record size: bytes of each request.
        depth: queue depth of each job.
        jobs: number of parallel jobs.
        runs: measurements, one for each repeat.
        bottleneck: bottleneck of the median run, None if not NFS.
    """

    pattern: AccessPattern
    record: int
    depth: int
    jobs: int
    runs: list[GridRun] = []
    bottleneck: Bottleneck | None = None

    @property
    def name(self) -> str:
        """Description of the cell for display, unique in its grid."""
        jobs = f"{self.jobs} job" if self.jobs == 1 else f"{self.jobs} jobs"
        return f"{self.pattern} of {format_size(self.record)}, {jobs}, {self.depth} at once"

    @property
    def way(self) -> TransferDirection:
        """Direction of the transfer: to the server (write) or from it (read)."""
        return "read" if self.pattern.endswith("read") else "write"

    @property
    def is_sequential(self) -> bool:
        """Whether the requests are in ascending order without gaps."""
        return self.pattern.startswith("seq")

    @property
    def at_once(self) -> int:
        """Requests that all jobs together have under way."""
        return self.depth * self.jobs

    @property
    def median_run(self) -> GridRun | None:
        """Run with the median number of requests per second (of two in the middle, the slower), or None."""
        ordered = sorted(self.runs, key=lambda run: run.iops)
        return ordered[(len(ordered) - 1) // 2] if ordered else None


MIN_BLOCK_SIZE = 512
MAX_BLOCK_SIZE = 256 * 2**20
#: Limit of a quick test; removing more files after the worker was killed would take too long.
MAX_FILES = 20_000
#: More threads reveal nothing about a mount.
MAX_STREAMS = 64
_MAX_COUNT = {"files": MAX_FILES, "streams": MAX_STREAMS, "own": MAX_FILES}


def block_size_problem(block_size: int) -> str:
    """Return why a call of this many bytes is not allowed, "" if it is."""
    if MIN_BLOCK_SIZE <= block_size <= MAX_BLOCK_SIZE:
        return ""
    return "The block size must be between 512 bytes and 256 MiB."


def file_count_problem(workload: str, count: int) -> str:
    """Return why a test of this workload cannot have this number of files, "" if it can."""
    most = _MAX_COUNT.get(workload, 1)
    if 1 <= count <= most:
        return ""
    if most == 1:
        return "This test is of one file, not of several."
    return f"The number of files must be between 1 and {most} for this test."
