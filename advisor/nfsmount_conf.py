"""Settings of /etc/nfsmount.conf: parsing, checking, and the options that they add to a mount.

Sources: nfsmount.conf(5), utils/mount/configfile.c. mount.nfs reads the sections for the mount point, the
server and all mounts, in this order. It does not add an option that is already present under the same name or
its negation. It does not recognize different names of one option: ``Soft=True`` is added after ``hard`` and
wins.
"""

from __future__ import annotations

import difflib
import re
from typing import NamedTuple

from advisor.options import ATTRIBUTE_TIMES, MountOptions, catalogue, check_item

#: Configuration files in the order of mount.nfs; a key in a later file overrides the same key before.
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
#: A second setting after the first one, or a second option in its value or key (sec= takes colons only).
_SECOND_SETTING = re.compile(r"^[^\"]*[,;]\s*\w+\s*(?:=|\Z)")
#: A semicolon without a blank before it, as between settings; after a blank it begins a comment.
_GLUED_SETTING = re.compile(r"\S;\s*\w+\s*=")
_WILDCARDS = frozenset("*?")
_ODD_TRUTHS = frozenset({"yes", "no", "on", "off", "1", "0", "y", "n", "t", "f"})
_OPTION_WORDS = {"background": "bg", "foreground": "fg", "sloppy": "sloppy"}
#: Keys that set the start of the negotiation instead of an option.
_NOT_OPTIONS = frozenset({"defaultvers", "defaultproto"})
_SECTION_NAMES = {"mountpoint": "MountPoint", "server": "Server"}
_GLOBAL_SECTION = "nfsmount_global_options"
_GLOBAL_SECTION_NAME = "NFSMount_Global_Options"


class ConfSetting(NamedTuple):
    """One setting of a file.

    Attributes:
        file: path of the file.
        line: line number, from 1.
        section: name of the section in lower case.
        subject: quoted mount point or server of the section in lower case, or "".
        key: key in lower case.
        item: the equivalent item of an option string.
    """

    file: str
    line: int
    section: str
    subject: str
    key: str
    item: str


class AddedConfOption(NamedTuple):
    """An option that a file adds to a mount.

    Attributes:
        item: the added item of the option string.
        name: canonical name of the option.
        file: path of the file with the setting.
        line: line number of the setting, from 1.
        section: section as in the file, for example ``Server "nas"``.
        beats: the item of the mount's own options that the added one overrides, or "".
    """

    item: str
    name: str
    file: str
    line: int
    section: str
    beats: str


def parse_conf(text: str, file: str) -> list[ConfSetting]:
    """Return the settings of one file; invalid lines are ignored, as in mount.nfs."""
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
    """Return the lines of a file that mount.nfs ignores: line number, and the reason as a sentence."""
    found: list[tuple[int, str]] = []
    section = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip() if _GLUED_SETTING.search(raw.partition("#")[0]) else _without_comment(raw)
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
    """Return the quoted text after a section's name; mount.nfs ignores unquoted text."""
    quoted = _QUOTED.search(header[2])
    return quoted[1] if quoted else ""


def _header_problem(header: re.Match[str]) -> str:
    """Return why a section can never have an effect, "" if it may."""
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
    if len(_QUOTED.findall(header[2])) > 1:
        return f"Only the first name counts, “{subject}”: a section has one."
    if _WILDCARDS & set(subject):
        return f"“{subject}” never fits: names are compared as they are written, without wildcards."
    return _mount_point_problem(subject) if name == "mountpoint" else _server_problem(subject)


def _server_problem(subject: str) -> str:
    """Return why the subject of a section is no valid server, "" if it is valid."""
    if "/" in subject:
        return f"“{subject}” never fits: the section names the server alone, without a path."
    if "," in subject or " " in subject.strip():
        return f"“{subject}” never fits: a section has one server."
    return ""


def _mount_point_problem(subject: str) -> str:
    """Return why the subject of a section is no valid mount point, "" if it is valid."""
    if not subject.startswith("/"):
        return f"“{subject}” is no mount point: it begins with /."
    if subject != "/" and subject.endswith("/"):
        return f"“{subject}” fits a mount point only that is written with the slash at its end, too."
    return ""


