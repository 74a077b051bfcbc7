"""Tunables of the host beside a mount's options: their present values (resources/tunables.toml)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from advisor.tunables import Tunable, tunables

#: No file of sysfs or sysctl that is read here is longer.
_MAX = 4096


class TunablesArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``tunables.get``: of the host, and of a mount point too if one is named."""

    mount_point: str = ""


class TunableValue(msgspec.Struct, frozen=True, kw_only=True):
    """One tunable as it is.

    Attributes:
        name: of the tunable.
        value: now, None if it is unknown.
        why: why it is unknown, or "".
        path: the file that has it.
    """

    name: str
    value: str | None
    why: str
    path: str


class TunablesResult(msgspec.Struct, frozen=True, kw_only=True):
    """All of them, in the order in which they are shown."""

    values: list[TunableValue]


def read_tunables(device: str = "", root: str = "/") -> TunablesResult:
    """Return the values now; nothing on NFS is touched.

    Args:
        device: major:minor of a mount's superblock; "" leaves out what belongs to a mount.
        root: where proc and sys are.
    """
    return TunablesResult(
        values=[
            _read_value(tunable, device, root)
            for tunable in tunables().values()
            if device or tunable.scope == "host"
        ]
    )


def _read_value(tunable: Tunable, device: str, root: str) -> TunableValue:
    path = tunable.path_for(device)
    value: str | None = None
    why = ""
    try:
        with Path(root, path.lstrip("/")).open(encoding="ascii", errors="replace") as file:
            value = file.read(_MAX).strip()
    except FileNotFoundError:
        why = "this kernel has no such file; its module may not be loaded"
    except OSError as error:
        why = error.strerror or "it cannot be read"
    return TunableValue(name=tunable.name, value=value, why=why, path=path)
