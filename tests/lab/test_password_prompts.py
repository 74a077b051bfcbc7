"""Number of password prompts for each operation that changes something."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from app.process import find_program

MISSING = [name for name in ("pkexec", "pkttyagent", "dbus-daemon") if find_program(name) is None]
pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        bool(MISSING) and os.environ.get("CI") != "true", reason=f"not installed: {', '.join(MISSING)}"
    ),
]

Found = dict[str, dict[str, Any]]
Prompts = dict[str, tuple[int, list[str]]]

#: Each operation, by a command of its own: its exit status, and the actions that a password is asked for.
ORDINARY: Prompts = {
    "mount": (0, ["mount"]),
    "persist": (0, ["persist"]),
    "remount": (0, ["mount"]),
    "mount again": (0, ["mount"]),
    "apply": (0, ["apply"]),
    "readahead": (0, ["tune"]),
    "apply with readahead": (0, ["apply"]),
    "no": (130, ["apply"]),
    "no answer": (130, ["apply"]),
    "rollback": (1, ["apply"]),
    "next boot": (0, ["persist"]),
    "unmount": (0, ["mount"]),
    "mount of the entry": (0, ["mount"]),
    "unmount of the entry": (0, ["mount"]),
    "forget": (0, ["persist"]),
    "units": (0, ["apply"]),
    "unmount of units": (0, ["mount"]),
    "forget units": (0, ["persist"]),
}
MEASURING: Prompts = {"test": (0, ["bench"]), "experiment": (0, ["bench"])}
SYSTEM = {"mount": "mount-system", "persist": "persist-system", "apply": "apply-system"}


@pytest.fixture(
    scope="module",
    params=[
        "ordinary",
        pytest.param("system", marks=pytest.mark.long),
        pytest.param("root", marks=pytest.mark.long),
    ],
)
def operated(request: pytest.FixtureRequest, guest_job: Callable[..., Found]) -> tuple[str, Found]:
    """What came of everything that one person did: below /mnt, at a place of the system, and as root."""
    return request.param, guest_job({"prompts": request.param})


def prompts(found: Found) -> Prompts:
    return {name: (one["code"], one["asked"]) for name, one in found.items()}


def test_the_prompts_of_each_operation(operated: tuple[str, Found]) -> None:
    who, found = operated
    tables: dict[str, Prompts] = {
        "ordinary": {**ORDINARY, **MEASURING},
        "system": {
            name: (code, [SYSTEM.get(role, role) for role in roles])
            for name, (code, roles) in ORDINARY.items()
        },
        "root": {name: (code, []) for name, (code, _roles) in {**ORDINARY, **MEASURING}.items()},
    }
    assert prompts(found) == tables[who], {name: one["err"] for name, one in found.items()}


def test_each_operation_does_what_it_says(operated: tuple[str, Found]) -> None:
    _who, found = operated
    rsize = {
        "mount": "1048576", "persist": "1048576", "remount": "1048576", "mount again": "65536",
        "apply": "32768", "readahead": "32768", "apply with readahead": "16384", "no": "16384",
        "no answer": "16384", "rollback": "16384", "next boot": "16384", "unmount": None,
        "mount of the entry": "1048576", "unmount of the entry": None, "forget": None, "units": "1048576",
        "unmount of units": None, "forget units": None,
    }  # fmt: skip
    for name, size in rsize.items():
        rows = found[name]["mounted"]
        assert [f"rsize={size}," in row for row in rows] == ([] if size is None else [True]), (name, rows)
    assert "noexec" in found["remount"]["mounted"][0]
    assert "noexec" not in found["mount again"]["mounted"][0]
    assert [found[name]["readahead"] for name in ("mount", "readahead", "apply with readahead")] == [
        [128], [1024], [2048],
    ]  # fmt: skip
    for name in ("no", "no answer", "rollback"):
        assert "The change was rolled back." in found[name]["err"]
        assert state(found[name]) == state(found["apply with readahead"])
    assert "rsize=16384" in found["rollback"]["fstab"]
    assert "rsize=4096" in found["next boot"]["fstab"]
    assert found["forget"]["fstab"] == ""
    assert [len(found[name]["units"]) for name in ("forget", "units", "forget units")] == [0, 1, 0]


def state(one: dict[str, Any]) -> list[Any]:
    """Return what a change may change."""
    return [one[name] for name in ("mounted", "readahead", "fstab", "units")]


def test_the_experiment_compares_its_option_sets(operated: tuple[str, Found]) -> None:
    who, found = operated
    assert ("experiment" in found) == (who != "system")  # a test mount has no place of its own
    assert who == "system" or all(
        f"rsize={size}" in found["experiment"]["out"] for size in ("16384", "65536", "1048576")
    )


@pytest.fixture(scope="module")
def late(guest_job: Callable[..., Found]) -> Found:
    """What came of it where a person takes longer than a helper waits for a request."""
    return guest_job({"prompts": "late"})


@pytest.mark.long
def test_a_change_that_nobody_keeps_goes_back_without_a_password(late: Found) -> None:
    """The question stands for longer than a helper waits, and nobody is there for another one."""
    assert prompts(late)["no answer"] == (130, ["apply"])
    assert "The change was rolled back." in late["no answer"]["err"]
    assert state(late["no answer"]) == state(late["mount"])


@pytest.mark.long
def test_an_experiment_asks_once_however_long_its_plan_is_read(late: Found) -> None:
    """The test before it, the plan and the trials have one session."""
    assert prompts(late)["experiment"] == (0, ["bench"]), late["experiment"]["err"]


@pytest.mark.long
def test_a_window_keeps_the_right_to_mount_for_a_while_and_no_other(late: Found) -> None:
    assert prompts(late)["window"] == (0, ["mount", "persist", "persist"]), late["window"]["err"]


@pytest.mark.long
def test_what_an_ordinary_user_saves_lasts(guest_job: Callable[..., Found]) -> None:
    found = guest_job({"prompts": "save"})
    assert prompts(found) == {
        "mount": (0, ["mount"]),
        "save readahead": (0, ["tune"]),
        "save both": (0, ["apply"]),
        "ordering word": (0, ["persist-system"]),
        "unknown word": (0, ["persist-system"]),
        "forget": (0, ["apply"]),  # the entry and the rule
        "unmount": (0, ["mount"]),
    }, {name: one["err"] for name, one in found.items()}
    rules = {name: one["rules"] for name, one in found.items()}
    assert (rules["mount"], rules["forget"]) == ([], [])
    assert 'ATTR{read_ahead_kb}="1024"' in rules["save readahead"][0]
    assert 'ATTR{read_ahead_kb}="512"' in rules["save both"][0]
    assert [found[name]["readahead"] for name in ("save readahead", "save both")] == [[1024], [512]]
    assert "x-systemd.requires=a.service" in found["ordering word"]["fstab"]
    assert "futureopt=7" in found["unknown word"]["fstab"]
    assert found["forget"]["fstab"] == ""
    assert found["unmount"]["mounted"] == []


NEEDS_THE_HELPER = [
    "mount", "mount at /data", "umount", "apply", "apply to fstab", "apply at /data", "readahead", "persist",
    "persist at /data", "forget", "test", "experiment plan", "experiment run", "experiment best",
]  # fmt: skip


def test_without_the_helper_a_command_says_how_to_get_it(guest_job: Callable[..., Found]) -> None:
    found = guest_job({"prompts": "without"})
    nothing = found.pop("umount of nothing")  # no helper could do it either
    assert (nothing["code"], "No NFS mount is at" in nothing["err"]) == (1, True)
    assert list(found) == NEEDS_THE_HELPER
    fstab = found["mount"]["fstab"]
    for name, one in found.items():
        assert one["code"] == 77, (name, one["err"])
        assert "install-helper” once in a terminal" in one["err"], (name, one["err"])
        assert one["asked"] == []
        assert state(one) == [[], [], fstab, []]
