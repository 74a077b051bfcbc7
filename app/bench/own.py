"""A person's own files: copied to the mount, read back, and compared byte for byte with where they came from.

They lie side by side in the test's directory: the folders that they come from are not made again. What is
timed is what a copy takes, the reading of the source counted in, as it is when people copy.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from app.errors import AppError, ErrorKind
from app.speedtest.worker.many_files import SmallFiles, file_name
from app.speedtest.worker.single_file import other_file
from app.speedtest.worker.workload import StoppedError, close_quietly

if TYPE_CHECKING:
    from app.bench.data import DataPool
    from app.speedtest.model import CacheMethod, TestSpec, Transfer
    from app.speedtest.sampler import Meter
    from app.speedtest.testdir import TestDirectory
    from app.speedtest.worker.user_files import Source

#: Fewer files than this give no rate worth its name.
_FEW = 10
#: A source that takes more than this part of the time is told of.
_SLOW = 0.25


class OwnFiles(SmallFiles):
    """Copies the files of a source.

    Args:
        spec: the test, with the number of the source's files.
        directory: where they are copied to.
        pool: not needed; every workload is made alike.
        meter: samples the transfers.
        source: the files.
    """

    def __init__(
        self, spec: TestSpec, directory: TestDirectory, pool: DataPool, meter: Meter, source: Source
    ) -> None:
        super().__init__(spec, directory, pool, meter)
        self._source = source
        self._buffer = bytearray(spec.block_size)
        self._other = bytearray(spec.block_size)
        self._source_s = 0.0
        #: The file that is being copied.
        self._opened = -1
        left = source.size.skipped
        if left:
            self.note(f"Left out of the copy: {left}.")

    @property
    def total(self) -> int:
        """Bytes of all files."""
        return self._source.total

    def write(self) -> Transfer:
        """Copy the files to the mount; see the base class for the errors.

        Raises:
            AppError: IO if the source cannot be read, or has changed.
        """
        self._source_s = 0.0
        done = super().write()
        # Flush and close count, as they do in the speed: of small files most of the time goes there.
        whole_s = done.transfer_s + done.fsync_s + done.close_s
        if self._source_s > _SLOW * whole_s:
            part = 100 * self._source_s / max(whole_s, 1e-9)
            self.note(
                f"Reading your own files took {part:.0f} % of the time of the copy to the server: its speed "
                "is partly that of where they lie."
            )
        return done

    def read(self, call_size: int | None = None) -> tuple[Transfer, CacheMethod]:
        """Read the files back, and compare them when the clock has stopped."""
        found = super().read(call_size)
        self._meter.phase("read", "compare")
        for number in range(self._spec.count):
            self._compare(number)
        return found

    def measure_operations(self) -> None:
        """Remove the files; measure it if there are enough of them to speak of a rate."""
        super().measure_operations()
        if self._spec.count < _FEW:
            self.rates.clear()

    def _write_one(self, number: int) -> tuple[float, float, float]:
        source = self._source.open(number)
        self._opened = source
        try:
            times = super()._write_one(number)
            self._source.check(number, source)
            return times
        finally:
            os.close(source)

    def _fill(self, fd: int, number: int) -> None:
        self._copy(self._opened, fd, number)

    def _copy(self, source: int, fd: int, number: int) -> None:
        before = self._progress.bytes if number else 0
        view, position, size = memoryview(self._buffer), 0, self._source.files[number].size
        while position < size:
            began = time.monotonic()
            count = self._get(source, view)
            self._source_s += time.monotonic() - began
            if not count:
                break  # it has become shorter; check tells
            done = 0
            while done < count:
                done += os.write(fd, view[done:count])
            position += count
            self._progress.bytes = before + position
            if self._progress.stopped:
                raise StoppedError

    def _read_one(self, number: int, flags: int, view: memoryview) -> float:
        fd = self._directory.open(flags, file_name(number))
        try:
            self._read_back(fd, view, number)
            closing = time.monotonic()
        except BaseException:
            close_quietly(fd)
            raise
        os.close(fd)
        return time.monotonic() - closing

    def _read_back(self, fd: int, view: memoryview, number: int) -> None:
        before = self._progress.bytes if number else 0
        file, position = self._source.files[number], 0
        while position < file.size:
            count = os.readv(fd, [view])
            if not count:
                raise other_file(f"{file.path}: {position} bytes of {file.size}")
            position += count
            self._progress.bytes = before + position
            if self._progress.stopped:
                raise StoppedError

    def _compare(self, number: int) -> None:
        """See that a copy is what its source is, to the last byte."""
        source = self._source.open(number)
        fd = -1
        try:
            fd = self._directory.open(0, file_name(number))
            mine, copied, position = memoryview(self._buffer), memoryview(self._other), 0
            while True:
                count, back = self._get(source, mine), _fill(fd, copied)
                if mine[:count] != copied[:back]:
                    self._source.check(number, source)
                    raise other_file(f"{self._source.files[number].path} differs behind byte {position}")
                if not count:
                    break
                position += count
                self._progress.steps += 1
                if self._progress.stopped:
                    raise StoppedError
            self._give_back(fd)
        finally:
            os.close(source)
            if fd >= 0:
                close_quietly(fd)

    def _get(self, source: int, view: memoryview) -> int:
        try:
            return _fill(source, view)
        except OSError as error:
            raise AppError(
                ErrorKind.IO, "Your own files cannot be read to the end.", detail=str(error)
            ) from error


def _fill(fd: int, view: memoryview) -> int:
    """Read until the view is full or the file ends; return the bytes."""
    done = 0
    while done < len(view):
        count = os.readv(fd, [view[done:]])
        if not count:
            break
        done += count
    return done
