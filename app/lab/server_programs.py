"""Finds the guest's programs, the NFS server's also where they are only unpacked.

Installing Debian's nfs-kernel-server would start a server on the person's machine, so the set-up unpacks
the package into the checkout's cache instead, where nothing but the lab looks. A package of this program has
them in a directory of its own.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from app.process import find_program

#: Where ``packaging/system_packages.py`` unpacks nfs-kernel-server.
UNPACKED = Path(__file__).parents[2] / ".cache" / "lab" / "nfs-kernel-server"
#: Where a package of this program has them (packaging/package_tree.py).
PACKAGED = Path(__file__).parents[2] / "lab"


def find_server_program(name: str) -> str | None:
    """Return the absolute path of a program: on the system path, else among the lab's own, else None."""
    folders = os.pathsep.join(map(str, (PACKAGED, UNPACKED / "usr/sbin", UNPACKED / "sbin")))
    return find_program(name) or shutil.which(name, path=folders)
