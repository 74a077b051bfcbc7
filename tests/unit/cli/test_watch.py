"""Command "watch": lines of samples."""

import msgspec
import pytest

from app.cli.main import main
from app.cli.watch import WatchText
from app.stats.model import ConnectionRate, OperationRate, StatsSample

_SAMPLE = StatsSample(
    t_s=3, read_bytes_per_s=11.5e6, write_bytes_per_s=0, ops_per_s=44, rtt_s=0.0021, queue_s=None, timeouts=0,
    retransmissions=2, connections=1, errors=None,
    operations=[
        OperationRate(name="READ", ops_per_s=44, bytes_per_s=11.6e6, queue_s=0, rtt_s=0.0021, execute_s=0.003,
                      timeouts=0, retransmissions=2, errors=None)
    ],
    transports=[ConnectionRate(kind="tcp", sends_per_s=44, receives_per_s=44, reconnections=0, waiting=1.5)],
)  # fmt: skip


def test_each_sample_has_a_line() -> None:
    text = WatchText(operations=False)
    heading, line = text.lines(_SAMPLE)
    assert heading.split()[:3] == ["TIME", "READ", "WRITE"]
    assert "11.5 MB/s" in line
    assert "2.1 ms" in line
    assert line.endswith("READ 44/s")
    assert line.split()[-6:-2] == ["2", "—", "—", "—"]
    _, line = WatchText(operations=False).lines(msgspec.structs.replace(_SAMPLE, segments=31, disordered=5))
    assert line.split()[-6:-2] == ["2", "31", "5", "—"]
    assert len(text.lines(_SAMPLE)) == 1


def test_operations_and_connections() -> None:
    lines = WatchText(operations=True).lines(msgspec.structs.replace(_SAMPLE, read_ahead_kb=15360))
    assert "  readahead 15 MiB" in lines
    assert any(line.startswith("  READ ") for line in lines)
    assert any("1.5 requests waiting for a slot" in line for line in lines)


@pytest.mark.parametrize(
    "words",
    [["--interval", "0"], ["--interval", "-3"], ["--interval", "nan"], ["--interval", "inf"],
     ["--interval", "x"], ["--count", "-1"], ["--count", "0"], ["--count", "2.5"]],
)  # fmt: skip
def test_wrong_intervals_and_counts_are_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["watch", "/nowhere", *words])
    assert caught.value.code == 2
    assert f"“{words[1]}” is not a number" in capsys.readouterr().err


def test_a_mount_point_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["watch"])
    assert caught.value.code == 2
    assert "watch needs MOUNTPOINT (or --lab LINK)" in capsys.readouterr().err


def test_an_inactive_mount_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "/nowhere"]) == 1
    assert "No NFS share is mounted at /nowhere." in capsys.readouterr().err
