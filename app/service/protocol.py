"""The agent's protocol: one JSON object a line, typed on both sides.

A request is ``{"id", "verb", "args"}``. The answer is any number of events ``{"id", "event"}`` and then
exactly one ``{"id", "ok"}`` or ``{"id", "error": {"kind", "message", "hint", "detail"}}``. A line that is
not such a request is answered with an error (``id`` null if it has none) and never ends the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from advisor.facts import Facts, LinkFacts
from advisor.lint import Finding  # noqa: TC001 - msgspec reads it at run time
from app.discovery.model import (
    ExportsArgs,
    ExportsResult,
    ProbeArgs,
    ProbeResult,
    ScanArgs,
    ServersArgs,
    ServersEvent,
    ServersResult,
    Subnets,
)
from app.errors import AppError, ErrorKind
from app.experiment.model import (
    BestSettings,
    ExperimentArgs,
    ExperimentEvent,
    ExperimentPlan,
    ExperimentResult,
    ExperimentRunArgs,
    SearchArgs,
)
from app.facts.tunables import TunablesArgs, TunablesResult
from app.helper_client.client import MOUNT_TIMEOUT_S
from app.mounts.change_model import (
    ApplyArgs,
    ApplyEvent,
    ApplyPlan,
    ApplyReport,
    DismissArgs,
    KeepArgs,
    PersistArgs,
    ReadaheadArgs,
    RemoveArgs,
)
from app.mounts.file_import import ImportArgs, ImportPlan, ImportPlanArgs, ImportProgress, ImportReport
from app.mounts.foreign_entries import ForeignArgs, ForeignEntry
from app.mounts.model import Approval, MountReport, MountTable, ReadaheadReport, SavedEntryReport
from app.mounts.mount_users import WaitingArgs, WaitingProcesses
from app.mounts.space import Space, SpaceArgs
from app.mounts.system_log import LogArgs, MountLog
from app.service.advice import AdviceArgs, AdviceResult
from app.speedtest.model import TestEvent, TestPlan, TestPlanArgs, TestResult, TestSpec
from app.stats.model import SpeedsArgs, SpeedsSample, StatsSample, WatchArgs

PROTOCOL = 1
#: A longer line is refused; results with 20 samples a second for an hour stay well below.
MAX_LINE = 64 * 2**20
#: So much output of a command in the lab may be under way to whoever prints it.
SHELL_WINDOW_BYTES = 256 * 1024


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request; ``args`` is decoded by the verb's own type."""

    id: int
    verb: str
    args: msgspec.Raw = msgspec.Raw(b"{}")


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """An AppError on the wire."""

    kind: str
    message: str
    hint: str = ""
    detail: str = ""
    remains: list[str] = []


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line from the agent: exactly one of event, ok and error is set."""

    id: int | None
    event: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ok: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: ErrorBody | msgspec.UnsetType = msgspec.UNSET


class Empty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No arguments, or nothing to say."""


class HelloResult(msgspec.Struct, frozen=True, kw_only=True):
    """Who answers.

    Attributes:
        protocol: version of this protocol.
        version: of the program.
        host: its name.
        kernel: release.
        uid: the agent's.
        lab: whether this is the lab's guest.
        share: the lab's export (server:/path), "" elsewhere.
        link: the lab's link, None elsewhere.
    """

    protocol: int
    version: str
    host: str
    kernel: str
    uid: int
    lab: bool = False
    share: str = ""
    link: LinkFacts | None = None


class ListArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.list``: with ``watch``, each change is an event (a whole MountTable) until cancelled."""

    watch: bool = False


class MountArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.mount``.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: an option string as after ``mount -o``; "" for the defaults.
        create: make the directory if it is missing; one made so is removed when mounting fails.
        timeout_s: deadline for mount.nfs.
        approved: the person has agreed to ask an administrator, where ``mounts.approval`` says that one has
            to approve it by itself.
    """

    share: str
    mount_point: str
    options: str = ""
    create: bool = True
    timeout_s: float = MOUNT_TIMEOUT_S
    approved: bool = False


class UnmountArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.unmount``: ``force`` aborts what waits for a dead server, ``lazy`` detaches at once.

    ``approved`` is as in :class:`MountArgs`.
    """

    mount_point: str
    force: bool = False
    lazy: bool = False
    approved: bool = False


class ApprovalArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.approval``: what has to be approved to mount a share, or to unmount what is there.

    Attributes:
        mount_point: absolute path.
        share: server:/export; "" to unmount.
        options: of the mount.
    """

    mount_point: str
    share: str = ""
    options: str = ""


