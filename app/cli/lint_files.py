"""What "lint" judges in a file: the NFS entries of an fstab, a systemd mount unit or an autofs map."""

from __future__ import annotations

import re
from dataclasses import dataclass

from advisor.dialects import DialectError, Entry, autofs, autofs_maps, systemd
from app.errors import printable
from app.mounts import fstab
from app.mounts.mountinfo import NFS_TYPES
from app.mounts.table import plain_path

_UNIT = re.compile(rb"^\s*\[(Mount|Automount)\]\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One set of options, and where it stands.

    Attributes:
        line: from 1, 0 of a unit.
        share: server:/export.
        point: mount point; of an indirect map the key.
        fstype: nfs or nfs4.
        options: as written, without what systemd or autofs itself reads.
        fstab: whether it is a line of fstab.
    """

    line: int
    share: str
    point: str
    fstype: str
    options: str
    fstab: bool = False


def read_places(name: str, raw: bytes) -> tuple[list[Place], list[str]]:
    """Return the NFS entries of a file, and a sentence for each thing in it that cannot be read or done.

    A unit is known by its section; a map by having shares where no line is an NFS entry of fstab.

    Args:
        name: of the file, for the sentences.
        raw: what is in it.
    """
    if _UNIT.search(raw):
        return _of_unit(name, printable(raw.decode(errors="surrogateescape")))
    table = fstab.parse(raw)
    lines = table.nfs_lines()
    if not lines:
        places, warnings = _of_map(name, printable(raw.decode(errors="surrogateescape")))
        if places:
            return places, warnings
    return [
        Place(
            line=line.number,
            share=printable(entry.source),
            point=plain_path(printable(entry.target)),
            fstype=entry.fstype,
            options=printable(entry.options),
            fstab=True,
        )
        for line, entry in lines
    ], table.warnings(name)


def _of_unit(name: str, text: str) -> tuple[list[Place], list[str]]:
    settings = systemd.parse(text)
    try:
        reading = systemd.read_settings(settings)
        problems = systemd.write_mount(reading.entry).problems
    except DialectError as error:
        return [], [f"{name} is not judged: {error}"]
    found = {key: value for section, key, value in settings if section == "Mount"}
    place = Place(
        line=0,
        share=str(reading.entry.share),
        point=reading.entry.mount_point,
        fstype=found.get("Type", "nfs"),
        options=found.get("Options", "").replace("%%", "%"),
    )
    return [place], [f"{name}: {problem}" for problem in problems]


def _of_map(name: str, text: str) -> tuple[list[Place], list[str]]:
    found = autofs_maps.read_map(text)
    places: list[Place] = []
    warnings = [f"Line {number} of {name} names nothing that autofs can mount." for number in found.broken]
    for entry in found.entries:
        fstype = autofs_maps.entry_fstype(entry, None)
        shares = [share for share in autofs_maps.shares(entry) if ":/" in share[1:]]
        if fstype not in NFS_TYPES or not shares:
            continue
        point, options = entry.key + entry.offset, ",".join(entry.options)
        places.append(Place(line=entry.number, share=shares[0], point=point, fstype=fstype, options=options))
        warnings += [f"Line {entry.number} of {name}: {text}" for text in _map_problems(shares[0], options)]
    return places, warnings


def _map_problems(share: str, options: str) -> list[str]:
    try:
        entry = Entry.make(share, "/mnt", options).with_when("on demand")
        return autofs.write(entry).problems
    except DialectError:  # a variable, say, which may stand in a share here
        return []
