"""Mounts that come and go leave nothing: neither in the agent nor in its helpers nor in the kernel."""

from collections.abc import Callable
from typing import Any

import pytest

#: What allocators keep at a time, KiB; a leak of one cycle is far below it, that of a thousand far above.
SLACK_KIB = 2048


def check(found: dict[str, Any]) -> None:
    print(found)  # what was held, for those who look (-rP)
    assert found["failures"] == []
    # The last cycle was that of an ordinary mount; a helper that had nothing to do for long has ended.
    assert {"agent", "mount", "mount: mount"} <= set(found["before"]) & set(found["after"])
    for name in set(found["before"]) & set(found["after"]):
        descriptors, resident_kib = found["before"][name]
        now = found["after"][name]
        assert now[0] <= descriptors, (name, found)
        assert now[1] <= resident_kib + SLACK_KIB, (name, found)
    assert found["left"] == {"processes": [], "mounts": [], "clients": []}
    assert found["volumes"] == 0


def test_thirty_mounts_leave_nothing(guest_job: Callable[..., dict[str, Any]]) -> None:
    check(guest_job({"cycles": {"cycles": 30}}))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_thousand_mounts_leave_nothing(guest_job: Callable[..., dict[str, Any]]) -> None:
    check(guest_job({"cycles": {"cycles": 1000}}, timeout_s=7000))
