"""Attacks through a private test mount: reading root's keys, silent workers, and descriptors of the mount."""

import contextlib
import json
import os
import re
import select
import socket
from pathlib import Path

import pytest
from rig import NOBODY

#: Limits that a worker can be given without CAP_SYS_RESOURCE, which containers lack.
LIMITS = ["prlimit", "--core=0:0", "--nofile=512:512", "--memlock=65536:65536", "--stack=8388608:8388608"]
#: capabilities(7), linux/capability.h
CAP_SYS_RESOURCE = 1 << 24


@contextlib.contextmanager
def workers(rig):
    """Listening Unix socket in a directory of the caller, to which workers connect."""
    rig.make("/tmp/talk", uid=NOBODY, mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(rig.path("/tmp/talk/socket")))
        os.chown(rig.path("/tmp/talk/socket"), NOBODY, NOBODY)
        listener.listen(4)
        yield listener


def run_worker(session, listener, code, timeout_s=10.0):
    """Run a program as a worker in the test mount; return its output (JSON), or the helper's error."""
    answer = session.ask("run", argv=["/usr/bin/python3", "-I", "-S", "-c", code], socket="/tmp/talk/socket")
    if "code" in answer:
        return answer
    ends = []
    try:
        while len(ends) < 2:
            assert select.select([listener], [], [], timeout_s)[0], "no worker, and no word of it"
            ends.append(listener.accept()[0])
        ends[0].settimeout(timeout_s)
        data = b""
        while chunk := ends[0].recv(1 << 16):
            data += chunk
        assert data, ends[1].recv(1 << 16).decode()
        return json.loads(data)
    finally:
        for end in ends:
            end.close()


def open_mount(session, *words):
    return session.ask("open", share="nas:/x", options=list(words), timeout_ms=5000)


#: Program that reads a key of the session keyring, and all keys in /proc/keys (keyctl(2)).
READ_KEYS = """
import ctypes, json
libc = ctypes.CDLL(None, use_errno=True)
found = []
key = libc.syscall(250, 10, -3, b"user", b"rig-secret", 0)  # KEYCTL_SEARCH in the session's keyring
text = ctypes.create_string_buffer(64)
if key > 0 and libc.syscall(250, 11, key, text, 64) > 0:  # KEYCTL_READ
    found.append(text.value.decode())
with open("/proc/keys") as file:
    found += [line.split()[0] for line in file if "rig-secret" in line]
print(json.dumps({"found": found, "uid": __import__("os").getresuid()}))
"""
#: Program that, like root's session software, makes a session keyring with a key.
PAM = """#%PAM-1.0
auth required pam_permit.so
account required pam_permit.so
password required pam_deny.so
session required pam_keyinit.so force revoke
session required pam_exec.so /run/rig/add_key
"""
ADD_KEY = """#!/usr/bin/python3 -ISB
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = libc.syscall(248, b"user", b"rig-secret", b"TOPSECRET", 9, -3)  # add_key(2), of the session
open("/run/rig/key", "w").write(str(number))
"""


def test_a_worker_reads_no_key_of_root_s(rig):
    rig.write("/etc/pam.d/polkit-1", PAM)
    rig.write("/run/rig/add_key", ADD_KEY, mode=0o755)
    session = rig.session("bench", before=LIMITS).hello()
    assert int(rig.read("/run/rig/key")) > 0  # it is there, and pkexec's session is the helper's
    open_mount(session)
    with workers(rig) as listener:
        answer = run_worker(session, listener, READ_KEYS)
    assert answer == {"found": [], "uid": [NOBODY] * 3}


@pytest.mark.parametrize("limits", ["lower", "higher"])
def test_a_worker_starts_or_its_client_is_told(rig, limits):
    """It also holds where root may not raise limits, as in containers: the client gets an error in time."""
    low = ["prlimit", "--core=0:0", "--nofile=64:64"] if limits == "lower" else []
    session = rig.session("bench", first=["setpriv", "--bounding-set", "-sys_resource"], before=low).hello()
    bounding = re.search(r"CapBnd:\s*(\w+)", Path(f"/proc/{session.helper}/status").read_text())[1]
    assert not int(bounding, 16) & CAP_SYS_RESOURCE
    open_mount(session)
    with workers(rig) as listener:
        answer = run_worker(session, listener, "print(1)")
    assert answer == 1 or answer["message"].endswith(".")


