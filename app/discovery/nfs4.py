"""NFSv4 pseudo file system: lists the root and the directories that lead to exports, without mounting.

It sends COMPOUND requests (RFC 7530 §15.2) that need no client ID: READDIR from the root (RFC 7530 §7), and
empty ones that test minor versions.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from app.discovery.model import RootEntry
from app.discovery.rpc import (
    Deadline,
    RpcConnection,
    Unpacker,
    XdrError,
    auth_sys,
    decode,
    opaque,
    readable,
    u32,
    u64,
)
from app.errors import AppError, ErrorKind

NFS_PROGRAM = 100003
VERSION = 4
_COMPOUND = 1
OK, NO_ENTRY, ACCESS, DELAY, WRONG_SECURITY, MINOR_MISMATCH = 0, 2, 13, 10008, 10016, 10021
_PERMISSION = 1
_GETATTR, _LOOKUP, _PUTROOTFH, _READDIR = 9, 15, 24, 26
_TYPE, _FSID, _RDATTR_ERROR = 1, 8, 11
DIRECTORY = 2
_MAX_NAME, _MAX_ATTRIBUTES, _MAX_TAG = 1024, 4096, 1024
_MAX_PAGE_ENTRIES = 4096
#: Size limit of one READDIR reply, bytes; any server accepts it, and it holds several dozen names.
_PAGE = 32768


class NfsError(AppError):
    """The server answered with an NFS error.

    Attributes:
        status: status code nfsstat4 (RFC 7530 §13).
    """

    def __init__(self, status: int) -> None:
        kind, message, hint = _STATUS.get(
            status, (ErrorKind.IO, f"The server answers with error {status}.", "")
        )
        super().__init__(kind, message, hint=hint, detail=f"NFS status {status}")
        self.status = status


_STATUS = {
    _PERMISSION: (
        ErrorKind.ACCESS_DENIED,
        "The server does not answer an ordinary program.",
        "It wants a privileged port (export option “secure”). A mount is made from one, and may well work.",
    ),
    NO_ENTRY: (ErrorKind.EXPORT_MISSING, "The server exports nothing over version 4.", ""),
    ACCESS: (ErrorKind.ACCESS_DENIED, "The server does not let you look.", ""),
    DELAY: (ErrorKind.SERVER_SILENT, "The server is busy and asks to try again later.", ""),
    WRONG_SECURITY: (
        ErrorKind.ACCESS_DENIED,
        "The server wants another kind of authentication.",
        "Mount it with sec=krb5, krb5i or krb5p.",
    ),
    MINOR_MISMATCH: (
        ErrorKind.VERSION_UNSUPPORTED,
        "The server does not offer version 4.0, the only one that lists its root without mounting.",
        "",
    ),
}


class DirectoryEntry(NamedTuple):
    """One entry of a directory.

    Attributes:
        name: file name.
        kind: file type nfs_ftype4, None if the server sent only an error.
        fsid: ID of the entry's file system, None if the server sent only an error.
        status: status code nfsstat4 of the entry.
    """

    name: bytes
    kind: int | None
    fsid: tuple[int, int] | None
    status: int = OK


class DirectoryPage(NamedTuple):
    """Result of one READDIR call.

    Attributes:
        fsid: ID of the directory's file system.
        entries: directory entries.
        verifier: cookie verifier for the next call.
        cookie: position for the next call.
        end: whether this is the last page.
    """

    fsid: tuple[int, int]
    entries: list[DirectoryEntry]
    verifier: bytes
    cookie: int
    end: bool


def minor_status(connection: RpcConnection, minor: int) -> int:
    """Send an empty COMPOUND with a minor version and return its status, OK or MINOR_MISMATCH.

    Raises:
        AppError: if the server lacks NFSv4 or does not answer.
    """
    body = connection.call(NFS_PROGRAM, VERSION, _COMPOUND, opaque(b"") + u32(minor, 0))
    return decode(body, lambda reply: reply.u32())


def read_directory(
    connection: RpcConnection, path: tuple[bytes, ...], cookie: int = 0, verifier: bytes = bytes(8)
) -> DirectoryPage:
    """Read one page of a directory below the NFSv4 root, with minor version 0.

    Args:
        connection: connection to the NFS port.
        path: names from the root to the directory.
        cookie: position from the previous page, 0 for the first page.
        verifier: cookie verifier from the previous page.

    Raises:
        NfsError: if the server answers with an NFS error.
        AppError: if the server lacks NFSv4 or does not answer.
    """
    operations = [u32(_PUTROOTFH), *(u32(_LOOKUP) + opaque(name) for name in path)]
    operations.append(u32(_GETATTR) + _bitmap(_FSID))
    operations.append(
        u32(_READDIR) + u64(cookie) + verifier + u32(_PAGE, _PAGE) + _bitmap(_TYPE, _FSID, _RDATTR_ERROR)
    )
    arguments = opaque(b"") + u32(0, len(operations)) + b"".join(operations)
    body = connection.call(NFS_PROGRAM, VERSION, _COMPOUND, arguments, auth_sys())
    return decode(body, lambda reply: _page(reply, len(path), cookie))


def _page(reply: Unpacker, depth: int, cookie: int) -> DirectoryPage:
    status = reply.u32()
    reply.opaque(_MAX_TAG)
    count = reply.u32()
    for expected in [_PUTROOTFH, *[_LOOKUP] * depth, _GETATTR]:
        _result(reply, expected, status, count)
    fsid = _attributes(reply).fsid
    if fsid is None:
        raise XdrError("it does not say the file system that was asked for.")
    _result(reply, _READDIR, status, count)
    verifier = reply.fixed(8)
    last = cookie

    def entry(item: Unpacker) -> DirectoryEntry:
        nonlocal last
        last = item.u64()
        name = item.opaque(_MAX_NAME)
        return _attributes(item)._replace(name=name)

    entries = reply.chain(entry, _MAX_PAGE_ENTRIES)
    end = reply.boolean()
    if not end and not entries:
        raise XdrError("a page without entries that is not the last one.")
    return DirectoryPage(fsid, entries, verifier, last, end)


def _result(reply: Unpacker, expected: int, status: int, count: int) -> None:
    """Decode the head of an operation's result.

    Raises:
        NfsError: if the operation or the whole COMPOUND failed.
        XdrError: if the reply does not match the request.
    """
    if count == 0:
        if status == OK:
            raise XdrError("it answers no operation.")
        raise NfsError(status)
    operation, own_status = reply.u32(), reply.u32()
    if operation != expected:
        raise XdrError(f"it answers operation {operation}, asked was {expected}.")
    if own_status != OK:
        raise NfsError(own_status)


def _attributes(reply: Unpacker) -> DirectoryEntry:
    """Decode a fattr4: a bitmap of attributes, then their values in the order of their numbers."""
    bitmap = reply.words(8)
    present = {32 * at + bit for at, word in enumerate(bitmap) for bit in range(32) if word >> bit & 1}
    if not present <= {_TYPE, _FSID, _RDATTR_ERROR}:
        raise XdrError("it sends attributes that were not asked for.")
    values = Unpacker(reply.opaque(_MAX_ATTRIBUTES))
    kind = values.u32() if _TYPE in present else None
    fsid = (values.u64(), values.u64()) if _FSID in present else None
    status = values.u32() if _RDATTR_ERROR in present else OK
    return DirectoryEntry(b"", kind, fsid, status)


def _bitmap(*bits: int) -> bytes:
    return u32(1, sum(1 << bit for bit in bits))


#: Limits of the search: a pseudo file system is small, and a real one at the root is not searched fully.
_MAX_DIRECTORIES = 64
_MAX_ENTRIES = 1000
_MAX_DEPTH = 8
#: Time until a request is repeated that the server answered with NFS4ERR_DELAY, s.
_TRY_AGAIN_S = 0.1


class RootListing(NamedTuple):
    """Directories found below the NFSv4 root; ``complete`` is False if a limit ended the search."""

    entries: list[RootEntry]
    complete: bool


def list_root(address: str, port: int, deadline: Deadline) -> RootListing:
    """List the directories of the root's file system; a directory on another file system is an export.

    A directory with other files than directories belongs to a real file system; its subdirectories are not
    searched.

    Raises:
        AppError: if the root itself cannot be listed.
    """
    with RpcConnection(address, port, "tcp", deadline) as connection:
        return _Walk(connection, deadline).run()


class _Walk:
    def __init__(self, connection: RpcConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._found: dict[tuple[bytes, ...], RootEntry] = {}
        self._complete = True

    def run(self) -> RootListing:
        waiting: deque[tuple[bytes, ...]] = deque([()])
        listed = 0
        while waiting:
            path = waiting.popleft()
            if listed == _MAX_DIRECTORIES or len(path) > _MAX_DEPTH:
                self._complete = False
                break
            listed += 1
            try:
                waiting += self._list(path)
            except NfsError as error:
                if not path:
                    raise
                self._found[path] = RootEntry(path=_text(path), export=True, note=error.message)
        entries = sorted(self._found.values(), key=lambda entry: entry.path)
        return RootListing(entries, self._complete)

    def _list(self, path: tuple[bytes, ...]) -> list[tuple[bytes, ...]]:
        """Record the subdirectories of a directory and return those to search."""
        to_enter: list[tuple[bytes, ...]] = []
        pseudo = True
        page = self._page(path, 0, bytes(8))
        while True:
            for entry in page.entries:
                if entry.kind not in {DIRECTORY, None}:
                    pseudo = False
                    continue
                self._add((*path, entry.name), entry, page.fsid, to_enter)
            if page.end or not self._complete:
                return to_enter if pseudo else []
            page = self._page(path, page.cookie, page.verifier)

    def _add(
        self,
        path: tuple[bytes, ...],
        entry: DirectoryEntry,
        parent: tuple[int, int],
        to_enter: list[tuple[bytes, ...]],
    ) -> None:
        if len(self._found) == _MAX_ENTRIES:
            self._complete = False
            return
        if entry.name in {b"", b".", b".."} or b"/" in entry.name:
            return
        note = NfsError(entry.status).message if entry.status else ""
        export = entry.fsid != parent
        self._found[path] = RootEntry(path=_text(path), export=export, note=note)
        if not export:
            to_enter.append(path)

    def _page(self, path: tuple[bytes, ...], cookie: int, verifier: bytes) -> DirectoryPage:
        """Read a page; repeat on NFS4ERR_DELAY, which servers send while they query their mountd."""
        while True:
            try:
                return read_directory(self._connection, path, cookie, verifier)
            except NfsError as error:
                if error.status != DELAY or self._deadline.left() < _TRY_AGAIN_S:
                    raise
                self._deadline.pause(_TRY_AGAIN_S)


def _text(path: tuple[bytes, ...]) -> str:
    return "/" + "/".join(readable(name) for name in path)
