"""An entry of fstab from the agent to the guest's own file: written, listed, mounted, forgotten."""

from typing import TYPE_CHECKING, Any

import pytest

from app.agent.protocol import ForgetArgs, ListArgs, MountArgs, PersistArgs, UnmountArgs

if TYPE_CHECKING:
    from app.lab.guest import Guest

pytestmark = pytest.mark.lab
POINT = "/mnt/persist here"


def row(lab: "Guest") -> Any:
    table = lab.client.submit("mounts.list", ListArgs()).result(60)
    return next((mount for mount in table.mounts if mount.mount_point == POINT), None)


def test_an_entry_is_written_mounted_and_forgotten(lab: "Guest") -> None:
    args = PersistArgs(share=lab.share, mount_point=POINT, preview=True)
    shown = lab.client.submit("mounts.persist", args).result(60)
    assert row(lab) is None
    args = PersistArgs(share=lab.share, mount_point=POINT, expected_sha256=shown.sha256)
    written = lab.client.submit("mounts.persist", args).result(120)
    assert written.written
    assert written.line == shown.line
    listed = row(lab)
    assert listed.state == "not-mounted"
    assert listed.configured.options == "_netdev,nofail,nosuid,nodev"
    mount = MountArgs(share=lab.share, mount_point=POINT, options=listed.configured.options)
    lab.client.submit("mounts.mount", mount).result(60)
    assert row(lab).active is not None
    lab.client.submit("mounts.unmount", UnmountArgs(mount_point=POINT)).result(60)
    assert lab.client.submit("mounts.forget", ForgetArgs(mount_point=POINT)).result(120).written
    assert row(lab) is None
    # The file has its old bytes again: the next change starts from the same checksum.
    args = PersistArgs(share=lab.share, mount_point=POINT, preview=True)
    assert lab.client.submit("mounts.persist", args).result(60).sha256 == shown.sha256
