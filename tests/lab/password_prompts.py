"""Guest jobs: user operations, and how often polkit asks for a password.

The installed helper runs with a real bus, polkitd, pkexec and the shipped policy. The user has a local,
active
session, which polkitd reads from the files of sd-login(3). A polkit agent runs in a terminal. Whenever it
asks,
the administrator's password is typed there.
"""

import contextlib
import ctypes
import os
import re
import select
import subprocess
import sys
import termios
import time
import traceback
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NoReturn

from app.cli.main import main
from app.experiment.model import Experiment, ExperimentArgs, ExperimentRunArgs, Factor, WorkloadSpec
from app.helper import readahead_rule
from app.lab import syscalls
from app.lab.server import SHARE
from app.mounts.change_model import PersistArgs, RemoveArgs
from app.process import kill_group, run
from app.service.hosts import InProcessHost
from app.service.protocol import MountArgs, UnmountArgs
from app.service.verbs import HostVerbs
from app.speedtest.model import TestSpec

ROOT = Path(__file__).absolute().parents[2]
ANN = 60011
HOME = "/users/ann"
INSTALLER = ["/usr/bin/python3", str(ROOT / "packaging" / "install_helper.py")]
SCOPE = Path(f"/sys/fs/cgroup/user.slice/user-{ANN}.slice/session-1.scope")
#: Timeout of a command, s.
PATIENCE_S = 240.0
#: Pause after which an idle helper of another role has ended, s.
READING_S = 40.0
#: Polling interval for states without an event, s.
LOOK_S = 0.1
PASSWORD = "secret"
#: Hash of the password, by crypt(3) with SHA-512.
HASH = "$6$mountwright$ZvR/zDuPqFifgu0h4DVTz5RSob/fu3oogrdxm90nGpynuOrfHy2kzHV4GxIAlMSSv2pfwBU1ze7lyu.QYrl9D."
POLKITD = ("/usr/lib/polkit-1/polkitd", "/usr/libexec/polkitd")
#: Who the administrator is differs from system to system; what is asked for is left to the policy.
RULES = 'polkit.addAdminRule(function(action, subject) { return ["unix-user:root"]; });\n'
SESSION = {
    "/run/systemd/sessions/1": f"UID={ANN}\nUSER=ann\nACTIVE=1\nSTATE=active\nREMOTE=0\nTYPE=wayland\n"
    "CLASS=user\nSEAT=seat0\n",
    "/run/systemd/seats/seat0": f"IS_SEAT0=1\nACTIVE=1\nACTIVE_UID={ANN}\nSESSIONS=1\n",
    f"/run/systemd/users/{ANN}": "NAME=ann\nSTATE=active\nDISPLAY=1\nSESSIONS=1\n",
}
PR_SET_DUMPABLE = 4
_ASKED = re.compile(rb"AUTHENTICATING FOR org\.mountwright\.(\S+) ?=+")


def carry_out(name: str) -> dict[str, Any]:
    """Run a job; return the result of each of its operations by name."""
    set_up()
    jobs: dict[str, Callable[[], dict[str, Any]]] = {
        "ordinary": lambda: operate("/mnt/p", ANN),
        "root": lambda: operate("/mnt/p", 0),
        "system": lambda: operate("/data", ANN),
        "late": late,
        "save": save,
        "without": without_the_helper,
    }
    return jobs[name]()


