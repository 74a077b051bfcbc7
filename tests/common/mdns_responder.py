"""Responder of multicast DNS (RFC 6762): answers questions for _nfs._tcp with prepared packets.

MALFORMED has malformed packets, as any host of a network can send them.
"""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GROUP, PORT = "224.0.0.251", 5353
SERVICE = b"_nfs._tcp.local"
_A, _PTR, _TXT, _SRV = 1, 12, 16, 33
_ANSWER, _FLUSH = 0x8400, 0x8001
_HEADER = struct.pack(">6H", 0, _ANSWER, 0, 1, 0, 0)


def name(text: bytes) -> bytes:
    """Encode a name as labels (RFC 1035, 3.1); a backslash before a dot keeps the dot in its label."""
    labels = [label.replace(b"\0", b".") for label in text.replace(b"\\.", b"\0").split(b".")]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def record(owner: bytes, kind: int, data: bytes, cls: int = _FLUSH) -> bytes:
    return name(owner) + struct.pack(">HHIH", kind, cls, 120, len(data)) + data


def message(records: Sequence[bytes], count: int | None = None) -> bytes:
    answers = len(records) if count is None else count
    return struct.pack(">6H", 0, _ANSWER, 0, answers, 0, 0) + b"".join(records)


def announcement(instance: bytes, host: bytes, address: str, path: bytes = b"") -> bytes:
    """Return the packet with which a server announces an NFS export: PTR, SRV, TXT and A records."""
    full = instance + b"." + SERVICE
    text = b"path=" + path if path else b""
    return message([
        record(SERVICE, _PTR, name(full), cls=1),
        record(full, _SRV, struct.pack(">3H", 0, 0, 2049) + name(host)),
        record(full, _TXT, bytes([len(text)]) + text),
        record(host, _A, socket.inet_aton(address)),
    ])  # fmt: skip


def _pointing(at: int) -> bytes:
    """Return a packet whose only name is a compression pointer to an offset (RFC 1035, 4.1.4)."""
    pointer = struct.pack(">H", 0xC000 | at)
    rest = struct.pack(">HHIH", _PTR, 1, 120, 2) + pointer
    return _HEADER + pointer + rest


_WHOLE = announcement(b"Whole", b"whole.local", "192.0.2.9")
MALFORMED = {
    "empty": b"",
    "half a header": _WHOLE[:7],
    "a name that points to itself": _pointing(12),
    "a name that points beyond the end": _pointing(0x3FFF),
    "names that point at each other": _HEADER + b"\xc0\x0e\xc0\x0c" + bytes(10),
    "truncated in a name": _WHOLE[:20],
    "truncated in a record": _WHOLE[:-3],
    "more records than there are": message([record(SERVICE, _PTR, name(b"x." + SERVICE))], count=65535),
    "a label that is too long": _HEADER + b"\x7f" + bytes(40),
    "a text that is longer than its record": message([record(b"x." + SERVICE, _TXT, b"\xffpath=/")]),
    "a service without a host": message([
        record(SERVICE, _PTR, name(b"lost." + SERVICE), cls=1),
        record(b"lost." + SERVICE, _SRV, struct.pack(">3H", 0, 0, 2049) + b"\0"),
    ]),
    "noise": bytes(range(256)) * 5,
}  # fmt: skip


class Responder:
    """Responder that sends packets from an address, in the network namespace of the creating thread."""

    def __init__(self, address: str, packets: Sequence[bytes]) -> None:
        self._address = address
        self._packets = packets
        self._stop = threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._socket.bind(("", PORT))
        own = socket.inet_aton(address)
        member = socket.inet_aton(GROUP) + own
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, own)
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 255)
        self._socket.settimeout(0.05)
        self._thread = threading.Thread(target=self._answer, name="mdns-responder")

    def __enter__(self) -> Responder:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def _answer(self) -> None:
        while not self._stop.is_set():
            try:
                question = self._socket.recv(9000)
            except TimeoutError:
                continue
            if question[2:3] < b"\x80" and name(b"_nfs._tcp")[:-1] in question:
                for packet in self._packets:
                    self._socket.sendto(packet, (GROUP, PORT))
