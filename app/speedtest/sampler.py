"""Sampler of a running transfer: counters of the mount, its connections and the host, 20 times a second.

It samples on its own thread, also during fsync and close: on a slow link write() returns at memory speed,
and only the server's byte counter shows the throughput of the link.

Sources: /proc/self/mountstats, TCP_INFO of the mount's connections (tcp(7)), /proc/stat and /proc/net/dev
(proc(5)), times(2) of the worker itself.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from advisor.bottleneck import InterfaceTraffic, TransferLoad
from app.kernel.mountstats import COMMIT_OPS, READ_OPS, WRITE_OPS, parse_one, read_text, sum_ops, totals
from app.kernel.tcp_info import RetransCounter, SockDiag
from app.speedtest.messages import WorkerMessage
from app.speedtest.model import SAMPLE_INTERVAL_S, Sample, TestEvent

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.kernel.mount_of_path import MountOfPath
    from app.kernel.mountstats import MountStats
    from app.kernel.tcp_info import TcpConnection
    from app.speedtest.model import TestPhase

_ALIVE_INTERVAL_S = 1.0

TransferDirection = Literal["write", "read"]


class TransferProgress:
    """Progress shared between the transferring thread and the sampler.

    Attributes:
        bytes: bytes for which calls of the present transfer have returned.
        steps: number of finished operations that move no file data.
        stopped: set to end the transfer at the next block.
        parts: progress of the parallel streams of the transfer.
    """

    __slots__ = ("bytes", "parts", "steps", "stopped")

    def __init__(self) -> None:
        self.bytes = 0
        self.steps = 0
        self.stopped = False
        self.parts: list[TransferProgress] = []

    @property
    def moved(self) -> int:
        """Bytes of the transfer including its parallel streams."""
        return self.bytes + sum(part.bytes for part in self.parts)


class TransferSampler:
    """Samples transfers, one after another.

    Args:
        probe: reader of the mount's counters.
        progress: progress of the transferring thread.
        send: sends a message; called by both threads, one at a time.

    Attributes:
        probe: reader of the mount's counters.
        progress: progress of the transferring thread.
        round: number of the current repeat.
        load: sampler of the load on network and host.
        last_load: load during the last finished transfer.
    """

    last_load: TransferLoad | None = None

    def __init__(
        self, probe: CounterReader, progress: TransferProgress, send: Callable[[WorkerMessage], None]
    ) -> None:
        self.probe = probe
        self.progress = progress
        self._send = send
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self.round = 0
        self.load = HostLoadSampler()
        self._direction: TransferDirection = "write"
        self._phase: TestPhase = "prepare"
        self._active = False
        self._waits_for_request = False
        self._began = 0.0
        self._base = TransferCounters()
        self._last = TransferCounters()
        self._samples: list[Sample] = []
        self._watch_start = (TransferCounters(), 0.0)
        self._last_activity: tuple[int, ...] = ()
        self._reported_phase: TestPhase | None = None
        self._has_activity: bool = False
        self._alive_at = 0.0
        self._thread = threading.Thread(target=self._run, name="bench-meter", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the probe."""
        self._ended.set()
        self._thread.join()
        self.probe.close()

    def phase(self, direction: TransferDirection, phase: TestPhase) -> None:
        """Report the beginning of a phase."""
        with self._lock:
            self._direction, self._phase = direction, phase
            self._send(WorkerMessage(event=TestEvent(direction=direction, phase=phase, round=self.round)))

    def begin(
        self, direction: TransferDirection, phase: TestPhase, *, asleep: bool = False, total: int = 0
    ) -> float:
        """Start a transfer and return its start time on the monotonic clock, s.

        Args:
            direction: direction of the transfer.
            phase: first phase of the transfer.
            asleep: another program makes the transfer and is still starting; time 0 is its first request.
            total: bytes that the transfer will move, 0 if unknown.
        """
        with self._lock:
            self._direction, self._phase = direction, phase
            self.progress.bytes = 0
            self._samples = []
            self.load.begin()
            self._base = self._last = self.probe.look()
            self._active = True
            self._waits_for_request = asleep and self.probe.nfs
            event = TestEvent(direction=direction, phase=phase, round=self.round, total=total)
            self._send(WorkerMessage(event=event))
            self._add_sample(self._base, 0.0)
            self._began = time.monotonic()
            return self._began

    @property
    def asked(self) -> bool:
        """Whether the transfer has sent its first request."""
        return self._active and not self._waits_for_request

    def watch(self) -> None:
        """Set the starting point of :meth:`watched`, after the start and warm-up of another program."""
        with self._lock:
            self._watch_start = (self.probe.look(), time.monotonic())
            self.load.begin()

    def watched(self) -> TransferLoad:
        """Return the load since the last call of `watch`; its bytes are those of the server's counters."""
        with self._lock:
            base, began = self._watch_start
            added = self.probe.look().since(base)
            moved = added.server_read if self._direction == "read" else added.server_written
            return self.load.end(time.monotonic() - began, moved, added)

    def finish(self) -> tuple[TransferCounters, list[Sample]]:
        """End a transfer with a last sample; return the increase of the counters, and all samples."""
        with self._lock:
            counters = self.probe.look()
            self._add_sample(counters, time.monotonic() - self._began)
            self._active = self._waits_for_request = False
            added = counters.since(self._base)
            self.last_load = self.load.end(self._samples[-1].t_s, self.progress.moved, added)
            return added, self._samples

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            due = max(due + SAMPLE_INTERVAL_S, now)
            if self._ended.wait(due - now):
                return
            with self._lock:
                if self._ended.is_set():
                    return
                counters = self.probe.look()
                if self._waits_for_request:
                    self._check_first_request(counters)
                elif self._active:
                    self._add_sample(counters, time.monotonic() - self._began)
                self._report_alive(counters)

    def _check_first_request(self, counters: TransferCounters) -> None:
        """Keep the transfer at time 0 until a request to the server shows in the counters."""
        added = counters.since(self._base)
        self._waits_for_request = added.calls + added.segments == 0
        if self._waits_for_request:
            self._base = self._last = counters
            self._began = time.monotonic()
        else:
            self._add_sample(counters, time.monotonic() - self._began)

    def _add_sample(self, counters: TransferCounters, t_s: float) -> None:
        added, step = counters.since(self._base), counters.since(self._last)
        self._last = counters
        done = self.progress.moved
        self.load.take(self.probe)
        if self._direction == "read":
            server, ops, rtt_ms = added.server_read, step.read_ops, step.read_rtt_ms
        else:
            server, ops, rtt_ms = added.server_written, step.write_ops, step.write_rtt_ms
        sample = Sample(
            t_s=t_s,
            bytes=done,
            server_bytes=server if self.probe.nfs else done,
            timeouts=added.timeouts,
            retransmissions=added.tcp_retransmissions if self.probe.tcp else added.rpc_retransmissions,
            rtt_s=rtt_ms / ops / 1000 if ops else None,
        )
        self._samples.append(sample)
        event = TestEvent(direction=self._direction, phase=self._phase, sample=sample, round=self.round)
        self._send(WorkerMessage(event=event))

    def _report_alive(self, counters: TransferCounters) -> None:
        """Send a sign of life, at most once a second, while the counters increase.

        A directory that is not on NFS has no such counters: its sign of life needs no increase.
        """
        now = time.monotonic()
        # Timeouts and retransmissions also increase while the server is down. The byte counters of an
        # abandoned connection disappear. Therefore only an increase of these counters is a sign of life.
        activity = (
            counters.server_read, counters.server_written, counters.read_ops, counters.write_ops,
            counters.tcp_bytes, self.progress.moved, self.progress.steps,
        )  # fmt: skip
        grown = not self._last_activity or any(
            new > old for new, old in zip(activity, self._last_activity, strict=True)
        )
        self._has_activity = (
            self._has_activity or grown or self._phase != self._reported_phase or not self.probe.nfs
        )
        self._last_activity, self._reported_phase = activity, self._phase
        if self._has_activity and now - self._alive_at >= _ALIVE_INTERVAL_S:
            self._alive_at, self._has_activity = now, False
            self._send(WorkerMessage(alive=True))