def test_a_worker_that_cannot_start_is_told_of(rig):
    session = rig.session("bench", before=LIMITS).hello()
    open_mount(session)
    rig.make("/tmp/talk", uid=NOBODY, mode=0o700)
    for argv, path in (
        (["/usr/bin/python3"], "/tmp/talk/nobody-listens"),
        (["/nowhere/program"], "/tmp/talk/nobody-listens"),
        (["/etc/fstab"], "/tmp/talk/nobody-listens"),
    ):
        answer = session.ask("run", argv=argv, socket=path)
        assert answer.get("message", "").endswith("."), answer
    assert "role" in session.ask("hello")


#: Program that sends a descriptor of a directory of the mount, and prints its status.
CARRY_OUT = """
import array, os, socket, sys
place = "/run/mountwright"
fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
out = socket.socket(socket.AF_UNIX)
out.connect("/tmp/talk/out")
out.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
print(os.fstatvfs(fd).f_flag)
"""
ST_NOSUID, ST_NODEV = 2, 4


def test_a_mount_carried_out_of_its_namespace_lets_nobody_raise_rights(rig):
    """A process with an open file of a private mount keeps it until it is closed (docs/security.md, 7).

    The mount keeps nosuid and nodev, is in no mount table, and cannot be changed.
    """
    session = rig.session("bench", before=LIMITS).hello()
    open_mount(session)
    with workers(rig) as listener, socket.socket(socket.AF_UNIX) as out:
        out.bind(str(rig.path("/tmp/talk/out")))
        os.chown(rig.path("/tmp/talk/out"), NOBODY, NOBODY)
        out.listen(1)
        flags = run_worker(session, listener, CARRY_OUT)
        connection = out.accept()[0]
        with connection:
            _data, (carried,), _flags, _address = socket.recv_fds(connection, 1, 1)
    assert flags & ST_NOSUID
    assert flags & ST_NODEV
    try:
        closing = session.ask("close", timeout_ms=5000)
        session.end()
        assert rig.mounts() == []
        now = os.fstatvfs(carried).f_flag
        assert now & ST_NOSUID
        assert now & ST_NODEV
        number = int(re.search(r"mnt_id:\s*(\d+)", read_fdinfo(carried))[1])
        assert number not in {mount.mount_id for mount in rig.mounts()}
        # close reports the end of the mount: it has left the mount table.
        assert closing["gone"] in {True, False}
    finally:
        os.close(carried)


def read_fdinfo(fd):
    return Path(f"/proc/self/fdinfo/{fd}").read_text()


IDENTITY = """
import json, os
status = dict(line.split(":\\t") for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
fds = {os.readlink(f"/proc/self/fd/{number}").partition(":")[0] for number in range(3)}
more = [number for number in range(3, 4096) if os.path.lexists(f"/proc/self/fd/{number}")]
tried = []
for name in ("fd", "mem", "environ"):
    try:
        os.close(os.open(f"/proc/1/{name}", os.O_RDONLY))
        tried.append(name)
    except OSError:
        pass
try:
    os.kill(1, 9)
    tried.append("kill")
except OSError:
    pass
names = ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Uid", "Gid", "Groups")
print(json.dumps({"status": {name: status[name].strip() for name in names}, "env": dict(os.environ),
                  "tried": tried, "fds": sorted(fds), "more": more}))
"""


def test_a_worker_is_the_caller_and_nothing_more(rig):
    session = rig.session("bench", before=LIMITS).hello()
    open_mount(session)
    with workers(rig) as listener:
        found = run_worker(session, listener, IDENTITY)
    status = found["status"]
    assert all(int(status[name], 16) == 0 for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"))
    assert status["NoNewPrivs"] == "1"
    assert status["Uid"].split() == [str(NOBODY)] * 4
    assert status["Gid"].split() == [str(NOBODY)] * 4
    assert status["Groups"] == ""
    assert found["tried"] == []
    assert set(found["env"]) <= {"LC_CTYPE"}
    assert (found["fds"], found["more"]) == (["socket"], [])
