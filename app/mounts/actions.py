"""Is the kernel's client of a server gone? Until it is, a new mount is given its connections and settings.

The client, with nconnect, resvport and xprtsec, is made by the first mount of a server and version and goes
with the last one, a moment after the unmount (fs/nfs/client.c, nfs_put_client).
"""

from __future__ import annotations

import ipaddress
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from app.mounts.option_comparison import effective_values

if TYPE_CHECKING:
    from app.mounts.model import Active
    from app.mounts.plan import Surroundings

#: It goes in well under a second; who waits longer for it is told by the check.
_FAREWELL_S = 3.0
_POLL_S = 0.05


def has_client(address: str, version: str, root: str = "/") -> bool:
    """Whether the kernel has a client of this server: /proc/fs/nfsfs/servers, which everybody may read.

    Args:
        address: of the server, as mountinfo shows it.
        version: as mountinfo shows it; minor versions are not told apart there.
        root: where to look for proc; tests give a folder.
    """
    try:
        wanted = (f"v{version[:1]}", ipaddress.ip_address(address.partition("%")[0]).packed.hex())
        lines = Path(root, "proc/fs/nfsfs/servers").read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return False
    return any(tuple(line.lower().split()[:2]) == wanted for line in lines)


def let_client_go(old: Active, around: Surroundings) -> None:
    """Wait a moment for the connections of a mount that is gone, unless another mount needs them.

    Args:
        old: the mount that is gone.
        around: what is looked at.
    """
    values = effective_values(old)
    address, version = values.get("addr", ""), values.get("vers", "")
    end = time.monotonic() + _FAREWELL_S
    while time.monotonic() < end and around.has_client(address, version):
        others = [row.active for row in around.table().mounts if row.active is not None]
        if any(effective_values(other).get("addr") == address for other in others):
            return
        threading.Event().wait(_POLL_S)
