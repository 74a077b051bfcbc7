"""Settings outside the mount options: words that mount.nfs adds from /etc/nfsmount.conf, and tunables."""

from collections.abc import Callable
from typing import Any

import pytest

from advisor.nfsmount_conf import added_options, parse_conf
from advisor.options import MountOptions
from advisor.tunables import tunables

pytestmark = pytest.mark.lab

POINT = "/mnt/Try"
GLOBAL = "[ NFSMount_Global_Options ]\n"
#: File, share, options.
CASES = [
    (GLOBAL + "Soft=True\nRsize=64k\n", "10.9.0.1:/export", "hard,vers=4.2"),
    (GLOBAL + "rsize=8k\nTimeo=100\n", "10.9.0.1:/export", "rsize=65536,vers=4.2"),
    (GLOBAL + "Nfsvers=3\n", "10.9.0.1:/export", "vers=4.2"),
    (GLOBAL + "vers=4.1\n", "10.9.0.1:/export", "nfsvers=4.2"),
    (GLOBAL + "Nfsvers=4.1\n", "10.9.0.1:/export", "v4.2"),
    (GLOBAL + "Ac=False\nAcl=False\nsharecache=False\n", "10.9.0.1:/export", "ac,vers=4.2"),
    (GLOBAL + "Ac=True\n", "10.9.0.1:/export", "noac,vers=4.2"),
    (GLOBAL + "acregmin=5\n", "10.9.0.1:/export", "actimeo=9,vers=4.2"),
    (GLOBAL + "proto=tcp\n", "10.9.0.1:/export", "tcp,vers=4.2"),
    (GLOBAL + "Background=False\nForeground=True\nSloppy=True\n", "10.9.0.1:/export", "hard,vers=4.2"),
    (GLOBAL + "Defaultvers=4.1\nDefaultproto=tcp\nRetrans=4\n", "10.9.0.1:/export", "vers=4.2"),
    (
        GLOBAL + "timeo=10\nretrans=1\nwsize=4k\n" + f'[ MountPoint "{POINT.upper()}" ]\ntimeo=30\n'
        + '[ Server "10.9.0.1" ]\ntimeo=20\nretrans=2\n[ Server "server" ]\nrsize=1024\n',
        "10.9.0.1:/export", "vers=4.2",
    ),
    ("# a comment\n[NFSMount_Global_Options]\n  timeo = 50 # half\n;rsize=1\nlookupcache=Pos\n",
     "10.9.0.1:/export", "vers=4.2"),
    ("timeo=300\n" + GLOBAL + "nosharecache\nretrans=4\n[ Server 10.9.0.1 ]\nrsize=32k\n"
     "[ NFSMount_Global_Option ]\nwsize=32k\n", "10.9.0.1:/export", "vers=4.2"),
    (GLOBAL + "size=5\n", "10.9.0.1:/export", "rsize=65536,vers=4.2"),
]  # fmt: skip


@pytest.fixture(scope="module")
def found(guest_job: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    configured = [[text, share, options, POINT] for text, share, options in CASES]
    files = [tunable.path for tunable in tunables().values()]
    return guest_job({"mounts": [], "judge": [], "configured": configured, "files": files})


def test_what_is_added_is_what_mount_adds(found: dict[str, Any]) -> None:
    wrong = []
    for (text, share, options), made in zip(CASES, found["configured"], strict=True):
        settings = parse_conf(text, "/etc/nfsmount.conf")
        ours = added_options(settings, MountOptions.parse(options), share.partition(":")[0], POINT)
        expected = sorted([*options.split(","), *(one.item for one in ours)])
        became = sorted(item for item in made.split(",") if not item.startswith(("addr=", "clientaddr=")))
        print(options, "->", made)
        if expected != became:
            wrong.append(f"{text!r} with {options}: we say {expected}, mount.nfs {became}")
    assert wrong == []


@pytest.mark.parametrize("name", list(tunables()))
def test_a_tunable_is_where_we_say_with_the_default_we_say(found: dict[str, Any], name: str) -> None:
    tunable = tunables()[name]
    value = found["files"][tunable.path]
    assert tunable.problem(value) == ""
    if tunable.default is not None:
        assert int(value) == tunable.default
