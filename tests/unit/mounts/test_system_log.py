"""Log lines about one mount and its server, from journalctl or from the kernel's log."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from waiting import DEADLINE_S

from app.errors import CancelledError
from app.mounts import system_log as module
from app.mounts.model import Active, Configured, LogLine, Mount, MountLog
from app.mounts.system_log import LogReader, LogSubject, journal_arguments, log_subject, log_text
from app.tasks import CancelToken, run_in_thread

RECORDED = Path(__file__).parents[2] / "data/journal/journalctl.json"
SUBJECT = LogSubject("/mnt/home", frozenset({"nas01", "10.9.0.1"}), frozenset({"nas02", "10.9.0.2"}),
                  ("mnt-home.mount", "mnt-home.automount"))  # fmt: skip
#: The recorded lines about the mount, oldest first.
OURS = [
    "nfs: server nas01 not responding, still trying",
    "nfs: server nas01 OK",
    "NFS: nfs4_discover_server_trunking unhandled error -512. Exiting with error EIO",
    "mount.nfs: Connection timed out for nas01:/export on /mnt/home",
    "mnt-home.mount: Mount process exited, code=exited, status=32/n/a",
    "lockd: server 10.9.0.1 not responding, timed out",
    "RPC: fragment too large: 1463897424",
    "Failed to mount mnt-home.mount - caf\\xe9.",
]


def journalctl(tmp_path: Path, script: str) -> str:
    """Return a replacement of journalctl that prints recorded lines."""
    program = tmp_path / "journalctl"
    program.write_text(f"#!{sys.executable} -IS\nimport sys, time\n{script}\n")
    program.chmod(0o755)
    return str(program)


def with_journal(tmp_path: Path) -> Path:
    folder = tmp_path / "var/log/journal/0123"
    folder.mkdir(parents=True)
    file = folder / "system.journal"
    file.touch()
    return file


def recorded(tmp_path: Path) -> str:
    return journalctl(tmp_path, f"sys.stdout.write(open({str(RECORDED)!r}).read())")


def read(reader: LogReader, **changes: Any) -> MountLog:
    return reader.read(SUBJECT, CancelToken(), **{"since_s": 86400.0, "lines": 200, **changes})


def test_journal_lines_of_this_server_and_mount_are_selected(tmp_path: Path) -> None:
    with_journal(tmp_path)
    log = read(LogReader(str(tmp_path), journalctl=recorded(tmp_path)))
    assert [line.text for line in log.lines] == OURS
    assert (log.source, log.partial, log.group) == ("journal", False, "")
    assert [line.time_s for line in log.lines] == sorted(line.time_s for line in log.lines)
    assert {line.program for line in log.lines} == {"kernel", "mount.nfs", "systemd"}
    assert log_text(log, "/mnt/home") == []


def test_the_newest_of_many_lines_are_returned(tmp_path: Path) -> None:
    with_journal(tmp_path)
    log = read(LogReader(str(tmp_path), journalctl=recorded(tmp_path)), lines=2)
    assert [line.text for line in log.lines] == OURS[-2:]
    assert log.partial
    assert log_text(log, "/mnt/home") == ["Older lines are left out."]


def test_query_of_the_journal_is_limited_and_selects_programs(tmp_path: Path) -> None:
    words = journal_arguments(SUBJECT, 1000.5)
    assert "--since=@1000" in words
    assert "--reverse" in words
    groups = " ".join(words).split(" + ")
    assert groups[0].endswith("_TRANSPORT=kernel")
    assert "SYSLOG_IDENTIFIER=mount.nfs" in groups[1]
    assert "UNIT=mnt-home.mount" in groups


def test_a_journal_that_does_not_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_journal(tmp_path)
    monkeypatch.setattr(module, "_MAX_BYTES", 2**20)
    line = json.dumps({"MESSAGE": "nfs: server other OK", "_TRANSPORT": "kernel", "pad": "x" * 1000})
    endless = journalctl(tmp_path, f"while True: print({line!r})")
    log = read(LogReader(str(tmp_path), journalctl=endless))
    assert log.partial
    assert log.lines == []


def test_a_journal_that_hangs_is_left_at_the_deadline(tmp_path: Path) -> None:
    with_journal(tmp_path)
    script = f"print(open({str(RECORDED)!r}).readline(), end='', flush=True); time.sleep(600)"
    began = time.monotonic()
    log = read(LogReader(str(tmp_path), journalctl=journalctl(tmp_path, script), deadline_s=0.5))
    assert time.monotonic() - began < DEADLINE_S
    assert log.partial


def test_a_line_without_end_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_journal(tmp_path)
    text = RECORDED.read_text()
    script = f"sys.stdout.write('x' * 1000000 + '\\n' + open({str(RECORDED)!r}).read())"
    assert "x" * 1000 not in text
    log = read(LogReader(str(tmp_path), journalctl=journalctl(tmp_path, script)))
    assert [line.text for line in log.lines] == OURS


def test_cancelling_ends_it(tmp_path: Path) -> None:
    with_journal(tmp_path)
    token = CancelToken()
    program = journalctl(tmp_path, "time.sleep(600)")
    reader = LogReader(str(tmp_path), journalctl=program, deadline_s=600)
    reading = run_in_thread("read", lambda: reader.read(SUBJECT, token, since_s=1, lines=1))
    token.cancel()
    with pytest.raises(CancelledError):
        reading.result(DEADLINE_S)


KMSG = (
    "6,1,1000000,-;Linux version 6.1.0\n"
    "4,2,2000000,-;nfs: server nas01 not responding, still trying\n SUBSYSTEM=x\n"
    "4,3,3000000,-;nfs: server nas02 not responding, still trying\n"
    "30,4,4000000,-;systemd[1]: nas01 from a program\n"
    "6,5,5000000,-;usb 1-1: new device nas01\n"
    "6,6,6000000,-;nfsd: last server has exited\n"
    "4,7,7000000,-;NFS: bad mount option value specified: \\x1b[31m\n"
)


def with_kmsg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace dev/kmsg by a file whose every read returns one record, like the device."""
    file = tmp_path / "dev/kmsg"
    file.parent.mkdir()
    file.write_text("")
    records = [record.encode() + b"\n" for record in KMSG.rstrip("\n").split("\n") if record[0] != " "]
    real, left = os.open, [*records, b""]
    fds: list[int] = []

    def open_(path: Any, *args: Any) -> int:
        fd = real(path, *args)
        if str(path).endswith("dev/kmsg"):
            fds.append(fd)
        return fd

    real_read = os.read
    monkeypatch.setattr(module.os, "open", open_)
    monkeypatch.setattr(module.os, "read", lambda fd, n: left.pop(0) if fd in fds else real_read(fd, n))


