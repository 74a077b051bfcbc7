"""Options of a saved entry: those of the person, and those that the program adds.

A new entry gets _netdev and nofail, so that an unreachable server does not block the boot (fstab(5),
systemd.mount(5)). A changed entry retains those that it had. The helper adds nosuid and nodev to every entry.
"""

from __future__ import annotations

from dataclasses import dataclass

from advisor.options import YES, MountOptions
from app.helper.options import ALWAYS
from app.helper.policy import Place, place_of

#: Options without which an unreachable server blocks the boot.
BOOT_OPTIONS = ("_netdev", "nofail")
DEFAULT_OPTIONS = ",".join(BOOT_OPTIONS)


@dataclass(frozen=True, slots=True)
class EntryOptions:
    """Options of an entry to write.

    Attributes:
        text: the option string, without the options that the helper adds.
        for_boot: options of BOOT_OPTIONS that the program added.
        asks_nofail: whether the person still has to decide if the computer may boot without the mount.
    """

    text: str
    for_boot: tuple[str, ...] = ()
    asks_nofail: bool = False


def options_of_entry(given: str | None, old: str | None, mount_point: str, *, exact: bool) -> EntryOptions:
    """Return the options of an entry.

    Args:
        given: option string of the person; None retains the options of the old entry.
        old: option string of the entry before the change, None for a new one.
        mount_point: mount point; outside the directories for mounts, the person decides on nofail.
        exact: whether to add neither _netdev nor nofail.
    """
    if exact or (given is None and old is not None):
        return EntryOptions((old or "") if given is None else given)
    options = MountOptions.parse(given or "")
    old_options = MountOptions.parse(old) if old is not None else None
    wanted = [word for word in BOOT_OPTIONS if old_options is None or old_options.get(word) == YES]
    missing = [word for word in wanted if options.get(word) is None]
    asks = old_options is None and "nofail" in missing and place_of(mount_point) is Place.RESTRICTED
    if asks:
        missing.remove("nofail")
    # A trailing comma leaves an empty item.
    items = [item for item in options if item] if missing else list(options)
    return EntryOptions(str(MountOptions([*items, *missing])), tuple(missing), asks)


def with_nofail(given: str | None) -> str:
    """Return the options of a new entry after the person decided that the boot may skip the mount."""
    return f"{given},nofail" if given else DEFAULT_OPTIONS


def safety_options(given: str, written: str) -> list[str]:
    """Return the safety options (nosuid, nodev) of ``written`` that ``given`` does not have."""
    requested = set(MountOptions.parse(given))
    return [word for word in MountOptions.parse(written) if word in ALWAYS and word not in requested]


def added_sentences(for_safety: list[str], for_boot: list[str]) -> list[str]:
    """Return sentences for the person about the options that the program adds."""
    sentences: list[str] = []
    if for_safety:
        sentences.append(
            f"Added for safety: {','.join(for_safety)}. Programs on the share do not run as their owner, and "
            "device files on it are not devices here."
        )
    if for_boot:
        sentences.append(
            f"Added for the boot: {','.join(for_boot)}. A server that is away does not hold it up."
            if "nofail" in for_boot
            else f"Added for the boot: {','.join(for_boot)}."
        )
    return sentences
