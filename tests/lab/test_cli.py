"""Command line as users run it, each command with a guest of its own."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from lab_guest import DEADLINE_S

PROGRAM = [sys.executable, "-P", "-m", "ui.entry"]


def run(*args: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == expect, done.stderr
    return done


def test_the_lab_test_prints_the_promised_object() -> None:
    done = run("--lab", "fast-ethernet", "test", "-o", "vers=4.2,rsize=65536", "--size", "4M", "--json")
    result: dict[str, Any] = json.loads(done.stdout)
    assert done.stderr == ""
    assert result["nfs"] is True
    for direction in ("write", "read"):
        transfer = result[direction]
        assert transfer["bytes"] == 4 * 2**20
        assert transfer["bytes_per_s"] > 0
        assert transfer["samples"]
        spent = transfer["transfer_s"] + transfer["fsync_s"] + transfer["close_s"]
        assert transfer["bytes_per_s"] == pytest.approx(transfer["bytes"] / spent, rel=0.01)
        assert transfer["timeouts"] == 0
        assert transfer["retransmissions_from"] == "tcp_info"
    assert result["requested"] == {"vers": "4.2", "rsize": "65536"}
    assert result["effective"]["rsize"] == "65536"
    assert result["effective"]["vers"] == "4.2"
    assert result["cache"]["method"] == "fadvise"
    assert result["cache"]["cached"] is False
    assert result["link"]["name"] == "fast-ethernet"
    assert result["link"]["rate_bps"] == 1e8


def test_a_fresh_mount_keeps_the_cache_out() -> None:
    done = run("--lab", "gigabit", "test", "--cache", "fresh-mount", "--size", "4M", "--json")
    result = json.loads(done.stdout)
    assert result["cache"]["method"] == "fresh-mount"
    assert result["cache"]["checked"] is True
    assert result["cache"]["cached"] is False
    assert result["read"]["server_bytes"] >= 4 * 2**20


def test_mount_in_the_lab_shows_asked_and_in_use() -> None:
    done = run("mount", "--lab", "rate=50mbit,delay=2ms,loss=0.1%", "-o", "vers=3,rsize=1000")
    assert "1000" in done.stdout
    assert "4096" in done.stdout


def test_facts_of_the_lab() -> None:
    facts = json.loads(run("--lab", "10base-t", "facts", "--json").stdout)
    assert facts["link"]["driver"] == "3c509"
    assert facts["link"]["rtt_s"] > 0


def test_watch_shows_the_lab_at_work() -> None:
    done = run("--lab", "rate=50mbit,delay=5ms", "watch", "--count", "4", "--json")
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(samples) == 4
    assert max(sample["write_bytes_per_s"] + sample["read_bytes_per_s"] for sample in samples) > 0
    assert all(sample["read_ahead_kb"] for sample in samples)
    assert max(sample["rtt_s"] or 0 for sample in samples) > 0.01


def test_a_bad_link_exits_with_2_and_names_the_profiles() -> None:
    done = run("--lab", "token-ring", "list", expect=2)
    assert done.stdout == ""
    assert "token-ring" in done.stderr
    assert "fast-ethernet" in done.stderr


def test_a_refused_option_exits_with_2() -> None:
    done = run("--lab", "gigabit", "test", "-o", "timeo=soon", expect=2)
    assert "timeo" in done.stderr


def test_ctrl_c_ends_a_long_test_cleanly() -> None:
    main, side = pty.openpty()  # progress is shown on a terminal only
    child = subprocess.Popen(
        [*PROGRAM, "--lab", "10base-t", "test", "--size", "200M"], stdout=subprocess.PIPE, stderr=side
    )
    os.close(side)
    shown = b""
    while b"write: write" not in shown:
        shown += os.read(main, 4096)
    child.send_signal(signal.SIGINT)
    drained = threading.Thread(target=drain, args=(main, chunks := []), name="drain")
    drained.start()
    assert child.wait(DEADLINE_S) == 130
    drained.join()
    os.close(main)
    assert b"Cancelled" in b"".join(chunks)
    assert child.stdout is not None
    assert child.stdout.read() == b""
    child.stdout.close()


def drain(fd: int, chunks: list[bytes]) -> None:
    with contextlib.suppress(OSError):  # EIO: the other side is closed
        while chunk := os.read(fd, 4096):
            chunks.append(chunk)
