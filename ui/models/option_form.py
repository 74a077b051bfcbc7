"""What the settings form edits: an option string of which some options have fields and the rest stay text.

Plain data, no Qt. Nothing is ever lost: what has no field is kept as written, in its place, until its own
text is edited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.dialects.entry import split_items
from advisor.options import MountOptions, catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from app.mounts.model import Configured, Mount


class OptionForm:
    """An option string split into fields and the rest.

    Args:
        fields: canonical names of the options that have a field.
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self._fields = frozenset(fields)
        self._options = MountOptions()

    def load(self, text: str) -> None:
        """Take an option string."""
        self._options = MountOptions.parse(text)

    def value(self, name: str) -> str | None:
        """Return the canonical value of a field, None where the option is left out."""
        return self._options.get(name)

    def others(self) -> str:
        """Return the items that have no field, as written."""
        return ",".join(item for item in self._options if not self._has_field(item))

    def build(self, values: Mapping[str, str | None], others: str) -> MountOptions:
        """Return the options with these fields and this text for the rest.

        Raises:
            ValueError: if a value cannot be written.
        """
        built = self._options.copy()
        for name, value in values.items():
            if value is None:
                built.remove(name)
            elif value != built.get(name):
                built.set(name, value)
        if others == self.others():
            return built
        kept = [item for item in built if self._has_field(item)]
        return MountOptions([*kept, *MountOptions.parse(others)])

    def _has_field(self, item: str) -> bool:
        return bool(item) and catalogue().read_item(item)[1] in self._fields


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
