"""Attacks on a session of the helper: hijacking, stopping, flooding, and forged log lines."""

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rig import ANN, HELPER, NOBODY, ROOT, SILENT, gone

EVIL = "evil.example:/x"
ROLES = ["mount", "persist", "bench", "tune"]


#: Client program like the agent: runs as nobody, and opens a session that waits for its next request.
CLIENT = """
import ctypes, os, sys
from app.errors import AppError
from app.helper_client.client import HelperClient
from app.tasks import CancelToken
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: as a process that was nobody's from its start
client = HelperClient("persist")
for _line in sys.stdin:
    try:
        client.call("remove", {"share": "x:/x", "target": "/mnt/none", "sha256": ""}, CancelToken(), 60.0)
    except AppError as error:
        print(error.kind, flush=True)
client.close()
"""

#: Client program like the window: runs as nobody, and starts an agent.
WINDOW = """
import ctypes, os, sys
from app.service.hosts import LocalAgent
from app.mounts.change_model import PersistArgs
from app.errors import AppError
os.setgroups([])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
sys.executable = "/run/rig/python"
agent = LocalAgent()
for line in sys.stdin:
    share, point = line.split()
    try:
        agent.client.submit("mounts.persist", PersistArgs(share=share, mount_point=point)).result(60)
        print("kept", flush=True)
    except AppError as error:
        print(error.kind, flush=True)
agent.close()
"""

#: Program that writes a line to all open files of a process of the same user, through /proc/PID/fd.
HIJACK = """
import json, os, sys
me, line, opened = os.getpid(), sys.argv[1].encode() + b"\\n", []
for name in filter(str.isdigit, os.listdir("/proc")):
    try:
        if int(name) == me or os.stat(f"/proc/{name}").st_uid != os.getuid():
            continue
        for number in os.listdir(f"/proc/{name}/fd"):
            link = os.readlink(f"/proc/{name}/fd/{number}")
            flags = open(f"/proc/{name}/fdinfo/{number}").read().split("flags:")[1].split()[0]
            # The first three of the client are the test's line to it; the others' have another end in it.
            # What it only reads from would break its conversation instead.
            if int(number) > 2 and int(flags, 8) & 3 and link.startswith(("pipe:", "socket:")):
                try:
                    fd = os.open(f"/proc/{name}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    continue
                opened.append(f"{name}/{number}: {link}")
                try:
                    os.write(fd, line)
                except OSError:
                    pass
    except OSError:
        continue
print(json.dumps(opened))
"""