class TransferCounters(NamedTuple):
    """Counters of a mount at one moment; all 0 if the directory is not on NFS.

    Attributes:
        server_read: payload bytes received from the server.
        server_written: payload bytes sent to the server.
        timeouts: RPC major timeouts.
        rpc_retransmissions: transmissions minus operations.
        tcp_retransmissions: segments retransmitted on the mount's connections since the probe was created.
        read_ops: READ and READ_PLUS requests answered.
        read_rtt_ms: sum of the round-trip times of READ and READ_PLUS requests.
        write_ops: WRITE requests answered.
        write_rtt_ms: sum of the round-trip times of WRITE requests.
        calls: requests of any kind answered.
        tcp_bytes: bytes acknowledged and received by the connections; they grow while the server answers.
        rtt_ms: sum of the round-trip times of all requests.
        queue_ms: sum of the times that requests waited before they were sent.
        commit_ms: sum of the round-trip times of COMMIT requests.
        segments: TCP segments with data sent.
        segments_received: TCP segments with data received.
        disordered: TCP segments received out of order.
        window_us: time that the server's receive window kept TCP from sending.
    """

    server_read: int = 0
    server_written: int = 0
    timeouts: int = 0
    rpc_retransmissions: int = 0
    tcp_retransmissions: int = 0
    read_ops: int = 0
    read_rtt_ms: int = 0
    write_ops: int = 0
    write_rtt_ms: int = 0
    calls: int = 0
    tcp_bytes: int = 0
    rtt_ms: int = 0
    queue_ms: int = 0
    commit_ms: int = 0
    segments: int = 0
    segments_received: int = 0
    disordered: int = 0
    window_us: int = 0

    def since(self, before: TransferCounters) -> TransferCounters:
        """Return the increase since earlier counters; the increase of a counter that was reset is 0."""
        return TransferCounters(*(max(new - old, 0) for new, old in zip(self, before, strict=True)))


