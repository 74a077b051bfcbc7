"""Build configuration of the running kernel: /proc/config.gz (proc(5)), else /boot/config-RELEASE."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

#: Paths of the configuration of a running kernel; the last two are the module "configs", read as a file.
_CONFIGS = (
    "proc/config.gz",
    "boot/config-{release}",
    "lib/modules/{release}/config",
    "lib/modules/{release}/kernel/kernel/configs.ko",
    "usr/lib/uml/modules/{release}/kernel/kernel/configs.ko",
)
#: Marker before the compressed configuration inside the kernel (kernel/configs.c).
_CONFIG_MARK = b"IKCFG_ST"


def udp_support(release: str, root: str = "/") -> tuple[bool | None, str]:
    """Return whether the kernel's client supports NFS over UDP, None if unknown, and the source of that fact.

    Linux 5.6 introduced CONFIG_NFS_DISABLE_UDP_SUPPORT, on by default (fs/nfs/Kconfig). Older kernels
    support UDP.
    """
    for pattern in _CONFIGS:
        path = Path(root, pattern.format(release=release))
        text = _read_config(path)
        if not text:
            continue
        if not re.search(r"^CONFIG_NFS_FS=[my]$", text, re.MULTILINE):
            return False, f"this kernel has no NFS client, says /{path.relative_to(root)}"
        disabled = "CONFIG_NFS_DISABLE_UDP_SUPPORT=y" in text
        return not disabled, f"CONFIG_NFS_DISABLE_UDP_SUPPORT in /{path.relative_to(root)}"
    return None, "the kernel's configuration is not readable here"


def _read_config(path: Path) -> str:
    try:
        raw = path.read_bytes()
        if path.suffix == ".ko":
            start = raw.find(_CONFIG_MARK)
            packed = raw[start + len(_CONFIG_MARK) :] if start >= 0 else b""
            raw = zlib.decompressobj(wbits=31).decompress(packed)
        elif path.suffix == ".gz":
            raw = gzip.decompress(raw)
    except (OSError, EOFError, zlib.error):
        return ""
    return raw.decode("ascii", errors="replace")