def _line_problem(line: str) -> str:
    """Return why a line does not set the option that it seems to set, "" if it is valid."""
    key, value = (part.strip() for part in line.split("=", 1))
    if not key:
        return f"“{line}” has no name before the equals sign."
    if "," in key or _has_second_setting(key, value):
        return f"“{line}” has more than one setting: each stands in a line of its own."
    if _is_odd_truth(key.lower(), value):
        return f"“{line}” switches nothing: write {key}=True or {key}=False."
    return _negation_problem(line, key, value) or _default_problem(key, value)


def _negation_problem(line: str, key: str, value: str) -> str:
    """Return how a negated flag is written, "" for another setting; both have the same effect."""
    option = catalogue().find(key.lower())
    truth = {"true": "False", "false": "True"}.get(value.lower().strip('"'))
    plain = key.lower().removeprefix("no")
    if option is None or truth is None or key.lower() != option.negation or plain != option.name:
        return ""
    return f"“{line}” is written {plain}={truth} in this file."


def _has_second_setting(key: str, value: str) -> bool:
    """Whether the value of a key contains another setting or option; a security context may have commas."""
    plain = key.lower() in {"context", "fscontext", "defcontext", "rootcontext", "sec"}
    return not plain and _SECOND_SETTING.search(value) is not None


def _is_odd_truth(key: str, value: str) -> bool:
    """Whether a flag has a value such as yes, on or 0, where mount.nfs accepts only True and False."""
    option = catalogue().find(_OPTION_WORDS.get(key, key))
    return option is not None and not option.takes_value and value.lower().strip('"') in _ODD_TRUTHS


def _default_problem(key: str, value: str) -> str:
    """Return why the value of Defaultvers or Defaultproto is invalid, "" if it is valid or another key."""
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
        odd = "," in key or _has_second_setting(key, value) or _is_odd_truth(key, value)
        if setting.key not in _NOT_OPTIONS and not odd:  # conf_problems reports odd lines
            found.setdefault((setting.section, setting.subject), []).append(setting)
    return [
        (group[0].line, section, subject, ",".join(setting.item for setting in group))
        for (section, subject), group in found.items()
    ]


def _option_item(key: str, value: str) -> str:
    """Return the option item of a line, "" if it adds none, such as Background=False."""
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
    """Return the options that the files add to a mount, in the order of their addition.

    Server and mount point are compared as text, ignoring case.

    Args:
        settings: settings of all files, in the order of :data:`CONF_FILES`.
        options: options of the command line or fstab.
        host: server as in the share; other names of the same server do not match.
        mount_point: mount point as on the command line or in fstab.
    """
    found: list[AddedConfOption] = []
    taken = {_normalized_key(item.partition("=")[0]) for item in options if item}
    for section, subject in (("mountpoint", mount_point), ("server", host), (_GLOBAL_SECTION, "")):
        # A key in a later file overrides the earlier value but keeps its position.
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
    overridden = {name}
    if name in ATTRIBUTE_TIMES:
        overridden.add("actimeo")
    elif name == "actimeo":
        overridden.update(ATTRIBUTE_TIMES)
    overridden_item = ""
    for item in options:
        _, other, given = catalogue().read_item(item)
        if item and other in overridden and (other, given) != (name, value):
            overridden_item = item
    title = _SECTION_NAMES.get(setting.section)
    section = f'{title} "{setting.subject}"' if title else _GLOBAL_SECTION_NAME
    return AddedConfOption(setting.item, name, setting.file, setting.line, section, overridden_item)


def _normalized_key(key: str) -> str:
    """Return a key in the form that mount.nfs compares: without “no”, and all version options as nfsvers."""
    key = key.lower()
    if key in {"vers", "v2", "v3", "v4", "v4.0", "v4.1", "v4.2"}:
        key = "nfsvers"
    return key.removeprefix("no")
