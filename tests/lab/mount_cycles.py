"""A job in a guest of its own: mounts that come and go through the helper, many times, and what that leaves.

One process is the agent. Private mounts for tests and ordinary mounts take turns, an ordinary one is changed
while it is mounted. What the processes hold is looked at when each kind was there, and again at the end.
"""

import contextlib
import ctypes
import gc
import itertools
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apply_kills import until
from private_mounts import HELPER, in_child, left, nfs_mounts, open_mount, processes

from app.helper.verbs import ACTIONS
from app.lab.server import SHARE
from app.mounts.change_model import ApplyArgs
from app.service.hosts import InProcessHost
from app.service.protocol import MountArgs, UnmountArgs
from app.service.verbs import HostVerbs
from app.speedtest.mount_session import MountSession

if TYPE_CHECKING:
    from collections.abc import Callable

POINT = "/mnt/cycle"
VOLUMES = Path("/proc/fs/nfsfs/volumes")


class Agent:
    """The agent of all cycles: its helpers stay between them, as long as they like."""

    def __init__(self) -> None:
        self._host = InProcessHost(HostVerbs())
        self._session = MountSession()
        private = ("vers=4.2,nconnect=16", "vers=3,nconnect=16", "vers=4.1")
        ordinary = ("vers=4.1,nconnect=16", "vers=3", "vers=4.2")
        #: Every kind of cycle, a private and an ordinary one by turns.
        self.kinds: list[Callable[[], None]] = []
        for first, second in zip(private, ordinary, strict=True):
            self.kinds.append(lambda options=first: self._private(options))
            self.kinds.append(lambda options=second: self._ordinary(options))

    def _private(self, options: str) -> None:
        with open_mount(options, session=self._session):
            assert nfs_mounts() == []
        # The next one would be told that this one's client was there before.
        until(lambda: _lines(VOLUMES) == 0, "the volume of a private mount to go")

    def _ordinary(self, options: str) -> None:
        self._ask("mounts.mount", MountArgs(share=SHARE, mount_point=POINT, options=options))
        for flag in ("ro", "rw"):
            self._ask("mounts.apply", ApplyArgs(share=SHARE, mount_point=POINT, options=f"{options},{flag}"))
            row = next(line for line in Path("/proc/self/mounts").read_text().splitlines() if POINT in line)
            assert row.split()[3].startswith(flag), row
        self._ask("mounts.unmount", UnmountArgs(mount_point=POINT))
        assert nfs_mounts() == []

    def _ask(self, verb: str, args: Any) -> None:
        self._host.submit(verb, args).result(120)

    def held(self) -> dict[str, tuple[int, int]]:
        """Return descriptors and resident memory, KiB, of this process, each helper and each of its roles."""
        # What only waits for Python's collector to come round, or is free and stays with malloc, is no leak.
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        found = {"agent": _held(os.getpid())}
        for first in sorted(_children(os.getpid()) & set(processes(str(HELPER)))):
            with contextlib.suppress(OSError, IndexError):
                words = Path(f"/proc/{first}/cmdline").read_text().split("\0")
                action = words[words.index(str(HELPER)) + 1]
                found[action] = _held(first)
                for role, pid in zip(ACTIONS[action], sorted(_children(first)), strict=False):
                    found[f"{action}: {role}"] = _held(pid)
        return found

    def close(self) -> None:
        self._session.close()
        self._host.close()


def go_round(cycles: int) -> dict[str, Any]:
    """Do so many cycles, after one of each kind; return what failed, and what was held before and after."""
    return {**in_child(lambda: _go_round(cycles), uid=0), "left": left(), "volumes": _lines(VOLUMES)}


def _go_round(cycles: int) -> dict[str, Any]:
    agent = Agent()
    try:
        for _round in range(2):  # what the first mount of a kind loads and keeps is no leak
            for kind in agent.kinds:
                kind()
        before, objects = agent.held(), sys.getallocatedblocks()
        failures: list[str] = []
        steps: list[dict[str, tuple[int, int]]] = []
        for number, kind in zip(range(cycles), itertools.cycle(agent.kinds), strict=False):
            try:
                kind()
            except Exception:  # noqa: BLE001 - counted; the others go on
                failures.append(f"{number}: {traceback.format_exc()}")
            if number % 100 == 99:
                steps.append(agent.held())
        after = agent.held()
        more = sys.getallocatedblocks() - objects
        return {"failures": failures, "before": before, "after": after, "more objects": more, "steps": steps}
    finally:
        agent.close()


def _children(pid: int) -> set[int]:
    texts = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return {int(word) for text in texts for word in text.split()}


def _held(pid: int) -> tuple[int, int]:
    status = dict(
        line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line
    )
    return len(list(Path(f"/proc/{pid}/fd").iterdir())), int(status["VmRSS"].split()[0])


def _lines(path: Path) -> int:
    return max(0, len(path.read_text().splitlines()) - 1)
