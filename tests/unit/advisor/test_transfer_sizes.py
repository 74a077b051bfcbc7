"""Call sizes: the rule of cp, and the effect of mount options on it."""

import pytest

from advisor.options import MountOptions
from advisor.throughput import DEFAULT_READAHEAD_BYTES
from advisor.transfer_sizes import (
    CP_BUFFER,
    CP_CALL_SIZE,
    SMALL_READ_SIZE,
    call_size,
    cp_call_size,
    file_block_size,
)

KIB = 1024


@pytest.mark.parametrize(
    ("block_size", "expected"),
    [
        (4 * KIB, 128 * KIB),
        (32 * KIB, 128 * KIB),
        (64 * KIB, 128 * KIB),
        (256 * KIB, 256 * KIB),
        (2**20, 2**20),
    ],
)
def test_cp_takes_the_larger_of_its_buffer_and_the_block_size(block_size: int, expected: int) -> None:
    assert cp_call_size(block_size) == expected


@pytest.mark.parametrize(
    ("wsize", "expected"), [(2**20, 2**20), (32768, 32768), (49152, 32768), (1024, 1024)]
)
def test_the_block_size_of_files_is_wsize_rounded_down_to_a_power_of_two(wsize: int, expected: int) -> None:
    assert file_block_size(wsize) == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", 2**20),
        ("rsize=32768", 2**20),
        ("wsize=32768", CP_BUFFER),
        ("wsize=262144", 256 * KIB),
        ("wsize=16777216", 2**20),
        ("wsize=0", 2**20),
    ],
)
def test_the_call_size_of_a_copy_follows_the_write_size(options: str, expected: int) -> None:
    assert call_size(CP_CALL_SIZE, MountOptions.parse(options).values()) == expected


def test_a_size_that_was_asked_for_is_taken() -> None:
    assert call_size(4096, {"wsize": "32768"}) == 4096


def test_small_reads_do_not_exceed_the_usual_readahead() -> None:
    assert SMALL_READ_SIZE < DEFAULT_READAHEAD_BYTES
