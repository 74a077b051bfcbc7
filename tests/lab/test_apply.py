"""Changes of real mounts: made, refused and rolled back, with busy mounts and dead servers."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import Written

from app.errors import AppError, ErrorKind
from app.mounts.change_model import MAX_KEEP_S, ApplyArgs, ApplyEvent, KeepArgs, PersistArgs, RemoveArgs
from app.service.protocol import ListArgs, UnmountArgs
from app.speedtest.model import TestSpec

if TYPE_CHECKING:
    from lab_guest import LabGuest, Pending

    from app.mounts.model import Mount

pytestmark = pytest.mark.lab
POINT = "/mnt/apply here"
#: Far more than this link carries until a test has ended it; by O_SYNC, so that little waits to be written.
SIZE, SLOW = 256 << 20, "rate=25mbit,queue=100"
FIRST = "vers=4.2,nofail,nosuid,nodev"
#: Longer than any wait of a test: what is asked or waited for ends because of what the test does.
PATIENCE_S = 600.0


def ask(lab: "LabGuest", **changes: Any) -> ApplyArgs:
    return ApplyArgs(**{"share": lab.share, "mount_point": POINT, "options": FIRST, "exact": True, **changes})


def apply(lab: "LabGuest", on_event: Callable[[ApplyEvent], None] | None = None, **changes: Any) -> Any:
    return lab.ask("mounts.apply", ask(lab, **changes), on_event)


def fails(lab: "LabGuest", on_event: Callable[[ApplyEvent], None] | None = None, **changes: Any) -> AppError:
    with pytest.raises(AppError) as caught:
        apply(lab, on_event, **changes)
    return caught.value


class Noticed(threading.Event):
    """Set by an event that names programs in the way, or asks whether to keep the change."""

    def __call__(self, event: ApplyEvent) -> None:
        if event.holders or event.keep_s:
            self.set()


def row(lab: "LabGuest", point: str = POINT) -> "Mount | None":
    table = lab.ask("mounts.list", ListArgs())
    return next((mount for mount in table.mounts if mount.mount_point == point), None)


def live(lab: "LabGuest") -> list[str]:
    """Return the options in use, [] if it is not mounted."""
    found = row(lab)
    return found.active.options.split(",") if found is not None and found.active is not None else []


def fstab_sha256(lab: "LabGuest") -> str:
    args = PersistArgs(share=lab.share, mount_point="/mnt/never", preview=True)
    sha256: str = lab.ask("mounts.persist", args).sha256
    return sha256


@pytest.fixture
def kept(lab: "LabGuest") -> Iterator[str]:
    """A mount that is in fstab and live; gives the checksum of that fstab."""
    apply(lab, keeper="fstab")
    yield fstab_sha256(lab)
    found = row(lab)
    if found is not None and found.active is not None:
        lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    lab.ask("mounts.forget", RemoveArgs(mount_point=POINT))


@pytest.fixture
def holder(lab: "LabGuest", kept: str, lab_link: Callable[[str], Any]) -> Iterator["Pending"]:
    """A program that writes to the mount until it is cancelled."""
    lab_link(SLOW)
    written = Written()
    copying = lab.submit("test.run", TestSpec(path=POINT, direction="write", size=SIZE, sync=True), written)
    lab.wait(written, "the first bytes of the copy", copying)
    yield copying
    copying.cancel()
    with contextlib.suppress(AppError):
        copying.result()


def test_every_class_of_change(lab: "LabGuest", kept: str) -> None:
    assert "vers=4.2" in live(lab)
    assert apply(lab, keeper="fstab").plan.steps == []
    # A remount of the flags of one mount point.
    report = apply(lab, options="vers=4.2,nofail,ro,noexec,nosuid,nodev", keeper="fstab")
    assert [step.kind for step in report.plan.steps] == ["back-up", "write", "remount", "check"]
    assert {"ro", "noexec"} <= set(live(lab))
    assert row(lab).state == "mounted"  # type: ignore[union-attr]
    report = apply(lab, keeper="fstab")
    assert {"rw"} == set(live(lab)) & {"ro", "rw", "noexec"}
    # A write to the running kernel, which a new mount is given again.
    report = apply(lab, keeper="fstab", read_ahead_kb=1024)
    assert [step.kind for step in report.plan.steps] == ["tune", "check"]
    assert report.report.mount.active.read_ahead_kb == 1024
    # Unmounting and mounting.
    report = apply(lab, options="vers=4.1,nconnect=2,rsize=12345,nofail,nosuid,nodev", keeper="fstab")
    assert [step.kind for step in report.plan.steps] == [
        "verify", "back-up", "write", "unmount", "mount", "tune", "check",
    ]  # fmt: skip
    values = {value.name: value for value in report.report.values}
    assert (values["nconnect"].effective, values["rsize"].effective) == ("2", "12288")
    assert report.report.mount.active.read_ahead_kb == 1024
    interruption = report.plan.interruption
    assert (interruption.effect, interruption.mount_point) == ("interrupts", POINT)
    assert report.backup != ""
    # To another place.
    apply(lab, mount_point="/mnt/elsewhere", replaces=POINT, keeper="fstab")
    assert (row(lab), row(lab, "/mnt/elsewhere").state) == (None, "mounted")  # type: ignore[union-attr]
    apply(lab, replaces="/mnt/elsewhere", keeper="fstab")
    assert (row(lab, "/mnt/elsewhere"), fstab_sha256(lab)) == (None, kept)


def test_a_bad_change_is_found_before_anything_is_touched(lab: "LabGuest", kept: str) -> None:
    before = row(lab)
    wrong: list[tuple[dict[str, Any], ErrorKind]] = [
        ({"options": "vers=4.2,xprtsec=tls"}, ErrorKind.OPTION_REJECTED),
        ({"share": "10.9.0.1:/nowhere"}, ErrorKind.EXPORT_MISSING),
    ]
    for changes, kind in wrong:
        error = fails(lab, keeper="fstab", **changes)
        assert error.kind is kind
        assert "Nothing was changed." in error.message
    assert (row(lab), fstab_sha256(lab)) == (before, kept)


def test_a_new_mount_that_fails_leaves_nothing(lab: "LabGuest", lab_fault: Callable[..., None]) -> None:
    before = fstab_sha256(lab)
    lab_fault("server-stop")
    error = fails(lab, keeper="fstab")
    lab_fault("server-start")
    assert error.kind in {ErrorKind.SERVER_REFUSED, ErrorKind.MOUNT_FAILED}
    assert (row(lab), fstab_sha256(lab)) == (None, before)


def test_kept_or_taken_back(lab: "LabGuest", kept: str) -> None:
    first = row(lab)
    changed: dict[str, Any] = {"options": "vers=4.2,nconnect=2,nofail,nosuid,nodev", "keeper": "fstab"}
    seconds: list[float] = []
    error = fails(lab, on_event=lambda event: seconds.append(event.keep_s), keep_s=5.0, **changed)
    assert error.kind is ErrorKind.CANCELLED
    assert "The change was rolled back." in error.message
    assert len([left for left in seconds if left]) >= 2
    again = row(lab)
    assert again is not None
    assert again.active is not None
    assert first is not None
    assert first.active is not None
    assert (again.active.options, again.active.nconnect) == (first.active.options, 1)
    assert fstab_sha256(lab) == kept
    # Cancelled while it asks.
    asked = Noticed()
    call = lab.submit("mounts.apply", ask(lab, keep_s=MAX_KEEP_S, **changed), asked)
    lab.wait(asked, "the question whether to keep the change", call)
    assert fails(lab, options="vers=4.0").kind is ErrorKind.BUSY
    with pytest.raises(AppError) as caught:
        lab.ask("mounts.keep", KeepArgs(id=call.id + 1000))
    assert caught.value.kind is ErrorKind.USAGE
    call.cancel()
    with pytest.raises(AppError, match="The change was rolled back"):
        call.result()
    assert fstab_sha256(lab) == kept
    # Kept.
    asked.clear()
    call = lab.submit("mounts.apply", ask(lab, keep_s=MAX_KEEP_S, **changed), asked)
    lab.wait(asked, "the question whether to keep the change", call)
    lab.ask("mounts.keep", KeepArgs(id=call.id))
    assert call.result().report.mount.active.nconnect == 2
    assert row(lab).state == "mounted"  # type: ignore[union-attr]


def test_units_are_kept_and_taken_back(lab: "LabGuest") -> None:
    # The files alone: no systemd runs in the guest.
    point = "/mnt/unit 1"
    apply(lab, mount_point=point)
    asked: dict[str, Any] = {
        "mount_point": point, "options": "vers=4.1,nofail,nosuid,nodev", "keeper": "systemd",
    }  # fmt: skip
    plan = lab.ask("mounts.plan", ask(lab, **asked))
    assert "+Options=vers=4.1,nofail,nosuid,nodev\n" in plan.diff
    assert plan.sha256 == ""
    written: list[str] = []
    error = fails(
        lab, on_event=lambda event: written.append(f"{event.kind} {event.state}"), keep_s=1.0, **asked
    )
    assert error.kind is ErrorKind.CANCELLED
    assert "The change was rolled back." in error.message
    assert "write done" in written
    assert lab.ask("mounts.plan", ask(lab, **asked)).sha256 == ""
    lab.ask("mounts.unmount", UnmountArgs(mount_point=point))


def test_programs_in_the_way(lab: "LabGuest", kept: str, holder: "Pending") -> None:
    changed: dict[str, Any] = {"options": "vers=4.1,nofail,nosuid,nodev", "keeper": "fstab"}
    events: list[ApplyEvent] = []
    error = fails(lab, on_event=events.append, **changed)
    assert error.kind is ErrorKind.BUSY
    named = [one for event in events for one in event.holders]
    assert named
    assert all(one.own and one.use == "open file" for one in named)
    assert (fstab_sha256(lab), "vers=4.2" in live(lab)) == (kept, True)
    plan = lab.ask("mounts.plan", ask(lab, **changed))
    assert [one.pid for one in plan.holders] == [one.pid for one in named]
    # Only what counts from the next start.
    apply(lab, busy="next-boot", **changed)
    assert row(lab).state == "differs"  # type: ignore[union-attr]
    assert "vers=4.2" in live(lab)
    # Until it is free; meanwhile fstab is changed by somebody else, which stays.
    other = PersistArgs(share=lab.share, mount_point="/mnt/somebody", options="noauto")
    waiting = Noticed()
    call = lab.submit(
        "mounts.apply",
        ask(lab, busy="wait", wait_s=PATIENCE_S, options="vers=4.1,nofail,ro,nosuid,nodev", keeper="fstab"),
        waiting,
    )
    lab.wait(waiting, "the programs in the way to be named", call)
    lab.ask("mounts.persist", other)
    call.cancel()
    with pytest.raises(AppError, match="Some steps could not be rolled back"):
        call.result()
    assert row(lab, "/mnt/somebody") is not None
    lab.ask("mounts.forget", RemoveArgs(mount_point="/mnt/somebody"))
    # Ended: it is a program of the same user.
    apply(lab, busy="stop", **changed)
    assert "vers=4.1" in live(lab)


def test_waited_for_and_detached(lab: "LabGuest", kept: str, holder: "Pending") -> None:
    apply(lab, busy="lazy", options="vers=4.0,nosuid,nodev")
    holder.cancel()
    assert "vers=4.0" in live(lab)
    written = Written()
    second = lab.submit("test.run", TestSpec(path=POINT, direction="write", size=SIZE, sync=True), written)
    lab.wait(written, "the first bytes of the copy", second)
    waiting = Noticed()
    call = lab.submit("mounts.apply", ask(lab, busy="wait", wait_s=PATIENCE_S), waiting)
    lab.wait(waiting, "the programs in the way to be named", call)
    second.cancel()
    call.result()
    assert "vers=4.2" in live(lab)
    with pytest.raises(AppError):
        second.result()


def test_an_export_that_is_withdrawn_meanwhile(
    lab: "LabGuest", kept: str, holder: "Pending", lab_fault: Callable[..., None]
) -> None:
    waiting = Noticed()
    call = lab.submit(
        "mounts.apply",
        ask(lab, busy="wait", wait_s=PATIENCE_S, options="vers=4.1,nofail,nosuid,nodev", keeper="fstab"),
        waiting,
    )
    lab.wait(waiting, "the programs in the way to be named", call)
    lab_fault("export-none")
    holder.cancel()
    with pytest.raises(AppError) as caught:
        call.result()
    lab_fault("export-rw")
    # What the holder could not remove meanwhile is removed now, so that no later test tells of it.
    lab.ask("test.run", TestSpec(path="", share=lab.share, size=1 << 20))
    # The old mount cannot be had either: that is said, and what could go back did.
    assert f"{lab.share} could not be mounted again at {POINT}" in caught.value.message
    assert (live(lab), fstab_sha256(lab)) == ([], kept)


def test_a_dead_server(lab: "LabGuest", kept: str, lab_fault: Callable[..., None]) -> None:
    changed: dict[str, Any] = {"options": "vers=4.1,nofail,nosuid,nodev", "keeper": "fstab"}
    lab_fault("link-down")
    plan = lab.ask("mounts.plan", ask(lab, **changed))
    assert {step.kind for step in plan.steps} == {"back-up", "write"}
    assert any("does not answer" in warning for warning in plan.warnings)
    error = fails(lab, **changed)
    assert (error.kind, fstab_sha256(lab)) == (ErrorKind.NOT_RESPONDING, kept)
    apply(lab, busy="next-boot", **changed)
    lab_fault("link-up")
    assert "vers=4.2" in live(lab)
    assert row(lab).state == "differs"  # type: ignore[union-attr]
