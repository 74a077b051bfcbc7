"""autofs: NFS mounts made on demand, from its maps in files (auto.master(5), autofs(5)).

Only files below /etc are opened, and no link is followed: a path elsewhere may lie on a share whose server
is dead. Maps that are asked of a name service or of a program are named and not read.
"""

from __future__ import annotations

import os
import posixpath
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from advisor.dialects import autofs
from advisor.dialects.autofs import WILDCARD, MapName
from app.kernel.mountinfo import NFS_TYPES
from app.kernel.utab import plain_share
from app.mounts.model import Configured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from advisor.dialects.autofs import MapEntry, MasterLine

MASTER = "/etc/auto.master"
_NSSWITCH = "/etc/nsswitch.conf"
#: Where autofs looks for a map without a path.
_MAP_FOLDER = "/etc"
#: Of one file.
_MAX_BYTES = 1 << 20
#: Of all master maps and maps; a map is counted each time it is used.
_MAX_FILES = 500
_MAX_ENTRIES = 20_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NAME_SERVICES = {
    "yp": "NIS", "nis": "NIS", "nisplus": "NIS+", "ldap": "LDAP", "ldaps": "LDAP", "sss": "SSSD",
    "hesiod": "Hesiod", "program": "a program",
}  # fmt: skip
#: So many line numbers are named in one sentence.
_NAMED_LINES = 5


@dataclass(frozen=True, slots=True)
class MapMount:
    """One mount of a map.

    Attributes:
        point: its mount point; that of a wildcard ends in ``/*``.
        configured: with all its shares as they are written.
        shares: each share that may be mounted; variables, and the & of a wildcard, stand as written.
    """

    point: str
    configured: Configured
    shares: tuple[str, ...]


@dataclass(slots=True)
class Maps:
    """What was found.

    Attributes:
        mounts: of one place the first counts, as for autofs.
        warnings: a sentence for each map that was not read, and for lines that cannot be.
    """

    mounts: dict[str, MapMount] = field(default_factory=dict[str, MapMount])
    warnings: list[str] = field(default_factory=list[str])

    def rows(self, live: Mapping[str, str]) -> list[tuple[str, Configured]]:
        """Return mount point and configuration of every mount of a map, and of each made by a wildcard.

        Args:
            live: mount point to share of what is mounted now.
        """
        found = [
            (mount.point, _with_mounted_share(mount, live.get(mount.point, ""), ""))
            for mount in self.mounts.values()
        ]
        for point, share in live.items():
            parent, _, key = point.rpartition("/")
            mount = self.mounts.get(f"{parent}/{WILDCARD}")
            if mount is not None and point not in self.mounts:
                chosen = _with_mounted_share(mount, share, key)
                found += [(point, chosen)] if chosen is not mount.configured else []
        return found


def _with_mounted_share(mount: MapMount, share: str, key: str) -> Configured:
    """Return the configuration with the share that is mounted, if that is one of this mount's."""
    plain = plain_share(share)
    for one in mount.shares:
        if autofs.share_pattern(plain_share(one), key).fullmatch(plain):
            return msgspec.structs.replace(mount.configured, share=share)
    return mount.configured


def read(root: str = "/") -> Maps:
    """Return the NFS mounts of the maps that /etc/auto.master leads to; without that file there are none."""
    reader = _Reader(root)
    if os.path.lexists(_place(root, MASTER)):
        reader.read_all()
    return reader.found


def files(root: str = "/") -> list[Path]:
    """Return the files that most likely are maps: those that the watch of the table looks at."""
    folders = ((_place(root, _MAP_FOLDER), "auto.*"), (_place(root, f"{MASTER}.d"), "*.autofs"))
    return sorted(path for folder, pattern in folders for path in folder.glob(pattern))


