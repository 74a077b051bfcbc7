"""Private mount for a test, seen by its worker alone: opened by the helper in a mount namespace.

It has a superblock of its own (nosharecache), so that its options are really its own and what it caches is
forgotten with it. Connections belong to the kernel's client of a server and version, whoever mounted first:
where such a client was there before, this mount has its number of connections, and says so.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from advisor.options import options_for_mount
from app.errors import AppError, ErrorKind
from app.helper_client.client import MOUNT_TIMEOUT_S
from app.mounts.model import Active, Mount, MountTable
from app.mounts.option_comparison import values_in_use
from app.mounts.parsing import parse_options, share_to_mount
from app.speedtest import leftover_files
from app.speedtest.cleanup import cleanup_owners, run_in_background, wait_for_cleanups, wait_unless_cancelled
from app.speedtest.mount_session import MountSession
from app.speedtest.processes import PrivateMountHandle
from app.speedtest.runner import inspect_target, run_test
from app.tasks import CancelledError, CancelToken

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

_CLOSE_TIMEOUT_S = 20.0
#: What an earlier mount of the same helper may still take to close. Its test files may take a part of it.
_BUSY_TIMEOUT_S = 15.0
_LEFTOVER_WAIT_S = 3.0
_POLL_INTERVAL_S = 0.1
#: For closing what nobody waits for.
_BACKGROUND_CLOSE_TIMEOUT_S = 15.0
#: Beside a deadline of the helper's own.
_HELPER_GRACE_S = 15.0


class UnmountTiming(NamedTuple):
    """How a private mount went.

    Attributes:
        sync_s: seconds of writing back what was still in memory; None if that failed or was given up.
        unmount_s: seconds of unmounting, the farewell to the server included; None likewise.
        gone: whether it has left the table of mounts.
    """

    sync_s: float | None
    unmount_s: float | None
    gone: bool


class PrivateMount:
    """An open private mount; a context manager that closes it. Make one with :meth:`open`.

    Attributes:
        share: server:/export as asked for.
        options: as asked for.
        path: where its workers find it.
        effective: option name to value in use.
        version: of NFS, as the kernel shows it ("4.2").
        connections: of the mount.
        shared: it joined a superblock or a client that was there before, whose values it has.
        session: what it is open in.
        mount_s: how long mounting took, in seconds.
        read_ahead_kb: in use, None if the kernel does not tell.
    """

    def __init__(self, share: str, options: str, read_ahead_kb: int | None, timeout_s: float) -> None:
        self.share = share
        self.options = options
        self._asked_read_ahead_kb = read_ahead_kb
        self._timeout_s = timeout_s
        self.session = MountSession()
        self._own_session = True
        self._active: Active | None = None
        self._token = CancelToken()
        #: Held while the helper is asked: of a mount that is being closed nothing more is.
        self._asking = threading.Lock()

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
            options: as after ``mount -o``.
            token: cancels it.
            read_ahead_kb: readahead to set, None to leave it.
            timeout_s: seconds that mounting may take.
            session: for several mounts after each other with one authorisation; by default the mount has
                its own.

        Raises:
            AppError: as for a mount; nothing is mounted then.
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
            self._close_own_session()  # closed already, or gone
        elif error is None:
            with contextlib.suppress(CancelledError):  # all is measured
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
        """Run a test in the mount, as the user; its path is taken below the mount's root.

        Args:
            spec: the test.
            token: ends it.
            emit: gets phases and samples.
            link: as for :func:`app.speedtest.runner.run_test`.
            round_trip: likewise.

        Raises:
            AppError: as :func:`app.speedtest.runner.run_test`.
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
                place=self._place,
            )
        notes = [*result.notes, *self._notes()]
        return msgspec.structs.replace(result, path=spec.path, notes=notes)

    def look_at(self, spec: TestSpec, token: CancelToken) -> WorkerResult:
        """Return what is free where a test would copy.

        Raises:
            AppError: as :func:`app.speedtest.runner.inspect_target`.
        """
        with self._errors_named_by_share():
            return inspect_target(self._below_mount(spec), token, place=self._place)

    @contextlib.contextmanager
    def _errors_named_by_share(self) -> Generator[None]:
        """Name the share in an error of the body: where it is mounted for the test, nobody has ever seen."""
        try:
            yield
        except CancelledError:
            raise
        except AppError as error:
            hint = error.hint.replace(self.path, self.share)
            if error.kind is ErrorKind.READ_ONLY and "ro" in parse_options(self.options):
                hint = "Its options for the test have ro (read-only): leave that out."
            message = error.message.replace(self.path, self.share)
            of_share = AppError(error.kind, message, hint=hint, detail=error.detail)
            of_share.remains = error.remains
            raise of_share from error

    def close(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> UnmountTiming:
        """Unmount; what a test still removes is waited for first.

        Args:
            timeout_s: after this a server that does not answer is given up. Half of it is for test files that
                are still being removed.

        Returns:
            how that went; of one that was closed before, or has gone with its helper, no times.

        Raises:
            AppError: if the helper does not answer.
        """
        try:
            return self.close_mount(timeout_s)
        finally:
            self._close_own_session()

    def abandon(self) -> None:
        """Close it in the background: when its test files are gone, or when the session needs the place."""

        def close() -> None:
            while not wait_for_cleanups(_POLL_INTERVAL_S, self.session) and not self.session.wanted.is_set():
                pass
            try:
                self.close(_BACKGROUND_CLOSE_TIMEOUT_S)
            except AppError as error:
                log.warning("the test mount of %s was not closed: %s", self.share, error)

        run_in_background("private-mount-close", close, owner=self.session)

    def close_mount(self, timeout_s: float = _CLOSE_TIMEOUT_S) -> UnmountTiming:
        """Unmount, and keep what is needed to open it anew; see :meth:`close`."""
        began = time.monotonic()
        wait_for_cleanups(0 if self.session.wanted.is_set() else timeout_s / 2, self.session)
        left_s = timeout_s - (time.monotonic() - began)
        with self._asking:
            active, self._active = self._active, None
            leftover_files.unregister_mount(self._place)
            if active is None or not self.session.running:
                return UnmountTiming(None, None, gone=True)
            answer = self.session.close_mount(left_s, left_s + _HELPER_GRACE_S)
        sync_ms, unmount_ms = answer["sync_ms"], answer["unmount_ms"]
        return UnmountTiming(
            sync_s=None if sync_ms is None else sync_ms / 1000,
            unmount_s=None if unmount_ms is None else unmount_ms / 1000,
            gone=bool(answer["gone"]),
        )

    def _open(self, token: CancelToken) -> None:
        # What an earlier test still clears up is let go first, also in another session: while its mount of
        # the server is there, the kernel would share its connections.
        self._token = token
        began = time.monotonic()
        sessions: set[MountSession] = set()
        while (busy := _busy_sessions()) and time.monotonic() < began + _BUSY_TIMEOUT_S:
            token.wait(_POLL_INTERVAL_S)
            if time.monotonic() > began + _LEFTOVER_WAIT_S:
                sessions |= busy
                for session in busy:
                    session.wanted.set()  # what remains is recorded
        for session in sessions:
            session.wanted.clear()
        kilobytes = self._asked_read_ahead_kb
        wire: dict[str, Any] = {
            "share": self.share,
            "options": str(options_for_mount(parse_options(self.options))),
            "read_ahead_kb": -1 if kilobytes is None else kilobytes,
            "timeout_s": self._timeout_s,
        }
        found = self.session.open(wire, token, self._timeout_s + _HELPER_GRACE_S)
        self._active = Active(
            mount_id=found["mount_id"],
            device=found["device"],
            share=found["source"],
            fstype=found["fstype"],
            options=f"{found['mount_options']},{found['options']}",
            recorded=self.options,
            nconnect=found["nconnect"],
            read_ahead_kb=found["read_ahead_kb"],
        )
        self.path = str(found["path"])
        self.version = str(found["version"])
        self.connections = int(found["nconnect"])
        self.shared = bool(found["shared"] or found["joined"])
        self.mount_s = float(found["mount_ms"]) / 1000
        self.read_ahead_kb: int | None = found["read_ahead_kb"]
        self.effective = values_in_use(self._active)
        self._place = PrivateMountHandle(self._start, self._abort, self.share, self.path, self.session)
        leftover_files.register_mount(self._place)

    def _abort(self) -> None:
        """Have the kernel give up once what waits for the server; see the helper's verb."""
        with self._asking:
            if self._active is not None and self.session.running:
                self.session.abort()

    def _start(self, program: TestProgram) -> NamespaceProcess:
        """Start a program in the mount; a new helper would know nothing of it, and ask for a password."""
        with self._asking:
            if self._active is None:
                raise AppError(
                    ErrorKind.NOT_MOUNTED,
                    f"The test mount of {self.share} is gone.",
                    hint="Start the test again.",
                )
            try:
                return self.session.start(program)
            except AppError as error:
                # With a helper that has ended its mount has gone, too.
                if error.kind is ErrorKind.NOT_MOUNTED or not self.session.running:
                    self._active = None
                raise

    def _close_own_session(self) -> None:
        if self._own_session:
            self.session.close()

    def _below_mount(self, spec: TestSpec) -> TestSpec:
        parts = spec.path.strip("/")
        if ".." in parts.split("/"):
            raise AppError(
                ErrorKind.USAGE,
                "The directory is not one below the share.",
                hint="Name it by its path from the root of the share, without “..”.",
            )
        return msgspec.structs.replace(spec, path=f"{self.path}/{parts}" if parts else self.path)

    def _notes(self) -> list[str]:
        asked = parse_options(self.options).get("nconnect")
        if not self.shared or asked in {None, str(self.connections)}:
            return []
        others = f"The server was mounted before with {self.connections} connection(s)"
        return [f"{others}, and every mount of it shares those: nconnect={asked} had no effect."]

    def _table(self) -> MountTable:
        active = self._active
        if active is None:
            return MountTable(mounts=[])
        row = Mount(
            mount_point=self.path, share=active.share, state="mounted", active=active, requested=self.options
        )
        return MountTable(mounts=[row])


def _busy_sessions() -> set[MountSession]:
    """Return the sessions with clean-up work under way, of themselves or of a mount of theirs."""
    sessions = (owner.session if isinstance(owner, PrivateMount) else owner for owner in cleanup_owners())
    return {session for session in sessions if isinstance(session, MountSession)}
