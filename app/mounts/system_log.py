"""System log: the lines about one mount and its server, by journalctl(1), else from /dev/kmsg.

The journal is asked for the kernel and for the programs that mount; of what comes, the lines are kept that
name this server, this share or this mount point, and those of the kernel's NFS client that name no server.
Lines about other servers are dropped. Reading is bounded in time, bytes and lines.
"""

from __future__ import annotations

import errno
import os
import re
import select
import shlex
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from advisor.options import MountOptions
from advisor.share import Share, ShareError
from app import process
from app.helper import unit_text
from app.helper.errors import Refusal
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from app.mounts.model import Mount
    from app.tasks import CancelToken

MAX_LINES = 2000
#: A week: older lines seldom explain what a mount does now, and a journal may have years.
MAX_SINCE_S = 7 * 86400.0
_DEADLINE_S = 15.0
#: The journal prints newest first, so what is cut off here is old.
_MAX_BYTES = 32 * 2**20
_MAX_LINE_BYTES = 64 * 2**10
_MAX_TEXT = 1000
_CHUNK = 64 * 2**10
#: What the journal is asked for, beside the kernel and the units of the mount: syslog(3) names of what
#: mounts, and of the daemons of an NFS client (nfs-utils, ktls-utils, autofs).
PROGRAMS = ("mount", "mount.nfs", "mount.nfs4", "umount.nfs", "umount.nfs4", "rpc.statd", "rpc.gssd",
            "rpc.idmapd", "nfsidmap", "nfsrahead", "sm-notify", "tlshd", "automount",
            "mountwright-helper")  # fmt: skip
#: How lines of the kernel's NFS client begin (fs/nfs, fs/lockd, net/sunrpc); nfsd is the server's side.
_KERNEL_LINE = re.compile(
    r"(?:nfs(?!d)\w*|rpc\w*|sunrpc|lockd|nlm\w*|nsm\w*|statd|xprt\w*|xs_\w+)\b", re.IGNORECASE
)
#: Messages that name a server (net/sunrpc/clnt.c, fs/nfs/nfs4client.c, fs/nfs/nfs4state.c, fs/lockd/mon.c).
_NAMED_SERVER = (
    re.compile(
        r"\bserver \S+ (?:is )?(?:not responding|OK|reports|error|returned|failed|does)\b", re.IGNORECASE
    ),
    re.compile(r"\bNFSv4(?:\.\d)? server \S"),
    re.compile(r"\b(?:cannot|failed to|unable to) (?:un)?monitor \S"),
)
_KMSG = "dev/kmsg"

#: Where the lines are from, or why there are none: no journal and no kernel log is there, or this user may
#: read neither.
LogSource = Literal["journal", "kernel", "none", "forbidden"]


class LogArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.log``: of the mount at this path, at most so many lines of so many last seconds."""

    mount_point: str
    since_s: float = 86400.0
    lines: int = 200


class LogLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line.

    Attributes:
        time_s: seconds since 1970, UTC.
        program: "kernel", or the name of a program.
        priority: of syslog(3): 0 emergency to 7 debug.
        text: the message.
    """

    time_s: float
    program: str
    priority: int
    text: str


