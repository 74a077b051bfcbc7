"""The real helper process as root: inherited state, refusals, and cleanup."""

import ast
import contextlib
import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest
from helper_line import start_helper
from waiting import DEADLINE_S

from app.helper.verbs import ROLES

HERE = Path(__file__).parents[3]
PACKAGE = HERE / "app" / "helper"
MAIN = PACKAGE / "__main__.py"
ISOLATED = [sys.executable, "-IBSXutf8"]
COMMAND = [*ISOLATED, str(MAIN)]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="the helper runs as root")


def start(role="mount", **options):
    """Start a helper; its standard input and output are those of the role."""
    return start_helper(COMMAND, role, **options)


def ask(requests, role="mount", **options):
    """Send these requests to a new helper; return its answers, and the ended process with its errors."""
    lines = "".join(
        json.dumps({"id": f"{number:x}", "verb": verb, "args": args}) + "\n"
        for number, (verb, args) in enumerate(requests)
    )
    with start(role, stderr=subprocess.PIPE, **options) as done:
        with contextlib.suppress(BrokenPipeError):
            done.stdin.write(lines.encode())
        done.stdin.close()
        answers = [json.loads(line) for line in done.stdout]
        done.said = done.stderr.read()
    return answers, done


def mount(**changes):
    plain = {
        "share": "127.0.0.1:/x",
        "target": "/mnt/mountwright-test",
        "options": ["vers=4.2"],
        "create": True,
        "timeout_ms": 10000,
    }
    return ("mount", {**plain, **changes})


def unmount(target):
    return ("unmount", {"target": target, "timeout_ms": 5000})


def converse(process, verb, args):
    process.stdin.write(json.dumps({"id": "a", "verb": verb, "args": args}).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@as_root
def test_hello():
    answers, done = ask([("hello", {})])
    assert answers == [{"id": "0", "ok": {"role": "mount", "uid": 0}}]
    assert (done.returncode, done.said) == (0, b"")


#: Parent program with unusual values of all inherited process state.
SPOIL = """
import os, resource, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
    signal.signal(number, signal.SIG_IGN)
os.umask(0)
os.nice(19)
os.set_inheritable(os.open(os.getcwd(), os.O_RDONLY), True)
signal.setitimer(signal.ITIMER_REAL, 3600)
resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
resource.setrlimit(resource.RLIMIT_NOFILE, (20, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
resource.setrlimit(resource.RLIMIT_CPU, (3000, resource.RLIM_INFINITY))
os.execv(sys.argv[1], sys.argv[1:])
"""


@as_root
def test_it_sheds_what_it_inherits(tmp_path):
    process = start_helper(
        [sys.executable, "-c", SPOIL, *COMMAND],
        "mount",
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "EVIL": "1"},
    )
    try:
        assert "ok" in converse(process, "hello", {})
        proc = Path(f"/proc/{process.pid}")
        status = dict(
            line.split(":\t", 1) for line in (proc / "status").read_text().splitlines() if ":\t" in line
        )
        assert status["Umask"] == "0077"
        assert int(status["SigBlk"], 16) == 0
        assert not int(status["SigIgn"], 16) & (1 << (signal.SIGTERM - 1) | 1 << (signal.SIGCHLD - 1))
        limits = (proc / "limits").read_text()
        assert limits.splitlines()[2].split()[3:5] == ["unlimited", "unlimited"]  # file size
        assert limits.splitlines()[1].split()[3:5] == ["unlimited", "unlimited"]  # processor time
        assert os.getpriority(os.PRIO_PROCESS, process.pid) == 0
        assert str((proc / "cwd").readlink()) == "/"
        targets = {str(link.readlink()) for link in (proc / "fd").iterdir()}
        assert str(tmp_path) not in targets
        refused = converse(process, *mount(target="/usr"))
        assert refused["error"]["code"] == "mount-point-system"
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@as_root
@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        ([sys.executable, str(MAIN), "mount"], "-IBSXutf8"),
        ([sys.executable, "-I", str(MAIN), "mount"], "-IBSXutf8"),
        ([sys.executable, "-IBS", "-Xutf8=0", str(MAIN), "mount"], "-IBSXutf8"),
        ([*COMMAND, "root"], "usage"),
        ([*COMMAND], "usage"),
        ([*COMMAND, "mount", "more"], "usage"),
    ],
)
def test_it_starts_in_one_way_only(argv, reason):
    done = subprocess.run(argv, stdin=subprocess.PIPE, capture_output=True, check=False, timeout=60)
    assert done.returncode == 64
    assert reason in done.stderr.decode()


