"""Test runner: starts the worker process, relays its events, and builds the result.

The worker may hang with its server; the runner never waits longer than STALL_TIMEOUT_S for a sign of life.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import queue
import signal
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec

from advisor.transfer_sizes import CP_CALL_SIZE
from app.errors import AppError, printable
from app.facts.gather import link_facts_of
from app.mounts.option_comparison import values_in_use
from app.mounts.requested_options import live_options
from app.mounts.table import read_table
from app.process import kill_group, wait
from app.speedtest import leftover_files
from app.speedtest.analysis import (
    CACHED_SMALL_READ,
    cells_with_bottleneck,
    checked_reads,
    checked_small_reads,
    figures_of_repeats,
    grid_bottleneck,
    grid_use_cases,
    median_transfer,
    outlier_notes,
    supported_uses,
    transfer_bottleneck,
)
from app.speedtest.cleanup import REMOVAL_WAIT_S, remove_run_files, run_in_background, wait_for_cleanups
from app.speedtest.messages import Stage, WorkerJob, WorkerMessage, WorkerResult
from app.speedtest.model import TestEvent, TestResult
from app.speedtest.network_measurement import measure_tcp_throughput, network_notes
from app.speedtest.processes import start_program
from app.speedtest.repetitions import (
    another_repeat_fits,
    fewer_repeats_note,
    shrink_to_time,
    shrunk_note,
    without_warm_up,
)
from app.speedtest.testdir import PREFIX, new_run_id, not_responding_error
from app.text.errors import ErrorCode
from app.text.message import message_text
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.facts import LinkFacts
    from app.kernel.mount_of_path import MountOfPath
    from app.mounts.model import MountTable
    from app.process import Child
    from app.speedtest.leftover_files import RemovalState
    from app.speedtest.model import TestSpec
    from app.speedtest.processes import PrivateMountHandle
    from app.tasks import CancelToken

__all__ = ["inspect_target", "run_test", "wait_for_cleanups"]

log = logging.getLogger("bench")

#: Time without a sign of life (byte, phase, activity of the connection) after which a test is given up, s.
STALL_TIMEOUT_S = 30.0
#: Time between SIGTERM and SIGKILL for the worker, s; cancelling takes at most twice this time.
_TERM_GRACE_S = 0.1
#: Wait for a killed worker to exit, s. The kernel delays the exit until all written data has been sent;
#: after this time the cleaner starts, and it retries until the worker has gone.
_REAP_S = 2.0
#: Wait for a worker that has removed its files, or that is aborted in a private mount, s.
_EXIT_S = 20.0
#: Interval between requests to the kernel to abort a killed worker's I/O in a private mount, s.
_ABORT_INTERVAL_S = 0.1
_MAX_STDERR_BYTES = 8192
_NOT_NFS_NOTE = "This is not an NFS mount: the figures are those of a local or other file system."


def run_test(
    spec: TestSpec,
    token: CancelToken,
    emit: Callable[[TestEvent], None],
    *,
    link: LinkFacts | None = None,
    round_trip: bool = True,
    table: Callable[[], MountTable] = read_table,
    remount: Callable[[MountOfPath | None], None] | None = None,
    handle: PrivateMountHandle | None = None,
) -> TestResult:
    """Run a speed test in a worker process.

    Args:
        spec: specification of the test; the worker resolves a relative path or a symbolic link.
        token: cancels the test and removes its files. If the server does not answer or the link is slow, the
            error lists the remaining files; they are recorded and removed in the background.
        emit: receives phases and samples, on this thread.
        link: the emulated link, None to determine the link to the server. A read faster than the link is
            flagged as cached.
        round_trip: measure the round-trip time, which takes up to two seconds on a long link. It is always
            measured if the file system is remounted during the test.
        table: returns the table of mounts, for requested options and options in use.
        remount: remounts the tested file system between write and read, for the cache method "fresh-mount".
            Its argument is the mount used for writing, None if unknown.
        handle: handle of the private mount that contains the directory; None without a private mount.

    Raises:
        AppError: error of the worker; NOT_RESPONDING after STALL_TIMEOUT_S without a sign of life; IO if the
            worker dies.
        CancelledError: if the token is set.
    """
    token.check()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    if spec.cache == "fresh-mount" and spec.direction != "write" and remount is not None:
        result = _run_staged_repeats(spec, token, emit, remount, handle)
    else:
        result = _WorkerRun(spec, token, emit, handle=handle, round_trip=round_trip).result()
    notes = list(result.notes)
    where = result.where
    nfs = where is not None and where.nfs
    if not nfs:
        notes.insert(0, _NOT_NFS_NOTE)
    link = _find_link(where, link, round_trip=round_trip)
    reads, cache = checked_reads(result.rounds, link)
    if cache is not None and cache.cached:
        notes.append(cache.note)
    small = median_transfer(checked_small_reads(result.rounds, link))
    if small is not None:
        small = msgspec.structs.replace(small, samples=[])
        if small.cached:
            notes.append(CACHED_SMALL_READ)
    write, read = (
        median_transfer([item.write for item in result.rounds if item.write is not None]),
        median_transfer(reads),
    )
    figures = figures_of_repeats(result.rounds)
    notes += map(message_text, outlier_notes(figures))
    network = None
    if spec.network_alone and where is not None and nfs:
        network = measure_tcp_throughput(where.server[0], token)
        notes += map(message_text, network_notes(network, write, read))
    final_spec = result.spec or spec
    cells = cells_with_bottleneck(result.grid, link)
    requested, effective = _requested_and_effective(where, table()) if where is not None and nfs else ({}, {})
    return TestResult(
        path=result.path,
        nfs=nfs,
        share=where.share if where is not None and nfs else None,
        started_at=started_at,
        write=write,
        read=read,
        cache=cache,
        requested=requested,
        effective=effective,
        link=link,
        block_size=final_spec.block_size,
        as_copy=spec.block_size == CP_CALL_SIZE,
        sync=spec.sync,
        notes=notes,
        workload=spec.workload,
        count=final_spec.count,
        source=spec.source,
        grid=cells,
        network=network,
        server_memory=spec.server_memory,
        figures=figures,
        enough=supported_uses(final_spec, figures, own=result.own, cached=cache is not None and cache.cached)
        + grid_use_cases(cells),
        bottleneck=transfer_bottleneck(write, read, link) or grid_bottleneck(cells),
        small_read=small,
        small_bottleneck=transfer_bottleneck(None, small, link),
    )


def _find_link(
    where: MountOfPath | None, override: LinkFacts | None, *, round_trip: bool
) -> LinkFacts | None:
    """Return facts on the idle link to the server, measured in at most a second."""
    address, port = where.server if where is not None and where.nfs else ("", 0)
    if not address:
        return override
    return link_facts_of(address, port, override=override, **({} if round_trip else {"seconds": 0.0}))


def inspect_target(
    spec: TestSpec, token: CancelToken, *, handle: PrivateMountHandle | None = None
) -> WorkerResult:
    """Return the mount and the free space of a test's directory, from a worker process that may hang.

    Raises:
        AppError: as for run_test.
        CancelledError: if the token is set.
    """
    token.check()
    return _WorkerRun(spec, token, lambda _event: None, stage="look", handle=handle).result()


def _run_staged_repeats(
    spec: TestSpec,
    token: CancelToken,
    emit: Callable[[TestEvent], None],
    remount: Callable[[MountOfPath | None], None],
    handle: PrivateMountHandle | None,
) -> WorkerResult:
    """Repeat a test whose file system is remounted in each repeat."""
    done: list[WorkerResult] = []
    times_s: list[float] = []
    planned = spec
    while not done or another_repeat_fits(spec, times_s):
        began = time.monotonic()
        done.append(_run_two_stages(spec, token, _with_repeat_number(emit, len(done)), remount, handle))
        times_s.append(time.monotonic() - began)
        if len(done) == 1:
            spec = shrink_to_time(planned, times_s[0])
    notes = [note for result in done for note in result.notes]
    return msgspec.structs.replace(
        done[-1],
        rounds=without_warm_up(spec, [item for result in done for item in result.rounds]),
        notes=[*dict.fromkeys(notes), *shrunk_note(planned, spec), *fewer_repeats_note(spec, len(done))],
    )


def _with_repeat_number(emit: Callable[[TestEvent], None], number: int) -> Callable[[TestEvent], None]:
    """Return a function that passes events on with this repeat number."""
    return lambda event: emit(msgspec.structs.replace(event, round=number))


def _run_two_stages(
    spec: TestSpec,
    token: CancelToken,
    emit: Callable[[TestEvent], None],
    remount: Callable[[MountOfPath | None], None],
    handle: PrivateMountHandle | None,
) -> WorkerResult:
    """Write with one worker, remount the file system, read with another worker."""
    first = _WorkerRun(spec, token, emit, stage="keep", handle=handle)
    written = first.result()
    try:
        emit(TestEvent(direction="read", phase="drop-cache"))
        token.check()
        remount(written.where)
        token.check()
    except AppError as error:
        error.remains = first.abandon()
        raise
    except BaseException:
        first.abandon()
        raise
    read = _WorkerRun(spec, token, emit, stage="kept", run_id=first.run_id, handle=handle).result()
    both = [
        msgspec.structs.replace(reading, write=writing.write, rates=writing.rates | reading.rates)
        for writing, reading in zip(written.rounds, read.rounds, strict=True)
    ]
    return msgspec.structs.replace(read, rounds=both, notes=[*written.notes, *read.notes])


def _requested_and_effective(where: MountOfPath, table: MountTable) -> tuple[dict[str, str], dict[str, str]]:
    """Return requested option values and option values in use, by option name."""
    for mount in table.mounts:
        active = mount.active
        if active is not None and active.mount_id == where.mount_id:
            requested = live_options(mount).values() if active.recorded is not None else {}
            return requested, values_in_use(active)
    return {}, where.values


class _WorkerRun:
    """One worker process from start to exit."""

    def __init__(
        self,
        spec: TestSpec,
        token: CancelToken,
        emit: Callable[[TestEvent], None],
        *,
        stage: Stage = "whole",
        run_id: str | None = None,
        handle: PrivateMountHandle | None = None,
        round_trip: bool = True,
    ) -> None:
        self.run_id = run_id or new_run_id()
        self._stage: Stage = stage
        self._round_trip = round_trip
        self._spec = spec
        self._token = token
        self._emit = emit
        self._path = spec.path
        #: Set by the worker's last message, which follows the removal of its files.
        self._files_removed = False
        #: Whether the test's files are needed by the next stage.
        self._keeps_files = False
        # None wakes the waiting thread: the token was set, or the worker's output has ended.
        self._messages: queue.SimpleQueue[WorkerMessage | None] = queue.SimpleQueue()
        self._handle = handle
        #: State of the removal of a killed worker's files.
        self._removal: RemovalState = "running"
        _check_utf8_names(spec)
        self._child: Child = start_program("worker", handle)
        threading.Thread(target=self._read_messages, name="bench-run", daemon=True).start()

    def result(self) -> WorkerResult:
        """Relay events until the worker's last message; see run_test for the errors."""
        try:
            with self._token.on_cancel(lambda: self._messages.put(None)):
                self._send_job()
                result = self._relay()
        except AppError as error:
            error.remains = self._finish()
            raise
        except BaseException:
            self._finish()
            raise
        self._finish()
        return result

    def abandon(self) -> tuple[str, ...]:
        """Remove the files left by a finished "keep" stage; return the remaining ones for display."""
        thread = self._in_background(self._clean)
        thread.join(REMOVAL_WAIT_S)
        leftover = self._leftover()
        if not leftover_files.record_leftover(leftover, lambda: self._removal):
            return ()
        return (printable(leftover.name),)

    def _leftover(self) -> leftover_files.LeftoverFiles:
        directory = self._path if "\\x" not in self._path else str(Path(self._spec.path).absolute())
        return leftover_files.leftover_of_run(directory, self.run_id, self._handle)

    def _send_job(self) -> None:
        job = WorkerJob(
            spec=self._spec, run=self.run_id, stage=self._stage, owner=os.getpid(),
            round_trip=self._round_trip,
        )  # fmt: skip
        with contextlib.suppress(BrokenPipeError):  # the worker is dead, which _relay reports
            self._child.stdin.write(msgspec.json.encode(job) + b"\n")

    def _relay(self) -> WorkerResult:
        last_sign = time.monotonic()
        while True:
            try:
                message = self._messages.get(timeout=max(last_sign + STALL_TIMEOUT_S - time.monotonic(), 0))
            except queue.Empty:
                raise not_responding_error(self._path) from None
            self._token.check()
            if message is None:
                raise self._exit_error()
            if message.ok is not None:
                self._files_removed = True
                self._keeps_files = self._stage == "keep"
                return message.ok
            if message.error is not None:
                self._files_removed = not message.error.left
                raise message.error.error.error()
            if self._handle_message(message):
                last_sign = time.monotonic()

    def _handle_message(self, message: WorkerMessage) -> bool:
        """Handle a message that is not the last; return whether it is a sign of life."""
        if message.path is not None:
            self._path = message.path
            if self._stage != "look":
                leftover_files.record_run(self._leftover())
        if message.event is None:
            return True
        self._emit(message.event)
        # Samples are no sign of life: their thread keeps running while the file system hangs.
        return message.event.sample is None

    def _finish(self) -> tuple[str, ...]:
        """Terminate the worker and clean up its files; return the remaining files for display."""
        child = self._child
        if not self._files_removed:
            kill_group(child, signal.SIGTERM)
            if wait(child, _TERM_GRACE_S) is not None:
                self._files_removed = self._removed_its_files()
            kill_group(child)
        with contextlib.suppress(OSError):
            child.stdin.close()
        child.stderr.close()
        if self._files_removed or self._stage == "look":
            if not self._keeps_files:
                leftover_files.erase_record(self.run_id)
            self._in_background(self._reap)
            return ()
        return self.abandon()

    def _removed_its_files(self) -> bool:
        """Return whether a terminated worker reported that it removed its files."""
        while (message := self._next_message()) is not None:
            if message.error is not None:
                return not message.error.left
        return False

    def _next_message(self) -> WorkerMessage | None:
        with contextlib.suppress(queue.Empty):
            return self._messages.get(timeout=_TERM_GRACE_S)
        return None

    def _in_background(self, work: Callable[[], None]) -> threading.Thread:
        handle = self._handle
        return run_in_background(
            "bench-clean", work, self._path, handle.owner if handle is not None else None
        )

    def _reap(self) -> None:
        # A worker that is reused for the next test counts as ended.
        if wait(self._child, _EXIT_S) is None:
            kill_group(self._child)

    def _clean(self) -> None:
        removed = False
        try:
            # The killed worker may create or hold files until it has exited.
            end = time.monotonic() + (_REAP_S if self._handle is None else _EXIT_S)
            while wait(self._child, _ABORT_INTERVAL_S) is None and time.monotonic() < end:
                self._abort()
            removed = remove_run_files(self._spec.path, self.run_id, self._handle)
        finally:
            self._removal = "done" if removed else "failed"
            leftover_files.finish_removal(self.run_id, removed=removed)

    def _abort(self) -> None:
        """Have the kernel abort the killed worker's I/O in the private mount; its data is not needed."""
        if self._handle is None:
            return
        try:
            self._handle.abort()
        except AppError as error:
            log.info("what a killed test wrote is not given up: %s", error)

    def _exit_error(self) -> AppError:
        """Return the error of a worker that exited without a last message."""
        code = wait(self._child, _TERM_GRACE_S)
        errors = self._child.stderr.fileno()
        os.set_blocking(errors, False)
        try:
            text = os.read(errors, _MAX_STDERR_BYTES).decode(errors="replace")
        except BlockingIOError:
            text = ""
        text = (
            f"{text}\nWhat is left of {PREFIX}{self.run_id} is removed, by the next test there at the latest."
        )
        if code is not None and code < 0:
            return AppError(ErrorCode.TEST_PROCESS_KILLED, detail=text, signal=-code)
        return AppError(ErrorCode.TEST_PROCESS_ENDED, detail=text)

    def _read_messages(self) -> None:
        # The pipe is unbuffered, and a raw stream would read lines byte by byte.
        with io.BufferedReader(cast("io.RawIOBase", self._child.stdout)) as lines:
            for line in lines:
                try:
                    self._messages.put(from_json(line, WorkerMessage))
                except (msgspec.DecodeError, UnicodeDecodeError):
                    log.warning("a test's worker wrote what is no message: %r", line[:200])
        self._messages.put(None)


def _check_utf8_names(spec: TestSpec) -> None:
    """Check that the names can be encoded for the worker.

    Raises:
        AppError: USAGE if a name is not valid UTF-8.
    """
    for name in (spec.path, spec.source):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise AppError(ErrorCode.NAME_NOT_UTF8_FOR_TEST, name=printable(name)) from None
