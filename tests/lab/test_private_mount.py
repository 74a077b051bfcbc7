"""Private test mounts on a real kernel: values in use, tests in the namespace, and cleanup."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from app.errors import AppError, ErrorKind
from app.helper.bench_verbs import MAX_SUPERBLOCKS
from app.service.protocol import ListArgs
from app.speedtest.model import TestPlan, TestPlanArgs, TestResult, TestSpec

if TYPE_CHECKING:
    from lab_guest import LabGuest

MIB = 2**20
NOTHING: dict[str, list[str]] = {"processes": [], "mounts": [], "clients": []}

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def found(guest_job: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """What the jobs in a guest of their own found."""
    first = ["in_use", "connections", "as_nobody", "cancelled", "killed_worker", "several", "limits"]
    # Those after which something is left for the next one to find; it says how much.
    return guest_job({"private": [*first, "killed_helper", "killed_agent", "dead_server"]})


def job(found: dict[str, Any], name: str) -> dict[str, Any]:
    told: dict[str, Any] = found[name]
    assert "failed" not in told, told["failed"]
    assert told["left"] == NOTHING
    return told


def test_nobody_else_sees_it_and_its_options_are_its_own(found: dict[str, Any]) -> None:
    told = job(found, "in_use")
    assert told["outside"] == told["outside after"] == []
    (line,) = told["inside"]
    assert {"nosuid", "nodev"} <= set(line.split()[5].split(","))
    assert {"rsize=16384", "timeo=123", "nosharecache"} <= set(line.split()[-1].split(","))
    assert told["effective"]["rsize"] == "16384"
    assert told["requested"] == {"vers": "4.2", "rsize": "16384", "timeo": "123"}
    assert (told["read_ahead_kb"], told["shared"]) == (2048, False)
    assert told["written"] == told["read"] == 2 * MIB
    assert (told["fresh"], told["fresh cached"], told["notes"]) == (MIB, False, [])
    sync_s, unmount_s, gone = told["closing"]
    assert sync_s > 0
    assert unmount_s > 0
    assert gone


def test_connections_of_an_earlier_mount_are_said_to_be_its(found: dict[str, Any]) -> None:
    told = job(found, "connections")
    assert told["joined"] == [2, True, "111", 4096]
    assert told["beside"] != 4096  # the readahead of the mount beside it is left alone
    (note,) = told["notes"]
    assert "nconnect=5 had no effect" in note
    assert told["own"] == [5, False]


def test_an_ordinary_user_s_worker_is_the_user(checkout_for_all: None, found: dict[str, Any]) -> None:
    """The server maps root to nobody."""
    told = job(found, "as_nobody")
    status = told["status"]
    assert status["Uid"].split() == ["65534"] * 4
    assert status["Gid"].split() == ["65534"] * 4
    assert status["Groups"].split() == ["4242", "65534"]
    assert status["NoNewPrivs"] == "1"
    for kind in ("CapInh", "CapPrm", "CapEff", "CapAmb", "SigBlk", "SigIgn"):
        assert int(status[kind], 16) == 0
    assert told["processes"] == [told["own processes"]]
    assert told["last"].startswith("Max realtime timeout")  # nothing of an environment comes after it
    assert told["files"] == ["0", "1", "2", "3"]  # the last is that of the directory listed
    assert told["reads root's"] == []
    assert told["refused"] == ErrorKind.USAGE
    assert told["written"] == MIB
    assert told["closing"][0] is not None
    assert told["closing"][2]


def test_a_cancelled_test_leaves_nothing(found: dict[str, Any]) -> None:
    told = job(found, "cancelled")
    assert (told["kind"], told["settled"]) == (ErrorKind.CANCELLED, True)


def test_killed_processes_leave_nothing(found: dict[str, Any]) -> None:
    told = job(found, "killed_worker")
    assert told["kinds"] == [ErrorKind.IO, ErrorKind.IO]
    standing, copy = told["kept"]
    assert told["standing"][0] == standing
    assert copy not in told["standing"]
    assert job(found, "killed_agent")
    told = job(found, "killed_helper")
    assert (told["kind"], told["closing"]) == (ErrorKind.IO, [None, None, True])
    # Nobody was left to remove its files: they are recorded, and removed when the share is mounted again.
    assert (told["recorded"], told["removed"], told["notes"]) == (True, True, [])


def test_one_worker_stands_by_for_all_mounts_of_a_session(found: dict[str, Any]) -> None:
    told = job(found, "several")
    first, second, third, fourth = told["standing"]
    assert len(first) == 2
    assert first == second
    # What used the second mount when it was closed was ended, and all that ran beside it.
    assert third == fourth != second
    assert (told["closings"], told["ended"]) == ([True] * 4, True)


def test_workers_and_the_life_of_a_mount_are_limited(found: dict[str, Any]) -> None:
    told = job(found, "limits")
    assert told["codes"] == [
        "",
        "",
        "busy-helper: 2 programs run for the test mount already.",
        "not-mounted: A test mount lives for 12 hours at most; this one has been closed.",
    ]
    assert told["fresh"] == [True, True]


@pytest.mark.long
def test_test_mounts_that_are_held_from_outside_are_limited(guest_job: Callable[..., dict[str, Any]]) -> None:
    """A descriptor that a worker hands out keeps its mount alive; there is an end to that."""
    told = job(guest_job({"private": ["held"]}), "held")
    assert (told["held"], told["refused"], told["alive"]) == (
        MAX_SUPERBLOCKS,
        ErrorKind.BUSY,
        MAX_SUPERBLOCKS,
    )
    assert told["again"] == "4.2"


def check_dead_server(found: dict[str, Any], name: str) -> None:
    told = job(found, name)
    sync_s, _unmount_s, gone = told["closing"]
    assert (sync_s, gone) == (None, True)
    # Files of a test that was cancelled then are recorded, and removed when the share is mounted again. The
    # directory of one that was cut off before it was marked is removed by the next test there.
    assert (told["recorded"], told["removed"]) == (True, True)
    assert "The files of 1 earlier test(s) that had been killed were removed." in told["notes"]
    assert found["files"] == []


def test_closing_answers_with_a_dead_server(found: dict[str, Any]) -> None:
    check_dead_server(found, "dead_server")


@pytest.mark.long
def test_closing_answers_with_a_dead_server_of_version_3(guest_job: Callable[..., dict[str, Any]]) -> None:
    check_dead_server(guest_job({"private": ["dead_server_3"]}), "dead_server_3")


def run(lab: "LabGuest", **spec: Any) -> TestResult:
    plain: dict[str, Any] = {"path": "", "share": lab.share, "size": 2 * MIB}
    result: TestResult = lab.ask("test.run", TestSpec(**{**plain, **spec}))
    return result


@pytest.mark.parametrize("options", ["vers=3,rsize=8192", "vers=4.2,nconnect=3,timeo=150"])
def test_a_share_that_is_not_mounted_is_tested(lab: "LabGuest", options: str) -> None:
    result = run(lab, options=options)
    assert (result.nfs, result.share, result.path) == (True, lab.share, "")
    asked = dict(word.split("=") for word in options.split(","))
    assert result.requested == asked
    assert asked.items() <= result.effective.items()
    assert result.write is not None
    assert result.read is not None
    assert result.write.bytes == result.read.server_bytes == 2 * MIB
    assert result.notes == []
    assert [row for row in lab.ask("mounts.list", ListArgs()).mounts if row.active] == []


def test_a_share_that_is_not_mounted_is_planned(lab: "LabGuest") -> None:
    spec = TestSpec(path="", share=lab.share, options="vers=4.2")
    plan: TestPlan = lab.ask("test.plan", TestPlanArgs(spec=spec, preset="quick"))
    assert plan.free
    assert (plan.spec.share, plan.spec.repeats) == (lab.share, 6)


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ({"share": "nas"}, ErrorKind.SHARE_INVALID),
        ({"options": "vers=4.2,suid"}, ErrorKind.OPTION_INVALID),
        ({"share": "10.9.0.1:/nowhere", "options": "vers=4.2"}, ErrorKind.EXPORT_MISSING),
        ({"path": "not/there"}, ErrorKind.PATH_MISSING),
        ({"path": "../etc"}, ErrorKind.USAGE),
    ],
)
def test_a_test_that_cannot_be_made_says_why(lab: "LabGuest", spec: dict[str, str], kind: ErrorKind) -> None:
    with pytest.raises(AppError) as caught:
        run(lab, **spec)
    assert caught.value.kind == kind


def test_a_read_only_export_is_told(lab: "LabGuest", lab_fault: Callable[..., None]) -> None:
    lab_fault("export-ro")
    with pytest.raises(AppError) as caught:
        run(lab)
    assert caught.value.kind == ErrorKind.READ_ONLY
