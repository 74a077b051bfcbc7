"""Guest jobs: private mounts in use, with killed processes, and with a dead server."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from job_answer import PATIENCE_S
from lab_faults import apply_fault

from app.errors import AppError
from app.helper import namespace_init
from app.helper.bench_verbs import MAX_SUPERBLOCKS, BenchVerbs
from app.helper.callers import Caller
from app.helper.errors import Refusal
from app.helper.unmounting import NeverCancelled
from app.helper_client.client import HelperClient
from app.kernel import mountinfo
from app.lab.server import SHARE
from app.lab.server_host import ServerHost
from app.lab.syscalls import unmount
from app.process import run
from app.speedtest import leftover_files
from app.speedtest.model import TestEvent, TestSpec
from app.speedtest.mount_session import MountSession
from app.speedtest.private_mount import PrivateMount
from app.speedtest.runner import wait_for_cleanups
from app.speedtest.testdir import PREFIX, new_run_id
from app.tasks import CancelToken

MIB = 2**20
HELPER = Path(__file__).parents[2] / "app" / "helper" / "__main__.py"
NOBODY = 65534
#: Program like pkexec: it becomes root, sets PKEXEC_UID to the user who started it, and executes the helper.
BECOME_ROOT = (
    "import os, sys; os.setgroups([]); os.setresgid(0, 0, 0); os.setresuid(0, 0, 0); "
    f"os.execve(sys.argv[1], sys.argv[1:], {{'PKEXEC_UID': '{NOBODY}'}})"
)


def carry_out(host: ServerHost, names: list[str]) -> dict[str, Any]:
    """Run these jobs; return the result of each by name."""
    found: dict[str, Any] = {}
    for name in names:
        began = time.monotonic()
        try:
            found[name] = globals()[name](host)
        except BaseException:  # noqa: BLE001 - told; the other jobs go on
            found[name] = {"failed": traceback.format_exc()}
        found[name] |= {"took": time.monotonic() - began, "left": left()}
    with open_mount("vers=4.2") as mount:
        found["files"] = [n for n in told(mount, "/bin/ls", "-A", mount.path) if n.startswith(".")]
    return found


def open_mount(options: str, **more: Any) -> PrivateMount:
    return PrivateMount.open(SHARE, options, token=CancelToken(), **more)


def in_use(_host: ServerHost) -> dict[str, Any]:
    """Inspect a private mount from inside and outside its namespace, and run a test in it."""
    events: list[TestEvent] = []
    with open_mount("vers=4.2,rsize=16384,timeo=123", read_ahead_kb=2048) as mount:
        outside = nfs_mounts()
        inside = [line for line in told(mount, "/bin/cat", "/proc/self/mountinfo") if " - nfs" in line]
        result = mount.run_test(TestSpec(path="", size=2 * MIB), CancelToken(), events.append)
        fresh = mount.run_test(
            TestSpec(path="", size=MIB, cache="fresh-mount"), CancelToken(), lambda _event: None
        )
        closing = mount.close()
    return {
        "outside": outside,
        "inside": inside,
        "effective": mount.effective,
        "read_ahead_kb": mount.read_ahead_kb,
        "shared": mount.shared,
        "closing": list(closing),
        "written": result.write.server_bytes if result.write else 0,
        "read": result.read.server_bytes if result.read else 0,
        "requested": result.requested,
        "fresh": fresh.read.server_bytes if fresh.read else 0,
        "fresh cached": fresh.cache.cached if fresh.cache else None,
        "notes": result.notes + fresh.notes,
        "outside after": nfs_mounts(),
    }


def connections(_host: ServerHost) -> dict[str, Any]:
    """Open a private mount next to a mount that has set nconnect, and with another NFS version."""
    point = "/mnt/beside"
    Path(point).mkdir(parents=True)
    run(["/sbin/mount.nfs", SHARE, point, "-o", "vers=4.1,nconnect=2"], timeout=PATIENCE_S)
    try:
        with open_mount("vers=4.1,nconnect=5,timeo=111", read_ahead_kb=4096) as mount:
            joined = [mount.connections, mount.shared, mount.effective["timeo"], mount.read_ahead_kb]
            spec = TestSpec(path="", size=MIB, direction="write")
            notes = mount.run_test(spec, CancelToken(), lambda _event: None).notes
        device = next(row.device for row in mountinfo.read().rows if row.mount_point == point)
        beside = int(Path(f"/sys/class/bdi/{device}/read_ahead_kb").read_text())
        with open_mount("vers=4.2,nconnect=5") as mount:
            own = [mount.connections, mount.shared]
    finally:
        unmount(point)
    return {"joined": joined, "notes": notes, "own": own, "beside": beside}


def as_nobody(host: ServerHost) -> dict[str, Any]:
    """Run the jobs as an ordinary user, on a server with root_squash."""
    setuid = Path("/tmp/become-root")
    shutil.copy(os.path.realpath(sys.executable), setuid)
    setuid.chmod(0o4755)
    Path("/tmp").chmod(0o1777)
    with open_mount("vers=4.2") as mount:
        told(mount, "/bin/mkdir", f"{mount.path}/theirs")
        told(mount, "/bin/chown", str(NOBODY), f"{mount.path}/theirs")
    apply_fault(host, "export-squash", 0)
    try:
        return in_child(_nobody, uid=NOBODY)
    finally:
        apply_fault(host, "export-rw", 0)


def _nobody() -> dict[str, Any]:
    command = ["/tmp/become-root", "-I", "-c", BECOME_ROOT, sys.executable, "-IBSXutf8", str(HELPER), "bench"]
    session = MountSession(HelperClient("bench", command=command))
    limit = Path("/proc/self/limits").read_text().partition("Max processes")[2].split()[:2]
    try:
        with open_mount("vers=4.2", session=session) as mount:
            own = told(mount, "/bin/cat", "/proc/self/status", "/proc/self/limits", "/proc/self/environ")
            found = {
                "status": dict(line.split(":\t", 1) for line in own if ":\t" in line),
                "processes": [line.split()[2:4] for line in own if line.startswith("Max processes")],
                "own processes": limit,
                "last": own[-1],
                "files": told(mount, "/bin/ls", "/proc/self/fd"),
                "reads root's": told(mount, "/bin/cat", "/etc/shadow"),
            }
            spec = TestSpec(path="theirs", size=MIB)
            result = mount.run_test(spec, CancelToken(), lambda _event: None)
            try:
                mount.run_test(TestSpec(path="../etc", size=MIB), CancelToken(), lambda _event: None)
            except AppError as error:
                found["refused"] = error.kind
            closing = mount.close_mount()
        return {
            **found,
            "written": result.write.server_bytes if result.write else 0,
            "closing": list(closing),
        }
    finally:
        session.close()


def cancelled(_host: ServerHost) -> dict[str, Any]:
    token = CancelToken()
    spent: list[float] = []

    def cancel() -> None:
        spent.append(time.monotonic())
        token.cancel()

    kind = ""
    try:
        with open_mount("vers=4.2") as mount:
            mount.run_test(TestSpec(path="", size=64 * MIB), token, at_once(cancel))
    except AppError as error:
        kind = error.kind
    took = time.monotonic() - spent[0]
    settled = wait_for_cleanups(PATIENCE_S)
    return {"kind": kind, "took_s": took, "settled": settled}


def killed_worker(_host: ServerHost) -> dict[str, Any]:
    """Kill a test's process, then the worker that it was forked from; each time, test in the same mount."""
    with open_mount("vers=4.2") as mount:
        kinds = [kill_in_test(mount, "app.speedtest.worker.prefork_server", youngest=True)]
        wait_for_cleanups(PATIENCE_S)  # cleanup processes are forks of the idle worker, too
        standing = sorted(processes("app.speedtest.worker.prefork_server"))
        mount.run_test(TestSpec(path="", size=MIB), CancelToken(), lambda _event: None)
        kept = sorted(processes("app.speedtest.worker.prefork_server"))
        kinds.append(kill_in_test(mount, "app.speedtest.worker.prefork_server"))
        mount.run_test(TestSpec(path="", size=MIB), CancelToken(), lambda _event: None)
    return {"kinds": kinds, "standing": standing, "kept": kept}


