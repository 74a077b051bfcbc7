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
from app.errors import AppError, ErrorKind, printable
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
from app.speedtest.messages import Stage, WorkerError, WorkerJob, WorkerMessage, WorkerResult
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
from app.tasks import CancelledError
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

#: A test in which nothing moves for so long is given up: no byte, no phase, no sign from the connection.
STALL_TIMEOUT_S = 30.0
#: What SIGTERM gives the worker before SIGKILL; cancelling takes twice this at most.
_TERM_GRACE_S = 0.1
#: A killed worker ends as soon as the kernel lets it: when all that it wrote has been sent. After this time
#: the cleaner is started, which tries again as long as that takes.
_REAP_S = 2.0
#: One that has removed its files, or that the kernel is told to let go in a private mount, ends sooner.
_EXIT_S = 20.0
#: Between two rounds of having the kernel give up what a killed worker still waits for in a private mount.
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
    place: PrivateMountHandle | None = None,
) -> TestResult:
    """Run a copy test in a worker process.

    Args:
        spec: the test; a relative path or a symbolic link is resolved by the worker.
        token: ends the test; the test's files are removed then. The error says within ANSWER_S which could
            not be, because the server does not answer or the link is slow: they are recorded, and removed
            in the background.
        emit: gets phases and samples, on this thread.
        link: the emulated link, None to find out about the way to the server. A read faster than the link
            can be is flagged.
        round_trip: time it, which takes up to two seconds on a long way; otherwise the result does not have
            it. Where the file system is mounted afresh in between, the network alone is timed anyway.
        table: tells what was asked for when mounting, and what is in use.
        remount: mounts the tested file system afresh, between writing and reading, for the cache method
            "fresh-mount"; gets where it was written, None if the kernel does not tell.
        place: where the test's directory is seen; None for everywhere.

    Raises:
        AppError: as the worker says; NOT_RESPONDING after STALL_S without a sign of life; IO if the worker
            dies.
        CancelledError: when the token is set.
    """
    token.check()
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    if spec.cache == "fresh-mount" and spec.direction != "write" and remount is not None:
        result = _run_staged_repeats(spec, token, emit, remount, place)
    else:
        result = _WorkerRun(spec, token, emit, place=place, round_trip=round_trip).result()
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
    found = figures_of_repeats(result.rounds)
    notes += outlier_notes(found)
    network = None
    if spec.network_alone and where is not None and nfs:
        network = measure_tcp_throughput(where.server[0], token)
        notes += network_notes(network, write, read)
    done = result.spec or spec
    cells = cells_with_bottleneck(result.grid, link)
    asked, effective = _requested_and_effective(where, table()) if where is not None and nfs else ({}, {})
    return TestResult(
        path=result.path,
        nfs=nfs,
        share=where.share if where is not None and nfs else None,
        started_at=started_at,
        write=write,
        read=read,
        cache=cache,
        requested=asked,
        effective=effective,
        link=link,
        block_size=done.block_size,
        as_copy=spec.block_size == CP_CALL_SIZE,
        sync=spec.sync,
        notes=notes,
        workload=spec.workload,
        count=done.count,
        source=spec.source,
        grid=cells,
        network=network,
        server_memory=spec.server_memory,
        figures=found,
        enough=supported_uses(done, found, own=result.own, cached=cache is not None and cache.cached)
        + grid_use_cases(cells),
        bottleneck=transfer_bottleneck(write, read, link) or grid_bottleneck(cells),
        small_read=small,
        small_bottleneck=transfer_bottleneck(None, small, link),
    )


def _find_link(
    where: MountOfPath | None, override: LinkFacts | None, *, round_trip: bool
) -> LinkFacts | None:
    """Return the way to the server as it is now that nothing is copied, measured in a second at most."""
    address, port = where.server if where is not None and where.nfs else ("", 0)
    if not address:
        return override
    return link_facts_of(address, port, override=override, **({} if round_trip else {"seconds": 0.0}))