@as_root
@pytest.mark.parametrize("uid", ["1000", "0x0", "-1", "", "0; id", "99999999999999999999"])
def test_a_caller_that_is_not_the_parent_is_refused(uid):
    _answers, done = ask([("hello", {})], env={"PKEXEC_UID": uid})
    assert done.returncode == 71


@as_root
def test_a_pipe_or_a_file_is_no_peer(tmp_path):
    for stdin in ((tmp_path / "in").open("w+b"), subprocess.PIPE):
        done = subprocess.run([*COMMAND, "mount"], stdin=stdin, capture_output=True, check=False, timeout=60)
        assert done.returncode == 71
        if stdin != subprocess.PIPE:
            stdin.close()


@as_root
@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"share": "nas"}, "share-invalid"),
        ({"share": "-o:/x"}, "share-invalid"),
        ({"share": "nas:/x\nmount"}, "share-invalid"),
        ({"target": "mnt/x"}, "mount-point-invalid"),
        ({"target": "/mnt/../etc"}, "mount-point-invalid"),
        ({"target": "/"}, "mount-point-system"),
        ({"target": "/usr/share/doc"}, "mount-point-system"),
        ({"target": "/proc/1"}, "mount-point-system"),
        ({"target": "/lost+found"}, "mount-point-system"),
        ({"target": "/mnt/mountwright-test/a", "create": False}, "mount-point-missing"),
        ({"options": ["suid"]}, "option-invalid"),
        ({"options": ["rw,suid"]}, "option-invalid"),
        ({"timeout_ms": 0}, "usage"),
        ({"timeout_ms": True}, "usage"),
        ({"options": [1]}, "usage"),
        ({"uid": 0}, "usage"),
    ],
)
def test_bad_mounts_are_refused_and_leave_nothing(change, code):
    answers, done = ask([mount(**change)])
    assert answers[0]["error"]["code"] == code
    assert not os.path.lexists("/mnt/mountwright-test")
    assert done.returncode == 0


@as_root
@pytest.mark.parametrize(
    ("role", "verb", "args", "code"),
    [
        ("try", "try", {"share": "nas"}, "share-invalid"),
        ("try", "try", {"share": "nas:/x,evil:/y"}, "share-invalid"),
        ("try", "try", {"options": ["suid"]}, "option-invalid"),
        ("try", "try", {"options": ["ro,dev"]}, "option-invalid"),
        ("try", "try", {"timeout_ms": 10**9}, "usage"),
        ("try", "try", {"target": "/mnt/x"}, "usage"),
        ("mount", "remount", {"target": "/"}, "not-mounted"),
        ("mount", "remount", {"target": "/proc"}, "not-mounted"),
        ("mount", "remount", {"target": "proc"}, "mount-point-invalid"),
        ("units", "unit-write", {"target": "/etc"}, "mount-point-system"),
        ("units", "unit-write", {"options": ["x-systemd.requires=evil.service"]}, "option-invalid"),
        ("units", "unit-write", {"options": ["helper=evil"]}, "option-invalid"),
        ("units", "unit-write", {"share": "nas:/x\nExecStart=/bin/sh"}, "share-invalid"),
        ("units", "unit-write", {"idle_s": True}, "usage"),
        ("units", "unit-remove", {"target": "/mnt/../etc"}, "mount-point-invalid"),
        ("units", "unit-remove", {"target": "/mnt/mountwright-nothing"}, "not-mounted"),
        ("bench", "open", {"share": "nas"}, "share-invalid"),
        ("bench", "open", {"options": ["suid"]}, "option-invalid"),
        ("bench", "open", {"options": ["sharecache,suid"]}, "option-invalid"),
        ("bench", "open", {"read_ahead_kb": -2}, "option-invalid"),
        ("bench", "open", {"read_ahead_kb": 1 << 20}, "option-invalid"),
        ("bench", "open", {"timeout_ms": 0}, "usage"),
        ("bench", "open", {"target": "/mnt/x"}, "usage"),
        ("bench", "run", {}, "not-mounted"),
        ("bench", "run", {"argv": []}, "usage"),
        ("bench", "run", {"argv": ["python3"]}, "usage"),
        ("bench", "run", {"argv": ["/bin/true", "a\0b"]}, "usage"),
        ("bench", "run", {"argv": ["/bin/true", 1]}, "usage"),
        ("bench", "run", {"argv": ["/bin/true"] * 65}, "usage"),
        ("bench", "run", {"socket": "run/x"}, "usage"),
        ("bench", "run", {"socket": "/run/" + "x" * 103}, "usage"),
        ("bench", "run", {"uid": 0}, "usage"),
        ("bench", "abort", {}, "not-mounted"),
        ("bench", "close", {}, "not-mounted"),
        ("bench", "close", {"timeout_ms": -1}, "usage"),
        ("bench", "mount", {}, "usage"),
        ("mount", "run", {}, "usage"),
        ("tune", "tune", {}, "usage"),
        ("tune", "tune", {"target": "/proc", "read_ahead_kb": 1, "sunrpc": {}}, "usage"),
        ("tune", "tune", {"target": "/proc", "read_ahead_kb": -1}, "option-invalid"),
        ("tune", "tune", {"target": "/proc", "read_ahead_kb": 1}, "not-mounted"),
        ("tune", "readahead-save", {}, "usage"),
        ("tune", "readahead-save", {"target": "/mnt/x", "read_ahead_kb": -1, "sha256": ""}, "option-invalid"),
        (
            "tune",
            "readahead-save",
            {"target": "/usr", "read_ahead_kb": 1, "sha256": ""},
            "mount-point-system",
        ),
        ("tune", "readahead-save", {"target": "/mnt/x", "read_ahead_kb": "1", "sha256": ""}, "usage"),
        ("tune", "readahead-remove", {"target": "/mnt/mountwright-nothing", "sha256": ""}, "not-mounted"),
        ("tune", "mount", {}, "usage"),
        ("mount", "tune", {}, "usage"),
    ],
)
def test_bad_requests_of_the_other_verbs_are_refused(role, verb, args, code):
    plain = {
        "try": {"share": "127.0.0.1:/x", "options": [], "timeout_ms": 1000},
        "open": {"share": "127.0.0.1:/x", "options": [], "timeout_ms": 1000},
        "run": {"argv": ["/bin/true"], "socket": "/run/x"},
        "close": {"timeout_ms": 1000},
        "remount": {"options": ["ro"], "timeout_ms": 1000},
        "unit-write": {"share": "nas:/x", "target": "/mnt/mountwright-test", "options": [],
                       "automount": True, "sha256": "wrong"},
        "unit-remove": {"sha256": ""},
    }  # fmt: skip
    answers, done = ask([(verb, {**plain.get(verb, {}), **args})], role)
    assert answers[0]["error"]["code"] == code
    assert done.returncode == 0


