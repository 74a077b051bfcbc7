"""Inherited process state: the real helper, started by a parent with unusual limits, masks and signals."""

import ctypes
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helper_line import start_helper
from waiting import DEADLINE_S

from app.helper import inheritance
from app.helper.bench_verbs import BenchVerbs
from app.helper.callers import Caller
from app.helper.errors import Refusal

HERE = Path(__file__).parents[3]
ISOLATED = [sys.executable, "-IBSXutf8"]
COMMAND = [*ISOLATED, str(HERE / "app" / "helper" / "__main__.py")]
NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the helper runs as root")

#: Program that sets the process state named by its arguments, and executes the helper.
SPOIL = """
import ctypes, os, sys
libc, numbers = ctypes.CDLL(None, use_errno=True), [int(number) for number in sys.argv[2].split(",")]
word = sys.argv[1]
if word == "slack":
    assert libc.prctl(29, ctypes.c_ulong(10 * 10**9), 0, 0, 0) == 0
elif word == "ioprio":
    assert libc.syscall(*map(ctypes.c_long, (numbers[0], 1, 0, 3 << 13))) == 0
elif word == "personality":
    assert libc.personality(ctypes.c_ulong(0x0020000)) != -1  # UNAME26: another version of the kernel
elif word == "oom":
    open("/proc/self/oom_score_adj", "w").write("900")
elif word == "subreaper":
    assert libc.prctl(36, ctypes.c_ulong(1), 0, 0, 0) == 0
os.execv(sys.argv[3], sys.argv[3:])
"""


def numbers():
    found = inheritance._system_calls()
    if found is None:
        pytest.skip("the numbers of the system calls are not known here")
    return found


def start(*words, **options):
    return start_helper(words, "mount", **options)


def hello(process):
    process.stdin.write(b'{"id": "a", "verb": "hello", "args": {}}\n')
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def end(process):
    process.stdin.close()
    try:
        return process.wait(DEADLINE_S)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def spoiled(word):
    made = ",".join(map(str, numbers()))
    process = start(sys.executable, "-c", SPOIL, word, made, *COMMAND)
    assert "ok" in hello(process)
    return process


def test_timer_slack_is_the_kernel_s_own():
    process = spoiled("slack")
    assert int(Path(f"/proc/{process.pid}/timerslack_ns").read_text()) == 50_000
    assert end(process) == 0


def test_the_class_of_input_and_output_is_the_default():
    process = spoiled("ioprio")
    get = numbers()[0] + 1  # ioprio_get(2) has the next number on every machine
    assert ctypes.CDLL(None).syscall(*map(ctypes.c_long, (get, 1, process.pid))) == 2 << 13 | 4
    assert end(process) == 0


def test_personality_and_the_killer_s_score_are_the_default():
    process = spoiled("personality")
    assert Path(f"/proc/{process.pid}/personality").read_text().strip() == "00000000"
    assert end(process) == 0
    process = spoiled("oom")
    assert int(Path(f"/proc/{process.pid}/oom_score_adj").read_text()) == 0
    assert end(process) == 0


# The caller's terminal.

#: Gets a terminal, and starts the helper in its foreground: as a leader of the session, of a group with
#: another member, or as neither. What it reads from its input are keys pressed at that terminal.
AT_TERMINAL = """
import fcntl, os, signal, subprocess, sys, termios
how, terminal, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
if how == "session":
    os.execv(command[0], command)
if how == "none":
    os.execv("/bin/sh", ["sh", "-c", '"$@"; exit $?', "sh", *command])
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
gate, go = os.pipe()
leader = os.fork()
if leader == 0:
    os.read(gate, 1)
    os.close(go)
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(command[0], command)
os.setpgid(leader, leader)
other = os.fork()
if other == 0:
    os.setpgid(0, leader)
    os.write(go, b".")
    os.closerange(0, 3)
    signal.pause()
os.tcsetpgrp(terminal, leader)
os.closerange(0, 2)
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
code = os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1])
os.kill(other, signal.SIGKILL)
os._exit(code if code >= 0 else 200 - code)
"""


