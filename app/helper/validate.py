"""Validation of shares and mount points by their grammar.

    server = IPv4 | "[" IPv6 [ "%" zone ] "]" | name
    export = "/" [ component *( "/" component ) [ "/" ] ]
    target = "/" component *( "/" component )

No component is "." or "..", and every character is printable (str.isprintable). An export contains no comma
and no colon, because mount.nfs reads a comma as a list of servers. A character that is not printable could
control a terminal (U+009B), reverse a line (U+202E) or look like a blank (U+00A0) where the name is shown.
"""

from __future__ import annotations

import ipaddress
import posixpath
import re
from typing import TYPE_CHECKING

from app.helper.errors import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

#: Label of a host name. Underscores occur in real names; a leading "-" would look like a command line option.
_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\Z")
_ZONE = re.compile(r"[A-Za-z0-9._-]{1,15}\Z")
#: Longest export, bytes: the kernel's limit for a path (NFS_MAXPATHLEN is 1024 with the final NUL).
MAX_EXPORT = 1023
#: Longest mount point, bytes with escapes: libmount and udisks cut fields of fstab at 511 bytes.
MAX_TARGET = 511
#: Longest component of a path, bytes (NAME_MAX).
MAX_COMPONENT = 255


def share(text: str) -> str:
    """Return a share ``server:/export`` unchanged if it matches the grammar.

    Raises:
        Refusal: code share-invalid.
    """
    if text.startswith("["):
        server, _separator, export = text[1:].partition("]:")
        good_server = _is_ipv6(server)
    else:
        server, _separator, export = text.partition(":")
        good_server = is_address(server, ipaddress.IPv4Address) or _is_name(server)
    if not text.isprintable():
        raise Refusal("share-invalid", f"The share contains a character that is not printable{which(text)}.")
    if not good_server or not _is_export(export):
        raise Refusal("share-invalid", "The share is not of the form server:/export.")
    return text


def target(text: str) -> str:
    """Return a mount point unchanged if it is an absolute, normalized path within the limits of length.

    Raises:
        Refusal: code mount-point-invalid.
    """
    if not text.startswith("/"):
        raise Refusal("mount-point-invalid", "The mount point is not an absolute path.")
    if not text.isprintable():
        raise Refusal(
            "mount-point-invalid", f"The mount point contains a character that is not printable{which(text)}."
        )
    if text.startswith("//") or posixpath.normpath(text) != text:
        raise Refusal(
            "mount-point-invalid",
            "The mount point is not in its plain form: it has an empty part, “.”, “..” or a final slash.",
        )
    parts = text.encode().split(b"/")
    if max(map(len, parts)) > MAX_COMPONENT or _escaped_length(text) > MAX_TARGET:
        raise Refusal("mount-point-invalid", "The mount point is too long.")
    return text


def which(text: str) -> str:
    """Return the code point of the first unprintable character for a message, such as " (U+009B)"."""
    return next((f" (U+{ord(c):04X})" for c in text if not c.isprintable()), "")


def _escaped_length(text: str) -> int:
    # In fstab a space and a backslash are written as a backslash and three digits.
    return len(text.encode()) + 3 * (text.count(" ") + text.count("\\"))


def _is_export(text: str) -> bool:
    if not text.startswith("/") or len(text.encode()) > MAX_EXPORT or {",", ":"} & set(text):
        return False
    body = text[1:].removesuffix("/")
    if not body:
        return text == "/"
    return all(part not in {"", ".", ".."} for part in body.split("/"))


def is_address(text: str, kind: Callable[[str], object] = ipaddress.ip_address) -> bool:
    """Whether a text is an IP address without a zone.

    Args:
        text: text to test.
        kind: parser of the address, for version 4, 6 or both.
    """
    try:
        kind(text)
    except ValueError:
        return False
    return text.isascii() and "%" not in text


def _is_ipv6(text: str) -> bool:
    address, percent, zone = text.partition("%")
    return is_address(address, ipaddress.IPv6Address) and (not percent or bool(_ZONE.match(zone)))


def _is_name(text: str) -> bool:
    name = text.removesuffix(".")
    labels = name.split(".")
    # A name of digits and dots alone is a malformed IPv4 address.
    if len(name) > 253 or all(label.isdigit() for label in labels):
        return False
    return all(_LABEL.match(label) for label in labels)
