"""Lint checks of the entry around the options: share, mount point, type, neighbors, autofs maps.

Sources: fstab(5), mount(8), nfs(5), autofs(5).
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from typing import TYPE_CHECKING

from advisor.lint_rules import LintMatch
from advisor.options import ATTRIBUTE_TIMES, NO, MountOptions, catalogue, check_item, implied_values
from advisor.share import Share, ShareError

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
    r"n[fs]{2}[\w.,-]+|nsf[34]?|nf|ns|mfs|none|network|netfs|remote|share|(?i:NFS[\w.:;,-]*)|/.*|defaults\b.*|"
    r"r[ow]\b.*"
)
_KERNEL_DIRECTORIES = ("/proc", "/sys", "/dev")
#: System directories that must not be hidden by a mount over the network (hier(7)).
_SYSTEM_PLACES = frozenset(
    {"/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/lib/modules", "/run", "/run/user", "/run/systemd",
     "/boot/efi", "/root", "/tmp",  # noqa: S108
     "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64", "/usr/libexec", "/var/run", "/var/lock",
     "/var/tmp", "/var/lib/systemd", "/var/lib/dpkg", "/var/lib/rpm"}  # noqa: S108
)  # fmt: skip
#: SELinux options, which are the same for all mounts of one file system (mount(8), context=).
_CONTEXTS = ("context", "fscontext", "defcontext", "rootcontext")
#: Options that a mount shares with earlier mounts of the same exported file system (fs/nfs/super.c:
#: nfs_compare_super).
_SUPERBLOCK_OPTIONS = ("timeo", "retrans", "fsc", "bsize")
#: Options that a mount shares with earlier mounts of the same server and version (fs/nfs/client.c:
#: nfs_match_client).
#: Sizes and times that are the same for all mounts of one superblock and cache (fs/nfs/super.c:
#: nfs_compare_mount_options; fs/nfs/fscache.c: nfs_fscache_get_super_cookie).
_CACHE_OPTIONS = ("rsize", "wsize", *ATTRIBUTE_TIMES)
#: Options that people set to keep mounts apart; with different values no common cache is expected.
_APART_OPTIONS = ("vers", "ro", "sec", "fsc", "sharecache")
_CLIENT_OPTIONS = ("nconnect", "max_connect", "resvport")


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


def _fsx_path(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match a path on FSx for OpenZFS that is not below its root volume."""
    share = situation.context.share
    if share.partition(":")[2].split("/")[1:2] != ["fsx"]:
        yield LintMatch((), {"share": share})


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
    r"(.*/[^:,]*)(?::(?:r[ow](?:,\w+)*|[0-9]{1,5})?|,((?:[\w.-]+(?:=[^,/]*)?,?)+))\Z", re.DOTALL
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
    settings = () if situation.context.drop_in else situation.context.settings
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
        if _host(other.share) == situation.host and values.get("vers") == situation.implied.get("vers"):
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


def _caches_apart(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match an earlier entry of the same server with fsc whose sizes or attribute times differ."""
    if "fsc" not in situation.values or not situation.host:
        return
    for other in situation.context.before:
        if other.fstype not in _NFS_TYPES or _host(other.share) != situation.host:
            continue
        values = implied_values(MountOptions.parse(other.options))
        if any(values.get(name) != situation.implied.get(name) for name in _APART_OPTIONS):
            continue
        for name in _CACHE_OPTIONS:
            default = catalogue()[name].default
            here, there = situation.implied.get(name, default), values.get(name, default)
            # Without an option, client and server agree on a size, which may be the same.
            if here is not None and there is not None and here != there:
                words = {"line": str(other.line), "here": f"{name}={here}", "there": f"{name}={there}"}
                yield LintMatch(("fsc", name), words)
                return


def _host(share: str) -> str:
    try:
        return Share.parse(share).host
    except ShareError:
        return ""


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


def _map_wildcard(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    context = situation.context
    if context.mount_point == "*" and context.share and not _VARIABLE.search(context.share):
        yield LintMatch((), {"share": context.share})


def _map_ghost(situation: LintInput, _rule: LintRule) -> Iterator[LintMatch]:
    """Match the old name of the option browse in a line of a master map."""
    for flag in situation.context.map_flags:
        if flag in {"-g", "--ghost"}:
            yield LintMatch((), {"flag": flag}, fields={flag: "browse"})


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
    "not-expanded": _not_expanded,
    "azure-path": _azure_path,
    "fsx-path": _fsx_path,
    "efs-short-name": _efs_short_name,
    "point-relative": _point_relative,
    "point-dots": _point_dots,
    "point-missing": _point_missing,
    "point-of-kernel": _point_of_kernel,
    "point-of-system": _point_of_system,
    "shared-context": _shared_context,
    "entry-type": _entry_type,
    "type-auto": _type_auto,
    "passno": _passno,
    "freq": _freq,
    "point-twice": _point_twice,
    "point-order": _mounted_below,
    "automount-nested": _automount_nested,
    "shared-options": _shared_options,
    "shared-connections": _shared_connections,
    "caches-apart": _caches_apart,
    "map-wildcard": _map_wildcard,
    "map-options": _map_options,
    "map-ghost": _map_ghost,
}  # fmt: skip
