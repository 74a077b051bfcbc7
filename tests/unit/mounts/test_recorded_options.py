"""Recorded options belong to one mount, not to its id, which the kernel reuses."""

from app.mounts.model import Active, Mount, MountTable
from app.mounts.table import RecordedOptions


def mounted(mount_id: int = 7, device: str = "0:50", share: str = "nas:/a") -> MountTable:
    active = Active(mount_id=mount_id, device=device, share=share, fstype="nfs4", options="rw,vers=4.2")
    return MountTable(mounts=[Mount(mount_point="/mnt/a", share=share, state="mounted", active=active)])


class Host:
    """A host that returns a sequence of mount tables."""

    def __init__(self) -> None:
        self.table = mounted()

    def asked(self, requested: RecordedOptions) -> list[str | None]:
        return [row.active.recorded for row in requested.table().mounts if row.active is not None]


def test_it_stands_beside_the_mount_until_that_is_gone() -> None:
    host = Host()
    requested = RecordedOptions(lambda: host.table)
    requested.note(7, "vers=4.2,hard")
    assert (host.asked(requested), requested.options(7)) == (["vers=4.2,hard"], "vers=4.2,hard")
    host.table = MountTable(mounts=[])
    assert requested.options(7) is None
    # The same share mounted by another program, with a reused id and device.
    host.table = mounted()
    assert (host.asked(requested), requested.options(7)) == ([None], None)


def test_another_mount_with_its_number_is_not_taken_for_it() -> None:
    for other in (mounted(device="0:51"), mounted(share="nas:/b"), mounted(mount_id=8)):
        host = Host()
        requested = RecordedOptions(lambda host=host: host.table)  # type: ignore[misc]
        requested.note(7, "vers=4.2,hard")
        host.table = other
        assert host.asked(requested) == [None]


def test_a_mount_that_is_gone_is_not_recorded() -> None:
    host = Host()
    requested = RecordedOptions(lambda: host.table)
    requested.note(9, "soft")
    host.table = mounted(mount_id=9)
    assert (host.asked(requested), requested.options(9)) == ([None], None)
