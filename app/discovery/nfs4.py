"""COMPOUND of NFS version 4 (RFC 7530 §15.2): what can be asked without a client id."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from app.discovery.rpc import auth_sys, decode
from app.discovery.xdr import Unpacker, XdrError, opaque, u32, u64
from app.errors import AppError, ErrorKind

if TYPE_CHECKING:
    from app.discovery.rpc import Connection

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
#: What one READDIR may answer with, in bytes: fits any server, and several dozen names.
_PAGE = 32768


class NfsError(AppError):
    """The server answered with an NFS error.

    Attributes:
        status: nfsstat4.
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


class Entry(NamedTuple):
    """One entry of a directory; ``fsid`` and ``kind`` are None where the server tells only an error."""

    name: bytes
    kind: int | None
    fsid: tuple[int, int] | None
    status: int = OK


class Page(NamedTuple):
    """One answer of READDIR, with the directory's own file system."""

    fsid: tuple[int, int]
    entries: list[Entry]
    verifier: bytes
    cookie: int
    end: bool


def minor_status(connection: Connection, minor: int) -> int:
    """Send an empty COMPOUND and return its status: OK or MINOR_MISMATCH.

    Raises:
        AppError: if there is no version 4, or no answer.
    """
    body = connection.call(NFS_PROGRAM, VERSION, _COMPOUND, opaque(b"") + u32(minor, 0))
    return decode(body, lambda reply: reply.u32())


def read_directory(
    connection: Connection, path: tuple[bytes, ...], cookie: int = 0, verifier: bytes = bytes(8)
) -> Page:
    """Return a page of a directory below version 4's root, asked with minor version 0.

    Raises:
        NfsError: the server refuses.
        AppError: there is no version 4, or no answer.
    """
    operations = [u32(_PUTROOTFH), *(u32(_LOOKUP) + opaque(name) for name in path)]
    operations.append(u32(_GETATTR) + _bitmap(_FSID))
    operations.append(
        u32(_READDIR) + u64(cookie) + verifier + u32(_PAGE, _PAGE) + _bitmap(_TYPE, _FSID, _RDATTR_ERROR)
    )
    arguments = opaque(b"") + u32(0, len(operations)) + b"".join(operations)
    body = connection.call(NFS_PROGRAM, VERSION, _COMPOUND, arguments, auth_sys())
    return decode(body, lambda reply: _page(reply, len(path), cookie))


def _page(reply: Unpacker, depth: int, cookie: int) -> Page:
    status = reply.u32()
    reply.opaque(_MAX_TAG)
    count = reply.u32()
    for wanted in [_PUTROOTFH, *[_LOOKUP] * depth, _GETATTR]:
        _result(reply, wanted, status, count)
    fsid = _attributes(reply).fsid
    if fsid is None:
        raise XdrError("it does not say the file system that was asked for.")
    _result(reply, _READDIR, status, count)
    verifier = reply.fixed(8)
    last = cookie

    def entry(item: Unpacker) -> Entry:
        nonlocal last
        last = item.u64()
        name = item.opaque(_MAX_NAME)
        return _attributes(item)._replace(name=name)

    entries = reply.chain(entry, _MAX_PAGE_ENTRIES)
    end = reply.boolean()
    if not end and not entries:
        raise XdrError("a page without entries that is not the last one.")
    return Page(fsid, entries, verifier, last, end)


def _result(reply: Unpacker, wanted: int, status: int, count: int) -> None:
    """Read an operation's head; raise what it, or the whole COMPOUND, says."""
    if count == 0:
        if status == OK:
            raise XdrError("it answers no operation.")
        raise NfsError(status)
    operation, own_status = reply.u32(), reply.u32()
    if operation != wanted:
        raise XdrError(f"it answers operation {operation}, asked was {wanted}.")
    if own_status != OK:
        raise NfsError(own_status)


def _attributes(reply: Unpacker) -> Entry:
    """Read fattr4: attributes stand in the order of their numbers."""
    words = reply.words(8)
    present = {32 * at + bit for at, word in enumerate(words) for bit in range(32) if word >> bit & 1}
    if not present <= {_TYPE, _FSID, _RDATTR_ERROR}:
        raise XdrError("it sends attributes that were not asked for.")
    values = Unpacker(reply.opaque(_MAX_ATTRIBUTES))
    kind = values.u32() if _TYPE in present else None
    fsid = (values.u64(), values.u64()) if _FSID in present else None
    status = values.u32() if _RDATTR_ERROR in present else OK
    return Entry(b"", kind, fsid, status)


def _bitmap(*bits: int) -> bytes:
    return u32(1, sum(1 << bit for bit in bits))
