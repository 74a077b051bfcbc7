"""Guest job: changes of mounts whose agent, helper or both are killed at each request.

A change is first made without a kill, and its requests to the helper are recorded. Then it is repeated with a
kill before each request, during it, and after its answer.
"""

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from job_answer import PATIENCE_S
from private_mounts import HELPER, kill, left, processes

from app.errors import AppError
from app.files.user_directories import state_directory
from app.helper_client import client
from app.kernel import mountinfo
from app.lab.server import SHARE
from app.lab.syscalls import mount, unmount
from app.mounts.change_model import ApplyArgs, DismissArgs
from app.mounts.interrupted_changes import TEMPORARIES
from app.process import find_program, run
from app.service.hosts import InProcessHost
from app.service.protocol import ListArgs
from app.service.verbs import HostVerbs

if TYPE_CHECKING:
    from app.mounts.model import MountTable

POINT, OTHER = "/mnt/changed", "/mnt/elsewhere"
BASE = "vers=4.2,nofail,nosuid,nodev"
UNITS = Path("/etc/systemd/system")
#: Mounts that no change may touch: a share of the same server, and another file system.
FOREIGN = {"/mnt/foreign": "nfs", "/mnt/foreign files": "tmpfs"}
#: Time for the next start of the program to report differences, s.
START_S = 5.0

#: fstab, the units, and the options of the mounts that changes are about.
State = tuple[str, dict[str, str], dict[str, str]]
#: Number of the request, moment, target, and delay of the kill, s.
Deed = tuple[int, str, str, float]


def ask(**changes: Any) -> ApplyArgs:
    return ApplyArgs(**{"share": SHARE, "mount_point": POINT, "options": BASE, **changes})


#: Changes that are made where BASE is mounted at POINT and saved in fstab.
CHANGES = {
    "mount": ask(options="vers=4.1,nofail,nosuid,nodev", keeper="fstab", read_ahead_kb=512),
    "new": ask(mount_point=OTHER, keeper="fstab"),
    "remount": ask(options="vers=4.2,nofail,ro,nosuid,nodev", keeper="fstab"),
    "moved": ask(mount_point=OTHER, replaces=POINT, keeper="fstab"),
    "units": ask(options="vers=4.1,nofail,nosuid,nodev", keeper="systemd"),
}
MOMENTS = ("before", "during", "after")
TARGETS = ("agent", "helper", "both")


class Requests:
    """Records the requests of a change to the helper, and kills at one moment of one request.

    Attributes:
        seen: verbs in their order.
    """

    def __init__(self, at: int = -1, moment: str = "", deed: Callable[[], None] = lambda: None) -> None:
        self.seen: list[str] = []
        self._at, self._moment, self._deed = at, moment, deed
        self._inside = False

    def __enter__(self) -> "Requests":
        self._call, self._send = client.HelperClient.call, client._RoleChannel.send
        requests = self

        def call(helper: Any, verb: str, *args: Any, **named: Any) -> Any:
            if requests._inside:
                return requests._call(helper, verb, *args, **named)
            requests.seen.append(verb)
            requests._reached("before")
            requests._inside = True
            try:
                answer = requests._call(helper, verb, *args, **named)
            finally:
                requests._inside = False
            requests._reached("after")
            return answer

        def send(line: Any, request_id: str, verb: str, args: dict[str, Any]) -> None:
            requests._send(line, request_id, verb, args)
            if verb not in {"plan", "cancel"}:
                requests._reached("during")

        client.HelperClient.call = call  # type: ignore[method-assign,assignment]
        client._RoleChannel.send = send  # type: ignore[method-assign,assignment]
        return self

    def __exit__(self, *_error: object) -> None:
        client.HelperClient.call = self._call  # type: ignore[method-assign]
        client._RoleChannel.send = self._send  # type: ignore[method-assign]

    def _reached(self, moment: str) -> None:
        if (len(self.seen) - 1, moment) == (self._at, self._moment):
            self._at = -1
            self._deed()


def kill_at_each(names: list[str], *, whole: bool, seed: int) -> dict[str, Any]:
    """Kill each change at each moment; return what failed.

    Args:
        names: names of changes, keys of CHANGES.
        whole: whether each of TARGETS is killed at each moment, and also with a delay during a request. If
            not,
            the targets take turns.
        seed: seed of the random delays.
    """
    chance = random.Random(seed)
    others()
    problems: list[str] = []
    counts = dict.fromkeys(("kills", "as before", "complete", "told"), 0)
    slowest_s = 0.0
    for name in names:
        restore()
        with Requests() as requests:
            apply(CHANGES[name])
        complete = state()
        moments = [(at, moment) for at in range(len(requests.seen)) for moment in MOMENTS]
        for number, (at, moment) in enumerate(moments):
            targets = TARGETS if whole else (TARGETS[number % len(TARGETS)],)
            for target in targets:
                later_s = chance.uniform(0.0, 0.3) if whole and moment == "during" else 0.0
                where = f"{name}: {target} killed {moment} {requests.seen[at]} ({later_s:.2f} s)"
                found, seconds = one_kill(CHANGES[name], complete, (at, moment, target, later_s))
                slowest_s = max(slowest_s, seconds)
                counts["kills"] += 1
                counts[found.pop("kind")] += 1
                problems += [f"{where}: {key}: {value}" for key, value in found.items()]
    restore()
    unmount(POINT)
    for point in FOREIGN:
        unmount(point)
    return {"problems": problems, **counts, "slowest_s": slowest_s, "left": left()}


