"""systemd mount units of NFS, read as systemd reads them (systemd.unit(5), systemd.mount(5)).

Only the folders for people and packages are looked at: what systemd-fstab-generator makes of fstab stands
elsewhere. Nothing outside these folders is opened, for a link may lead to a share whose server is dead. A
specifier such as ``%u`` is shown as it is written.
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

#: The earlier one wins.
FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
_NFS_TYPES = frozenset({"nfs", "nfs4"})
#: Of one file; longer ones are no unit.
_MAX_BYTES = 1 << 20
#: Of one folder.
_MAX_FILES = 20_000
_SPECIFIER = re.compile(r"(?<!%)(?:%%)*(%[A-Za-z])")
_ESCAPED = re.compile(rb"\\x([0-9a-f]{2})")
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
#: Settings whose values are shown.
_SHOWN = frozenset({"What", "Where", "Options"})

Folders = dict[str, frozenset[str]]


@dataclass(slots=True)
class MountUnits:
    """What was found: mount point and configuration, and a sentence for each unit that could not be read."""

    mounts: list[tuple[str, Configured]] = field(default_factory=list[tuple[str, Configured]])
    warnings: list[str] = field(default_factory=list[str])


def read(root: str = "/") -> MountUnits:
    """Return the NFS mounts of all mount units; masked ones and those of other types are left out."""
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
    """Return the names of units and of folders with drop-ins; a missing folder has none."""
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MAX_FILES), strict=False)]
    except OSError:
        return frozenset()
    kinds = (".mount", ".automount")
    return frozenset(name for name in names if f".{name.removesuffix('.d')}".endswith(kinds))


def _read_unit(root: str, folders: Folders, name: str, warnings: list[str]) -> tuple[str, Configured] | None:
    """Return mount point and configuration of a unit, or None if it is masked or mounts no NFS."""
    place = next(folder for folder in FOLDERS if name in folders[folder])
    text = _text(root, Path(root, place, name))
    if not text.strip():
        return None  # an empty file or a link to /dev/null masks
    settings = dialect.parse_unit(text) + _drop_ins(root, folders, name)
    said = {(section, key): value for section, key, value in settings}
    share, fstype = said.get(("Mount", "What"), ""), said.get(("Mount", "Type"), "")
    if fstype not in _NFS_TYPES and (fstype or ":/" not in share):
        return None
    if said.get(("Unit", "SourcePath")) == "/etc/fstab":
        return None
    automount = _automount(root, folders, name)
    reading = dialect.read_settings(settings + automount)
    point = reading.entry.mount_point
    shown = [value for _, key, value in settings if key in _SHOWN]
    specifiers = sorted({one for value in shown for one in _SPECIFIER.findall(value)})
    if specifiers:
        words = ", ".join(specifiers)
        warnings.append(f"The unit {name} has {words} in it, which systemd replaces; it is shown as written.")
    if _SPECIFIER.search(said["Mount", "Where"]):
        point = _point(name)
    if unit_name(point) != name:
        raise DialectError(f"it mounts at {point}, and systemd wants the name of that in its own.")
    configured = Configured(
        origin=f"/{place}/{name}",
        line=0,
        share=str(reading.entry.share),
        fstype=fstype or "nfs",
        options=str(reading.entry.options),
        keeper="unit",
        automount=bool(automount),
        ours=text.partition("\n")[0] == MARKER,
        lost=tuple(printable(sentence) for sentence in reading.untranslated),
    )
    return point, configured


def _point(name: str) -> str:
    """Return the mount point that belongs to the name of a unit (systemd.unit(5), string escaping)."""
    path = name.removesuffix(".mount").replace("-", "/").encode()
    return "/" + _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), path).decode(
        errors="backslashreplace"
    )


def _automount(root: str, folders: Folders, name: str) -> dialect.UnitSettings:
    """Return what the automount unit beside a mount unit says, nothing if there is none."""
    name = name.removesuffix("mount") + "automount"
    place = next((folder for folder in FOLDERS if name in folders[folder]), None)
    if place is None:
        return []
    text = _text(root, Path(root, place, name))
    return dialect.parse_unit(text) + _drop_ins(root, folders, name) if text.strip() else []


def _drop_ins(root: str, folders: Folders, name: str) -> dialect.UnitSettings:
    """Return what the drop-ins add, in the order of their names.

    Of one name the earlier folder's counts, and there the unit's own before that of a prefix of its name up
    to a dash; those of all mount units come last (systemd: src/shared/dropin.c).
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
    """Return a unit's text, "" for a masked one.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is too long, or a link to a place outside the folders of units.
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
        # Given a folder, this raises and does not close it.
        with os.fdopen(fd, "rb", closefd=False) as file:
            raw = file.read(_MAX_BYTES + 1)
    finally:
        os.close(fd)
    if len(raw) > _MAX_BYTES:
        raise ValueError("it is too long for a unit")
    return raw.decode(errors="surrogateescape")
