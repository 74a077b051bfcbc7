"""A real systemd loads, starts and forgets the units that this program writes, on a real server."""

from collections.abc import Callable
from typing import Any

import pytest
from systemd_boot import SYSTEMD

pytestmark = pytest.mark.lab


@pytest.mark.parametrize(
    "options", [pytest.param("vers=3,nolock,nofail", marks=pytest.mark.long), "vers=4.2,nofail"]
)
def test_units_are_loaded_started_and_forgotten(
    guest_job: Callable[..., dict[str, Any]], options: str
) -> None:
    if not SYSTEMD.exists():
        pytest.skip("systemd is not installed")
    found = guest_job({"systemd-units": options}, 420)
    print(found)  # for those who look (-rP)
    folder = "/etc/systemd/system"
    assert found["boot"] == ["loaded", "active", f"{folder}/mnt-boot.mount", True]
    for name, stem in (("now", "mnt-now"), ("on demand", "mnt-demand")):
        told = found[name]
        assert (told["warnings"], told["start"], told["enabled"]) == ([], "", "enabled")
        assert told["written"] == ["loaded", "inactive", f"{folder}/{stem}.mount"]
        assert told["started"][:2] == ["loaded", "active"]
        assert told["mounted"]
        # It is taken out while it is in use: systemd is told, and the mount stays until it is stopped.
        assert (told["forget"], told["files"], told["still mounted"]) == ([], [], True)
        assert told["stop"][1] == ""
        assert not told["stopped"]
        assert told["forgotten"][1:] == ["inactive", ""]
    assert not found["on demand"]["before"]
    assert (found["boot forgotten"], found["rest"]) == ([], [])
