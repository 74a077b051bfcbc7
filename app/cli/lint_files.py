"""What "lint" judges in a file: an fstab, a systemd unit, an autofs map, mount commands, or nfsmount.conf."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from advisor import nfsmount_conf
from advisor.dialects import DialectError, MountSpec, autofs, systemd
from advisor.dialects.linux import LINUX_PROGRAMS, parse_command, read_mount_flags
from advisor.lint import LintContext, NeighborEntry
from advisor.lint_entry_checks import is_wrong_type, looks_like_share
from advisor.options import MountOptions, catalogue
from app.errors import printable
from app.kernel import fstab
from app.kernel.mountinfo import NFS_TYPES
from app.mounts.table import plain_path

_UNIT = re.compile(rb"^\s*\[(Mount|Automount)\]\s*$", re.MULTILINE | re.IGNORECASE)
_UNIT_FILE = re.compile(r".+\.(mount|automount)")
_NFSMOUNT_CONF = re.compile(r"^\s*\[\s*(?:NFSMount_\w+|Server|MountPoint)\b", re.MULTILINE | re.IGNORECASE)
#: Options of a map entry where autofs does not look for them.
_OPTIONS_BEHIND = re.compile(r"^[^#]*\s\S+:/\S*\s+-[a-z][\w=,.-]*\s*$")
#: A field of its own that only an entry of fstab has.
_TYPE_FIELD = re.compile(r"^[^#\n]*\s(?:nfs|nfs4)(?:\s|$)", re.MULTILINE)
_COMMAND_LINE = re.compile(
    r"^\s*(?:[#$]\s+)?(?:(?:sudo|doas)\s+(?:-\S+\s+)*)?(?:/\S*/)?mount(?:\.nfs4?|_nfs)?\s+\S", re.MULTILINE
)
_COMMAND = re.compile(r"\s*(?:[#$]\s+)?(?:(?:sudo|doas)\s+(?:-\S+\s+)*)?(?:\S*/)?mount(?:\.nfs4?)?\s+\S")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One entry: options, and where they stand.

    Attributes:
        line: from 1, 0 of a unit.
        options: as written, without what autofs itself reads.
        context: where they stand; of an indirect map, the key is the mount point.
    """

    line: int
    options: str
    context: LintContext


def read_entries(name: str, raw: bytes) -> tuple[list[FileEntry], list[str]]:
    """Return the NFS entries of a file, and a sentence for each thing in it that cannot be read or done.

    A unit is known by its name or its section, nfsmount.conf likewise, a script by its commands, and a map
    by having shares where no line is an NFS entry of fstab.

    Args:
        name: of the file.
        raw: what is in it.
    """
    base = posixpath.basename(name)
    if _UNIT.search(raw) or (_UNIT_FILE.fullmatch(base) and b"[" in raw):
        return _of_unit(name, printable(raw.decode(errors="surrogateescape")))
    text = printable(raw.decode(errors="surrogateescape"))
    if base == "nfsmount.conf" or _NFSMOUNT_CONF.search(text):
        return _of_nfsmount_conf(name, text)
    if _COMMAND_LINE.search(text):
        return _of_commands(name, text)
    table = fstab.parse(raw)
    entries = _of_fstab(table)
    named_as_map = base.startswith("auto")
    if not entries and (named_as_map or not _TYPE_FIELD.search(text)):
        found, warnings = _of_master(name, text) if named_as_map else ([], [])
        if not found:
            found, warnings = _of_map(name, text, sure=named_as_map)
        if found or (named_as_map and warnings):
            return found, warnings
    return entries, table.warnings(name)


def _of_fstab(table: fstab.Fstab) -> list[FileEntry]:
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