def one_kill(args: ApplyArgs, complete: State, deed: Deed) -> tuple[dict[str, Any], float]:
    """Make a change that is killed at a given moment.

    Returns:
        the result of the change, with each fault by name, and the duration of the next start of the program,
        s.
    """
    restore()
    before, foreign = state(), foreign_rows()
    error = killed(args, deed)
    until(lambda: not processes(str(HELPER), "mount.nfs"), "the helpers to end")
    began = time.monotonic()
    host = InProcessHost(HostVerbs())
    table: MountTable = host.submit("mounts.list", ListArgs()).result(START_S)
    seconds = time.monotonic() - began
    told = " ".join(change.message for change in table.interrupted)
    found = judged((before, state(), complete), error, told)
    if foreign_rows() != foreign:
        found["foreign mounts changed"] = foreign_rows()
    for change in table.interrupted:
        host.submit("mounts.dismiss", DismissArgs(id=change.id)).result(PATIENCE_S)
    host.close()
    return found, seconds


def judged(seen: tuple[State, State, State], error: str, told: str) -> dict[str, Any]:
    """Return the result of a change: the state before and after it, compared with a complete change."""
    before, after, complete = seen
    temporaries = [path for path in TEMPORARIES if os.path.lexists(path)]
    found: dict[str, Any] = {"kind": "told"}
    if after == before:
        found["kind"] = "as before"
        if told and not temporaries:
            found["told though all is as it was"] = told
    elif error == "" and not told:
        found["kind"] = "complete"
        if after != complete:
            found["called complete"] = after
    elif not told:
        found["not told"] = f"{before} {after} {error}"
    if after[0] not in {before[0], complete[0]}:
        found["fstab torn"] = after[0]
    if untold := [path for path in temporaries if path not in told]:
        found["temporary files not told"] = untold
    return found


def killed(args: ApplyArgs, deed: Deed) -> str:
    """Make a change in a process of its own; return the message of its error, "" if it was killed."""
    at, moment, target, later_s = deed
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            told = pipe.read().decode()
        os.waitpid(child, 0)
        return told

    def do() -> None:
        threading.Event().wait(later_s)
        if target != "agent":
            kill(str(HELPER))
        if target != "helper":
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        os.close(reader)
        with Requests(at, moment, do):
            apply(args)
    except AppError as error:
        os.write(writer, error.message.encode())
    except BaseException as error:  # noqa: BLE001 - told
        os.write(writer, f"a bug: {error!r}".encode())
    os._exit(0)


def apply(args: ApplyArgs) -> None:
    host = InProcessHost(HostVerbs())
    try:
        host.submit("mounts.apply", args).result(PATIENCE_S)
    finally:
        host.close()


# What is there.


def restore() -> None:
    """Mount BASE at POINT and save it in fstab; remove all other mounts and entries of the program."""
    for point in (POINT, OTHER):
        while any(row.mount_point == point for row in mountinfo.read().rows):
            unmount(point)
    for path in [*TEMPORARIES, *UNITS.rglob("mnt-*")]:
        Path(path).unlink(missing_ok=True)
    shutil.rmtree(state_directory(), ignore_errors=True)
    UNITS.mkdir(parents=True, exist_ok=True)
    Path("/etc/fstab").write_text(f"# head\n{SHARE} {POINT} nfs {BASE} 0 0\n")
    Path(POINT).mkdir(exist_ok=True)
    run([program("mount.nfs"), SHARE, POINT, "-o", "vers=4.2,nosuid,nodev"], timeout=PATIENCE_S)


def others() -> None:
    for point, kind in FOREIGN.items():
        Path(point).mkdir(parents=True)
        if kind == "tmpfs":
            mount("tmpfs", point, "tmpfs")
        else:
            run([program("mount.nfs"), SHARE, point, "-o", "vers=3"], timeout=PATIENCE_S)


def foreign_rows() -> list[str]:
    table = Path("/proc/self/mountinfo").read_text()
    ours = (f" {POINT} ", f" {OTHER} ")
    return [line for line in table.splitlines() if not any(point in line for point in ours)]


def state() -> State:
    """Return fstab, the units, and the options of the mounts that the changes concern."""
    units = {
        str(path): str(path.readlink()) if path.is_symlink() else path.read_text()
        for path in UNITS.rglob("mnt-*")
    }
    rows = {
        row.mount_point: f"{row.options} {Path(f'/sys/class/bdi/{row.device}/read_ahead_kb').read_text()}"
        for row in mountinfo.read().rows
        if row.mount_point in {POINT, OTHER}
    }
    return Path("/etc/fstab").read_text(), units, rows


def program(name: str) -> str:
    path = find_program(name)
    assert path is not None, name
    return path


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_S:.0f} s for {what}"
        time.sleep(0.02)