class MountLog(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    Attributes:
        lines: oldest first.
        source: where they are from.
        partial: whether there may be more: the time or the number of bytes or lines ran out.
        group: whose members may read the journal, which this user may not: the kernel's log was read instead.
            "" where there is no journal, or it was read.
    """

    lines: list[LogLine]
    source: LogSource
    partial: bool = False
    group: str = ""


@dataclass(frozen=True, slots=True)
class LogSubject:
    """What lines have to be about.

    Attributes:
        point: mount point.
        servers: names and addresses of its server.
        others: those of the other servers that are known here.
        units: names of its systemd units.
    """

    point: str
    servers: frozenset[str]
    others: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()
    _own: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own", _names([*self.servers, self.point, *self.units]))

    def concerns(self, program: str, text: str, unit: str = "") -> bool:
        """Whether a line is about the mount or its server.

        Args:
            program: "kernel", or the name of a program.
            text: the message.
            unit: the systemd unit that it is about or from, "" if none.
        """
        if unit in self.units:
            return True
        if program != "kernel" and program not in PROGRAMS and program != "systemd":
            return False
        if program == "kernel" and not _KERNEL_LINE.match(text):
            return False
        if self._own.search(text):
            return True
        return program == "kernel" and not self._names_other_server(text)

    def _names_other_server(self, text: str) -> bool:
        """Whether it names a server, which is none of ours then."""
        known = self.others and _names(self.others).search(text)
        return bool(known) or any(pattern.search(text) for pattern in _NAMED_SERVER)


def log_subject(mount: Mount, mounts: Sequence[Mount]) -> LogSubject:
    """Return what the lines about a mount name.

    Args:
        mount: whose lines are wanted.
        mounts: all mounts of this host.
    """
    servers = _servers(mount)
    others: set[str] = set()
    for one in mounts:
        found = _servers(one)
        others |= set() if found & servers else found
    units: tuple[str, ...]
    try:
        units = (unit_text.name(mount.mount_point), unit_text.name(mount.mount_point, "automount"))
    except Refusal:
        units = ()
    return LogSubject(mount.mount_point, frozenset(servers), frozenset(others), units)


def _servers(mount: Mount) -> set[str]:
    shares = {mount.share}
    options = [mount.configured.options] if mount.configured is not None else []
    if mount.active is not None:
        shares.add(mount.active.share)
        options.append(mount.active.options)
    found: set[str] = set()
    for share in shares:
        try:
            found.add(Share.parse(share).host.strip("[]"))
        except ShareError:
            continue
    for text in options:
        values = MountOptions.parse(text)
        found |= {values.get(name) or "" for name in ("addr", "mountaddr")}
    return found - {""}


def _names(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of the words as a whole: “nas1” is not in “nas10”, nor “/mnt” in “/mnt/a”."""
    whole = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    return re.compile(rf"(?<![\w./-])(?:{whole})(?![\w/-]|\.\w)" if whole else r"(?!)")


class LogReader:
    """Reads the log of this host.

    Args:
        root: where the journal and dev/kmsg are looked for; tests give a folder of files.
        journalctl: the program, None to look for it.
        clock: seconds since 1970.
        deadline_s: how long the journal may take.
    """

    def __init__(
        self,
        root: str = "/",
        *,
        journalctl: str | None = None,
        clock: Callable[[], float] = time.time,
        deadline_s: float = _DEADLINE_S,
    ) -> None:
        self._root = root
        self._journalctl = journalctl
        self._clock = clock
        self._deadline_s = deadline_s

    def read(self, subject: LogSubject, token: CancelToken, *, since_s: float, lines: int) -> MountLog:
        """Return the newest lines about a mount.

        Args:
            subject: the mount.
            token: cancels it.
            since_s: seconds; older lines are left out, at most MAX_SINCE_S.
            lines: how many at most, up to MAX_LINES.

        Raises:
            CancelledError: if the token is set.
        """
        since = self._clock() - min(max(since_s, 0.0), MAX_SINCE_S)
        lines = min(max(lines, 1), MAX_LINES)
        program = self._journalctl or process.find_program("journalctl")
        journal = self._find_journal()
        if program is not None and journal is not None and os.access(journal, os.R_OK):
            return self._read_journal(program, subject, token, since, lines)
        log = self._read_kernel(subject, since, lines)
        return msgspec.structs.replace(log, group=_group_of(journal) if program and journal else "")

    def _find_journal(self) -> Path | None:
        """Return the file of the system's journal: who may read it sees all, others see their own lines."""
        for folder in ("var/log/journal", "run/log/journal"):
            found = sorted(Path(self._root, folder).glob("*/system.journal"))
            if found:
                return found[0]
        return None

    def _read_journal(
        self, program: str, subject: LogSubject, token: CancelToken, since: float, lines: int
    ) -> MountLog:
        command = [program, *journal_arguments(subject, since)]
        child = process.start(command, stdin=process.DEVNULL, stderr=process.DEVNULL, cwd="/")
        found: list[LogLine] = []
        output = _ChildOutput(child, time.monotonic() + self._deadline_s)
        try:
            with token.on_cancel(lambda: process.kill_group(child)):
                for raw in output.lines():
                    line = _journal_line(raw, subject)
                    if line is not None:
                        found.append(line)
                        if len(found) > lines:
                            break
        finally:
            process.kill_group(child)
            output.close()
            process.wait(child, 1.0)
        token.check()
        partial = output.cut or len(found) > lines
        return MountLog(lines=found[:lines][::-1], source="journal", partial=partial)

    def _read_kernel(self, subject: LogSubject, since: float, lines: int) -> MountLog:
        try:
            fd = os.open(Path(self._root, _KMSG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            denied = error.errno in {errno.EPERM, errno.EACCES}
            return MountLog(lines=[], source="forbidden" if denied else "none")
        kept: deque[LogLine] = deque(maxlen=lines + 1)
        try:
            booted = self._clock() - time.clock_gettime(time.CLOCK_MONOTONIC)
            for record in _records(fd):
                line = _kernel_line(record, booted)
                if line is not None and line.time_s >= since and subject.concerns("kernel", line.text):
                    kept.append(line)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.EACCES}:
                raise
            return MountLog(lines=[], source="forbidden")
        finally:
            os.close(fd)
        return MountLog(lines=list(kept)[-lines:], source="kernel", partial=len(kept) > lines)


def _group_of(path: Path) -> str:
    """Return the group that may read a file of the journal; it is on the disk of the system."""
    try:
        return path.group()
    except (OSError, KeyError):
        return "systemd-journal"


def journal_arguments(subject: LogSubject, since: float) -> list[str]:
    """Return the arguments of journalctl(1): matches of one field are alternatives, “+” parts groups."""
    names = [f"SYSLOG_IDENTIFIER={name}" for name in PROGRAMS]
    units = [f"{name}={unit}" for unit in subject.units for name in ("UNIT", "_SYSTEMD_UNIT")]
    groups = [["_TRANSPORT=kernel"], names, *([word] for word in units)]
    matches = [word for group in groups for word in ("+", *group)][1:]
    fields = "MESSAGE,PRIORITY,SYSLOG_IDENTIFIER,_COMM,_TRANSPORT,UNIT,_SYSTEMD_UNIT"
    return [
        "--output=json", f"--output-fields={fields}", "--no-pager", "--quiet", "--reverse",
        f"--since=@{int(since)}", *matches,
    ]  # fmt: skip


class _ChildOutput:
    """What a child prints, line by line, until a deadline or too many bytes.

    Attributes:
        cut: whether it was ended before its end.
    """

    def __init__(self, child: process.Child, end: float) -> None:
        self._pipe = child.stdout
        self._end = end
        self.cut = False

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()

    def lines(self) -> Iterator[bytes]:
        """Yield whole lines; one that is too long is left out."""
        rest, read, too_long = b"", 0, False
        while True:
            left_s = self._end - time.monotonic()
            if left_s <= 0 or read > _MAX_BYTES or not select.select([self._pipe], [], [], left_s)[0]:
                self.cut = True
                return
            chunk = os.read(self._pipe.fileno(), _CHUNK)
            if not chunk:
                return
            read += len(chunk)
            *whole, rest = (rest + chunk).split(b"\n")
            if whole and too_long:
                whole, too_long = whole[1:], False
            yield from (line for line in whole if line)
            if len(rest) > _MAX_LINE_BYTES:
                rest, too_long = b"", True


class _JournalEntry(msgspec.Struct, frozen=True):
    """One object of ``journalctl --output=json``; MESSAGE is a list of bytes where it is not printable."""

    MESSAGE: str | list[Any] | None = None
    PRIORITY: str | None = None
    SYSLOG_IDENTIFIER: str | None = None
    transport: str | None = msgspec.field(default=None, name="_TRANSPORT")
    comm: str | None = msgspec.field(default=None, name="_COMM")
    UNIT: str | None = None
    own_unit: str | None = msgspec.field(default=None, name="_SYSTEMD_UNIT")
    time_us: str = msgspec.field(default="0", name="__REALTIME_TIMESTAMP")


def _journal_line(raw: bytes, subject: LogSubject) -> LogLine | None:
    try:
        entry = from_json(raw, _JournalEntry)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    text = _message(entry.MESSAGE)
    program = "kernel" if entry.transport == "kernel" else entry.SYSLOG_IDENTIFIER or entry.comm or ""
    unit = next((name for name in (entry.UNIT, entry.own_unit) if name in subject.units), "")
    if not text or not entry.time_us.isdigit() or not subject.concerns(program, text, unit or ""):
        return None
    return LogLine(
        time_s=int(entry.time_us) / 1e6, program=program, priority=_priority(entry.PRIORITY), text=text
    )


def _message(value: str | list[Any] | None) -> str:
    if isinstance(value, list):
        if not all(isinstance(number, int) and 0 <= number < 256 for number in value):
            return ""
        value = bytes(value).decode(errors="backslashreplace")
    return printable_line(value or "")


def _priority(text: str | None) -> int:
    return int(text) if text in set("01234567") else 6


def _records(fd: int) -> Iterator[bytes]:
    """Yield the records of /dev/kmsg that are there (Documentation/ABI/testing/dev-kmsg)."""
    while True:
        try:
            record = os.read(fd, 8192)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the buffer has gone round: the next one is the oldest left
            continue
        if not record:  # a file of a test
            return
        yield from (record.split(b"\0") if b"\0" in record else [record])


def _kernel_line(record: bytes, booted: float) -> LogLine | None:
    head, semicolon, rest = record.partition(b";")
    parts = head.split(b",")
    if not semicolon or len(parts) < 3 or not parts[0].isdigit() or not parts[2].isdigit():
        return None
    level = int(parts[0])
    if level >> 3:  # written by a program (its facility is not the kernel's)
        return None
    text = rest.split(b"\n")[0].decode(errors="backslashreplace")
    # What is not printable is written \xNN there.
    return LogLine(
        time_s=booted + int(parts[2]) / 1e6, program="kernel", priority=level & 7, text=printable_line(text)
    )


def log_text(log: MountLog, mount_point: str) -> list[str]:
    """Return what a person has to know beside the lines, one sentence or two an item."""
    join = f"sudo usermod -aG {log.group} $USER"
    told: list[str] = []
    if log.source == "forbidden" and log.group:
        told.append(
            "Your user may read neither the journal nor the kernel's log. Members of the group "
            f"{log.group} may: {join}, then log in again. For once: sudo mountwright log "
            f"{shlex.quote(mount_point)}"
        )
    elif log.source == "forbidden":
        told.append(
            "Your user may not read the kernel's log. For once: sudo mountwright log "
            f"{shlex.quote(mount_point)}. For all users: sudo sysctl kernel.dmesg_restrict=0"
        )
    elif log.source == "none":
        told.append("This computer has neither a journal nor a readable kernel log.")
    elif log.group:
        told.append(
            "Only the kernel's log is shown. Members of the group "
            f"{log.group} also see mount.nfs and systemd: {join}, then log in again."
        )
    if not log.lines and log.source in {"journal", "kernel"}:
        told.append("No line about this mount or its server in this time.")
    if log.partial:
        told.append("Older lines are left out.")
    return told


def printable_line(text: str) -> str:
    """Return one line without characters that a terminal would obey, cut where it is too long."""
    line = "".join(c if c.isprintable() else " " if c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
    return line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
