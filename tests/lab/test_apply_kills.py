"""Changes of mounts whose agent, helper or both are killed with SIGKILL at each moment."""

from collections.abc import Callable
from typing import Any

import pytest
from apply_kills import CHANGES


def check(found: dict[str, Any], kills: int) -> None:
    print(found)  # what became of the kills, for those who look (-rP)
    assert found["problems"] == []
    assert found["kills"] >= kills
    assert found["told"]
    assert found["as before"]
    assert found["left"] == {"processes": [], "mounts": [], "clients": []}


def test_a_change_is_killed_at_each_request(guest_job: Callable[..., dict[str, Any]]) -> None:
    """Agent, helper and both in turn."""
    check(guest_job({"apply-kills": {"names": ["mount"], "whole": False, "seed": 1}}), 15)


@pytest.mark.long
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_killed_at_each_request_from_every_side(
    guest_job: Callable[..., dict[str, Any]], name: str
) -> None:
    found = guest_job({"apply-kills": {"names": [name], "whole": True, "seed": 1}}, timeout_s=2000)
    check(found, 18)
