"""Guest job: many mounts and unmounts through the helper; reports leaked descriptors, memory and mounts.

One process is the agent. Private mounts and ordinary mounts alternate. An ordinary mount is changed while it
is
mounted. The resources of the processes are measured after one cycle of each kind, and at the end.
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
    """Agent of all cycles; it keeps its helpers until they end by themselves."""

    def __init__(self) -> None:
        self._host = InProcessHost(HostVerbs())
        self._session = MountSession()
        private = ("vers=4.2,nconnect=16", "vers=3,nconnect=16", "vers=4.1")
        ordinary = ("vers=4.1,nconnect=16", "vers=3", "vers=4.2")
        #: Kinds of cycles; private and ordinary mounts alternate.
        self.kinds: list[Callable[[], None]] = []
        for first, second in zip(private, ordinary, strict=True):
            self.kinds.append(lambda options=first: self._private(options))
            self.kinds.append(lambda options=second: self._ordinary(options))

    def _private(self, options: str) -> None:
        with open_mount(options, session=self._session):
            assert nfs_mounts() == []
        # Otherwise the next mount would share this one's NFS client.
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
        """Return descriptors and resident memory (KiB) of this process, each helper and each of its roles."""
        # Garbage that is not collected yet, and free memory that malloc keeps, are no leaks.
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
    """Run a number of cycles after one of each kind; return errors, and resources before and after."""
    return {**in_child(lambda: _go_round(cycles), uid=0), "left": left(), "volumes": _lines(VOLUMES)}


def _go_round(cycles: int) -> dict[str, Any]:
    agent = Agent()
    try:
        for _round in range(2):  # memory that the first mount of a kind allocates for good is no leak
            for kind in agent.kinds:
                kind()
        before, objects = agent.held(), sys.getallocatedblocks()
        failures: list[str] = []
        steps: list[dict[str, tuple[int, int]]] = []
        for number, kind in zip(range(cycles), itertools.cycle(agent.kinds), strict=False):
            try:
                kind()
            except Exception:  # noqa: BLE001 - counted; the other cycles continue
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
