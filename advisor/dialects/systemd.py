r"""systemd mount and automount units: parsing and printing.

Sources: systemd.mount(5), systemd.automount(5), systemd.syntax(7), systemd-escape(1). Values in a unit file
are literal with three exceptions: ``%`` begins a specifier, a backslash at the end of a line continues it,
and blanks at both ends are removed. Options for fstab become unit settings, as with systemd-fstab-generator;
``nofail`` and ``_netdev`` stay in Options=, where systemd reads them.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from advisor.dialects.entry import (
    DialectError,
    DialectText,
    MountSpec,
    ParseResult,
    WrongDialectError,
    control_character_problem,
    set_option,
    set_version_4,
)
from advisor.options import YES, MountOptions, catalogue
from advisor.systemd_syntax import UnitNameError, unit_name

if TYPE_CHECKING:
    from collections.abc import Iterator

FORM = "a systemd mount unit"
DIRECTORY = "/etc/systemd/system/"

_REMOTE_FS_TARGET = "remote-fs.target"
#: Targets that every boot reaches (systemd.special(7)); a unit wanted by one of them is mounted at boot.
_AT_BOOT = frozenset({_REMOTE_FS_TARGET, "multi-user.target", "graphical.target", "default.target"})
#: Options for fstab to the equivalent unit settings, each as section and key.
_OPTION_SETTINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "x-systemd.mount-timeout": (("Mount", "TimeoutSec"),),
    "x-systemd.requires": (("Unit", "Requires"), ("Unit", "After")),
    "x-systemd.after": (("Unit", "After"),),
    "x-systemd.before": (("Unit", "Before"),),
    "x-systemd.wants": (("Unit", "Wants"), ("Unit", "After")),
    "x-systemd.requires-mounts-for": (("Unit", "RequiresMountsFor"),),
    "x-systemd.wants-mounts-for": (("Unit", "WantsMountsFor"),),
    "x-systemd.wanted-by": (("Install", "WantedBy"),),
    "x-systemd.required-by": (("Install", "RequiredBy"),),
}
#: Settings that every NFS mount unit has by default.
_IMPLIED_SETTINGS = {
    ("Unit", "After"): frozenset({"network-online.target", "network.target", "remote-fs-pre.target"}),
    ("Unit", "Wants"): frozenset({"network-online.target", "network.target"}),
    ("Unit", "Requires"): frozenset({"network-online.target", "network.target"}),
    ("Unit", "Before"): frozenset({_REMOTE_FS_TARGET}),
    ("Install", "RequiredBy"): _AT_BOOT,
}
#: Settings whose values are lists of unit names, separated by blanks.
_LIST_SETTINGS = frozenset({"Requires", "Wants", "After", "Before", "WantedBy", "RequiredBy"})

UnitSettings = list[tuple[str, str, str]]


def _file_name(path: str, suffix: str = "mount") -> str:
    """Return the file of the unit for a path.

    Raises:
        DialectError: if the path has no valid unit name.
    """
    try:
        return DIRECTORY + unit_name(path, suffix)
    except UnitNameError as error:
        raise DialectError(str(error)) from error


def write_mount(entry: MountSpec) -> DialectText:
    """Return the entry as a .mount unit.

    Raises:
        DialectError: if the mount point has no valid unit name.
    """
    file_name = _file_name(entry.mount_point)
    options, settings, untranslated = _split_options(entry.options)
    at_boot = entry.when == "start-up"
    problems = _text_problems(entry, options)
    if options.get("bg") == "bg":
        problems.append("systemd takes a mount that goes on in the background for failed: leave out bg.")
    lines: UnitSettings = [("Unit", "Description", f"{entry.share} on {entry.mount_point}")]
    lines += [line for line in settings if line[0] == "Unit"]
    lines += [
        ("Mount", "What", str(entry.share)),
        ("Mount", "Where", entry.mount_point),
        ("Mount", "Type", "nfs"),
    ]
    lines += [("Mount", "Options", str(options))] if str(options) else []
    lines += [line for line in settings if line[0] == "Mount"]
    if at_boot:
        install = [line for line in settings if line[0] == "Install"]
        dependency = "WantedBy" if options.get("nofail") == YES else "RequiredBy"
        lines += install or [("Install", dependency, _REMOTE_FS_TARGET)]
    else:
        words = {place: word for word, (place, *_more) in _OPTION_SETTINGS.items()}
        untranslated += [f"“{words[section, key]}={value}” is left out: this unit is not enabled by itself."
                         for section, key, value in settings if section == "Install"]  # fmt: skip
    note = {"on-demand": "# Started by the .automount unit of the same name.\n"}.get(entry.when, "")
    return DialectText(note + _unit_text(lines), file_name, untranslated, problems)


def write_automount(entry: MountSpec) -> DialectText:
    """Return the .automount unit of an entry, which needs the .mount unit of the same name.

    Raises:
        DialectError: if the mount point has no valid unit name.
    """
    file_name = _file_name(entry.mount_point, "automount")
    lines: UnitSettings = [
        ("Unit", "Description", f"{entry.share} on {entry.mount_point}, on demand"),
        ("Automount", "Where", entry.mount_point),
    ]
    idle = entry.options.get("x-systemd.idle-timeout")
    lines += [("Automount", "TimeoutIdleSec", idle)] if idle else []
    lines.append(("Install", "WantedBy", _REMOTE_FS_TARGET))
    problems = _text_problems(entry, MountOptions())
    if entry.when != "on-demand":
        problems.append(
            f"The entry is to be mounted {_AT_TIME[entry.when]}; with this unit it is mounted on demand."
        )
    note = f"# Goes with {unit_name(entry.mount_point)}, which has the share and the options.\n"
    return DialectText(note + _unit_text(lines), file_name, [], problems)


_AT_TIME = {"start-up": "at start-up", "by-hand": "by hand"}


def parse_unit(text: str) -> UnitSettings:
    """Return section, key and value of every assignment in a unit file, in order (systemd.syntax(7)).

    A list of units yields one assignment per unit. Specifiers stay as written.
    """
    settings: UnitSettings = []
    section = ""
    for line in _logical_lines(text):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif "=" in line and section:
            key, _, value = line.partition("=")
            key, value = key.strip(), value.strip()
            values = value.split() if key in _LIST_SETTINGS else [value]
            settings += [(section, key, one) for one in values]
    return settings


def unit_problems(text: str) -> list[tuple[int, str]]:
    """Return the lines of a unit file that systemd ignores: line number, and the reason as a sentence."""
    found: list[tuple[int, str]] = []
    section = continued = False
    for number, raw in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        line = raw.strip()
        if not line or line.startswith(("#", ";")):
            continue
        if continued:
            problem = ""
        elif line.startswith("["):
            closed = line.endswith("]")
            section = section or closed
            problem = "" if closed else f"“{line}” is no section: the bracket is not closed."
        elif not section:
            problem = f"“{line}” stands before the first section."
        elif not line.partition("=")[0].strip():
            problem = f"“{line}” has no name before the equals sign."
        else:
            problem = "" if "=" in line else f"“{line}” has no equals sign."
        continued = raw.endswith("\\")
        if problem:
            found.append((number, problem))
    return found


def _logical_lines(text: str) -> Iterator[str]:
    """Yield logical lines without surrounding blanks; comments are removed, also between continued lines."""
    continued = ""
    for line in text.replace("\r\n", "\n").split("\n"):
        if line.lstrip().startswith(("#", ";")):
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            continued += line[:-1] + " "
        else:
            yield (continued + line).strip()
            continued = ""
    yield continued.strip()


def read(text: str) -> ParseResult:
    """Return the entry of a .mount unit, together with its .automount unit if the text has both.

    Raises:
        DialectError: if the [Mount] section lacks What or Where, or the unit is no NFS mount.
    """
    return read_settings(parse_unit(text))


def read_settings(settings: UnitSettings) -> ParseResult:
    """Return the entry of the settings of one or several unit files; specifiers (``%u``) stay as written.

    Raises:
        DialectError: if the [Mount] section lacks What or Where, or the unit is no NFS mount.
    """
    settings = [(section, key, value.replace("%%", "%")) for section, key, value in settings]
    sections = {section for section, _, _ in settings}
    if "Mount" not in sections:
        if "Automount" in sections:
            raise DialectError("An automount unit says only where; the .mount unit has the share.")
        raise WrongDialectError("It has no section [Mount].")
    found = {key: value for section, key, value in settings if section == "Mount"}
    if found.get("Type", "nfs") not in {"nfs", "nfs4"}:
        raise DialectError(f"The unit mounts the type “{found['Type']}”, not nfs.")
    if not found.get("What") or not found.get("Where"):
        raise DialectError("The section [Mount] needs What= and Where=.")
    options = MountOptions.parse(found.get("Options", ""))
    if found.get("Type") == "nfs4":
        set_version_4(options)
    items, untranslated = _read_settings(settings, options)
    options = MountOptions([*options, *items])
    if "Automount" in sections:
        options.remove("auto")
        set_option(options, "x-systemd.automount", YES)
    elif "Install" not in sections:
        set_option(options, "noauto", YES)
    return ParseResult(MountSpec.make(found["What"], found["Where"], options), FORM, untranslated)


def _split_options(options: MountOptions) -> tuple[MountOptions, UnitSettings, list[str]]:
    """Return the options for Options=, the unit settings for other options, and sentences about the rest."""
    mount_items: list[str] = []
    settings: UnitSettings = []
    untranslated: list[str] = []
    for item in options:
        _, name, value = catalogue().read_item(item) if item else (None, "", "")
        if name in _OPTION_SETTINGS and value:
            settings += [(section, key, value) for section, key in _OPTION_SETTINGS[name]]
        elif name in {"user", "comment"}:
            untranslated.append(f"“{item}” means nothing in a unit.")
        elif name == "x-systemd.idle-timeout":
            untranslated.append(f"“{item}” belongs in the .automount unit.")
        elif name == "x-systemd.rw-only" and value == YES:
            settings.append(("Mount", "ReadWriteOnly", "yes"))
        elif name.startswith("x-systemd.") and name != "x-systemd.automount":
            untranslated.append(f"systemd reads “{item}” in fstab only.")
        elif name not in {"auto", "x-systemd.automount", "defaults"} and item:
            mount_items.append(item)
    return MountOptions(mount_items), settings, untranslated


def _text_problems(entry: MountSpec, options: MountOptions) -> list[str]:
    problems = control_character_problem(str(options), "options")
    values = [("share", str(entry.share)), ("mount point", entry.mount_point), ("options", str(options))]
    for what, value in values:
        if value.endswith("\\"):
            problems.append(f"A unit file takes the backslash at the end of the {what} for a continued line.")
        elif value != value.strip():
            problems.append(f"A unit file loses the blanks at the ends of the {what}.")
    if posixpath.normpath(entry.mount_point).lstrip("/") != entry.mount_point.strip("/"):
        problems.append("systemd writes the mount point without doubled slashes and dots.")
    return problems


def _unit_text(lines: UnitSettings) -> str:
    text = ""
    current = ""
    for section, key, value in lines:
        if section != current:
            text += ("\n" if current else "") + f"[{section}]\n"
            current = section
        text += f"{key}={value.replace('%', '%%')}\n"
    return text


def _read_settings(settings: UnitSettings, options: MountOptions) -> tuple[list[str], list[str]]:
    """Return the fstab options for unit settings, and a sentence for each setting without an equivalent."""
    items: list[str] = []
    untranslated: list[str] = []
    required = {value for section, key, value in settings
                if section == "Unit" and key in {"Requires", "Wants"}}  # fmt: skip
    is_required = any(
        (section, key) == ("Install", "RequiredBy") and value in _AT_BOOT for section, key, value in settings
    )
    automounted = any(section == "Automount" for section, _, _ in settings)
    for section, key, value in settings:
        place = (section, key)
        if key == "Description" or (section == "Mount" and key in {"What", "Where", "Type", "Options"}):
            continue
        if place == ("Automount", "Where") or value in _IMPLIED_SETTINGS.get(place, frozenset()):
            continue
        if place == ("Install", "WantedBy") and value in _AT_BOOT:
            # WantedBy, unlike RequiredBy, lets the boot continue if the mount fails.
            nofail = options.get("nofail") is None and not automounted and "nofail" not in items
            items += ["nofail"] if nofail and not is_required else []
        elif place != ("Unit", "After") or value not in required:
            item = _read_setting(place, value)
            items += [item] if item else []
            untranslated += [] if item else [f"{key}={value} in [{section}] has no word in fstab."]
    return items, untranslated


def _read_setting(place: tuple[str, str], value: str) -> str:
    """Return the fstab option for one unit setting, "" if there is none."""
    if place == ("Mount", "SloppyOptions") and value in {"yes", "true", "on", "1"}:
        return "sloppy"
    if place == ("Mount", "ReadWriteOnly") and value in {"yes", "true", "on", "1"}:
        return "x-systemd.rw-only"
    words = [word for word, places in _OPTION_SETTINGS.items() if places[0] == place]
    words += ["x-systemd.idle-timeout"] if place == ("Automount", "TimeoutIdleSec") else []
    if not words or "," in value or '"' in value or value != value.strip() or not value:
        return ""
    return f"{words[0]}={value}"
