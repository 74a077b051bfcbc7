"""An fstab entry from the agent to the guest's file: written, listed, mounted, removed."""

from typing import TYPE_CHECKING, Any

import pytest

from app.mounts.change_model import PersistArgs, RemoveArgs
from app.service.protocol import ListArgs, MountArgs, UnmountArgs

if TYPE_CHECKING:
    from lab_guest import LabGuest

pytestmark = pytest.mark.lab
POINT = "/mnt/persist here"


def row(lab: "LabGuest") -> Any:
    table = lab.ask("mounts.list", ListArgs())
    return next((mount for mount in table.mounts if mount.mount_point == POINT), None)


def test_an_entry_is_written_mounted_and_forgotten(lab: "LabGuest") -> None:
    args = PersistArgs(share=lab.share, mount_point=POINT, preview=True)
    shown = lab.ask("mounts.persist", args)
    assert row(lab) is None
    args = PersistArgs(share=lab.share, mount_point=POINT, expected_sha256=shown.sha256)
    written = lab.ask("mounts.persist", args)
    assert written.written
    assert written.line == shown.line
    listed = row(lab)
    assert listed.state == "not-mounted"
    assert listed.configured.options == "_netdev,nofail,nosuid,nodev"
    mount = MountArgs(share=lab.share, mount_point=POINT, options=listed.configured.options)
    lab.ask("mounts.mount", mount)
    assert row(lab).active is not None
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    assert lab.ask("mounts.forget", RemoveArgs(mount_point=POINT)).written
    assert row(lab) is None
    # The file has its old bytes again: the next change starts from the same checksum.
    args = PersistArgs(share=lab.share, mount_point=POINT, preview=True)
    assert lab.ask("mounts.persist", args).sha256 == shown.sha256
