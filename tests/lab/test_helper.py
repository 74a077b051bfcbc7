"""Invalid requests and faulty servers, from agent to kernel: each has its message and its cleanup."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

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

POINT = "/mnt/helper/point"
#: In the lab's network, and nobody has it: packets to it are lost.
NOBODY = "10.9.0.77"

pytestmark = pytest.mark.lab


def mount(lab: "LabGuest", **changes: object) -> object:
    plain: dict[str, object] = {
        "share": lab.share,
        "mount_point": POINT,
        "options": "vers=4.2",
        "timeout_s": 60.0,
    }
    args = MountArgs(**{**plain, **changes})  # type: ignore[arg-type]
    return lab.ask("mounts.mount", args)


def unmount(lab: "LabGuest", **flags: bool) -> object:
    return lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT, **flags))


def failure(lab: "LabGuest", **changes: object) -> AppError:
    with pytest.raises(AppError) as caught:
        mount(lab, **changes)
    error = caught.value
    assert error.message.endswith(".")
    assert error.hint.endswith(".")
    return error


def assert_nothing_left(lab: "LabGuest") -> None:
    table = lab.ask("mounts.list", ListArgs())
    assert [row.mount_point for row in table.mounts if row.mount_point == POINT] == []
    # The parent was made with the mount point, and is gone with it.
    assert failure(lab, create=False).kind is ErrorKind.MOUNT_POINT_MISSING


@pytest.fixture
def mounted(lab: "LabGuest") -> Iterator[object]:
    yield mount(lab)
    lab.unmount_when_free(POINT)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"share": "nas"}, ErrorKind.SHARE_INVALID),
        ({"share": "10.9.0.1:export"}, ErrorKind.SHARE_INVALID),
        ({"share": "-o:/export"}, ErrorKind.SHARE_INVALID),
        ({"share": "no-such-host.invalid:/x"}, ErrorKind.SERVER_UNKNOWN),
        ({"share": f"{NOBODY}:/x"}, ErrorKind.SERVER_SILENT),
        ({"share": "10.9.0.1:/nowhere"}, ErrorKind.EXPORT_MISSING),
        ({"share": "10.9.0.1:/nowhere", "options": "vers=3"}, ErrorKind.ACCESS_DENIED),
        ({"options": "vers=4.2,port=9"}, ErrorKind.SERVER_REFUSED),
        ({"options": "vers=4.2,suid"}, ErrorKind.OPTION_INVALID),
        ({"options": "remount,ro"}, ErrorKind.OPTION_INVALID),
        ({"options": "vers=4.2,rsize=lots"}, ErrorKind.OPTION_INVALID),
        ({"options": "vers=4.2,xprtsec=tls"}, ErrorKind.OPTION_REJECTED),
        ({"mount_point": "mnt/x"}, ErrorKind.MOUNT_POINT_INVALID),
        ({"mount_point": "/mnt/../etc"}, ErrorKind.MOUNT_POINT_INVALID),
        ({"mount_point": "/"}, ErrorKind.MOUNT_POINT_SYSTEM),
        ({"mount_point": "/usr/share/doc"}, ErrorKind.MOUNT_POINT_SYSTEM),
        ({"mount_point": "/proc/1"}, ErrorKind.MOUNT_POINT_SYSTEM),
        ({"create": False}, ErrorKind.MOUNT_POINT_MISSING),
    ],
)
def test_bad_input_has_its_own_message(lab: "LabGuest", changes: dict[str, object], kind: ErrorKind) -> None:
    assert failure(lab, **changes).kind is kind
    assert_nothing_left(lab)


def test_a_file_is_no_mount_point(lab: "LabGuest") -> None:
    # The guest sees the host's files; where others than root may write beside it, that is said first.
    error = failure(lab, mount_point=str(Path(__file__).absolute()))
    assert error.kind in {ErrorKind.MOUNT_POINT_IS_FILE, ErrorKind.MOUNT_POINT_SYSTEM}


def test_the_text_of_mount_nfs_is_kept(lab: "LabGuest") -> None:
    error = failure(lab, share="10.9.0.1:/nowhere")
    assert "mount.nfs: mounting 10.9.0.1:/nowhere failed" in error.detail
    assert "exit code 32" in error.detail


def test_a_withdrawn_export_is_refused(lab: "LabGuest") -> None:
    lab.fault("export-none")
    try:
        assert failure(lab, options="vers=3").kind is ErrorKind.ACCESS_DENIED
    finally:
        lab.fault("export-rw")
    assert_nothing_left(lab)


def test_a_stopped_server_refuses(lab: "LabGuest") -> None:
    lab.fault("server-stop")
    try:
        assert failure(lab).kind is ErrorKind.SERVER_REFUSED
    finally:
        lab.fault("server-start")
    assert_nothing_left(lab)


def test_the_helper_s_own_deadline_ends_mount_nfs(lab: "LabGuest") -> None:
    """The agent, which asks the server first, is passed by."""
    # The kernel looks for an address of the subnet for 3 s (arp(7)).
    wire = {"share": f"{NOBODY}:/x", "target": POINT, "options": "vers=4.2", "create": True, "timeout_s": 1.0}
    with pytest.raises(AppError) as caught:
        lab.ask("lab.helper", HelperArgs(action="mount", verb="mount", args=wire))
    assert caught.value.kind is ErrorKind.SERVER_SILENT
    assert "deadline" in caught.value.detail
    assert_nothing_left(lab)


def test_a_mount_under_way_is_cancelled(lab: "LabGuest") -> None:
    args = MountArgs(share=f"{NOBODY}:/x", mount_point=POINT, options="vers=4.2", timeout_s=60.0)
    call = lab.submit("mounts.mount", args)
    call.cancel()
    with pytest.raises(AppError) as caught:
        call.result()
    assert caught.value.kind is ErrorKind.CANCELLED
    assert_nothing_left(lab)


def test_a_mount_point_in_use_and_what_lies_below(lab: "LabGuest", mounted: object) -> None:
    error = failure(lab)
    assert error.kind is ErrorKind.MOUNT_POINT_BUSY
    assert lab.share in error.detail
    assert failure(lab, mount_point=f"{POINT}/below").kind is ErrorKind.MOUNT_POINT_INVALID
    assert failure(lab, mount_point="/mnt/helper").kind is ErrorKind.MOUNT_POINT_BUSY


@pytest.mark.parametrize("version", ["3", "4.0", "4.1", "4.2"])
def test_every_mount_is_without_foreign_programs_and_devices(lab: "LabGuest", version: str) -> None:
    report = mount(lab, options=f"vers={version}")
    try:
        active = report.mount.active  # type: ignore[attr-defined]
        assert {"nosuid", "nodev", f"vers={version}"} <= set(active.options.split(","))
    finally:
        assert unmount(lab).removed_directory  # type: ignore[attr-defined]
    assert_nothing_left(lab)


def test_bg_is_told_to_be_for_start_up(lab: "LabGuest") -> None:
    report = mount(lab, options="vers=4.2,bg")
    unmount(lab)
    assert any("foreground" in line for line in report.messages)  # type: ignore[attr-defined]


@pytest.mark.parametrize("flags", [{}, {"force": True}, {"lazy": True}])
def test_a_mount_of_a_dead_server_goes(lab: "LabGuest", flags: dict[str, bool]) -> None:
    mount(lab)
    lab.fault("link-down")
    try:
        assert unmount(lab, **flags).removed_directory  # type: ignore[attr-defined]
    finally:
        lab.fault("link-up")
    assert_nothing_left(lab)


def test_what_is_not_mounted_is_not_unmounted(lab: "LabGuest") -> None:
    for path in (POINT, "/proc", "/"):
        with pytest.raises(AppError) as caught:
            lab.ask("mounts.unmount", UnmountArgs(mount_point=path))
        assert caught.value.kind is ErrorKind.NOT_MOUNTED


def test_a_mount_in_use_names_who_uses_it(
    lab: "LabGuest", mounted: object, lab_link: "Callable[[str], LinkFacts]"
) -> None:
    lab_link("rate=25mbit,queue=100")  # a minute and a half: the copy does not end by itself
    written = Written()
    spec = TestSpec(path=POINT, direction="write", size=256 << 20, sync=True)
    copying = lab.submit("test.run", spec, written)
    lab.wait(written, "the first bytes of the copy", copying)
    try:
        with pytest.raises(AppError) as caught:
            unmount(lab)
        assert caught.value.kind is ErrorKind.BUSY
        assert "open file" in caught.value.detail
        assert "process" in caught.value.detail
    finally:
        copying.cancel()
        with pytest.raises(AppError):
            copying.result()
