"""Commands on a scripted host; the lab tests use a real one."""

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from advisor.facts import ClientFacts, Facts, LinkFacts
from advisor.message import message
from app.cli import main as cli
from app.errors import AppError, ErrorKind
from app.mounts.model import Active, Mount, MountReport, MountTable, OptionValue
from app.mounts.option_comparison import OptionNote
from app.service.client import Call
from app.service.protocol import CheckResult, HelloResult, UnmountResult
from app.speedtest import leftover_files
from app.speedtest.model import CacheReport, Sample, TestResult, TestSpec, Transfer

MOUNT = Mount(
    mount_point="/mnt/lab",
    share="10.9.0.1:/",
    state="mounted",
    active=Active(mount_id=7, device="0:50", share="10.9.0.1:/", fstype="nfs4", options="rw,vers=4.2"),
)
TRANSFER = Transfer(
    bytes=16 * 2**20,
    bytes_per_s=11.7e6,
    transfer_s=1.0,
    fsync_s=0.4,
    close_s=0.001,
    timeouts=0,
    retransmissions=3,
    retransmissions_from="tcp_info",
    rpc_retransmissions=0,
    tcp_retransmissions=3,
    server_bytes=16 * 2**20,
    mean_rtt_s=0.01,
    cached=False,
    samples=[Sample(0.05, 10, 10)],
)
RESULT = TestResult(
    path="/mnt/lab",
    nfs=True,
    share="10.9.0.1:/",
    started_at="2026-01-01T00:00:00Z",
    write=TRANSFER,
    read=TRANSFER,
    cache=CacheReport(method="fadvise", checked=True, cached=False, note="The read came from the server."),
    requested={},
    effective={"vers": "4.2"},
    link=LinkFacts(name="fast-ethernet", rate_bps=1e8, rtt_s=0.001, emulated=True),
    block_size=2**20,
    sync=False,
    notes=[],
)
REPORT = MountReport(
    mount=MOUNT,
    values=[
        OptionValue(
            name="rsize",
            requested="1000",
            effective="4096",
            note=message(OptionNote.KERNEL_ROUNDED, used=4096),
        )
    ],
    command="mount -t nfs -o rsize=1000 10.9.0.1:/ /mnt/lab",
)
ANSWERS: dict[str, Any] = {
    "hello": HelloResult(protocol=1, version="0", host="h", kernel="k", uid=0, lab=True, share="10.9.0.1:/"),
    "mounts.list": MountTable(mounts=[MOUNT], warnings=["/etc/fstab, line 3: too few fields."]),
    "mounts.check": CheckResult(),
    "mounts.mount": REPORT,
    "mounts.unmount": UnmountResult(),
    "facts.get": Facts(client=ClientFacts(hostname="h", kernel="6.1", sources={"kernel": "uname"})),
    "test.run": RESULT,
}


class FakeHost:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []
        self.errors: dict[str, BaseException] = {}

    def submit(self, verb: str, args: Any = None, on_event: Callable[[Any], None] | None = None) -> Call:
        self.asked.append((verb, args))
        call = Call(len(self.asked), verb, on_event)
        if verb in self.errors:
            call.future.set_exception(self.errors[verb])
        else:
            call.future.set_result(ANSWERS[verb])
        return call

    def close(self) -> None:
        pass


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> FakeHost:
    fake = FakeHost()

    @contextlib.contextmanager
    def open_host(_lab: str | None) -> Iterator[FakeHost]:
        yield fake

    monkeypatch.setattr(cli, "open_host", open_host)
    return fake


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["list"], ["10.9.0.1:/", "/mnt/lab", "Mounted", "rw,vers=4.2", "line 3"]),
        (["facts"], ["client kernel", "6.1", "uname"]),
        (["mount", "a:/b", "/mnt/lab"], ["Mounted 10.9.0.1:/ at /mnt/lab", "1000", "4096", "rounded"]),
        (["umount", "/mnt/lab"], ["Unmounted /mnt/lab."]),
        (["test", "/mnt/lab"], ["11.7 MB/s", "16 MiB", "came from the server", "100 Mbit/s"]),
    ],
)
def test_results_as_text(
    host: FakeHost, capsys: pytest.CaptureFixture[str], argv: list[str], words: list[str]
) -> None:
    assert cli.main(argv) == 0
    out = capsys.readouterr()
    for word in words:
        assert word in out.out
    assert out.err == ""


