"""Commands about real mounts of version 3 and 4.2: how full they are, and what the log says of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from managing import FREE, POINT, SIZE, lines_of

pytestmark = pytest.mark.lab
versions = pytest.mark.parametrize("version", ["3", "4.2"])


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What the commands said."""
    return guest_job({"managing": True})


@versions
def test_a_share_that_is_nearly_full(found: dict[str, Any], version: str) -> None:
    answers = found["full"][version]
    assert answers["text"]["code"] == answers["json"]["code"] == 0, answers
    assert "Nearly full: 1 MiB of 41 MiB free (2%)" in answers["text"]["out"]
    (row,) = json.loads(answers["json"]["out"])["mounts"]
    space = row["space"]
    assert row["mount_point"] == POINT
    assert (space["state"], space["short"], space["available_bytes"]) == ("known", ["bytes"], FREE)
    assert space["total_bytes"] == SIZE + FREE


@versions
def test_the_log_says_that_a_server_is_silent_and_that_it_is_back(
    found: dict[str, Any], version: str
) -> None:
    answers = found["silent"][version]
    assert any("not responding" in text for text in lines_of(answers["silent"])), answers
    assert any(text.endswith("OK") for text in lines_of(answers["back"])), answers
    assert json.loads(answers["back"]["out"])["source"] == "kernel"


@versions
def test_a_silent_server_is_said_to_be_silent(found: dict[str, Any], version: str) -> None:
    assert "the server does not answer" in found["silent"][version]["space"]["out"]


def test_the_journal_s_lines_are_those_of_this_mount(found: dict[str, Any]) -> None:
    answer = found["journal"]
    if not answer:
        pytest.skip("THE JOURNAL IS NOT TESTED. systemd-journald is not installed.")
    assert json.loads(answer["out"])["source"] == "journal"
    texts = lines_of(answer)
    assert any(POINT in text for text in texts)
    assert not any("elsewhere" in text or "Accepted" in text for text in texts), texts
