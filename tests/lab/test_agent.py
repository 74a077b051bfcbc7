"""The agent inside the guest, through the same client as everywhere: list, mount, facts, rates, unmount."""

import queue
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from app.errors import AppError, ErrorKind
from app.mounts.model import Mount, MountReport, MountTable
from app.service.protocol import FactsArgs, ListArgs, MountArgs, UnmountArgs
from app.speedtest.model import TestSpec
from app.stats.model import StatsSample, WatchArgs

if TYPE_CHECKING:
    from lab_guest import LabGuest

POINT = "/mnt/agent"


@pytest.fixture
def mounted(lab: "LabGuest") -> Iterator[MountReport]:
    yield lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT))
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))


def test_hello_says_that_this_is_the_lab(lab: "LabGuest") -> None:
    hello = lab.ask("hello")
    assert hello.lab
    assert hello.share == lab.share
    assert hello.link is not None
    assert hello.link.emulated


def test_the_list_follows_a_mount_and_an_unmount_by_itself(lab: "LabGuest") -> None:
    tables: queue.Queue[MountTable] = queue.Queue()
    watching = lab.submit("mounts.list", ListArgs(watch=True), tables.put)
    lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT))
    rows: list[Mount] = []
    while not rows:
        table = lab.next(tables, f"a list of mounts with {POINT}")
        rows = [mount for mount in table.mounts if mount.mount_point == POINT]
    mount = rows[0]
    assert mount.state == "mounted"
    assert mount.active is not None
    assert mount.configured is None
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    while rows:
        table = lab.next(tables, f"a list of mounts without {POINT}")
        rows = [mount for mount in table.mounts if mount.mount_point == POINT]
    watching.cancel()
    with pytest.raises(AppError) as ended:
        watching.result()
    assert ended.value.kind is ErrorKind.CANCELLED


@pytest.mark.parametrize("version", ["3", "4.0", "4.1", "4.2"])
def test_the_kernel_rounds_and_the_report_says_so(lab: "LabGuest", version: str) -> None:
    sizes = {"rsize": ("1500", "1024"), "wsize": ("100000", "98304")}
    options = f"vers={version},rsize=1500,wsize=100000,timeo=300,retrans=4,acregmin=5"
    query = MountArgs(share=lab.share, mount_point=POINT, options=options)
    report = lab.ask("mounts.mount", query)
    lab.ask("mounts.unmount", UnmountArgs(mount_point=POINT))
    values = {value.name: value for value in report.values}
    assert values["vers"].effective == version
    assert values["timeo"].effective == "300"
    assert values["retrans"].effective == "4"
    assert values["acregmin"].effective == "5"
    for name, (asked, in_use) in sizes.items():
        assert (values[name].requested, values[name].effective) == (asked, in_use)
        assert values[name].note
    assert options in report.command


def test_facts_name_the_emulated_link_and_its_round_trip(lab: "LabGuest", mounted: MountReport) -> None:
    facts = lab.ask("facts.get", FactsArgs(mount_point=POINT))
    assert facts.link.emulated
    assert facts.link.rate_bps
    assert facts.link.rtt_s > 0
    assert facts.server.reachable
    assert facts.client.mount_nfs
    assert facts.client.udp is False


def test_rates_are_watched_until_cancelled(lab: "LabGuest", mounted: MountReport) -> None:
    samples: queue.Queue[StatsSample] = queue.Queue()
    watching = lab.submit("stats.watch", WatchArgs(mount_point=POINT, interval_s=0.2), samples.put)
    lab.ask("test.run", TestSpec(path=POINT, size=2**20))
    total = 0.0
    while total == 0:
        total += lab.next(samples, "a sample with bytes written").write_bytes_per_s
    watching.cancel()
    with pytest.raises(AppError) as ended:
        watching.result()
    assert ended.value.kind is ErrorKind.CANCELLED


def test_a_second_mount_at_the_same_place_is_refused(lab: "LabGuest", mounted: MountReport) -> None:
    with pytest.raises(AppError) as refused:
        lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT))
    assert refused.value.kind is ErrorKind.MOUNT_POINT_BUSY