class CounterReader:
    """Reads the counters of the mount of a directory.

    Args:
        where: the mount, or None if it is unknown.

    Attributes:
        nfs: whether the mount is NFS and has counters.
        tcp: whether the counters of its TCP connections are available.
        tcp_s: TCP's smoothed round-trip time at the last reading, mean of the connections, s; 0 without.
        unsent: bytes in the client's send queues at the last reading.
    """

    def __init__(self, where: MountOfPath | None) -> None:
        self._where = where
        self.nfs = where is not None and where.nfs
        self._address, self._port = where.server if where is not None and where.nfs else ("", 0)
        self._retransmissions = RetransCounter()
        self._connections: list[TcpConnection] = []
        self.tcp_s = 0.0
        self.unsent = 0
        self._diag: SockDiag | None = None
        if where is not None and where.tcp and self._address:
            try:
                self._diag = SockDiag()
                self._update_connections()
            except (OSError, ValueError):
                # Some sandboxes forbid netlink: the test runs without the figures of the connections.
                self._close_diag()

    @property
    def tcp(self) -> bool:
        """Whether the counters of the TCP connections are available."""
        return self._diag is not None

    def look(self) -> TransferCounters:
        """Return the current counters."""
        stats = self._stats()
        if stats is None:
            return TransferCounters()
        try:
            self._update_connections()
        except OSError:
            self._close_diag()
        sums = totals(stats)
        reads, writes = sum_ops(stats, READ_OPS), sum_ops(stats, WRITE_OPS)
        connections = self._connections
        return TransferCounters(
            server_read=sums.server_read,
            server_written=sums.server_written,
            timeouts=sums.timeouts,
            rpc_retransmissions=sums.retransmissions,
            tcp_retransmissions=self._retransmissions.segments,
            read_ops=sum(op.ops for op in reads),
            read_rtt_ms=sum(op.rtt_ms for op in reads),
            write_ops=sum(op.ops for op in writes),
            write_rtt_ms=sum(op.rtt_ms for op in writes),
            calls=sums.ops,
            tcp_bytes=sum(item.bytes_acked + item.bytes_received for item in connections),
            rtt_ms=sums.rtt_ms,
            queue_ms=sums.queue_ms,
            commit_ms=sum(op.rtt_ms for op in sum_ops(stats, COMMIT_OPS)),
            segments=sum(item.data_segs_out for item in connections),
            segments_received=sum(item.data_segs_in for item in connections),
            disordered=sum(item.disordered for item in connections),
            window_us=sum(item.window_us for item in connections),
        )

    def close(self) -> None:
        """Close the netlink socket."""
        self._close_diag()

    def _stats(self) -> MountStats | None:
        if not self.nfs or self._where is None:
            return None
        try:
            return parse_one(read_text(), self._where.mount_point)
        except OSError:
            return None

    def _update_connections(self) -> None:
        if self._diag is None:
            return
        connections = self._connections = self._diag.connections(self._address, self._port)
        self._retransmissions.update(connections)
        self.tcp_s = sum(item.rtt_us for item in connections) / max(len(connections), 1) / 1e6
        self.unsent = sum(item.unsent_bytes for item in connections)

    def _close_diag(self) -> None:
        if self._diag is not None:
            self._diag.close()
            self._diag = None


#: Fields of /proc/stat: user nice system idle iowait irq softirq steal; user and nice include the later ones.
_STAT_FIELDS = 8
_IDLE, _IOWAIT = 3, 4
#: Fields of /proc/stat for time in the kernel: system, irq, softirq.
_KERNEL = (2, 5, 6)
#: Fields of /proc/net/dev: eight for receiving, then eight for sending; bytes are first, drops fourth.
_SENT_FIELDS, _DROP_FIELD = 8, 3
#: Fewer clock ticks than this (1/100 s each) are too few for a fraction.
_MIN_TICKS = 20


class HostCounters(NamedTuple):
    """Counters of the host at one moment.

    Attributes:
        processors: by name: busy ticks, kernel ticks, all ticks; "cpu" is the sum of all processors.
        worker_s: processor time of this process, s.
        interfaces: by name: bytes received, bytes sent, packets dropped.
    """

    processors: dict[str, tuple[int, int, int]]
    worker_s: float
    interfaces: dict[str, tuple[int, int, int]]


