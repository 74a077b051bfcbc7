"""How soon the helper answers a cancel: ``python -P tests/benchmarks/helper_cancel.py``, as root.

A program that hangs stands in for mount.nfs, so that neither a server nor NFS in the kernel is needed. Prints
the milliseconds until the cancel is answered and until the mount is, sorted, with their medians; the goal of
the first is 50.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

_ROOT = Path(__file__).absolute().parents[2]
sys.path[:0] = [str(_ROOT), str(_ROOT / "tests" / "common")]

from helper_line import start_helper  # noqa: E402

if TYPE_CHECKING:
    import subprocess

_ROUNDS = 20
_HANGS = "#!/bin/sh\nexec sleep 60\n"
#: The helper, with another program in the place of mount.nfs.
_HELPER = """
import sys
sys.path.append(sys.argv[1])
from app.helper import mount_nfs
from app.helper.main import main
mount_nfs.MOUNT_NFS = (sys.argv[2],)
sys.exit(main(["mountwright-helper", "mount"]))
"""
#: For the program to be started.
_SETTLE_S = 0.3


def main() -> int:
    """Measure."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "mount.nfs")
        program.write_text(_HANGS)
        program.chmod(0o755)
        command = [sys.executable, "-IBSXutf8", "-c", _HELPER, str(_ROOT), str(program)]
        with start_helper(command, "mount") as helper:
            rounds = [_cancel(helper) for _ in range(_ROUNDS)]
    ended = sum(found is None for found in rounds)
    if ended:
        print(f"{ended} of {_ROUNDS} mounts ended before they were cancelled", file=sys.stderr)
    for name, index in (("answer to the cancel", 0), ("answer to the mount", 1)):
        spent = sorted(found[index] for found in rounds if found is not None)
        if spent:
            median = statistics.median(spent)
            print(f"{name}: median {median:.1f} ms of {[round(each, 1) for each in spent]}")
    return 0


def _cancel(helper: subprocess.Popen[bytes]) -> tuple[float, float] | None:
    """Return the milliseconds to both answers, None if the mount had ended before."""
    args = {
        "share": "203.0.113.1:/x", "target": "/mnt/mountwright-cancel", "options": ["vers=4.2"],
        "create": True, "timeout_ms": 20_000,
    }  # fmt: skip
    _send(helper, "a", "mount", args)
    time.sleep(_SETTLE_S)
    began = time.monotonic()
    _send(helper, "b", "cancel", {"id": "a"})
    spent: dict[str, float] = {}
    found = False
    while len(spent) < 2:
        answer = _read(helper)
        spent[answer["id"]] = (time.monotonic() - began) * 1000
        found = found or answer.get("ok") == {"found": True}
    return (spent["b"], spent["a"]) if found else None


def _send(helper: subprocess.Popen[bytes], name: str, verb: str, args: dict[str, Any]) -> None:
    assert helper.stdin is not None
    helper.stdin.write(json.dumps({"id": name, "verb": verb, "args": args}).encode() + b"\n")
    helper.stdin.flush()


def _read(helper: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert helper.stdout is not None
    answer: dict[str, Any] = json.loads(helper.stdout.readline())
    return answer


if __name__ == "__main__":
    sys.exit(main())
