"""Command "list" with a path and with --space, on a scripted host."""

import json
from typing import Any

import pytest

from app.cli.list_mounts import run_list
from app.cli.parser import parse_args
from app.errors import AppError, ErrorKind
from app.mounts.model import Active, Configured, Mount, MountTable, Space
from app.service.client import Call

GIB = 2**30


def row(point: str, *, active: bool) -> Mount:
    live = Active(mount_id=7, device="0:50", share="nas:/a", fstype="nfs4", options="rw,vers=4.2")
    entry = Configured(origin="/etc/fstab", line=3, share="nas:/a", fstype="nfs", options="vers=4.2")
    if active:
        return Mount(mount_point=point, share="nas:/a", state="mounted", active=live)
    return Mount(mount_point=point, share="nas:/a", state="not-mounted", configured=entry)


TABLE = MountTable(
    mounts=[row("/mnt/a", active=True), row("/mnt/b", active=False), row("/mnt/dead", active=True)],
    warnings=["Line 3 of /etc/fstab is odd."],
)
SPACES = {
    "/mnt/a": Space(mount_point="/mnt/a", state="known", total_bytes=100 * GIB, free_bytes=5 * GIB,
                    available_bytes=GIB, short=["bytes"]),
    "/mnt/dead": Space(mount_point="/mnt/dead", state="no-answer"),
}  # fmt: skip


class Scripted:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def submit(self, verb: str, args: Any = None, on_event: Any = None) -> Call:
        assert verb == "mounts.space"
        self.asked.append(args.mount_point)
        call = Call(len(self.asked), verb, on_event)
        call.future.set_result(SPACES[args.mount_point])
        return call


def listed(*argv: str) -> tuple[str, list[str]]:
    host = Scripted()
    args = parse_args(["list", *argv])
    return run_list(lambda _verb, _query: TABLE, host, args), host.asked  # type: ignore[arg-type]


def test_space_is_requested_only_with_the_option() -> None:
    text, asked = listed()
    assert asked == []
    assert all(word in text for word in ("/mnt/a", "/mnt/b", "/mnt/dead"))


def test_a_single_mount() -> None:
    text, asked = listed("/mnt/a/", "--space")
    assert asked == ["/mnt/a"]
    assert "/mnt/b" not in text
    assert all(word in text for word in ("100 GiB", "95 GiB", "1 GiB", "Nearly full", "quota -f /mnt/a"))


def test_a_silent_server_is_reported_and_inactive_mounts_are_not_asked() -> None:
    text, asked = listed("--space")
    assert asked == ["/mnt/a", "/mnt/dead"]
    assert "the server does not answer" in text


def test_json_has_the_space_of_each_active_mount() -> None:
    text, _asked = listed("--space", "--json")
    rows = {mount["mount_point"]: mount for mount in json.loads(text)["mounts"]}
    assert rows["/mnt/a"]["space"]["available_bytes"] == GIB
    assert rows["/mnt/a"]["space"]["short"] == ["bytes"]
    assert rows["/mnt/b"]["space"] is None
    assert rows["/mnt/dead"]["space"]["state"] == "no-answer"
    assert "space" not in json.loads(listed("--json")[0])["mounts"][0]


def test_a_path_without_a_mount_is_an_error() -> None:
    with pytest.raises(AppError) as caught:
        listed("/mnt/nothing")
    assert caught.value.kind is ErrorKind.NOT_MOUNTED
