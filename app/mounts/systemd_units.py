"""systemd mount units of NFS, read as systemd reads them (systemd.unit(5), systemd.mount(5)).

Only the directories for administrators and packages are read, without the units that systemd-fstab-generator
derives from fstab. Nothing outside them is opened, because a link may lead to a share whose server is dead.
Specifiers such as ``%u`` are not replaced.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from advisor.dialects import DialectError
from advisor.dialects import systemd as dialect
from advisor.systemd_syntax import unit_name
from app.errors import printable
from app.helper.unit_text import MARKER
from app.mounts.model import Configured

#: Directories of units; a unit in an earlier one overrides the same name in a later one.
FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
_NFS_TYPES = frozenset({"nfs", "nfs4"})
#: Largest unit file, bytes.
_MAX_BYTES = 1 << 20
#: Largest number of files read from one directory.
_MAX_FILES = 20_000
_SPECIFIER = re.compile(r"(?<!%)(?:%%)*(%[A-Za-z])")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: Settings whose values the program shows, and in which it reports specifiers.
_SHOWN = frozenset({"What", "Where", "Options"})

#: Names of units and of drop-in directories, by directory.
Folders = dict[str, frozenset[str]]


@dataclass(slots=True)
class MountUnits:
    """The NFS mounts of all mount units.

    Attributes:
        mounts: mount point and entry of each mount.
        warnings: one sentence for each unit that could not be read.
    """

    mounts: list[tuple[str, Configured]] = field(default_factory=list[tuple[str, Configured]])
    warnings: list[str] = field(default_factory=list[str])


def read(root: str = "/") -> MountUnits:
    """Return the NFS mounts of all mount units; masked units and other types are left out."""
    found = MountUnits()
    folders: Folders = {folder: _names(Path(root, folder)) for folder in FOLDERS}
    known = sorted({name for names in folders.values() for name in names if name.endswith(".mount")})
    for name in known:
        try:
            mount = _read_unit(root, folders, name, found.warnings)
        except (DialectError, OSError, ValueError) as error:
            reason = error.strerror or "" if isinstance(error, OSError) else str(error)
            found.warnings.append(f"The unit {name} cannot be read: {reason.rstrip('.')}.")
        else:
            found.mounts += [mount] if mount is not None else []
    return found


def _names(folder: Path) -> frozenset[str]:
    """Return the names of units and of drop-in directories; empty for a missing directory."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MAX_FILES), strict=False)]
    except OSError:
        return frozenset()
    kinds = (".mount", ".automount")
    return frozenset(name for name in names if f".{name.removesuffix('.d')}".endswith(kinds))


def _read_unit(root: str, folders: Folders, name: str, warnings: list[str]) -> tuple[str, Configured] | None:
    """Return mount point and entry of a unit, None for a masked unit or another file system type."""
    place = next(folder for folder in FOLDERS if name in folders[folder])
    text = _text(root, Path(root, place, name))
    if not text.strip():
        return None  # an empty file or a link to /dev/null masks the unit
    settings = dialect.parse_unit(text) + _drop_ins(root, folders, name)
    values = {(section, key): value for section, key, value in settings}
    share, fstype = values.get(("Mount", "What"), ""), values.get(("Mount", "Type"), "")
    if fstype not in _NFS_TYPES and (fstype or ":/" not in share):
        return None
    if values.get(("Unit", "SourcePath")) == "/etc/fstab":
        return None
    automount = _automount(root, folders, name)
    parsed = dialect.read_settings(settings + automount)
    point = parsed.entry.mount_point
    shown = [value for _, key, value in settings if key in _SHOWN]
    specifiers = sorted({specifier for value in shown for specifier in _SPECIFIER.findall(value)})
    if specifiers:
        words = ", ".join(specifiers)
        warnings.append(f"The unit {name} has {words} in it, which systemd replaces; it is shown as written.")
    if _SPECIFIER.search(values["Mount", "Where"]):
        point = _point(name)
    if unit_name(point) != name:
        raise DialectError(f"it mounts at {point}, and systemd wants the name of that in its own.")
    configured = Configured(
        origin=f"/{place}/{name}",
        line=0,
        share=str(parsed.entry.share),
        fstype=fstype or "nfs",
        options=str(parsed.entry.options),
        keeper="unit",
        automount=bool(automount),
        ours=text.partition("\n")[0] == MARKER,
        lost=tuple(printable(sentence) for sentence in parsed.untranslated),
    )
    return point, configured


def _point(name: str) -> str:
    """Return the mount point in the name of a unit (systemd.unit(5), string escaping)."""
    path = name.removesuffix(".mount").replace("-", "/").encode()
    return "/" + _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), path).decode(
        errors="backslashreplace"
    )


def _automount(root: str, folders: Folders, name: str) -> dialect.UnitSettings:
    """Return the settings of the automount unit of a mount unit, an empty list for none."""
    name = name.removesuffix("mount") + "automount"
    folder = next((folder for folder in FOLDERS if name in folders[folder]), None)
    if folder is None:
        return []
    text = _text(root, Path(root, folder, name))
    return dialect.parse_unit(text) + _drop_ins(root, folders, name) if text.strip() else []


def _drop_ins(root: str, folders: Folders, name: str) -> dialect.UnitSettings:
    """Return the settings of the drop-ins of a unit, in the order of their file names.

    Of files with the same name one counts (systemd: src/shared/dropin.c): first the unit's own drop-ins and
    those of its name prefixes up to a dash, by directory; then those of all units of the type.
    """
    stem, _, kind = name.rpartition(".")
    parts = stem.split("-")
    own = [name, *("-".join(parts[:count]) + f"-.{kind}" for count in range(len(parts) - 1, 0, -1))]
    places = [(folder, one) for names in (own, [kind]) for folder in FOLDERS for one in names]
    files: dict[str, Path] = {}
    for folder, one in places:
        place = Path(root, folder, f"{one}.d")
        if f"{one}.d" in folders[folder] and not place.is_symlink():
            for path, _ in zip(place.iterdir(), range(_MAX_FILES), strict=False):
                if path.name.endswith(".conf"):
                    files.setdefault(path.name, path)
    return [setting for key in sorted(files) for setting in dialect.parse_unit(_text(root, files[key]))]


def _text(root: str, path: Path) -> str:
    """Return the text of a unit, "" for a masked one.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is too long, or a link to a file outside the directories of units.
    """
    if path.is_symlink():
        target = os.path.normpath(path.parent / path.readlink())
        if target == os.devnull:
            return ""
        inside = [
            folder for folder in FOLDERS if Path(target).parent in {Path("/", folder), Path(root, folder)}
        ]
        if not inside:
            raise ValueError(f"it is a link to {target}, which is not looked at")
        path = Path(root, inside[0], Path(target).name)
    fd = os.open(path, _OPEN)
    try:
        # For a directory, fdopen raises and leaves the descriptor open.
        with os.fdopen(fd, "rb", closefd=False) as file:
            raw = file.read(_MAX_BYTES + 1)
    finally:
        os.close(fd)
    if len(raw) > _MAX_BYTES:
        raise ValueError("it is too long for a unit")
    return raw.decode(errors="surrogateescape")
