"""A mount as a person would type it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.options import MountOptions


def mount_command(share: str, mount_point: str, options: MountOptions) -> str:
    """Return the mount(8) command line, quoted for a shell."""
    words = ["mount", "-t", "nfs"]
    if str(options):
        words += ["-o", str(options)]
    return shlex.join([*words, share, mount_point])