def operate(point: str, uid: int) -> dict[str, Any]:
    """Run all operations that change something, each with a command of its own."""
    found: dict[str, Any] = {}

    def do(name: str, *words: str, answer: str = "") -> None:
        found[name] = {**act(lambda: main([*words, "--yes"]), uid, answer), **state(point)}

    def apply(name: str, options: str, *words: str, answer: str = "") -> None:
        do(name, "apply", "-o", f"vers=4.2{options}", *words, SHARE, point, answer=answer)

    confirm, fstab = ["--confirm", str(PATIENCE_S)], ["--keep-in", "fstab"]
    do("mount", "mount", "-o", "vers=4.2", SHARE, point)
    do("persist", "persist", "-o", "_netdev,nofail,vers=4.2", SHARE, point)
    apply("remount", ",noexec")
    apply("mount again", ",rsize=65536")
    apply("apply", ",rsize=32768", *fstab, *confirm, answer="y\n")
    apply("readahead", ",rsize=32768", "--read-ahead", "1024")
    apply("apply with readahead", ",rsize=16384", "--read-ahead", "2048", *fstab, *confirm, answer="y\n")
    apply("no", ",rsize=8192", "--read-ahead", "512", *fstab, *confirm, answer="n\n")
    apply("no answer", ",rsize=8192", *fstab, "--confirm", "1")
    with user_of(point):
        apply("rollback", ",rsize=8192", *fstab)
    apply("next boot", ",rsize=4096", "--busy", "next-boot", *fstab)
    do("unmount", "umount", point)
    do("mount of the entry", "mount", "-o", "vers=4.2", SHARE, point)
    do("unmount of the entry", "umount", point)
    do("forget", "forget", point)
    apply("units", "", "--keep-in", "systemd")
    do("unmount of units", "umount", point)
    do("forget units", "forget", point)
    if point.startswith("/mnt"):
        plain = {
            "test": ["test", "--size", "1M", "--no-history", SHARE],
            "experiment": ["experiment", "run", "--vary", "rsize=16k,64k,1M", "-o", "vers=4.2",
                           "--size", "1M", "--repeats", "1", "--no-history", SHARE],
        }  # fmt: skip
        for name, words in plain.items():
            found[name] = {**act(lambda words=words: main(words), uid), **state(point)}  # type: ignore[misc]
    return found


def save() -> dict[str, Any]:
    """Save permanent settings: a readahead, and option words that only root may write."""
    point, found = "/mnt/p", dict[str, Any]()
    Path(readahead_rule.FOLDER).mkdir(parents=True, exist_ok=True)

    def do(name: str, *words: str) -> None:
        found[name] = {**act(lambda: main([*words]), ANN), **state(point)}

    readahead = ["apply", "-o", "vers=4.2", "--save-readahead", "--read-ahead"]
    do("mount", "mount", "-o", "vers=4.2", SHARE, point)
    do("save readahead", *readahead, "1024", SHARE, point)
    do("save both", *readahead, "512", "--keep-in", "fstab", SHARE, point)
    do("ordering word", "persist", "-o", "vers=4.2,x-systemd.requires=a.service", "--yes", SHARE, point)
    do("unknown word", "persist", "-o", "vers=4.2,futureopt=7", "--yes", SHARE, point)
    do("forget", "forget", "--yes", point)
    do("unmount", "umount", point)
    return found


def late() -> dict[str, Any]:
    """Run operations that take longer than a helper waits for a request."""
    point = "/mnt/p"
    fstab = ["--keep-in", "fstab", "--read-ahead", "512"]
    found = {"mount": {**act(lambda: main(["mount", "-o", "vers=4.2", SHARE, point]), ANN), **state(point)}}
    words = ["apply", "-o", "vers=4.2,rsize=8192", *fstab, "--confirm", "40", SHARE, point]
    found["no answer"] = {**act(lambda: main(words), ANN), **state(point)}
    found["experiment"] = act(plan_and_run, ANN)
    found["window"] = act(one_window, ANN)
    return found


def plan_and_run() -> int:
    """Test a share, plan an experiment, wait as if reading the plan, and run it."""
    experiment = Experiment(
        share=SHARE, options="vers=4.2", factors=[Factor(name="rsize", levels=["16384", "65536"])],
        workloads=[WorkloadSpec(name="one", size=2**20)],
    )  # fmt: skip
    host = InProcessHost(HostVerbs())
    try:
        host.submit("test.run", TestSpec(path="", share=SHARE, options="vers=4.2", size=2**20)).result()
        plan = host.submit("experiment.plan", ExperimentArgs(experiment=experiment)).result()
        time.sleep(READING_S)
        host.submit("experiment.run", ExperimentRunArgs(plan=plan)).result()
    finally:
        host.close()
    return 0


def one_window() -> int:
    """Run twice, with a pause in between, the operations of a window through one agent."""
    point = "/mnt/w"
    host = InProcessHost(HostVerbs())
    try:
        host.submit("mounts.mount", MountArgs(share=SHARE, mount_point=point, options="vers=4.2")).result()
        host.submit("mounts.persist", PersistArgs(share=SHARE, mount_point=point)).result()
        wait_for_idle_helpers()
        host.submit("mounts.unmount", UnmountArgs(mount_point=point)).result()
        host.submit("mounts.forget", RemoveArgs(mount_point=point)).result()
    finally:
        host.close()
    return 0


