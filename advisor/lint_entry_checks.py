"""Lint checks of the entry around the options: share, mount point, type, neighbors, units, autofs maps.

Sources: fstab(5), mount(8), systemd.mount(5), systemd.automount(5), systemd.unit(5), autofs(5).
"""

from __future__ import annotations

import difflib
import ipaddress
import math
import posixpath
import re
from typing import TYPE_CHECKING

from advisor.lint_rules import Fix, LintMatch
from advisor.options import NO, MountOptions, catalogue, check_item, implied_values, is_comment
from advisor.share import Share, ShareError
from advisor.systemd_syntax import UnitNameError, parse_time_span, unit_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from advisor.lint_rules import LintInput, LintRule, NeighborEntry

_NFS_TYPES = frozenset({"nfs", "nfs4"})
#: Root of a diskless computer, which the kernel has mounted (Documentation/admin-guide/nfs/nfsroot.rst).
_DISKLESS_ROOT = ("/dev/nfs", "/")
_EFS_ID = re.compile(r"fs-[0-9a-f]{8,17}")
_BARE_IPV6 = re.compile(r"([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f.]*(?:%[\w.-]+)?):(/.*)", re.DOTALL)
_URL = re.compile(r"(?!smb:|cifs:)[a-z][a-z0-9+.-]*://([^/:\[]+|\[[^\]]+\])(?::[0-9]+)?(/.*)", re.DOTALL)
_CIFS = re.compile(r"(?://|\\\\|smb://|cifs://)([^/\\]+)[/\\]+(.*)", re.DOTALL)
_PORT = re.compile(r"([\w.-]+):[0-9]{1,5}:(/.*)", re.DOTALL)
_RELATIVE_EXPORT = re.compile(r"([\w.-]+):((?:[^/:].*)?)", re.DOTALL)
_NO_COLON = re.compile(r"([A-Za-z0-9][\w.-]*)(/.*)", re.DOTALL)
#: A variable or the key of an autofs map, which is replaced by any text.
_VARIABLE = re.compile(r"\$|&")
#: File system types that cannot be right for an NFS share: local ones, CIFS, misspelled ones, options.
_WRONG_TYPE = re.compile(
    r"ext[234]|xfs|jfs|reiserfs|btrfs|bcachefs|zfs|f2fs|ufs|hfs(plus)?|minix|vfat|fat(16|32)?|msdos|exfat|"
    r"ntfs(-?3g|3)?|iso9660|udf|tmpfs|ramfs|squashfs|overlay|fuse|swap|bind|cifs|smb[123]?|smbfs|sshfs|"
    r"n[fs]{2}[\w.,-]+|nsf[34]?|nf|ns|mfs|none|network|netfs|remote|share|(?i:NFS[\w.:,-]*)|/.*|defaults\b.*|"
    r"r[ow]\b.*"
)
_KERNEL_DIRECTORIES = ("/proc", "/sys", "/dev")
#: System directories that must not be hidden by a mount over the network (hier(7)).
_SYSTEM_PLACES = frozenset(
    {"/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/lib/modules", "/run", "/run/user", "/run/systemd",
     "/boot", "/boot/efi", "/root", "/tmp",  # noqa: S108
     "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/var/run", "/var/lock",
     "/var/tmp", "/var/lib/systemd", "/var/lib/dpkg", "/var/lib/rpm"}  # noqa: S108
)  # fmt: skip
#: Boolean settings of mount units, and the words for true and false (systemd.syntax(7)).
_SWITCHES = frozenset(
    {"LazyUnmount", "ForceUnmount", "SloppyOptions", "ReadWriteOnly", "DefaultDependencies"}
)
_ON = frozenset({"1", "yes", "y", "true", "t", "on"})
_OFF = frozenset({"0", "no", "n", "false", "f", "off"})
#: SELinux options, which are the same for all mounts of one file system (mount(8), context=).
_CONTEXTS = ("context", "fscontext", "defcontext", "rootcontext")
#: Options that a mount shares with earlier mounts of the same exported file system (fs/nfs/super.c:
#: nfs_compare_super).
_SUPERBLOCK_OPTIONS = ("timeo", "retrans", "fsc", "bsize")
#: Options that a mount shares with earlier mounts of the same server and version (fs/nfs/client.c:
#: nfs_match_client).
_CLIENT_OPTIONS = ("nconnect", "max_connect", "resvport")
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