@pytest.mark.parametrize("how", ["session", "group", "none"])
def test_keys_at_the_caller_s_terminal_neither_stop_nor_kill_it(how):
    ours, theirs = pty.openpty()
    process = start(
        sys.executable, "-I", "-c", AT_TERMINAL, how, str(theirs), *COMMAND,
        pass_fds=[theirs], start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        assert hello(process)["ok"]["uid"] == 0
        for key in (b"\x1a", b"\x1c", b"\x1a\x1c"):  # Ctrl-Z, Ctrl-\
            os.write(ours, key)
            # A stopped or ended helper does not answer.
            assert "ok" in hello(process)
        process.stdin.close()
        assert process.stdout.read() == b""
        # The key ends the shell in between.
        assert process.wait(DEADLINE_S) == 0 or how == "none"
    finally:
        os.killpg(process.pid, signal.SIGKILL) if process.poll() is None else None
        process.wait()
        process.stdin.close()
        process.stdout.close()
        os.close(ours)


def test_each_role_leads_a_session_of_its_own():
    process = start(*COMMAND, process_group=0)  # a leader, as a shell makes it
    assert "ok" in hello(process)
    roles = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert roles
    # One role has answered; the others may not have run since their fork.
    deadline = time.monotonic() + DEADLINE_S
    while strangers := [pid for pid in map(int, roles) if os.getsid(pid) != pid]:
        assert time.monotonic() < deadline, f"in the session of the caller: {strangers}"
        os.sched_yield()
    assert end(process) == 0


# The caller's locale.

#: Program that writes an entry to an fstab of the test, like the role “persist”.
WRITE = """
import hashlib, sys
sys.path.append(sys.argv[1])
from app.helper.fstab_writer import FstabWriter
class Quiet:
    cancelled = False
    def wait(self, fds, timeout_s):
        import select
        return set(select.select([*fds], [], [], timeout_s)[0])
target = sys.argv[4].encode("ascii").decode("unicode_escape")
wanted = {"share": "nas:/x", "target": target, "fstype": "nfs", "options": []}
FstabWriter(sys.argv[2], sys.argv[3]).add({**wanted, "sha256": hashlib.sha256(b"").hexdigest()}, Quiet())
"""


@pytest.mark.skipif(not shutil.which("localedef"), reason="localedef is not installed")
@pytest.mark.parametrize(
    ("locale", "charset", "name"),
    [
        ("en_US", "ISO-8859-1", "/mnt/\xe9"),
        ("zh_TW", "BIG5", "/mnt/\u529fx"),
        ("ja_JP", "SHIFT_JIS", "/mnt/a\xa5040b"),
    ],
)
def test_paths_are_written_as_utf8_whatever_the_locale(tmp_path, locale, charset, name):
    made = subprocess.run(
        ["localedef", "--no-archive", "-c", "-i", locale, "-f", charset, tmp_path / f"{locale}.{charset}"],
        check=False, capture_output=True,
    )  # fmt: skip
    if not (tmp_path / f"{locale}.{charset}" / "LC_CTYPE").exists():
        pytest.skip(f"the locale cannot be made here: {made.stderr.decode(errors='replace')[:200]}")
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "fstab").touch()
    subprocess.run(
        [*ISOLATED, "-c", WRITE, str(HERE), tmp_path / "etc", tmp_path / "state" / "fstab",
         name.encode("unicode_escape")],
        env={"LOCPATH": str(tmp_path), "LC_ALL": f"{locale}.{charset}"}, check=True,
    )  # fmt: skip
    assert name.encode("utf-8") in (tmp_path / "etc" / "fstab").read_bytes()


# State that a worker inherits.

#: Program that starts a worker like namespace_init, with a key in the session keyring; prints the answer.
RUN = """
import ctypes, json, os, resource, sys
sys.path.append(sys.argv[1])
from app.helper import inheritance, namespace_init
from app.helper.callers import Caller
keyctl = inheritance._system_calls()[1]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(ctypes.c_long(keyctl), ctypes.c_long(1), None)
secret = (b"user", b"mountwright-test", b"TOPSECRET", ctypes.c_long(9), ctypes.c_long(-3))
libc.syscall(ctypes.c_long(keyctl - 2), *secret)  # add_key(2)
limits = json.loads(sys.argv[4])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
caller = Caller(65534, 65534, (), tuple((limit, tuple(values)) for limit, values in limits), 0)
made = namespace_init._NamespaceInit(-1, caller)
print(json.dumps(made._run({"run": json.loads(sys.argv[3]), "socket": sys.argv[2]})))
"""

#: Program of the worker: it searches for the key, and prints its limits.
LOOK = """
import ctypes, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
number, search, session, none = map(ctypes.c_long, ({keyctl}, 10, -3, 0))
found = libc.syscall(number, search, session, b"user", b"mountwright-test", none)
files = sorted(os.listdir("/proc/self/fd"))
print(os.getuid(), found, ctypes.get_errno(), resource.getrlimit(resource.RLIMIT_CORE), files)
"""


@pytest.fixture
def listener(plain_path):
    plain_path.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(plain_path / "socket"))
        (plain_path / "socket").chmod(0o777)
        made.listen(2)
        made.settimeout(DEADLINE_S)
        yield made


def run_worker(path, argv, limits=(), *, without=()):
    command = [*ISOLATED, "-c", RUN, str(HERE), str(path), json.dumps(argv), json.dumps(limits)]
    if without:
        command = ["setpriv", *(f"--bounding-set=-{name}" for name in without), *command]
    done = subprocess.run(command, check=True, capture_output=True, timeout=DEADLINE_S)
    return json.loads(done.stdout)


