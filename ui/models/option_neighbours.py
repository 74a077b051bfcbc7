"""What other mounts of a server have fixed for a mount. Plain data, no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.options import MountOptions
from advisor.share import Share, ShareError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from app.mounts.model import Mount


def connections(mounts: Iterable[Mount], share: str, mount_point: str) -> dict[str, int]:
    """Return NFS version ("4.2") to the connections that other live mounts of the share's server use.

    The first mount of a server and version opens them for all later ones (nfs(5), nconnect).
    """
    host = _host(share)
    found: dict[str, int] = {}
    for mount in mounts:
        active = mount.active
        own = (mount.share, mount.mount_point) == (share, mount_point)
        if active is None or own or not active.nconnect or not host or _host(mount.share) != host:
            continue
        version = MountOptions.parse(active.options).get("vers")
        if version:
            found[version] = active.nconnect
    return found


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""
