"""Health monitor: watches whether the servers of this host's mounts respond, and whether a mount is stale.

Tables of the kernel are read, servers are called, and a child that can be abandoned asks the mounts: this
process touches none. A mount below an automount is not asked: that would keep it from expiring, or wake it.
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

_TICK_S = 0.5
#: Of one processor: with thousands of mounts, looks are taken less often.
_SHARE_OF_TIME = 0.02
_CALL_S = 2.0
#: At most so many servers are called at once: a dead one holds a thread for a while.
_CALLS_AT_ONCE = 32
#: Hundreds of idle servers are called one after the other.
_CALLS_PER_TICK = 8
#: A single look has less patience, because a person waits for it.
_ONCE_SILENT_S = 2.0
_ONCE_TICK_S = 0.05
_ONCE_LIMIT_S = 6.0
#: Each mount is asked so often, and once more so soon if it says that it is stale: a server that restarts can
#: answer before it has exported everything.
_STALE_S = 4.0
#: With many mounts each waits longer: no more are asked than one in this time.
_STALE_SHARE_S = 0.1
_STALE_AGAIN_S = 1.0
_STALE_ANSWER_S = 2.0
_STALE_ANSWERS = 2
#: A mount that did not answer the child is left alone for a while.
_STALE_SILENT_S = 10.0
_AUTOFS = "autofs"


class WatchedServer(NamedTuple):
    """A server as the clients here see it.

    Attributes:
        address: numeric.
        port: of NFS.
        version: 3 or 4.
        tcp: whether requests travel over TCP.
    """

    address: str
    port: int
    version: int
    tcp: bool


class WatchedMount(NamedTuple):
    """A mount that is watched.

    Attributes:
        server: whom it needs.
        host: the server's name as the share has it.
        mount_id: number of the mount.
        askable: whether the child may ask it.
        by_user: whether the server knows who asks by the user's number alone (sec=sys).
    """

    server: WatchedServer
    host: str
    mount_id: int
    askable: bool
    by_user: bool

    def reason(self, answer: StaleAnswer) -> TroubleReason | None:
        """Return why the mount is stale by an answer of the child, None if it is not."""
        if answer == "stale":
            return ""
        return "withdrawn" if answer == "refused" and self.by_user else None


class ServerWatch:
    """The servers that are watched, and what is known of each; for one thread.

    Args:
        root: where to look for proc and dev.
        once: whether it is a single look, which has less patience, and knows since when only from the
            connections and the kernel's log.
    """

    def __init__(self, root: str = "/", *, once: bool = False) -> None:
        self.targets: dict[str, WatchedMount] = {}
        self._root = root
        self._once = once
        self._health: dict[WatchedServer, ServerHealth] = {}
        self._since: dict[WatchedServer, float | None] = {}
        #: Unix times: when a server was last heard while something waits for it, and of its last data.
        self._add_discovered: dict[WatchedServer, float] = {}
        self._data: dict[WatchedServer, float] = {}
        self._calls: dict[WatchedServer, tuple[float, Future[TroubleReason]]] = {}
        self._ports: set[int] = set()
        self._diag: SockDiag | None = None
        with contextlib.suppress(OSError):  # a sandbox without netlink: the rest is watched all the same
            self._diag = SockDiag()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._diag is not None:
            self._diag.close()

    @property
    def is_decided(self) -> bool:
        """Whether each server is known to answer, or not to."""
        return all(health.is_decided for health in self._health.values())

    def suspects(self) -> set[str]:
        """Return the mounts whose server may not answer."""
        return {point for point, target in self.targets.items() if self._health[target.server].is_suspect}

    def troubles(self) -> dict[str, MountTrouble]:
        """Return the mounts whose server does not answer."""
        found: dict[str, MountTrouble] = {}
        for point, target in self.targets.items():
            health = self._health[target.server]
            if health.down_since is not None:
                since = self._since.get(target.server)
                found[point] = MountTrouble(
                    state="not-responding", since=since, reason=health.reason or "silent"
                )
        return found

    def look(self) -> None:
        """Read the tables, take in what calls came to, and call whom it is time for."""
        self._read_targets()
        now = time.monotonic()
        self._record_calls(now)
        counters = self._counters()
        for server, health in self._health.items():
            health.look(now, counters[server])
        due = [server for server in self._health if server not in self._calls]
        due = [server for server in due if self._health[server].wants_call(now)]
        due.sort(key=lambda server: not self._health[server].is_suspect)
        for server in due[: min(_CALLS_PER_TICK, _CALLS_AT_ONCE - len(self._calls))]:
            self._calls[server] = (now, run_in_thread("null-call", self._caller(server)))
        self._note_since(now)

    def _caller(self, server: WatchedServer) -> Callable[[], TroubleReason]:
        return lambda: null_call(server.address, server.port, server.version, _CALL_S, self._ports)

    def _read_targets(self) -> None:
        info = mountinfo.read(self._root)
        self.targets = {
            printable(row.mount_point): target
            for row in info.nfs_rows()
            if info.is_visible(row) and (target := _target(info, row)) is not None
        }
        there = {target.server for target in self.targets.values()}
        now = time.monotonic()
        for server in there - self._health.keys():
            silent_s = _ONCE_SILENT_S if self._once else SILENT_S
            self._health[server] = ServerHealth(now, silent_s=silent_s, called_by_tcp=server.tcp)
        for server in self._health.keys() - there:
            del self._health[server]
            for known in (self._calls, self._add_discovered, self._data):
                known.pop(server, None)

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
        """Add what the server acknowledged and sent; return whether data wait for that."""
        if self._diag is None or not server.tcp:
            return False
        with contextlib.suppress(OSError, ValueError):
            found = [
                connection
                for connection in self._diag.connections(server.address, server.port)
                if connection.source_port not in self._ports  # a call of our own
            ]
            for connection in found:
                progress["tcp", connection.cookie] = connection.bytes_acked + connection.bytes_received
            self._note_heard(server, found)
            return any(connection.unacked > 0 for connection in found)
        return False

    def _note_heard(self, server: WatchedServer, connections: list[TcpConnection]) -> None:
        """Keep when the server was last heard; without a connection, what the last one told."""
        if not connections:
            return
        now = time.time()
        self._data[server] = now - min(connection.last_data_ms for connection in connections) / 1000
        # Nobody can tell of a connection that waits for nothing whether the server has gone since.
        self._add_discovered.pop(server, None)
        if any(connection.is_waiting for connection in connections):
            self._add_discovered[server] = now - min(connection.heard_ms for connection in connections) / 1000

    def _note_since(self, now: float) -> None:
        """Keep since when, as Unix time, for as long as a server does not respond."""
        down = {server for server, health in self._health.items() if health.down_since is not None}
        self._since = {server: since for server, since in self._since.items() if server in down}
        fresh = down - self._since.keys()
        told = unresponsive_servers(self._root) if fresh else {}
        for server in fresh:
            health = self._health[server]
            seen = time.time() - (now - (health.down_since or now))
            self._since[server] = seen if health.seen_alive else self._since_before(server, seen, told)

    def _since_before(self, server: WatchedServer, seen: float, told: Mapping[str, float]) -> float | None:
        """Return since when a server is silent that was so before anybody looked, None if nothing tells.

        Args:
            server: which one.
            seen: when the first call without an answer was sent.
            told: what the kernel's log says.
        """
        if server in self._add_discovered:
            return min(self._add_discovered[server], seen)
        hosts = {target.host for target in self.targets.values() if target.server == server}
        # A mount that was detached in an earlier silence leaves a last word in the log.
        logged = [told[host] for host in hosts & told.keys() if told[host] >= self._data.get(server, 0.0)]
        return min(logged, default=None if self._once else seen)


class HealthMonitor:
    """Says which mounts are in trouble; watches while somebody wants to know, or looks once.

    Args:
        root: where to look for proc and dev.
        questions: which mounts may be asked.
    """

    def __init__(self, root: str = "/", questions: ProbeExclusion | None = None) -> None:
        self._root = root
        self._questions = questions or ProbeExclusion()
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self._stop: threading.Event | None = None
        self._silent: dict[str, MountTrouble] = {}
        self._suspects: set[str] = set()
        self._targets: dict[str, WatchedMount] = {}
        self._stale: dict[str, MountTrouble] = {}

    def troubles(self) -> dict[str, MountTrouble]:
        """Return mount point to what is wrong, of the mounts with which something is."""
        with self._lock:
            if self._stop is not None:
                return {**self._stale, **self._silent}
        return self.check_once()

    @contextlib.contextmanager
    def watching(self, changed: Callable[[], None]) -> Generator[None]:
        """Watch while this lasts, and call the function, on another thread, at each change."""
        with self._lock:
            self._listeners.append(changed)
            if self._stop is None:
                self._stop = stop = threading.Event()
                run_in_thread("health", lambda: self._watch_servers(stop))
                run_in_thread("stale-mounts", lambda: self._watch_stale(stop))
        try:
            yield
        finally:
            self._unlisten(changed)

    def _unlisten(self, changed: Callable[[], None]) -> None:
        with self._lock:
            self._listeners.remove(changed)
            if not self._listeners and self._stop is not None:
                self._stop.set()
                self._stop = None
                self._silent, self._stale, self._suspects, self._targets = {}, {}, set(), {}

    def check_once(self) -> dict[str, MountTrouble]:
        """Return what is wrong as of now: at once where all is well, after some seconds at most."""
        end = time.monotonic() + _ONCE_LIMIT_S
        with ServerWatch(self._root, once=True) as watched, contextlib.suppress(FileNotFoundError):
            watched.look()
            while not watched.is_decided and time.monotonic() < end:
                threading.Event().wait(_ONCE_TICK_S)
                watched.look()
            found = watched.troubles()
            asked = {
                point: target
                for point, target in watched.targets.items()
                if target.askable and point not in found
            }
            return {**_stale_once(asked), **found}
        return {}

    def _watch_servers(self, stop: threading.Event) -> None:
        with ServerWatch(self._root) as watched:
            while True:
                began = time.monotonic()
                with contextlib.suppress(OSError):  # no client module yet, or no more
                    watched.look()
                    self._put(stop, watched)
                if stop.wait(max(_TICK_S, (time.monotonic() - began) / _SHARE_OF_TIME)):
                    return

    def _put(self, stop: threading.Event, watched: ServerWatch) -> None:
        with self._lock:
            if stop.is_set():
                return
            self._suspects, self._targets = watched.suspects(), watched.targets
            now = watched.troubles()
            changed = now != self._silent
            self._silent = now
        if changed:
            self._tell()

    def _tell(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def _watch_stale(self, stop: threading.Event) -> None:
        """Ask the mounts whose servers answer, one after the other."""
        check = StaleCheck()
        due: dict[str, float] = {}
        answers: dict[str, int] = {}
        try:
            while not stop.wait(_TICK_S / 2):
                with self._lock:
                    asked = {
                        point: target for point, target in self._targets.items()
                        if target.askable and point not in self._suspects
                    }  # fmt: skip
                    gone = self._stale.keys() - self._targets.keys()
                for point, target in asked.items():
                    if stop.is_set() or due.get(point, 0.0) > time.monotonic():
                        continue
                    if not self._questions.begin(point):
                        continue
                    try:
                        answer = check.ask(point, target.mount_id, _STALE_ANSWER_S)
                    finally:
                        self._questions.end(point)
                    reason = target.reason(answer)
                    answers[point] = 0 if reason is None else answers.get(point, 0) + 1
                    self._record_answer(stop, point, reason, sure=answers[point] >= _STALE_ANSWERS)
                    rest = max(_STALE_S, len(asked) * _STALE_SHARE_S)
                    wait = _STALE_AGAIN_S if answers[point] == 1 else rest
                    due[point] = time.monotonic() + (_STALE_SILENT_S if answer == "silent" else wait)
                for point in gone:
                    self._record_answer(stop, point, None, sure=True)
                for known in (due, answers):
                    for point in known.keys() - asked.keys():
                        del known[point]
        finally:
            check.close()

    def _record_answer(
        self, stop: threading.Event, point: str, reason: TroubleReason | None, *, sure: bool
    ) -> None:
        with self._lock:
            known = self._stale.get(point)
            if stop.is_set() or (known is None and (reason is None or not sure)):
                return
            if reason is None:
                del self._stale[point]
            elif known is None or known.reason != reason:
                since = time.time() if known is None else known.since
                self._stale[point] = MountTrouble(state="stale", since=since, reason=reason)
            else:
                return
        self._tell()


def with_trouble(mount: Mount, troubles: Mapping[str, MountTrouble]) -> Mount:
    """Return the row of a mount with what is wrong with it, if anything is."""
    trouble = troubles.get(mount.mount_point)
    if trouble is None or mount.active is None:
        return mount
    return msgspec.structs.replace(mount, state=trouble.state, since=trouble.since, reason=trouble.reason)


def _stale_once(asked: Mapping[str, WatchedMount]) -> dict[str, MountTrouble]:
    found: dict[str, MountTrouble] = {}
    check = StaleCheck()
    try:
        for point, target in asked.items():
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


def _target(info: MountInfo, row: MountRow) -> WatchedMount | None:
    """Return what is watched of a mount, None if the kernel does not name its server's address."""
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
    by_id = {each.mount_id: each for each in info.rows}
    seen: set[int] = set()
    above: MountRow | None = row
    while above is not None and above.mount_id not in seen:
        if above.fstype == _AUTOFS:
            return True
        seen.add(above.mount_id)
        above = by_id.get(above.parent_id)
    return False
