"""Worker process: runs one test as the user, and may hang or be killed.

It reads one line (WorkerJob), writes lines (WorkerMessage) and exits. End of input, SIGTERM and SIGINT cancel
the test; its files are removed in each case. Started as ``python -P -m app.speedtest.worker.worker_process``.
It imports few modules, because it also starts in the lab's slow guest.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from advisor.transfer_sizes import CP_CALL_SIZE, SMALL_READ_SIZE, cp_call_size
from app.errors import AppError, ErrorKind, printable
from app.kernel.mount_of_path import mount_of_directory
from app.speedtest.analysis import cache_report
from app.speedtest.messages import RepeatResult, WorkerError, WorkerJob, WorkerMessage, WorkerResult
from app.speedtest.model import block_size_problem, file_count_problem
from app.speedtest.network_measurement import null_rpc_round_trip
from app.speedtest.repetitions import (
    another_repeat_fits,
    fewer_repeats_note,
    shrink_to_time,
    shrunk_note,
    without_warm_up,
)
from app.speedtest.sampler import CounterReader, TransferProgress, TransferSampler
from app.speedtest.testdir import (
    TestDirectory,
    check_space,
    file_error,
    free_space,
    remove_leftovers,
    run_remains,
)
from app.speedtest.worker.fio import FioGridRunner
from app.speedtest.worker.many_files import ManyFilesWorkload
from app.speedtest.worker.single_file import RandomRecordsWorkload, SingleFileWorkload
from app.speedtest.worker.streams import StreamsWorkload
from app.speedtest.worker.user_files import UserFilesWorkload, scan_user_files
from app.speedtest.worker.workload import DataPool, StoppedError
from app.text.errors import ErrorCode
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.kernel.mount_of_path import MountOfPath
    from app.speedtest.messages import Stage
    from app.speedtest.model import TestSpec
    from app.speedtest.sampler import TransferDirection
    from app.speedtest.worker.user_files import UserFiles
    from app.speedtest.worker.workload import Workload

#: Time to clean up after the end of input, s: then the agent has ended and cannot kill the worker.
_CLEANUP_GRACE_S = 20.0
MAX_REPEATS = 1000
MAX_PASSES = 100
_WORKLOADS: dict[str, type[SingleFileWorkload | ManyFilesWorkload | StreamsWorkload]] = {
    "files": ManyFilesWorkload,
    "random": RandomRecordsWorkload,
    "streams": StreamsWorkload,
}


def main() -> int:
    """Run the test that standard input describes; return the exit status, 2 for an invalid job."""
    return 2 if run_job() == "invalid" else 0


def run_job() -> Literal["done", "interrupted", "invalid"]:
    """Run the test that standard input describes; return how it ended."""
    output = _MessageWriter()
    progress = TransferProgress()

    def stop(_number: int, _frame: object) -> None:
        progress.stopped = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    try:
        job = from_json(_read_line(), WorkerJob)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        output.send(_error_message(AppError(ErrorCode.TEST_NOT_DESCRIBED, detail=str(error))))
        return "invalid"
    finished = threading.Event()
    threading.Thread(target=_watch_input, args=(progress, finished), name="bench-input", daemon=True).start()
    ending: Literal["done", "interrupted"] = "interrupted"
    try:
        result = execute(job, progress, output.send)
    except StoppedError:
        stopped = AppError(ErrorCode.TEST_CANCELLED)
        output.send(_error_message(stopped, left=_files_remain(job)))
    except AppError as error:
        output.send(_error_message(error, left=_files_remain(job)))
    else:
        ending = "done"
        output.send(WorkerMessage(ok=_json_safe(result)))
    finished.set()
    return ending


def execute(
    job: WorkerJob, progress: TransferProgress, send: Callable[[WorkerMessage], None]
) -> WorkerResult:
    """Run a test to its end.

    Raises:
        AppError: if the test cannot be run or fails.
        StoppedError: if it was cancelled.
    """
    spec = job.spec
    step = "opening the directory"
    try:
        path = os.path.realpath(spec.path)
        send(WorkerMessage(path=printable(path)))
        check_spec(job)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            where = mount_of_directory(fd)
            source = scan_user_files(spec.source, where, progress) if spec.workload == "own" else None
            step = "looking at the free space"
            if job.stage == "look":
                own = source.size if source is not None else None
                return WorkerResult(path=path, where=where, rounds=[], notes=[], free=free_space(fd), own=own)
            if spec.block_size == CP_CALL_SIZE:
                spec = msgspec.structs.replace(spec, block_size=cp_call_size(os.fstatvfs(fd).f_bsize))
                job = msgspec.structs.replace(job, spec=spec)
            leftovers = remove_leftovers(path, job.run)
            if source is not None:
                each = -(-source.total // len(source.files))
                spec = msgspec.structs.replace(spec, count=len(source.files), size=each)
                job = msgspec.structs.replace(job, spec=spec)
            if job.stage != "kept":
                check_space(fd, spec.size, path, spec.count)
        finally:
            os.close(fd)
        step = "making the test file"
        with TestDirectory(path, job.run, adopt=job.stage == "kept") as directory:
            step = "copying the test file"
            result = _measure(
                job, where, TransferSampler(CounterReader(where), progress, send), directory, source
            )
            if job.stage == "keep":
                # From here on the agent's process is responsible for the files.
                directory.keep(job.owner)
            step = "removing the test file"
    except OSError as error:
        raise file_error(error, step, printable(spec.path)) from error
    if leftovers:
        result.notes.append(f"The files of {leftovers} earlier test(s) that had been killed were removed.")
    return result


def check_spec(job: WorkerJob) -> None:
    """Check that the test can be run.

    Raises:
        AppError: USAGE if it cannot.
    """
    spec = job.spec
    if spec.size < 1:
        raise AppError(ErrorCode.TEST_SIZE_TOO_SMALL)
    block = "" if spec.block_size == CP_CALL_SIZE else block_size_problem(spec.block_size)
    if problem := block or file_count_problem(spec.workload, spec.count):
        raise AppError(ErrorKind.USAGE, problem)
    if not 1 <= spec.repeats <= MAX_REPEATS:
        raise AppError(ErrorCode.TEST_REPEATS_NOT_IN_RANGE, limit=MAX_REPEATS)
    if not 1 <= spec.passes <= (MAX_PASSES if spec.workload == "file" else 1):
        raise AppError(ErrorCode.TEST_PASSES_NOT_IN_RANGE, limit=MAX_PASSES)
    if spec.workload == "grid":
        problem = spec.grid.problem(spec.size) if spec.grid is not None else "The test has no grid."
        if problem or job.stage not in {"whole", "look"}:
            raise AppError(ErrorKind.USAGE, problem or "A grid goes past the cache anyway: choose no method.")
    if not job.run.isalnum():
        raise AppError(ErrorCode.RUN_NAME_SYNTAX)


def _measure(
    job: WorkerJob,
    where: MountOfPath | None,
    meter: TransferSampler,
    directory: TestDirectory,
    source: UserFiles | None,
) -> WorkerResult:
    spec = job.spec
    if job.round_trip and where is not None and where.nfs:
        meter.load.network_s = null_rpc_round_trip(where)
    meter.start()
    try:
        if spec.grid is not None:
            runner = FioGridRunner(spec, spec.grid, directory, DataPool(spec.block_size, job.run), meter)
            cells = runner.run()
            return WorkerResult(
                path=str(Path(directory.path).parent), where=where, rounds=[], notes=runner.notes, grid=cells,
                spec=spec,
            )  # fmt: skip
        pool = DataPool(spec.block_size, job.run)
        if source is not None:
            workload: Workload = UserFilesWorkload(spec, directory, pool, meter, source)
        else:
            workload = _WORKLOADS.get(spec.workload, SingleFileWorkload)(spec, directory, pool, meter)
        rounds = run_repeats(spec, job.stage, workload, meter)
    finally:
        meter.stop()
    notes = workload.notes
    if job.stage == "whole":
        notes += [*shrunk_note(spec, workload.spec), *fewer_repeats_note(spec, len(rounds))]
        rounds = without_warm_up(spec, rounds)
    return WorkerResult(
        path=str(Path(directory.path).parent),
        where=where,
        rounds=rounds,
        notes=notes,
        spec=workload.spec,
        own=source.size if source is not None else None,
    )


def run_repeats(
    spec: TestSpec, stage: Stage, workload: Workload, meter: TransferSampler
) -> list[RepeatResult]:
    """Run a stage; repeat a whole test as often as specified and as time permits; return all repeats.

    If the warm-up was too slow, the workload is shrunk for the repeats.

    Raises:
        AppError: IO if the data read differs from the data written.
        OSError: from any file operation.
        StoppedError: if the test was cancelled.
    """
    rounds: list[RepeatResult] = []
    times_s: list[float] = []
    while True:
        meter.round = len(rounds)
        began = time.monotonic()
        rounds.append(_run_repeat(spec, stage, workload, meter))
        times_s.append(time.monotonic() - began)
        if stage != "whole" or not another_repeat_fits(spec, times_s):
            break
        workload.clear()
        if len(rounds) == 1:
            workload.resize(shrink_to_time(spec, times_s[0]))
    if stage != "keep":
        meter.phase("write" if spec.direction == "write" else "read", "clean-up")
    return rounds


def _run_repeat(spec: TestSpec, stage: Stage, workload: Workload, meter: TransferSampler) -> RepeatResult:
    first: TransferDirection = "read" if spec.direction == "read" or stage == "kept" else "write"
    meter.phase(first, "prepare")
    workload.rates = {}
    write = read = small = cache = None
    if stage != "kept":
        if spec.direction == "read":
            workload.prepare()
        else:
            write = workload.write()
    if spec.direction != "write" and stage != "keep":
        read, method = workload.read()
        cache = cache_report(read, method, None)
        read = msgspec.structs.replace(read, cached=cache.cached)
        if spec.reads_again:
            small, _method = workload.read(SMALL_READ_SIZE)
    if stage != "keep":
        workload.measure_operations()
    return RepeatResult(write=write, read=read, small_read=small, cache=cache, rates=workload.rates)


class _MessageWriter:
    """Writes messages to standard output, one whole line at a time, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._encoder = msgspec.json.Encoder()

    def send(self, message: WorkerMessage) -> None:
        line = memoryview(self._encoder.encode(message) + b"\n")
        with self._lock:
            try:
                while line:
                    line = line[os.write(1, line) :]
            except BrokenPipeError:
                # The agent has closed the pipe; the end of input stops the test.
                return


def _json_safe(result: WorkerResult) -> WorkerResult:
    """Return the result with printable paths, as JSON cannot carry names that are not UTF-8."""
    where = result.where.printable() if result.where is not None else None
    return msgspec.structs.replace(result, path=printable(result.path), where=where)


def _error_message(error: AppError, *, left: bool = False) -> WorkerMessage:
    return WorkerMessage(error=WorkerError(error=error.data(), left=left))


def _files_remain(job: WorkerJob) -> bool:
    return run_remains(os.path.realpath(job.spec.path), job.run)


def _read_line() -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(0, 65536)
        if not part:
            break
        line += part
    return line


def _watch_input(progress: TransferProgress, finished: threading.Event) -> None:
    while os.read(0, 65536):
        pass
    progress.stopped = True
    if not finished.wait(_CLEANUP_GRACE_S):
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
