"""A test in the lab is saved in the history with all data for a later comparison."""

import json
import subprocess
import sys
from typing import Any

from lab_guest import DEADLINE_S

PROGRAM = [sys.executable, "-P", "-m", "ui.entry"]


def run(*args: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*PROGRAM, *args], capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    return done


def kept(number: int) -> dict[str, Any]:
    found = json.loads(run("history", "show", str(number), "--json").stdout)
    assert isinstance(found, dict)
    return found


def test_a_test_is_kept_with_its_environment() -> None:
    words = ("--size", "2M", "--repeats", "4", "--direction", "write", "-o", "vers=4.2,rsize=65536")
    first = run("--lab", "rate=200mbit,delay=1ms", "test", *words)
    assert "Saved in the history as test 1." in first.stdout
    one = kept(1)
    assert one["result"]["requested"] == {"vers": "4.2", "rsize": "65536"}
    assert len(one["result"]["write"]["samples"]) > 1
    found = one["result"]["environment"]
    assert found["kernel"] == found["kernel"].strip() != ""
    assert found["nfs_utils"]
    assert found["program"]
    assert found["memory_bytes"] > 2**27
    assert found["rate_bps"] == 200e6
    assert found["rtt_s"] > 0.001
    assert found["emulated_link"]
    assert found["interface"]
    assert found["server_address"] == "10.9.0.1"
    assert found["nfs_version"] == "4.2"
    assert found["read_ahead_kb"]
    run("history", "baseline", "1")
    assert "1*" in run("history", "list", "--baselines").stdout
