"""Command "apply": its requests, preview and output."""

import io
from typing import Any

import msgspec
import pytest

from advisor.facts import ClientFacts, Facts, PrerequisiteFacts
from advisor.finding import Finding
from advisor.lint import LintContext, prerequisite_findings
from advisor.options import MountOptions
from app.cli import apply as module
from app.cli.apply import apply_text, run_apply
from app.cli.parser import parse_args
from app.errors import AppError, ErrorKind
from app.mounts.change_model import (
    ApplyArgs,
    ApplyEvent,
    ApplyPlan,
    ApplyReport,
    ApplyStep,
    Holder,
    Interruption,
    PlannedOptionChange,
)
from app.mounts.model import Active, Configured, Mount, MountReport, MountTable
from app.mounts.requested_options import with_requested_options
from app.service.client import Call

HOLDER = Holder(pid=7, command="sh", user="me", use="open file")
PLAN = ApplyPlan(
    share="nas:/a",
    mount_point="/mnt/a",
    changes=[PlannedOptionChange(name="nconnect", before=None, after="4", takes="mount")],
    steps=[ApplyStep(kind="unmount", text="Unmount /mnt/a.", command="umount /mnt/a")],
    diff="+nas:/a\n",
    interruption=Interruption(effect="interrupts", mount_point="/mnt/home", typical_s=1.0, most_s=35.0),
    sharing=["/mnt/b"],
    holders=[HOLDER],
    warnings=["W."],
)
LIVE = with_requested_options(
    Mount(
        mount_point="/mnt/a",
        share="nas:/a",
        state="mounted",
        configured=Configured(origin="/etc/fstab", line=1, share="nas:/a", fstype="nfs", options="vers=4.1"),
        active=Active(
            mount_id=1, device="0:1", share="nas:/a", fstype="nfs4", options="rw,relatime,vers=4.1"
        ),
    )
)
REPORT = ApplyReport(plan=PLAN, report=MountReport(mount=LIVE, values=[], command=""), backup="/b")


class Host:
    """Host that returns a plan, or a change with the question whether to keep it."""

    def __init__(self, events: list[ApplyEvent]) -> None:
        self.events = events
        self.asked: list[tuple[str, Any]] = []
        self.lacking: list[Finding] = []
        self.running = Call(5, "mounts.apply", None)

    def submit(self, verb: str, args: Any = None, on_event: Any = None) -> Call:
        self.asked.append((verb, args))
        call = Call(5, verb, on_event)
        call.bind(lambda: call.future.set_exception(AppError(ErrorKind.CANCELLED, "Cancelled.")))
        if verb == "mounts.plan":
            call.future.set_result(msgspec.structs.replace(PLAN, findings=self.lacking))
        elif verb == "mounts.list":
            call.future.set_result(MountTable(mounts=[LIVE]))
        elif verb == "mounts.keep":
            self.running.future.set_result(REPORT)
            call.future.set_result(None)
        else:
            self.running = call
            for event in self.events:
                on_event(event)
            if not any(event.keep_s for event in self.events):
                call.future.set_result(REPORT)
        return call

    def close(self) -> None:
        pass


def run(*argv: str, events: list[ApplyEvent] | None = None) -> tuple[Any, Host]:
    host = Host(events or [])
    return run_apply(host, parse_args(["apply", *argv])), host


def test_a_preview_shows_everything_and_does_nothing() -> None:
    plan, host = run("--preview", "nas:/a", "/mnt/a", "--read-ahead", "512")
    args = ApplyArgs(share="nas:/a", mount_point="/mnt/a", options="vers=4.1", read_ahead_kb=512)
    assert host.asked[-1] == ("mounts.plan", args)
    text = apply_text(plan)
    for part in ("nconnect  —       4      unmount and mount", "     umount /mnt/a", "+nas:/a", "/mnt/b.",
                 "sh (process 7, me): open file", "Interrupts /mnt/home for about 1 s.", "W."):  # fmt: skip
        assert part in text


def lacking(options: str, **known: Any) -> list[Finding]:
    facts = Facts(client=ClientFacts(kernel="6.1.0"), prerequisites=PrerequisiteFacts(**known))
    return prerequisite_findings(MountOptions.parse(options), context=LintContext(), facts=facts)