def without_the_helper() -> dict[str, Any]:
    """Run each command that needs the helper where it is not installed."""
    outcome = run([*INSTALLER, "--remove"], timeout=PATIENCE_S)
    assert outcome.ok, outcome.stderr
    point = "/srv/old"
    Path(point).mkdir(parents=True)
    outcome = run(["/sbin/mount.nfs", SHARE, point, "-o", "vers=4.2"], timeout=PATIENCE_S)
    assert outcome.ok, outcome.stderr
    Path("/etc/fstab").write_text(f"{SHARE} /mnt/kept nfs defaults 0 0\n")
    commands = {
        "mount": ["mount", "-o", "vers=4.2", SHARE, "/mnt/p"],
        "mount at /data": ["mount", "-o", "vers=4.2", SHARE, "/data", "--yes"],
        "umount": ["umount", point, "--yes"],
        "umount of nothing": ["umount", "/not/mounted"],
        "apply": ["apply", "-o", "vers=4.2", SHARE, "/mnt/p"],
        "apply to fstab": ["apply", "-o", "vers=4.2", "--keep-in", "fstab", SHARE, "/mnt/p"],
        "apply at /data": ["apply", "-o", "vers=4.2", "--keep-in", "fstab", SHARE, "/data", "--yes"],
        "readahead": ["apply", "-o", "vers=4.2", "--read-ahead", "512", SHARE, point],
        "persist": ["persist", SHARE, "/mnt/p", "--yes"],
        "persist at /data": ["persist", SHARE, "/data", "--yes"],
        "forget": ["forget", "/mnt/kept", "--yes"],
        "test": ["test", "--size", "1M", "--no-history", SHARE],
        "experiment plan": ["experiment", "plan", "--vary", "rsize=16k,64k", SHARE],
        "experiment run": ["experiment", "run", "--vary", "rsize=16k,64k", "--no-history", SHARE],
        "experiment best": ["experiment", "best", "--no-history", SHARE],
    }
    return {
        name: {**act(lambda words=words: main(words), ANN), **state("/mnt/p")}  # type: ignore[misc]
        for name, words in commands.items()
    }


