import os
import sys

import pytest

from app.process import child_environment, find_program, kill_group, run, start, wait


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


def test_programs_are_looked_for_in_sbin_too() -> None:
    assert find_program("sh")
    assert find_program("no-such-program-here") is None


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
