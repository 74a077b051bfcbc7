"""Verbs of the helper on a real kernel, also with a dead server: mounts, remounts, holders, units."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import Written
from lab_verbs import HelperArgs

from app.errors import AppError, ErrorKind
from app.service.protocol import ListArgs, MountArgs, UnmountArgs
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from collections.abc import Callable

    from lab_guest import LabGuest

    from advisor.facts import LinkFacts

POINT = "/mnt/verbs/point"

pytestmark = pytest.mark.lab


def ask(lab: "LabGuest", verb: str, role: str = "mount", **args: object) -> dict[str, Any]:
    found: dict[str, Any] = lab.ask("lab.helper", HelperArgs(action=role, verb=verb, args=args))
    return found


def refusal(lab: "LabGuest", verb: str, role: str = "mount", **args: object) -> AppError:
    with pytest.raises(AppError) as caught:
        ask(lab, verb, role, **args)
    return caught.value


def attempt(lab: "LabGuest", options: str, **changes: object) -> dict[str, Any]:
    return ask(lab, "try", **{"share": lab.share, "options": options, "timeout_s": 60.0, **changes})


def mounts(lab: "LabGuest") -> list[Any]:
    return [row for row in lab.ask("mounts.list", ListArgs()).mounts if row.active]


@pytest.fixture
def mounted(lab: "LabGuest") -> Iterator[None]:
    args = MountArgs(share=lab.share, mount_point=POINT, options="vers=4.1,timeo=300")
    lab.ask("mounts.mount", args)
    yield
    lab.unmount_when_free(POINT)


@pytest.mark.parametrize(
    ("options", "version", "connections"),
    [("vers=3,rsize=5000", "3", 1), ("vers=4.2,nconnect=4", "4.2", 4), ("vers=4.0,ro", "4.0", 1)],
)
def test_a_mount_is_tried_and_gone(lab: "LabGuest", options: str, version: str, connections: int) -> None:
    before = mounts(lab)
    found = attempt(lab, options)
    assert (found["version"], found["nconnect"]) == (version, connections)
    assert found["fstype"] == ("nfs" if version == "3" else "nfs4")
    assert not found["shared"]
    assert {"nosuid", "nodev"} <= set(found["mount_options"].split(","))
    assert ("rsize=4096" in found["options"].split(",")) == ("rsize" in options)
    assert found["read_ahead_kb"] > 0
    assert mounts(lab) == before
    # Gone for the kernel too: the next one makes connections of its own, with another number of them.
    other = attempt(lab, f"vers={version},nconnect=2")
    assert (other["nconnect"], other["shared"]) == (2, False)


def test_a_try_beside_a_mount_tells_that_it_shares(lab: "LabGuest", mounted: None) -> None:
    found = attempt(lab, "vers=4.1,timeo=300")
    assert found["shared"]
    assert [row.mount_point for row in mounts(lab)] == [POINT]


def test_a_try_fails_as_a_mount_does(lab: "LabGuest") -> None:
    error = refusal(lab, "try", share="10.9.0.1:/nowhere", options="vers=4.2")
    assert error.kind is ErrorKind.EXPORT_MISSING
    error = refusal(lab, "try", share=lab.share, options="vers=4.2,suid")
    assert error.kind is ErrorKind.OPTION_INVALID
    error = refusal(lab, "try", share="nas", options="")
    assert error.kind is ErrorKind.SHARE_INVALID
    assert mounts(lab) == []


def test_a_try_with_a_dead_server_ends(lab: "LabGuest", lab_fault: "Callable[..., None]") -> None:
    lab_fault("link-down")
    error = refusal(lab, "try", share=lab.share, options="vers=4.2", timeout_s=2.0)
    assert error.kind in {ErrorKind.SERVER_SILENT, ErrorKind.MOUNT_FAILED}
    assert mounts(lab) == []
    lab_fault("link-up")
    assert attempt(lab, "vers=4.2")["version"] == "4.2"


def test_a_try_under_way_is_cancelled(lab: "LabGuest") -> None:
    # The kernel looks for an address of the subnet for 3 s (arp(7)).
    wire = {"share": "10.9.0.77:/x", "options": "vers=4.2", "timeout_s": 60.0}
    call = lab.submit("lab.helper", HelperArgs(action="mount", verb="try", args=wire))
    assert call.still_runs_after(0.5)
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result()
    assert caught.value.kind is ErrorKind.CANCELLED
    assert mounts(lab) == []


def test_a_mount_in_use_is_remounted(lab: "LabGuest", mounted: None) -> None:
    def shown() -> set[str]:
        return set(mounts(lab)[0].active.options.split(","))

    found = ask(lab, "remount", target=POINT, options="ro,noexec,noatime")
    assert {"ro", "noexec", "noatime", "nosuid", "nodev"} <= set(found["mount_options"].split(","))
    assert {"ro", "noexec", "vers=4.1", "timeo=300"} <= shown()
    found = ask(lab, "remount", target=POINT, options="rw,exec,relatime,sync")
    assert found["whole"]
    assert {"rw", "sync", "relatime", "nosuid", "timeo=300"} <= shown()
    assert "noexec" not in shown()
    ask(lab, "remount", target=POINT, options="async")
    assert "sync" not in shown()
    for options in ("rsize=4096", "suid", "vers=3", "timeo=100", "nconnect=4"):
        assert refusal(lab, "remount", target=POINT, options=options).kind is ErrorKind.OPTION_INVALID
    for target in ("/proc", "/", "/mnt"):
        assert refusal(lab, "remount", target=target, options="ro").kind is ErrorKind.NOT_MOUNTED


def test_a_mount_that_is_read_only_as_a_whole_becomes_writable(lab: "LabGuest") -> None:
    args = MountArgs(share=lab.share, mount_point=POINT, options="vers=4.2,ro")
    lab.ask("mounts.mount", args)
    try:
        assert ask(lab, "remount", target=POINT, options="rw")["options"].startswith("rw,")
        assert "rw" in mounts(lab)[0].active.options.split(",")
    finally:
        lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))


def test_a_dead_mount_s_holders_flags_and_writes(
    lab: "LabGuest", mounted: None, lab_fault: "Callable[..., None]", lab_link: "Callable[[str], LinkFacts]"
) -> None:
    assert ask(lab, "holders", target=POINT) == {"holders": []}
    # Slow enough that the copy is still under way at the end, however slow this machine is.
    lab_link("10base-t")
    written = Written()
    spec = TestSpec(path=POINT, direction="write", size=48 << 20)
    copying = lab.submit("test.run", spec, written)
    lab.wait(written, "the first bytes of the copy", copying)
    assert refusal(lab, "remount", target=POINT, options="ro").kind is ErrorKind.BUSY
    lab_fault("link-down")
    try:
        (holder, *_) = ask(lab, "holders", target=POINT)["holders"]
        assert (holder["user"], holder["uid"]) == ("root", 0)
        assert holder["use"] == "open file"
        # This asks the server to take what was written first.
        error = refusal(lab, "remount", target=POINT, options="sync", timeout_s=1.0)
        assert error.kind is ErrorKind.NOT_RESPONDING
        tuned = ask(lab, "tune", "tune", target=POINT, read_ahead_kb=64)
        assert tuned["after"] == {"read_ahead_kb": 64}
    finally:
        lab_link("gigabit")  # what is on its way must arrive before the mount can go
        lab_fault("link-up")
        copying.cancel()
        with pytest.raises(AppError):
            copying.result()


def test_the_readahead_is_tuned(lab: "LabGuest", mounted: None) -> None:
    found = ask(lab, "tune", "tune", target=POINT, read_ahead_kb=4096)
    assert found["after"] == {"read_ahead_kb": 4096}
    assert mounts(lab)[0].active.read_ahead_kb == 4096
    again = ask(lab, "tune", "tune", target=POINT, **found["before"])
    assert again == {"before": found["after"], "after": found["before"]}
    error = refusal(lab, "tune", "tune", target="/proc", read_ahead_kb=1)
    assert error.kind is ErrorKind.NOT_MOUNTED


def test_units_of_our_own_come_and_go(lab: "LabGuest") -> None:
    args: dict[str, object] = {"share": lab.share, "target": POINT, "options": "nofail", "automount": True}
    written = ask(lab, "unit-write", "persist", **args, idle_s=60, sha256="")
    assert written["automount"].splitlines()[-1] == "WantedBy=remote-fs.target"
    assert refusal(lab, "unit-write", "persist", **args, sha256="").kind is ErrorKind.FSTAB_CHANGED
    gone = ask(lab, "unit-remove", "persist", target=POINT, sha256=written["sha256"])
    assert gone["sha256"] == ""
    error = refusal(lab, "unit-remove", "persist", target=POINT, sha256="")
    assert error.kind is ErrorKind.NOT_MOUNTED


@pytest.mark.parametrize("version", ["3", "4.2"])
def test_the_flags_of_a_dead_mount_change_and_it_goes(
    lab: "LabGuest", lab_fault: "Callable[..., None]", version: str
) -> None:
    lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options=f"vers={version}"))
    lab_fault("link-down")
    # Neither walks into the mount: its root is opened where no server is asked.
    found = ask(lab, "remount", target=POINT, options="noexec,noatime", timeout_s=20.0)
    assert {"noexec", "noatime", "nosuid", "nodev"} <= set(found["mount_options"].split(","))
    assert ask(lab, "unmount", target=POINT, timeout_s=20.0) == {
        "removed_directory": True,
        "still_mounted": False,
    }
    assert mounts(lab) == []


def test_a_mount_hides_what_is_in_a_directory_where_that_is_said(lab: "LabGuest") -> None:
    # The guest has the host's /var/log: it is outside the directories for mounts, and not empty.
    args: dict[str, object] = {"share": lab.share, "options": "vers=4.2", "create": False}
    error = refusal(lab, "mount", target="/var/log", **args)
    assert error.kind is ErrorKind.MOUNT_POINT_NOT_EMPTY
    ask(lab, "mount", target="/var/log", hide=True, **args)
    try:
        assert [row.mount_point for row in mounts(lab)] == ["/var/log"]
    finally:
        ask(lab, "unmount", target="/var/log")
    assert mounts(lab) == []
    for target in ("/usr/local/bin", "/root/x", "/var/spool/cron", "/run/systemd"):
        for options in ({"hide": True}, {}):
            error = refusal(lab, "mount", target=target, **args, **options)
            assert error.kind is ErrorKind.MOUNT_POINT_SYSTEM
