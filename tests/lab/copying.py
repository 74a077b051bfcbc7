"""Copy tests of the lab's share, where the fixture lab_mount mounts it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from app.agent.protocol import FaultArgs
from app.bench.result import TestResult, TestSpec
from app.errors import AppError

if TYPE_CHECKING:
    from app.lab.guest import Guest

POINT = "/mnt/copy"
MIB = 2**20
SMALL: dict[str, Any] = {"workload": "files", "count": 60, "size": 4096}


@contextmanager
def fault(lab: "Guest", name: str, undo: str, size: int = 0) -> Iterator[None]:
    lab.client.submit("lab.fault", FaultArgs(fault=name, bytes=size)).result(30)
    try:
        yield
    finally:
        lab.client.submit("lab.fault", FaultArgs(fault=undo)).result(30)


def copy(lab: "Guest", **spec: Any) -> TestResult:
    args = TestSpec(**{"path": POINT, "size": 16 * MIB, **spec})
    result = lab.client.submit("test.run", args).result(100)
    assert isinstance(result, TestResult)
    return result


def refused(lab: "Guest", **spec: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        copy(lab, **spec)
    return caught.value
