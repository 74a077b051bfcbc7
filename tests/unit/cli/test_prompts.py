"""Changes that an administrator must approve, with and without a terminal."""

import io
from typing import Any

import pytest

from app.cli.apply import apply_text, run_apply
from app.cli.parser import parse_args
from app.cli.persist import report_text, run_persist
from app.cli.prompts import mount_or_unmount
from app.errors import AppError, ErrorKind
from app.mounts.approval import not_approved_error
from app.mounts.change_model import ApplyPlan, ApplyReport, ApplyStep
from app.mounts.model import Approval, MountTable, SavedEntryReport
from app.service.client import Call
from app.service.protocol import (
    ApprovalArgs,
    ApprovalResult,
    CheckResult,
    Empty,
    LinkHomeArgs,
    MountArgs,
    UnmountArgs,
    UnmountResult,
)

NEEDED = Approval(reasons=["“/data” is outside."], mounts=True, keeps=True, hides=["a"], hidden=1)
STEP = ApplyStep(kind="mount", text="Mount it.", command="mount")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Any:
    def give(text: str) -> Terminal:
        shown = Terminal()
        monkeypatch.setattr("sys.stdin", Terminal(text))
        monkeypatch.setattr("sys.stderr", shown)
        return shown

    return give


class Agent:
    """Agent that mounts and unmounts only with approval."""

    def __init__(self, found: ApprovalResult, error: AppError | None = None) -> None:
        self.asked: list[Any] = []
        self.found = found
        self.error = error or not_approved_error(NEEDED)

    def __call__(self, verb: str, query: Any) -> Any:
        self.asked.append(query)
        if isinstance(query, ApprovalArgs):
            return self.found
        if isinstance(query, LinkHomeArgs):
            return Empty()
        if query.approved or query.mount_point == self.found.instead:
            return UnmountResult()
        raise self.error


MOUNT = MountArgs(share="nas:/x", mount_point="/data")


def test_a_mount_is_made_after_consent(answers: Any) -> None:
    shown = answers("y\n")
    agent = Agent(ApprovalResult(approval=NEEDED, text=["It hides a."]))
    mount_or_unmount(agent, "mounts.mount", MOUNT, yes=False)
    assert "It hides a.\nAsk an administrator? [y/N] " in shown.getvalue()
    assert agent.asked[1] == ApprovalArgs(share="nas:/x", mount_point="/data")
    assert agent.asked[2].approved


def test_with_yes_nothing_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    agent = Agent(ApprovalResult(approval=NEEDED, text=["It hides a."]))
    mount_or_unmount(agent, "mounts.unmount", UnmountArgs(mount_point="/data"), yes=True)
    assert agent.asked[1] == ApprovalArgs(share="", mount_point="/data")
    assert agent.asked[2].approved
    assert capsys.readouterr().err == "It hides a.\n"


def test_a_no_changes_nothing(answers: Any) -> None:
    answers("n\n")
    agent = Agent(ApprovalResult(approval=NEEDED, text=["It hides a."]))
    with pytest.raises(AppError) as caught:
        mount_or_unmount(agent, "mounts.mount", MOUNT, yes=False)
    assert caught.value.kind is ErrorKind.CANCELLED
    assert not any(getattr(query, "approved", False) for query in agent.asked)


def test_without_a_terminal_the_error_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    agent = Agent(ApprovalResult(approval=NEEDED))
    with pytest.raises(AppError) as caught:
        mount_or_unmount(agent, "mounts.mount", MOUNT, yes=False)
    assert caught.value.exit_code == 77
    assert "--yes" in caught.value.hint
    assert len(agent.asked) == 1


def test_other_errors_are_unchanged() -> None:
    agent = Agent(ApprovalResult(), AppError(ErrorKind.SERVER_SILENT, "Silent."))
    with pytest.raises(AppError) as caught:
        mount_or_unmount(agent, "mounts.mount", MOUNT, yes=True)
    assert caught.value.kind is ErrorKind.SERVER_SILENT
    assert len(agent.asked) == 1


def test_a_mount_in_a_home_directory_is_made_elsewhere_with_a_link(answers: Any) -> None:
    shown = answers("y\n")
    agent = Agent(ApprovalResult(instead="/mnt/nas", text=["It can be mounted at /mnt/nas."]))
    query = MountArgs(share="nas:/x", mount_point="/home/ann/nas")
    mount_or_unmount(agent, "mounts.mount", query, yes=False)
    assert "It can be mounted at /mnt/nas.\nMount it there and make the link?" in shown.getvalue()
    assert agent.asked[2] == MountArgs(share="nas:/x", mount_point="/mnt/nas")
    assert agent.asked[3] == LinkHomeArgs(path="/home/ann/nas", target="/mnt/nas")


