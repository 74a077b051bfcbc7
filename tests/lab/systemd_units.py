"""Guest job: systemd loads, starts and stops units that the program writes and removes.

The guest's server runs in its own namespaces while PID 1 executes systemd. When logins are permitted, a
service
writes and removes units through the agent's code and the real helper, queries systemd for the loaded units,
and
reports on the serial line.
"""

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from job_answer import answer_and_power_off
from systemd_boot import UNITS, become, clear_units, show

from app.helper_client.client import HelperClient
from app.lab.server import SHARE
from app.lab.server_host import ServerHost
from app.mounts.change_model import ApplyArgs, RemoveArgs
from app.mounts.config_store import ConfigStore
from app.mounts.fstab_store import FstabStore
from app.mounts.unit_store import UnitStore
from app.process import run
from app.tasks import CancelToken

#: Timeout of a mount, s.
PATIENCE_S = 120.0
AT_BOOT = "/mnt/boot"


def become_systemd(host: ServerHost, options: str) -> None:
    """Write a unit of the guest's server, and execute systemd."""
    # execve(2) closes PID 1's descriptors, so another process has to hold the server's namespaces.
    subprocess.Popen(["/bin/sleep", "100000"], pass_fds=list(host.namespaces.values()))
    clear_units()
    helper = HelperClient("persist")
    UnitStore(helper).write(_args(AT_BOOT, options), "", CancelToken())
    helper.close()
    become(Path(__file__), [options])


def _args(point: str, options: str) -> ApplyArgs:
    return ApplyArgs(share=SHARE, mount_point=point, options=options, keeper="systemd")


def systemctl(*words: str) -> str:
    outcome = run(["/usr/bin/systemctl", "--no-pager", *words], timeout=PATIENCE_S)
    return "" if outcome.ok else outcome.stderr + outcome.stdout


def state(name: str) -> list[str]:
    said = show(name)
    return [said.get(key, "") for key in ("LoadState", "ActiveState", "FragmentPath")]


def is_mounted(point: str) -> bool:
    return any(
        line.split()[1] == point and line.split()[2].startswith("nfs")
        for line in Path("/proc/self/mounts").read_text().splitlines()
    )


def go_round(keeping: ConfigStore, point: str, options: str) -> dict[str, Any]:
    """Save a mount as units, start it with systemd, remove the units while it is mounted, and stop it."""
    stem = point.strip("/").replace("/", "-")
    on_demand = "x-systemd.automount" in options
    unit, starter = f"{stem}.mount", f"{stem}.automount" if on_demand else f"{stem}.mount"
    found: dict[str, Any] = {}
    written = keeping.write(_args(point, options), "", CancelToken())
    found["warnings"] = written.warnings
    found["written"] = state(unit)
    found["enabled"] = run(["/usr/bin/systemctl", "is-enabled", starter], timeout=PATIENCE_S).stdout.strip()
    found["start"] = systemctl("start", starter)
    if on_demand:
        found["before"] = is_mounted(point)
        list(Path(point).iterdir())
    found["started"] = state(unit)
    found["mounted"] = is_mounted(point)
    shown = keeping.forget(RemoveArgs(mount_point=point, preview=True), CancelToken())
    args = RemoveArgs(mount_point=point, expected_sha256=shown.sha256)
    found["forget"] = keeping.forget(args, CancelToken()).warnings
    found["still mounted"] = is_mounted(point)
    found["files"] = [str(path) for path in UNITS.rglob(f"{stem}*")]
    found["stop"] = [systemctl("stop", starter), systemctl("stop", unit) if is_mounted(point) else ""]
    found["stopped"] = is_mounted(point)
    found["forgotten"] = state(unit)
    return found


def report(options: str) -> dict[str, Any]:
    """Return the state of the unit that was present at boot, and of those written and removed now."""
    end = time.monotonic() + PATIENCE_S
    while not is_mounted(AT_BOOT) and time.monotonic() < end:
        time.sleep(0.2)
    helper = HelperClient("persist")
    keeping = ConfigStore(FstabStore(helper), UnitStore(helper))
    try:
        return {
            "boot": [*state("mnt-boot.mount"), is_mounted(AT_BOOT)],
            "now": go_round(keeping, "/mnt/now", options),
            "on demand": go_round(keeping, "/mnt/demand", f"{options},x-systemd.automount"),
            "boot forgotten": keeping.forget(RemoveArgs(mount_point=AT_BOOT), CancelToken()).warnings,
            "rest": [str(path) for path in UNITS.rglob("mnt-*")],
        }
    finally:
        helper.close()


if __name__ == "__main__":
    answer_and_power_off(lambda: report(sys.argv[1]), before=b"\n")
