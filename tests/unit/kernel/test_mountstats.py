"""The mountstats parser: recorded kernels, damaged text, and the tools of nfs-utils as a second opinion."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.mountstats import (
    ByteCounters,
    OpCounters,
    escape_path,
    find_block,
    parse,
    parse_one,
    read_mountstats,
    unescape_path,
)
from app.process import find_program

DATA = Path(__file__).parents[2] / "data" / "mountstats"
FULL = (DATA / "v42-and-v3-6.12.txt").read_text()


def test_reads_what_the_kernel_printed() -> None:
    first, second = parse(FULL)
    assert (first.mount_point, first.share, first.fstype) == ("/mnt/a", "127.0.0.1:/srv/a", "nfs4")
    assert first.bytes == ByteCounters(
        normal_written=2097152, server_written=2097152, write_pages=32, normal_read=0
    )
    assert first.opts["rsize"] == "262144"
    assert first.opts["hard"] == ""
    assert first.rpc_version == 4
    assert first.statvers == "1.1"
    assert first.events["vfs_update_page"] == 32
    assert first.ops["WRITE"] == OpCounters(8, 8, 0, 2098880, 1472, 127, 165, 299, 0)
    assert first.ops["READ_PLUS"] == OpCounters()
    (xprt,) = first.xprts
    assert (xprt.kind, xprt.sends, xprt.max_slots, xprt.pending_u) == ("tcp", 42, 8, 16)
    assert second.rpc_version == 3
    assert second.ops["GETATTR"].bytes_received == 224
    assert second.xprts[0].port == 881


def test_every_connection_of_nconnect() -> None:
    mounts = {mount.mount_point: mount for mount in parse((DATA / "nconnect-6.12.txt").read_text())}
    assert [len(mount.xprts) for mount in mounts.values()] == [4, 4, 4]
    assert [xprt.port for xprt in mounts["/mnt/c"].xprts] == [904, 938, 883, 825]
    assert mounts["/mnt/a"].impl_id == ""
    assert [mount.opts["vers"] for mount in mounts.values()] == ["4.0", "4.1", "3"]


def test_lossy_link_shows_in_different_columns() -> None:
    v4, v3 = parse((DATA / "lossy-7.2.txt").read_text())
    assert v4.ops["READ_PLUS"].timeouts == 13
    assert v4.ops["READ_PLUS"].transmissions == v4.ops["READ_PLUS"].ops
    assert v3.ops["READ"].transmissions - v3.ops["READ"].ops == 28
    assert v3.xprts[0].bad_xids == 26


def test_spaces_and_shared_superblocks() -> None:
    text = (DATA / "shared-and-spaces-6.12.txt").read_text()
    spaced, first, second = parse(text)
    assert spaced.mount_point == "/mnt/s p"
    assert spaced.share == "127.0.0.1:/srv/sp ace"
    assert first.bytes == second.bytes
    assert parse_one(text, "/mnt/s p") == spaced
    assert parse_one(text, "/mnt/b") == second


def test_statvers_1_0_has_no_errors_column() -> None:
    (mount,) = parse((DATA / "statvers-1.0.txt").read_text())
    assert mount.ops["FSINFO"] == OpCounters(2, 2, 0, 168, 160, 0, 1, 2, 0)


def test_statvers_1_2_and_unknown_lines_and_names() -> None:
    text = FULL.replace("statvers=1.1", "statvers=1.2").replace(
        "\tage:\t0\n", "\tage:\t7\n\tnews:\tof tomorrow=1\n\txprt:\tquic 1 2 3\n\n"
    )
    text += "\t   TELEPORT: 3 4 1 10 20 30 40 50 0 99\n"
    first, second = parse(text)
    assert first.age_s == 7
    assert [xprt.kind for xprt in first.xprts] == ["quic", "tcp"]
    assert first.xprts[0].numbers == (1, 2, 3)
    assert second.ops["TELEPORT"].transmissions == 4


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("udp 900 1 50 49 1 52 3 16 4 5", "bad_xids", 1),
        ("local 1 2 0 7 50 49 1 52 3 16 4 5", "idle_time_s", 7),
        ("rdma 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27", "backlog_u", 9),
    ],
)
def test_other_transports(line: str, field: str, value: int) -> None:
    text = re.sub(r"\txprt:\ttcp 881.*", f"\txprt:\t{line}", FULL)
    (xprt,) = parse(text)[1].xprts
    assert getattr(xprt, field) == value
    assert xprt.numbers == tuple(map(int, line.split()[1:]))


def test_of_stacked_mounts_the_visible_one() -> None:
    below = FULL[: FULL.index("\ndevice 127.0.0.1:/srv/c") + 1]
    text = below + below.replace("/srv/a", "/srv/z")
    found = parse_one(text, "/mnt/a")
    assert found is not None
    assert found.share == "127.0.0.1:/srv/z"


def test_one_mount_is_found_without_the_others() -> None:
    assert parse_one(FULL, "/mnt/c") == parse(FULL)[1]
    assert parse_one(FULL, "/mnt") is None
    assert parse_one("", "/mnt/a") is None
    block = find_block(FULL, "/mnt/a")
    assert block is not None
    assert "/srv/c" not in block


def test_a_torn_operation_line_is_not_half_counted() -> None:
    whole = "\t       WRITE: 8 8 0 2098880 1472 127 165 299 0\n"
    cut = FULL[: FULL.index(whole) + len("\t       WRITE: 8 8 0 2098880")]
    (mount,) = parse(cut)
    assert "WRITE" not in mount.ops
    assert "READ" in mount.ops


def test_reads_the_running_system(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountstats").write_bytes(
        FULL.encode() + b"device \xff mounted on /\xff with fstype nfs\n"
    )
    assert [mount.mount_point for mount in read_mountstats(str(tmp_path))] == ["/mnt/a", "/mnt/c", "/\udcff"]


@given(st.text())
def test_any_text_is_survived(text: str) -> None:
    parse(text)
    parse_one(text, "/mnt/a")


@given(
    start=st.integers(0, len(FULL)),
    end=st.integers(0, len(FULL)),
    put=st.text("0123456789:.- \t\n\\/device xprt", max_size=30),
)
def test_mangled_text_is_survived(start: int, end: int, put: str) -> None:
    text = FULL[:start] + put + FULL[end:]
    for mount in parse(text):
        assert all(op.ops >= 0 for op in mount.ops.values())
    parse_one(text, "/mnt/c")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_escapes_round_trip(path: str) -> None:
    escaped = escape_path(path)
    assert not set(escaped) & set(" \t\n")
    assert unescape_path(escaped) == path


@pytest.mark.skipif(find_program("mountstats") is None, reason="nfs-utils' mountstats is not installed")
@pytest.mark.parametrize("name", ["v42-and-v3-6.12.txt", "lossy-7.2.txt"])
def test_nfs_utils_reads_the_same_numbers(name: str) -> None:
    for mount in parse((DATA / name).read_text()):
        command = [str(find_program("mountstats")), "mountstats", "-f", str(DATA / name), mount.mount_point]
        text = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout
        said = {}
        for part in re.finditer(r"^([A-Z_]+):\n\t(.*)\n\tavg bytes sent per op: (\d+)", text, re.MULTILINE):
            counts = {words.split()[1]: int(words.split()[0]) for words in re.findall(r"\d+ \w+", part[2])}
            said[part[1]] = (counts["ops"], counts.get("retrans", 0), counts.get("major", 0), int(part[3]))
        # mountstats(8) prints timeouts only together with retransmissions.
        ours = {
            name: (op.ops, again, op.timeouts if again else 0, op.bytes_sent // op.ops)
            for name, op in mount.ops.items()
            if (again := op.transmissions - op.ops) >= 0 and op.ops
        }
        assert said == ours
        assert f"client wrote {mount.bytes.server_written} bytes via NFS WRITE" in text
        assert f"{mount.xprts[0].sends} RPC requests sent" in text