def inspect_target(
    spec: TestSpec, token: CancelToken, *, place: PrivateMountHandle | None = None
) -> WorkerResult:
    """Return where the directory of a test is and what is free there, asked by a worker that may hang.

    Raises:
        AppError: as run_test.
        CancelledError: when the token is set.
    """
    token.check()
    return _WorkerRun(spec, token, lambda _event: None, stage="look", place=place).result()


def _run_staged_repeats(
    spec: TestSpec,
    token: CancelToken,
    emit: Callable[[TestEvent], None],
    remount: Callable[[MountOfPath | None], None],
    place: PrivateMountHandle | None,
) -> WorkerResult:
    """Repeat a test whose file system is mounted afresh in each round."""
    done: list[WorkerResult] = []
    times_s: list[float] = []
    planned = spec
    while not done or another_repeat_fits(spec, times_s):
        began = time.monotonic()
        done.append(_run_two_stages(spec, token, _with_repeat_number(emit, len(done)), remount, place))
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
    """Return what passes events on with the number of their round."""
    return lambda event: emit(msgspec.structs.replace(event, round=number))


def _run_two_stages(
    spec: TestSpec,
    token: CancelToken,
    emit: Callable[[TestEvent], None],
    remount: Callable[[MountOfPath | None], None],
    place: PrivateMountHandle | None,
) -> WorkerResult:
    """Write with one worker, have the file system mounted afresh, read with another."""
    first = _WorkerRun(spec, token, emit, stage="keep", place=place)
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
    read = _WorkerRun(spec, token, emit, stage="kept", run_id=first.run_id, place=place).result()
    both = [
        msgspec.structs.replace(back, write=to.write, rates=to.rates | back.rates)
        for to, back in zip(written.rounds, read.rounds, strict=True)
    ]
    return msgspec.structs.replace(read, rounds=both, notes=[*written.notes, *read.notes])


def _requested_and_effective(where: MountOfPath, table: MountTable) -> tuple[dict[str, str], dict[str, str]]:
    """Return what was asked for and what is in use, by option name."""
    for mount in table.mounts:
        active = mount.active
        if active is not None and active.mount_id == where.mount_id:
            asked = live_options(mount).values() if active.recorded is not None else {}
            return asked, values_in_use(active)
    return {}, where.values