def _of_nfsmount_conf(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return the options of each section; they are added to those that an entry or a command has."""
    found = nfsmount_conf.section_options(nfsmount_conf.parse_conf(text, name))
    entries = [
        FileEntry(
            line,
            options,
            LintContext(place="nfsmount.conf", mount_point=subject if section == "mountpoint" else ""),
        )
        for line, section, subject, options in found
    ]
    told = [f"Line {number} of {name}: {problem}" for number, problem in nfsmount_conf.conf_problems(text)]
    return entries, told


def _of_unit(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    settings = tuple(systemd.parse_unit(text))

    def values(wanted: str) -> dict[str, str]:
        return {
            key: value.replace("%%", "%") for section, key, value in settings if section.lower() == wanted
        }

    found, automount = values("mount"), values("automount")
    fstype, share = found.get("Type", "nfs"), found.get("What", "")
    if fstype not in NFS_TYPES and not looks_like_share(share):
        return [], [f"{name} is not judged: the unit mounts the type “{printable(fstype)}”, not nfs."]
    base = posixpath.basename(name)
    where = found.get("Where", "") or automount.get("Where", "")
    context = LintContext(
        place="unit",
        share=share,
        mount_point=plain_path(where),
        point_written=where,
        fstype=fstype,
        unit_file=base if _UNIT_FILE.fullmatch(base) else "",
        settings=settings,
    )
    return [FileEntry(0, found.get("Options", ""), context)], []


def _of_master(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return the options for mount of the lines of a master map; [] if it is none."""
    lines, broken = autofs.read_master(text)
    points = [line for line in lines if line.point]
    if broken or not points or any(":/" in line.map.name for line in points):
        return [], []
    if not all(
        line.map.kind or line.map.name.startswith(("/", "auto", "-hosts", "-null")) for line in points
    ):
        return [], []
    entries = [
        FileEntry(line.number, ",".join(line.options), LintContext(place="autofs", mount_point=line.point))
        for line in points
    ]  # fmt: skip
    warnings: list[str] = []
    first: dict[str, int] = {}
    for row in points:
        before = first.setdefault(row.point, row.number)
        if before != row.number and row.point != "/-":
            told = f"is ignored: line {before} has a map for {printable(row.point)} already."
            warnings.append(f"Line {row.number} of {name} {told}")
    for number, line in enumerate(text.splitlines(), 1):
        for flag, value in _MASTER_FLAG.findall(line.partition("#")[0]):
            if flag not in _MASTER_FLAGS:
                warnings.append(f"Line {number} of {name}: {flag} is no option of a master map.")
            elif flag.endswith("timeout") and not value.isdecimal():
                warnings.append(f"Line {number} of {name}: {flag} takes whole seconds.")
    return entries, warnings


_MASTER_FLAG = re.compile(r"(?<=\s)(--[\w-]+)[=\s]?(\S*)")
_MASTER_FLAGS = frozenset({"--timeout", "--negative-timeout", "--ghost", "--verbose", "--debug", "--mode"})


def _of_map(name: str, text: str, *, sure: bool) -> tuple[list[FileEntry], list[str]]:
    found = autofs.read_map(text)
    entries: list[FileEntry] = []
    before: list[NeighborEntry] = []
    warnings = [f"Line {number} of {name} names nothing that autofs can mount." for number in found.broken]
    for number, line in enumerate(text.splitlines(), 1):
        if _OPTIONS_BEHIND.search(line):
            warnings.append(f"Line {number} of {name}: the options stand behind the share, not before it.")
    direct = _DIRECT.search(posixpath.basename(name)) is not None
    for entry in found.entries:
        fstype = autofs.entry_fstype(entry, None)
        # What is no share is left out there where others are.
        shares = [*(place for place in entry.locations if ":" not in place), *autofs.entry_shares(entry)]
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


#: Name of a direct map, as manuals and distributions have it (auto.direct, auto_direct).
_DIRECT = re.compile(r"(?<!in)direct", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)")
#: autofs(5), Variable Substitution; those of the second line are of the user who asks.
_MAP_VARIABLES = frozenset(
    {"ARCH", "CPU", "HOST", "OSNAME", "OSREL", "OSVERS", "AUTOFS_SHOST"}
    | {"USER", "UID", "GROUP", "GID", "HOME", "SHOST"}
)


def _is_meant_as_map(entry: autofs.MapEntry, shares: list[str], *, sure: bool) -> bool:
    """Whether it is NFS for sure: a share, or something else beside one, in a map or behind options."""
    if not shares or (shares[0].startswith(":") and not entry.fstype):
        return False
    beside = any(":/" in place[1:] for place in entry.locations)
    return sure or beside or bool(entry.options or entry.fstype)


def _map_problems(share: str, options: str) -> list[str]:
    words = MountOptions.parse(options)
    words.remove("bg")  # a finding tells of it
    try:
        entry = MountSpec.make(share, "/mnt", words).with_mount_time("on demand")
        return autofs.write(entry).problems
    except DialectError:  # a variable, say, which may stand in a share here
        return []


def _entry_problems(entry: autofs.MapEntry, shares: list[str]) -> list[str]:
    """Return what autofs cannot find, expire or keep alike of an entry (autofs(5), auto.master(5))."""
    found: list[str] = []
    if "/" in entry.key and not entry.key.startswith("/"):
        found.append(f"the key “{entry.key}” is neither one name nor a path from /.")
    found += [
        f"autofs takes the two slashes in “{path}” as they are."
        for path in (entry.key, entry.offset)
        if "//" in path
    ]
    if sum(":/" in share for share in shares) > 1 and "ro" not in entry.options:
        found.append(
            f"the servers of “{' '.join(entry.locations)}” hold copies, and what is written reaches one of "
            "them only. Mount copies read-only: -ro."
        )
    return found


def _is_of_nfs(items: list[str]) -> bool:
    """Whether an option among them is one that other file systems hardly have."""
    found = (catalogue().read_item(item)[0] for item in ",".join(items).split(","))
    return any(option is not None and option.scope == "client" for option in found)


def _of_commands(name: str, text: str) -> tuple[list[FileEntry], list[str]]:
    """Return the mounts of NFS that commands make, in a script or a shell's history."""
    entries: list[FileEntry] = []
    warnings: list[str] = []
    lines = text.replace("\\\r\n", "  ").replace("\\\n", "  ").splitlines()
    for number, line in enumerate(lines, 1):
        if not _COMMAND.match(line):
            continue
        try:
            command = parse_command(line)
            if command.program not in LINUX_PROGRAMS:
                continue
            items, fstype, _, share, point = read_mount_flags(command)
        except DialectError as error:
            if "nfs" in line or any(map(looks_like_share, line.split())):
                warnings.append(f"Line {number} of {name} is not judged: {error}")
            continue
        fstype = "nfs4" if command.program == "mount.nfs4" else fstype
        if fstype in NFS_TYPES and (looks_like_share(share) or "nfs" in line or _is_of_nfs(items)):
            context = LintContext(place="command", share=printable(share),
                                  mount_point=printable(plain_path(point)), fstype=fstype)  # fmt: skip
            entries.append(FileEntry(number, ",".join(items), context))
    return entries, warnings
