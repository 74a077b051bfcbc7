"""How long the window's thread is held by a list of 5,000 mounts: opened, filtered, and refreshed.

Run with the project's Python: ``python -m tests.benchmarks.mount_list`` or by its path. Times are of this
thread, in milliseconds: median, and the lowest and highest of the repeats.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2]))

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from app.mounts.model import MountTable

ENTRIES = 5_000
SERVERS = 50
REPEATS = 15


def fstab_of(entries: int) -> str:
    """Return an fstab with so many entries."""
    return "".join(
        f"nas{i % SERVERS:02}:/export/{i} /mnt/{i} nfs vers=4.2,hard,_netdev,nofail 0 0\n"
        for i in range(entries)
    )


def mountinfo_of(entries: int) -> str:
    """Return a mountinfo in which every second of them is mounted."""
    options = "rw,vers=4.2,rsize=262144,wsize=262144,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys"
    rows = "".join(
        f"{100 + i} 27 0:{100 + i} / /mnt/{i} rw,relatime - nfs4 nas{i % SERVERS:02}:/export/{i} {options}\n"
        for i in range(0, entries, 2)
    )
    return "27 1 254:1 / / rw,relatime - ext4 /dev/vda rw\n" + rows


def timed(repeats: int, action: Callable[[int], object]) -> list[float]:
    """Return the times of an action, ms, after one that does not count."""
    times: list[float] = []
    for number in range(repeats + 1):
        begun = time.perf_counter()
        action(number)
        times.append((time.perf_counter() - begun) * 1000)
    return times[1:]


def read_times() -> tuple[MountTable, list[float]]:
    """Return the table as the agent reads it, and how long that took."""
    from app.mounts.table import read_table

    with tempfile.TemporaryDirectory() as root:
        for name, text in (("etc/fstab", fstab_of(ENTRIES)), ("proc/self/mountinfo", mountinfo_of(ENTRIES))):
            path = Path(root, name)
            path.parent.mkdir(parents=True)
            path.write_text(text, encoding="utf-8")
        return read_table(root), timed(3, lambda _number: read_table(root))


def window_times(table: MountTable) -> dict[str, list[float]]:
    """Return the times of the list's panel, painted each time."""
    from PySide6.QtWidgets import QApplication

    from ui.mounts.list_panel import MountListPanel

    app = QApplication.instance() or QApplication([])
    panels: list[MountListPanel] = []

    def paint(_number: int) -> None:
        app.processEvents()

    def open_list(_number: int) -> None:
        panel = MountListPanel()
        panel.resize(300, 700)
        panel.show()
        panel.apply(table)
        paint(0)
        panels.append(panel)

    opened = timed(REPEATS, open_list)
    panel = panels[-1]
    filters = ("nas07", "", "mnt/49", "", "not mounted", "", "nothing has this", "")

    def filter_list(number: int) -> None:
        panel.filter_by(filters[number % len(filters)])
        paint(0)

    filtered = timed(2 * REPEATS, filter_list)
    panel.filter_by("")

    def refresh(number: int) -> None:
        rows = list(table.mounts)
        rows[number] = msgspec.structs.replace(rows[number], state="not-responding")
        panel.apply(msgspec.structs.replace(table, mounts=rows))
        paint(0)

    refreshed = timed(REPEATS, refresh)
    for each in panels:
        each.close()
    return {"open": opened, "filter": filtered, "refresh": refreshed}


def main() -> int:
    """Measure, and write the figures as JSON."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    table, reading = read_times()
    times = {"read": reading, **window_times(table)}
    figures = {
        name: {"median_ms": round(statistics.median(each), 1), "low_ms": round(min(each), 1),
               "high_ms": round(max(each), 1), "repeats": len(each)}
        for name, each in times.items()
    }  # fmt: skip
    print(json.dumps({"mounts": len(table.mounts), **figures}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
