"""Settings of /etc/nfsmount.conf: parsing, and which options they add to a mount without being asked.

Sources: nfsmount.conf(5), utils/mount/configfile.c. The sections for the mount point, for the server and for
all mounts are read in this order. An option that is given already, by the same name or its negation, is not
added again. mount.nfs does not see that two names mean one option: ``Soft=True`` is added behind ``hard``
and wins.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from advisor.options import ATTRIBUTE_TIMES, MountOptions, catalogue, check_item

#: In the order in which mount.nfs reads them; later files outdo earlier ones, key by key.
CONF_FILES = (
    "/usr/etc/nfsmount.conf",
    "/usr/etc/nfsmount.conf.d/*.conf",
    "/etc/nfsmount.conf",
    "/etc/nfsmount.conf.d/*.conf",
)

_SECTION = re.compile(r'\[\s*([^\s"\]]+)\s*((?:"[^"]*"|[^"\]])*)\]')
_QUOTED = re.compile(r'"([^"]*)"')
_SIZE_SUFFIX = re.compile(r"([0-9]+)([kmgKMG])\Z")
_SIZE_FACTORS = {"k": 2**10, "m": 2**20, "g": 2**30}
_SECOND_SETTING = re.compile(r"^[^\"]*[,;]\s*\w+\s*=")
_ODD_TRUTHS = frozenset({"yes", "no", "on", "off", "1", "0", "y", "n", "t", "f"})
_OPTION_WORDS = {"background": "bg", "foreground": "fg", "sloppy": "sloppy"}
#: They only say where the negotiation begins.
_NOT_OPTIONS = frozenset({"defaultvers", "defaultproto"})
_SECTION_NAMES = {"mountpoint": "MountPoint", "server": "Server"}
_GLOBAL_SECTION = "nfsmount_global_options"
_GLOBAL_SECTION_NAME = "NFSMount_Global_Options"


class ConfSetting(NamedTuple):
    """One line of a file: its section, the key in lower case, and the option item it stands for."""

    file: str
    line: int
    section: str
    subject: str
    key: str
    item: str


class AddedConfOption(NamedTuple):
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


def parse_conf(text: str, file: str) -> list[ConfSetting]:
    """Return the settings of one file; what is not understood is passed over, as mount.nfs does."""
    settings: list[ConfSetting] = []
    section = subject = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw)
        header = _SECTION.match(line)
        if header:
            section, subject = header[1].lower(), _section_subject(header).lower()
            continue
        key, equals, value = line.partition("=")
        key = key.strip().lower()
        item = _option_item(key, value.strip().strip('"'))
        if equals and key and section and item:
            settings.append(ConfSetting(file, number, section, subject, key, item))
    return settings


def conf_problems(text: str) -> list[tuple[int, str]]:
    """Return what of a file mount.nfs passes over: number of the line, and a sentence."""
    found: list[tuple[int, str]] = []
    section = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = _without_comment(raw)
        header = _SECTION.match(line)
        if header:
            section = header[1].lower()
            problem = _header_problem(header)
        elif not line:
            continue
        elif not section:
            problem = f"“{line}” stands before the first section."
        elif "=" not in line:
            problem = f"“{line}” has no value; an option without one is written {line}=True."
        else:
            problem = _line_problem(line)
        if problem:
            found.append((number, problem))
    return found


def _without_comment(raw: str) -> str:
    return raw.split("#", maxsplit=1)[0].split(";", maxsplit=1)[0].strip()


def _section_subject(header: re.Match[str]) -> str:
    """Return what stands in quotes behind a section's name; mount.nfs does not see it without them."""
    quoted = _QUOTED.search(header[2])
    return quoted[1] if quoted else ""


def _header_problem(header: re.Match[str]) -> str:
    """Return why a section never counts, "" if it may."""
    name, subject = header[1].lower(), _section_subject(header)
    titles = {_GLOBAL_SECTION: _GLOBAL_SECTION_NAME, **_SECTION_NAMES}
    if name not in titles:
        close = difflib.get_close_matches(name, titles, n=1)
        hint = f" Did you mean [ {titles[close[0]]} ]?" if close else ""
        return f"“[ {header[1]} ]” is no section of this file.{hint}"
    if name == _GLOBAL_SECTION:
        return ""
    if not subject:
        named = header[2].strip() or "NAME"
        return f'The name of the section stands in quotes: [ {titles[name]} "{named}" ].'
    if name == "mountpoint":
        return _mount_point_problem(subject)
    if name == "server" and "/" in subject:
        return f"“{subject}” never fits: the section names the server alone, without a path."
    return ""


