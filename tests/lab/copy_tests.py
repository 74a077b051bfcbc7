"""Copy tests of the lab's share at the mount point of the fixture lab_mount."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from app.errors import AppError
from app.speedtest.model import TestEvent, TestResult, TestSpec

if TYPE_CHECKING:
    from lab_guest import LabGuest

    from advisor.bottleneck import Bottleneck

POINT = "/mnt/copy"
MIB = 2**20
SMALL: dict[str, Any] = {"workload": "files", "count": 60, "size": 4096}


class Written(threading.Event):
    """Listener of a copy test; its event is set by the first bytes, when the file is open."""

    def __call__(self, event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes:
            self.set()


@contextmanager
def fault(lab: "LabGuest", name: str, undo: str, size: int = 0) -> Iterator[None]:
    lab.fault(name, size)
    try:
        yield
    finally:
        lab.fault(undo)


def copy(lab: "LabGuest", **spec: Any) -> TestResult:
    args = TestSpec(**{"path": POINT, "size": 16 * MIB, **spec})
    result = lab.ask("test.run", args)
    assert isinstance(result, TestResult)
    return result


def speeds(result: TestResult) -> list[float]:
    """Return the throughput of each direction that was copied, bytes/s."""
    return [each.bytes_per_s for each in (result.write, result.read) if each is not None]


def check_the_line_is_filled(copy_once: "Callable[[], TestResult]", line: float, part: float) -> TestResult:
    """Check that one of five copies reaches a part of the link's rate both ways, and that none exceeds it.

    For the long version: a machine that stalls for a second slows down one copy, but not all five.

    Args:
        copy_once: function that makes one copy.
        line: rate of the link for file contents, bytes/s.
        part: fraction of the rate, from 0 to 1.
    """
    seen: list[list[float]] = []
    for _attempt in range(5):
        result = copy_once()
        seen.append(speeds(result))
        assert max(seen[-1]) <= line
        if min(seen[-1]) >= part * line:
            return result
    raise AssertionError(f"none of five copies reached {part:.0%} of {line:.0f} bytes a second: {seen}")


def held_back_by(kind: str, copy_once: "Callable[[], Bottleneck | None]") -> "Bottleneck":
    """Return the first finding of this kind in up to five copies.

    The bottleneck is measured. On a machine that stalls, a finding about the machine is correct for one copy,
    but
    not for all five.
    """
    seen: list[Bottleneck] = []
    for _attempt in range(5):
        found = copy_once()
        assert found is not None
        if found.kind == kind:
            return found
        seen.append(found)
    raise AssertionError(f"none of five copies was held back by {kind}: {seen}")


def refused(lab: "LabGuest", **spec: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        copy(lab, **spec)
    return caught.value
