"""An entry that the program writes is mounted at boot, on demand and manually."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from advisor.dialects import autofs
from advisor.dialects.entry import MountSpec, set_mount_time
from advisor.options import MountOptions
from app.lab.server import SHARE
from app.mounts.entry_options import DEFAULT_OPTIONS

pytestmark = pytest.mark.lab

#: Where packaging/system_packages.py unpacks autofs: installing it would start an automounter.
UNPACKED = Path(autofs.__file__).parents[2] / ".cache" / "lab" / "autofs" / "usr" / "sbin" / "automount"


def options_for(when: Any) -> MountOptions:
    options = MountOptions.parse(f"{DEFAULT_OPTIONS},vers=4.2,noatime")
    set_mount_time(options, when)
    return options


@pytest.fixture(scope="module")
def automount() -> str:
    path = shutil.which("automount", path="/usr/sbin:/sbin") or (str(UNPACKED) if UNPACKED.exists() else "")
    assert path or os.environ.get("CI") != "true", "the package autofs was not unpacked"
    return path


@pytest.fixture(scope="module")
def found(guest_job: Callable[[dict[str, Any]], dict[str, Any]], automount: str) -> dict[str, Any]:
    ways = {"/mnt/boot": "start-up", "/mnt/demand": "on-demand", "/mnt/hand": "by-hand"}
    entries = {point: str(options_for(when)) for point, when in ways.items()}
    entry = MountSpec.make(SHARE, "/mnt/demand", options_for("on-demand"))
    master, _, table = autofs.write(entry).text.partition("\n\n")
    maps = {autofs.MASTER_FILE: master + "\n", autofs.MAP_FILE: table}
    return guest_job({"three-ways": {"entries": entries, "automount": automount, "maps": maps}})


def test_at_start_up(found: dict[str, Any]) -> None:
    assert "vers=4.2" in found["start-up"]["line"], found["start-up"]["text"]
    assert "noatime" in found["start-up"]["line"]


def test_by_hand(found: dict[str, Any]) -> None:
    assert found["by hand, before"]["line"] == ""
    assert "vers=4.2" in found["by hand"]["line"], found["by hand"]["text"]


def test_on_demand(found: dict[str, Any]) -> None:
    if found["on demand"] is None:
        pytest.skip("automount(8) is not here: ./test unpacks the package autofs for the lab on Debian")
    assert found["on demand"]["waiting"]
    assert found["on demand"]["before"] == ""
    assert "vers=4.2" in found["on demand"]["line"]
    (mount,) = found["on demand"]["listed"]
    assert (mount["share"], mount["state"]) == (SHARE, "mounted")
    configured = mount["configured"]
    assert (configured["keeper"], configured["origin"], configured["share"]) == (
        "autofs",
        autofs.MAP_FILE,
        SHARE,
    )
    assert not configured["ours"]
    assert mount["active"]["fstype"] == "nfs4"


def test_systemd_would_do_the_same_at_start_up(found: dict[str, Any]) -> None:
    units = found["units"]
    if not units:
        pytest.skip("systemd is not installed")
    assert "TimeoutIdleSec" not in units["mnt-demand.automount"]
    assert "Where=/mnt/demand" in units["mnt-demand.automount"]
    links = {name for name, text in units.items() if text == "link"}
    assert any(name.endswith("/mnt-boot.mount") for name in links)
    assert any(name.endswith("/mnt-demand.automount") for name in links)
    assert not any("mnt-hand" in name or name.endswith("/mnt-demand.mount") for name in links)
