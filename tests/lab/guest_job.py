"""PID 1 of a guest that does one job of a test: mounts, remounts, or queries of the kernel.

It is run as ``python guest_job.py JOB``. The job is a JSON file. The answer is one line of JSON on the serial
line.
"""

import ctypes
import importlib
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from job_answer import PATIENCE_S, answer_and_power_off

from app.facts.prerequisites import newer_options
from app.helper_client.client import HelperClient
from app.lab import init, syscalls
from app.lab.server import SHARE
from app.links import parse_link
from app.mounts.change_model import PersistArgs
from app.mounts.fstab_store import FstabStore
from app.mounts.table import read_table
from app.process import find_program, kill_group, run, start, wait
from app.tasks import CancelToken

if TYPE_CHECKING:
    from collections.abc import Callable

_SYS_FSOPEN, _SYS_FSCONFIG = 430, 431
_FSCONFIG_SET_FLAG, _FSCONFIG_SET_STRING = 0, 1
_FOR_MOUNT = re.compile(r"[xX]-|comment=|auto|nofail|user|group|owner|defaults|context|_netdev")
_libc = ctypes.CDLL(None, use_errno=True)


def try_mount(options: str, point: str = "/mnt/try") -> dict[str, Any]:
    """Mount with these options, return the result, and wait until the mount has been removed completely.

    It runs mount(8). mount.nfs would be twice as fast, but does not know mount(8)'s own options.
    """
    if "mkdir" not in options:
        Path(point).mkdir(parents=True, exist_ok=True)
    direct = options.isascii() and not _FOR_MOUNT.search(options)
    words = [program("mount.nfs"), SHARE, point] if direct else [program("mount"), "-t", "nfs", SHARE, point]
    outcome = run([*words, "-o", options], timeout=PATIENCE_S)
    answer: dict[str, Any] = {
        "ok": outcome.ok,
        "text": outcome.stderr.strip(),
        **mounted_at(point),
    }
    if answer["line"]:
        syscalls.unmount(point)
    deadline = time.monotonic() + PATIENCE_S
    while len(Path("/proc/fs/nfsfs/servers").read_text().splitlines()) > 1 and time.monotonic() < deadline:
        time.sleep(0.02)
    return answer


def make_folder(name: str, point: str = "/mnt/made") -> None:
    """Create a directory at the root of the share."""
    Path(point).mkdir(parents=True)
    run([program("mount.nfs"), SHARE, point, "-o", "vers=4.2"], timeout=15)
    Path(point, name).mkdir()
    syscalls.unmount(point)


def try_remounts(items: list[str], point: str = "/mnt/changed") -> list[dict[str, Any]]:
    """Mount once, then remount with each item in turn; return the resulting options of each."""
    Path(point).mkdir(parents=True)
    run([program("mount"), "-t", "nfs", "-o", "vers=4.2", SHARE, point], timeout=PATIENCE_S)
    found = []
    for item in items:
        before = mounted_at(point)["line"]
        outcome = run([program("mount"), "-o", f"remount,{item}", point], timeout=PATIENCE_S)
        found.append({"ok": outcome.ok, "before": before, "after": mounted_at(point)["line"]})
    syscalls.unmount(point)
    return found


def try_configured(text: str, share: str, options: str, point: str = "/mnt/Try") -> str:
    """Return the option string that mount.nfs builds with an /etc/nfsmount.conf, without mounting."""
    Path(point).mkdir(parents=True, exist_ok=True)
    Path("/etc/nfsmount.conf").write_text(text)
    outcome = run([program("mount.nfs"), "-f", "-v", share, point, "-o", options], timeout=PATIENCE_S)
    Path("/etc/nfsmount.conf").write_text("")
    match = re.search(r"trying text-based options '([^']*)'", outcome.stdout + outcome.stderr)
    return match[1] if match else outcome.stdout + outcome.stderr


def read_files(paths: list[str], point: str = "/mnt/tuned") -> dict[str, str]:
    """Return contents by path, "" for a missing file; {device} in a path is that of a new mount."""
    Path(point).mkdir(parents=True)
    run([program("mount.nfs"), SHARE, point, "-o", "vers=4.2"], timeout=PATIENCE_S)
    device = mounted_at(point)["line"].split()[2]
    found = {}
    for path in paths:
        file = Path(path.replace("{device}", device))
        found[path] = file.read_text().strip() if file.exists() else ""
    syscalls.unmount(point)
    return found


