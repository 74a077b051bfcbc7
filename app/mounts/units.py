"""NFS mounts that systemd units configure, read as systemd reads them (systemd.unit(5), systemd.mount(5)).

Only the folders for people and packages are looked at: what systemd-fstab-generator makes of fstab stands
elsewhere. Nothing outside these folders is opened, for a link may lead to a share whose server is dead.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from advisor.dialects import DialectError
from advisor.dialects import systemd as dialect
from app.helper.unit_text import MARKER
from app.mounts.model import Configured

#: The earlier one wins.
FOLDERS = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
_NFS_TYPES = frozenset({"nfs", "nfs4"})
#: Of one file; longer ones are no unit.
_MAX_BYTES = 1 << 20
#: Of one folder.
_MAX_FILES = 20_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(slots=True)
class Units:
    """What was found: mount point and configuration, and a sentence for each unit that could not be read."""

    mounts: list[tuple[str, Configured]] = field(default_factory=list[tuple[str, Configured]])
    warnings: list[str] = field(default_factory=list[str])


def read(root: str = "/") -> Units:
    """Return the NFS mounts of all mount units; masked ones and those of other types are left out."""
    found = Units()
    folders = {folder: _names(Path(root, folder)) for folder in FOLDERS}
    known = sorted({name for names in folders.values() for name in names if name.endswith(".mount")})
    for name in known:
        try:
            mount = _read_unit(root, folders, name)
        except (DialectError, OSError, ValueError) as error:
            reason = error.strerror or "" if isinstance(error, OSError) else str(error)
            found.warnings.append(f"The unit {name} cannot be read: {reason.rstrip('.')}.")
        else:
            found.mounts += [mount] if mount is not None else []
    return found


def _names(folder: Path) -> list[str]:
    """Return the names of units and of folders with drop-ins; a missing folder has none."""
    try:
        with os.scandir(folder) as entries:
            names = (entry.name for entry in entries)
            return [
                name
                for name, _ in zip(names, range(_MAX_FILES), strict=False)
                if name.removesuffix(".d").endswith((".mount", ".automount"))
            ]
    except OSError:
        return []


def _read_unit(root: str, folders: dict[str, list[str]], name: str) -> tuple[str, Configured] | None:
    """Return mount point and configuration of a unit, or None if it is masked or mounts no NFS."""
    place = next(folder for folder in FOLDERS if name in folders[folder])
    path = Path(root, place, name)
    text = _text(root, path)
    if not text.strip():
        return None  # an empty file or a link to /dev/null masks
    text += _drop_ins(root, folders, name)
    settings = _mount_settings(text)
    share, fstype = settings.get("What", ""), settings.get("Type", "")
    if fstype not in _NFS_TYPES and (fstype or ":/" not in share):
        return None
    if settings.get("SourcePath") == "/etc/fstab":
        return None
    automount = _automount(root, folders, name)
    reading = dialect.read(f"{text}\n{automount}")
    point = reading.entry.mount_point
    if dialect.unit_name(point) != name:
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
    )
    return point, configured


def _mount_settings(text: str) -> dict[str, str]:
    """Return the settings that say what is mounted; of those that stand there twice the last one counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and key.strip() in {"What", "Type", "SourcePath"}:
            found[key.strip()] = value.strip()
    return found


def _automount(root: str, folders: dict[str, list[str]], name: str) -> str:
    """Return the text of the automount unit beside a mount unit, "" if there is none."""
    name = name.removesuffix("mount") + "automount"
    place = next((folder for folder in FOLDERS if name in folders[folder]), None)
    if place is None:
        return ""
    text = _text(root, Path(root, place, name))
    return text + _drop_ins(root, folders, name) if text.strip() else ""


def _drop_ins(root: str, folders: dict[str, list[str]], name: str) -> str:
    """Return what the drop-ins add, in the order of their names; of one name the earlier folder's counts."""
    files: dict[str, Path] = {}
    for folder in FOLDERS:
        place = Path(root, folder, f"{name}.d")
        if f"{name}.d" in folders[folder] and not place.is_symlink():
            for path in place.iterdir():
                if path.name.endswith(".conf"):
                    files.setdefault(path.name, path)
    return "".join("\n" + _text(root, files[key]) for key in sorted(files))


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
    with os.fdopen(fd, "rb") as file:
        raw = file.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise ValueError("it is too long for a unit")
    return raw.decode(errors="surrogateescape")
