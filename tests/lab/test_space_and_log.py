"""Commands about real mounts of version 3 and 4.2: how full they are, and what the log says of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from space_and_log import FREE, POINT, SIZE, lines_of

pytestmark = pytest.mark.lab
#: Both are read by the same code of either version: each in one of them, and in both in the long version.
FULL, SILENT = "4.2", "3"


def versions(chosen: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "version",
        [pytest.param(one, marks=[] if one == chosen else pytest.mark.long) for one in ("3", "4.2")],
    )


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]], request: pytest.FixtureRequest) -> dict[str, Any]:
    """What the commands said."""
    both = ["3", "4.2"] if request.config.getoption("--long") else []
    return guest_job({"managing": {"full": both or [FULL], "silent": both or [SILENT]}})


@versions(FULL)
def test_a_share_that_is_nearly_full(found: dict[str, Any], version: str) -> None:
    answers = found["full"][version]
    assert answers["text"]["code"] == answers["json"]["code"] == 0, answers
    assert "Nearly full: 1 MiB of 41 MiB free (2%)" in answers["text"]["out"]
    (row,) = json.loads(answers["json"]["out"])["mounts"]
    space = row["space"]
    assert row["mount_point"] == POINT
    assert (space["state"], space["short"], space["available_bytes"]) == ("known", ["bytes"], FREE)
    assert space["total_bytes"] == SIZE + FREE


@versions(SILENT)
def test_the_log_says_that_a_server_is_silent_and_that_it_is_back(
    found: dict[str, Any], version: str
) -> None:
    answers = found["silent"][version]
    assert any("not responding" in text for text in lines_of(answers["silent"])), answers
    assert any(text.endswith("OK") for text in lines_of(answers["back"])), answers
    assert json.loads(answers["back"]["out"])["source"] == "kernel"


@versions(SILENT)
def test_a_silent_server_is_said_to_be_silent(found: dict[str, Any], version: str) -> None:
    assert "the server does not answer" in found["silent"][version]["space"]["out"]


def test_mounts_are_exported_and_come_back_as_they_were(found: dict[str, Any]) -> None:
    along = found["along"]
    assert all(done["code"] == 0 for name, done in along.items() if name.startswith(("saved", "forget"))), (
        along
    )
    assert along["export"]["code"] == 0, along["export"]
    assert "Exported 4 mounts to /tmp/mounts.toml." in along["export"]["out"]
    assert along["again"]["code"] == 1  # a file of that name is not replaced
    assert along["file"].count("[[mount]]") == 4
    statuses = {item["entry"]["mount_point"]: item["status"]
                for item in json.loads(along["same"]["out"])["items"]}  # fmt: skip
    assert statuses == {"/mnt/by-hand": "same", "/mnt/live": "same", "/mnt/old": "same", "/mnt/unit": "same"}
    for point in ("/mnt/old", "/mnt/live", "/mnt/unit"):
        assert point in along["before"]["fstab"] + "".join(along["before"]["units"].values())
        assert point not in along["lost"]["fstab"] + "".join(along["lost"]["units"].values())
    assert along["unchanged"] == along["lost"]
    assert along["import"]["code"] == 0, along["import"]
    assert along["after"]["units"] == along["before"]["units"]
    assert sorted(along["after"]["fstab"].splitlines()) == sorted(along["before"]["fstab"].splitlines())
    assert sorted(along["mounted"]) == ["/mnt/by-hand", "/mnt/live"]  # nothing was mounted by it


def test_a_mount_made_by_hand_is_saved_and_mounted_if_that_is_asked_for(found: dict[str, Any]) -> None:
    along = found["along"]
    assert along["by hand"]["code"] == 0, along["by hand"]
    assert "/mnt/by-hand: saved and mounted" in along["by hand"]["out"]
    assert along["by hand is mounted"]


def test_the_journal_s_lines_are_those_of_this_mount(found: dict[str, Any]) -> None:
    answer = found["journal"]
    if not answer:
        pytest.skip("THE JOURNAL IS NOT TESTED. systemd-journald is not installed.")
    assert json.loads(answer["out"])["source"] == "journal"
    texts = lines_of(answer)
    assert any(POINT in text for text in texts)
    assert not any("elsewhere" in text or "Accepted" in text for text in texts), texts