class _WorkerRun:
    """One worker from start to end."""

    def __init__(
        self,
        spec: TestSpec,
        token: CancelToken,
        emit: Callable[[TestEvent], None],
        *,
        stage: Stage = "whole",
        run_id: str | None = None,
        place: PrivateMountHandle | None = None,
        round_trip: bool = True,
    ) -> None:
        self.run_id = run_id or new_run_id()
        self._stage: Stage = stage
        self._round_trip = round_trip
        self._spec = spec
        self._token = token
        self._emit = emit
        self._path = spec.path
        #: Set when the worker has said its last line, before which it removes its files.
        self._files_removed = False
        #: Whether its files are for the next stage.
        self._keeps_files = False
        # None wakes the waiting thread: the token was set, or the worker's output has ended.
        self._messages: queue.SimpleQueue[WorkerMessage | None] = queue.SimpleQueue()
        self._place = place
        #: Of the files of a killed worker.
        self._removal: RemovalState = "under way"
        _check_utf8_names(spec)
        self._child: Child = start_program("worker", place)
        threading.Thread(target=self._read_messages, name="bench-run", daemon=True).start()

    def result(self) -> WorkerResult:
        """Relay events until the worker's last line; see run_test for the errors."""
        try:
            with self._token.on_cancel(lambda: self._messages.put(None)):
                self._send_job()
                result = self._relay()
        except AppError as error:
            error.remains = self._end()
            raise
        except BaseException:
            self._end()
            raise
        self._end()
        return result

    def abandon(self) -> tuple[str, ...]:
        """Remove the files that a finished "keep" stage left; return those that remain, for a person."""
        cleaning = self._in_background(self._clean)
        cleaning.join(REMOVAL_WAIT_S)
        left = self._leftover()
        if not leftover_files.record_leftover(left, lambda: self._removal):
            return ()
        return (printable(left.name),)

    def _leftover(self) -> leftover_files.LeftoverFiles:
        directory = self._path if "\\x" not in self._path else str(Path(self._spec.path).absolute())
        return leftover_files.leftover_of_run(directory, self.run_id, self._place)

    def _send_job(self) -> None:
        job = WorkerJob(
            spec=self._spec, run=self.run_id, stage=self._stage, owner=os.getpid(),
            round_trip=self._round_trip,
        )  # fmt: skip
        with contextlib.suppress(BrokenPipeError):  # it is dead; the end of its output says so
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
                raise self._death_error()
            if message.ok is not None:
                self._files_removed = True
                self._keeps_files = self._stage == "keep"
                return message.ok
            if message.error is not None:
                self._files_removed = not message.error.left
                raise _worker_app_error(message.error)
            if self._take(message):
                last_sign = time.monotonic()

    def _take(self, message: WorkerMessage) -> bool:
        """Take a line that is not the last; return whether it is a sign of life."""
        if message.path is not None:
            self._path = message.path
            if self._stage != "look":
                leftover_files.record_run(self._leftover())
        if message.event is None:
            return True
        self._emit(message.event)
        # Samples come from a thread of the worker that runs on when the file system hangs.
        return message.event.sample is None

    def _end(self) -> tuple[str, ...]:
        """See the worker off, and remove what it leaves behind; return what remains, for a person."""
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
        """Whether a worker that has ended said that it removed its files."""
        while (message := self._next_message()) is not None:
            if message.error is not None:
                return not message.error.left
        return False

    def _next_message(self) -> WorkerMessage | None:
        with contextlib.suppress(queue.Empty):
            return self._messages.get(timeout=_TERM_GRACE_S)
        return None

    def _in_background(self, work: Callable[[], None]) -> threading.Thread:
        place = self._place
        return run_in_background("bench-clean", work, self._path, place.owner if place is not None else None)

    def _reap(self) -> None:
        # One that runs for several tests goes on.
        if wait(self._child, _EXIT_S) is None:
            kill_group(self._child)

    def _clean(self) -> None:
        removed = False
        try:
            # Until the killed worker is really gone, it may still make or hold files.
            end = time.monotonic() + (_REAP_S if self._place is None else _EXIT_S)
            while wait(self._child, _ABORT_INTERVAL_S) is None and time.monotonic() < end:
                self._abort()
            removed = remove_run_files(self._spec.path, self.run_id, self._place)
        finally:
            self._removal = "done" if removed else "failed"
            leftover_files.finish_removal(self.run_id, removed=removed)

    def _abort(self) -> None:
        """Have the kernel give up what the killed worker wrote: it is to be removed anyway."""
        if self._place is None:
            return
        try:
            self._place.abort()
        except AppError as error:
            log.info("what a killed test wrote is not given up: %s", error)

    def _death_error(self) -> AppError:
        """Return the error of a worker that ended without a last line."""
        code = wait(self._child, _TERM_GRACE_S)
        errors = self._child.stderr.fileno()
        os.set_blocking(errors, False)
        try:
            text = os.read(errors, _MAX_STDERR_BYTES).decode(errors="replace")
        except BlockingIOError:
            text = ""
        if code is not None and code < 0:
            how = f"was ended by signal {-code}"
            hint = "Out of memory? Try a smaller block size; the kernel's log (dmesg) tells."
        else:
            how = "broke off"
            hint = "If nobody ended it, this is a bug. Please report it with the details."
        text = (
            f"{text}\nWhat is left of {PREFIX}{self.run_id} is removed, by the next test there at the latest."
        )
        return AppError(ErrorKind.IO, f"The process that ran the test {how}.", hint=hint, detail=text)

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
    """Refuse what cannot be told to the worker.

    Raises:
        AppError: USAGE.
    """
    for name in (spec.path, spec.source):
        try:
            name.encode()
        except UnicodeEncodeError:
            raise AppError(
                ErrorKind.USAGE,
                f"{printable(name)} cannot be tested by this name, which is not UTF-8.",
                hint="Make a symbolic link to it (ln -s) and name that.",
            ) from None


def _worker_app_error(error: WorkerError) -> AppError:
    if error.kind == ErrorKind.CANCELLED:
        return CancelledError(error.message)
    return AppError(ErrorKind(error.kind), error.message, hint=error.hint, detail=error.detail)
