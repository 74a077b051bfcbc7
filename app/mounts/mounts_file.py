"""File of mounts, to take them to another computer: TOML, version 1 of the format.

The file has the keys ``format = "mountwright-mounts"``, ``version`` and, for people, ``host``,
``exported_at`` and ``program``. A table ``[[mount]]`` for each mount has:

- ``share`` and ``mount_point``: strings, required.
- ``options``: as in fstab, word by word; "" for none. Unknown words are kept.
- ``fstype``: "nfs" (default) or "nfs4".
- ``saved_in``: "fstab" (default), "systemd", "autofs", or "nowhere" for one that was only mounted.
- ``readahead_kib``: that is saved for the mount or that it was given, left out where it had none of its own.
"""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from app.errors import AppError, ErrorKind
from app.mounts.saved_readahead import KERNEL_READ_AHEAD_KB
from app.version import VERSION
from resources.decoding import converted

if TYPE_CHECKING:
    from app.mounts.model import Configured, Mount, MountTable

FORMAT = "mountwright-mounts"
_VERSION = 1
#: A thousand mounts take about 300 kB.
MAX_BYTES = 4 * 2**20
MAX_MOUNTS = 2000
_HEADER = re.compile(r"\s*\[\[\s*mount\s*\]\]\s*(#.*)?")

SavedIn = Literal["fstab", "systemd", "autofs", "nowhere"]
_SAVED_IN: dict[str, SavedIn] = {"fstab": "fstab", "unit": "systemd", "autofs": "autofs"}


class MountEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One mount of a file; see the module.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: as in fstab.
        fstype: nfs or nfs4.
        saved_in: where it was saved.
        readahead_kib: None for the kernel's default.
        line: of the file where it begins, from 1; 0 if that is not known.
    """

    share: str
    mount_point: str
    options: str = ""
    fstype: Literal["nfs", "nfs4"] = "nfs"
    saved_in: SavedIn = "fstab"
    readahead_kib: int | None = None
    line: int = 0


class _Written(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table [[mount]] as it may be written."""

    share: str
    mount_point: str
    options: str = ""
    fstype: Literal["nfs", "nfs4"] = "nfs"
    saved_in: SavedIn = "fstab"
    readahead_kib: int | None = None


#: Key to the rule that its value has to follow.
_RULES = {
    "share": 'a string such as "nas01:/export/home"',
    "mount_point": 'a string such as "/mnt/home"',
    "options": 'a string such as "vers=4.2,_netdev,nofail"',
    "fstype": '"nfs" or "nfs4"',
    "saved_in": '"fstab", "systemd", "autofs" or "nowhere"',
    "readahead_kib": "a whole number of KiB such as 1024",
}  # fmt: skip
_HEAD_KEYS = ("format", "version", "program", "host", "exported_at", "mount")


def entries_of_table(table: MountTable) -> list[MountEntry]:
    """Return every mount of a host as an entry: as it is saved, or else as it was requested."""
    return [_entry_of(mount) for mount in table.mounts]


def _entry_of(mount: Mount) -> MountEntry:
    configured, active = mount.configured, mount.active
    readahead = _readahead_of(mount)
    if configured is None:
        fstype = active.fstype if active is not None else "nfs"
        return MountEntry(
            share=mount.share, mount_point=mount.mount_point, options=mount.requested,
            # The type in use says the version, which the options say as well.
            fstype="nfs" if "vers=" in mount.requested or fstype != "nfs4" else "nfs4",
            saved_in="nowhere", readahead_kib=readahead,
        )  # fmt: skip
    return MountEntry(
        share=configured.share, mount_point=mount.mount_point, options=configured.options,
        fstype="nfs4" if configured.fstype == "nfs4" else "nfs",
        saved_in=saved_in(configured), readahead_kib=readahead,
    )  # fmt: skip


def _readahead_of(mount: Mount) -> int | None:
    """Return the readahead that is saved for a mount or was given to it, None for what all mounts get."""
    active = mount.active
    if mount.saved_read_ahead_kb is not None or active is None:
        return mount.saved_read_ahead_kb
    usual = active.read_ahead_state in {"default", "nfs.conf"} or active.read_ahead_kb == KERNEL_READ_AHEAD_KB
    return None if usual else active.read_ahead_kb


def saved_in(configured: Configured) -> SavedIn:
    """Return the word of the file for what keeps a mount."""
    return _SAVED_IN[configured.keeper]