@pytest.mark.parametrize(
    "argv", [["list"], ["facts"], ["umount", "/m"], ["test", "/m"], ["mount", "a:/b", "/m"]]
)
def test_json_is_one_object(host: FakeHost, capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    assert cli.main([*argv, "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


@pytest.mark.parametrize(
    ("argv", "removes"),
    [
        (["test", "/mnt/lab"], True),
        (["experiment", "run", "versions", "--quick"], True),
        (["--lab", "gigabit", "test"], False),  # a new guest has no files of earlier tests
        (["list"], False),
    ],
)
def test_leftover_test_files_are_removed_before_measuring(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, argv: list[str], removes: bool
) -> None:
    began: list[bool] = []
    monkeypatch.setattr(leftover_files, "watch_mounts", lambda: began.append(True))
    monkeypatch.setattr(cli, "run_experiments", lambda *_args: "")
    cli.main(argv)
    assert began == [True] * removes


def test_the_json_of_a_test_has_the_documented_fields(
    host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["test", "/mnt/lab", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    for direction in ("write", "read"):
        names = {"bytes", "bytes_per_s", "transfer_s", "fsync_s", "close_s", "timeouts", "retransmissions"}
        assert names | {"samples"} <= set(result[direction])
    assert {"cache", "requested", "effective", "link"} <= set(result)


def test_a_lab_test_uses_the_lab_share_with_the_options(host: FakeHost) -> None:
    assert cli.main(["--lab", "wan", "test", "-o", "vers=3", "--size", "1M", "--json"]) == 0
    assert [verb for verb, _ in host.asked] == ["hello", "test.run"]
    spec = host.asked[1][1]
    assert isinstance(spec, TestSpec)
    assert (spec.path, spec.share, spec.options, spec.size) == ("", "10.9.0.1:/", "vers=3", 2**20)


def test_a_failed_test_is_printed_on_standard_error(
    host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    host.errors["test.run"] = AppError(ErrorKind.NO_SPACE, "Full.", hint="Free some.", detail="ENOSPC")
    assert cli.main(["--lab", "wan", "test"]) == 1
    # The mount disappears with the guest.
    assert host.asked[-1][0] == "test.run"
    assert capsys.readouterr().err == "mountwright: Full.\n  Free some.\n  | ENOSPC\n"


def test_ctrl_c_cancels_waits_and_exits_with_130(
    host: FakeHost, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled: list[int] = []
    calls: list[int] = []

    def result(call: Call, timeout: float | None = None) -> Any:
        calls.append(call.id)
        if timeout is None:
            raise KeyboardInterrupt
        raise AppError(ErrorKind.CANCELLED, "Cancelled.")

    monkeypatch.setattr(Call, "result", result)
    monkeypatch.setattr(Call, "cancel", lambda call: cancelled.append(call.id))
    assert cli.main(["test", "/mnt/lab"]) == 130
    assert cancelled == [1]
    assert calls == [1, 1]
    assert "Cancelled" in capsys.readouterr().err


def test_a_slow_cancellation_prints_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(cli, "_print_message", said.append)
    monkeypatch.setattr(cli, "_REPEAT_MESSAGE_S", 0.05)
    call = Call(1, "test.run", None)
    with pytest.raises(TimeoutError):
        cli._wait_for_cleanup(call, 0.2)
    assert len(said) >= 3
    said.clear()
    call.fail(AppError(ErrorKind.CANCELLED, "Cancelled."))
    with pytest.raises(AppError):
        cli._wait_for_cleanup(call, 0.2)
    assert said == []
