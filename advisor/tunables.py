"""Tunables: kernel values that a mount depends on beside its options, and how to save them.

resources/tunables.toml has the data.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import msgspec

from resources import read_toml
from resources.decoding import converted


class Tunable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One value of the running kernel that a mount depends on; resources/tunables.toml describes each field.

    Attributes:
        name: of the file that has it.
        label: a few plain words for a form.
        help: what it does, when to touch it, what it costs.
        keywords: words that a search finds it by.
        path: the file that has it now; ``{device}`` is the mount's major:minor.
        unit: of the number, or "".
        min: smallest number.
        max: greatest number.
        values: what it takes if it is not a number.
        default: the kernel's, None where it depends on something.
        default_note: on what, or "".
        scope: who shares the value: all mounts of one superblock, or of the host.
        change: whether mounts that exist heed a new value (live), or only those made afterwards (mount).
        keep: file that makes a value last, or "" if nothing does.
        line: what to write there; ``{value}`` is the value.
        versions: versions on which it has an effect.
        since: first kernel, or "".
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
        """Return what is wrong with a value and what to write instead, or "" if nothing is."""
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
        """Return the text that makes the value last in the file :attr:`keep`, or "" if nothing does."""
        return self.line.replace("{value}", value)

    def steps(self, value: str, current: str | None = None) -> tuple[str, ...]:
        """Return how to set a value that no option sets, how to make it last and how to undo it, by line.

        Args:
            value: to set.
            current: value in force, None if it is not known; the kernel's default then.
        """
        if self.scope == "mount":
            return self._lasting_steps(value)
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

    def _lasting_steps(self, value: str) -> tuple[str, ...]:
        """Return how long a mount's value lasts, how to save it, and what sets it for all mounts."""
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
    """Return name to tunable, in the order in which they are shown."""
    tables = converted(read_toml("tunables.toml")["tunable"], dict[str, Tunable])
    return {name: msgspec.structs.replace(tunable, name=name) for name, tunable in tables.items()}
