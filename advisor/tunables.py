"""Tunables: kernel settings outside of the mount options that affect a mount, and how to save them.

The data is in resources/tunables.toml.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from resources import read_toml
from resources.decoding import converted


class Tunable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kernel setting that affects NFS mounts; resources/tunables.toml describes each field.

    Attributes:
        name: name of the setting, the file name in /proc or /sys.
        label: short label for a form.
        help: its effect, when to change it, and its cost.
        keywords: further search words.
        path: file with the current value; ``{device}`` stands for the mount's major:minor.
        unit: unit of the number, or "".
        min: least number.
        max: greatest number.
        values: allowed values if it is not a number.
        default: default of the kernel, None if it varies.
        default_note: explanation of a varying default, or "".
        scope: mount (shared by all mounts of one superblock) or host.
        change: live (a new value affects existing mounts) or mount (only later mounts).
        keep: configuration file that makes a value permanent, or "" if there is none.
        line: text for that file; ``{value}`` stands for the value.
        versions: NFS versions on which it has an effect.
        since: first kernel release with the setting, or "".
    """

    name: str = ""
    label: str
    help: str
    keywords: tuple[str, ...] = ()
    path: str
    unit: str = ""
    min: int | None = None
    max: int | None = None
    values: tuple[str, ...] = ()
    default: int | None = None
    default_note: str = ""
    scope: Literal["mount", "host"]
    change: Literal["live", "mount"]
    keep: str = ""
    line: str = ""
    versions: tuple[str, ...]
    since: str = ""

    def problem(self, value: str) -> str:
        """Return an error message for an invalid value, or "" if the value is valid."""
        if self.values:
            return "" if value in self.values else f"“{self.label}” takes {' or '.join(self.values)}."
        low, high = self.min or 0, self.max or 0
        plain = value.isascii() and value.isdigit() and len(value) <= len(str(high))
        if plain and low <= int(value) <= high:
            return ""
        return f"“{self.label}” takes a whole number from {low} to {high} ({self.unit}), not “{value}”."

    def path_for(self, device: str) -> str:
        """Return the file for one mount, whose superblock is ``device`` (major:minor in mountinfo)."""
        return self.path.replace("{device}", device)

    def persistent_line(self, value: str) -> str:
        """Return the text for the file :attr:`keep` that makes a value permanent, or "" if there is none."""
        return self.line.replace("{value}", value)

    def steps(self, value: str, current: str | None = None) -> tuple[str, ...]:
        """Return instructions to set a value, to make it permanent and to undo it, line by line.

        Args:
            value: new value.
            current: value in force, None if unknown; the instructions then restore the kernel's default.
        """
        if self.scope == "mount":
            return self._mount_steps(value)
        before = current if current is not None else self.default
        lines = ["Until the next start of the computer:", f"  echo {value} | sudo tee {self.path}"]
        if self.change == "mount":
            lines.append(
                "Only shares that are mounted afterwards heed it: unmount all shares of the server first."
            )
        if self.keep:
            lines += [f"To make it last, write into {self.keep}:"]
            lines += [f"  {line}" for line in self.persistent_line(value).splitlines()]
        if before is not None:
            lines += ["To undo it:", f"  echo {before} | sudo tee {self.path}"]
        if self.keep:
            lines.append(f"  and take the line out of {self.keep} again.")
        return tuple(lines)

    def _mount_steps(self, value: str) -> tuple[str, ...]:
        """Return how long a mount's value lasts, and how to save it for this mount or for all mounts."""
        lines = [
            "Until unmounted: set for this mount alone, it is lost when the share is unmounted.",
            "To save it for this mount point: Keep for Good in the window, or",
            f"  mountwright apply --read-ahead {value} --save-readahead SHARE MOUNTPOINT",
        ]
        if self.keep:
            lines.append(
                f"For all NFS mounts of this computer, {self.keep} can set it with nfs-utils 2.6 or newer:"
            )
            lines += [f"  {line}" for line in self.persistent_line(value).splitlines()]
        return tuple(lines)


@cache
def tunables() -> dict[str, Tunable]:
    """Return the tunables by their names, in display order."""
    tables = converted(read_toml("tunables.toml")["tunable"], dict[str, Tunable])
    return {name: msgspec.structs.replace(tunable, name=name) for name, tunable in tables.items()}
