"""nfsmount.conf(5) of this host: the settings of all files, in the order in which mount.nfs reads them.

:mod:`advisor.nfsmount_conf` interprets the settings.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from advisor.nfsmount_conf import CONF_FILES, AddedConfOption, ConfSetting, added_options, parse_conf

if TYPE_CHECKING:
    from advisor.options import MountOptions


def read_settings(root: str = "/") -> list[ConfSetting]:
    """Return the settings of all files in the order in which mount.nfs reads them.

    Missing and unreadable files are skipped.

    Args:
        root: directory that contains etc and usr/etc.
    """
    settings: list[ConfSetting] = []
    for pattern in CONF_FILES:
        for path in sorted(Path(root).glob(pattern.lstrip("/"))):
            try:
                text = path.read_text(encoding="utf-8", errors="replace")
            except OSError:  # mount.nfs skips unreadable files, too, but as root it can read more
                continue
            settings += parse_conf(text, f"/{path.relative_to(root)}")
    return settings


def added_to(share: str, mount_point: str, options: MountOptions, root: str = "/") -> list[AddedConfOption]:
    """Return the options that nfsmount.conf adds to a mount of a share at a mount point."""
    return added_options(read_settings(root), options, host_of(share), mount_point)


def host_of(share: str) -> str:
    """Return the server of a share as written; an IPv6 address retains its brackets."""
    return share.partition("]:")[0] + "]" if share.startswith("[") else share.partition(":")[0]
