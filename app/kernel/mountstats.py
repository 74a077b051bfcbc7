"""NFS client counters of each mount, and their sums: /proc/self/mountstats.

Written by the kernel's ``nfs_show_stats`` (fs/nfs/super.c), ``rpc_clnt_show_stats`` (net/sunrpc/stats.c) and
the ``print_stats`` of each transport (net/sunrpc/xprtsock.c, net/sunrpc/xprtrdma/transport.c). Lines and
procedures differ between kernels, so they are matched by name, and unknown ones are skipped. Reading the file
never blocks on a dead server and needs no privilege.
"""

from __future__ import annotations

import re
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from resources.decoding import converted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

#: Names of the numbers of the ``events:`` line (enum nfs_stat_eventcounters, include/linux/nfs_iostat.h).
EVENT_NAMES = (
    "inode_revalidate", "dentry_revalidate", "data_invalidate", "attr_invalidate", "vfs_open", "vfs_lookup",
    "vfs_access", "vfs_update_page", "vfs_read_page", "vfs_read_pages", "vfs_write_page", "vfs_write_pages",
    "vfs_get_dents", "vfs_setattr", "vfs_flush", "vfs_fsync", "vfs_lock", "vfs_release", "congestion_wait",
    "setattr_trunc", "extend_write", "silly_rename", "short_read", "short_write", "delay", "pnfs_read",
    "pnfs_write",
)  # fmt: skip

_ESCAPE = re.compile(r"\\([0-7]{3})")
_DEVICE = re.compile(r"device (\S+) mounted on (\S+) with fstype (nfs4?)(?: statvers=(\S+))?[ \t]*$")
_OPERATION = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9_]*): +(\d[\d ]*)$")


class ByteCounters(NamedTuple):
    """The ``bytes:`` line since the file system was mounted.

    Attributes:
        normal_read: bytes that programs read through the page cache.
        normal_written: bytes that programs wrote through the page cache.
        direct_read: bytes that programs read with O_DIRECT.
        direct_written: bytes that programs wrote with O_DIRECT.
        server_read: payload bytes received from the server.
        server_written: payload bytes sent to the server.
        read_pages: pages read by the page cache.
        write_pages: pages written by the page cache.
    """

    normal_read: int = 0
    normal_written: int = 0
    direct_read: int = 0
    direct_written: int = 0
    server_read: int = 0
    server_written: int = 0
    read_pages: int = 0
    write_pages: int = 0


class OpCounters(NamedTuple):
    """Counters of one RPC procedure since the file system was mounted.

    Attributes:
        ops: completed operations.
        transmissions: transmissions; the excess over ``ops`` is the number of retransmissions.
        timeouts: major timeouts.
        bytes_sent: bytes sent, including RPC headers.
        bytes_received: bytes received, including RPC headers.
        queue_ms: sum of the waits before transmission, milliseconds.
        rtt_ms: sum of the round-trip times, milliseconds.
        execute_ms: sum of the times from request to completion, milliseconds.
        errors: replies with an error status, including the harmless ENOENT of a lookup; 0 with statvers 1.0.
    """

    ops: int = 0
    transmissions: int = 0
    timeouts: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    queue_ms: int = 0
    rtt_ms: int = 0
    execute_ms: int = 0
    errors: int = 0


class Xprt(msgspec.Struct, frozen=True, kw_only=True):
    """One transport of an NFS client, shared by all its mounts; counters that a kind lacks are 0.

    Attributes:
        kind: tcp, udp, rdma, local, or another name that the kernel prints.
        port: local port; 0 if it is not fixed (NFS 4.1 and later).
        bind_count: number of binds.
        connect_count: number of connections; its growth counts reconnections.
        connect_time_s: total time spent connecting, seconds.
        idle_time_s: time since the last use, seconds.
        sends: requests sent.
        receives: replies received.
        bad_xids: replies whose transaction id matched no request.
        request_u: number of requests in flight, summed over all sends.
        backlog_u: number of requests without a slot, summed over all sends.
        max_slots: largest number of slots used.
        sending_u: length of the send queue, summed over all sends.
        pending_u: number of requests that wait for a reply, summed over all sends.
        numbers: all numbers of the line in the order of the kernel.
    """

    kind: str
    port: int = 0
    bind_count: int = 0
    connect_count: int = 0
    connect_time_s: int = 0
    idle_time_s: int = 0
    sends: int = 0
    receives: int = 0
    bad_xids: int = 0
    request_u: int = 0
    backlog_u: int = 0
    max_slots: int = 0
    sending_u: int = 0
    pending_u: int = 0
    numbers: tuple[int, ...] = ()


