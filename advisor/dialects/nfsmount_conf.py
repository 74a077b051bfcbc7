"""A section of nfsmount.conf(5): options for whatever is mounted at one mount point."""

from __future__ import annotations

import re

from advisor.dialects.entry import DialectError, Entry, Written, control_problem, split_items
from advisor.options import NO, YES, catalogue

FILE = "/etc/nfsmount.conf"

_BAD_VALUE = re.compile(r'[#;"\s]')
_BAD_SECTION = re.compile(r'["\]#;]')
#: The file has its own names for these (nfsmount.conf(5)).
_NAMES = {"bg": "Background", "fg": "Foreground", "sloppy": "Sloppy"}


def write(entry: Entry) -> Written:
    """Return the section. It has no share: it counts for every mount at this mount point.

    Raises:
        DialectError: if the file cannot name the mount point.
    """
    if _BAD_SECTION.search(entry.mount_point):
        raise DialectError('[ MountPoint ] cannot name a path with “"”, “]”, “#” or “;” in it.')
    items, outer = split_items(entry.options)
    untranslated = [f"“{item}” belongs in fstab, mount.nfs does not read it here." for item in outer]
    untranslated.append("The share and when to mount: the section only adds options to other entries.")
    problems = control_problem(",".join(items), "options")
    lines = [f'[ MountPoint "{entry.mount_point}" ]']
    for item in items:
        line = _line(item)
        if _BAD_VALUE.search(line):
            untranslated.append(f"“{item}”: the file cannot hold a blank, a quote, “#” or “;” in a value.")
        else:
            lines.append(line)
    problems.append("Options on the command line and in fstab come before those of this file.")
    return Written("\n".join(lines) + "\n", FILE, untranslated, problems)


def _line(item: str) -> str:
    option, name, value = catalogue().read_item(item)
    if option is None or (item in option.all_words() and (option.words or value in {YES, NO})):
        key, equals, given = item.partition("=")
        if equals:
            return f"{key}={given}"
        if item.startswith("no"):
            return f"{item[2:]}=False"
        return f"{_NAMES.get(item, item)}=True"
    return f"{'nfsvers' if name == 'vers' else name}={value}"