def test_without_a_journal_the_kernel_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with_kmsg(tmp_path, monkeypatch)
    monkeypatch.setattr(module.time, "clock_gettime", lambda _clock: 100.0)
    log = read(LogReader(str(tmp_path), clock=lambda: 1100.0))
    assert log.source == "kernel"
    assert [(line.time_s, line.priority) for line in log.lines] == [(1002.0, 4), (1007.0, 4)]
    assert [line.text for line in log.lines] == [
        "nfs: server nas01 not responding, still trying",
        "NFS: bad mount option value specified: \\x1b[31m",
    ]
    assert log_text(log, "/mnt/home") == []


def test_where_there_is_neither_it_says_so(tmp_path: Path) -> None:
    log = read(LogReader(str(tmp_path)))
    assert log.source == "none"
    assert log_text(log, "/mnt/home") == ["This computer has neither a journal nor a readable kernel log."]


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file that another user may not read")
def test_without_access_the_group_and_the_command_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = with_journal(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kmsg").touch()
    monkeypatch.setattr(module.os, "access", lambda path, _mode: path != journal)
    real = os.open

    def refuse(path: Any, *args: Any) -> int:
        if str(path).endswith("kmsg"):
            raise PermissionError(1, "Operation not permitted")
        return real(path, *args)

    monkeypatch.setattr(module.os, "open", refuse)
    log = read(LogReader(str(tmp_path), journalctl="/bin/false"))
    assert log.source == "forbidden"
    (told,) = log_text(log, "/mnt/my home")
    assert f"sudo usermod -aG {journal.group()} $USER" in told
    assert "sudo mountwright log '/mnt/my home'" in told


@pytest.mark.parametrize(
    ("program", "text", "kept"),
    [
        ("kernel", "nfs: server nas01 not responding, timed out", True),
        ("kernel", "nfs: server nas011 not responding, timed out", False),
        ("kernel", "nfs: server other.example.org OK", False),
        ("kernel", "NFS: state manager: lease expired failed on NFSv4 server nas02 with error 13", False),
        ("kernel", "NFS: state manager: lease expired failed on NFSv4 server nas01 with error 13", True),
        ("kernel", "lockd: cannot monitor nas07", False),
        ("kernel", "RPC: AUTH_GSS upcall failed. Please check user daemon is running.", True),
        ("kernel", "nfsd: peername failed (err 107)!", False),
        ("kernel", "EXT4-fs (nas01): mounted", False),
        ("sshd", "Accepted publickey for ann from 10.9.0.1", False),
        ("mount.nfs", "access denied by server while mounting nas01:/export", True),
        ("mount.nfs", "access denied by server while mounting nas02:/export", False),
        ("mount", "mount.nfs: /mnt/home is busy", True),
        ("mount", "mount.nfs: /mnt/home/other is busy", False),
        ("rpc.gssd", "ERROR: No credentials found for connection to server nas01", True),
    ],
)
def test_nothing_of_others(program: str, text: str, kept: bool) -> None:
    assert SUBJECT.concerns(program, text) == kept


def test_names_and_addresses_are_those_of_the_mounts() -> None:
    live = Active(mount_id=1, device="0:5", share="nas01:/a", fstype="nfs4",
                  options="rw,vers=4.2,addr=10.9.0.1,clientaddr=10.9.0.9")  # fmt: skip
    ours = Mount(mount_point="/mnt/my home", share="nas01:/a", state="mounted", active=live)
    entry = Configured(
        origin="/etc/fstab", line=1, share="[fe80::1]:/b", fstype="nfs", options="addr=fe80::1"
    )
    other = Mount(mount_point="/mnt/b", share="[fe80::1]:/b", state="not-mounted", configured=entry)
    alias = Mount(mount_point="/mnt/c", share="10.9.0.1:/c", state="not-mounted")
    subject = log_subject(ours, [ours, other, alias])
    assert subject.servers == {"nas01", "10.9.0.1"}
    assert subject.others == {"fe80::1"}
    assert subject.units == (r"mnt-my\x20home.mount", r"mnt-my\x20home.automount")


def test_an_empty_log_is_said_to_be_so() -> None:
    assert log_text(MountLog(lines=[], source="journal"), "/mnt/a") == [
        "No line about this mount or its server in this time."
    ]
    line = LogLine(time_s=1.0, program="kernel", priority=4, text="NFS: x")
    (told,) = log_text(MountLog(lines=[line], source="kernel", group="adm"), "/mnt/a")
    assert "sudo usermod -aG adm $USER" in told