def _mount_point_problem(subject: str) -> str:
    """Return why the section of a mount point fits none, or one only that is written oddly; "" if it fits."""
    if not subject.startswith("/"):
        return f"“{subject}” is no mount point: it begins with /."
    if subject != "/" and subject.endswith("/"):
        return f"“{subject}” fits a mount point only that is written with the slash at its end, too."
    return ""


def _line_problem(line: str) -> str:
    """Return why a line sets something else than it seems to, or nothing; "" if it sets an option."""
    key, value = (part.strip() for part in line.split("=", 1))
    if _SECOND_SETTING.search(value):
        return f"“{line}” has more than one setting: each stands in a line of its own."
    if _is_odd_truth(key.lower(), value):
        return f"“{line}” switches nothing: write {key}=True or {key}=False."
    return _default_problem(key, value)


def _is_odd_truth(key: str, value: str) -> bool:
    """Whether yes, on, 0 and the like stand where mount.nfs knows True and False only."""
    option = catalogue().find(_OPTION_WORDS.get(key, key))
    return option is not None and not option.takes_value and value.lower().strip('"') in _ODD_TRUTHS


def _default_problem(key: str, value: str) -> str:
    """Return why a line that says where the negotiation begins says nothing, "" if it does or is another."""
    value = value.strip('"')
    option, what = {"defaultvers": ("vers", "version"), "defaultproto": ("proto", "transport")}.get(
        key.lower(), ("", "")
    )
    if option and check_item(f"{option}={value}", catalogue()) is not None:
        return f"“{value}” is no {what} for {key} ({key}={value})."
    return ""


def section_options(settings: list[ConfSetting]) -> list[tuple[int, str, str, str]]:
    """Return each section that sets options: its first line, its name, its subject, and its options."""
    found: dict[tuple[str, str], list[ConfSetting]] = {}
    for setting in settings:
        key, _, value = setting.item.partition("=")
        odd = _SECOND_SETTING.search(value) is not None or _is_odd_truth(key, value)
        if setting.key not in _NOT_OPTIONS and not odd:  # what is odd is told of by its line
            found.setdefault((setting.section, setting.subject), []).append(setting)
    return [
        (group[0].line, section, subject, ",".join(setting.item for setting in group))
        for (section, subject), group in found.items()
    ]


def _option_item(key: str, value: str) -> str:
    """Return the item that a line stands for, "" if for none: Background=False adds nothing."""
    truth = {"true": True, "false": False}.get(value.lower())
    word = _OPTION_WORDS.get(key, key)
    if truth is not None:
        return word if truth else "" if key in _OPTION_WORDS else f"no{word}"
    suffix = _SIZE_SUFFIX.match(value)
    if suffix:
        value = str(int(suffix[1]) * _SIZE_FACTORS[suffix[2].lower()])
    return f"{word}={value}"


def added_options(
    settings: list[ConfSetting], options: MountOptions, host: str, mount_point: str
) -> list[AddedConfOption]:
    """Return what the files add to a mount with these options, in the order in which it is added.

    Args:
        settings: of all files, in the order of :data:`CONF_FILES`.
        options: as given on the command line or in fstab.
        host: the server as written there; another spelling of the same server does not count.
        mount_point: likewise; both are compared without regard to case.
    """
    found: list[AddedConfOption] = []
    taken = {_normalized_key(item.partition("=")[0]) for item in options if item}
    for section, subject in (("mountpoint", mount_point), ("server", host), (_GLOBAL_SECTION, "")):
        # Later files outdo earlier ones key by key, and keep the place of the first.
        last: dict[str, ConfSetting] = {}
        for setting in settings:
            if (setting.section, setting.subject) == (section, subject.lower()):
                last[setting.key] = setting
        for setting in last.values():
            name = _normalized_key(setting.item.partition("=")[0])
            if name in taken or setting.key in _NOT_OPTIONS:
                continue
            taken.add(name)
            found.append(_added_option(setting, options))
    return found


def _added_option(setting: ConfSetting, options: MountOptions) -> AddedConfOption:
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
    section = f'{title} "{setting.subject}"' if title else _GLOBAL_SECTION_NAME
    return AddedConfOption(setting.item, name, setting.file, setting.line, section, beaten)


def _normalized_key(key: str) -> str:
    """Return a key as mount.nfs compares it: without “no”, and the two names of the version as one."""
    key = key.lower()
    if key in {"vers", "v2", "v3", "v4", "v4.0", "v4.1", "v4.2"}:
        key = "nfsvers"
    return key.removeprefix("no")
