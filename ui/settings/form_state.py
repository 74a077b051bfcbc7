"""State of the settings form: share, mount point, and the option string, edited item by item.

Plain data, no Qt. An edit of one option changes only its item of the option string. All other items keep
their spelling and order.
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
    """Contents of the form as typed.

    Attributes:
        share: share, ``server:/export``.
        mount_point: absolute path.
        options: option string.
        read_ahead_kb: requested readahead, KiB; None to leave it unchanged.
    """

    share: str
    mount_point: str
    options: str
    read_ahead_kb: int | None = None


def with_value(text: str, name: str, value: str | None) -> str:
    """Return the option string with a new value of one option; None removes the option.

    Raises:
        ValueError: if an option string cannot contain the value.
    """
    options = MountOptions.parse(text)
    if value is None:
        options.remove(name)
    elif value != options.get(name):
        options = _without_empty_last_item(options, name)
        options.set(name, value)
    return str(options)


def with_mount_time(text: str, when: MountTime) -> str:
    """Return the option string for another mount time (at boot, on demand, manually).

    A mount at boot also gets the options that keep an absent server from delaying the boot.

    Raises:
        ValueError: if the option string has an unclosed quotation mark, so that no option can be added.
    """
    options = MountOptions.parse(text)
    set_mount_time(options, when)
    if when == "start-up":
        for name in DEFAULT_OPTIONS.split(","):
            options = _without_empty_last_item(options, name)
            options.set(name, YES)
    return str(options)


def _without_empty_last_item(options: MountOptions, name: str) -> MountOptions:
    """Return the options without the empty item after a trailing comma, if the option ``name`` is new."""
    items = list(options)
    if items and not items[-1] and name not in options:
        return MountOptions(items[:-1])
    return options
