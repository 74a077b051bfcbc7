"""Readers for "lint": NFS entries of fstab, systemd units, autofs maps, mount commands and nfsmount.conf."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from advisor import nfsmount_conf
from advisor.dialects import DialectError, MountSpec, autofs, systemd
from advisor.dialects.linux import LINUX_PROGRAMS, ShellCommand, parse_command, read_mount_flags
from advisor.lint import LintContext, NeighborEntry
from advisor.lint_entry_checks import is_wrong_type, looks_like_share
from advisor.options import MountOptions, catalogue
from advisor.share import is_share
from app.errors import printable
from app.helper.mountinfo import NFS_TYPES
from app.kernel import fstab
from app.mounts.table import plain_path

_UNIT = re.compile(rb"^\s*\[(Mount|Automount)\]\s*$", re.MULTILINE | re.IGNORECASE)
_UNIT_FILE = re.compile(r".+\.(mount|automount)")
_DROP_IN = re.compile(r"\.(mount|automount)\.d/[^/]+\Z")
_NFSMOUNT_CONF = re.compile(r"^\s*\[\s*(?:NFSMount_\w+|Server|MountPoint)\b", re.MULTILINE | re.IGNORECASE)
#: Map entry with its options after the share, where autofs does not read them.
_OPTIONS_AFTER_SHARE = re.compile(r"^[^#]*\s\S+:/\S*\s+-[a-z][\w=,.-]*\s*$")
_OCTAL_ESCAPE = re.compile(r"\\0[0-7]{2}")
#: Field with a file system type, which only a line of fstab has.
_TYPE_FIELD = re.compile(r"^[^#\n]*\s(?:nfs|nfs4)(?:\s|$)", re.MULTILINE)
_COMMAND_LINE = re.compile(
    r"^\s*(?:[#$]\s+)?(?:(?:sudo|doas)\s+(?:-\S+\s+)*)?(?:/\S*/)?mount(?:\.nfs4?|_nfs)?\s+\S", re.MULTILINE
)
_COMMAND = re.compile(r"\s*(?:[#$]\s+)?(?:(?:sudo|doas)\s+(?:-\S+\s+)*)?(?:\S*/)?mount(?:\.nfs4?)?\s+\S")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """NFS entry of a file.

    Attributes:
        line: line number, from 1; 0 for a systemd unit.
        options: option string as written, without the options that autofs itself uses.
        context: kind of file, share and mount point; in an indirect map the mount point is the key.
    """

    line: int
    options: str
    context: LintContext


def read_entries(name: str, raw: bytes) -> tuple[list[FileEntry], list[str]]:
    """Return the NFS entries of a file, and a warning for each line that cannot be read or used.

    A unit and nfsmount.conf are recognized by name or section, and a script by its mount commands. An autofs
    map is recognized by its name, or by shares without an NFS entry of fstab.

    Args:
        name: name of the file.
        raw: content of the file.
    """
    base = posixpath.basename(name)
    if _UNIT.search(raw) or (_UNIT_FILE.fullmatch(base) and b"[" in raw):
        return _unit_entries(name, printable(raw.decode(errors="surrogateescape")))
    text = printable(raw.decode(errors="surrogateescape"))
    if "nfsmount.conf" in name or _NFSMOUNT_CONF.search(text):
        return _nfsmount_conf_entries(name, text)
    if _COMMAND_LINE.search(text):
        return _command_entries(name, text)
    table = fstab.parse(raw)
    entries = _fstab_entries(table)
    if _MASTER_MAP.search(name) and (warnings := _shares_in_master_map(name, text)):
        return [], warnings
    in_master_directory = _MASTER_DIRECTORY.search(name) is not None
    named_as_map = base.startswith("auto") or base.endswith(".autofs") or in_master_directory
    if not entries and (named_as_map or not (base.startswith("fstab") or _TYPE_FIELD.search(text))):
        found, warnings = _master_map_entries(name, text) if named_as_map else ([], [])
        if not found:
            found, warnings = _map_entries(name, text, sure=named_as_map)
        if found or (named_as_map and warnings):
            return found, warnings
    return entries, [
        *table.warnings(name),
        *_trailing_fields(table, name),
        *_helper_types(table, name),
        *_disordered_fields(table, name),
        *_entries_beside_shares(table, name),
    ]


def _entries_beside_shares(table: fstab.Fstab, name: str) -> list[str]:
    """Return a warning for each other entry that binds a part of a share, or hides a share.

    systemd takes a bind mount for a local one, which comes before the network, and has it require the share
    (systemd, issue 1258; core/mount.c: mount_add_mount_dependencies, mount_is_network). With nofail the boot
    does not wait for it.
    """
    found: list[str] = []
    shares: dict[str, int] = {}
    for line in table.lines:
        entry = line.entry
        if entry is None:
            continue
        target = plain_path(printable(entry.target))
        options = MountOptions.parse(printable(entry.options))
        if entry.is_nfs:
            shares.setdefault(target, line.number)
            continue
        if options.get("noauto") is not None or options.get("x-systemd.automount") is not None:
            continue
        source = plain_path(printable(entry.source))
        for point, number in shares.items():
            bound = options.get("bind") is not None and f"{source}/".startswith(f"{point}/")
            if bound and options.get("_netdev") is None and options.get("nofail") is None:
                found.append(
                    f"Line {line.number} of {name}: {target} comes from {point} of line {number}, a share: "
                    "without the option _netdev systemd takes it for a local one and makes an ordering cycle."
                )
            elif target != "/" and point.startswith(f"{target}/"):
                found.append(
                    f"Line {line.number} of {name}: {target} is mounted after {point} of line {number}, "
                    "which lies below it: mount -a hides that."
                )
    return found


def _disordered_fields(table: fstab.Fstab, name: str) -> list[str]:
    """Return a warning for each line with type or share of an NFS mount in the place of another field."""
    return [
        f"Line {line.number} of {name}: the fields of an entry are share, mount point, type and options, "
        "in this order."
        for line in table.lines
        if line.entry is not None
        and not line.entry.is_nfs
        and (NFS_TYPES & {line.entry.source, line.entry.target} or looks_like_share(line.entry.target))
    ]


#: Options of amazon-efs-utils that identify a client, which needs TLS (mount.efs: check_options_validity).
_EFS_TLS_OPTIONS = ("accesspoint", "iam")
#: Types of file systems whose helpers mount NFS (amazon-efs-utils, AZNFS-mount).
_HELPER_TYPES = frozenset({"efs", "aznfs"})


def _helper_types(table: fstab.Fstab, name: str) -> list[str]:
    """Return a warning for each line with a type of a helper that lacks _netdev, or the option tls of EFS."""
    found: list[str] = []
    for line in table.lines:
        if line.entry is None or line.entry.fstype not in _HELPER_TYPES:
            continue
        options = MountOptions.parse(printable(line.entry.options))
        late = options.get("noauto") is not None or options.get("x-systemd.automount") is not None
        if options.get("_netdev") is None and not late:
            found.append(
                f"Line {line.number} of {name}: systemd takes the type {line.entry.fstype} for a local one: "
                "it needs the option _netdev."
            )
        if line.entry.fstype == "efs" and options.get("tls") is None:
            found += [
                f"Line {line.number} of {name}: mount.efs takes “{word}” with the option tls only."
                for word in _EFS_TLS_OPTIONS
                if options.get(word) is not None
            ]
    return found


def _trailing_fields(table: fstab.Fstab, name: str) -> list[str]:
    """Return a warning for each NFS line with words after its sixth field that are no comment."""
    found: list[str] = []
    for line in table.lines:
        rest = line.raw.split()[6:] if line.entry is not None and line.entry.is_nfs else []
        if rest and not rest[0].startswith(b"#"):
            words = printable(b" ".join(rest).decode(errors="surrogateescape"))
            found.append(f"Line {line.number} of {name}: mount ignores “{words}” after the sixth field.")
    return found


def _fstab_entries(table: fstab.Fstab) -> list[FileEntry]:
    found: list[FileEntry] = []
    before: list[NeighborEntry] = []
    for line in table.lines:
        entry = line.entry
        if entry is None:
            continue
        share, point = printable(entry.source), plain_path(printable(entry.target))
        options = printable(entry.options)
        wrong_type = is_wrong_type(entry.fstype) or entry.fstype == "auto"
        if entry.is_nfs or (wrong_type and looks_like_share(share)):
            found.append(
                FileEntry(
                    line.number,
                    options,
                    LintContext(
                        place="fstab",
                        fstab=True,
                        share=share,
                        mount_point=point,
                        fstype=entry.fstype,
                        point_written=printable(entry.target),
                        freq=entry.freq,
                        passno=entry.passno,
                        before=tuple(before),
                    ),
                )
            )
        if point.startswith("/"):
            before.append(
                NeighborEntry(
                    line=line.number, share=share, mount_point=point, options=options, fstype=entry.fstype
                )
            )
    return found


def _nfsmount_conf_entries(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return an entry for each section; mount.nfs adds its options to those of a mount (nfsmount.conf(5))."""
    found = nfsmount_conf.section_options(nfsmount_conf.parse_conf(text, name))
    entries = [
        FileEntry(
            line,
            options,
            LintContext(place="nfsmount.conf", mount_point=subject if section == "mountpoint" else ""),
        )
        for line, section, subject, options in found
    ]
    warnings = _unread_file(name, "nfsmount.conf.d", ".conf")
    warnings += [
        f"Line {number} of {name}: {problem}" for number, problem in nfsmount_conf.conf_problems(text)
    ]
    return entries, warnings