def read_host_counters(root: str = "/") -> HostCounters:
    """Return the current counters; unreadable ones are left out."""
    used = os.times()
    return HostCounters(
        processors=_parse_proc_stat(_read_proc_file(root, "proc/stat")),
        worker_s=used.user + used.system,
        interfaces=_parse_net_dev(_read_proc_file(root, "proc/net/dev")),
    )


class HostLoadSampler:
    """Measures the load on network and host during transfers, one after another.

    Attributes:
        network_s: round-trip time of an RPC NULL call before the test, s; None if unknown.
    """

    def __init__(self) -> None:
        self.network_s: float | None = None
        self._before = read_host_counters()
        self._rtt_samples: list[float] = []
        self._unsent: list[int] = []

    def begin(self) -> None:
        """Store the counters at the start of a transfer."""
        self._before = read_host_counters()
        self._rtt_samples, self._unsent = [], []

    def take(self, probe: CounterReader) -> None:
        """Store round-trip time and unsent bytes of the connections, as last read by the probe."""
        if probe.tcp:
            self._rtt_samples.append(probe.tcp_s)
            self._unsent.append(probe.unsent)

    def end(self, seconds: float, done: int, added: TransferCounters) -> TransferLoad:
        """Return the load during the transfer.

        Args:
            seconds: duration of the transfer, s.
            done: bytes of the transfer.
            added: increase of the mount's counters.
        """
        before, after = self._before, read_host_counters()
        busy, kernel = _cpu_shares(before, after, 0), _cpu_shares(before, after, 1)
        kernel.pop("cpu", None)
        return TransferLoad(
            seconds=seconds,
            bytes=done,
            calls=added.calls,
            rtt_s=added.rtt_ms / 1e3,
            queue_s=added.queue_ms / 1e3,
            commit_s=added.commit_ms / 1e3,
            network_s=self.network_s,
            tcp_s=sum(self._rtt_samples) / len(self._rtt_samples) if self._rtt_samples else None,
            unsent=sum(self._unsent) / len(self._unsent) if self._unsent else 0.0,
            window_s=added.window_us / 1e6,
            segments=added.segments,
            again=added.tcp_retransmissions,
            received=added.segments_received,
            disordered=added.disordered,
            cpu=busy.get("cpu"),
            core=max(kernel.values(), default=None),
            worker=(after.worker_s - before.worker_s) / max(seconds, 1e-9),
            interfaces=_interface_traffic(before, after),
        )


def _cpu_shares(before: HostCounters, after: HostCounters, index: int) -> dict[str, float]:
    """Return the fraction of time in one tick counter, by processor; `index` selects the counter."""
    shares: dict[str, float] = {}
    for name, ticks in after.processors.items():
        old = before.processors.get(name, (0, 0, 0))
        whole = ticks[-1] - old[-1]
        if whole >= _MIN_TICKS:
            shares[name] = max(0.0, ticks[index] - old[index]) / whole
    return shares


def _interface_traffic(before: HostCounters, after: HostCounters) -> dict[str, InterfaceTraffic]:
    """Return the traffic of each active interface; those whose counters were reset are left out."""
    traffic: dict[str, InterfaceTraffic] = {}
    for name, counters in after.interfaces.items():
        received, sent, drops = (
            new - old for new, old in zip(counters, before.interfaces.get(name, (0, 0, 0)), strict=True)
        )
        if received >= 0 and sent >= 0 and received + sent:
            traffic[name] = InterfaceTraffic(received=received, sent=sent, drops=max(drops, 0))
    return traffic


def _parse_proc_stat(text: str) -> dict[str, tuple[int, int, int]]:
    processors: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        name, *fields = line.split()
        if not name.startswith("cpu"):
            break
        ticks = [int(word) for word in fields[:_STAT_FIELDS]]
        if len(ticks) > _IOWAIT:
            busy = sum(ticks) - ticks[_IDLE] - ticks[_IOWAIT]
            processors[name] = (
                busy,
                sum(ticks[index] for index in _KERNEL if index < len(ticks)),
                sum(ticks),
            )
    return processors


def _parse_net_dev(text: str) -> dict[str, tuple[int, int, int]]:
    interfaces: dict[str, tuple[int, int, int]] = {}
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        fields = rest.split()
        if colon and len(fields) > _SENT_FIELDS + _DROP_FIELD and all(word.isdigit() for word in fields):
            numbers = [int(word) for word in fields]
            drops = numbers[_DROP_FIELD] + numbers[_SENT_FIELDS + _DROP_FIELD]
            interfaces[name.strip()] = (numbers[0], numbers[_SENT_FIELDS], drops)
    return interfaces


def _read_proc_file(root: str, path: str) -> str:
    try:
        return Path(root, path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
