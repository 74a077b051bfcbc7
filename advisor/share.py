"""Shares: parsing and printing ``server:/export`` as mount.nfs does (nfs-utils, utils/mount/parse_dev.c)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

#: A label of a host name; underscores and letters of other scripts are allowed, as the resolver decides.
_HOST_LABEL = re.compile(r"[^\W_]([\w-]{0,61}\w)?|_[\w-]{0,62}")
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}")
#: Maximum length of an export, bytes (NFS_MAXPATHLEN of the kernel).
_MAX_EXPORT_BYTES = 1024


class ShareError(ValueError):
    """The text is not a share; the message says why, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Share:
    """One export of one server.

    Attributes:
        host: name or address, without brackets, with the zone of a link-local address (``fe80::1%eth0``).
        export: path on the server, as written, with or without a leading slash; may be "". Version 4
            resolves both forms from the server's root (Linux 6.1 shows ``nas:`` as ``nas:/``). Version 3
            sends the text unchanged, for servers whose exports have names instead of paths.
    """

    host: str
    export: str

    @classmethod
    def parse(cls, text: str) -> Share:
        """Return the share that a text such as ``nas:/export`` denotes.

        Raises:
            ShareError: if the text is not a valid share.
        """
        if not text:
            raise ShareError("nothing is written.")
        if any(ord(c) < 0x20 or ord(c) == 0x7F or 0xD800 <= ord(c) <= 0xDFFF for c in text):
            raise ShareError("it contains a control character or a byte that is not UTF-8.")
        if text.startswith("nfs://"):
            raise ShareError("addresses with nfs:// are not understood.")
        host, export = _parse_bracketed(text) if text.startswith("[") else _parse_plain(text)
        _check_export(export)
        return cls(host, export)

    @property
    def absolute(self) -> Share:
        """The share with a leading slash in its export, which is equivalent in version 4."""
        return self if self.export.startswith("/") else Share(self.host, f"/{self.export}")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.export}"


def is_share(text: str) -> bool:
    """Whether a text is a valid share."""
    try:
        Share.parse(text)
    except ShareError:
        return False
    return True


def _parse_bracketed(text: str) -> tuple[str, str]:
    host, bracket, rest = text[1:].partition("]")
    if not bracket:
        raise ShareError("the bracket is not closed.")
    address, percent, zone = host.partition("%")
    if not _is_address(address, 6) or (percent and not _ZONE.fullmatch(zone)):
        raise ShareError(f"“{host}” is not an IPv6 address.")
    if not rest.startswith(":"):
        raise ShareError("there is no colon behind the address.")
    return host, rest[1:]


def _parse_plain(text: str) -> tuple[str, str]:
    host, colon, export = text.partition(":")
    if not colon:
        raise ShareError("there is no colon between server and export.")
    if not host:
        raise ShareError("no server stands before the colon.")
    if "/" in host:
        raise ShareError("a slash stands before the colon.")
    if not export.startswith("/") and ":" in export:
        raise ShareError("an IPv6 address has to stand in brackets.")
    _check_host(host)
    return host, export


def _check_host(host: str) -> None:
    if _is_address(host, 4):
        return
    if "," in host:
        raise ShareError("several servers in one share are not understood.")
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or not all(_HOST_LABEL.fullmatch(label) for label in labels):
        raise ShareError(f"“{host}” is not a server's name or address.")
    if all(label.isascii() and label.isdigit() for label in labels):
        raise ShareError(f"“{host}” is not an IPv4 address.")


def _check_export(export: str) -> None:
    if len(export.encode()) > _MAX_EXPORT_BYTES:
        raise ShareError("the export is too long.")
    if any(part in {".", ".."} for part in export.split("/")):
        raise ShareError("the export contains a part “.” or “..”.")


def _is_address(text: str, version: int) -> bool:
    try:
        return text.isascii() and ipaddress.ip_address(text).version == version
    except ValueError:
        return False