def _unread_file(name: str, directory: str, suffix: str) -> list[str]:
    """Return a warning if a file of a configuration directory lacks the suffix of the files that are read."""
    if posixpath.basename(posixpath.dirname(name)) != directory or name.endswith(suffix):
        return []
    return [f"{name} is not read: names of files in {directory} end in {suffix}."]


def _unit_entries(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    settings = tuple(systemd.parse_unit(text))

    def values(name: str) -> dict[str, str]:
        return {key: value.replace("%%", "%") for section, key, value in settings if section.lower() == name}

    mount, automount = values("mount"), values("automount")
    fstype, share = mount.get("Type", "nfs"), mount.get("What", "")
    if fstype not in NFS_TYPES and not looks_like_share(share):
        return [], [f"{name} is not judged: the unit mounts the type “{printable(fstype)}”, not nfs."]
    base = posixpath.basename(name)
    mount_point = mount.get("Where", "") or automount.get("Where", "")
    context = LintContext(
        place="unit",
        share=share,
        mount_point=plain_path(mount_point),
        point_written=mount_point,
        fstype=fstype,
        unit_file=base if _UNIT_FILE.fullmatch(base) else "",
        drop_in=_DROP_IN.search(name) is not None,
        settings=settings,
    )
    warnings = [
        f"Line {number} of {name} is ignored by systemd: {printable(problem)}"
        for number, problem in systemd.unit_problems(text)
    ]
    return [FileEntry(0, mount.get("Options", ""), context)], warnings


def _master_map_entries(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return the mount options in a master map, and warnings; two empty lists for another file."""
    lines, broken = autofs.read_master(text)
    points = [line for line in lines if line.point]
    if broken or not points or any(":/" in line.map.name for line in points):
        return [], []
    if not all(
        line.map.kind or line.map.name.startswith(("/", "auto", "-hosts", "-null")) for line in points
    ):
        return [], []
    entries: list[FileEntry] = []
    warnings = _unread_file(name, "auto.master.d", ".autofs")
    for row in points:
        dashless = [word for word in row.options if f"--{word.partition('=')[0]}" in _MASTER_FLAGS]
        options = ",".join(word for word in row.options if word not in dashless)
        context = LintContext(place="autofs", mount_point=row.point, map_flags=row.flags)
        entries.append(FileEntry(row.number, options, context))
        problems = [f"autofs passes “{word}” to mount: its own option is --{word}." for word in dashless]
        problems += _slash_problems(row.point)
        warnings += [f"Line {row.number} of {name}: {printable(problem)}" for problem in problems]
    first: dict[str, int] = {}
    for row in points:
        first_line = first.setdefault(row.point, row.number)
        direct = row.point == "/-"
        same = direct and any(one.map == row.map and one.number < row.number for one in points)
        if first_line != row.number and (same or not direct):
            problem = f"is ignored: line {first_line} has a map for {printable(row.point)} already."
            warnings.append(f"Line {row.number} of {name} {problem}")
    for number, line in enumerate(text.splitlines(), 1):
        warnings += [
            f"Line {number} of {name}: {problem}" for problem in _master_flag_problems(line.partition("#")[0])
        ]
    return entries, warnings


def _master_flag_problems(line: str) -> list[str]:
    """Return problems of the flags of a line of a master map, one sentence each (auto.master(5))."""
    found: list[str] = []
    for flag, value in _MASTER_FLAG.findall(line):
        if flag.startswith("--") and flag not in _MASTER_FLAGS:
            found.append(f"{flag} is not an option of a master map.")
        elif (flag.endswith("timeout") or flag in {"-n", "-t"}) and not value.isdecimal():
            found.append(f"{flag} takes whole seconds.")
        elif flag == "--mode" and _OCTAL_MODE.fullmatch(value) is None:
            found.append("--mode takes octal digits, for example 0755.")
    return found


def _shares_in_master_map(name: str, text: str) -> list[str]:
    """Return a warning for each line of a master map with a share in the place of its map."""
    warnings: list[str] = []
    for line in autofs.read_master(text)[0]:
        kind, path = line.map.kind, line.map.name
        if kind not in _MAP_KINDS or (not kind and ":/" in path):
            share = printable(f"{kind}:{path}" if kind else path)
            warnings.append(
                f"Line {line.number} of {name}: “{share}” is a share, and a map stands here, "
                "such as /etc/auto.home."
            )
    return warnings


#: Usual names of master maps (auto.master(5)).
_MASTER_MAP = re.compile(r"(?:\A|/)auto[._]master\Z|\.autofs\Z")
#: Types of maps (auto.master(5)); "" stands for a name without a type.
_MAP_KINDS = frozenset(
    {"", "file", "program", "yp", "nisplus", "hesiod", "ldap", "ldaps", "sss", "hosts", "null", "multi",
     "dir", "amd", "userhome"}
)  # fmt: skip
#: File of the directory that the master map of most distributions includes (auto.master(5)).
_MASTER_DIRECTORY = re.compile(r"(?:\A|/)auto\.master\.d/[^/]+\Z")
_MASTER_FLAG = re.compile(r"(?<=\s)(--[\w-]+|-[nt](?=[=\s]))[=\s]?(\S*)")
_OCTAL_MODE = re.compile(r"[0-7]{1,4}")
_MASTER_FLAGS = frozenset(
    {
        "--timeout",
        "--negative-timeout",
        "--ghost",
        "--verbose",
        "--debug",
        "--mode",
        "--use-weight-only",
        "--random-multimount-selection",
    }
)


def _map_entries(name: str, text: str, *, sure: bool) -> tuple[list[FileEntry], list[str]]:
    found = autofs.read_map(text)
    entries: list[FileEntry] = []
    before: list[NeighborEntry] = []
    shareless = {} if _MASTER_MAP.search(name) else dict(found.shareless)
    warnings = [
        f"Line {number} of {name} names nothing that autofs can mount."
        for number in found.broken
        if number not in shareless
    ]
    warnings += [
        f"Line {number} of {name}: no share stands after “{path}”. A path of this computer begins with a "
        f"colon: :{path}."
        for number, path in ((number, printable(path)) for number, path in shareless.items())
    ]
    for number, line in enumerate(text.splitlines(), 1):
        if _OPTIONS_AFTER_SHARE.search(line):
            warnings.append(f"Line {number} of {name}: the options stand behind the share, not before it.")
        octal = _OCTAL_ESCAPE.search(line.partition("#")[0])
        if octal:
            warnings.append(
                f"Line {number} of {name}: autofs has no escapes with digits, as in “{octal[0]}”: "
                "a backslash stands right before the blank."
            )
    direct = _DIRECT.search(posixpath.basename(name)) is not None
    for entry in found.entries:
        fstype = autofs.entry_fstype(entry, None)
        # Locations without a colon come first, so that the lint checks a malformed share before the others.
        shares = [*(item for item in entry.locations if ":" not in item), *autofs.entry_shares(entry)]
        if entry.fstype in NFS_TYPES and not shares:
            place = printable(entry.locations[0])
            warnings.append(f"Line {entry.number} of {name}: “{place}” has no server before the colon.")
        wrong_type = is_wrong_type(fstype) and bool(shares) and looks_like_share(shares[0])
        if not wrong_type and (fstype not in NFS_TYPES or not _is_meant_as_map(entry, shares, sure=sure)):
            continue
        point, options = entry.key + entry.offset, ",".join(entry.options)
        context = LintContext(place="autofs", share=shares[0], mount_point=point, fstype=fstype,
                              before=tuple(before))  # fmt: skip
        entries.append(FileEntry(entry.number, options, context))
        before.append(
            NeighborEntry(
                line=entry.number, share=shares[0], mount_point=point, options=options, fstype=fstype
            )
        )
        words = _VARIABLE.findall(" ".join(shares))
        unset = [f"autofs sets no variable ${word}." for word in words if word not in _MAP_VARIABLES]
        problems = [*unset, *_map_problems(shares[0], options), *_entry_problems(entry, shares)]
        if direct and not entry.key.startswith("/"):
            problems.append(
                f"the key “{entry.key}” of a direct map is no path from /: it names no directory."
            )
        warnings += [f"Line {entry.number} of {name}: {problem}" for problem in problems]
    return entries, warnings


#: Usual name of a direct map in manuals and distributions (auto.direct, auto_direct).
_DIRECT = re.compile(r"(?<!in)direct", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)")
#: Variables of autofs(5), Variable Substitution; the second line describes the user who accesses the mount.
_MAP_VARIABLES = frozenset(
    {"ARCH", "CPU", "HOST", "OSNAME", "OSREL", "OSVERS", "AUTOFS_SHOST"}
    | {"USER", "UID", "GROUP", "GID", "HOME", "SHOST"}
)


def _is_meant_as_map(entry: autofs.MapEntry, shares: list[str], *, sure: bool) -> bool:
    """Return whether a line is an NFS entry of an autofs map.

    In a file named like a map (``sure``), every entry counts except a local device without a type. In other
    files an entry must have a share, options or a type.
    """
    if not shares or (shares[0].startswith(":") and not entry.fstype):
        return False
    has_share = any(":/" in location[1:] for location in entry.locations)
    return sure or has_share or bool(entry.options or entry.fstype)


def _map_problems(share: str, options: str) -> list[str]:
    words = MountOptions.parse(options)
    words.remove("bg")  # reported as a finding
    try:
        entry = MountSpec.make(share, "/mnt", words).with_mount_time("on-demand")
        return autofs.write(entry).problems
    except DialectError:  # for example a variable, which a share of a map may contain
        return []


def _entry_problems(entry: autofs.MapEntry, shares: list[str]) -> list[str]:
    """Return problems of a map entry's key, path and replicated servers (autofs(5), auto.master(5))."""
    found: list[str] = []
    if "*" in entry.key and entry.key != autofs.WILDCARD:
        found.append(f"the key “{entry.key}” is one name: * stands for every name only alone.")
    found += [
        f"“{share}” is not a share."
        for share in shares[1:]
        if ":" in share and not set(share) & {"$", "&"} and not is_share(share)
    ]
    if "/" in entry.key and not entry.key.startswith("/"):
        found.append(f"the key “{entry.key}” is neither one name nor a path from /.")
    found += _slash_problems(entry.key, entry.offset)
    if sum(":/" in share for share in shares) > 1 and "ro" not in entry.options:
        found.append(
            f"the servers of “{' '.join(entry.locations)}” hold copies, and what is written reaches one of "
            "them only. Mount copies read-only: -ro."
        )
    return found


def _slash_problems(*paths: str) -> list[str]:
    """Return a problem for each path with slashes that autofs does not collapse (auto.master(5))."""
    return [f"autofs takes the two slashes in “{path}” as they are." for path in paths if "//" in path]


#: Flags of mount(8) for all entries of fstab.
_ALL_ENTRIES = frozenset({"-a", "--all"})


#: Flags of mount.nfs (mount.nfs(8)).
_HELPER_FLAGS = frozenset({"-r", "-v", "-V", "-w", "-f", "-n", "-s", "-h", "-o"})


def _flag_problems(command: ShellCommand, share: str) -> list[str]:
    """Return problems of the flags of a mount command, one sentence each (mount(8), mount.nfs(8))."""
    if not looks_like_share(share):
        return []
    found: list[str] = []
    words, program = command.words, command.program
    if program != "mount" and words[0].startswith("-"):
        found.append(f"{program} takes the share and the mount point first, and flags after.")
    elif program != "mount":
        flags = [word[:2] for word in words if word.startswith("-")]
        found += [f"{program} has no flag {flag}." for flag in flags if flag not in {*_HELPER_FLAGS, "-O"}]
    for word in words:
        if word.startswith(("-O", "--test-opts")):
            found.append("-O chooses among the entries of fstab; the options of a mount stand after -o.")
        elif word in {"-f", "--fake"}:
            found.append(f"with {word} nothing is mounted.")
        elif word in {"-i", "--internal-only"}:
            found.append(f"with {word} mount does not call mount.nfs, which NFS needs.")
    return found


def _has_nfs_options(items: list[str]) -> bool:
    """Return whether an item is an option of the NFS client, which local file systems do not have."""
    options = (catalogue().read_item(item)[0] for item in ",".join(items).split(","))
    return any(
        option is not None and option.scope in {"client", "superblock"} and option.name not in _LOCAL_OPTIONS
        for option in options
    )


#: Options that local file systems have, too (mount(8), ext4(5)).
_LOCAL_OPTIONS = frozenset(
    {"ro", "sync", "dirsync", "lazytime", "iversion", "mand", "silent", "acl", "posix", "bsize", "atime",
     "diratime", "context", "fscontext", "defcontext", "rootcontext"}
)  # fmt: skip


def _command_entries(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return the NFS mounts of mount commands in a script or a shell history, and warnings."""
    entries: list[FileEntry] = []
    warnings: list[str] = []
    lines = text.replace("\\\r\n", "  ").replace("\\\n", "  ").splitlines()
    for number, line in enumerate(lines, 1):
        if not _COMMAND.match(line):
            continue
        try:
            command = parse_command(line)
            if command.program not in LINUX_PROGRAMS or _ALL_ENTRIES.intersection(command.words):
                continue
            items, fstype, _, share, point = read_mount_flags(command)
            warnings += [f"Line {number} of {name}: {problem}" for problem in _flag_problems(command, share)]
        except DialectError as error:
            if "nfs" in line or any(map(looks_like_share, line.split())):
                warnings.append(f"Line {number} of {name} is not judged: {error}")
            continue
        fstype = "nfs4" if command.program == "mount.nfs4" else fstype
        if fstype in NFS_TYPES and (looks_like_share(share) or "nfs" in line or _has_nfs_options(items)):
            context = LintContext(place="command", share=printable(share),
                                  mount_point=printable(plain_path(point)), fstype=fstype)  # fmt: skip
            entries.append(FileEntry(number, ",".join(items), context))
    return entries, warnings
