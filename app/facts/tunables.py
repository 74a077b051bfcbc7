"""Tunables: present values of kernel parameters outside the mount options (resources/tunables.toml)."""

from __future__ import annotations

from pathlib import Path

import msgspec

from advisor.tunables import Tunable, tunables

#: Longest value read from a file of sysfs or sysctl, characters.
_MAX_CHARACTERS = 4096


class TunablesArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``tunables.get``: read the tunables of the host and, with ``mount_point``, those of a mount."""

    mount_point: str = ""


class TunableValue(msgspec.Struct, frozen=True, kw_only=True):
    """Present value of one tunable.

    Attributes:
        name: name of the tunable.
        value: present value, None if unknown.
        why: reason why the value is unknown, or "".
        path: file that holds the value.
    """

    name: str
    value: str | None
    why: str
    path: str


class TunablesResult(msgspec.Struct, frozen=True, kw_only=True):
    """Present values of all tunables, in display order."""

    values: list[TunableValue]


def read_tunables(device: str = "", root: str = "/") -> TunablesResult:
    """Read the present values without accessing a mount.

    Args:
        device: major:minor of a mount's superblock; "" leaves out the tunables of mounts.
        root: directory that contains proc and sys.
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
            value = file.read(_MAX_CHARACTERS).strip()
    except FileNotFoundError:
        why = "this kernel has no such file; its module may not be loaded"
    except OSError as error:
        why = error.strerror or "it cannot be read"
    return TunableValue(name=tunable.name, value=value, why=why, path=path)
