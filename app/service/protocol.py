"""Agent protocol: the verbs and message types, one JSON object per line.

A request is ``{"id", "verb", "args"}``. The answer is any number of events ``{"id", "event"}`` and then
exactly one ``{"id", "ok"}`` or ``{"id", "error": {"kind", "message", "hint", "detail"}}``. A malformed
request is answered with an error (``id`` null if it has none) and never ends the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from advisor.facts import Facts, LinkFacts
from advisor.finding import Finding  # noqa: TC001 - msgspec reads it at run time
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
from app.errors import ErrorData  # noqa: TC001 - msgspec reads it at run time
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
from app.helper_client import MOUNT_TIMEOUT_S
from app.mounts.change_model import (
    ApplyArgs,
    ApplyEvent,
    ApplyPlan,
    ApplyReport,
    DismissArgs,
    ForeignArgs,
    ForeignEntry,
    ImportArgs,
    ImportPlan,
    ImportPlanArgs,
    ImportProgress,
    ImportReport,
    KeepArgs,
    PersistArgs,
    ReadaheadArgs,
    RemoveArgs,
    RestoreArgs,
)
from app.mounts.model import (
    Approval,
    LogArgs,
    Mount,
    MountLog,
    MountReport,
    MountTable,
    ReadaheadReport,
    SavedEntryReport,
    Space,
    SpaceArgs,
    WaitingArgs,
    WaitingProcesses,
)
from app.service.model import (
    AdviceArgs,
    AdviceResult,
    BeforeAfterArgs,
    BeforeAfterEvent,
    BeforeAfterPlan,
    BeforeAfterReport,
)
from app.speedtest.model import TestEvent, TestPlan, TestPlanArgs, TestResult, TestSpec
from app.stats.model import SpeedsArgs, SpeedsSample, StatsSample, WatchArgs

#: Version of the protocol.
PROTOCOL = 1
#: Longest line accepted, bytes; results with 20 samples a second for an hour stay well below.
MAX_LINE = 64 * 2**20
#: Most output of a lab command that may be sent without an acknowledgement, bytes.
SHELL_WINDOW_BYTES = 256 * 1024


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to the agent.

    Attributes:
        id: number chosen by the client, unique among its running requests.
        verb: name of the verb.
        args: encoded arguments, decoded later as the argument type of the verb.
    """

    id: int
    verb: str
    args: msgspec.Raw = msgspec.Raw(b"{}")


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line from the agent; exactly one of ``event``, ``ok`` and ``error`` is set.

    Attributes:
        id: id of the request, None if the request had no readable id.
        event: encoded event of a running request.
        ok: encoded result of a finished request.
        error: error of a failed request.
    """

    id: int | None
    event: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    ok: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: ErrorData | msgspec.UnsetType = msgspec.UNSET


class Empty(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments or result without fields."""


class HelloResult(msgspec.Struct, frozen=True, kw_only=True):
    """``hello``: the agent's host and versions.

    Attributes:
        protocol: version of this protocol.
        version: version of Mountwright.
        host: host name.
        kernel: kernel release.
        uid: user ID that the agent runs as.
        lab: whether the host is the lab's guest.
        share: export of the lab's server (server:/path), "" on other hosts.
        link: the lab's emulated link, None on other hosts.
        helper_command: shell command that installs the privileged helper, "" if it needs none.
    """

    protocol: int
    version: str
    host: str
    kernel: str
    uid: int
    lab: bool = False
    share: str = ""
    link: LinkFacts | None = None
    helper_command: str = ""


class ListArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.list``: return the mount table; ``watch`` also sends it at each change until cancelled."""

    watch: bool = False


class MountArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.mount``: mount a share.

    Attributes:
        share: server:/export.
        mount_point: absolute path.
        options: option string as after ``mount -o``; "" for the defaults.
        create: whether to create a missing mount point; a created one is removed when mounting fails.
        timeout_s: deadline for mount.nfs, s.
        approved: whether the user agreed to ask an administrator, where ``mounts.approval`` requires it.
    """

    share: str
    mount_point: str
    options: str = ""
    create: bool = True
    timeout_s: float = MOUNT_TIMEOUT_S
    approved: bool = False


class UnmountArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.unmount``: unmount a mount point.

    Attributes:
        mount_point: absolute path.
        force: abort requests that wait for the server (umount -f).
        lazy: detach immediately and clean up later (umount -l).
        approved: whether the user agreed to ask an administrator, where ``mounts.approval`` requires it.
    """

    mount_point: str
    force: bool = False
    lazy: bool = False
    approved: bool = False


class ApprovalArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.approval``: query the approval that a mount or an unmount requires.

    Attributes:
        mount_point: absolute path.
        share: server:/export to mount; "" to unmount.
        options: option string of the mount.
    """

    mount_point: str
    share: str = ""
    options: str = ""


class ApprovalResult(msgspec.Struct, frozen=True, kw_only=True):
    """Approval required for a mount or an unmount.

    Attributes:
        approval: operation that needs an administrator's separate approval, None if none does.
        instead: alternative mount point, reached by a link, where no approval helps; "" otherwise.
        text: explanation shown to the user, one sentence per item.
    """

    approval: Approval | None = None
    instead: str = ""
    text: list[str] = []


class CheckArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.check``: find missing prerequisites of a mount, without mounting. Options as in fstab."""

    share: str
    mount_point: str
    options: str = ""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """Missing prerequisites of a mount, errors first."""

    findings: list[Finding] = []


class LinkHomeArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``mounts.link``: create a symbolic link ``path``, in a home directory, to mount point ``target``."""

    path: str
    target: str


class UnmountResult(msgspec.Struct, frozen=True, kw_only=True):
    """``removed_directory``: whether the mount point, created by Mountwright, was removed again."""

    removed_directory: bool = False


class FactsArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``facts.get``: gather facts about a share, a mount point, or (both empty) the client alone."""

    share: str = ""
    mount_point: str = ""


class CancelArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``cancel``: cancel the request with this id; it then ends with an error of kind "cancelled"."""

    id: int


class CancelResult(msgspec.Struct, frozen=True, kw_only=True):
    """``found``: whether a request of that id was running."""

    found: bool


class LinkArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.link``: emulate a link, given as a profile name or as ``rate=37mbit,delay=7ms,loss=0.2%``."""

    link: str


class ShellArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell``: run a command, or a shell, as root in the guest.

    Output arrives as events. At most SHELL_WINDOW_BYTES are sent without an acknowledgement by
    ``lab.shell-control``. Cancelling the request kills the command.

    Attributes:
        command: one item is a shell command line, several are a program and its arguments, none is a shell.
        terminal: whether to run on a terminal, which merges standard output and standard error.
        rows: height of the terminal in characters.
        columns: width of the terminal in characters.
        term: type of the terminal, as in $TERM.
        directory: working directory; "/" if the guest lacks it.
    """

    command: list[str] = []
    terminal: bool = False
    rows: int = 24
    columns: int = 80
    term: str = "dumb"
    directory: str = "/"


class ShellEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Output of a command, from standard output or (``error``) standard error.

    The first event has no bytes and reports that the command accepts input and signals.
    """

    data: bytes
    error: bool = False


class ShellResult(msgspec.Struct, frozen=True, kw_only=True):
    """``code``: exit status of the command; 128 plus the signal number if a signal ended it."""

    code: int


class ShellInputArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell-input``: send input to a command; answered when its pipe or terminal has taken the bytes.

    Attributes:
        id: id of the command's ``lab.shell`` request.
        data: bytes for standard input.
        end: whether this is the last input.
    """

    id: int
    data: bytes = b""
    end: bool = False


class ShellInputResult(msgspec.Struct, frozen=True, kw_only=True):
    """``closed``: whether the command has closed its input."""

    closed: bool = False


class ShellControlArgs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``lab.shell-control``: acknowledge output, send a signal or resize the terminal.

    A command that has ended ignores it.

    Attributes:
        id: id of the command's ``lab.shell`` request.
        taken: number of output bytes consumed since the last acknowledgement.
        signal: signal number for the command's process group, 0 for none.
        rows: new height of the terminal in characters, 0 for no change.
        columns: new width of the terminal in characters.
    """

    id: int
    taken: int = 0
    signal: int = 0
    rows: int = 0
    columns: int = 0


@dataclass(frozen=True, slots=True)
class Verb:
    """Types of a verb: its arguments, its result, and its events (None if it sends none)."""

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
    "mounts.restore": Verb(RestoreArgs, Mount),
    "mounts.dismiss": Verb(DismissArgs, Empty),
    "before-after.plan": Verb(AdviceArgs, BeforeAfterPlan),
    "before-after.run": Verb(BeforeAfterArgs, BeforeAfterReport, BeforeAfterEvent),
    "mounts.space": Verb(SpaceArgs, Space),
    "mounts.log": Verb(LogArgs, MountLog),
    "mounts.waiting": Verb(WaitingArgs, WaitingProcesses),
    "discover.servers": Verb(ServersArgs, ServersResult, ServersEvent),
    "discover.subnets": Verb(Empty, Subnets),
    "discover.scan": Verb(ScanArgs, ServersResult, ServersEvent),
    "mounts.import-plan": Verb(ImportPlanArgs, ImportPlan),
    "mounts.import": Verb(ImportArgs, ImportReport, ImportProgress),
    "discover.forget": Verb(Empty, Empty),  # clears the recently used servers
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
    # Resumes a search from the history, given its plan and all its outcomes.
    "experiment.search": Verb(ExperimentRunArgs, BestSettings, ExperimentEvent),
    "cancel": Verb(CancelArgs, CancelResult),
    # Only the lab's guest answers these.
    "lab.link": Verb(LinkArgs, LinkFacts),
    "lab.shell": Verb(ShellArgs, ShellResult, ShellEvent),
    "lab.shell-input": Verb(ShellInputArgs, ShellInputResult),
    "lab.shell-control": Verb(ShellControlArgs, Empty),
    "lab.power-off": Verb(Empty, Empty),
}