def several(_host: ServerHost) -> dict[str, Any]:
    """Open several mounts one after another in a session, with a worker left running in one of them."""
    session = MountSession()
    standing, closings = [], []
    for options, stays in (("vers=4.2", False), ("vers=3", True), ("vers=4.1", False), ("vers=4.1", False)):
        with open_mount(options, session=session) as mount:
            mount.run_test(TestSpec(path="", size=MIB), CancelToken(), lambda _event: None)
            standing.append(sorted(processes("app.speedtest.worker.prefork_server")))
            if stays:
                holding = mount.session.launch(["/usr/bin/env", "-C", mount.path, "/bin/sleep", "300"])
            closings.append(list(mount.close())[2])
    ended = holding.wait(PATIENCE_S) == 0  # it would still be sleeping
    holding.close()
    session.close()
    return {"standing": standing, "closings": closings, "ended": ended}


def limits(_host: ServerHost) -> dict[str, Any]:
    """Start too many workers, and leave a mount open for too long."""
    return in_child(_limits, uid=0)


def _limits() -> dict[str, Any]:
    namespace_init.MAX_AGE_S, namespace_init.MAX_WORKERS = 10.0, 2
    bench, session = BenchVerbs(Caller(0, 0)), Quiet()
    wish = {"share": SHARE, "options": ["vers=4.2"], "read_ahead_kb": -1, "timeout_ms": 20000}
    fresh = [bench.open(wish, session)["fresh"]]  # type: ignore[arg-type]
    opened = time.monotonic()
    codes = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("/tmp/limits")
        listener.listen(8)
        for wait_s in (0.0, 0.0, 0.0, 11.0):
            time.sleep(max(0.0, opened + wait_s - time.monotonic()))
            try:
                bench.run({"argv": ["/bin/sleep", "60"], "socket": "/tmp/limits"}, session)  # type: ignore[arg-type]
                codes.append("")
            except Refusal as refusal:
                codes.append(f"{refusal.code}: {refusal.message}")
    fresh.append(bench.open(wish, session)["fresh"])  # type: ignore[arg-type]
    bench.end()
    return {"codes": codes, "fresh": fresh}