def set_up() -> None:
    """Install the helper, and start bus, polkitd and the user's session."""
    for place in (ROOT, Path(sys.executable)):
        let_everybody_reach(place)
    with Path("/etc/passwd").open("a") as file:
        file.write(f"ann:x:{ANN}:{ANN}::{HOME}:/bin/sh\n")
    Path("/etc/shadow").unlink(missing_ok=True)
    Path("/etc/shadow").write_text(f"root:{HASH}:19000:0:99999:7:::\n")
    Path(HOME).mkdir(parents=True)
    os.chown(HOME, ANN, ANN)
    syscalls.mount("cgroup2", "/sys/fs/cgroup", "cgroup2")
    SCOPE.mkdir(parents=True)
    for name, text in SESSION.items():
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text(text)
    Path("/run/systemd/machines").mkdir()
    outcome = run(INSTALLER, timeout=PATIENCE_S)
    assert outcome.ok, outcome.stderr
    for path in ("/etc/polkit-1/rules.d", "/var/lib/polkit-1"):
        Path(path).mkdir(parents=True, exist_ok=True)
        syscalls.mount("tmpfs", path, "tmpfs", data="mode=755,size=1m")
    Path("/etc/polkit-1/rules.d/10-lab.rules").write_text(RULES)
    Path("/run/dbus").mkdir()
    outcome = run(
        ["/usr/bin/dbus-daemon", "--system", "--fork", "--nopidfile", "--nosyslog"], timeout=PATIENCE_S
    )
    assert outcome.ok, outcome.stderr
    program = next(path for path in POLKITD if Path(path).exists())
    subprocess.Popen([program, "--no-debug"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    end = time.monotonic() + PATIENCE_S
    question = ["/usr/bin/pkaction", "--action-id", "org.mountwright.mount"]
    while not (outcome := run(question, timeout=PATIENCE_S)).ok:
        assert time.monotonic() < end, f"polkitd does not answer: {outcome.stderr}"


def let_everybody_reach(path: Path) -> None:
    """Give other users access to the directories above the checkout."""
    for folder in {*path.parents, *path.resolve().parents}:
        mode = folder.stat().st_mode
        if mode & 0o055 != 0o055:
            folder.chmod(mode | 0o055)


def act(do: Callable[[], int], uid: int, answer: str = "") -> dict[str, Any]:
    """Run a function in a process of a user's session that has a polkit agent in a terminal.

    Args:
        do: function that the process runs; it returns the exit status.
        uid: user id.
        answer: answer to the program's own question.

    Returns:
        the exit status, the actions for which a password was asked, and the output.
    """
    terminal, its_terminal = os.openpty()
    os.chown(os.ttyname(its_terminal), uid, uid)
    its_input, our_answer = os.pipe()
    our_output, its_output = os.pipe()
    our_errors, its_errors = os.pipe()
    child = os.fork()
    if child == 0:
        be(do, uid, its_terminal, (its_input, its_output, its_errors))
    os.write(our_answer, answer.encode())
    printed = converse(child, terminal, (our_output, our_errors))
    for fd in (terminal, its_terminal, its_input, our_answer, our_output, its_output, our_errors, its_errors):
        os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out, err, asked = (text.decode(errors="replace") for text in printed)
    return {
        "code": status, "asked": [action.decode() for action in _ASKED.findall(printed[2])],
        "out": out, "err": err, "terminal": asked,
    }  # fmt: skip


def be(do: Callable[[], int], uid: int, terminal: int, streams: tuple[int, int, int]) -> NoReturn:
    """Become a process of the user's session with a polkit agent, and run a function."""
    status = 1
    try:
        for fd, stream in enumerate(streams):
            os.dup2(stream, fd)
        if uid:
            Path(SCOPE, "cgroup.procs").write_text(str(os.getpid()))
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1)  # as a program that this user starts
        os.environ.update(HOME=HOME if uid else "/root", PYTHONPATH=str(ROOT))
        os.setsid()
        os.close(os.open(os.ttyname(terminal), os.O_RDWR))  # the first that it opens is its terminal
        ready, notify = os.pipe()
        agent = subprocess.Popen(
            ["/usr/bin/pkttyagent", "--process", str(os.getpid()), "--notify-fd", str(notify)],
            pass_fds=[notify], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(notify)
        os.read(ready, 1)
        os.closerange(3, 64)
        try:
            status = do()
        finally:
            agent.kill()
            agent.wait()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - told; nothing may return into the process that was copied
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def converse(child: int, terminal: int, streams: tuple[int, int]) -> tuple[bytes, bytes, bytes]:
    """Type the password whenever it is asked for, until a process ends; return all its output."""
    watched = os.pidfd_open(child)
    seen = dict.fromkeys((*streams, terminal), b"")
    typed, ended, end = 0, False, time.monotonic() + PATIENCE_S
    while True:
        wanted = typed < seen[terminal].count(b"Password: ")
        # Input before the echo is switched off is discarded.
        if wanted and not termios.tcgetattr(terminal)[3] & termios.ECHO:
            os.write(terminal, f"{PASSWORD}\n".encode())
            typed, wanted = typed + 1, False
        left_s = 0.0 if ended else LOOK_S if wanted else end - time.monotonic()
        ready = select.select([*seen, *([] if ended else [watched])], [], [], max(0.0, left_s))[0]
        for fd in seen:
            if fd in ready:
                seen[fd] += os.read(fd, 65536)
        if ended and not ready:
            break
        ended = ended or watched in ready
        assert time.monotonic() < end, f"waited {PATIENCE_S:.0f} s for the end of a command: {seen}"
    os.close(watched)
    return seen[streams[0]], seen[streams[1]], seen[terminal]


def state(point: str) -> dict[str, Any]:
    """Return the mount at a mount point, its readahead and its saved entries."""
    rows = [
        line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines() if " - nfs" in line
    ]
    here = [row for row in rows if row[4] == point]
    return {
        "mounted": [f"{row[5]} {row[-1]}" for row in here],
        "readahead": [int(Path(f"/sys/class/bdi/{row[2]}/read_ahead_kb").read_text()) for row in here],
        "fstab": Path("/etc/fstab").read_text(),
        "units": sorted(path.name for path in Path("/etc/systemd/system").glob("*.mount")),
        "rules": [path.read_text() for path in Path(readahead_rule.FOLDER).glob("*mountwright*.rules")],
    }


@contextlib.contextmanager
def user_of(point: str) -> Generator[None]:
    """Start a process that keeps a mount in use."""
    child = subprocess.Popen(["/bin/sleep", "3600"], cwd=point, start_new_session=True)
    try:
        yield
    finally:
        kill_group(child)
        child.wait()


def wait_for_idle_helpers() -> None:
    """Wait until every helper has ended, as it does after a time without requests."""
    end = time.monotonic() + PATIENCE_S
    while b"mountwright-helper" in b"".join(commands()):
        assert time.monotonic() < end, "waited for the helpers to end"
        select.select([], [], [], LOOK_S)


def commands() -> Iterator[bytes]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                yield (folder / "cmdline").read_bytes()
