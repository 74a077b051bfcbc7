"""Guest job: systemd boots the guest, with a dead server in fstab and in units of the program.

PID 1 creates a network with a server that drops every packet: its address is routed to an unused card. Then
it
writes the entries with the program's own code, and executes systemd. A service that is ordered after
remote-fs.target, like logins (systemd-user-sessions.service), reports on the serial line and powers off.
"""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from job_answer import answer_and_power_off

from app.helper_client.client import HelperClient
from app.mounts.change_model import ApplyArgs, PersistArgs
from app.mounts.fstab_store import FstabStore
from app.mounts.unit_store import UnitStore
from app.process import find_program, run
from app.tasks import CancelToken

SYSTEMD = Path("/usr/lib/systemd/systemd")
UNITS = Path("/etc/systemd/system")
ADDRESS = "10.9.0.9"
DEAD = f"{ADDRESS}:/export"
#: Units of the host's system that are masked in the guest.
MASKED = (
    "systemd-udevd.service", "systemd-udev-trigger.service", "systemd-hwdb-update.service",
    "systemd-journal-flush.service", "systemd-binfmt.service", "systemd-sysusers.service",
    "systemd-timesyncd.service", "systemd-networkd.service", "systemd-resolved.service",
    "systemd-random-seed.service", "systemd-update-utmp.service", "systemd-modules-load.service",
    "systemd-tmpfiles-setup.service", "systemd-tmpfiles-setup-dev.service",
    "systemd-machine-id-commit.service",
    "kmod-static-nodes.service", "rpcbind.service", "rpcbind.socket", "rpc-statd.service",
    "nfs-server.service",
    "run-rpc_pipefs.mount", "nfs-client.target", "dev-hugepages.mount", "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount", "sys-kernel-config.mount", "sys-fs-fuse-connections.mount",
)  # fmt: skip
TARGET = """[Unit]
Description=What a person waits for
Requires=basic.target
Wants=remote-fs.target report.service
After=basic.target
"""
SERVICE = """[Unit]
Description=Reports when logins would be let in
After=remote-fs.target basic.target
[Service]
Type=oneshot
Environment=PYTHONPATH={path}
ExecStart={python} -P {file} {names}
TimeoutStartSec=infinity
StandardOutput=null
StandardError=null
"""


def become_systemd(entries: dict[str, str], units: dict[str, str]) -> NoReturn:
    """Write entries and units of the dead server, and execute systemd.

    Args:
        entries: options of each mount point in fstab.
        units: options of each mount point in systemd units.
    """
    clear_units()
    helper = HelperClient("persist")
    fstab, files = FstabStore(helper), UnitStore(helper)
    for point, options in entries.items():
        fstab.persist(PersistArgs(share=DEAD, mount_point=point, options=options, exact=True), CancelToken())
    for point, options in units.items():
        args = ApplyArgs(share=DEAD, mount_point=point, options=options, keeper="systemd")
        files.write(args, "", CancelToken())
    helper.close()
    card = next(path.name for path in Path("/sys/class/net").iterdir() if path.name != "lo")
    program("ip", "neigh", "add", ADDRESS, "lladdr", "02:00:00:00:00:09", "nud", "permanent", "dev", card)
    become(Path(__file__), [*entries, *units])


def clear_units() -> None:
    """Remove the units in /etc/systemd/system."""
    shutil.rmtree(UNITS)
    UNITS.mkdir()


def become(file: Path, words: list[str]) -> NoReturn:
    """Execute systemd, which runs a Python file with these arguments when logins are permitted."""
    for name in MASKED:
        (UNITS / name).symlink_to("/dev/null")
    service = SERVICE.format(
        path=os.environ["PYTHONPATH"],
        python=sys.executable,
        file=file,
        names=" ".join(words),
    )
    (UNITS / "report.service").write_text(service)
    (UNITS / "boot.target").write_text(TARGET)
    modules = f"/usr/lib/uml/modules/{os.uname().release}/kernel/fs/autofs/autofs4.ko"
    program("insmod", modules)  # the guest has no udev
    os.execv(SYSTEMD, [str(SYSTEMD), "--system", "--unit=boot.target", "--log-target=console"])


def program(name: str, *words: str) -> None:
    path = find_program(name)
    assert path is not None, name
    outcome = run([path, *words], timeout=60)
    assert outcome.ok, outcome.stderr


def show(name: str) -> dict[str, str]:
    """Return properties of a unit from ``systemctl show``."""
    words = ["/usr/bin/systemctl", "show", "--no-pager", name]
    lines = run(words, timeout=60).stdout.splitlines()
    return {key: value for key, equals, value in (line.partition("=") for line in lines) if equals}


def report(points: list[str]) -> dict[str, Any]:
    """Return the state of the units of the mount points at this point of the boot."""
    shown = ("ActiveState", "SubState", "Result", "TimeoutUSec", "Before", "After", "RequiredBy", "WantedBy",
             "InactiveExitTimestampMonotonic", "InactiveEnterTimestampMonotonic",
             "ActiveEnterTimestampMonotonic", "FragmentPath")  # fmt: skip
    stems = [point.strip("/").replace("/", "-") for point in points]
    names = [f"{stem}.{kind}" for stem in stems for kind in ("mount", "automount")]
    found = {name: show(name) for name in [*names, "remote-fs.target", "local-fs.target", "report.service"]}
    return {
        "units": {name: {key: said.get(key, "") for key in shown} for name, said in found.items()},
        "version": run(["/usr/bin/systemctl", "--version"], timeout=60).stdout.split("\n")[0],
        "now_s": time.clock_gettime(time.CLOCK_MONOTONIC),
        "mounted": [line for line in Path("/proc/self/mounts").read_text().splitlines() if "/mnt/" in line],
    }


if __name__ == "__main__":
    answer_and_power_off(lambda: report(sys.argv[1:]), before=b"\n")
