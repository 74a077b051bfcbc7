"""Environment of a test: values from the result and from this host, None for unknown ones."""

from typing import Any

import msgspec
import pytest

from advisor.facts import LinkFacts
from app.mounts.model import Active, Mount, MountTable
from app.speedtest import environment
from app.speedtest.environment import readahead_of_result, with_environment
from app.speedtest.model import TestResult
from app.version import VERSION


def result(**changes: Any) -> TestResult:
    plain = TestResult(
        path="/mnt/a/deep", nfs=True, share="nas:/a", started_at="2026-03-01T10:00:00+00:00", write=None,
        read=None, cache=None, requested={}, effective={"vers": "4.2", "addr": "10.0.0.7"}, link=None,
        block_size=2**20, sync=False, notes=[],
    )  # fmt: skip
    return msgspec.structs.replace(plain, **changes)


def mount(point: str, share: str = "nas:/a", read_ahead_kb: int | None = 128) -> Mount:
    active = Active(
        mount_id=1, share=share, device="0:50", fstype="nfs4", options="", read_ahead_kb=read_ahead_kb
    )
    return Mount(mount_point=point, share=share, state="mounted", active=active)


def test_environment_of_a_mount() -> None:
    link = LinkFacts(
        name="eth0", interface="eth0", adapter="Intel I210", driver="igb", rate_bps=1e9, duplex="full",
        mtu=1500, rtt_s=0.0004,
    )  # fmt: skip
    found = with_environment(result(link=link), 4096).environment
    assert found is not None
    assert found.host
    assert found.kernel
    assert found.program == VERSION
    assert found.memory_bytes
    assert (found.adapter, found.driver, found.rate_bps, found.mtu) == ("Intel I210", "igb", 1e9, 1500)
    assert (found.rtt_s, found.duplex, found.emulated_link) == (0.0004, "full", None)
    assert (found.server, found.server_address, found.nfs_version) == ("nas", "10.0.0.7", "4.2")
    assert found.read_ahead_kb == 4096
    assert msgspec.json.decode(msgspec.json.encode(found), type=environment.Environment) == found


def test_unknown_values_are_none() -> None:
    found = with_environment(result(nfs=False, share=None, effective={})).environment
    assert found is not None
    assert (found.server, found.server_address, found.rate_bps, found.nfs_version) == (None,) * 4
    odd = with_environment(result(share="no share")).environment
    assert odd is not None
    assert odd.server is None


def test_an_emulated_link_is_named() -> None:
    found = with_environment(result(link=LinkFacts(name="wan", emulated=True))).environment
    assert found is not None
    assert found.emulated_link == "wan"


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ([], None),
        ([mount("/mnt/a")], 128),
        ([mount("/mnt/a"), mount("/mnt/a/deep", read_ahead_kb=64)], 64),
        ([mount("/mnt/a/de")], None),
        ([mount("/mnt/a", share="nas:/other")], None),
        ([mount("/")], 128),
    ],
)
def test_the_readahead_is_that_of_the_nearest_mount(mounts: list[Mount], expected: int | None) -> None:
    assert readahead_of_result(result(), MountTable(mounts=mounts)) == expected