@as_root
@pytest.mark.skipif(not Path("/sbin/mount.nfs").exists(), reason="mount.nfs is not installed")
def test_a_failing_try_leaves_nothing():
    before = Path("/proc/self/mountinfo").read_text()
    request = ("try", {"share": "127.0.0.1:/x", "options": ["vers=4.2"], "timeout_ms": 10000})
    answers, done = ask([request], "try")
    assert answers[0]["error"]["code"] in {"mount-failed", "cancelled", "unavailable"}
    assert done.returncode == 0
    assert Path("/proc/self/mountinfo").read_text() == before


@as_root
@pytest.mark.skipif(not Path("/sbin/mount.nfs").exists(), reason="mount.nfs is not installed")
def test_a_failing_mount_leaves_nothing():
    """127.0.0.1 exports nothing, or the kernel has no NFS, so mount.nfs fails."""
    with start() as process:
        error = converse(process, *mount(target="/mnt/mountwright-test/deep/er"))["error"]
        process.stdin.close()
    assert error["code"] == "mount-failed"
    assert "mount.nfs" in error["detail"]
    assert isinstance(error["data"]["exit_code"], int)
    assert not os.path.lexists("/mnt/mountwright-test")


@as_root
def test_only_nfs_mounts_are_unmounted_or_looked_at():
    for verb in (unmount, lambda target: ("holders", {"target": target})):
        answers, _done = ask([verb("/proc"), verb("/"), verb("/mnt/nothing"), verb("proc")])
        codes = [answer["error"]["code"] for answer in answers]
        assert codes == ["not-mounted", "not-mounted", "not-mounted", "mount-point-invalid"]


@as_root
def test_the_end_of_its_input_ends_it():
    process = start()
    assert "ok" in converse(process, "hello", {})
    process.stdin.close()
    assert process.wait(DEADLINE_S) == 0
    process.stdout.close()


@as_root
@pytest.mark.parametrize("how", ["SIGTERM", "end of input", "nothing"])
def test_a_peer_that_does_not_read_cannot_hold_it(how):
    """Its answers exceed the socket's buffer; it ends by a signal, or because the peer does not read."""
    process = start("tune")
    line = socket.socket(fileno=os.dup(process.stdin.fileno()))
    question = json.dumps({"id": "a" * 32, "verb": "hello", "args": {}}).encode() + b"\n"
    try:
        # More than both buffers hold: it stops reading while its answers are not read.
        line.settimeout(1.0)
        with contextlib.suppress(TimeoutError):
            line.sendall(question * 100_000)
        if how == "SIGTERM":
            process.send_signal(signal.SIGTERM)
        elif how == "end of input":
            line.shutdown(socket.SHUT_WR)
        assert process.wait(DEADLINE_S) == 0
    finally:
        process.kill()
        process.wait()
        for file in (line, process.stdin, process.stdout):
            file.close()


