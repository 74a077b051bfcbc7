"""What /etc/nfsmount.conf adds to a mount without being asked (nfsmount.conf(5), utils/mount/configfile.c).

The sections for the mount point, for the server and for all are read in this order. An option that is given
already, by the same name or its negation, is not added again. mount.nfs does not see that two names speak
of one thing: ``Soft=True`` is added behind ``hard`` and wins.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from advisor.options import ATTRIBUTE_TIMES, MountOptions, catalogue

#: In the order in which mount.nfs reads them; later files outdo earlier ones, key by key.
FILES = (
    "/usr/etc/nfsmount.conf",
    "/usr/etc/nfsmount.conf.d/*.conf",
    "/etc/nfsmount.conf",
    "/etc/nfsmount.conf.d/*.conf",
)

_SECTION = re.compile(r'\[\s*([^\s"\]]+)\s*(?:"([^"]*)"\s*)?\]')
_SUFFIX = re.compile(r"([0-9]+)([kmgKMG])\Z")
_FACTORS = {"k": 2**10, "m": 2**20, "g": 2**30}
_WORDS = {"background": "bg", "foreground": "fg", "sloppy": "sloppy"}
#: They only say where the negotiation begins.
_NO_OPTIONS = frozenset({"defaultvers", "defaultproto"})
_SECTION_NAMES = {"mountpoint": "MountPoint", "server": "Server"}
_GLOBAL = "nfsmount_global_options"


class Setting(NamedTuple):
    """One line of a file: its section, the key in lower case, and the option item it stands for."""

    file: str
    line: int
    section: str
    subject: str
    key: str
    item: str


class Added(NamedTuple):
    """An option that a file adds to a mount.

    Attributes:
        item: as it is added to the option string.
        name: canonical name of the option.
        file: that says so.
        line: number of the line in it.
        section: as the file writes it, for example ``Server "nas"``.
        beats: the item of the mount's own options that it outdoes, or "".
    """

    item: str
    name: str
    file: str
    line: int
    section: str
    beats: str


def read(text: str, file: str) -> list[Setting]:
    """Return the settings of one file; what is not understood is passed over, as mount.nfs does."""
    settings: list[Setting] = []
    section = subject = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].split(";")[0].strip()
        header = _SECTION.match(line)
        if header:
            section, subject = header[1].lower(), (header[2] or "").lower()
            continue
        key, equals, value = line.partition("=")
        key = key.strip().lower()
        item = _item(key, value.strip().strip('"'))
        if equals and key and section and item:
            settings.append(Setting(file, number, section, subject, key, item))
    return settings


def _item(key: str, value: str) -> str:
    """Return the item that a line stands for, "" if for none: Background=False adds nothing."""
    truth = {"true": True, "false": False}.get(value.lower())
    word = _WORDS.get(key, key)
    if truth is not None:
        return word if truth else "" if key in _WORDS else f"no{word}"
    suffix = _SUFFIX.match(value)
    if suffix:
        value = str(int(suffix[1]) * _FACTORS[suffix[2].lower()])
    return f"{word}={value}"


def added(settings: list[Setting], options: MountOptions, host: str, mount_point: str) -> list[Added]:
    """Return what the files add to a mount with these options, in the order in which it is added.

    Args:
        settings: of all files, in the order of :data:`FILES`.
        options: as given on the command line or in fstab.
        host: the server as written there; another spelling of the same server does not count.
        mount_point: likewise; both are compared without regard to case.
    """
    found: list[Added] = []
    taken = {_plain(item.partition("=")[0]) for item in options if item}
    for section, subject in (("mountpoint", mount_point), ("server", host), (_GLOBAL, "")):
        # Later files outdo earlier ones key by key, and keep the place of the first.
        last: dict[str, Setting] = {}
        for setting in settings:
            if (setting.section, setting.subject) == (section, subject.lower()):
                last[setting.key] = setting
        for setting in last.values():
            name = _plain(setting.item.partition("=")[0])
            if name in taken or setting.key in _NO_OPTIONS:
                continue
            taken.add(name)
            found.append(_added(setting, options))
    return found


def _added(setting: Setting, options: MountOptions) -> Added:
    _, name, value = catalogue().read_item(setting.item)
    outdone = {name}
    if name in ATTRIBUTE_TIMES:
        outdone.add("actimeo")
    elif name == "actimeo":
        outdone.update(ATTRIBUTE_TIMES)
    beaten = ""
    for item in options:
        _, other, given = catalogue().read_item(item)
        if item and other in outdone and (other, given) != (name, value):
            beaten = item
    title = _SECTION_NAMES.get(setting.section)
    section = f'{title} "{setting.subject}"' if title else "NFSMount_Global_Options"
    return Added(setting.item, name, setting.file, setting.line, section, beaten)


def _plain(key: str) -> str:
    """Return a key as mount.nfs compares it: without “no”, and the two names of the version as one."""
    key = key.lower()
    if key in {"vers", "v2", "v3", "v4", "v4.0", "v4.1", "v4.2"}:
        key = "nfsvers"
    return key.removeprefix("no")