@pytest.mark.parametrize(
    "kind", ["HELPER_MISSING", "HELPER_UNTRUSTED", "PKEXEC_MISSING", "POLKIT_AGENT_MISSING", "NOT_AUTHORIZED",
             "MOUNT_POINT_RESTRICTED", "MOUNT_NOT_YOURS"],
)  # fmt: skip
def test_without_authorization_the_exit_code_is_77(kind: str) -> None:
    assert AppError(ErrorKind[kind], "No.").exit_code == 77


# persist


def persist(*argv: str, asks_nofail: bool = False) -> tuple[SavedEntryReport, list[Any]]:
    asked: list[Any] = []

    def ask(_verb: str, query: Any) -> SavedEntryReport:
        asked.append(query)
        return SavedEntryReport(
            diff="+nas:/x\n", line="nas:/x", sha256="abc", written=not query.preview,
            approval=NEEDED, asks_nofail=asks_nofail and query.options is None,
        )  # fmt: skip

    return run_persist(ask, parse_args(argv)), asked


def test_the_change_is_shown_with_the_parts_to_approve(answers: Any) -> None:
    shown = answers("y\n")
    _report, asked = persist("persist", "-o", "ro", "nas:/x", "/data")
    assert "+nas:/x\nAn administrator has to approve this by itself." in shown.getvalue()
    assert asked[-1].approved
    assert not asked[0].approved


def test_yes_includes_the_approval(capsys: pytest.CaptureFixture[str]) -> None:
    _report, asked = persist("persist", "--yes", "-o", "ro", "nas:/x", "/data")
    assert asked[-1].approved
    assert "An administrator" in capsys.readouterr().err


def test_a_dry_run_shows_the_approval() -> None:
    report, asked = persist("persist", "--dry-run", "-o", "ro", "nas:/x", "/data")
    assert "An administrator" in report_text(report)
    assert len(asked) == 1


def test_nofail_is_a_question(answers: Any) -> None:
    for answer, options in (("y\ny\n", "_netdev,nofail"), ("n\ny\n", None)):
        shown = answers(answer)
        _report, asked = persist("persist", "nas:/x", "/data", asks_nofail=True)
        assert "(nofail)? [y/N]" in shown.getvalue()
        assert asked[-1].options == options


def test_without_an_answer_there_is_no_nofail(capsys: pytest.CaptureFixture[str]) -> None:
    _report, asked = persist("persist", "--yes", "nas:/x", "/data", asks_nofail=True)
    assert asked[-1].options is None
    assert "no nofail" in capsys.readouterr().err


# apply


class Host:
    """Host that applies only approved changes."""

    def __init__(self, *, restricted: bool = False) -> None:
        self.asked: list[Any] = []
        self.plan = ApplyPlan(share="nas:/x", mount_point="/data", changes=[], steps=[STEP], diff="+nas:/x\n",
                         approval=NEEDED, asks_nofail=restricted)  # fmt: skip

    def submit(self, verb: str, args: Any = None, on_event: Any = None) -> Call:
        self.asked.append((verb, args))
        call = Call(5, verb, on_event)
        if verb == "mounts.list":
            call.future.set_result(MountTable(mounts=[]))
        elif verb == "mounts.check":
            call.future.set_result(CheckResult())
        elif verb == "mounts.plan":
            call.future.set_result(self.plan)
        elif args.approved:
            call.future.set_result(ApplyReport(plan=self.plan))
        else:
            call.future.set_exception(not_approved_error(NEEDED))
        return call

    def close(self) -> None:
        pass


def test_a_change_is_applied_after_consent(answers: Any) -> None:
    shown = answers("y\n")
    host = Host()
    run_apply(host, parse_args(["apply", "-o", "ro", "nas:/x", "/data"]))
    assert "Ask an administrator? [y/N]" in shown.getvalue()
    assert [verb for verb, _args in host.asked] == ["mounts.plan", "mounts.apply", "mounts.apply"]
    assert host.asked[-1][1].approved


def test_a_preview_shows_the_approval() -> None:
    args = parse_args(["apply", "--preview", "-o", "ro", "nas:/x", "/data"])
    assert "An administrator has to approve this by itself." in apply_text(run_apply(Host(), args))


def test_a_saved_change_asks_about_nofail(answers: Any) -> None:
    for answer, options in (("n\ny\n", ""), ("y\ny\n", "_netdev,nofail")):
        shown = answers(answer)
        host = Host(restricted=True)
        run_apply(host, parse_args(["apply", "--keep-in", "fstab", "nas:/x", "/data"]))
        assert "(nofail)? [y/N]" in shown.getvalue()
        assert host.asked[-1][1].options == options
