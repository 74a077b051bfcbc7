"""Host names as the network gives them: which are valid, and what the name service knows of an address.

Anybody on the network can announce anything. A name that is shown and offered for a share has the letters of
RFC 952 and RFC 1123 (and the underscore, which is common), in labels of at most 63 bytes, 253 in all (RFC
1035 §2.3.4).
"""

from __future__ import annotations

import ipaddress
import re
import socket

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_MAX_NAME = 253


def is_host_name(name: str) -> bool:
    """Whether a text can be the name of a host; the root's dot must be off, and an address is none."""
    if not 0 < len(name) <= _MAX_NAME or is_address(name):
        return False
    labels = name.split(".")
    return all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal()


def is_address(text: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address; the latter may have a zone."""
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def reverse_name(address: str) -> str:
    """Return the name of an address, "" if the name service knows none; it may take as long as that likes."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
    except (OSError, UnicodeError):
        return ""
    return name if is_host_name(name) else ""


def leads_to(name: str, address: str) -> bool:
    """Whether the name service gives this address for a name; it may take as long as that likes."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return address.partition("%")[0] in {str(entry[4][0]).partition("%")[0] for entry in found}
