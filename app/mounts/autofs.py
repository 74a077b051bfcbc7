"""autofs: NFS mounts on demand, read from its map files (auto.master(5), autofs(5)).

Only files below /etc are opened, and no link is followed: another path may be on a share whose server is
dead. Maps from a name service or a program are reported in a warning and not read.
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
from app.helper.mountinfo import NFS_TYPES
from app.kernel.utab import plain_share
from app.mounts.model import Configured

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from advisor.dialects.autofs import MapEntry, MasterLine

MASTER = "/etc/auto.master"
_NSSWITCH = "/etc/nsswitch.conf"
#: Directory of maps that are named without a path.
_MAP_FOLDER = "/etc"
#: Largest map file, bytes.
_MAX_BYTES = 1 << 20
#: Largest number of master maps and maps; a map counts each time it is used.
_MAX_FILES = 500
#: Largest number of mounts of all maps, and of files in one directory of master maps.
_MAX_ENTRIES = 20_000
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_NAME_SERVICES = {
    "yp": "NIS", "nis": "NIS", "nisplus": "NIS+", "ldap": "LDAP", "ldaps": "LDAP", "sss": "SSSD",
    "hesiod": "Hesiod", "program": "a program",
}  # fmt: skip
#: Largest number of line numbers in one warning.
_MAX_NAMED_LINES = 5


@dataclass(frozen=True, slots=True)
class MapMount:
    """One mount of a map.

    Attributes:
        point: mount point; that of a wildcard entry ends in ``/*``.
        configured: the entry with its shares as written.
        shares: the alternative shares; variables, and the & of a wildcard entry, are not replaced.
    """

    point: str
    configured: Configured
    shares: tuple[str, ...]


@dataclass(slots=True)
class Maps:
    """The NFS mounts of all autofs maps.

    Attributes:
        mounts: mounts by mount point; the first entry of a mount point wins, as in autofs.
        warnings: one sentence for each map that was not read and for lines that could not be parsed.
    """

    mounts: dict[str, MapMount] = field(default_factory=dict[str, MapMount])
    warnings: list[str] = field(default_factory=list[str])

    def rows(self, live: Mapping[str, str]) -> list[tuple[str, Configured]]:
        """Return mount point and entry of every mount of a map, and of each live mount of a wildcard entry.

        Args:
            live: shares of the live mounts, by mount point.
        """
        found = [
            (mount.point, _with_mounted_share(mount, live.get(mount.point, ""), ""))
            for mount in self.mounts.values()
        ]
        for point, share in live.items():
            parent, _, key = point.rpartition("/")
            mount = self.mounts.get(f"{parent}/{WILDCARD}")
            if mount is not None and point not in self.mounts:
                entry = _with_mounted_share(mount, share, key)
                found += [(point, entry)] if entry is not mount.configured else []
        return found


def _with_mounted_share(mount: MapMount, share: str, key: str) -> Configured:
    """Return the entry with the mounted share, if that is one of its alternatives; else the entry itself."""
    plain = plain_share(share)
    for one in mount.shares:
        if autofs.share_pattern(plain_share(one), key).fullmatch(plain):
            return msgspec.structs.replace(mount.configured, share=share)
    return mount.configured


def read(root: str = "/") -> Maps:
    """Return the NFS mounts of all maps named in /etc/auto.master; none if that file does not exist."""
    reader = _Reader(root)
    if os.path.lexists(_path_below(root, MASTER)):
        reader.read_all()
    return reader.found


def files(root: str = "/") -> list[Path]:
    """Return the files that are probably maps; the watch of the mount table polls them."""
    folders = ((_path_below(root, _MAP_FOLDER), "auto.*"), (_path_below(root, f"{MASTER}.d"), "*.autofs"))
    return sorted(path for folder, pattern in folders for path in folder.glob(pattern))


class _Reader:
    """Reads the master map and the maps that it names, within the limits of number and size."""

    def __init__(self, root: str) -> None:
        self.found = Maps()
        self._root = root
        self._files = 0

    def read_all(self) -> None:
        """Read the master map and every map that it names."""
        mounted_points: set[str] = set()
        nulls: list[str] = []
        for origin, line in self._master(MASTER, set()):
            direct = line.point == "/-"
            if line.map.kind == "null":
                nulls.append(line.point)
            elif line.point in nulls:
                nulls.remove(line.point)
            elif direct or line.point not in mounted_points:
                mounted_points.add(line.point)
                self._map(line, line.map, f"{line.point} in {origin}", set())

    def _master(self, path: str, seen: set[str]) -> Iterator[tuple[str, MasterLine]]:
        """Yield file and line of a master map, with the lines of included files in place."""
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
                included = self._map_file(line.map, f"included in {path}", seen)
                if included:
                    yield from self._master(included, seen)

    def _map(self, line: MasterLine, name: MapName, where: str, seen: set[str]) -> None:
        path = self._map_file(name, f"for {where}", seen)
        text = self._text(path, "The map", seen, program=not name.kind) if path else None
        if text is None:
            return
        found = autofs.read_map(text)
        broken = found.broken
        # The first entry of a key wins, so included maps are read at their position in the file.
        items: list[MapEntry | tuple[int, MapName]] = [*found.entries, *found.included]
        for item in sorted(items, key=lambda item: item[0] if isinstance(item, tuple) else item.number):
            if isinstance(item, tuple):
                self._map(line, item[1], where, seen)
            elif item.key.startswith("/") != (line.point == "/-"):
                broken.append(item.number)
            else:
                self._add_mount(line, item, path)
        self._warn_broken(path, broken)

    def _add_mount(self, line: MasterLine, entry: MapEntry, path: str) -> None:
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

    def _map_file(self, name: MapName, where: str, seen: set[str]) -> str:
        """Return the path of a map file, "" if the map is not read."""
        if name.kind in {"hosts", "null"}:
            return ""  # these maps have no entries to show
        if name.format != "sun" or name.kind not in {"", "file"}:
            source = (
                _NAME_SERVICES.get(name.kind, "") if name.format == "sun" else f"the format {name.format}"
            )
            self._warn(
                f"The map {name.name} {where} is not read: it is of {source or f'the kind {name.kind}'}."
            )
            return ""
        if name.name.startswith("/"):
            return name.name
        path = f"{_MAP_FOLDER}/{name.name}"
        services = [_NAME_SERVICES[word] for word in self._sources() if word in _NAME_SERVICES]
        if path not in seen and os.path.lexists(_path_below(self._root, path)):
            return path
        if services:
            self._warn(f"The map {name.name} {where} is not read: it is asked of {' and '.join(services)}.")
        elif path not in seen:
            self._warn(f"The map {name.name} {where} is not there.")
        return ""

    def _sources(self) -> list[str]:
        """Return the sources of maps without a path: the automount line of nsswitch.conf(5)."""
        try:
            text = _read_file(self._root, _NSSWITCH)[0]
        except (OSError, ValueError):
            return []
        lines = [line.partition("#")[0].partition(":") for line in text.splitlines()]
        return [word for name, _, words in lines if name.strip() == "automount" for word in words.split()]

    def _text(self, path: str, kind: str, seen: set[str], *, program: bool = False) -> str | None:
        """Return the text of a file; None if it is not read, with a warning unless it was read before."""
        if path in seen:
            return None
        seen.add(path)
        self._files += 1
        if self._files > _MAX_FILES:
            self._warn(f"The maps of autofs are more than {_MAX_FILES} files; the others are not read.")
            return None
        try:
            text, executable = _read_file(self._root, path)
        except (OSError, ValueError) as error:
            reason = error.strerror or "" if isinstance(error, OSError) else str(error)
            self._warn(f"{kind} {path} cannot be read: {reason.rstrip('.')}.")
            return None
        if executable and program:
            self._warn(f"{kind} {path} is not read: it is a program.")
            return None
        return text

    def _folder(self, path: str) -> list[str]:
        """Return the paths of the master maps in a directory, in the order in which autofs reads them."""
        try:
            _check_path(self._root, path)
            with os.scandir(_path_below(self._root, path)) as entries:
                names = [entry.name for entry, _ in zip(entries, range(_MAX_ENTRIES), strict=False)]
        except (OSError, ValueError):
            return []  # autofs ignores a missing directory, too
        return sorted(
            f"{path.rstrip('/')}/{name}" for name in names if name.endswith(".autofs") and name[0] != "."
        )

    def _warn_broken(self, path: str, numbers: list[int]) -> None:
        if not numbers:
            return
        named = ", ".join(str(number) for number in sorted(numbers)[:_MAX_NAMED_LINES])
        more = " and more" if len(numbers) > _MAX_NAMED_LINES else ""
        lines, name = ("Line", "names") if len(numbers) == 1 else ("Lines", "name")
        self._warn(f"{lines} {named}{more} of {path} {name} nothing that autofs can mount.")

    def _warn(self, text: str) -> None:
        if text not in self.found.warnings:
            self.found.warnings.append(text)


def _path_below(root: str, path: str) -> Path:
    return Path(root, path.lstrip("/"))


def _check_path(root: str, path: str) -> None:
    """Check that a path is below /etc and contains no symbolic link.

    Raises:
        ValueError: if not; the message completes a sentence that names the file.
    """
    plain = posixpath.normpath(path)
    if not plain.startswith("/etc/"):
        raise ValueError("it stands outside /etc, which is not looked at")
    parts = plain.split("/")[1:]
    for count in range(1, len(parts) + 1):
        if Path(root, *parts[:count]).is_symlink():
            raise ValueError(f"/{'/'.join(parts[:count])} is a link, which is not followed")


def _read_file(root: str, path: str) -> tuple[str, bool]:
    """Return the text of a file and whether it is executable.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if the file is outside /etc, a link, not a regular file, or too long.
    """
    _check_path(root, path)
    fd = os.open(_path_below(root, posixpath.normpath(path)), _OPEN)
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
