"""System log: the lines about one mount and its server, by journalctl(1), else from /dev/kmsg.

journalctl(1) selects the lines of the kernel and of the programs that mount. Of these the log contains the
lines that name this server, share or mount point, and those of the kernel's NFS client that name no server.
Lines about other servers are dropped. Time, bytes and lines are limited.
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
from typing import TYPE_CHECKING, Any

import msgspec

from advisor.options import MountOptions
from advisor.share import Share, ShareError
from app import process
from app.helper import unit_text
from app.helper.errors import Refusal
from app.mounts.model import LogLine, MountLog
from resources.decoding import from_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from app.mounts.model import Mount
    from app.tasks import CancelToken

#: Largest number of lines of one query.
MAX_LINES = 2000
#: Longest period of one query, seconds: older lines seldom explain the present state of a mount.
MAX_SINCE_S = 7 * 86400.0
#: Longest time to read the journal, seconds.
_DEADLINE_S = 15.0
#: Largest output of journalctl, bytes. It prints the newest lines first, so the limit drops old ones.
_MAX_BYTES = 32 * 2**20
#: Longest line of journalctl, bytes; longer ones are skipped.
_MAX_LINE_BYTES = 64 * 2**10
#: Longest message, characters; the rest is cut off.
_MAX_TEXT = 1000
#: Bytes of one read from the pipe.
_CHUNK = 64 * 2**10
#: syslog(3) identifiers to select in the journal: programs that mount, and the daemons of an NFS client
#: (nfs-utils, ktls-utils, autofs). Lines of the kernel and of the mount's units are selected too.
PROGRAMS = ("mount", "mount.nfs", "mount.nfs4", "umount.nfs", "umount.nfs4", "rpc.statd", "rpc.gssd",
            "rpc.idmapd", "nfsidmap", "nfsrahead", "sm-notify", "tlshd", "automount",
            "mountwright-helper")  # fmt: skip
#: Beginning of a line of the kernel's NFS client (fs/nfs, fs/lockd, net/sunrpc); nfsd is the server.
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


@dataclass(frozen=True, slots=True)
class LogSubject:
    """The mount whose log lines are wanted, and the names by which they mention it.

    Attributes:
        point: mount point.
        servers: names and addresses of its server.
        others: names and addresses of the other known servers.
        units: names of its systemd units.
    """

    point: str
    servers: frozenset[str]
    others: frozenset[str] = frozenset()
    units: tuple[str, ...] = ()
    _own_names: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_own_names", _names([*self.servers, self.point, *self.units]))

    def concerns(self, program: str, text: str, unit: str = "") -> bool:
        """Whether a line is about the mount or its server.

        Args:
            program: "kernel", or the name of a program.
            text: the message.
            unit: the systemd unit that the line concerns or comes from, "" for none.
        """
        if unit in self.units:
            return True
        if program != "kernel" and program not in PROGRAMS and program != "systemd":
            return False
        if program == "kernel" and not _KERNEL_LINE.match(text):
            return False
        if self._own_names.search(text):
            return True
        return program == "kernel" and not self._names_other_server(text)

    def _names_other_server(self, text: str) -> bool:
        """Whether a line that does not name this server names another one."""
        known = self.others and _names(self.others).search(text)
        return bool(known) or any(pattern.search(text) for pattern in _NAMED_SERVER)


def log_subject(mount: Mount, mounts: Sequence[Mount]) -> LogSubject:
    """Return the names by which log lines mention a mount.

    Args:
        mount: the mount whose lines are wanted.
        mounts: all mounts of this host.
    """
    servers = _servers(mount)
    others: set[str] = set()
    for row in mounts:
        names = _servers(row)
        others |= set() if names & servers else names
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
    names: set[str] = set()
    for share in shares:
        try:
            names.add(Share.parse(share).host.strip("[]"))
        except ShareError:
            continue
    for text in options:
        values = MountOptions.parse(text)
        names |= {values.get(name) or "" for name in ("addr", "mountaddr")}
    return names - {""}


def _names(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern for any of the words as a whole: “nas1” is not in “nas10”, nor “/mnt” in “/mnt/a”."""
    whole = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True) if word)
    return re.compile(rf"(?<![\w./-])(?:{whole})(?![\w/-]|\.\w)" if whole else r"(?!)")


