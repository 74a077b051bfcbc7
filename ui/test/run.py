"""What a quick test would measure: a mount, or a share that is mounted for the test alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.share import Share, ShareError

if TYPE_CHECKING:
    from app.mounts.model import Mount
    from ui.common.mount_request import Wish


@dataclass(frozen=True, slots=True)
class TestTarget:
    """Where a test copies to.

    Attributes:
        share: server:/export.
        mount_point: where it is mounted, or is to be; "" if that is not known yet.
        options: for the mount that is made for the test alone.
        mounted: it is mounted already, and tested there.
    """

    __test__ = False  # not a pytest class

    share: str
    mount_point: str
    options: str
    mounted: bool

    @property
    def key(self) -> tuple[str, str]:
        """Tells it from others."""
        return self.share, self.mount_point

    @property
    def place(self) -> str:
        """Where files appear, for people."""
        return self.mount_point if self.mounted else self.share


def target_of(mount: Mount | None, wish: Wish | None) -> TestTarget | None:
    """Return what would be tested, None as long as there is no share.

    Args:
        mount: the row shown, None for a draft.
        wish: what the form says.
    """
    if mount is not None and mount.active is not None:
        return TestTarget(mount.share, mount.mount_point, "", mounted=True)
    if wish is None:
        return None
    try:
        share = Share.parse(wish.share.strip())
    except ShareError:
        return None
    if share != share.absolute:  # the helper would not mount it
        return None
    return TestTarget(str(share), wish.mount_point.strip(), wish.options, mounted=False)
