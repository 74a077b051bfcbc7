"""Private test mounts on a real kernel: what is in use in them, tests that run there, and what is left after."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from app.agent.protocol import ListArgs, MountArgs, UnmountArgs
from app.bench.result import TestResult, TestSpec
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.lab.guest import Guest

MIB = 2**20

pytestmark = pytest.mark.lab


def mounts(lab: "Guest") -> list[Any]:
    return [row for row in lab.client.submit("mounts.list", ListArgs()).result(60).mounts if row.active]


def run(lab: "Guest", **spec: Any) -> TestResult:
    plain: dict[str, Any] = {"path": "", "share": lab.share, "size": 2 * MIB}
    found: TestResult = lab.client.submit("test.run", TestSpec(**{**plain, **spec})).result(90)
    return found


@pytest.mark.parametrize("options", ["vers=3,rsize=8192", "vers=4.2,nconnect=3,timeo=150", "vers=4.0"])
def test_a_share_that_is_not_mounted_is_tested(lab: "Guest", options: str) -> None:
    result = run(lab, options=options)
    assert result.nfs
    assert (result.share, result.path) == (lab.share, "")
    asked = dict(word.split("=") for word in options.split(","))
    assert result.requested == asked
    assert asked.items() <= result.effective.items()
    assert result.write is not None
    assert result.read is not None
    assert result.write.bytes == result.read.server_bytes == 2 * MIB
    assert result.notes == []
    assert mounts(lab) == []
