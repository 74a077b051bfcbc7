"""File of mounts, to transfer them to another computer: TOML, version 1 of the format.

The file has the keys ``format = "mountwright-mounts"`` and ``version``. The keys ``host``, ``exported_at``
and ``program`` are for information. Each mount has a table ``[[mount]]`` with these keys:

- ``share`` and ``mount_point``: strings, required.
- ``options``: option string as in fstab, "" for none. Unknown options are preserved.
- ``fstype``: "nfs" (default) or "nfs4".
- ``saved_in``: "fstab" (default), "systemd", "autofs", or "nowhere" for an unsaved mount.
- ``readahead_kib``: saved or present readahead, KiB; omitted if it is a default.
"""

from __future__ import annotations

import json
import re
import tomllib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec

from app.errors import AppError, ErrorKind
from app.mounts.change_model import MountEntry, SavedIn
from app.mounts.saved_readahead import KERNEL_READ_AHEAD_KB
from app.version import VERSION
from resources.decoding import converted

if TYPE_CHECKING:
    from app.mounts.model import Configured, Mount, MountTable

FORMAT = "mountwright-mounts"
_VERSION = 1
#: Largest file, bytes; a thousand mounts take about 300 kB.
MAX_BYTES = 4 * 2**20
#: Largest number of mounts in a file.
MAX_MOUNTS = 2000
_HEADER = re.compile(r"\s*\[\[\s*mount\s*\]\]\s*(#.*)?")

_SAVED_IN: dict[str, SavedIn] = {"fstab": "fstab", "unit": "systemd", "autofs": "autofs"}


class _EntrySchema(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Schema of a table [[mount]]."""

    share: str
    mount_point: str
    options: str = ""
    fstype: Literal["nfs", "nfs4"] = "nfs"
    saved_in: SavedIn = "fstab"
    readahead_kib: int | None = None


#: Rule for the value of each key, for messages.
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
    """Return every mount of a host as an entry, with its saved options, or else its requested ones."""
    return [_entry_of(mount) for mount in table.mounts]


def _entry_of(mount: Mount) -> MountEntry:
    configured, active = mount.configured, mount.active
    readahead = _readahead_of(mount)
    if configured is None:
        fstype = active.fstype if active is not None else "nfs"
        return MountEntry(
            share=mount.share, mount_point=mount.mount_point, options=mount.requested,
            # A live mount of version 4 has type nfs4; with vers= in the options, "nfs" is equivalent.
            fstype="nfs" if "vers=" in mount.requested or fstype != "nfs4" else "nfs4",
            saved_in="nowhere", readahead_kib=readahead,
        )  # fmt: skip
    return MountEntry(
        share=configured.share, mount_point=mount.mount_point, options=configured.options,
        fstype="nfs4" if configured.fstype == "nfs4" else "nfs",
        saved_in=saved_in(configured), readahead_kib=readahead,
    )  # fmt: skip


def _readahead_of(mount: Mount) -> int | None:
    """Return the saved or present readahead of a mount, KiB; None for a default of the host."""
    active = mount.active
    if mount.saved_read_ahead_kb is not None or active is None:
        return mount.saved_read_ahead_kb
    is_default = (
        active.read_ahead_state in {"default", "nfs.conf"} or active.read_ahead_kb == KERNEL_READ_AHEAD_KB
    )
    return None if is_default else active.read_ahead_kb


def saved_in(configured: Configured) -> SavedIn:
    """Return the value of key ``saved_in`` for a saved entry."""
    return _SAVED_IN[configured.keeper]


def to_toml(entries: list[MountEntry], host: str) -> bytes:
    """Return the content of a file of mounts, UTF-8."""
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
    # A JSON string is a TOML string, except that TOML requires an escape for DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def from_toml(raw: bytes, name: str) -> list[MountEntry]:
    """Return the entries of a file of mounts, in the order of the file.

    Args:
        raw: content of the file.
        name: name of the file, for messages.

    Raises:
        AppError: USAGE, with the line number, if the file has another format or a wrong key or value.
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
    header_lines = [
        number for number, line in enumerate(text.split("\n"), 1) if _HEADER.fullmatch(line.rstrip("\r"))
    ]
    if len(header_lines) != len(tables):
        # An array of inline tables, or “[[mount]]” inside a string: the lines are unknown.
        header_lines = [0] * len(tables)
    return [
        _entry(
            table, name, text, header_line, header_lines[number + 1] if number + 1 < len(header_lines) else 0
        )
        for number, (table, header_line) in enumerate(zip(tables, header_lines, strict=True))
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
            converted({**dict.fromkeys(("share", "mount_point"), "x"), key: value}, _EntrySchema)
        except msgspec.ValidationError:
            refuse(key, f"the value of “{key}” is not {_RULES[key]}")
    fields = converted(table, _EntrySchema)
    if fields.readahead_kib is not None and not 0 <= fields.readahead_kib < 2**31:
        refuse("readahead_kib", f"the value of “readahead_kib” is not {_RULES['readahead_kib']}")
    return MountEntry(**msgspec.structs.asdict(fields), line=first)


def _line_of(text: str, key: str, first: int = 0, end: int = 0) -> int:
    """Return the line number of a key, from 1; 0 if no line begins with it."""
    pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
    lines = text.split("\n")
    last = end - 1 if end else len(lines)
    return next((number for number in range(first + 1, last + 1) if pattern.match(lines[number - 1])), 0)


def _refuse(name: str, line: int, why: str, *, hint: str = "") -> NoReturn:
    where = f"{name}, line {line}" if line else name
    raise AppError(
        ErrorKind.USAGE,
        f"Could not import {where}: {why}.",
        hint=hint or "Correct the file, or export the mounts again. mountwright(1) describes the keys.",
    )