class MountStats(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of one NFS mount; mounts that share a superblock have the same counters.

    Attributes:
        mount_point: absolute path, unescaped.
        share: source as the kernel prints it, unescaped.
        fstype: nfs or nfs4.
        statvers: version of the format.
        opts: options in use, including the default attribute cache times.
        age_s: time since the file system was mounted, seconds.
        impl_id: implementation id of an NFS 4.1+ server, "" for none.
        rpc_version: NFS version of the RPC program, 3 or 4; 0 if the block is truncated.
        events: event counters, by the names of EVENT_NAMES.
        bytes: byte counters.
        xprts: the transports, one for each connection of the client.
        ops: counters by procedure name.
    """

    mount_point: str
    share: str
    fstype: str
    statvers: str
    opts: dict[str, str]
    age_s: int
    impl_id: str
    rpc_version: int
    events: dict[str, int]
    bytes: ByteCounters
    xprts: tuple[Xprt, ...]
    ops: dict[str, OpCounters]


#: Names of the numbers of an ``xprt:`` line, by kind of transport.
_XPRT_FIELDS: dict[str, tuple[str, ...]] = {
    "tcp": ("port", "bind_count", "connect_count", "connect_time_s", "idle_time_s", "sends", "receives",
            "bad_xids", "request_u", "backlog_u", "max_slots", "sending_u", "pending_u"),
    "udp": ("port", "bind_count", "sends", "receives", "bad_xids", "request_u", "backlog_u", "max_slots",
            "sending_u", "pending_u"),
    "local": ("bind_count", "connect_count", "connect_time_s", "idle_time_s", "sends", "receives",
              "bad_xids", "request_u", "backlog_u", "max_slots", "sending_u", "pending_u"),
    "rdma": ("port", "bind_count", "connect_count", "connect_time_s", "idle_time_s", "sends", "receives",
             "bad_xids", "request_u", "backlog_u"),
}  # fmt: skip


def read_text(root: str = "/") -> str:
    """Return the text of this process's mountstats; bytes that are not UTF-8 become surrogates.

    Raises:
        OSError: if /proc/self/mountstats cannot be read.
    """
    return Path(root, "proc/self/mountstats").read_bytes().decode(errors="surrogateescape")


def read_mountstats(root: str = "/") -> list[MountStats]:
    """Return the statistics of every NFS mount, in the order of the kernel.

    Raises:
        OSError: if /proc/self/mountstats cannot be read.
    """
    return parse(read_text(root))


def parse(text: str) -> list[MountStats]:
    """Return the statistics of every NFS mount in the text; other file systems are skipped."""
    return [_parse_block(match, lines) for match, lines in _blocks(text.split("\n"))]


def parse_xprts(text: str) -> dict[str, tuple[Xprt, ...]]:
    """Return the transports by mount point, without parsing the procedures.

    Of several mounts at one mount point the last one counts, which is the visible one.
    """
    xprts_by_point: dict[str, tuple[Xprt, ...]] = {}
    for block in ("\n" + text).split("\ndevice ")[1:]:
        end = block.find("\n\tper-op")
        lines = (block if end < 0 else block[:end]).split("\n")
        head = _DEVICE.match(f"device {lines[0]}")
        if head is not None:
            words = (line.strip().partition(":") for line in lines[1:])
            xprts = [xprt for name, _, value in words if name == "xprt" for xprt in _parse_xprt(value)]
            xprts_by_point[unescape_path(head[2])] = tuple(xprts)
    return xprts_by_point


def find_block(text: str, mount_point: str) -> str | None:
    """Return the lines of the NFS mount at a mount point, or None; of several, the last and visible one."""
    start = text.rfind(f" mounted on {escape_path(mount_point)} with fstype nfs")
    if start < 0:
        return None
    start = text.rfind("\n", 0, start) + 1
    end = text.find("\ndevice ", start)
    return text[start:] if end < 0 else text[start:end]


def parse_one(text: str, mount_point: str) -> MountStats | None:
    """Return the statistics of one mount, or None; other blocks are not parsed."""
    block = find_block(text, mount_point)
    if block is None:
        return None
    mounts = parse(block)
    return mounts[0] if mounts else None


def escape_path(path: str) -> str:
    r"""Return a path as the kernel prints it: space, tab, newline and backslash in octal (seq_path)."""
    for character in "\\ \t\n":
        path = path.replace(character, f"\\{ord(character):03o}")
    return path


def unescape_path(text: str) -> str:
    """Return a path of the kernel's output with its octal escapes decoded."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def _blocks(lines: Sequence[str]) -> Iterator[tuple[re.Match[str], list[str]]]:
    head: re.Match[str] | None = None
    body: list[str] = []
    for line in lines:
        if line.startswith("device "):
            if head is not None:
                yield head, body
            head, body = _DEVICE.match(line), []
        elif head is not None:
            body.append(line)
    if head is not None:
        yield head, body


def _parse_block(head: re.Match[str], lines: Sequence[str]) -> MountStats:
    values: dict[str, str] = {}
    xprts: list[Xprt] = []
    ops: dict[str, OpCounters] = {}
    in_ops = False
    for line in lines:
        if in_ops:
            _add_operation(ops, line)
            continue
        name, colon, value = line.strip().partition(":")
        if not colon:
            in_ops = name == "per-op statistics"
        elif name == "xprt":
            xprts.extend(_parse_xprt(value))
        else:
            values.setdefault(name, value.strip())
    return MountStats(
        mount_point=unescape_path(head[2]),
        share=unescape_path(head[1]),
        fstype=head[3],
        statvers=head[4] or "",
        opts=_parse_opts(values.get("opts", "")),
        age_s=next(iter(_numbers(values.get("age", ""))), 0),
        impl_id=values.get("impl_id", ""),
        rpc_version=_rpc_version(values.get("RPC iostats version", "")),
        events=dict(zip(EVENT_NAMES, _numbers(values.get("events", "")), strict=False)),
        bytes=ByteCounters(*_numbers(values.get("bytes", ""))[: len(ByteCounters._fields)]),
        xprts=tuple(xprts),
        ops=ops,
    )


def _add_operation(ops: dict[str, OpCounters], line: str) -> None:
    match = _OPERATION.match(line)
    if match is None:
        return
    numbers = _numbers(match[2])
    # A truncated line would give wrong sums: statvers 1.0 has eight numbers, later versions have nine.
    if len(numbers) >= len(OpCounters._fields) - 1:
        ops[match[1]] = OpCounters(*numbers[: len(OpCounters._fields)])


def _parse_opts(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in text.split(",") if word)
    return {name: value for name, _, value in pairs}


def _rpc_version(text: str) -> int:
    match = re.search(r"p/v: \d+/(\d{1,9})", text)
    return int(match[1]) if match else 0


def _parse_xprt(text: str) -> Iterator[Xprt]:
    words = text.split()
    if not words:
        return
    numbers = _numbers(" ".join(words[1:]))
    names = _XPRT_FIELDS.get(words[0], ())
    fields = {name: number for name, number in zip_longest(names, numbers[: len(names)]) if number}
    yield converted({"kind": words[0], "numbers": numbers, **fields}, Xprt)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the leading whole numbers of a text; one of more than 64 bits ends them as damaged."""
    numbers: list[int] = []
    for word in text.split():
        if not (word.isascii() and word.isdigit() and len(word) <= 20):
            break
        numbers.append(int(word))
    return tuple(numbers)


#: Procedures that read data; NFS 4.2 clients of Linux 6.12 and later use READ_PLUS.
READ_OPS = ("READ", "READ_PLUS")
WRITE_OPS = ("WRITE",)
COMMIT_OPS = ("COMMIT",)


class CounterTotals(NamedTuple):
    """Counters of a mount summed over all procedures; they never decrease while it stays mounted.

    Attributes:
        age_s: time since the file system was mounted, seconds.
        server_read: payload bytes received from the server.
        server_written: payload bytes sent to the server.
        ops: completed RPC operations.
        rtt_ms: sum of the round-trip times, milliseconds.
        queue_ms: sum of the waits before transmission, milliseconds.
        timeouts: major timeouts.
        retransmissions: transmissions minus operations; 0 with NFSv4 unless a connection breaks.
        connections: number of transports; it may decrease.
    """

    age_s: int
    server_read: int
    server_written: int
    ops: int
    rtt_ms: int
    queue_ms: int
    timeouts: int
    retransmissions: int
    connections: int


def sum_ops(stats: MountStats, names: Iterable[str] | None = None) -> list[OpCounters]:
    """Return the counters of the named procedures that the mount has; of all procedures if None."""
    if names is None:
        return list(stats.ops.values())
    return [stats.ops[name] for name in names if name in stats.ops]


def totals(stats: MountStats) -> CounterTotals:
    """Return the sums over all procedures of a mount."""
    ops = sum_ops(stats)
    return CounterTotals(
        age_s=stats.age_s,
        server_read=stats.bytes.server_read,
        server_written=stats.bytes.server_written,
        ops=sum(op.ops for op in ops),
        rtt_ms=sum(op.rtt_ms for op in ops),
        queue_ms=sum(op.queue_ms for op in ops),
        timeouts=sum(op.timeouts for op in ops),
        retransmissions=sum(max(op.transmissions - op.ops, 0) for op in ops),
        connections=len(stats.xprts),
    )


def counters_restarted(before: CounterTotals, after: CounterTotals) -> bool:
    """Return whether a counter decreased, because of a new mount or a damaged text."""
    pairs = zip(before[:-1], after[:-1], strict=True)  # the number of connections may shrink
    return any(new < old for old, new in pairs)