#: Program of the caller: passes a descriptor of the mount to another process, and keeps running.
HAND_OUT = (
    "import os, socket, sys; line = socket.socket(fileno=0); "
    "socket.send_fds(line, [b'.'], [os.open(sys.argv[1], os.O_RDONLY)]); line.recv(1)"
)


def held(_host: ServerHost) -> dict[str, Any]:
    """Keep test mounts alive by descriptors outside their namespace, until another one is refused."""
    return in_child(_held, uid=0)


def _held() -> dict[str, Any]:
    session = MountSession()
    descriptors: list[int] = []
    refused = ""
    try:
        while len(descriptors) <= MAX_SUPERBLOCKS and not refused:
            try:
                with open_mount("vers=4.2", session=session) as mount:
                    worker = session.launch(["/usr/bin/python3", "-ISc", HAND_OUT, mount.path])
                    descriptors += socket.recv_fds(worker._talk, 1, 1)[1]
                    worker.close()
            except AppError as error:
                refused = error.kind
        alive = len(volumes())
        for fd in descriptors:
            os.close(fd)
        end = time.monotonic() + PATIENCE_S
        while volumes() and time.monotonic() < end:
            time.sleep(0.1)
        with open_mount("vers=4.2", session=session) as mount:
            again = mount.effective["vers"]
    finally:
        session.close()
    return {"held": len(descriptors), "refused": refused, "alive": alive, "again": again}


def volumes() -> list[str]:
    """Return the kernel's NFS superblocks."""
    return Path("/proc/fs/nfsfs/volumes").read_text().splitlines()[1:]


class Quiet(NeverCancelled):
    """Session of the helper without a client, so that no request is cancelled."""

    holds = False


def killed_helper(_host: ServerHost) -> dict[str, Any]:
    mount = open_mount("vers=4.2")
    kind = kill_in_test(mount, str(HELPER))
    closing = list(mount.close())
    settled = wait_for_cleanups(PATIENCE_S)
    recorded = leftover_files.has_leftovers()
    # All its processes were killed; its files are removed at the next mount of the share.
    with open_mount("vers=4.2") as mount:
        removed = wait_for_cleanups(PATIENCE_S) and not leftover_files.has_leftovers()
        notes = mount.run_test(TestSpec(path="", size=MIB), CancelToken(), lambda _event: None).notes
    return {
        "kind": kind,
        "closing": closing,
        "settled": settled,
        "recorded": recorded,
        "removed": removed,
        "notes": notes,
    }


def killed_agent(_host: ServerHost) -> dict[str, Any]:
    """Kill a process that runs a test in a private mount."""
    reader, writer = os.pipe()

    def agent() -> dict[str, Any]:
        with open_mount("vers=4.2") as mount:
            told_once = at_once(lambda: os.write(writer, b"begun"))
            mount.run_test(TestSpec(path="", size=64 * MIB), CancelToken(), told_once)
        return {}

    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            agent()
        os._exit(0)
    os.read(reader, 5)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return {}


