"""Measurement of the network alone: one TCP stream to an iperf3 server on the NFS server's host."""

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from copy_tests import POINT
from lab_guest import LabGuest

from advisor.facts import payload_rate_bps
from app.service.protocol import ShellArgs
from app.speedtest.model import TestResult, TestSpec

pytestmark = pytest.mark.lab


@pytest.fixture
def iperf3_server(lab: LabGuest) -> Iterator[None]:
    if shutil.which("iperf3") is None:
        assert os.environ.get("CI") != "true", "the package iperf3 is not installed"
        pytest.skip("iperf3 is not installed")
    server = "nsenter --net --target $(pidof rpc.mountd)"
    start = f"{server} iperf3 --server --daemon --pidfile /run/iperf3.pid; sleep 0.2; test -s /run/iperf3.pid"
    assert lab.ask("lab.shell", ShellArgs(command=[start])).code == 0
    yield
    lab.ask("lab.shell", ShellArgs(command=["kill $(tr -d '\\0' < /run/iperf3.pid)"]))


def copy(lab: LabGuest) -> TestResult:
    result = lab.ask("test.run", TestSpec(path=POINT, size=2**20, network_alone=True))
    assert isinstance(result, TestResult)
    return result


def test_a_stream_beside_the_copy(
    lab: LabGuest, lab_link: Callable[[str], Any], lab_mount: Callable[[str], None], iperf3_server: None
) -> None:
    link = lab_link("rate=20mbit,delay=2ms")
    lab_mount("4.2")
    network = copy(lab).network
    assert network is not None
    assert network.problem == ""
    line = payload_rate_bps(link.rate_bps) / 8
    for speed in (network.write, network.read):
        assert speed is not None
        assert 0 < speed <= line * 1.05  # iperf3's own clock starts a little late


def test_without_a_server_of_iperf3_it_says_what_is_needed(
    lab: LabGuest, lab_mount: Callable[[str], None]
) -> None:
    lab_mount("4.2")
    result = copy(lab)
    assert result.network is not None
    assert result.network.problem in result.notes
    assert "iperf3 -s" in result.network.problem
