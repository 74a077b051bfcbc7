"""Guest job with a real udevd: a saved readahead is set at each mount.

All operations use the command line.
"""

import json
from pathlib import Path
from typing import Any

from shell_commands import loaded_program

from app.helper import readahead_rule
from app.lab import udev
from app.lab.server import SHARE
from app.process import find_program, run

_RULES = Path("/usr/lib/udev/rules.d")
_PATIENCE_S = 120.0


def carry_out(points: dict[str, list[Any]], times: int) -> dict[str, Any]:
    """Save the readahead of each mount, unmount and mount all; then remove the rules, and mount all again.

    Args:
        points: options and readahead (KiB) of each mount point.
        times: number of times that all are mounted while the readahead is saved.
    """
    with loaded_program() as mw:
        return _carry_out(mw, points, times)


def _carry_out(mw: Path, points: dict[str, list[Any]], times: int) -> dict[str, Any]:
    def mountwright(*words: str) -> str:
        """Run the program; return its output."""
        outcome = run([str(mw), *words], timeout=_PATIENCE_S)
        assert outcome.ok, f"{words}: {outcome.stdout}{outcome.stderr}"
        return outcome.stdout

    def listed() -> dict[str, list[Any]]:
        """Return readahead and saved readahead of each mount point, after udev has processed its events."""
        program("udevadm", "settle", "--timeout=60")
        rows = json.loads(mountwright("list", "--json"))["mounts"]
        return {
            row["mount_point"]: [row["active"]["read_ahead_kb"], row["active"]["read_ahead_state"]]
            for row in rows
        }

    nfs_utils = [path.read_text() for path in _RULES.glob("99-nfs.rules")]
    assert udev.start_udev()
    for text in nfs_utils:  # the rules of nfs-utils set a default before the program's rule
        (_RULES / "99-nfs.rules").write_text(text)
    answer: dict[str, Any] = {}
    first, *others = points
    for point, (options, kb) in points.items():
        save = ["--save-readahead"] if point == first else []
        mountwright("apply", "-o", options, "--read-ahead", str(kb), *save, SHARE, point)
    answer["applied"] = listed()
    answer["preview"] = mountwright("apply", "--preview", "--save-readahead", SHARE, others[0])
    for point in others:
        report = json.loads(mountwright("apply", "--json", "--save-readahead", SHARE, point))
        answer.setdefault("steps", []).append([step["kind"] for step in report["plan"]["steps"]])
    answer["saved"] = listed()
    for _ in range(times):
        again(points)
        answer.setdefault("again", []).append(listed())
    answer["dry run"] = mountwright("forget", "--dry-run", first)
    for point in points:
        answer.setdefault("forgotten", []).append(mountwright("forget", "--yes", point))
    answer["left"] = sorted(path.name for path in Path(readahead_rule.FOLDER).iterdir())
    answer["forgotten, live"] = listed()
    again(points)
    answer["removed"] = listed()
    return answer


def again(points: dict[str, list[Any]]) -> None:
    """Unmount all, and mount all with mount(8)."""
    for point in points:
        program("umount", point)
    for point, (options, _kb) in points.items():
        program("mount", "-t", "nfs", "-o", options, SHARE, point)


def program(name: str, *words: str) -> None:
    path = find_program(name)
    assert path is not None, name
    outcome = run([path, *words], timeout=_PATIENCE_S)
    assert outcome.ok, outcome.stderr