def _share_spelling(share: str) -> tuple[str, str]:
    """Return the id of the rule that a misspelled share breaks, and a corrected spelling; each may be ""."""
    rule_id, better = "", ""
    if match := _URL.fullmatch(share):
        rule_id, better = "share-url", f"{match[1]}:{match[2]}"
    elif match := _CIFS.fullmatch(share):
        path = match[2].replace("\\", "/")
        rule_id, better = "share-cifs", f"{match[1]}:/{path}"
    elif (match := _BARE_IPV6.fullmatch(share)) and _parse_address(match[1]) is not None:
        rule_id, better = "share-ipv6", f"[{match[1]}]:{match[2]}"
    elif match := _PORT.fullmatch(share):
        rule_id, better = "share-port", f"{match[1]}:{match[2]}"
    elif match := _RELATIVE_EXPORT.fullmatch(share):
        rule_id, better = "share-relative", f"{match[1]}:/{match[2]}"
    elif match := _NO_COLON.fullmatch(share):
        rule_id, better = "share-no-server", f"{match[1]}:{match[2]}"
    elif ":" not in share[1:]:
        rule_id = "share-no-server"
    return rule_id, better


def _parse_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _share_spelling_check(rule_id: str) -> Callable[[LintInput, LintRule], Iterator[LintMatch]]:
    """Return the check that matches shares which break the rule ``rule_id``."""

    def find(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
        share = situation.context.share
        if not share or _VARIABLE.search(share) or situation.context.fstype not in _NFS_TYPES:
            return
        if (share, situation.context.mount_point) == _DISKLESS_ROOT:
            return
        broken_rule, better = _share_spelling(share)
        if broken_rule == rule_id:
            yield LintMatch((), {"share": share}, fields={"share": better} if better else {})

    return find


def _share_link_local(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a link-local IPv6 address without its interface (zone)."""
    match = re.fullmatch(r"\[([^\]%]+)\]:(.*)", situation.context.share, re.DOTALL)
    address = _parse_address(match[1]) if match else None
    if (
        match
        and isinstance(address, ipaddress.IPv6Address)
        and (address.is_link_local or address.is_site_local)
    ):
        yield LintMatch((), {"share": situation.context.share, "address": match[1], "path": match[2]})


def _swapped(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a share in the place of the mount point, and a path in the place of the share."""
    share, point = situation.context.share, situation.context.mount_point
    if share.startswith("/") and ":" not in share and looks_like_share(point):
        yield LintMatch((), {"share": share, "point": point}, fields={"share": point, "mount point": share})


def _share_unreadable(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    share = situation.context.share
    if not share or _VARIABLE.search(share) or situation.context.fstype not in _NFS_TYPES:
        return
    if (share, situation.context.mount_point) == _DISKLESS_ROOT:
        return
    try:
        Share.parse(share)
    except ShareError as error:
        yield LintMatch((), {"share": share, "problem": str(error)})


def _azure_path(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a path on Azure that does not begin with the storage account and go on below it."""
    share, account = situation.context.share, situation.host.partition(".")[0]
    parts = [part for part in share.partition(":")[2].split("/") if part]
    if account and (parts[:1] != [account] or len(parts) < 2):
        better = {"share": f"{situation.host}:/{account}/{parts[0]}"} if len(parts) == 1 else {}
        yield LintMatch(
            (), {"share": share, "account": account}, fields={} if parts[:1] == [account] else better
        )


def _efs_short_name(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match the id of an EFS file system in the place of a server's name."""
    if _EFS_ID.fullmatch(situation.host) and situation.context.fstype in _NFS_TYPES:
        yield LintMatch((), {"share": situation.context.share, "id": situation.host})


#: Escapes of other programs for a blank, or for any character: shell, C, udev, URL; and octal numbers that
#: are too short for fstab.
_BLANK_ESCAPE = re.compile(r"%20|&nbsp;|\\x20|\\040|\\40(?![0-7])|\\s|\\(?= )")
_OTHER_ESCAPE = re.compile(r"\\x[0-9A-Fa-f]{2}|\\[tn](?![A-Za-z])|\\[0-7]{1,2}(?![0-9A-Za-z])|\\0[0-7]{2}")


def _share_escape(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match quotation marks and escapes that fstab or a unit takes literally."""
    context = situation.context
    for field, text in (("share", context.share), ("mount point", context.mount_point)):
        escape = _BLANK_ESCAPE.search(text) or _OTHER_ESCAPE.search(text)
        if escape and ("%" in escape[0] or context.place in {"fstab", "unit"}):
            better = re.sub(" +", " ", _BLANK_ESCAPE.sub(" ", text))
            what = escape[0] if escape[0] != "\\" else "backslash"
            yield LintMatch(
                (), {"text": text, "what": what}, fields={field: better} if better != text else {}
            )
        elif '"' in text or (text.startswith("'") and text.endswith("'")):
            better = text.replace('"', "").strip("'")
            yield LintMatch((), {"text": text, "what": "quotation mark"}, fields={field: better})


#: Options after a share or a mount point: a word after a colon, as in Docker, or a list after a comma.
_TRAILING_OPTIONS = re.compile(
    r"(.*/[^:,]*)(?::(?:r[ow](?:,\w+)*)?|,((?:[\w.-]+(?:=[^,/]*)?,?)+))\Z", re.DOTALL
)


def _options_in_field(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match mount options at the end of the share or of the mount point."""
    context = situation.context
    for field, text in (("share", context.share), ("mount point", context.mount_point)):
        match = _TRAILING_OPTIONS.fullmatch(text)
        if match is None or (field == "share" and ":/" not in match[1]):
            continue
        items = [item for item in (match[2] or "").split(",") if item]
        if match[2] and not all(check_item(item, catalogue()) is None for item in items):
            continue
        rest = text[len(match[1]) :]
        yield LintMatch((), {"text": text, "rest": rest}, fields={field: match[1]})


def _share_several(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match several shares with a comma or semicolon between them."""
    share = situation.context.share
    if re.search(r":/[^,;]*[,;]\s*[\w.-]+:/", share):
        yield LintMatch((), {"share": share})


def _share_address(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an address that no server has: unspecified, multicast, broadcast or reserved."""
    address = _parse_address(situation.host)
    if address is None:
        return
    broadcast = isinstance(address, ipaddress.IPv4Address) and address.is_reserved
    if address.is_unspecified or address.is_multicast or broadcast:
        yield LintMatch((), {"share": situation.context.share, "address": str(address)})


#: Variables, wildcards, placeholders of manuals, and the key of an autofs map.
_UNEXPANDED = re.compile(r"\$\{?[A-Za-z_]\w*\}?|\*|<[^<>]*>|\{\{.*?\}\}|(?<=/)&(?=/|\Z)")


def _not_expanded(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match variables and wildcards in a share or a mount point."""
    for text in (situation.context.share, situation.context.mount_point):
        match = _UNEXPANDED.search(text)
        if match is not None:
            yield LintMatch((), {"text": text, "found": match[0]})


def _point_relative(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    point = situation.context.mount_point
    if point and not point.startswith("/"):
        odd = point in {"none", "swap", "-"} or point.startswith(("~", "$", ".", '"'))
        yield LintMatch((), {"point": point}, fields={} if odd else {"mount point": f"/{point}"})


def _point_dots(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    point = situation.context.point_written
    if point.startswith("/") and ".." in point.split("/"):
        yield LintMatch((), {"point": point}, fields={"mount point": posixpath.normpath(point)})


def _point_missing(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    settings = situation.context.settings
    given = {(section, key) for section, key, value in settings if value}
    for section, keys in (("Mount", ("What", "Where")), ("Automount", ("Where",))):
        if any(section == one for one, _, _ in settings):
            for key in keys:
                if (section, key) not in given:
                    yield LintMatch((), {"key": key})


def _point_of_kernel(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    point = situation.context.mount_point
    if point in _KERNEL_DIRECTORIES or point.startswith(tuple(f"{place}/" for place in _KERNEL_DIRECTORIES)):
        yield LintMatch((), {"point": point})


def _point_of_system(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    point = situation.context.mount_point
    if point in _SYSTEM_PLACES:
        yield LintMatch((), {"point": point})


def is_wrong_type(fstype: str) -> bool:
    """Whether a file system type is certainly wrong for an NFS share."""
    if fstype in _NFS_TYPES:
        return False
    return _WRONG_TYPE.fullmatch(fstype) is not None or _is_options(fstype)


def _is_options(fstype: str) -> bool:
    """Whether the type field contains mount options, as in a line without a type."""
    items = fstype.split(",")
    return "=" in fstype or all(catalogue().read_item(item)[0] is not None for item in items)


def looks_like_share(source: str) -> bool:
    """Whether a device has the form of an NFS share: a host, a colon, and an absolute path."""
    return re.fullmatch(r"(?:[A-Za-z0-9][\w.-]*|\[[0-9A-Fa-f:.]+(?:%[\w.-]+)?\]):/[^:]*", source) is not None


def _entry_type(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    if is_wrong_type(context.fstype) and looks_like_share(context.share):
        yield LintMatch((), {"fstype": context.fstype, "share": context.share}, fields={"type": "nfs"})


def _type_auto(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    if context.fstype == "auto" and looks_like_share(context.share):
        yield LintMatch((), {"fstype": "auto"}, fields={"type": "nfs"})


def _passno(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    if situation.context.passno:
        yield LintMatch((), {"number": str(situation.context.passno)}, fields={"pass": "0"})


def _freq(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    if situation.context.freq:
        yield LintMatch((), {"number": str(situation.context.freq)}, fields={"dump": "0"})


_DUPLICATE_EFFECTS = {
    "fstab": "systemd takes one of them only, and mount -a mounts the later one over the first.",
    "autofs": "autofs takes the first one that it finds.",
}


def _point_twice(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    for other in context.before:
        if other.mount_point == context.mount_point and context.place in _DUPLICATE_EFFECTS:
            point, line = context.mount_point, str(other.line)
            yield LintMatch((), {"point": point, "line": line, "twice": _DUPLICATE_EFFECTS[context.place]})
            return


def _mounted_below(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an earlier entry whose mount point lies below this one's."""
    context = situation.context
    if context.mount_point == "/" or "auto" in situation.values:
        return
    for other in context.before:
        below = other.mount_point.startswith(f"{context.mount_point}/")
        words = MountOptions.parse(other.options)
        if below and "auto" not in words and "x-systemd.automount" not in words:
            point, line = context.mount_point, str(other.line)
            yield LintMatch((), {"below": other.mount_point, "line": line, "point": point})
            return


def _automount_nested(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match two automounts of which one mount point lies below the other."""
    context = situation.context
    if "x-systemd.automount" not in situation.values:
        return
    for other in context.before:
        if "x-systemd.automount" not in MountOptions.parse(other.options):
            continue
        inner, outer = sorted((context.mount_point, other.mount_point), key=len, reverse=True)
        if inner.startswith(f"{outer.rstrip('/')}/"):
            yield LintMatch(
                ("x-systemd.automount",), {"inner": inner, "outer": outer, "line": str(other.line)}
            )
            return


def _shared_options(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an earlier entry of the same share with different values of superblock options."""
    if situation.values.get("sharecache") == "no":
        return
    for other in situation.context.before:
        if other.fstype not in _NFS_TYPES or other.share != situation.context.share:
            continue
        values = implied_values(MountOptions.parse(other.options))
        same = values.get("vers") == situation.implied.get("vers") and values.get(
            "ro"
        ) == situation.implied.get("ro")
        if same and other.mount_point != situation.context.mount_point:
            yield from _different_values(situation, other, values, _SUPERBLOCK_OPTIONS)


def _shared_connections(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an earlier entry of the same server and version with different connection options."""
    for other in situation.context.before:
        if other.fstype not in _NFS_TYPES or not situation.host:
            continue
        values = implied_values(MountOptions.parse(other.options))
        try:
            host = Share.parse(other.share).host
        except ShareError:
            continue
        if host == situation.host and values.get("vers") == situation.implied.get("vers"):
            yield from _different_values(situation, other, values, _CLIENT_OPTIONS)
            return


def _shared_context(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an earlier entry of the same share with a different SELinux context."""
    if situation.values.get("sharecache") == NO:
        return
    for other in situation.context.before:
        if other.fstype not in _NFS_TYPES or other.share != situation.context.share:
            continue
        values = MountOptions.parse(other.options).values()
        for name in _CONTEXTS:
            if values.get(name) != situation.values.get(name):
                yield LintMatch(
                    (name,) if name in situation.values else (), {"name": name, "line": str(other.line)}
                )


def _different_values(
    situation: LintInput, other: NeighborEntry, values: dict[str, str], names: tuple[str, ...]
) -> Iterator[LintMatch]:
    for name in names:
        default = catalogue()[name].default
        if values.get(name, default) != situation.implied.get(name, default):
            item = next((i for i in MountOptions.parse(other.options) if _option_name(i) == name), "")
            yield LintMatch(
                (name,), {"line": str(other.line), "others": f"“{item}”" if item else f"no {name}"}
            )


def _option_name(item: str) -> str:
    return catalogue().read_item(item)[1] if item else ""


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
    name = "x-systemd.mount-timeout"
    value = situation.values.get(name, "")
    found: list[tuple[tuple[str, ...], str, str]] = [((name,), f"{name}={value}", value)]
    found += [
        ((), f"{key}={value}", value)
        for section, key, value in situation.context.settings
        if (section, key) == ("Mount", "TimeoutSec")
    ]
    for options, item, value in found:
        seconds = parse_time_span(value) if value else None
        if seconds is not None and 1 <= seconds <= rule.max:
            yield LintMatch(
                options, {"item": item, "seconds": f"{seconds:g}"}, Fix(options) if options else None
            )


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
    if context.place == "unit" and sections and not wanted and not both:
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


def _map_wildcard(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    if context.mount_point == "*" and context.share and not _VARIABLE.search(context.share):
        yield LintMatch((), {"share": context.share})


def _map_options(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match mount options in the place of a share in an autofs map, as after a missing dash."""
    share = situation.context.share
    if share and not set(share) & {":", "/", "$"}:
        yield LintMatch((), {"share": share})


ENTRY_CHECKS: dict[str, Callable[[LintInput, LintRule], Iterator[LintMatch]]] = {
    **{name: _share_spelling_check(name)
       for name in ("share-cifs", "share-url", "share-port", "share-ipv6", "share-no-server",
                    "share-relative")},
    "share-link-local": _share_link_local,
    "share-unreadable": _share_unreadable,
    "swapped": _swapped,
    "share-escape": _share_escape,
    "options-in-field": _options_in_field,
    "share-address": _share_address,
    "share-several": _share_several,
    "unit-alias": _unit_alias,
    "not-expanded": _not_expanded,
    "depends-on-itself": _depends_on_itself,
    "unit-misspelled": _unit_misspelled,
    "unit-list": _unit_list,
    "unit-comment": _unit_comment,
    "unit-path": _unit_path,
    "unit-read-only": _unit_read_only,
    "azure-path": _azure_path,
    "efs-short-name": _efs_short_name,
    "point-relative": _point_relative,
    "point-dots": _point_dots,
    "point-missing": _point_missing,
    "point-of-kernel": _point_of_kernel,
    "point-of-system": _point_of_system,
    "shared-context": _shared_context,
    "unit-switch": _unit_switch,
    "unit-suffix": _unit_suffix,
    "entry-type": _entry_type,
    "type-auto": _type_auto,
    "passno": _passno,
    "freq": _freq,
    "point-twice": _point_twice,
    "point-order": _mounted_below,
    "automount-nested": _automount_nested,
    "shared-options": _shared_options,
    "shared-connections": _shared_connections,
    "systemd-word": _systemd_options,
    "systemd-time": _systemd_time_spans,
    "systemd-suffix": _systemd_suffix,
    "ordering-cycle": _ordering_cycle,
    "waits-for-ever": _endless_mount_timeout,
    "short-limit": _short_limit,
    "open-directory": _open_directory,
    "unit-name": _unit_name,
    "unit-specifier": _unit_specifier,
    "unit-setting": _unit_setting,
    "unit-setting-twice": _unit_setting_twice,
    "unit-not-ordered": _unit_not_ordered,
    "unit-section": _unit_section,
    "unit-not-enabled": _unit_not_enabled,
    "unit-type": _unit_type,
    "map-wildcard": _map_wildcard,
    "map-options": _map_options,
}  # fmt: skip
