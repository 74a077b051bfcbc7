"""Spellings of a share that mount.nfs accepts, with and without the slash after the colon."""

import pytest
from lab_guest import LabGuest

from advisor.share import Share
from app.lab.server import SERVER_ADDRESS
from app.service.protocol import ListArgs, ShellArgs

pytestmark = pytest.mark.lab
POINT = "/mnt/slashless"


@pytest.mark.parametrize("export", ["", "export"])
def test_version_4_mounts_a_share_without_a_slash_as_its_absolute_form(lab: LabGuest, export: str) -> None:
    share = Share.parse(f"{SERVER_ADDRESS}:{export}")
    fstab = f"{share} {POINT} nfs vers=4.2 0 0"
    script = f"mkdir -p {POINT}; cp /etc/fstab /run/fstab.before; echo '{fstab}' >> /etc/fstab; mount {POINT}"
    assert lab.ask("lab.shell", ShellArgs(command=[script])).code == 0
    try:
        rows = [row for row in lab.ask("mounts.list", ListArgs()).mounts if row.mount_point == POINT]
        assert [(row.share, row.state) for row in rows] == [(str(share.absolute), "mounted")]
    finally:
        lab.ask("lab.shell", ShellArgs(command=["cat /run/fstab.before > /etc/fstab"]))
        lab.unmount_when_free(POINT)
