"""Options of a saved entry: what the person gives, and what the program adds.

A new entry gets _netdev and nofail, so that a server that is away does not hold up the boot (fstab(5),
systemd.mount(5)); a changed one keeps those that it had. Every entry gets nosuid and nodev, by the helper.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.options import YES, MountOptions
from app.helper.options import ALWAYS
from app.helper.policy import Place, place_of

#: Without them a server that is away keeps the computer from booting.
BOOT_OPTIONS = ("_netdev", "nofail")
DEFAULT_OPTIONS = ",".join(BOOT_OPTIONS)


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """What an entry is to say.

    Attributes:
        text: the option string, without what the helper adds.
        for_boot: the words of BOOT_WORDS that the person did not write.
        asks_nofail: whether the computer may boot without the mount is a question, and nobody answered it.
    """

    text: str
    for_boot: tuple[str, ...] = ()
    asks_nofail: bool = False


def options_of_entry(given: str | None, old: str | None, mount_point: str, *, exact: bool) -> EntryOptions:
    """Return the options of an entry.

    Args:
        given: by the person; None keeps those of the old entry.
        old: of the entry that is changed, None for a new one.
        mount_point: outside the directories for mounts the person decides on nofail.
        exact: whether neither word is added: the person says so.
    """
    if exact or (given is None and old is not None):
        return EntryOptions((old or "") if given is None else given)
    options = MountOptions.parse(given or "")
    had = MountOptions.parse(old) if old is not None else None
    wanted = [word for word in BOOT_OPTIONS if had is None or had.get(word) == YES]
    missing = [word for word in wanted if options.get(word) is None]
    asks = had is None and "nofail" in missing and place_of(mount_point) is Place.RESTRICTED
    if asks:
        missing.remove("nofail")
    # An empty item at the end is what a comma leaves.
    items = [item for item in options if item] if missing else list(options)
    return EntryOptions(str(MountOptions([*items, *missing])), tuple(missing), asks)


def with_nofail(given: str | None) -> str:
    """Return the options of a new entry after the answer that the computer may boot without the mount."""
    return f"{given},nofail" if given else DEFAULT_OPTIONS


def safety_options(given: str, written: str) -> list[str]:
    """Return the words among what is written that the program adds for safety, and nobody gave."""
    said = set(MountOptions.parse(given))
    return [word for word in MountOptions.parse(written) if word in ALWAYS and word not in said]


def added_sentences(for_safety: list[str], for_boot: list[str]) -> list[str]:
    """Return what the program adds to the options, in sentences for a person."""
    told: list[str] = []
    if for_safety:
        told.append(
            f"Added for safety: {','.join(for_safety)}. Programs on the share do not run as their owner, and "
            "device files on it are not devices here."
        )
    if for_boot:
        told.append(
            f"Added for the boot: {','.join(for_boot)}. A server that is away does not hold it up."
            if "nofail" in for_boot
            else f"Added for the boot: {','.join(for_boot)}."
        )
    return told