@pytest.mark.skipif(os.geteuid() == 0, reason="for ordinary users")
def test_it_does_not_serve_as_an_ordinary_user():
    _answers, done = ask([("hello", {})])
    assert done.returncode == 77


def sources():
    return sorted(PACKAGE.glob("*.py"))


def test_it_imports_the_standard_library_and_itself_alone():
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module]
            for name in names:
                own = name == "app.helper" or name.startswith("app.helper.")
                assert own or name.split(".")[0] in sys.stdlib_module_names, f"{path.name}: {name}"


#: Most lines of code that the process of one role loads as root, without and of the approval gate.
MAX_CODE_LINES, MAX_GATE_LINES = 1900, 120
#: Modules that take longer to load than the code of a role: dataclasses loads inspect, and inspect loads ast.
SLOW_TO_LOAD = ("ast", "dataclasses", "inspect", "pathlib", "urllib.parse")


def code_lines(text):
    """Count the lines that are neither blank nor comment nor docstring."""
    kept = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
        for number in range(token.start[0], token.end[0] + 1)
        if token.type not in {tokenize.INDENT, tokenize.DEDENT}
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            kept -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(kept)


@pytest.mark.parametrize("role", sorted(ROLES))
def test_a_role_s_process_loads_little(role):
    script = (
        "import sys; sys.path.append(sys.argv[1]); import app.helper.main as m; "
        "from app.helper.callers import Caller; m.load_handlers(sys.argv[2], Caller(0, 0)); "
        "print('\\n'.join(x.__file__ for n, x in list(sys.modules.items())"
        " if n.startswith('app.') or n in sys.argv[3:]))"
    )
    done = subprocess.run(
        [*ISOLATED, "-c", script, str(HERE), role, *SLOW_TO_LOAD],
        capture_output=True,
        text=True,
        check=True,
    )
    files = [Path(name) for name in done.stdout.splitlines()]
    assert {file.parent for file in files} == {PACKAGE}
    assert PACKAGE / "session.py" in files
    assert sum(code_lines(file.read_text()) for file in files) <= MAX_CODE_LINES
    assert PACKAGE / "approval_gate.py" not in files
    assert code_lines((PACKAGE / "approval_gate.py").read_text()) <= MAX_GATE_LINES


COUNTED = '''"""What it is.

More.
"""

# Why.
x = (
    1,  # one
)


def f():
    """Say."""
    return x
'''


def test_only_code_is_counted():
    assert code_lines(COUNTED) == 5


def test_it_stays_plain():
    for name, content in {path.name: path.read_text() for path in sources()}.items():
        for word in ("shell=True", "os.system", "pickle", "eval(", "exec(", "tempfile", "popen("):
            assert word not in content, f"{name}: {word}"


def test_loaded_modules_are_root_s_own():
    """All loaded modules are from the interpreter's library or the helper's own directory."""
    script = (
        "import sys; sys.path.append(sys.argv[1]); import app.helper.main; "
        "print('\\n'.join(getattr(m, '__file__', None) or '' for m in sys.modules.values()))"
    )
    done = subprocess.run([*ISOLATED, "-c", script, str(HERE)], capture_output=True, text=True, check=True)
    library = str(Path(os.__file__).parent)
    for file in filter(None, done.stdout.splitlines()):
        assert file.startswith((str(PACKAGE), str(HERE / "app" / "__init__.py"), library)), file
        assert "site-packages" not in file


def test_the_launcher_is_executable_and_isolated():
    launcher = HERE / "packaging" / "mountwright-helper"
    assert launcher.read_text().startswith("#!/usr/bin/python3 -IBSXutf8\n")
    assert launcher.stat().st_mode & stat.S_IXUSR


@as_root
@pytest.mark.skipif(not Path("/sbin/mount.nfs").exists(), reason="mount.nfs is not installed")
def test_the_end_of_its_input_ends_a_mount_under_way():
    """203.0.113.1 never answers (RFC 5737); the input ends while mount.nfs waits."""
    answers, done = ask([mount(share="203.0.113.1:/x")])
    assert answers[0]["error"]["code"] in {"cancelled", "mount-failed"}
    assert done.returncode == 0
    assert not os.path.lexists("/mnt/mountwright-test")