class ApprovalResult(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask the person.

    Attributes:
        approval: what an administrator has to approve by itself, None if nothing.
        instead: a mount point to take instead, with a link to it, where no approval helps; "" elsewhere.
        text: the same for a person, one sentence an item.
    """

    approval: Approval | None = None
    instead: str = ""
    text: list[str] = []


class CheckArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.check``: what this computer lacks for a mount; nothing is mounted. Options as in fstab."""

    share: str
    mount_point: str
    options: str = ""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """``findings``: of the rules that count before a mount, errors first."""

    findings: list[Finding] = []


class LinkHomeArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.link``: make a link at ``path``, in a home directory, to the mount point ``target``."""

    path: str
    target: str


class UnmountResult(msgspec.Struct, frozen=True, kw_only=True):
    """``removed_directory``: whether the mount point that we had made was removed again."""

    removed_directory: bool = False


class FactsArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``facts.get``: for a share, a mount point, or (both empty) the client alone."""

    share: str = ""
    mount_point: str = ""


class CancelArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``cancel``: ends the request of this id, which answers with an error of kind "cancelled"."""

    id: int


class CancelResult(msgspec.Struct, frozen=True, kw_only=True):
    """``found``: whether a request of that id was running."""

    found: bool


class LinkArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.link``: a profile's name or a link spelled out, ``rate=37mbit,delay=7ms,loss=0.2%``."""

    link: str


class FaultArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.fault``.

    Attributes:
        fault: link-down, link-up, server-stop, server-start, export-ro, export-rw, export-squash,
            export-secure (version 4's root, for privileged ports only), export-none (withdrawn),
            export-replaced (as another directory: what is mounted is stale),
            fill (leave ``bytes`` free on the export), unfill, disk-slow (an empty disk that takes its
            time to write; to be mounted afresh), disk-quick.
        bytes: for fill.
    """

    fault: str
    bytes: int = 0


class EchoArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.echo``: a text that comes back as the answer, to try the line to the guest."""

    text: str


class HelperArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.helper``: a verb of the guest's helper as it is, where root is nobody's."""

    action: str
    verb: str
    args: dict[str, Any]
    timeout_s: float = 60.0


class ShellArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell``: run a command, or a shell, as root in the guest.

    Its output comes in events. Not more than SHELL_WINDOW_BYTES of it are under way: the caller tells with
    ``lab.shell-control`` what it has taken. Cancelling kills the command.

    Attributes:
        command: one word is a line for the shell, several are a program and its arguments, none is a shell.
        terminal: give it a terminal, on which both kinds of output are one.
        rows: of that terminal.
        columns: of that terminal.
        term: the terminal's kind, as in $TERM.
        directory: working directory, where the guest has it.
    """

    command: list[str] = []
    terminal: bool = False
    rows: int = 24
    columns: int = 80
    term: str = "dumb"
    directory: str = "/"


class ShellEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that the command has printed, to its standard output or to standard error.

    The first event has none: from then on the command takes input and signals.
    """

    data: bytes
    error: bool = False


class ShellResult(msgspec.Struct, frozen=True, kw_only=True):
    """``code``: exit status, 128 and the signal's number if a signal has ended the command."""

    code: int


class ShellInputArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell-input``: bytes for a command to read; answered when it, or the kernel, has taken them.

    Attributes:
        id: of the request ``lab.shell``.
        data: see above.
        end: no more will come.
    """

    id: int
    data: bytes = b""
    end: bool = False


class ShellInputResult(msgspec.Struct, frozen=True, kw_only=True):
    """``closed``: whether nobody reads that input any more."""

    closed: bool = False


class ShellControlArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell-control``: what else is told to a command; one that has ended takes no notice.

    Attributes:
        id: of the request ``lab.shell``.
        taken: so many more bytes of its output have been taken.
        signal: number of a signal for it and what it has started, 0 for none.
        rows: of its terminal now, 0 for no change.
        columns: of its terminal now.
    """

    id: int
    taken: int = 0
    signal: int = 0
    rows: int = 0
    columns: int = 0


@dataclass(frozen=True, slots=True)
class Verb:
    """What a verb takes, answers, and says on the way."""

    args: type[Any]
    result: type[Any]
    event: type[Any] | None = None


VERBS: dict[str, Verb] = {
    "hello": Verb(Empty, HelloResult),
    "mounts.list": Verb(ListArgs, MountTable, MountTable),
    "mounts.mount": Verb(MountArgs, MountReport),
    "mounts.unmount": Verb(UnmountArgs, UnmountResult),
    "mounts.check": Verb(CheckArgs, CheckResult),
    "mounts.approval": Verb(ApprovalArgs, ApprovalResult),
    "mounts.link": Verb(LinkHomeArgs, Empty),
    "mounts.persist": Verb(PersistArgs, SavedEntryReport),
    "mounts.forget": Verb(RemoveArgs, SavedEntryReport),
    "mounts.readahead": Verb(ReadaheadArgs, ReadaheadReport),
    "mounts.foreign": Verb(ForeignArgs, ForeignEntry),
    "mounts.plan": Verb(ApplyArgs, ApplyPlan),
    "mounts.apply": Verb(ApplyArgs, ApplyReport, ApplyEvent),
    "mounts.keep": Verb(KeepArgs, Empty),
    "mounts.dismiss": Verb(DismissArgs, Empty),
    "mounts.space": Verb(SpaceArgs, Space),
    "mounts.log": Verb(LogArgs, MountLog),
    "mounts.waiting": Verb(WaitingArgs, WaitingProcesses),
    "discover.servers": Verb(ServersArgs, ServersResult, ServersEvent),
    "discover.subnets": Verb(Empty, Subnets),
    "discover.scan": Verb(ScanArgs, ServersResult, ServersEvent),
    "mounts.import-plan": Verb(ImportPlanArgs, ImportPlan),
    "mounts.import": Verb(ImportArgs, ImportReport, ImportProgress),
    "discover.forget": Verb(Empty, Empty),  # the servers used recently
    "discover.exports": Verb(ExportsArgs, ExportsResult),
    "discover.probe": Verb(ProbeArgs, ProbeResult),
    "facts.get": Verb(FactsArgs, Facts),
    "advice.get": Verb(AdviceArgs, AdviceResult),
    "tunables.get": Verb(TunablesArgs, TunablesResult),
    "stats.watch": Verb(WatchArgs, Empty, StatsSample),
    "stats.speeds": Verb(SpeedsArgs, Empty, SpeedsSample),
    "test.plan": Verb(TestPlanArgs, TestPlan),
    "test.run": Verb(TestSpec, TestResult, TestEvent),
    "experiment.plan": Verb(ExperimentArgs, ExperimentPlan, ExperimentEvent),
    "experiment.run": Verb(ExperimentRunArgs, ExperimentResult, ExperimentEvent),
    "experiment.best": Verb(SearchArgs, BestSettings, ExperimentEvent),
    # Goes on with a search of the history: its plan and all its outcomes.
    "experiment.search": Verb(ExperimentRunArgs, BestSettings, ExperimentEvent),
    "cancel": Verb(CancelArgs, CancelResult),
    # Only the lab's guest answers these.
    "lab.link": Verb(LinkArgs, LinkFacts),
    "lab.fault": Verb(FaultArgs, Empty),
    "lab.ping": Verb(Empty, LinkFacts),  # the link with its round trip as measured now
    "lab.echo": Verb(EchoArgs, EchoArgs),
    "lab.helper": Verb(HelperArgs, dict[str, Any]),
    "lab.shell": Verb(ShellArgs, ShellResult, ShellEvent),
    "lab.shell-input": Verb(ShellInputArgs, ShellInputResult),
    "lab.shell-control": Verb(ShellControlArgs, Empty),
    "lab.power-off": Verb(Empty, Empty),
}


def to_body(error: AppError) -> ErrorBody:
    """Return the error as it travels."""
    error = error.printable()
    return ErrorBody(
        kind=error.kind,
        message=error.message,
        hint=error.hint,
        detail=error.detail,
        remains=[*error.remains],
    )


def from_body(body: ErrorBody) -> AppError:
    """Return the error that travelled; an unknown kind becomes INTERNAL, its name kept in the detail."""
    try:
        kind = ErrorKind(body.kind)
    except ValueError:
        return AppError(
            ErrorKind.INTERNAL, body.message, hint=body.hint, detail=f"{body.kind}: {body.detail}"
        )
    error = AppError(kind, body.message, hint=body.hint, detail=body.detail)
    error.remains = tuple(body.remains)
    return error
