"""Private mount for a test, opened by the helper in a mount namespace and visible only to its workers.

It has its own superblock (nosharecache), so that its options are not shared and its cache is dropped with it.
The kernel's client of a server and version (nfs_client) is shared by all mounts. If another mount created it
earlier, the private mount gets that number of connections (nconnect), which a note of the result reports.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from advisor.options import options_for_mount
from app.errors import AppError, CancelledError, ErrorKind
from app.helper_client import MOUNT_TIMEOUT_S
from app.mounts.model import Active, Mount, MountTable
from app.mounts.option_comparison import values_in_use
from app.mounts.parsing import parse_options, share_to_mount
from app.speedtest import leftover_files
from app.speedtest.cleanup import cleanup_owners, run_in_background, wait_for_cleanups, wait_unless_cancelled
from app.speedtest.mount_session import MountSession
from app.speedtest.processes import PrivateMountHandle
from app.speedtest.runner import inspect_target, run_test
from app.tasks import CancelToken
from app.text.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from advisor.facts import LinkFacts
    from app.kernel.mount_of_path import MountOfPath
    from app.speedtest.messages import WorkerResult
    from app.speedtest.model import TestEvent, TestResult, TestSpec
    from app.speedtest.mount_session import NamespaceProcess
    from app.speedtest.processes import TestProgram

log = logging.getLogger("bench")

#: Timeout of unmounting, s. Removal of test files may take half of it.
_CLOSE_TIMEOUT_S = 20.0
#: Wait for earlier private mounts of the same server to close, s.
_BUSY_TIMEOUT_S = 15.0
#: Wait for earlier test files to be removed before they are recorded as leftovers, s.
_LEFTOVER_WAIT_S = 3.0
_POLL_INTERVAL_S = 0.1
#: Timeout of unmounting in the background, s.
_BACKGROUND_CLOSE_TIMEOUT_S = 15.0
#: Additional time for the helper's reply after the helper's own deadline, s.
_HELPER_GRACE_S = 15.0


class UnmountTiming(NamedTuple):
    """Durations of unmounting a private mount.

    Attributes:
        sync_s: time to write back cached data, s; None if it failed or was given up.
        unmount_s: time to unmount, including the last requests to the server, s; None if it failed.
        gone: whether the mount has left the mount table.
    """

    sync_s: float | None
    unmount_s: float | None
    gone: bool


class PrivateMount:
    """An open private mount, as a context manager that closes it. Create one with :meth:`open`.

    Attributes:
        share: server:/export as requested.
        options: mount options as requested.
        path: mount point in the namespace of the workers.
        effective: option values in use, by name.
        version: NFS version, as the kernel shows it ("4.2").
        connections: number of connections of the mount.
        shared: whether it uses an earlier superblock or client and thus the values of that one.
        session: session in which the mount is open.
        mount_s: duration of mounting, s.
        read_ahead_kb: readahead in use, KiB; None if unknown.
    """

    def __init__(self, share: str, options: str, read_ahead_kb: int | None, timeout_s: float) -> None:
        self.share = share
        self.options = options
        self._requested_read_ahead_kb = read_ahead_kb
        self._timeout_s = timeout_s
        self.session = MountSession()
        self._own_session = True
        self._active: Active | None = None
        self._token = CancelToken()
        #: Serializes requests to the helper with closing the mount.
        self._helper_lock = threading.Lock()

    @classmethod
    def open(
        cls,
        share: str,
        options: str,
        *,
        token: CancelToken,
        read_ahead_kb: int | None = None,
        timeout_s: float = MOUNT_TIMEOUT_S,
        session: MountSession | None = None,
    ) -> Self:
        """Mount a share.

        Args:
            share: server:/export.
            options: mount options, as after ``mount -o``.
            token: cancels mounting.
            read_ahead_kb: readahead to set, KiB; None for the kernel's default.
            timeout_s: timeout of mounting, s.
            session: session for several successive mounts with one authorization; by default the mount has
                its own.

        Raises:
            AppError: if mounting fails; nothing is mounted then.
        """
        share_to_mount(share)
        parse_options(options)
        mount = cls(share, options, read_ahead_kb, timeout_s)
        if session is not None:
            mount.session, mount._own_session = session, False
        try:
            mount._open(token)
        except BaseException:
            mount._close_own_session()
            raise
        return mount

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._active is None:
            self._close_own_session()  # already closed, or ended with the helper
        elif error is None:
            with contextlib.suppress(CancelledError):  # the measurement is complete
                wait_unless_cancelled(self.close, self._token, self.session)
        elif self._token.cancelled or isinstance(error, CancelledError):
            self.abandon()
        else:
            with contextlib.suppress(AppError):
                wait_unless_cancelled(self.close, self._token, self.session)

    def run_test(
        self,
        spec: TestSpec,
        token: CancelToken,
        emit: Callable[[TestEvent], None],
        link: LinkFacts | None = None,
        *,
        round_trip: bool = True,
    ) -> TestResult:
        """Run a test in the mount, as the user; the test's path is relative to the mount's root.

        Args:
            spec: specification of the test.
            token: cancels the test.
            emit: receives phases and samples.
            link: see :func:`app.speedtest.runner.run_test`.
            round_trip: see :func:`app.speedtest.runner.run_test`.

        Raises:
            AppError: as for :func:`app.speedtest.runner.run_test`.
        """

        def remount(_where: MountOfPath | None) -> None:
            wait_unless_cancelled(self.close_mount, token, self.session)
            self._open(token)

        with self._errors_named_by_share():
            result = run_test(
                self._below_mount(spec),
                token,
                emit,
                link=link,
                round_trip=round_trip,
                table=self._table,
                remount=remount,
                handle=self._handle,
            )
        notes = [*result.notes, *self._notes()]
        return msgspec.structs.replace(result, path=spec.path, notes=notes)

    def look_at(self, spec: TestSpec, token: CancelToken) -> WorkerResult:
        """Return the mount and the free space of a test's directory.

        Raises:
            AppError: as for :func:`app.speedtest.runner.inspect_target`.
        """
        with self._errors_named_by_share():
            return inspect_target(self._below_mount(spec), token, handle=self._handle)

    @contextlib.contextmanager
    def _errors_named_by_share(self) -> Generator[None]:
        """Replace the private mount point, unknown to the user, by the share in errors of the body."""
        try:
            yield
        except CancelledError:
            raise
        except AppError as error:
            code = error.code
            if code is None:
                raise
            if code is ErrorCode.FILESYSTEM_READ_ONLY and "ro" in parse_options(self.options):
                code = ErrorCode.TEST_OPTIONS_READ_ONLY
            params = {name: self._named_by_share(value) for name, value in error.params.items()}
            of_share = AppError(code, detail=error.detail, kind=error.kind, **params)
            of_share.remains = error.remains
            raise of_share from error

    def _named_by_share(self, value: Any) -> Any:
        if value == self.path or (isinstance(value, str) and value.startswith(f"{self.path}/")):
            return self.share + value[len(self.path) :]
        return value

    def close(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> UnmountTiming:
        """Unmount after the removal of test files.

        Args:
            timeout_s: timeout for a server that does not answer, s; half of it is for removing test files.

        Returns:
            durations; None for a mount that was closed before or has gone with its helper.

        Raises:
            AppError: if the helper does not answer.
        """
        try:
            return self.close_mount(timeout_s)
        finally:
            self._close_own_session()

    def abandon(self) -> None:
        """Close the mount in the background, after removal of its test files or if another mount waits."""

        def close() -> None:
            while not wait_for_cleanups(_POLL_INTERVAL_S, self.session) and not self.session.wanted.is_set():
                pass
            try:
                self.close(_BACKGROUND_CLOSE_TIMEOUT_S)
            except AppError as error:
                log.warning("the test mount of %s was not closed: %s", self.share, error)

        run_in_background("private-mount-close", close, owner=self.session)

    def close_mount(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> UnmountTiming:
        """Unmount, but leave the session open for another mount; see :meth:`close`."""
        began = time.monotonic()
        wait_for_cleanups(0 if self.session.wanted.is_set() else timeout_s / 2, self.session)
        remaining_s = timeout_s - (time.monotonic() - began)
        with self._helper_lock:
            active, self._active = self._active, None
            leftover_files.unregister_mount(self._handle)
            if active is None or not self.session.running:
                return UnmountTiming(None, None, gone=True)
            reply = self.session.close_mount(remaining_s, remaining_s + _HELPER_GRACE_S)
        sync_ms, unmount_ms = reply["sync_ms"], reply["unmount_ms"]
        return UnmountTiming(
            sync_s=None if sync_ms is None else sync_ms / 1000,
            unmount_s=None if unmount_ms is None else unmount_ms / 1000,
            gone=bool(reply["gone"]),
        )

    def _open(self, token: CancelToken) -> None:
        # Wait for clean-up work of earlier tests, in other sessions too: while an earlier mount of the server
        # exists, the kernel would share its connections with this mount.
        self._token = token
        began = time.monotonic()
        sessions: set[MountSession] = set()
        while (busy := _busy_sessions()) and time.monotonic() < began + _BUSY_TIMEOUT_S:
            token.wait(_POLL_INTERVAL_S)
            if time.monotonic() > began + _LEFTOVER_WAIT_S:
                sessions |= busy
                for session in busy:
                    session.wanted.set()  # remaining files are recorded
        for session in sessions:
            session.wanted.clear()
        read_ahead_kb = self._requested_read_ahead_kb
        wire: dict[str, Any] = {
            "share": self.share,
            "options": str(options_for_mount(parse_options(self.options))),
            "read_ahead_kb": -1 if read_ahead_kb is None else read_ahead_kb,
            "timeout_s": self._timeout_s,
        }
        reply = self.session.open(wire, token, self._timeout_s + _HELPER_GRACE_S)
        self._active = Active(
            mount_id=reply["mount_id"],
            device=reply["device"],
            share=reply["source"],
            fstype=reply["fstype"],
            options=f"{reply['mount_options']},{reply['options']}",
            recorded=self.options,
            nconnect=reply["nconnect"],
            read_ahead_kb=reply["read_ahead_kb"],
        )
        self.path = str(reply["path"])
        self.version = str(reply["version"])
        self.connections = int(reply["nconnect"])
        self.shared = bool(reply["shared"] or reply["joined"])
        self.mount_s = float(reply["mount_ms"]) / 1000
        self.read_ahead_kb: int | None = reply["read_ahead_kb"]
        self.effective = values_in_use(self._active)
        self._handle = PrivateMountHandle(self._start, self._abort, self.share, self.path, self.session)
        leftover_files.register_mount(self._handle)

    def _abort(self) -> None:
        """Have the kernel abort I/O that waits for the server, once; see the helper's verb "abort"."""
        with self._helper_lock:
            if self._active is not None and self.session.running:
                self.session.abort()

    def _start(self, program: TestProgram) -> NamespaceProcess:
        """Start a program in the mount. A restarted helper would lack the mount and ask for a password."""
        with self._helper_lock:
            if self._active is None:
                raise AppError(ErrorCode.SHARE_TEST_MOUNT_GONE, share=self.share)
            try:
                return self.session.start(program)
            except AppError as error:
                # The mount ends with its helper.
                if error.kind is ErrorKind.NOT_MOUNTED or not self.session.running:
                    self._active = None
                raise

    def _close_own_session(self) -> None:
        if self._own_session:
            self.session.close()

    def _below_mount(self, spec: TestSpec) -> TestSpec:
        parts = spec.path.strip("/")
        if ".." in parts.split("/"):
            raise AppError(ErrorCode.DIRECTORY_NOT_BELOW_SHARE)
        return msgspec.structs.replace(spec, path=f"{self.path}/{parts}" if parts else self.path)

    def _notes(self) -> list[str]:
        requested = parse_options(self.options).get("nconnect")
        if not self.shared or requested in {None, str(self.connections)}:
            return []
        others = f"The server was mounted before with {self.connections} connection(s)"
        return [f"{others}, and every mount of it shares those: nconnect={requested} had no effect."]

    def _table(self) -> MountTable:
        active = self._active
        if active is None:
            return MountTable(mounts=[])
        row = Mount(
            mount_point=self.path, share=active.share, state="mounted", active=active, requested=self.options
        )
        return MountTable(mounts=[row])


def _busy_sessions() -> set[MountSession]:
    """Return the sessions with clean-up work in progress, of their own or of one of their mounts."""
    sessions = (owner.session if isinstance(owner, PrivateMount) else owner for owner in cleanup_owners())
    return {session for session in sessions if isinstance(session, MountSession)}