class LogReader:
    """Reads the system log of this host.

    Args:
        root: directory that contains the journal and dev/kmsg; tests use a temporary one.
        journalctl: path of journalctl(1), None to search for it.
        clock: returns the Unix time, seconds.
        deadline_s: longest time to read the journal, seconds.
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
            since_s: length of the period up to now, seconds, at most MAX_SINCE_S.
            lines: largest number of lines, at most MAX_LINES.

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
        """Return the file of the system journal; without read access to it, a user sees only own lines."""
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
        matching: list[LogLine] = []
        output = _ChildOutput(child, time.monotonic() + self._deadline_s)
        try:
            with token.on_cancel(lambda: process.kill_group(child)):
                for raw in output.lines():
                    line = _journal_line(raw, subject)
                    if line is not None:
                        matching.append(line)
                        if len(matching) > lines:
                            break
        finally:
            process.kill_group(child)
            output.close()
            process.wait(child, 1.0)
        token.check()
        partial = output.cut or len(matching) > lines
        return MountLog(lines=matching[:lines][::-1], source="journal", partial=partial)

    def _read_kernel(self, subject: LogSubject, since: float, lines: int) -> MountLog:
        try:
            fd = os.open(Path(self._root, _KMSG), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            denied = error.errno in {errno.EPERM, errno.EACCES}
            return MountLog(lines=[], source="forbidden" if denied else "none")
        matching: deque[LogLine] = deque(maxlen=lines + 1)
        try:
            booted = self._clock() - time.clock_gettime(time.CLOCK_MONOTONIC)
            for record in _records(fd):
                line = _kernel_line(record, booted)
                if line is not None and line.time_s >= since and subject.concerns("kernel", line.text):
                    matching.append(line)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.EACCES}:
                raise
            return MountLog(lines=[], source="forbidden")
        finally:
            os.close(fd)
        return MountLog(lines=list(matching)[-lines:], source="kernel", partial=len(matching) > lines)


def _group_of(path: Path) -> str:
    """Return the group that may read a file of the journal. The local disk cannot hang."""
    try:
        return path.group()
    except (OSError, KeyError):
        return "systemd-journal"


def journal_arguments(subject: LogSubject, since: float) -> list[str]:
    """Return the arguments of journalctl(1): matches of one field are alternatives, “+” separates groups."""
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
    """Output of a child process, line by line, limited by a deadline and a number of bytes.

    Attributes:
        cut: whether a limit ended the output.
    """

    def __init__(self, child: process.Child, end: float) -> None:
        self._pipe = child.stdout
        self._end = end
        self.cut = False

    def close(self) -> None:
        """Close the pipe."""
        self._pipe.close()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines; a line longer than _MAX_LINE_BYTES is skipped."""
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
    """Yield the records that /dev/kmsg holds (Documentation/ABI/testing/dev-kmsg)."""
    while True:
        try:
            record = os.read(fd, 8192)
        except BlockingIOError:
            return
        except BrokenPipeError:  # the record was overwritten: the next read returns the oldest one left
            continue
        if not record:  # end of a regular file, in tests
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
    # The kernel escapes unprintable bytes as \xNN.
    return LogLine(
        time_s=booted + int(parts[2]) / 1e6, program="kernel", priority=level & 7, text=printable_line(text)
    )


def log_text(log: MountLog, mount_point: str) -> list[str]:
    """Return notes about the log for the person: its source, its limits, and how to see more."""
    join = f"sudo usermod -aG {log.group} $USER"
    notes: list[str] = []
    if log.source == "forbidden" and log.group:
        notes.append(
            "Your user may read neither the journal nor the kernel's log. Members of the group "
            f"{log.group} may: {join}, then log in again. For once: sudo mountwright log "
            f"{shlex.quote(mount_point)}"
        )
    elif log.source == "forbidden":
        notes.append(
            "Your user may not read the kernel's log. For once: sudo mountwright log "
            f"{shlex.quote(mount_point)}. For all users: sudo sysctl kernel.dmesg_restrict=0"
        )
    elif log.source == "none":
        notes.append("This computer has neither a journal nor a readable kernel log.")
    elif log.group:
        notes.append(
            "Only the kernel's log is shown. Members of the group "
            f"{log.group} also see mount.nfs and systemd: {join}, then log in again."
        )
    if not log.lines and log.source in {"journal", "kernel"}:
        notes.append("No line about this mount or its server in this time.")
    if log.partial:
        notes.append("Older lines are left out.")
    return notes


def printable_line(text: str) -> str:
    """Return a text as one line: control characters escaped, cut off after _MAX_TEXT characters."""
    line = "".join(c if c.isprintable() else " " if c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
    return line if len(line) <= _MAX_TEXT else f"{line[:_MAX_TEXT]}…"
