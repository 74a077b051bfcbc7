"""Is the kernel's client of a server gone? Until it is, a new mount is given its connections and settings.

The client, with nconnect, resvport and xprtsec, is made by the first mount of a server and version and goes
with the last one, a moment after the unmount (fs/nfs/client.c, nfs_put_client).
"""

from __future__ import annotations

import ipaddress
from pathlib import Path


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
