"""Health monitor: watches whether the servers of this host's mounts respond, and which mounts are stale.

This process reads kernel tables and calls servers, but never accesses a mount. A child process, which can
be abandoned, accesses the mounts. Mounts below an automount are not checked, because access would keep
them from expiring or trigger the automount.
"""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING, NamedTuple, Self

import msgspec

from advisor.options import MountOptions
from app.errors import printable
from app.kernel import mountinfo
from app.kernel.kmsg import unresponsive_servers
from app.kernel.mountstats import parse_xprts, read_text
from app.kernel.tcp_info import NFS_PORT, SockDiag
from app.mounts.model import MountTrouble
from app.mounts.probe_exclusion import ProbeExclusion
from app.stats.health import SILENT_S, ServerCounters, ServerHealth
from app.stats.null_call import null_call
from app.stats.stale_check import StaleCheck
from app.tasks import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Mapping
    from concurrent.futures import Future

    from app.kernel.mountinfo import MountInfo, MountRow
    from app.kernel.tcp_info import TcpConnection
    from app.mounts.model import Mount, TroubleReason
    from app.stats.stale_check import StaleAnswer

#: Interval between updates, s.
_TICK_S = 0.5
#: Largest part of one processor's time spent on updates; thousands of mounts are updated less often.
_SHARE_OF_TIME = 0.02
#: Timeout of a NULL call, s.
_CALL_S = 2.0
#: Most NULL calls running at once; each to a dead server blocks a thread.
_CALLS_AT_ONCE = 32
#: Most NULL calls started per update, which spreads the calls to hundreds of idle servers.
_CALLS_PER_TICK = 8
#: Shorter silence, interval and time limit of a single check, for which a user waits, s.
_ONCE_SILENT_S = 2.0
_ONCE_TICK_S = 0.05
_ONCE_LIMIT_S = 6.0
#: Interval between stale checks of one mount, s.
_STALE_S = 4.0
#: Shortest mean interval between stale checks of any two mounts, s.
_STALE_SHARE_S = 0.1
#: Time until a stale answer is checked again, s: a restarting server may answer before it exports everything.
_STALE_AGAIN_S = 1.0
#: Timeout of a stale check, s.
_STALE_ANSWER_S = 2.0
#: Stale answers in a row until a mount counts as stale.
_STALE_ANSWERS = 2
#: Time until a mount that did not answer is checked again, s.
_STALE_SILENT_S = 10.0
_AUTOFS = "autofs"


class WatchedServer(NamedTuple):
    """An NFS server used by one or more mounts.

    Attributes:
        address: numeric address.
        port: NFS port.
        version: NFS major version, 3 or 4.
        tcp: whether the mounts use TCP.
    """

    address: str
    port: int
    version: int
    tcp: bool


class WatchedMount(NamedTuple):
    """A mount whose health is monitored.

    Attributes:
        server: server of the mount.
        host: server name in the share.
        mount_id: mount ID from mountinfo.
        askable: whether the stale check may access it.
        by_user: whether the server identifies users by their user ID alone (sec=sys).
    """

    server: WatchedServer
    host: str
    mount_id: int
    askable: bool
    by_user: bool

    def reason(self, answer: StaleAnswer) -> TroubleReason | None:
        """Return the reason why the answer of a stale check means stale, None if it does not."""
        if answer == "stale":
            return ""
        return "withdrawn" if answer == "refused" and self.by_user else None


