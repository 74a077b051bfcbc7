"""State of the settings form: share, mount point, and the option string, edited item by item.

Plain data, no Qt. The string is never parsed and printed anew: a field changes its own item of the text and
leaves every other one as it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.dialects.entry import set_mount_time
from advisor.options import YES, MountOptions
from app.mounts.entry_options import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from advisor.dialects.entry import MountTime

__all__ = ["DEFAULT_OPTIONS", "FormState", "with_mount_time", "with_value"]


class FormState(NamedTuple):
    """Everything that the form holds, as typed; ``read_ahead_kb`` is None where it shall stay as it is."""

    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None


def with_value(text: str, name: str, value: str | None) -> str:
    """Return the option string with another value of one option; None leaves the option out.

    Raises:
        ValueError: if the value cannot be written; the message says so.
    """
    options = MountOptions.parse(text)
    if value is None:
        options.remove(name)
    elif value != options.get(name):
        options = _room_at_end(options, name)
        options.set(name, value)
    return str(options)


def with_mount_time(text: str, when: MountTime) -> str:
    """Return the option string of a mount that is made then.

    What is mounted at start-up gets the words that keep an absent server from holding it up, as a new entry
    has them.

    Raises:
        ValueError: if the text is broken, so that nothing can be added.
    """
    options = MountOptions.parse(text)
    set_mount_time(options, when)
    if when == "start-up":
        for name in DEFAULT_OPTIONS.split(","):
            options = _room_at_end(options, name)
            options.set(name, YES)
    return str(options)


def _room_at_end(options: MountOptions, name: str) -> MountOptions:
    """Return the options without the empty item that a comma just typed leaves, if one is to be added."""
    items = list(options)
    if items and not items[-1] and name not in options:
        return MountOptions(items[:-1])
    return options
