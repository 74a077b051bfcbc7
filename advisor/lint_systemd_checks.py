"""Lint checks of what systemd reads: its options in fstab, and the settings of mount and automount units.

Sources: systemd.mount(5), systemd.automount(5), systemd.unit(5), systemd.special(7), systemd.syntax(7).
"""

from __future__ import annotations

import difflib
import math
import re
from typing import TYPE_CHECKING

from advisor.finding import Fix
from advisor.lint_entry_checks import looks_like_share
from advisor.lint_rules import LintMatch
from advisor.options import catalogue, check_item, is_comment
from advisor.systemd_syntax import UnitNameError, parse_time_span, unit_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from advisor.lint_rules import LintInput, LintRule

#: Boolean settings of mount units, and the words for true and false (systemd.syntax(7)).
_SWITCHES = frozenset(
    {"LazyUnmount", "ForceUnmount", "SloppyOptions", "ReadWriteOnly", "DefaultDependencies"}
)
_ON = frozenset({"1", "yes", "y", "true", "t", "on"})
_OFF = frozenset({"0", "no", "n", "false", "f", "off"})
_SUFFIXES = (".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer",
             ".slice", ".scope")  # fmt: skip
#: Targets that systemd reaches after mounting all network file systems (bootup(7)).
_AFTER_REMOTE = frozenset({"remote-fs.target", "multi-user.target", "graphical.target", "default.target"})
#: Targets that systemd reaches before the network is up (bootup(7)).
_BEFORE_NETWORK = frozenset(
    {"local-fs.target", "local-fs-pre.target", "sysinit.target", "basic.target", "network-pre.target"}
)
#: Further targets that systemd reaches after the local file systems (bootup(7), systemd.special(7)).
_AFTER_LOCAL = frozenset(
    {"local-fs.target", "sysinit.target", "basic.target", "nss-lookup.target", "nss-user-lookup.target",
     "time-sync.target", "nfs-client.target", "rpcbind.target", "sockets.target"}
)  # fmt: skip
#: Targets that an NFS mount unit follows by default (systemd.mount(5), Default dependencies).
_BEFORE_MOUNT = frozenset({"network.target", "network-online.target", "remote-fs-pre.target"})
_SPECIFIER = re.compile(r"%(.)")
#: Plausible specifiers in a mount unit: name of the unit, host and user (systemd.unit(5), Specifiers).
_COMMON_SPECIFIERS = frozenset("iIjJnNpPfHlhuUmb")
_UNIT_SETTINGS = {
    "Mount": frozenset(
        {"What", "Where", "Type", "Options", "SloppyOptions", "LazyUnmount", "ReadWriteOnly", "ForceUnmount",
         "DirectoryMode", "TimeoutSec"}
    ),
    "Automount": frozenset({"Where", "ExtraOptions", "DirectoryMode", "TimeoutIdleSec"}),
    "Install": frozenset(
        {"Alias", "WantedBy", "RequiredBy", "UpheldBy", "Also", "DefaultInstance"}
    ),
    "Unit": frozenset(
        {"Description", "Documentation", "Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Upholds",
         "Conflicts", "Before", "After", "OnFailure", "OnSuccess", "PropagatesReloadTo",
         "ReloadPropagatedFrom", "PropagatesStopTo", "StopPropagatedFrom", "JoinsNamespaceOf",
         "RequiresMountsFor", "WantsMountsFor",
         "OnFailureJobMode", "OnSuccessJobMode", "IgnoreOnIsolate", "StopWhenUnneeded", "RefuseManualStart",
         "RefuseManualStop", "AllowIsolate", "DefaultDependencies", "SurviveFinalKillSignal", "CollectMode",
         "FailureAction", "SuccessAction", "FailureActionExitStatus", "SuccessActionExitStatus",
         "JobTimeoutSec", "JobRunningTimeoutSec", "JobTimeoutAction", "JobTimeoutRebootArgument",
         "StartLimitIntervalSec", "StartLimitBurst", "StartLimitAction", "RebootArgument", "SourcePath"}
    ),
}  # fmt: skip
#: Sections with hundreds of further settings, of systemd.exec(5) for example: only near misses are reported.
_OPEN_SECTIONS = frozenset({"Mount"})
_SERVICE_SETTINGS = ("Exec", "Restart", "RemainAfterExit", "PIDFile", "BusName", "WatchdogSec")