def test_missing_prerequisites_are_printed_before_the_change(capsys: pytest.CaptureFixture[str]) -> None:
    host = Host([])
    host.lacking = lacking("sec=krb5,rdma", keytab=False, rdma_device=False)
    run_apply(host, parse_args(["apply", "-o", "sec=krb5", "nas:/b", "/mnt/b"]))
    assert [verb for verb, _ in host.asked] == ["mounts.plan", "mounts.apply"]
    printed = capsys.readouterr().err
    assert printed.startswith("warning: This computer has no keytab")
    assert "  Command: realm join DOMAIN" in printed
    assert "RDMA" not in printed  # applying the change fails with that error


def test_a_preview_lists_missing_prerequisites() -> None:
    plan = msgspec.structs.replace(PLAN, findings=lacking("rdma", rdma_device=False))
    text = apply_text(plan)
    assert "error: This computer has no RDMA device." in text
    assert "Command: rdma link show" in text


def test_the_preview_shows_whether_the_readahead_is_saved() -> None:
    plan, host = run("--preview", "nas:/a", "/mnt/a", "--read-ahead", "512", "--save-readahead")
    assert host.asked[-1][1].save_read_ahead
    saved = msgspec.structs.replace(plan, rule_diff="+the rule\n")
    assert "+the rule" in apply_text(saved)
    assert "until unmounted" not in apply_text(saved)
    volatile = msgspec.structs.replace(plan, volatile_kb=512)
    for result in (volatile, msgspec.structs.replace(volatile, steps=[]), ApplyReport(plan=volatile)):
        assert "The readahead of 512 KiB is lost at unmount" in apply_text(result)
        assert "--save-readahead" in apply_text(result)


def test_a_new_saved_mount_does_not_delay_the_boot() -> None:
    _report, host = run("nas:/b", "/mnt/b", "--keep-in", "fstab")
    # The agent adds the default options of a new entry.
    assert (host.asked[-1][1].options, host.asked[-1][1].exact) == ("", False)
    assert host.asked[-1][1].keeper == "fstab"
    assert run("nas:/b", "/mnt/b", "--keep-in", "fstab", "--exact")[1].asked[-1][1].exact
    assert run("nas:/b", "/mnt/b")[1].asked[-1][1].options == ""
    assert run("nas:/b", "/mnt/b", "-o", "ro")[1].asked[-1][1].options == "ro"


def test_the_steps_are_printed_as_they_happen(capsys: pytest.CaptureFixture[str]) -> None:
    events = [
        ApplyEvent(step=0, kind="unmount", state="begun", text="Begun."),
        ApplyEvent(step=0, kind="unmount", state="begun", text="Waiting.", holders=[HOLDER]),
        ApplyEvent(step=0, kind="unmount", state="done", text="Unmounted."),
    ]
    report, _host = run("-o", "ro", "nas:/a", "/mnt/a", events=events)
    printed = capsys.readouterr().err
    assert printed == (
        "unmount: Waiting. (begun)\n  sh (process 7, me): open file\nunmount: Unmounted. (done)\n"
    )
    assert apply_text(report).splitlines()[0] == "Mounted nas:/a at /mnt/a."
    assert "Backup of the old file: /b" in apply_text(report)
    run("--json", "-o", "ro", "nas:/a", "/mnt/a", events=events)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("answer", "keep"), [("y\n", True), ("n\n", False), ("", False)])
def test_the_user_is_asked_to_keep_the_change(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, *, keep: bool
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    monkeypatch.setattr("select.select", lambda *_args: ([1], [], []))
    monkeypatch.setattr(module, "_POLL_S", 0.01)
    events = [ApplyEvent(step=1, kind="keep", state="begun", keep_s=seconds) for seconds in (9.6, 8.6)]
    if keep:
        _report, host = run("--confirm", "10", "-o", "ro", "nas:/a", "/mnt/a", events=events)
        assert [verb for verb, _args in host.asked] == ["mounts.plan", "mounts.apply", "mounts.keep"]
    else:
        with pytest.raises(AppError) as caught:
            run("--confirm", "10", "-o", "ro", "nas:/a", "/mnt/a", events=events)
        assert caught.value.kind is ErrorKind.CANCELLED
    assert capsys.readouterr().err == "Keep it? [y/N, 10 s] "


def test_nothing_to_do() -> None:
    nothing = ApplyPlan(share="nas:/a", mount_point="/mnt/a", changes=[], steps=[], warnings=["W."])
    assert apply_text(nothing) == "Nothing to do.\nW."
    assert apply_text(ApplyReport(plan=nothing)).startswith("Nothing to apply.")
