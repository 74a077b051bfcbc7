import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helper_line import peer

from app.helper_client.client import HelperClient
from app.process import PIPE, child_environment, find_program, kill_group, run, start, start_connected, wait
from app.service.hosts import LocalAgent
from app.tasks import CancelToken

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"
#: Script that tries to reopen the descriptors of another process of the same user, to read or to write.
ATTACK = """
import json, os, sys
opened = []
for pid in sys.argv[1:]:
    for number in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{number}"
        if os.readlink(path).startswith(("pipe:", "socket:")):
            for flags in (os.O_WRONLY, os.O_RDONLY):
                try:
                    os.close(os.open(path, flags | os.O_NONBLOCK))
                    opened.append([int(pid), int(number)])
                except OSError:
                    pass
print(json.dumps(opened))
"""


def test_the_outcome_keeps_status_and_both_outputs() -> None:
    script = "import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write('e'); sys.exit(3)"
    outcome = run([sys.executable, "-c", script], timeout=30, input_text="in")
    assert (outcome.code, outcome.stdout, outcome.stderr) == (3, "in", "e")
    assert not outcome.ok
    assert not outcome.timed_out


def test_odd_bytes_survive() -> None:
    outcome = run([sys.executable, "-c", "import os; os.write(1, b'\\xff')"], timeout=30)
    assert outcome.ok
    assert outcome.stdout.encode(errors="surrogateescape") == b"\xff"


def test_the_deadline_ends_the_whole_group(tmp_path: object) -> None:
    # The grandchild holds the pipe open: if it lived, communicate() would wait for it.
    script = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    outcome = run([sys.executable, "-c", script], timeout=0.5)
    assert outcome.timed_out


def test_children_get_no_secrets_and_a_c_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "x")
    monkeypatch.setenv("SECRET", "x")
    env = child_environment({"EXTRA": "1"})
    assert env["LC_ALL"] == "C.UTF-8"
    assert env["EXTRA"] == "1"
    assert "SECRET" not in env
    assert "LD_PRELOAD" not in env


def test_programs_are_found_in_sbin_too() -> None:
    assert find_program("sh")
    assert find_program("no-such-program-here") is None


def hijacked(*pids: int) -> list[list[int]]:
    """Return (process, descriptor) of every descriptor that another process can reopen."""
    command = [sys.executable, "-I", "-c", ATTACK, *map(str, pids)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
    return json.loads(done.stdout)


def link(fd: int) -> str:
    return str(Path(f"/proc/self/fd/{fd}").readlink())


def test_another_process_writes_into_a_pipe_but_not_into_a_socket() -> None:
    piped = start([sys.executable, "-c", ECHO])
    connected = start_connected([sys.executable, "-c", ECHO])
    try:
        assert [piped.pid, 0] in hijacked(piped.pid, connected.pid)
        assert not [pid for pid, _number in hijacked(piped.pid, connected.pid) if pid == connected.pid]
        ours = {piped.stdin.fileno(), piped.stdout.fileno()}
        mine = {connected.stdin.fileno(), connected.stdout.fileno()}
        found = {number for _pid, number in hijacked(os.getpid())}
        assert ours <= found
        assert not mine & found
    finally:
        for child in (piped, connected):
            assert child.communicate(timeout=30) == (b"", None)


def test_a_connected_child_ends_with_its_input_and_what_it_wrote_arrives() -> None:
    child = start_connected([sys.executable, "-c", ECHO], stderr=PIPE)
    out, err = child.communicate(b"x" * 1_000_000 + b"\n", timeout=30)
    assert (len(out), err, child.returncode) == (1_000_001, b"", 0)


def test_a_connected_child_that_reads_nothing_is_heard_all_the_same() -> None:
    # The child ends with unread input, so the write itself cannot fail.
    script = "import os, select; os.write(1, b'a' * 100_000); select.select([0], [], []); os._exit(3)"
    child = start_connected([sys.executable, "-c", script])
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        child.stdin.write(b"nobody reads this")
        assert wait(child, 30) == 3
        assert len(child.stdout.readall()) == 100_000
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            child.stdin.write(b"nor this")


def test_a_program_that_is_not_there_leaves_no_socket() -> None:
    before = sorted(Path("/proc/self/fd").iterdir())
    with pytest.raises(FileNotFoundError):
        start_connected(["/no/such/program"])
    assert sorted(Path("/proc/self/fd").iterdir()) == before


@pytest.fixture
def clients() -> Iterator[Callable[[], HelperClient]]:
    made: list[HelperClient] = []

    def make() -> HelperClient:
        answer = "import json, sys\nfor line in sys.stdin: r = json.loads(line); "
        answer += "print(json.dumps({'id': r['id'], 'ok': {}}), flush=True)"
        made.append(HelperClient("persist", command=[sys.executable, "-I", "-c", peer("persist", answer)]))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_a_session_with_the_helper_cannot_be_joined(clients: Callable[[], HelperClient]) -> None:
    client = clients()
    assert client.call("hello", {}, CancelToken(), 30) == {}
    child = client._connection._child
    roles = [int(word) for word in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]
    opened = hijacked(os.getpid(), child.pid, *roles)
    assert len(roles) == 2
    for pid in (child.pid, *roles):
        assert [pid, 2] in opened  # standard error, which carries no request
        for number in (0, 1):
            assert [pid, number] not in opened
    ours = [child.stdin, *(channel._socket for channel in client._connection._channels.values())]
    for file in ours:
        assert file is not None
        assert [os.getpid(), file.fileno()] not in opened


def test_a_session_with_the_agent_cannot_be_joined() -> None:
    agent = LocalAgent()
    try:
        assert agent.client.submit("hello").result(60) is not None
        child = agent._child
        opened = hijacked(os.getpid(), child.pid)
        assert [child.pid, 0] not in opened
        assert [child.pid, 1] not in opened
        assert child.stdin is not None
        assert [os.getpid(), child.stdin.fileno()] not in opened
        assert [os.getpid(), agent._out.fileno()] not in opened
        # Also the agent's copy of its output: only its standard error is a pipe.
        assert link(child.stdin.fileno()).startswith("socket:")
    finally:
        agent.close()
    assert child.returncode == 0


def test_a_long_lived_child_leads_its_own_session() -> None:
    child = start([sys.executable, "-c", "import time; time.sleep(60)"])
    assert wait(child, 0) is None
    assert os.getsid(child.pid) == child.pid
    kill_group(child)
    assert wait(child, 10) == -9
    kill_group(child)  # gone: nothing happens
    for pipe in (child.stdin, child.stdout):
        assert pipe is not None
        pipe.close()
