"""Network throughput by iperf3: parsing its output, and notes on missing or failing servers."""

import json
from pathlib import Path

import msgspec
import pytest

from app.cli.main import main
from app.cli.parser import parse_args
from app.cli.test import test_spec as spec_of
from app.errors import CancelledError
from app.speedtest import network_measurement
from app.speedtest.analysis import unmeasured_effects
from app.speedtest.model import NetworkThroughput, TestPlanArgs, TestResult, TestSpec, Transfer
from app.speedtest.network_measurement import measure_tcp_throughput, network_notes
from app.speedtest.planning import plan_test
from app.tasks import CancelToken
from app.text.message import message_text

GIB = 2**30


@pytest.fixture
def iperf3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "iperf3"
    monkeypatch.setattr(network_measurement, "find_program", lambda _name: str(program))
    return program


def script(program: Path, text: str) -> None:
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o700)


def answer(bits: float) -> str:
    return json.dumps({"end": {"sum_received": {"bits_per_second": bits}}})


def transfer(speed: float, size: int = 100, *, cached: bool = False) -> Transfer:
    return Transfer(
        bytes=size, bytes_per_s=speed, transfer_s=1, fsync_s=0, close_s=0, timeouts=0, retransmissions=0,
        retransmissions_from="tcp_info", rpc_retransmissions=0, tcp_retransmissions=0, server_bytes=size,
        mean_rtt_s=None, cached=cached, samples=[],
    )  # fmt: skip


def test_both_directions_are_measured(iperf3: Path) -> None:
    script(iperf3, f"case \"$*\" in *-R*) echo '{answer(80e6)}';; *) echo '{answer(96e6)}';; esac")
    found = measure_tcp_throughput("10.9.0.1", CancelToken())
    assert found == NetworkThroughput(write=12e6, read=10e6)
    text = message_text(network_notes(found, transfer(6e6), transfer(9e6))[0])
    assert text == (
        "The network alone, one TCP stream through iperf3, carried 12 MB/s to the server (the copy reached "
        "50%) and 10 MB/s from the server (the copy reached 90%)."
    )
    assert "reached 50%" in message_text(network_notes(found, transfer(6e6), transfer(9e9, cached=True))[0])
    assert "90%" not in message_text(network_notes(found, None, transfer(9e9, cached=True))[0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('echo \'{"error": "unable to connect to server: Connection refused"}\'; exit 1', "refused"),
        ("echo not json", "cannot be read"),
        ("echo '{}'", "no figure"),
    ],
)
def test_error_says_what_is_needed(iperf3: Path, text: str, said: str) -> None:
    script(iperf3, text)
    found = measure_tcp_throughput("10.9.0.1", CancelToken())
    assert (found.write, found.read) == (None, None)
    assert said in found.problem
    assert "iperf3 -s" in found.problem
    assert network_notes(found, None, None) == [found.problem]


def test_without_the_program_or_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_measurement, "find_program", lambda _name: None)
    assert "not installed on this computer" in measure_tcp_throughput("10.9.0.1", CancelToken()).problem
    monkeypatch.setattr(network_measurement, "find_program", lambda _name: "/bin/true")
    assert "no address" in measure_tcp_throughput("", CancelToken()).problem


def test_the_token_cancels_a_stream(iperf3: Path) -> None:
    script(iperf3, "sleep 1000")
    token = CancelToken()
    token.cancel()
    with pytest.raises(CancelledError):
        measure_tcp_throughput("10.9.0.1", token)


def test_a_file_larger_than_the_servers_memory_is_planned() -> None:
    spec = TestSpec(path="/m", server_memory=4 * GIB)
    made = plan_test(TestPlanArgs(spec=spec, preset="thorough"), 100 * GIB, None)
    assert made.spec.size == 6 * GIB
    assert 1 <= made.spec.repeats <= 12
    assert made.spec.passes == 1
    small = plan_test(TestPlanArgs(spec=spec, preset="thorough"), 8 * GIB, None)
    assert small.spec.size < 4 * GIB
    assert "free space" in small.note
    both = plan_test(TestPlanArgs(spec=msgspec.structs.replace(spec, network_alone=True)), 8 * GIB, None)
    assert "iperf3 server" in both.note


@pytest.mark.parametrize(
    ("memory", "said"),
    [(4 * GIB, "at least 33 % of what was read"), (8 * GIB, "memory and"), (0, "memory and")],
)
def test_note_on_a_file_larger_than_memory(memory: int, said: str) -> None:
    result = TestResult(
        path="/m", nfs=True, share="a:/b", started_at="", write=None, read=transfer(1e8, 6 * GIB), cache=None,
        requested={}, effective={}, link=None, block_size=1, sync=False, notes=[], server_memory=memory,
    )  # fmt: skip
    assert any(said in text for text in unmeasured_effects(result))
    assert msgspec.convert(msgspec.to_builtins(result), TestResult) == result


def test_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    args = parse_args(["test", "--thorough", "--network-alone", "--server-memory", "8G", "/m"])
    spec = spec_of(args, "/m")
    assert (spec.network_alone, spec.server_memory) == (True, 8 * GIB)
    with pytest.raises(SystemExit):
        main(["test", "--server-memory", "8G", "/m"])
    assert "--thorough" in capsys.readouterr().err
