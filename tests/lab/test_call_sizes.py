"""Sizes of system calls on a real mount: copies as by cp, small reads, and the cost of noac for cp."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from copy_tests import MIB, POINT, copy, held_back_by

from advisor.throughput import DEFAULT_READAHEAD_BYTES
from advisor.transfer_sizes import CP_BUFFER, SMALL_READ_SIZE
from app.experiment.factors import mount_settings, trial_spec
from app.experiment.recipe_store import find_recipe
from app.service.protocol import MountArgs
from app.speedtest.model import SMALL_READS, TestResult, TestSpec

if TYPE_CHECKING:
    from lab_guest import LabGuest

    from advisor.bottleneck import Bottleneck

versions = pytest.mark.parametrize("version", ["3", "4.2"])
#: Seconds of a round trip of the lab's link "wan" at least: its delay both ways without the jitter.
WAN_TRIP_S = 2 * (0.020 - 0.0005)


@versions
@pytest.mark.parametrize(("size", "calls"), [(MIB, MIB), (65536, CP_BUFFER), (32768, CP_BUFFER)])
def test_a_copy_takes_the_calls_that_cp_takes_on_the_mount(
    lab: "LabGuest", lab_mount: Callable[[str], None], version: str, size: int, calls: int
) -> None:
    lab_mount(f"{version},rsize={size},wsize={size}")
    result = copy(lab, size=MIB)
    assert result.effective["wsize"] == str(size)
    assert (result.as_copy, result.block_size) == (True, calls)


@versions
def test_small_reads_wait_for_readahead_where_a_copy_does_not(
    lab: "LabGuest", lab_link: Callable[[str], Any], lab_mount: Callable[[str], None], version: str
) -> None:
    """A copy asks for whole requests of 1 MiB, small reads for as much as the readahead allows."""
    lab_link("wan")
    lab_mount(version)
    results: list[TestResult] = []

    def copied() -> "Bottleneck | None":
        results.append(copy(lab, size=8 * MIB, small_reads=True))
        return results[-1].small_bottleneck

    held_back_by("round-trips", copied)
    for result in results:
        assert result.read is not None
        assert result.read.load is not None
        small = result.small_read
        assert small is not None
        assert small.load is not None
        assert small.server_bytes == small.bytes == 8 * MIB
        assert not small.cached
        assert result.read.load.calls < 8 * MIB / DEFAULT_READAHEAD_BYTES <= small.load.calls
        # At most one window of readahead is used up while the next one is under way.
        assert small.bytes_per_s <= 2 * DEFAULT_READAHEAD_BYTES / WAN_TRIP_S
        assert result.figures[SMALL_READS].median == small.bytes_per_s


def test_small_reads_of_a_test_are_those_of_a_program_with_small_calls(
    lab: "LabGuest", lab_link: Callable[[str], Any], lab_mount: Callable[[str], None]
) -> None:
    lab_link("wan")
    lab_mount("4.2")
    result = copy(lab, size=4 * MIB, block_size=SMALL_READ_SIZE, small_reads=True)
    assert (result.as_copy, result.block_size, result.small_read) == (False, SMALL_READ_SIZE, None)
    assert result.read is not None
    assert result.read.bytes_per_s <= 2 * DEFAULT_READAHEAD_BYTES / WAN_TRIP_S


def test_noac_waits_for_each_write_of_the_study(
    lab: "LabGuest", lab_link: Callable[[str], Any], request: pytest.FixtureRequest
) -> None:
    """As cp of its time wrote: 32 KiB at a time, and noac answers each only when the server has it."""
    lab_link("wan")
    study = find_recipe("attribute-caching").experiment(lab.share, "quick")
    size = 2 * MIB
    spec = trial_spec(study.workloads[0].resized(size=size), {})
    took_s: dict[str, float] = {}
    for mode in ("default", "noac", "actimeo=0"):
        options = mount_settings(study, {"cache_mode": mode}).options
        lab.ask("mounts.mount", MountArgs(share=lab.share, mount_point=POINT, options=options))
        try:
            result = lab.ask("test.run", TestSpec(path=POINT, size=size, block_size=spec.block_size))
        finally:
            lab.unmount_when_free(POINT)
        assert result.write is not None
        took_s[mode] = size / result.write.bytes_per_s
    assert took_s["noac"] >= size / 32768 * WAN_TRIP_S
    # Nothing but the machine bounds how long the others take.
    if request.config.getoption("--long"):
        assert took_s["noac"] > max(took_s["default"], took_s["actimeo=0"])
