"""What the settings form edits: the text of an option string, which is never taken apart and put together.

Plain data, no Qt. A field changes its own item of the text and leaves every other one as it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from advisor.dialects.entry import set_when, split_items
from advisor.options import YES, MountOptions, catalogue
from app.mounts.persist import DEFAULT_OPTIONS

if TYPE_CHECKING:
    from advisor.dialects.entry import When
    from app.mounts.model import Configured, Mount

__all__ = ["DEFAULT_OPTIONS", "FormState", "asked_options", "with_value", "with_when"]


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


def with_when(text: str, when: When) -> str:
    """Return the option string of a mount that is made then.

    What is mounted at start-up gets the words that keep an absent server from holding it up, as a new entry
    has them.

    Raises:
        ValueError: if the text is broken, so that nothing can be added.
    """
    options = MountOptions.parse(text)
    set_when(options, when)
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


def asked_options(mount: Mount) -> str:
    """Return the options that a mount was asked for with, as well as they are known.

    The kernel shows only what is in use. Where nobody recorded what was asked for, everything in use that is
    not the default is taken for asked: mounting again with it gives the same mount.
    """
    active = mount.active
    if active is not None and active.requested is not None:
        return _with_kept_words(active.requested, mount.configured)
    if mount.configured is not None:
        return mount.configured.options
    return _from_effective(active.options) if active is not None else ""


def _with_kept_words(requested: str, configured: Configured | None) -> str:
    """Return the options with the words that only what is set up has: when to mount, and _netdev or nofail.

    A mount command does not take them, so a live mount does not tell them.
    """
    if configured is None:
        return requested
    inner, _none = split_items(MountOptions.parse(requested))
    _inner, kept = split_items(MountOptions.parse(configured.options))
    return ",".join([*inner, *kept])


def _from_effective(text: str) -> str:
    kept: list[str] = []
    for item in MountOptions.parse(text):
        option, _name, value = catalogue().read_item(item)
        # Addresses and the like are found out by mount.nfs itself.
        if option is not None and option.helper and option.kind != "addr" and value != option.default:
            kept.append(item)
    return ",".join(kept)