class _Reader:
    """Reads from the master map on, within bounds."""

    def __init__(self, root: str) -> None:
        self.found = Maps()
        self._root = root
        self._files = 0

    def read_all(self) -> None:
        """Read the master map and every map that it leads to."""
        taken: set[str] = set()
        nulls: list[str] = []
        for origin, line in self._master(MASTER, set()):
            direct = line.point == "/-"
            if line.map.kind == "null":
                nulls.append(line.point)
            elif line.point in nulls:
                nulls.remove(line.point)
            elif direct or line.point not in taken:
                taken.add(line.point)
                self._map(line, line.map, f"{line.point} in {origin}", set())

    def _master(self, path: str, seen: set[str]) -> Iterator[tuple[str, MasterLine]]:
        """Yield the lines of a master map, included ones in their places."""
        text = self._text(path, "The master map", seen)
        if text is None:
            return
        lines, broken = autofs.read_master(text)
        self._warn_broken(path, broken)
        for line in lines:
            if line.point:
                yield path, line
            elif line.map.kind == "dir":
                for name in self._folder(line.map.name):
                    yield from self._master(name, seen)
            else:
                included = self._file_of(line.map, f"included in {path}", seen)
                if included:
                    yield from self._master(included, seen)

    def _map(self, line: MasterLine, name: MapName, where: str, seen: set[str]) -> None:
        path = self._file_of(name, f"for {where}", seen)
        text = self._text(path, "The map", seen, program=not name.kind) if path else None
        if text is None:
            return
        found = autofs.read_map(text)
        broken = found.broken
        # Of one key the first entry counts, so what is included is asked last or first, by its place.
        places: list[MapEntry | tuple[int, MapName]] = [*found.entries, *found.included]
        for place in sorted(places, key=lambda place: place[0] if isinstance(place, tuple) else place.number):
            if isinstance(place, tuple):
                self._map(line, place[1], where, seen)
            elif place.key.startswith("/") != (line.point == "/-"):
                broken.append(place.number)
            else:
                self._take(line, place, path)
        self._warn_broken(path, broken)

    def _take(self, line: MasterLine, entry: MapEntry, path: str) -> None:
        fstype = autofs.entry_fstype(entry, line)
        if fstype == "autofs":
            self._warn(f"Line {entry.number} of {path} leads to a map of its own, which is not read.")
        shares = tuple(share for share in autofs.entry_shares(entry) if ":/" in share[1:])
        point = entry.point(line.point)
        if fstype not in NFS_TYPES or not shares or point in self.found.mounts:
            return
        if len(self.found.mounts) >= _MAX_ENTRIES:
            self._warn(f"The maps of autofs have more than {_MAX_ENTRIES} mounts; the others are left out.")
            return
        configured = Configured(
            origin=path,
            line=entry.number,
            share=shares[0] if len(shares) == 1 else " ".join(entry.locations),
            fstype=fstype,
            options=autofs.fstab_options(entry, line),
            keeper="autofs",
            automount=True,
            ours=False,
        )
        self.found.mounts[point] = MapMount(point, configured, shares)

    def _file_of(self, name: MapName, where: str, seen: set[str]) -> str:
        """Return the file of a map, "" if it is none that is read."""
        if name.kind in {"hosts", "null"}:
            return ""  # nothing stands there that could be shown
        if name.format != "sun" or name.kind not in {"", "file"}:
            asked = _NAME_SERVICES.get(name.kind, "") if name.format == "sun" else f"the format {name.format}"
            self._warn(
                f"The map {name.name} {where} is not read: it is of {asked or f'the kind {name.kind}'}."
            )
            return ""
        if name.name.startswith("/"):
            return name.name
        path = f"{_MAP_FOLDER}/{name.name}"
        others = [_NAME_SERVICES[word] for word in self._sources() if word in _NAME_SERVICES]
        if path not in seen and os.path.lexists(_place(self._root, path)):
            return path
        if others:
            self._warn(f"The map {name.name} {where} is not read: it is asked of {' and '.join(others)}.")
        elif path not in seen:
            self._warn(f"The map {name.name} {where} is not there.")
        return ""

    def _sources(self) -> list[str]:
        """Return where maps without a path are looked up (nsswitch.conf(5), automount)."""
        try:
            text = _read_file(self._root, _NSSWITCH)[0]
        except (OSError, ValueError):
            return []
        lines = [line.partition("#")[0].partition(":") for line in text.splitlines()]
        return [word for name, _, words in lines if name.strip() == "automount" for word in words.split()]

    def _text(self, path: str, what: str, seen: set[str], *, program: bool = False) -> str | None:
        """Return what is in a file, None if it is not read, with a warning; twice in a row is no mistake."""
        if path in seen:
            return None
        seen.add(path)
        self._files += 1
        if self._files > _MAX_FILES:
            self._warn(f"The maps of autofs are more than {_MAX_FILES} files; the others are not read.")
            return None
        try:
            text, runs = _read_file(self._root, path)
        except (OSError, ValueError) as error:
            reason = error.strerror or "" if isinstance(error, OSError) else str(error)
            self._warn(f"{what} {path} cannot be read: {reason.rstrip('.')}.")
            return None
        if runs and program:
            self._warn(f"{what} {path} is not read: it is a program.")
            return None
        return text

    def _folder(self, path: str) -> list[str]:
        """Return the master maps of a folder, in the order in which autofs reads them."""
        try:
            _check_place(self._root, path)
            with os.scandir(_place(self._root, path)) as entries:
                names = [entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
        except (OSError, ValueError):
            return []  # autofs does without it, too
        return sorted(
            f"{path.rstrip('/')}/{name}" for name in names if name.endswith(".autofs") and name[0] != "."
        )

    def _warn_broken(self, path: str, numbers: list[int]) -> None:
        if not numbers:
            return
        named = ", ".join(str(number) for number in sorted(numbers)[:_NAMED_LINES])
        more = " and more" if len(numbers) > _NAMED_LINES else ""
        lines, name = ("Line", "names") if len(numbers) == 1 else ("Lines", "name")
        self._warn(f"{lines} {named}{more} of {path} {name} nothing that autofs can mount.")

    def _warn(self, text: str) -> None:
        if text not in self.found.warnings:
            self.found.warnings.append(text)


def _place(root: str, path: str) -> Path:
    return Path(root, path.lstrip("/"))


def _check_place(root: str, path: str) -> None:
    """Check that a path leads through /etc and no link.

    Raises:
        ValueError: if not; the message is the end of a sentence.
    """
    plain = posixpath.normpath(path)
    if not plain.startswith("/etc/"):
        raise ValueError("it stands outside /etc, which is not looked at")
    parts = plain.split("/")[1:]
    for count in range(1, len(parts) + 1):
        if Path(root, *parts[:count]).is_symlink():
            raise ValueError(f"/{'/'.join(parts[:count])} is a link, which is not followed")


def _read_file(root: str, path: str) -> tuple[str, bool]:
    """Return a file's text and whether it can be executed.

    Raises:
        OSError: if it cannot be read.
        ValueError: if it is not looked at.
    """
    _check_place(root, path)
    fd = os.open(_place(root, posixpath.normpath(path)), _OPEN)
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            raise ValueError("it is no plain file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            raw = file.read(_MAX_BYTES + 1)
    finally:
        os.close(fd)
    if len(raw) > _MAX_BYTES:
        raise ValueError("it is longer than 1 MiB")
    return raw.decode(errors="backslashreplace"), bool(mode & 0o111)