class ServerWatch:
    """Watches the servers of all NFS mounts; used by one thread.

    Args:
        root: directory that contains proc and dev.
        once: whether this is a single check. It has shorter timeouts, and knows the start of an outage only
            from the connections and the kernel log.

    Attributes:
        targets: monitored mounts by mount point.
    """

    def __init__(self, root: str = "/", *, once: bool = False) -> None:
        self.targets: dict[str, WatchedMount] = {}
        self._root = root
        self._once = once
        self._health: dict[WatchedServer, ServerHealth] = {}
        self._down_since: dict[WatchedServer, float | None] = {}
        #: Unix time of the last sign of life of each server with outstanding data, and of its last data.
        self._last_heard: dict[WatchedServer, float] = {}
        self._last_data: dict[WatchedServer, float] = {}
        self._calls: dict[WatchedServer, tuple[float, Future[TroubleReason]]] = {}
        self._own_ports: set[int] = set()
        self._diag: SockDiag | None = None
        with contextlib.suppress(OSError):  # a sandbox may lack netlink; the other sources still work
            self._diag = SockDiag()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._diag is not None:
            self._diag.close()

    @property
    def is_decided(self) -> bool:
        """Whether each server is known to respond or known not to respond."""
        return all(health.is_decided for health in self._health.values())

    def suspects(self) -> set[str]:
        """Return the mount points whose server may not respond."""
        return {point for point, target in self.targets.items() if self._health[target.server].is_suspect}

    def troubles(self) -> dict[str, MountTrouble]:
        """Return the trouble of each mount whose server does not respond, by mount point."""
        found: dict[str, MountTrouble] = {}
        for point, target in self.targets.items():
            health = self._health[target.server]
            if health.down_since is not None:
                since = self._down_since.get(target.server)
                found[point] = MountTrouble(
                    state="not-responding", since=since, reason=health.reason or "silent"
                )
        return found

    def update(self) -> None:
        """Read the kernel tables, record finished NULL calls and start those that are due."""
        self._read_targets()
        now = time.monotonic()
        self._record_calls(now)
        counters = self._counters()
        for server, health in self._health.items():
            health.update(now, counters[server])
        due = [server for server in self._health if server not in self._calls]
        due = [server for server in due if self._health[server].wants_call(now)]
        due.sort(key=lambda server: not self._health[server].is_suspect)
        for server in due[: min(_CALLS_PER_TICK, _CALLS_AT_ONCE - len(self._calls))]:
            self._calls[server] = (now, run_in_thread("null-call", self._caller(server)))
        self._record_down_since(now)

    def _caller(self, server: WatchedServer) -> Callable[[], TroubleReason]:
        return lambda: null_call(server.address, server.port, server.version, _CALL_S, self._own_ports)

    def _read_targets(self) -> None:
        info = mountinfo.read(self._root)
        self.targets = {
            printable(row.mount_point): target
            for row in info.nfs_rows()
            if info.is_visible(row) and (target := _watched_mount(info, row)) is not None
        }
        servers = {target.server for target in self.targets.values()}
        now = time.monotonic()
        for server in servers - self._health.keys():
            silent_s = _ONCE_SILENT_S if self._once else SILENT_S
            self._health[server] = ServerHealth(now, silent_s=silent_s, called_by_tcp=server.tcp)
        for server in self._health.keys() - servers:
            del self._health[server]
            for records in (self._calls, self._last_heard, self._last_data):
                records.pop(server, None)

    def _record_calls(self, now: float) -> None:
        for server, (began, call) in list(self._calls.items()):
            if not call.done():
                continue
            del self._calls[server]
            reason = call.result()
            if reason:
                self._health[server].failed(began, now, reason)
            else:
                self._health[server].answered(now)

    def _counters(self) -> dict[WatchedServer, ServerCounters]:
        xprts = {printable(point): found for point, found in parse_xprts(read_text(self._root)).items()}
        progress: dict[WatchedServer, dict[Hashable, int]] = {server: {} for server in self._health}
        outstanding: dict[WatchedServer, dict[str, int]] = {server: {} for server in self._health}
        for point, target in self.targets.items():
            for number, xprt in enumerate(xprts.get(point, ())):
                progress[target.server]["xprt", point, number] = xprt.receives
            sums = [x.sends - x.receives - x.bad_xids for x in xprts.get(point, ())]
            outstanding[target.server][point] = sum(sums)
        flying = {server: self._record_connections(server, progress[server]) for server in self._health}
        return {
            server: ServerCounters(progress[server], outstanding[server], flying[server])
            for server in self._health
        }

    def _record_connections(self, server: WatchedServer, progress: dict[Hashable, int]) -> bool:
        """Add the bytes acknowledged and received to ``progress``; return whether data are unacknowledged."""
        if self._diag is None or not server.tcp:
            return False
        with contextlib.suppress(OSError, ValueError):
            found = [
                connection
                for connection in self._diag.connections(server.address, server.port)
                if connection.source_port not in self._own_ports  # not a NULL call of this process
            ]
            for connection in found:
                progress["tcp", connection.cookie] = connection.bytes_acked + connection.bytes_received
            self._record_last_heard(server, found)
            return any(connection.unacked > 0 for connection in found)
        return False

    def _record_last_heard(self, server: WatchedServer, connections: list[TcpConnection]) -> None:
        """Record when the server was last heard; without a connection, keep the previous times."""
        if not connections:
            return
        now = time.time()
        self._last_data[server] = now - min(connection.last_data_ms for connection in connections) / 1000
        # An idle connection does not show whether the server has disappeared.
        self._last_heard.pop(server, None)
        if any(connection.is_waiting for connection in connections):
            self._last_heard[server] = now - min(connection.heard_ms for connection in connections) / 1000

    def _record_down_since(self, now: float) -> None:
        """Record the start of each outage as Unix time while it lasts."""
        down = {server for server, health in self._health.items() if health.down_since is not None}
        self._down_since = {server: since for server, since in self._down_since.items() if server in down}
        fresh = down - self._down_since.keys()
        logged_times = unresponsive_servers(self._root) if fresh else {}
        for server in fresh:
            health = self._health[server]
            first_unanswered = time.time() - (now - (health.down_since or now))
            self._down_since[server] = (
                first_unanswered
                if health.seen_alive
                else self._estimate_down_since(server, first_unanswered, logged_times)
            )

    def _estimate_down_since(
        self, server: WatchedServer, first_unanswered: float, logged_times: Mapping[str, float]
    ) -> float | None:
        """Return the Unix time at which a server that was down at the first update went down.

        Args:
            server: the server.
            first_unanswered: Unix time of the first unanswered NULL call.
            logged_times: times of "server not responding" in the kernel log, by host.

        Returns:
            The best estimate; None for a single check without any record.
        """
        if server in self._last_heard:
            return min(self._last_heard[server], first_unanswered)
        hosts = {target.host for target in self.targets.values() if target.server == server}
        # A log entry older than the last data belongs to an earlier outage.
        logged = [
            logged_times[host]
            for host in hosts & logged_times.keys()
            if logged_times[host] >= self._last_data.get(server, 0.0)
        ]
        return min(logged, default=None if self._once else first_unanswered)