def _systemd_options(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match x-* options for systemd and mount(8) that are misspelled, or whose value is missing or wrong."""
    known = [option.name for option in catalogue() if option.name.lower().startswith("x-")]
    known += ["x-initrd.mount", "x-initrd.attach", "X-fstrim.notrim", "x-gvfs-show", "x-gvfs-hide",
              "x-gvfs-name", "x-gvfs-icon", "x-parent"]  # fmt: skip
    for item in situation.options:
        if item[:2].lower() != "x-" or not is_comment(item):
            continue
        key, equals, value = item.partition("=")
        if catalogue().find(key) is not None:
            problem = check_item(item, catalogue())
            if problem is not None:
                yield LintMatch((problem.name,), {"problem": f"{problem.message} {problem.hint}"})
            elif key in _PATH_OPTIONS and not value.startswith("/"):
                yield LintMatch((key,), {"problem": f"“{item}” needs an absolute path."})
            elif item not in catalogue()[key].all_words() and not value.strip():
                yield LintMatch((key,), {"problem": f"“{item}” needs a value behind an equals sign."})
            continue
        close = difflib.get_close_matches(key.lower(), [name.lower() for name in known], n=1, cutoff=0.8)
        better = next((name for name in known if close and name.lower() == close[0]), "")
        if key in known or (not better and not key.lower().startswith(("x-systemd", "x-sytemd"))):
            continue
        hint = f"Did you mean “{better}”?" if better else "systemd.mount(5) lists those that it knows."
        respelled = better + equals + value
        right = bool(better) and catalogue().find(better) is not None and better not in situation.values
        fix = Fix((key,), (respelled,)) if right and check_item(respelled, catalogue()) is None else None
        yield LintMatch((key,), {"problem": f"“{key}” is no word that systemd or mount knows. {hint}"}, fix)


def _systemd_time_spans(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match time spans that systemd cannot parse, and implausible units such as months."""
    pairs = [(name, f"{name}=", situation.values.get(name, "")) for name in rule.options]
    pairs += [
        (key, f"{key}=", value) for _, key, value in situation.context.settings if key in _TIME_SETTINGS
    ]
    for name, prefix, value in pairs:
        if not value:
            continue
        seconds = parse_time_span(value)
        if seconds is None:
            problem = "is no time that systemd can read."
        elif re.search(r"[0-9 ]M(?![a-zA-Z])", value) or re.search(r"months?", value):
            problem = "is months: a small m or min is minutes."
        elif 0 < seconds < 1:
            problem = "is less than a second."
        else:
            continue
        yield LintMatch((name,) if name in rule.options else (), {"item": prefix + value, "problem": problem})


_TIME_SETTINGS = frozenset({"TimeoutSec", "TimeoutIdleSec"})
_PATH_OPTIONS = frozenset({"x-systemd.requires-mounts-for", "x-systemd.wants-mounts-for"})


def _systemd_suffix(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    for item in situation.options:
        name, _, value = item.partition("=")
        bare = value and not value.startswith("/") and not value.endswith(_SUFFIXES)
        if name in rule.options and bare and "%" not in value:
            yield LintMatch((name,), {"item": item, "unit": value})


def _unit_suffix(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    for _, key, value in situation.context.settings:
        if key in _UNIT_LIST_SETTINGS and value and not value.endswith(_SUFFIXES) and "%" not in value:
            yield LintMatch((), {"item": f"{key}={value}"})


#: Settings whose values are names of units (systemd.unit(5)).
_UNIT_LIST_SETTINGS = frozenset(
    {"Wants", "Requires", "Requisite", "BindsTo", "PartOf", "Conflicts", "Before", "After", "WantedBy",
     "RequiredBy", "UpheldBy"}
)  # fmt: skip


def _unit_switch(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match boolean settings with a value that is not boolean, and SloppyOptions=yes."""
    for _, key, value in situation.context.settings:
        if key not in _SWITCHES:
            continue
        item = f"{key}={value}"
        if value.lower() not in _ON | _OFF:
            problem = f"“{item}” is neither yes nor no, so systemd passes over it."
        elif key == "SloppyOptions" and value.lower() in _ON:
            problem = f"“{item}” hides misspelt options."
        else:
            continue
        yield LintMatch((), {"problem": problem})


def _ordering_cycle(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match dependencies that create an ordering cycle with the default dependencies of a mount unit."""
    context = situation.context
    if context.place == "unit":
        items = [(key, value, f"{key}={value}") for _, key, value in context.settings]
        by_default = ("Unit", "DefaultDependencies", "no") not in context.settings
    elif context.place == "fstab":
        words = {"x-systemd.after": "After", "x-systemd.requires": "Requires", "x-systemd.before": "Before",
                 "x-systemd.wanted-by": "WantedBy", "x-systemd.required-by": "RequiredBy"}  # fmt: skip
        parted = [(item, *item.partition("=")[::2]) for item in situation.options]
        items = [(words[name], value, item) for item, name, value in parted if name in words]
        by_default = "x-systemd.automount" not in situation.values
    else:
        return
    if not by_default:
        return
    must_wait = situation.values.get("nofail") is None
    for key, value, item in items:
        option = (item.partition("=")[0],) if context.place == "fstab" else ()
        after = key == "After" or (key == "Requires" and context.place == "fstab")
        if after and value in _AFTER_REMOTE and must_wait:
            cycle = f"systemd starts {value} after the network file systems, and this mount is one of them."
        elif _is_automount(situation):
            late = value in _BEFORE_MOUNT | _AFTER_REMOTE | _AFTER_LOCAL
            service = value.endswith(".service") and not value.startswith("systemd-")
            if key not in {"After", "Requires"} or not (late or service):
                continue
            cycle = f"Automount units come before the local file systems are complete, {value} after that."
        elif (key in _BEFORE_SETTINGS and value in _BEFORE_NETWORK) or (
            key == "Before" and value in _BEFORE_MOUNT
        ):
            cycle = f"{value} comes before the network, which this mount waits for."
        else:
            continue
        yield LintMatch(option, {"item": item, "cycle": cycle})


_BEFORE_SETTINGS = frozenset({"Before", "WantedBy", "RequiredBy"})


def _short_limit(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match a mount timeout of systemd that is too short for a slow server."""
    yield from _short_times(situation, rule, "x-systemd.mount-timeout", ("Mount", "TimeoutSec"))


def _short_idle_time(situation: LintInput, rule: LintRule) -> Iterator[LintMatch]:
    """Match an idle timeout after which a share is mounted and unmounted all the time."""
    yield from _short_times(situation, rule, "x-systemd.idle-timeout", ("Automount", "TimeoutIdleSec"))


def _short_times(
    situation: LintInput, rule: LintRule, name: str, setting: tuple[str, str]
) -> Iterator[LintMatch]:
    """Match a time of 1 s up to the rule's maximum, in an option or in a setting of a unit."""
    value = situation.values.get(name, "")
    found: list[tuple[tuple[str, ...], str, str]] = [((name,), f"{name}={value}", value)]
    found += [
        ((), f"{key}={value}", value)
        for section, key, value in situation.context.settings
        if (section, key) == setting
    ]
    for options, item, value in found:
        seconds = parse_time_span(value) if value else None
        if seconds is not None and 1 <= seconds <= rule.max:
            yield LintMatch(
                options, {"item": item, "seconds": f"{seconds:g}"}, Fix(options) if options else None
            )


def _unit_user(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match User= and Group= of a mount unit."""
    for section, key, value in situation.context.settings:
        if section == "Mount" and key in {"User", "Group"}:
            yield LintMatch((), {"item": f"{key}={value}"})


def _open_directory(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a world-writable or invalid mode for the mount point's directory."""
    pairs: list[tuple[tuple[str, ...], dict[str, str], str, str]] = [
        ((), {key: "0755"}, f"{key}={value}", value)
        for _, key, value in situation.context.settings
        if key == "DirectoryMode"
    ]
    for item in situation.options:
        key, _, value = item.partition("=")
        if key.lower() == "x-mount.mkdir" and value:
            pairs.append((("X-mount.mkdir",), {}, item, value))
    for options, fields, item, value in pairs:
        if re.fullmatch(r"[0-7]{1,4}", value) is None:
            problem = f"“{item}” is no mode: it takes octal digits, for example 0755."
        elif int(value, 8) & 0o1002 == 0o002:
            problem = f"With “{item}” everybody may write into the directory below the mount."
        else:
            continue
        key = item.partition("=")[0]
        yield LintMatch(options, {"problem": problem}, Fix(set=(f"{key}=0755",)) if options else None, fields)


def _endless_mount_timeout(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    value = situation.values.get("x-systemd.mount-timeout", "")
    seconds = parse_time_span(value) if value else None
    if seconds is not None and (seconds == 0 or math.isinf(seconds)):
        yield LintMatch(("x-systemd.mount-timeout", "nofail"), {"item": f"x-systemd.mount-timeout={value}"})


def _unit_name(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    suffix = context.unit_file.rpartition(".")[2]
    if suffix not in {"mount", "automount"} or not context.mount_point.startswith("/"):
        return
    try:
        name = unit_name(context.mount_point, suffix)
    except UnitNameError:
        return
    if name != context.unit_file:
        words = {"point": context.mount_point, "name": name, "file": context.unit_file}
        yield LintMatch((), words, fields={"file": name})


def _unit_template(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a unit whose name is that of a template or an instance; in the name of a path, @ is escaped."""
    file = situation.context.unit_file
    if "@" in file:
        yield LintMatch((), {"file": file})


def _unit_specifier(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a percent sign that systemd expands to an implausible specifier."""
    for _, key, value in situation.context.settings:
        found = next(
            (m[0] for m in _SPECIFIER.finditer(value) if m[1] != "%" and m[1] not in _COMMON_SPECIFIERS), None
        )
        if key in {"What", "Where", "Options"} and found is not None:
            yield LintMatch((), {"key": key, "found": found})


def _unit_setting(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match sections and settings that systemd does not know."""
    reported: set[str] = set()
    for section, key, _ in situation.context.settings:
        if section not in _UNIT_SETTINGS:
            close = _closest_spelling(section, _UNIT_SETTINGS)
            if section not in reported and not section.startswith("X-"):
                hint = f" Did you mean [{close}]?" if close else ""
                problem = f"“[{section}]” is no section of a unit for a mount.{hint}"
                yield LintMatch(
                    (), {"problem": problem}, fields={f"[{section}]": f"[{close}]"} if close else {}
                )
            reported.add(section)
            continue
        known = _UNIT_SETTINGS[section]
        suffix = situation.context.unit_file.rpartition(".")[2]
        if (
            section in {"Mount", "Automount"}
            and suffix in {"mount", "automount"}
            and suffix != section.lower()
        ):
            if section not in reported:
                problem = (
                    f"“[{section}]” belongs in a unit of its own, whose name ends in .{section.lower()}."
                )
                yield LintMatch((), {"problem": problem})
            reported.add(section)
            continue
        if key in known or key in reported or key.startswith("X-") or _is_condition(section, key):
            continue
        reported.add(key)
        close = _SETTING_SYNONYMS.get(key.lower(), "") if section == "Mount" else ""
        close = close or _closest_spelling(key, known)
        elsewhere = next((name for name, keys in _UNIT_SETTINGS.items() if key in keys), "")
        if elsewhere:
            problem = f"“{key}=” belongs to the section [{elsewhere}], not to [{section}]."
            yield LintMatch((), {"problem": problem})
        elif close or section not in _OPEN_SECTIONS or key.startswith(_SERVICE_SETTINGS):
            hint = f" Did you mean “{close}=”?" if close else ""
            problem = f"“{key}=” is no setting of [{section}].{hint}"
            yield LintMatch((), {"problem": problem}, fields={key: close} if close else {})


#: Words of other programs for settings of [Mount].
_SETTING_SYNONYMS = {
    **dict.fromkeys(("device", "source", "server", "share", "export", "url"), "What"),
    **dict.fromkeys(("mountpoint", "target", "path", "directory", "dest", "destination"), "Where"),
    **dict.fromkeys(("fstype", "filesystem", "vfstype"), "Type"),
    **dict.fromkeys(("mountoptions", "opts", "opt", "mountopts", "flags"), "Options"),
    **dict.fromkeys(("timeout", "timeoutstartsec", "timeoutstopsec", "mounttimeout"), "TimeoutSec"),
}


def _is_condition(section: str, key: str) -> bool:
    return section == "Unit" and key.startswith(("Condition", "Assert"))


def _closest_spelling(word: str, known: frozenset[str] | dict[str, frozenset[str]]) -> str:
    lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(word.lower(), sorted(lower), n=1, cutoff=0.75)
    return lower[close[0]] if close else ""


def _unit_setting_twice(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match settings that are present several times, of which systemd uses only the last."""
    assigned: dict[str, list[str]] = {}
    for section, key, value in situation.context.settings:
        if section == "Mount" and key in {"What", "Where", "Type", "Options"}:
            assigned.setdefault(key, []).append(value)
    for key, values in assigned.items():
        if len(set(values)) > 1:
            yield LintMatch((), {"key": key, "last": values[-1], "lost": values[0]})


def _unit_not_ordered(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a unit without default dependencies that also has no After= on a target or service."""
    settings = situation.context.settings
    if ("Unit", "DefaultDependencies", "no") not in settings or _is_automount(situation):
        return
    after = [word for _, key, value in settings if key == "After" for word in value.split()]
    if not any(word.endswith((".target", ".service")) for word in after):
        yield LintMatch((), {})


def _is_automount(situation: LintInput) -> bool:
    return situation.context.unit_file.endswith(".automount")


def _unit_section(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    sections = {section for section, _, _ in situation.context.settings}
    suffix = situation.context.unit_file.rpartition(".")[2]
    section = {"mount": "Mount", "automount": "Automount"}.get(suffix, "")
    if section and section not in sections:
        yield LintMatch((), {"suffix": f".{suffix}", "section": section})


def _unit_type(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    typed = any((section, key) == ("Mount", "Type") for section, key, _ in context.settings)
    network = typed or "_netdev" in situation.values
    if context.settings and looks_like_share(context.share) and not network:
        yield LintMatch((), {}, fields={"Type": "nfs"})


def _unit_not_enabled(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a unit that no other unit starts: [Install] is missing or names nothing."""
    context = situation.context
    sections = {section for section, _, _ in context.settings}
    wanted = any(section == "Install" and value for section, _, value in context.settings)
    both = {"Mount", "Automount"} <= sections
    if context.place == "unit" and sections and not (wanted or both or context.drop_in):
        yield LintMatch((), {"suffix": ".automount" if "Automount" in sections else ".mount"})


def _depends_on_itself(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a dependency of the mount on itself."""
    context = situation.context
    if not context.mount_point.startswith("/"):
        return
    try:
        own = {unit_name(context.mount_point), context.mount_point}
    except UnitNameError:
        return
    for name, key, value, item in _dependencies(situation):
        is_path = key in {"RequiresMountsFor", "WantsMountsFor"}
        below = value.startswith(f"{context.mount_point.rstrip('/')}/")
        if not _is_automount(situation) and (value in own or (is_path and below)):
            yield LintMatch((name,) if name else (), {"item": item})


def _dependencies(situation: LintInput) -> Iterator[tuple[str, str, str, str]]:
    """Yield option ("" in a unit), setting, value and text of each dependency on a unit or path."""
    if situation.context.place == "unit":
        for _, key, value in situation.context.settings:
            if key in _UNIT_LIST_SETTINGS or key.endswith("MountsFor"):
                yield "", key, value, f"{key}={value}"
        return
    for item in situation.options:
        name, _, value = item.partition("=")
        if name in _DEPENDENCY_OPTIONS and value:
            yield name, _DEPENDENCY_OPTIONS[name], value, item


#: Options for systemd, and the settings of a unit that they stand for (systemd.mount(5)).
_DEPENDENCY_OPTIONS = {
    "x-systemd.requires": "Requires", "x-systemd.after": "After", "x-systemd.before": "Before",
    "x-systemd.wants": "Wants", "x-systemd.wanted-by": "WantedBy", "x-systemd.required-by": "RequiredBy",
    "x-systemd.requires-mounts-for": "RequiresMountsFor", "x-systemd.wants-mounts-for": "WantsMountsFor",
}  # fmt: skip
#: Targets of systemd.special(7), of nfs-utils and of rpcbind.
_KNOWN_TARGETS = (
    "basic", "boot-complete", "cryptsetup", "default", "emergency", "first-boot-complete", "getty",
    "getty-pre", "graphical", "halt", "initrd", "initrd-fs", "local-fs", "local-fs-pre", "multi-user",
    "network", "network-online", "network-pre", "nfs-client", "nss-lookup", "nss-user-lookup", "paths",
    "poweroff", "reboot", "remote-cryptsetup", "remote-fs", "remote-fs-pre", "remote-veritysetup", "rescue",
    "rpc_pipefs", "rpcbind", "shutdown", "sleep", "slices", "sockets", "swap", "sysinit", "system-update",
    "time-set", "time-sync", "timers", "umount", "veritysetup",
)  # fmt: skip


def _unit_misspelled(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match the name of a target that is close to a well-known one."""
    for name, _, value, item in _dependencies(situation):
        target, suffix = value.removesuffix(".target"), value.endswith(".target")
        close = difflib.get_close_matches(target.lower(), _KNOWN_TARGETS, n=1, cutoff=0.87) if suffix else []
        if close and target not in _KNOWN_TARGETS and "@" not in target:
            better = f"{close[0]}.target"
            yield LintMatch(
                (name,) if name else (),
                {"item": item, "value": value, "better": better},
                _unit_fix(item, better),
            )


def _unit_fix(item: str, value: str) -> Fix | None:
    """Return the change of an option for systemd to another value, None for a setting of a unit."""
    key = item.partition("=")[0]
    return Fix(set=(f"{key}={value}",)) if key in _DEPENDENCY_OPTIONS else None


def _unit_list(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match commas, semicolons and quotes in a list of units."""
    for _, key, value in situation.context.settings:
        if key in _UNIT_LIST_SETTINGS and set(value) & set(",;\"'"):
            yield LintMatch((), {"item": f"{key}={value}"})


def _unit_comment(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a comment after the value of a setting."""
    for _, key, value in situation.context.settings:
        match = _COMMENT.search(value)
        if match is not None and key not in {"Description", "Documentation"}:
            yield LintMatch((), {"key": key, "comment": match[1]}, fields={key: value[: match.start()]})


#: A comment after a value; as a word of its own, since a path may contain # and ;.
_COMMENT = re.compile(r"\s+([#;].*)\Z", re.DOTALL)


def _unit_alias(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match another name for a mount or automount unit."""
    for section, key, value in situation.context.settings:
        if (section, key) == ("Install", "Alias") and value:
            yield LintMatch((), {"value": value})


def _unit_path(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match settings for paths with a relative path."""
    for _, key, value in situation.context.settings:
        relative = any(not word.startswith(("/", "%", '"')) for word in value.split())
        if key in {"RequiresMountsFor", "WantsMountsFor"} and relative:
            yield LintMatch((), {"item": f"{key}={value}"})


def _unit_read_only(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match ReadWriteOnly=yes beside the option ro."""
    settings = situation.context.settings
    on = any(key == "ReadWriteOnly" and value.lower() in _ON for _, key, value in settings)
    if on and situation.in_force("ro"):
        yield LintMatch(("ro",), {})


SYSTEMD_CHECKS: dict[str, Callable[[LintInput, LintRule], Iterator[LintMatch]]] = {
    "unit-alias": _unit_alias,
    "depends-on-itself": _depends_on_itself,
    "unit-misspelled": _unit_misspelled,
    "unit-list": _unit_list,
    "unit-comment": _unit_comment,
    "unit-path": _unit_path,
    "unit-read-only": _unit_read_only,
    "unit-switch": _unit_switch,
    "unit-suffix": _unit_suffix,
    "systemd-word": _systemd_options,
    "systemd-time": _systemd_time_spans,
    "systemd-suffix": _systemd_suffix,
    "ordering-cycle": _ordering_cycle,
    "waits-for-ever": _endless_mount_timeout,
    "short-limit": _short_limit,
    "idle-short": _short_idle_time,
    "unit-user": _unit_user,
    "open-directory": _open_directory,
    "unit-name": _unit_name,
    "unit-template": _unit_template,
    "unit-specifier": _unit_specifier,
    "unit-setting": _unit_setting,
    "unit-setting-twice": _unit_setting_twice,
    "unit-not-ordered": _unit_not_ordered,
    "unit-section": _unit_section,
    "unit-not-enabled": _unit_not_enabled,
    "unit-type": _unit_type,
}
