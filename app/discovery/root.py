"""Version 4's root and the directories that lead to the exports, listed without mounting (RFC 7530 §7)."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from app.discovery import nfs4
from app.discovery.model import RootEntry
from app.discovery.nfs4 import NfsError
from app.discovery.rpc import Connection, Deadline
from app.discovery.xdr import readable

#: A pseudo file system is small; a real one at the root is not searched through.
_MAX_DIRECTORIES = 64
_MAX_ENTRIES = 1000
_MAX_DEPTH = 8
_TRY_AGAIN_S = 0.1


class Listing(NamedTuple):
    """What was found; ``complete`` is False if a limit ended it."""

    entries: list[RootEntry]
    complete: bool


def list_root(address: str, port: int, deadline: Deadline) -> Listing:
    """List the root and walk on as far as the same file system goes: what lies beyond is an export.

    A directory that holds anything but directories belongs to a real file system and is not entered further.

    Raises:
        AppError: if the root itself cannot be listed.
    """
    with Connection(address, port, "tcp", deadline) as connection:
        return _Walk(connection, deadline).run()


class _Walk:
    def __init__(self, connection: Connection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._found: dict[tuple[bytes, ...], RootEntry] = {}
        self._complete = True

    def run(self) -> Listing:
        waiting: deque[tuple[bytes, ...]] = deque([()])
        looked = 0
        while waiting:
            path = waiting.popleft()
            if looked == _MAX_DIRECTORIES or len(path) > _MAX_DEPTH:
                self._complete = False
                break
            looked += 1
            try:
                waiting += self._look(path)
            except NfsError as error:
                if not path:
                    raise
                self._found[path] = RootEntry(path=_text(path), export=True, note=error.message)
        entries = sorted(self._found.values(), key=lambda entry: entry.path)
        return Listing(entries, self._complete)

    def _look(self, path: tuple[bytes, ...]) -> list[tuple[bytes, ...]]:
        """Note the directories in this one and return those to enter."""
        inside: list[tuple[bytes, ...]] = []
        pseudo = True
        page = self._page(path, 0, bytes(8))
        while True:
            for entry in page.entries:
                if entry.kind not in {nfs4.DIRECTORY, None}:
                    pseudo = False
                    continue
                self._note((*path, entry.name), entry, page.fsid, inside)
            if page.end or not self._complete:
                return inside if pseudo else []
            page = self._page(path, page.cookie, page.verifier)

    def _note(
        self,
        path: tuple[bytes, ...],
        entry: nfs4.Entry,
        parent: tuple[int, int],
        inside: list[tuple[bytes, ...]],
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
            inside.append(path)

    def _page(self, path: tuple[bytes, ...], cookie: int, verifier: bytes) -> nfs4.Page:
        """Read a page; a server that still has to ask its mountd says that it should be tried again."""
        while True:
            try:
                return nfs4.read_directory(self._connection, path, cookie, verifier)
            except NfsError as error:
                if error.status != nfs4.DELAY or self._deadline.left() < _TRY_AGAIN_S:
                    raise
                self._deadline.pause(_TRY_AGAIN_S)


def _text(path: tuple[bytes, ...]) -> str:
    return "/" + "/".join(readable(name) for name in path)