class HealthMonitor:
    """Reports mounts in trouble: monitors while there are listeners, checks once otherwise.

    Args:
        root: directory that contains proc and dev.
        questions: excludes mounts that must not be accessed at the moment, for example during an unmount.
    """

    def __init__(self, root: str = "/", questions: ProbeExclusion | None = None) -> None:
        self._root = root
        self._probe_exclusion = questions or ProbeExclusion()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._stop: threading.Event | None = None
        self._silent: dict[str, MountTrouble] = {}
        self._suspects: set[str] = set()
        self._targets: dict[str, WatchedMount] = {}
        self._stale: dict[str, MountTrouble] = {}

    def troubles(self) -> dict[str, MountTrouble]:
        """Return the trouble of each mount that has one, by mount point."""
        with self._lock:
            if self._stop is not None:
                return {**self._stale, **self._silent}
        return self.check_once()

    @contextlib.contextmanager
    def watching(self, changed: Callable[[], None]) -> Generator[None]:
        """Monitor inside the ``with`` block; call ``changed`` on another thread at each change."""
        with self._lock:
            self._listeners.append(changed)
            if self._stop is None:
                self._stop = stop = threading.Event()
                run_in_thread("health", lambda: self._watch_servers(stop))
                run_in_thread("stale-mounts", lambda: self._watch_stale(stop))
        try:
            yield
        finally:
            self._remove_listener(changed)

    def _remove_listener(self, changed: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(changed)
            if not self._listeners and self._stop is not None:
                self._stop.set()
                self._stop = None
                self._silent, self._stale, self._suspects, self._targets = {}, {}, set(), {}

    def check_once(self) -> dict[str, MountTrouble]:
        """Check all mounts once and return the troubles by mount point; takes at most some seconds."""
        end = time.monotonic() + _ONCE_LIMIT_S
        with ServerWatch(self._root, once=True) as watched, contextlib.suppress(FileNotFoundError):
            watched.update()
            while not watched.is_decided and time.monotonic() < end:
                threading.Event().wait(_ONCE_TICK_S)
                watched.update()
            found = watched.troubles()
            checkable = {
                point: target
                for point, target in watched.targets.items()
                if target.askable and point not in found
            }
            return {**_check_stale_once(checkable), **found}
        return {}

    def _watch_servers(self, stop: threading.Event) -> None:
        with ServerWatch(self._root) as watched:
            while True:
                began = time.monotonic()
                with contextlib.suppress(OSError):  # the kernel's NFS client module is not loaded
                    watched.update()
                    self._publish(stop, watched)
                if stop.wait(max(_TICK_S, (time.monotonic() - began) / _SHARE_OF_TIME)):
                    return

    def _publish(self, stop: threading.Event, watched: ServerWatch) -> None:
        with self._lock:
            if stop.is_set():
                return
            self._suspects, self._targets = watched.suspects(), watched.targets
            now = watched.troubles()
            changed = now != self._silent
            self._silent = now
        if changed:
            self._notify()

    def _notify(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def _watch_stale(self, stop: threading.Event) -> None:
        """Run stale checks on the mounts whose servers respond, one mount at a time."""
        check = StaleCheck()
        due: dict[str, float] = {}
        answers: dict[str, int] = {}
        try:
            while not stop.wait(_TICK_S / 2):
                with self._lock:
                    checkable = {
                        point: target for point, target in self._targets.items()
                        if target.askable and point not in self._suspects
                    }  # fmt: skip
                    unmounted = self._stale.keys() - self._targets.keys()
                for point, target in checkable.items():
                    if stop.is_set() or due.get(point, 0.0) > time.monotonic():
                        continue
                    if not self._probe_exclusion.begin(point):
                        continue
                    try:
                        answer = check.ask(point, target.mount_id, _STALE_ANSWER_S)
                    finally:
                        self._probe_exclusion.end(point)
                    reason = target.reason(answer)
                    answers[point] = 0 if reason is None else answers.get(point, 0) + 1
                    self._record_answer(stop, point, reason, sure=answers[point] >= _STALE_ANSWERS)
                    interval = max(_STALE_S, len(checkable) * _STALE_SHARE_S)
                    wait = _STALE_AGAIN_S if answers[point] == 1 else interval
                    due[point] = time.monotonic() + (_STALE_SILENT_S if answer == "silent" else wait)
                for point in unmounted:
                    self._record_answer(stop, point, None, sure=True)
                for records in (due, answers):
                    for point in records.keys() - checkable.keys():
                        del records[point]
        finally:
            check.close()

    def _record_answer(
        self, stop: threading.Event, point: str, reason: TroubleReason | None, *, sure: bool
    ) -> None:
        with self._lock:
            previous = self._stale.get(point)
            if stop.is_set() or (previous is None and (reason is None or not sure)):
                return
            if reason is None:
                del self._stale[point]
            elif previous is None or previous.reason != reason:
                since = time.time() if previous is None else previous.since
                self._stale[point] = MountTrouble(state="stale", since=since, reason=reason)
            else:
                return
        self._notify()


def with_trouble(mount: Mount, troubles: Mapping[str, MountTrouble]) -> Mount:
    """Return the mount with the state, time and reason of its trouble, unchanged if it has none."""
    trouble = troubles.get(mount.mount_point)
    if trouble is None or mount.active is None:
        return mount
    return msgspec.structs.replace(mount, state=trouble.state, since=trouble.since, reason=trouble.reason)


def _check_stale_once(checkable: Mapping[str, WatchedMount]) -> dict[str, MountTrouble]:
    found: dict[str, MountTrouble] = {}
    check = StaleCheck()
    try:
        for point, target in checkable.items():
            answers: list[TroubleReason | None] = [
                target.reason(check.ask(point, target.mount_id, _STALE_ANSWER_S))
            ]
            if answers[0] is not None:
                answers.append(target.reason(check.ask(point, target.mount_id, _STALE_ANSWER_S)))
            reason: TroubleReason | None = answers[-1]
            if reason is not None:
                found[point] = MountTrouble(state="stale", reason=reason)
    finally:
        check.close()
    return found


def _watched_mount(info: MountInfo, row: MountRow) -> WatchedMount | None:
    """Return the monitored mount of a mountinfo row, None if its options lack the server's address."""
    options = MountOptions.parse(row.super_options)
    address = options.get("addr") or ""
    if not address:
        return None
    port, version = options.get("port") or "", options.get("vers") or ""
    tcp = (options.get("proto") or "tcp").startswith("tcp")
    server = WatchedServer(
        address=address,
        port=int(port) if tcp and port.isdigit() and int(port) else NFS_PORT,
        version=3 if version.startswith("3") else 4,
        tcp=tcp,
    )
    host = row.source.rpartition(":/")[0].removeprefix("[").removesuffix("]")
    by_user = (options.get("sec") or "sys") == "sys"
    return WatchedMount(server, host, row.mount_id, askable=not _is_automounted(info, row), by_user=by_user)


def _is_automounted(info: MountInfo, row: MountRow) -> bool:
    by_id = {mount.mount_id: mount for mount in info.rows}
    visited: set[int] = set()
    above: MountRow | None = row
    while above is not None and above.mount_id not in visited:
        if above.fstype == _AUTOFS:
            return True
        visited.add(above.mount_id)
        above = by_id.get(above.parent_id)
    return False