def told(listener):
    with listener.accept()[0] as talk, listener.accept()[0]:
        text = b""
        while chunk := talk.recv(4096):
            text += chunk
    return text.decode().strip()


def test_a_worker_has_an_empty_session_keyring(listener):
    keyctl = numbers()[1]
    look = LOOK.format(keyctl=keyctl)
    answer = run_worker(listener.getsockname(), ["/usr/bin/python3", "-I", "-c", look])
    assert answer == {"started": True, "reason": ""}
    uid, found, number, *_limits = told(listener).split(" ", 3)
    assert uid == str(NOBODY)
    if number == "38":
        pytest.skip("this kernel has no keyrings")
    assert (found, number) == ("-1", "126")  # ENOKEY
    # Counter-test: without the new keyring, root's worker finds the key.
    seen = subprocess.run(
        [*ISOLATED, "-c", RUN.rpartition("limits =")[0] + look, str(HERE)], capture_output=True, check=True
    )
    assert int(seen.stdout.split()[1]) > 0


@pytest.mark.skipif(not shutil.which("setpriv"), reason="setpriv is not installed")
def test_a_worker_starts_without_the_right_to_raise_limits(listener):
    """In a container the helper may lower a limit that root cannot raise again."""
    limits = [[4, [-1, -1]], [7, [1 << 19, 1 << 19]]]  # RLIMIT_CORE, RLIMIT_NOFILE
    look = LOOK.format(keyctl=numbers()[1])
    argv = ["/usr/bin/python3", "-I", "-c", look]
    answer = run_worker(listener.getsockname(), argv, limits, without=["sys_resource"])
    assert answer == {"started": True, "reason": ""}
    assert "(0, 0) ['0', '1', '2', '3']" in told(listener)  # 3 lists them


@pytest.mark.parametrize(
    ("argv", "socket_path", "reason"),
    [
        (["/no/such/program"], None, "/no/such/program: No such file or directory"),
        (["/etc/shadow"], None, "/etc/shadow: Permission denied"),
        (["/bin/true"], "/no/such/socket", "the connection: No such file or directory"),
    ],
)
def test_a_worker_that_cannot_start_is_told_with_its_reason(listener, argv, socket_path, reason):
    answer = run_worker(socket_path or listener.getsockname(), argv)
    assert answer == {"started": False, "reason": reason}


def test_the_verb_run_refuses_with_that_reason():
    class FakeNamespace:
        def say(self, _message):
            return

        def hear(self, _deadline_s, _waiter):
            return {"started": False, "reason": "the limits of the caller: \x1b[2J"}

    bench = BenchVerbs(Caller(0, 0))
    bench._namespace, bench._is_open = FakeNamespace(), True
    with pytest.raises(Refusal, match="could not be started") as caught:
        bench.run({"argv": ["/bin/true"], "socket": "/x"}, None)
    assert (caught.value.code, caught.value.detail) == ("unavailable", "the limits of the caller: \\x1b[2J")
    bench._namespace, bench._is_open = None, False


def test_limits_come_as_near_as_they_can(monkeypatch):
    infinite = inheritance.resource.RLIM_INFINITY
    done = []

    def refuse(_limit, values):
        done.append(values)
        if len(done) == 1:
            raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(inheritance.resource, "setrlimit", refuse)
    for wanted, hard, near in [
        ((infinite, infinite), 5, (5, 5)),
        ((3, infinite), 5, (3, 5)),
        ((3, 4), infinite, (3, 4)),
        ((9, 9), 5, (5, 5)),
    ]:
        done.clear()
        monkeypatch.setattr(inheritance.resource, "getrlimit", lambda _limit, hard=hard: (0, hard))
        inheritance.set_limit(7, wanted)
        assert done == [wanted, near]


@pytest.mark.parametrize(
    ("machine", "wide", "found"),
    [
        ("x86_64", True, (251, 250)),
        ("x86_64", False, (289, 288)),
        ("i686", False, (289, 288)),
        ("aarch64", True, (30, 219)),
        ("armv7l", False, (314, 311)),
        ("ppc64le", True, (273, 271)),
        ("s390x", True, (282, 280)),
        ("riscv64", True, (30, 219)),
        ("pdp11", False, None),
    ],
)
def test_each_machine_has_its_numbers(monkeypatch, machine, wide, found):
    """Sources: arch/*/kernel/syscalls/syscall.tbl and include/uapi/asm-generic/unistd.h."""
    monkeypatch.setattr(os, "uname", lambda: type("Name", (), {"machine": machine}))
    monkeypatch.setattr(sys, "maxsize", 2**63 - 1 if wide else 2**31 - 1)
    assert inheritance._system_calls() == found
    if found is None:
        with pytest.raises(OSError, match="not known"):
            inheritance.join_new_session_keyring()
