"""Host names: validation, and forward and reverse lookup.

Any computer on the network can announce any name. A valid name consists of the characters of RFC 952 and RFC
1123, and the underscore, which is common. It has at most 253 bytes, and each label at most 63 (RFC 1035
§2.3.4).
"""

from __future__ import annotations

import ipaddress
import re
import socket

_LABEL = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_MAX_NAME = 253


def is_host_name(name: str) -> bool:
    """Return whether the text is a valid host name, without a trailing dot; addresses are not names."""
    if not 0 < len(name) <= _MAX_NAME or is_address(name):
        return False
    labels = name.split(".")
    return all(map(_LABEL.fullmatch, labels)) and not labels[-1].isdecimal()


def is_address(text: str) -> bool:
    """Return whether the text is an IPv4 address, or an IPv6 address with or without a zone."""
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def reverse_name(address: str) -> str:
    """Return the name of an address by reverse lookup, "" if it has none; may block for many seconds."""
    try:
        name = socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
    except (OSError, UnicodeError):
        return ""
    return name if is_host_name(name) else ""


def leads_to(name: str, address: str) -> bool:
    """Return whether the name resolves to the address; may block for many seconds."""
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return False
    return address.partition("%")[0] in {str(entry[4][0]).partition("%")[0] for entry in found}