def look_twice(points: dict[str, str], size: int) -> list[str]:
    """Mount each mount point; return mountstats before and after a copy in both directions."""
    data = os.urandom(size)
    for point, options in points.items():
        Path(point).mkdir(parents=True)
        run([program("mount.nfs"), SHARE, point, "-o", options], timeout=PATIENCE_S)
    texts = [Path("/proc/self/mountstats").read_text()]
    for point in points:
        file = Path(point, "counted")
        with file.open("wb") as handle:
            handle.write(data)
            os.fsync(handle.fileno())
            os.posix_fadvise(handle.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read_bytes()
        file.unlink()
    time.sleep(1.1)  # a mount's age is in whole seconds, and one of the programs divides by it
    texts.append(Path("/proc/self/mountstats").read_text())
    for point in points:
        syscalls.unmount(point)
    return texts


def mounted_at(point: str) -> dict[str, Any]:
    """Return the last line of mountinfo for a mount point, and the number of its connections."""
    lines = [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f" {point} " in line]
    nfs = [line for line in lines if " - nfs" in line]
    return {
        "line": nfs[-1] if nfs else "",
        "xprts": Path("/proc/self/mountstats").read_text().count("\txprt:"),
    }


def judge(item: str) -> str:
    """Return the kernel's verdict on an option: "" if accepted, else its message (fsopen, fsconfig)."""
    handle = _libc.syscall(_SYS_FSOPEN, b"nfs4" if "vers=4" in item else b"nfs", 1)
    if handle < 0:
        raise OSError(ctypes.get_errno(), "fsopen")
    try:
        key, equals, value = item.partition("=")
        how = _FSCONFIG_SET_STRING if equals else _FSCONFIG_SET_FLAG
        text = value.encode() if equals else None
        if _libc.syscall(_SYS_FSCONFIG, handle, how, key.encode(), text, 0) == 0:
            return ""
        code = os.strerror(ctypes.get_errno())
        try:
            return os.read(handle, 1000).decode(errors="replace").strip() or code
        except OSError:
            return code
    finally:
        os.close(handle)


def three_ways(entries: dict[str, str], automount: str, maps: dict[str, str]) -> dict[str, Any]:
    """Save each entry with the program's own code, then mount it by fstab, mount unit or automount unit."""
    helper = HelperClient("persist")
    persistence = FstabStore(helper)
    answer: dict[str, Any] = {}
    try:
        for point, options in entries.items():
            Path(point).mkdir(parents=True)
            persistence.persist(PersistArgs(share=SHARE, mount_point=point, options=options), CancelToken())
    finally:
        persistence.close()
    answer["fstab"] = Path("/etc/fstab").read_text()
    answer["units"] = generated_units()
    outcome = run([program("mount"), "-a", "-t", "nfs"], timeout=PATIENCE_S)
    answer["start-up"] = {"text": outcome.stderr, **mounted_at("/mnt/boot")}
    answer["by hand, before"] = mounted_at("/mnt/hand")
    outcome = run([program("mount"), "/mnt/hand"], timeout=PATIENCE_S)
    answer["by hand"] = {"text": outcome.stderr, **mounted_at("/mnt/hand")}
    syscalls.unmount("/mnt/demand")  # mount -a ignores x-systemd.automount
    answer["on demand"] = on_demand(automount, maps, "/mnt/demand") if automount else None
    return answer


def generated_units() -> dict[str, str]:
    """Return the units that systemd's fstab generator makes: text by name, or "link" for a link."""
    generator = Path("/usr/lib/systemd/system-generators/systemd-fstab-generator")
    folder = Path("/tmp/units")
    if not generator.exists():
        return {}
    folder.mkdir()
    run([str(generator), *[str(folder)] * 3], timeout=PATIENCE_S, env={"SYSTEMD_IN_INITRD": "0"})
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink() or path.is_file():
            found[str(path.relative_to(folder))] = "link" if path.is_symlink() else path.read_text()
    return found


def on_demand(automount: str, maps: dict[str, str], point: str) -> dict[str, Any]:
    """Let automount(8) serve a mount point, then access it."""
    unpacked = Path(automount).parents[2]
    for name in ("autofs", "libautofs.so"):
        library = Path("/usr/lib/x86_64-linux-gnu", name)
        if not library.exists():
            library.symlink_to(unpacked / library.relative_to("/"))
    run(
        [program("insmod"), f"/usr/lib/uml/modules/{os.uname().release}/kernel/fs/autofs/autofs4.ko"],
        timeout=PATIENCE_S,
    )
    Path("/etc/auto.master.d").mkdir(exist_ok=True)
    Path("/etc/auto.master").write_text("+dir:/etc/auto.master.d\n")
    for path, text in maps.items():
        Path(path).write_text(text)
    daemon = start([automount, "--foreground", "--dont-check-daemon", "--verbose"])
    deadline = time.monotonic() + PATIENCE_S
    try:
        while f" {point} " not in Path("/proc/self/mounts").read_text() and time.monotonic() < deadline:
            time.sleep(0.05)
        before = mounted_at(point)
        waiting = f" {point} autofs " in Path("/proc/self/mounts").read_text()
        list(Path(point).iterdir())
        Path("/etc/fstab").write_text("")  # the entry for this mount point is no longer needed
        listed = [msgspec.to_builtins(mount) for mount in read_table().mounts if mount.mount_point == point]
        return {"before": before["line"], "waiting": waiting, "listed": listed, **mounted_at(point)}
    finally:
        kill_group(daemon)
        wait(daemon, 5)


def ask_kernel(release: str) -> dict[str, Any]:
    """Return the options newer than a release that the kernel has, as root and an ordinary user see it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        os.write(writing, json.dumps(newer_options(release)).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        user = json.loads(answer.read())
    os.waitpid(child, 0)
    return {"user": user, "root": newer_options(release)}


def program(name: str) -> str:
    path = find_program(name)
    if path is None:
        raise FileNotFoundError(name)
    return path


def work(job: dict[str, Any]) -> Any:
    # Only the module of the job: each page that an import touches costs time in a guest.
    of = importlib.import_module
    host, _own_delay_s = init._boot(parse_link("gigabit"))
    whole: dict[str, Callable[[], Any]] = {
        "private": lambda: of("private_mounts").carry_out(host, job["private"]),
        "other-users": lambda: of("other_users").carry_out(),
        "prompts": lambda: of("password_prompts").carry_out(job["prompts"]),
        "stopping": lambda: of("ending_programs").stop_programs(host),
        "managing": lambda: of("space_and_log").carry_out(host, **job["managing"]),
        "apply-kills": lambda: of("apply_kills").kill_at_each(**job["apply-kills"]),
        "cycles": lambda: of("mount_cycles").go_round(**job["cycles"]),
        "saved-readahead": lambda: of("saved_readahead").carry_out(**job["saved-readahead"]),
        "systemd-units": lambda: of("systemd_units").become_systemd(host, job["systemd-units"]),
        "systemd-boot": lambda: of("systemd_boot").become_systemd(**job["systemd-boot"]),
        "kills": lambda: of("experiment_kills").kill_at_random(**job["kills"]),
        "three-ways": lambda: three_ways(**job["three-ways"]),
        "commands": lambda: of("shell_commands").run_commands(job["commands"]),
        "finding-servers": lambda: of("server_discovery").carry_out(host),
        "kernel-options": lambda: ask_kernel(job["kernel-options"]),
        "look-twice": lambda: {"texts": look_twice(**job["look-twice"])},
    }
    for name, do in whole.items():
        if name in job:
            return do()
    if "folder" in job:
        make_folder(job["folder"])
    return {
        "release": os.uname().release,
        "mounts": {options: try_mount(options) for options in job["mounts"]},
        "judged": {item: judge(item) for item in job["judge"]},
        "files": read_files(job["files"]) if "files" in job else {},
        "remounts": try_remounts(job["remounts"]) if "remounts" in job else [],
        "configured": [try_configured(*case) for case in job.get("configured", ())],
    }


if __name__ == "__main__":
    os.environ["HOME"] = "/tmp"
    answer_and_power_off(lambda: work(json.loads(Path(sys.argv[1]).read_text())))