def dead_server(host: ServerHost, version: str = "4.2") -> dict[str, Any]:
    """Take the link down while a test writes, then close the mount."""
    mount = open_mount(f"vers={version}")
    token = CancelToken()

    def cut() -> None:
        apply_fault(host, "link-down", 0)
        token.cancel()

    with contextlib.suppress(AppError):
        mount.run_test(TestSpec(path="", size=64 * MIB), token, at_once(cut))
    closing = mount.close(10.0)  # half of the time is for the cleanup, which fails
    apply_fault(host, "link-up", 0)
    settled = wait_for_cleanups(PATIENCE_S)
    recorded = leftover_files.has_leftovers()
    with open_mount("vers=4.2") as mount:
        # What is recorded of the share is removed as soon as it is mounted again.
        removed = wait_for_cleanups(PATIENCE_S) and not leftover_files.has_leftovers()
        # As of a test that was cut off before its marker was there.
        told(mount, "/bin/mkdir", f"{mount.path}/{PREFIX}{new_run_id()}")
        notes = mount.run_test(TestSpec(path="", size=MIB), CancelToken(), lambda _event: None).notes
    return {
        "closing": list(closing),
        "settled": settled,
        "recorded": recorded,
        "removed": removed,
        "notes": notes,
    }


def dead_server_3(host: ServerHost) -> dict[str, Any]:
    return dead_server(host, "3")


def kill_in_test(mount: PrivateMount, name: str, *, youngest: bool = False) -> str:
    """Kill a process while a test writes; return the kind of the test's error."""
    try:
        mount.run_test(
            TestSpec(path="", size=64 * MIB),
            CancelToken(),
            at_once(lambda: kill(name, youngest=youngest)),
        )
    except AppError as error:
        return error.kind
    return ""


def kill(name: str, *, youngest: bool = False) -> None:
    """Kill the processes with this text in their command line, or only the one started last."""
    for pid in sorted(processes(name))[-1 if youngest else 0 :]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def at_once(deed: Callable[[], object]) -> Callable[[TestEvent], None]:
    """Return a listener that calls a function once, when a transfer is running."""
    done = threading.Event()

    def seen(event: TestEvent) -> None:
        if event.sample is not None and event.sample.bytes > MIB and not done.is_set():
            done.set()
            deed()

    return seen


def told(mount: PrivateMount, *argv: str) -> list[str]:
    """Return the output of a program that runs in the mount."""
    child = mount.session.launch(argv)
    child.stdin.close()
    with child.stdout, child.stderr:
        lines = child.stdout.readall().decode(errors="replace").splitlines()
    child.wait(PATIENCE_S)
    return list(lines)


def processes(*names: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            words = (folder / "cmdline").read_text()
            if state != "Z" and any(name in words for name in names):
                found.append(int(folder.name))
    return [pid for pid in found if pid != os.getpid()]


def still_there(patience_s: float) -> list[str]:
    """Return the program's processes that do not end within this time."""
    end = time.monotonic() + patience_s
    while True:
        pids = processes("app.speedtest", str(HELPER), "mount.nfs")
        if not pids or time.monotonic() > end:
            break
        time.sleep(0.05)
    names = []
    for pid in pids:
        with contextlib.suppress(OSError):
            names.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " "))
    return names


def left() -> dict[str, Any]:
    """Return what is left after a job: processes, mounts, NFS clients of the kernel."""
    names = still_there(PATIENCE_S)
    end = time.monotonic() + PATIENCE_S
    while (
        len(clients := Path("/proc/fs/nfsfs/servers").read_text().splitlines()[1:]) and time.monotonic() < end
    ):
        time.sleep(0.05)
    return {"processes": names, "mounts": nfs_mounts(), "clients": clients}


def nfs_mounts() -> list[str]:
    return [row.mount_point for row in mountinfo.read().rows if row.fstype in {"nfs", "nfs4"}]


def in_child(work: Callable[[], dict[str, Any]], uid: int) -> dict[str, Any]:
    """Run a function in a child with this user id and one more group; return its result."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([uid, 4242])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            answer = work()
        except BaseException:  # noqa: BLE001 - told
            answer = {"failed": traceback.format_exc()}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    answer = json.loads(data)
    if "failed" in answer:
        raise AssertionError(answer["failed"])
    return dict(answer)