def to_toml(entries: list[MountEntry], host: str) -> bytes:
    """Return the file."""
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    blocks = [[
        "# NFS mounts, for “mountwright import-mounts FILE”. mountwright(1) describes the keys.",
        f"format = {_text(FORMAT)}",
        f"version = {_VERSION}",
        f"program = {_text(VERSION)}",
        f"host = {_text(host)}",
        f"exported_at = {_text(moment)}",
    ]]  # fmt: skip
    for entry in entries:
        lines = ["[[mount]]", f"share = {_text(entry.share)}", f"mount_point = {_text(entry.mount_point)}"]
        lines.append(f"options = {_text(entry.options)}")
        lines += [f"fstype = {_text(entry.fstype)}"] if entry.fstype != "nfs" else []
        lines.append(f"saved_in = {_text(entry.saved_in)}")
        lines += [f"readahead_kib = {entry.readahead_kib}"] if entry.readahead_kib is not None else []
        blocks.append(lines)
    return ("\n\n".join("\n".join(block) for block in blocks) + "\n").encode()


def _text(text: str) -> str:
    # JSON's strings are TOML's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def from_toml(raw: bytes, name: str) -> list[MountEntry]:
    """Return the entries of a file, in its order.

    Args:
        raw: the file.
        name: of the file, for messages.

    Raises:
        AppError: USAGE, with the line, if it is not such a file or says what no mount has.
    """
    text = _decoded(raw, name)
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _refuse(name, 0, f"it is not TOML: {error}", hint="Correct the line, or export the mounts again.")
    except RecursionError:
        _refuse(name, 0, "it is nested too deeply")
    _check_head(whole, name, text)
    try:
        tables = converted(whole.get("mount", []), list[dict[str, Any]])
    except msgspec.ValidationError:
        _refuse(name, _line_of(text, "mount"), "“mount” is not a list of tables. Write [[mount]] above each")
    if len(tables) > MAX_MOUNTS:
        _refuse(name, 0, f"it has {len(tables)} mounts, and {MAX_MOUNTS} are read at most")
    places = [
        number for number, line in enumerate(text.split("\n"), 1) if _HEADER.fullmatch(line.rstrip("\r"))
    ]
    if len(places) != len(tables):  # written in another way, or inside a string
        places = [0] * len(tables)
    return [
        _entry(table, name, text, place, places[number + 1] if number + 1 < len(places) else 0)
        for number, (table, place) in enumerate(zip(tables, places, strict=True))
    ]


def _decoded(raw: bytes, name: str) -> str:
    if len(raw) > MAX_BYTES:
        _refuse(name, 0, "it is too long for a file of mounts")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        _refuse(name, raw[: error.start].count(b"\n") + 1, "it has a byte that is not UTF-8")


def _check_head(whole: dict[str, Any], name: str, text: str) -> None:
    if whole.get("format") != FORMAT:
        _refuse(
            name, _line_of(text, "format"), f'it has no line “format = "{FORMAT}"” at its beginning',
            hint="“export-mounts FILE” writes such a file. For an fstab or a mount command, use “convert”.",
        )  # fmt: skip
    version = whole.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        _refuse(name, _line_of(text, "version"), f"“version” is not a number such as {_VERSION}")
    if version > _VERSION:
        _refuse(
            name, _line_of(text, "version"), f"it has version {version} of the format, and {_VERSION} is the "
            "newest that this program reads", hint="Import it with a newer version of Mountwright.",
        )  # fmt: skip
    for key in whole:
        if key not in _HEAD_KEYS:
            _refuse(name, _line_of(text, key), f"“{key}” is no key of this format")


def _entry(table: dict[str, Any], name: str, text: str, first: int, end: int) -> MountEntry:
    def refuse(key: str, why: str) -> NoReturn:
        _refuse(name, _line_of(text, key, first, end) or first, why)

    for key in table:
        if key not in _RULES:
            refuse(key, f"“{key}” is no key of a mount. The keys are {', '.join(_RULES)}")
    for key in ("share", "mount_point"):
        if not table.get(key):
            refuse(key, f"a mount has no “{key}”: write {_RULES[key]}")
    for key, value in table.items():
        try:
            converted({**dict.fromkeys(("share", "mount_point"), "x"), key: value}, _Written)
        except msgspec.ValidationError:
            refuse(key, f"the value of “{key}” is not {_RULES[key]}")
    found = converted(table, _Written)
    if found.readahead_kib is not None and not 0 <= found.readahead_kib < 2**31:
        refuse("readahead_kib", f"the value of “readahead_kib” is not {_RULES['readahead_kib']}")
    return MountEntry(**msgspec.structs.asdict(found), line=first)


def _line_of(text: str, key: str, first: int = 0, end: int = 0) -> int:
    """Return the line of a key, from 1; 0 if it is not found or written in another way."""
    written = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    lines = text.split("\n")
    last = end - 1 if end else len(lines)
    return next((number for number in range(first + 1, last + 1) if written.match(lines[number - 1])), 0)


def _refuse(name: str, line: int, why: str, *, hint: str = "") -> NoReturn:
    where = f"{name}, line {line}" if line else name
    raise AppError(
        ErrorKind.USAGE,
        f"Could not import {where}: {why}.",
        hint=hint or "Correct the file, or export the mounts again. mountwright(1) describes the keys.",
    )
