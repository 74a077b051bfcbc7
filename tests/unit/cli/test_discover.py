"""Command "discover" with a scripted host; the lab tests use real servers."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app.cli import main as cli
from app.discovery.model import (
    ExportedPath,
    ExportsArgs,
    ExportsResult,
    KnownServer,
    ProbeArgs,
    ProbeResult,
    Problem,
    RootEntry,
    ScanArgs,
    ServersArgs,
    ServersResult,
    Service,
    Subnet,
    Subnets,
    VersionOffer,
)
from app.errors import AppError, ErrorKind
from app.service.client import Call
from app.service.protocol import Empty

REFUSED = Problem(kind="access-denied", message="It does not answer.", hint="Mount it.")
ANSWERS: dict[str, Any] = {
    "discover.servers": ServersResult(
        servers=[KnownServer(name="nas01", sources=["fstab", "recent"], exports=["/home"])],
        warnings=["There is no network."],
    ),
    "discover.forget": Empty(),
    "discover.subnets": Subnets(
        subnets=[
            Subnet(interface="eth0", network="10.9.0.0/22", first="10.9.0.1", last="10.9.3.254", count=1022,
                   cut_from="10.0.0.0/8"),
        ],
        left_out=["172.17.0.0/22"],
    ),
    "discover.scan": ServersResult(
        servers=[KnownServer(name="nas02", sources=["scan"], exports=[], address="10.9.0.7")]
    ),
    "discover.exports": ExportsResult(
        server="nas01", address="10.0.0.7",
        exports=[ExportedPath(path="/home", clients=["10.0.0.0/8"]), ExportedPath(path="/pub")],
        root=[RootEntry(path="/home", export=True, note="No.")], root_complete=False,
    ),
    "discover.probe": ProbeResult(
        server="nas01", address="10.0.0.7", port=2049,
        versions=[VersionOffer(transport="tcp", version="4.2", offered=True, note="it answers")],
        services=[Service(program=100005, name="mountd", version=3, transport="tcp", port=20048)],
        notes=["This kernel cannot use UDP."],
    ),
}  # fmt: skip


class FakeHost:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.answers = dict(ANSWERS)

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        self.asked.append((verb, args))
        call = Call(len(self.asked), verb, on_event)
        answer = self.answers[verb]
        if isinstance(answer, BaseException):
            call.future.set_exception(answer)
        else:
            call.future.set_result(answer)
        return call


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost()

    @contextlib.contextmanager
    def open_host(_lab: str | None) -> Iterator[FakeHost]:
        yield fake

    monkeypatch.setattr(cli, "open_host", open_host)
    return fake


@pytest.mark.parametrize(
    ("argv", "asked", "words"),
    [
        (
            [],
            ("discover.servers", ServersArgs()),
            ["nas01", "set up here, used recently", "/home", "network"],
        ),
        (["--forget"], ("discover.forget", Empty()), ["Cleared"]),
        (
            ["nas01", "--mount-port", "20048", "--test-mount"],
            ("discover.exports", ExportsArgs(server="nas01", mount_port=20048, test_mount=True)),
            ["nas01 (10.0.0.7)", "/home", "10.0.0.0/8", "everyone", "exported; No.", "is not complete"],
        ),
        (
            ["nas01:/x", "--probe", "--port", "2050"],
            ("discover.probe", ProbeArgs(server="nas01:/x", port=2050)),
            ["4.2", "yes", "it answers", "mountd", "20048", "not asked", "cannot use UDP"],
        ),
    ],
)
def test_answers_as_text_and_json(
    argv: list[str],
    asked: tuple[str, Any],
    words: list[str],
    host: FakeHost,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["discover", *argv]) == 0
    text = capsys.readouterr().out
    assert [word for word in words if word not in text] == []
    assert cli.main(["discover", *argv, "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)
    assert host.asked == [asked] * 2


def test_unknown_results_have_a_reason(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.answers["discover.exports"] = ExportsResult(
        server="v4", address="10.0.0.8", exports_problem=REFUSED, root_problem=REFUSED
    )
    assert cli.main(["discover", "v4"]) == 0
    text = capsys.readouterr().out
    assert "The MOUNT service's list is not known: It does not answer." in text
    assert "Version 4's root is not known: It does not answer." in text
    assert "Mount it." in text


def test_an_error_goes_to_standard_error(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    host.answers["discover.exports"] = AppError(ErrorKind.SERVER_SILENT, "nas: No answer.", hint="Is it on?")
    assert cli.main(["discover", "nas"]) != 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "nas: No answer." in printed.err
    assert "Is it on?" in printed.err


def test_forgetting_takes_no_server(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["discover", "--forget", "nas"]) != 0
    assert "takes no server" in capsys.readouterr().err
    assert host.asked == []


def test_a_scan_prints_its_addresses_first(host: FakeHost, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["discover", "--scan"]) == 0
    assert host.asked == [
        ("discover.subnets", Empty()),
        ("discover.scan", ScanArgs(networks=["10.9.0.0/22"])),
    ]
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "Asking 1022 addresses on TCP port 2049: 10.9.0.1 to 10.9.3.254 (eth0), a part of 10.0.0.0/8.",
        "Left out, too many addresses: 172.17.0.0/22.",
    ]
    assert "nas02" in printed.out
    assert "answers on the subnet" in printed.out
    host.answers["discover.scan"] = ServersResult(servers=[])
    assert cli.main(["discover", "--scan"]) == 0
    assert capsys.readouterr().out == "No NFS server answers on these networks.\n"


@pytest.mark.parametrize("words", [["nas01", "--scan"], ["--scan", "--forget"], ["--scan", "--probe"]])
def test_a_scan_takes_no_server(host: FakeHost, words: list[str]) -> None:
    assert cli.main(["discover", *words]) == 2
    assert host.asked == []