@contextlib.contextmanager
def client_in(rig, code):
    """Run a client of the program in the rig; the value is a function that sends it a line and reads one."""
    with rig.start(
        sys.executable, "-P", "-c", code, env={"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as client:  # fmt: skip

        def say(line, answer=b"\n"):
            client.stdin.write(line.encode() + b"\n")
            client.stdin.flush()
            heard = client.stdout.readline()
            assert answer in heard, client.communicate(timeout=60)
            return heard

        yield say
        client.communicate(timeout=60)


def test_no_other_program_of_the_user_speaks_in_an_open_session(make_rig):
    rig = make_rig(whole=False)
    args = {
        "share": EVIL, "target": "/mnt/stolen", "fstype": "nfs", "options": ["nofail"],
        "sha256": rig.fstab_sha256(),
    }  # fmt: skip
    with client_in(rig, CLIENT) as say:
        say("", b"fstab-changed")
        rig.python(HIJACK, json.dumps({"id": "abc", "verb": "add", "args": args}))
        # Repeated while the helper answers that it is busy.
        assert any(b"fstab-changed" in say("") for _ in range(1000))
        assert EVIL not in rig.read("/etc/fstab")


def test_no_other_program_of_the_user_speaks_to_the_agent(make_rig, checkout_for_all):
    rig = make_rig(whole=False)
    # The agent of this checkout, even if the environment of the tests belongs to another one.
    rig.write("/run/rig/python", f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n', mode=0o755)
    args = {"share": EVIL, "mount_point": "/mnt/stolen", "options": "nofail"}
    with client_in(rig, WINDOW) as say:
        say("nas:/one /mnt/one", b"kept")
        rig.python(HIJACK, json.dumps({"id": 77, "verb": "mounts.persist", "args": args}))
        for name in ("two", "three"):
            say(f"nas:/{name} /mnt/{name}")
        assert EVIL not in rig.read("/etc/fstab")


#: Program that starts a command in the foreground of a terminal, optionally in its own process group.
IN_A_TERMINAL = """
import os, signal, sys
own_group = sys.argv[2] == "own"
os.setsid()
tty = os.open(sys.argv[1], os.O_RDWR)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
    signal.signal(number, lambda *_: None)
child = os.fork()
if child == 0:
    if own_group:
        os.setpgid(0, 0)
        os.tcsetpgrp(tty, os.getpid())
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTOU):
        signal.signal(number, signal.SIG_DFL)
    os.close(tty)
    os.execvp(sys.argv[3], sys.argv[3:])
os.waitpid(child, 0)
"""
KEYS = {"Ctrl-Z": b"\x1a", "Ctrl-backslash": b"\x1c", "Ctrl-C": b"\x03", "Ctrl-S": b"\x13"}


def state(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return "X"


@pytest.fixture
def terminal():
    """Terminal: the descriptor of its master end, and the path of its other end."""
    person, other = os.openpty()
    path = os.ttyname(other)
    Path(path).chmod(0o666)
    yield person, path
    os.close(person)
    os.close(other)


@pytest.mark.parametrize("group", ["own", "the shell's"])
@pytest.mark.parametrize("key", ["Ctrl-Z", "Ctrl-backslash", "Ctrl-C"])
def test_no_key_stops_or_kills_the_helper(rig, terminal, key, group):
    """Keys are pressed during a mount: the deadline is met, and nothing is left of the mount."""
    person, path = terminal
    session = rig.session(
        "mount", before=["/usr/bin/python3", "-I", "-S", "-c", IN_A_TERMINAL, path, group]
    ).hello()
    helper = session.helper
    number = session.send("mount", {
        "share": f"{SILENT}:/x", "target": "/mnt/t", "options": [], "create": True, "timeout_ms": 1000,
    })  # fmt: skip
    end = time.monotonic() + 10.0
    while not rig.path("/mnt/t").is_dir() and time.monotonic() < end:
        time.sleep(0.01)
    os.write(person, KEYS[key])
    with contextlib.suppress(TimeoutError):
        answer = session.answer_to(number, 10.0)
        # Ctrl-C may end the session regularly.
        assert answer is not None or key == "Ctrl-C"
    assert state(helper) != "T"
    assert not rig.path("/mnt/t").exists()
    if key != "Ctrl-C":
        assert "role" in session.ask("hello", 5.0)
    assert not [words for _pid, _uid, words in rig.processes() if words[0] == "sleep"]  # no mount.nfs is left


def test_a_hangup_of_the_terminal_leaves_nothing_behind(rig, terminal):
    _person, path = terminal
    session = rig.session(
        "mount", before=["/usr/bin/python3", "-I", "-S", "-c", IN_A_TERMINAL, path, "own"]
    ).hello()
    helper = session.helper
    session.send("mount", {
        "share": f"{SILENT}:/x", "target": "/mnt/t", "options": [], "create": True, "timeout_ms": 1000,
    })  # fmt: skip
    end = time.monotonic() + 10.0
    while not rig.path("/mnt/t").is_dir() and time.monotonic() < end:
        time.sleep(0.01)
    for pid, uid, _words in rig.processes():
        if uid == NOBODY:
            os.kill(pid, 9)
    session.hang_up()
    assert gone(helper, 20.0)
    assert not rig.path("/mnt/t").exists()


#: Program that sets a timer slack of 10 s, which is inherited (prctl(2), PR_SET_TIMERSLACK).
SLACK = (
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(29, ctypes.c_ulong(10**10), 0, 0, 0);"
    "os.execvp(sys.argv[1], sys.argv[1:])"
)


def test_the_caller_does_not_stretch_deadlines(rig):
    session = rig.session("mount", before=["/usr/bin/python3", "-I", "-S", "-c", SLACK]).hello()
    began = time.monotonic()
    session.mount(f"{SILENT}:/x", "/mnt/t", timeout_ms=500)
    assert time.monotonic() - began < 6.0
    assert int(Path(f"/proc/{session.helper}/timerslack_ns").read_text()) <= 50_000


def test_the_caller_does_not_choose_the_priority_of_reads_and_writes(rig):
    session = rig.session("persist", before=["ionice", "-c", "3"]).hello()
    shown = rig.run("ionice", "-p", str(inner_pid(session.helper))).stdout
    assert "idle" not in shown


def inner_pid(pid):
    """Return a process id in its own process namespace."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            return int(line.split()[-1])
    raise AssertionError(pid)


FORGED = "mount/x\n<86>Nov 22 21:00:00 sshd[1]: Accepted password for root"
#: Texts for the strings of refused requests, and for unknown verbs.
NASTY = [
    FORGED,
    "\x1b[2J",
    "\x9b2J",
    "\u202e",
    "\u2028",
    "\x7f",
    "x" * 60_000,
    "\r",
    "",
    "mount ok 1ms",
    "\U0001f600",
]
#: Strings that cannot be encoded as UTF-8, or passed to a C function.
UNTELLABLE = ["\ud800", "\udc80", "a\x00b", "\udcff" * 100]


@pytest.mark.parametrize("texts", [NASTY, UNTELLABLE], ids=["nasty", "untellable"])
@pytest.mark.parametrize("role", ROLES)
def test_no_request_writes_a_log_of_its_own_or_ends_the_helper(rig, role, texts):
    with rig.audit() as heard:
        session = rig.session(role).hello()
        for text in texts:
            for verb, args in requests_with(text):
                session.ask(verb, **args)
        assert "role" in session.ask("hello")  # the helper still runs
        assert session.end() == (0, "")
    lines = of_the_helper(heard)
    assert len(lines) >= len(texts)
    for line in lines:
        assert re.fullmatch(rb"[\x20-\x7e]*", line.rstrip(b"\n\0")), line
        assert b"uid=65534 " in line
        assert len(line) <= 4096


def requests_with(text):
    """Return requests (verb, args) with the text in place of each string."""
    wherever = {text or "x": text}
    share = {"share": text, "target": f"/mnt/{text}"}
    return [
        (text, {}), ("hello", wherever), ("mount", wherever), ("cancel", {"id": text}),
        ("mount", {**share, "options": [text], "create": True, "timeout_ms": 500}),
        ("mount", {"share": EVIL, "target": "/mnt/x", "options": [text], "create": True, "timeout_ms": 500}),
        ("unmount", {"target": f"/mnt/{text}", "timeout_ms": 500}),
        ("add", {**share, "fstype": text, "options": [text], "sha256": text}),
        ("unit-write", {**share, "options": [text], "automount": True, "sha256": ""}),
        ("restore", {"backup": text, "sha256": text}),
        ("open", {"share": text, "options": [text], "timeout_ms": 500}),
        ("run", {"argv": [f"/{text}"], "socket": f"/{text}"}),
        ("tune", {"target": f"/mnt/{text}"}),
    ]  # fmt: skip


def of_the_helper(heard):
    """Return the helper's own log lines, without those of pkexec."""
    return [line for line in heard if b" mountwright-helper[" in line]


@pytest.mark.parametrize("filler", ["option", "verb", "share", "target"])
def test_nothing_hides_what_was_mounted(rig, filler):
    """The log line contains share and mount point, even if the rest of the request is long."""
    words = ["comment=" + "A" * 4000, *("x-systemd.mount-timeout=" + "1" * 900 for _ in range(20))]
    with rig.audit() as heard:
        session = rig.session("mount").hello()
        share = "evil.example:/" + ("a/" * 500 if filler == "share" else "x")
        target = "/mnt/" + ("b" * 200 + "/" + "c" * 200 if filler == "target" else "hidden")
        # The client chooses the order of the arguments.
        session.ask("mount", options=words if filler == "option" else [], create=True, timeout_ms=5000,
                    target=target, share=share)  # fmt: skip
        if filler == "verb":
            session.ask("mount" + " " * 5000 + "mount")
        session.end()
    lines = [line for line in heard if b"evil.example" in line]
    assert lines
    assert all(target.encode()[:200] in line and share.encode()[:200] in line for line in lines)


def test_every_request_is_in_the_log_with_its_caller(rig):
    with rig.audit() as heard:
        session = rig.session("mount").hello()
        session.mount(EVIL, "/mnt/x")
        session.unmount("/mnt/x")
        session.ask("rm -rf")
        session.ask("mount", share=EVIL)
        session.end()
    lines = of_the_helper(heard)
    assert len(lines) >= 4
    assert all(f"uid={NOBODY} ".encode() in line for line in lines)


def test_a_peer_that_does_not_listen_holds_nobody_up(rig):
    """The peer requests more answers than the socket can buffer, and reads none."""
    deaf = rig.session("persist").hello()
    helper = deaf.helper
    entry = {"share": "nas:/x", "target": "/mnt/x", "fstype": "nfs", "options": ["nofail"],
             "sha256": rig.fstab_sha256()}  # fmt: skip
    flood = json.dumps({"id": "a", "verb": "add", "args": entry}).encode() + b"\n" * 60_000
    deaf.send_without_waiting(flood)
    other = rig.session("persist", uid=ANN).hello()
    end = time.monotonic() + 10.0
    while "/mnt/y" not in rig.read("/etc/fstab") and time.monotonic() < end:
        other.add("nas:/y", "/mnt/y", "nofail")
    assert "/mnt/y" in rig.read("/etc/fstab")
    assert gone(helper, 30.0)


@pytest.mark.parametrize("how", ["signal", "end of input"])
def test_a_helper_that_answers_nobody_still_ends(rig, how):
    session = rig.session("mount").hello()
    helper = session.helper
    session.send_without_waiting(b"\n" * 200_000)
    time.sleep(0.3)  # until the helper waits for input
    if how == "signal":
        with contextlib.suppress(ProcessLookupError):  # the helper may end before
            os.kill(helper, 15)
    else:
        session.end_input()
    assert gone(helper, 20.0)


def test_errors_do_not_go_on_for_ever(rig):
    session = rig.session("mount").hello()
    helper, served = session.helper, 0
    for _ in range(2000):
        session.send_bytes(b"{}\n")
        answer = session.receive()
        if answer is None:
            break
        served += 1
    assert served <= 200
    assert gone(helper, 20.0)


@pytest.mark.parametrize("role", ["mount", "persist"])
def test_no_session_serves_for_ever(rig, role):
    """A session with requests without end would keep the authorization until logout."""
    session = rig.session(role).hello()
    served = 0
    for _ in range(1500):
        answer = session.answer_to(session.send("hello"))
        if answer is None or "ok" not in answer:
            break
        served += 1
    assert served <= 1000


def test_idle_sessions_end_whatever_the_client_says(rig):
    """All sessions run at the same time, because each takes half a minute.

    A bench session takes ten minutes, so tests/unit/helper/test_session.py tests it with a fake clock.
    """
    sessions = {}
    for role in set(ROLES) - {"bench"}:
        sessions[role] = rig.session(role).hello()
    begun = rig.session("mount")
    begun.send_bytes(b'{"id": "a", ')  # an incomplete line
    silent = rig.session("persist")  # sends no request
    end = time.monotonic() + 45.0
    left = {**sessions, "begun": begun, "silent": silent}
    watched = {name: os.pidfd_open(session.process.pid) for name, session in left.items()}
    try:
        while watched and time.monotonic() < end:
            ready = select.select(list(watched.values()), [], [], max(0.0, end - time.monotonic()))[0]
            for name, fd in list(watched.items()):
                if fd in ready:
                    os.close(watched.pop(name))
        assert list(watched) == []
    finally:
        for fd in watched.values():
            os.close(fd)


def test_a_session_is_the_caller_s_alone(rig):
    """The helper accepts only the caller that the kernel reports."""
    for uid in (NOBODY, ANN):
        assert rig.session("mount", uid=uid).ask("hello")["uid"] == uid
    done = rig.run(HELPER, "mount", uid=NOBODY, check=False)  # not through pkexec
    assert done.returncode != 0
    done = rig.run("env", f"PKEXEC_UID={ANN}", HELPER, "mount", check=False)
    assert done.returncode != 0


def test_ptrace_like_openings_of_the_helper_itself_are_refused(rig):
    session = rig.session("persist").hello()
    pid = str(inner_pid(session.helper))
    code = (
        "import json, os, sys\nfound = []\n"
        "for name in ('fd', 'fd/0', 'mem', 'environ', 'maps', 'root', 'cwd', 'stack'):\n"
        "    try:\n"
        "        os.close(os.open(f'/proc/{sys.argv[1]}/{name}', os.O_RDONLY))\n"
        "        found.append(name)\n"
        "    except OSError:\n"
        "        pass\n"
        "print(json.dumps(found))"
    )
    assert rig.python(code, pid) == []
    for number in ("STOP", "KILL", "TERM", "CONT"):
        rig.run("kill", f"-{number}", pid, uid=NOBODY, check=False)
    assert "role" in session.ask("hello")
